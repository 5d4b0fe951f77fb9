package dev.redlock.engine;

import dev.redlock.node.KeySlot;
import dev.redlock.node.SlotKey;
import dev.redlock.resp.SafeText;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The keys of a lock and of its fencing counter, each encoded once as a RESP bulk string.
 *
 * @threading immutable
 */
public final class LockKey implements SlotKey {

    /** Follows the lock's key in the counter's key. No lock's key may contain it, so no lock's key is a counter. */
    public static final String COUNTER_MARK = ":redlock:fence";

    private static final int CRLF_BYTES = 2;
    /** Characters of a too long name in its error message. */
    private static final int SHOWN_LENGTH_MAX = 32;

    private final String prefix;
    private final String resource;
    private final byte[] bulk;
    private final byte[] counterBulk;
    private final int nameLength;
    private final int hash;
    /** The slot + 1; 0 until it is computed. */
    private int slotNumber;

    private LockKey(String prefix, String resource, byte[] name, byte[] counterName) {
        this.prefix = prefix;
        this.resource = resource;
        this.bulk = bulkOf(name);
        this.counterBulk = bulkOf(counterName);
        this.nameLength = name.length;
        this.hash = Arrays.hashCode(name);
    }

    /** Returns the length of the name with its prefix, bytes. */
    int nameLength() {
        return nameLength;
    }

    /**
     * Encodes the keys of a resource.
     *
     * @param  prefix                   prefix of every key of the client
     * @param  resource                 name of the resource
     * @param  lengthBytesMax           limit of both together, bytes
     * @return                          the key
     * @throws IllegalArgumentException if it is empty or too long, is not valid UTF-16, or names a fencing counter
     */
    public static LockKey of(String prefix, String resource, int lengthBytesMax) {
        if (resource == null) {
            throw new NullPointerException("resource is null: give the name of the resource to lock");
        }
        if (resource.isEmpty()) {
            throw new IllegalArgumentException("resource \"\" is empty: give the name of the resource to lock");
        }
        checkEncodable("resource", resource);
        // Checked before it is encoded: a name may be very long.
        int lengthBytes = ByteBufUtil.utf8Bytes(prefix) + ByteBufUtil.utf8Bytes(resource);
        if (lengthBytes > lengthBytesMax) {
            throw new IllegalArgumentException("resource \"" + SafeText.of(resource, SHOWN_LENGTH_MAX) + "\" is "
                    + lengthBytes + " bytes long with its prefix: at most " + lengthBytesMax
                    + " are allowed (RedlockContext.resourceLengthMax)");
        }
        String key = prefix + resource;
        if (key.contains(COUNTER_MARK)) {
            throw new IllegalArgumentException("resource \"" + SafeText.of(resource) + "\" contains \"" + COUNTER_MARK
                    + "\" with its prefix, which only names of fencing counters may: choose another name");
        }
        return new LockKey(prefix, resource, key.getBytes(StandardCharsets.UTF_8),
                counterName(key).getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Returns the counter's key. It depends on the complete key of the lock alone, so clients with different prefixes
     * agree on it. It starts with the lock's key, so an ACL key pattern that allows the lock allows its counter. Its
     * hash tag keeps it in the lock's cluster slot: the tag of the lock's key, or the whole key. A key with a brace but
     * without a tag has no such counter.
     */
    public static String counterName(String key) {
        boolean hasBrace = key.indexOf('{') >= 0 || key.indexOf('}') >= 0;
        return hasBrace ? key + COUNTER_MARK : key + COUNTER_MARK + ":{" + key + "}";
    }

    /** Rejects unpaired surrogates: the encoder replaces each by a question mark, so two names could share one key. */
    public static void checkEncodable(String what, String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!Character.isSurrogate(c)) {
                continue;
            }
            if (Character.isLowSurrogate(c) || i + 1 == text.length()
                    || !Character.isLowSurrogate(text.charAt(i + 1))) {
                throw new IllegalArgumentException(what + " has an unpaired surrogate at index " + i
                        + ", which UTF-8 cannot encode: use complete characters");
            }
            i++;
        }
    }

    private static byte[] bulkOf(byte[] name) {
        byte[] head = ("$" + name.length + "\r\n").getBytes(StandardCharsets.US_ASCII);
        byte[] bulk = Arrays.copyOf(head, head.length + name.length + CRLF_BYTES);
        System.arraycopy(name, 0, bulk, head.length, name.length);
        bulk[bulk.length - 2] = '\r';
        bulk[bulk.length - 1] = '\n';
        return bulk;
    }

    /**
     * Rejects a key of a client with another prefix, which is the key of another lock.
     *
     * @param clientPrefix prefix of the client that uses the key
     * @throws IllegalArgumentException if the key has another prefix
     */
    public void checkPrefix(String clientPrefix) {
        if (!prefix.equals(clientPrefix)) {
            throw new IllegalArgumentException("resource key \"" + this + "\" was encoded with key prefix \""
                    + SafeText.of(prefix) + "\", but this client has key prefix \"" + SafeText.of(clientPrefix)
                    + "\": encode it with key() of this client");
        }
    }

    /** @return the name of the resource, without the prefix */
    public String resource() {
        return resource;
    }

    /** Returns the key as a complete bulk string, borrowed. */
    byte[] bulk() {
        return bulk;
    }

    /** Returns the counter's key as a complete bulk string, borrowed. */
    byte[] counterBulk() {
        return counterBulk;
    }

    /** Computed when it is first needed, because only clusters need it. Any thread may compute it again. */
    @Override
    public int slot() {
        int known = slotNumber;
        if (known == 0) {
            known = KeySlot.of(bulk, bulk.length - CRLF_BYTES - nameLength, nameLength) + 1;
            slotNumber = known;
        }
        return known - 1;
    }

    /**
     * Rejects a key whose counter is in another slot, so that no command of a cluster can use both.
     *
     * @throws IllegalArgumentException if it is
     */
    void checkCounterSlot() {
        int counterLength = nameLengthOf(counterBulk);
        if (slot() != KeySlot.of(counterBulk, counterBulk.length - CRLF_BYTES - counterLength, counterLength)) {
            throw new IllegalArgumentException("resource \"" + this + "\" has a brace but no hash tag, so its fencing"
                    + " counter is in another slot of a cluster: remove the brace, or write a complete {tag}");
        }
    }

    private static int nameLengthOf(byte[] bulk) {
        int headLength = 0;
        while (bulk[headLength] != '\n') {
            headLength++;
        }
        return bulk.length - CRLF_BYTES - headLength - 1;
    }

    /** Whether the name of the key, with its prefix, has these bytes. */
    boolean hasName(ByteBuf name, int index, int length) {
        if (length != nameLength) {
            return false;
        }
        int nameStart = bulk.length - CRLF_BYTES - nameLength;
        for (int i = 0; i < length; i++) {
            if (name.getByte(index + i) != bulk[nameStart + i]) {
                return false;
            }
        }
        return true;
    }

    /** Returns the {@link #hashCode} of the key with this name. */
    static int hashOf(ByteBuf name, int index, int length) {
        int hash = 1;
        for (int i = 0; i < length; i++) {
            hash = 31 * hash + name.getByte(index + i);
        }
        return hash;
    }

    @Override
    public boolean equals(Object o) {
        return this == o || o instanceof LockKey other && hash == other.hash && Arrays.equals(bulk, other.bulk);
    }

    @Override
    public int hashCode() {
        return hash;
    }

    /** Returns the resource for messages: escaped and truncated; {@link #resource} is the name itself. */
    @Override
    public String toString() {
        return SafeText.of(resource);
    }
}
