package dev.redlock.engine.key;

import dev.redlock.node.send.KeySlot;
import dev.redlock.node.send.LockKind;
import dev.redlock.node.send.SlotKey;
import dev.redlock.resp.SafeText;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.List;
import java.util.StringJoiner;

/**
 * The key of a resource and of its fencing counter, each encoded once as a RESP bulk string: the key of a plain lock on
 * it, of the mark of a waiter, or of a permit. Other kinds of lock have {@link ResourcesKey keys of their own}, which
 * refer to those of their resources.
 *
 * @threading immutable
 */
public class LockKey implements SlotKey {

    public final KeyText text;
    /** The key as a complete bulk string, borrowed. */
    public final byte[] bulk;
    /** The counter's key as a complete bulk string, borrowed. */
    public final byte[] counterBulk;
    public final LockKind kind;
    public final int resourceCount;
    /** By which all clients order the nodes for the lock. */
    public final int orderHash;
    private final int hash;
    /** The slot of a cluster + 1; 0 until it is computed. */
    private int clusterSlot;
    /** The keys of other kinds of lock of the resource, by kind; each is null until it is needed. */
    private LockKey[] others;

    LockKey(KeyText text, LockKind kind, int hash, int orderHash, int resourceCount) {
        this.text = text;
        this.bulk = text.bulk;
        this.counterBulk = text.counterBulk;
        this.kind = kind;
        this.resourceCount = resourceCount;
        this.hash = hash;
        this.orderHash = orderHash;
    }

    /** The key of a plain lock, which orders the nodes by its own name. */
    public LockKey(KeyText text) {
        this(text, text.hash());
    }

    private LockKey(KeyText text, int hash) {
        this(text, LockKind.PLAIN, hash, hash, 1);
    }

    /**
     * Rejects a key of a client with another prefix, which is the key of another lock.
     *
     * @param clientPrefix prefix of the client that uses the key
     * @throws IllegalArgumentException if the key has another prefix
     */
    public void checkPrefix(String clientPrefix) {
        if (!prefix().equals(clientPrefix)) {
            throw new IllegalArgumentException("resource key \"" + this + "\" was encoded with key prefix \""
                    + SafeText.of(prefix()) + "\", but this client has key prefix \"" + SafeText.of(clientPrefix)
                    + "\": encode it with key() of this client");
        }
    }

    /** @return the name of the resource, without the prefix; those of a set in brackets */
    public String resource() {
        return text.resource;
    }

    /** @return the names of the resources, without the prefix */
    public List<String> resources() {
        return List.of(resource());
    }

    public String prefix() {
        return text.prefix;
    }

    /**
     * Returns the key of another kind of lock of the resource. Any thread may make it again.
     *
     * @param permitCount permits of the semaphore, if it is one
     */
    public LockKey as(LockKind other, int permitCount) {
        if (other == LockKind.PLAIN || other == LockKind.SET) {
            return this;
        }
        LockKey[] known = others;
        if (known == null) {
            known = new LockKey[LockKind.PERMIT.ordinal() + 1];
            others = known;
        }
        LockKey key = known[other.ordinal()];
        if (key == null || other == LockKind.PERMIT && ((PermitKey) key).permitCount() != permitCount) {
            key = other == LockKind.PERMIT ? new PermitKey(this, permitCount) : new ResourcesKey(this, other);
            known[other.ordinal()] = key;
        }
        return key;
    }

    // ---- what other kinds of lock override --------------------------------------------------------------------------

    /** Returns the key of one of the resources. */
    public LockKey resourceKey(int index) {
        return this;
    }

    /** Whether a key is this one, or a permit of this semaphore. */
    public boolean includes(LockKey other) {
        return equals(other);
    }

    /** Returns the key of the command that reads whether the lock is free: all permits of a semaphore. */
    public LockKey searchKey() {
        return this;
    }

    /**
     * Returns the key that a waiter leaves at the coordinator: its mark or, of a set, its reservation; null for none.
     */
    public LockKey markKey() {
        return null;
    }

    /** Returns the key of the lock that a change of this key concerns: of a mark or a reservation, that of its lock. */
    public LockKey lock() {
        return this;
    }

    /**
     * Rejects keys in different slots, because no command of a cluster can use them together.
     *
     * @throws IllegalArgumentException if they are
     */
    public void checkSlots(boolean isFenced) {
        if (isFenced && slot() != KeySlot.ofBulk(counterBulk)) {
            throw new IllegalArgumentException("resource \"" + this + "\" has a brace but no hash tag, so its fencing"
                    + " counter is in another slot of a cluster: remove the brace, or write a complete {tag}");
        }
    }

    /** Computed when it is first needed, because only clusters need it. Any thread may compute it again. */
    @Override
    public int slot() {
        int known = clusterSlot;
        if (known == 0) {
            known = KeySlot.of(bulk, text.nameStart(), text.nameLength) + 1;
            clusterSlot = known;
        }
        return known - 1;
    }

    // ---- the encoded keys -------------------------------------------------------------------------------------------

    /** Whether the name of the key, with its prefix, has these bytes. */
    boolean hasName(ByteBuf name, int index, int length) {
        if (length != text.nameLength || kind != LockKind.PLAIN) {
            return false;
        }
        int nameStart = text.nameStart();
        for (int i = 0; i < length; i++) {
            if (name.getByte(index + i) != bulk[nameStart + i]) {
                return false;
            }
        }
        return true;
    }

    @Override
    public boolean equals(Object o) {
        return this == o
                || o instanceof LockKey other && hash == other.hash && kind == other.kind
                        && Arrays.equals(bulk, other.bulk);
    }

    @Override
    public int hashCode() {
        return hash;
    }

    /** Returns the name of the counter, or those of a set, for messages: escaped and truncated. */
    public String counterText() {
        StringJoiner names = new StringJoiner(", ");
        for (int i = 0; i < resourceCount; i++) {
            names.add(KeyText.counterName(prefix() + resourceKey(i).resource()));
        }
        return SafeText.of(names.toString());
    }

    /** Returns the resource for messages: escaped and truncated; {@link #resource} is the name itself. */
    @Override
    public String toString() {
        return SafeText.of(resource());
    }
}
