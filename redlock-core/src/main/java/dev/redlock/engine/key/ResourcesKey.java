package dev.redlock.engine.key;

import dev.redlock.node.send.LockKind;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/**
 * A key that refers to the keys of its resources, one after another: of a set, of a reader or a writer, or of the
 * search for a free permit.
 *
 * @threading immutable
 */
public class ResourcesKey extends LockKey {

    private final LockKey[] resourceKeys;
    /** The mark of a waiter; null until it is needed. Any thread may make it again. */
    private LockKey mark;

    /**
     * The key of the mark of a waiter: a plain key beside the counter of the resource, and so in its slot.
     *
     * @threading immutable
     */
    private static final class Mark extends LockKey {

        private final LockKey lock;

        Mark(KeyText text, LockKey lock) {
            super(text, LockKind.PLAIN, text.hash(), lock.orderHash, 1);
            this.lock = lock;
        }

        @Override
        public LockKey lock() {
            return lock;
        }
    }

    /** The key of a reader or writer: the same keys on the nodes, and a lock of its own in this client. */
    ResourcesKey(LockKey plain, LockKind kind) {
        this(plain.text, kind, plain.hashCode() * 31 + kind.ordinal(), plain.orderHash, plain);
    }

    ResourcesKey(KeyText text, LockKind kind, int hash, int orderHash, LockKey... resourceKeys) {
        super(text, kind, hash, orderHash, resourceKeys.length);
        this.resourceKeys = resourceKeys;
    }

    @Override
    public List<String> resources() {
        return Arrays.stream(resourceKeys).map(LockKey::resource).toList();
    }

    @Override
    public LockKey resourceKey(int index) {
        return resourceKeys[index];
    }

    @Override
    public LockKey markKey() {
        LockKey known = mark;
        if (known == null) {
            String name = prefix() + resourceKeys[0].resource();
            String suffix = KeyText.counterName(name).substring(name.length()) + KeyText.WAITING_MARK;
            known = new Mark(KeyText.of(prefix(), resourceKeys[0].resource() + suffix, ""), this);
            mark = known;
        }
        return known;
    }

    @Override
    public int slot() {
        return resourceKeys[0].slot();
    }

    @Override
    public void checkSlots(boolean isFenced) {
        for (LockKey key : resourceKeys) {
            if (key.slot() != slot()) {
                throw new IllegalArgumentException("resources " + this + " are in different slots of a cluster: \""
                        + resourceKeys[0] + "\" in " + slot() + ", \"" + key + "\" in " + key.slot()
                        + "; give all resources of a set one hash tag, such as {tag}");
            }
            key.checkSlots(isFenced);
        }
    }

    /** The texts of keys, one after another. */
    static KeyText ofAll(LockKey[] keys, String resource, boolean hasCounters) {
        byte[] counters = hasCounters
                ? concatenated(Arrays.stream(keys).map(key -> key.counterBulk).toList())
                : null;
        return new KeyText(keys[0].prefix(), resource,
                concatenated(Arrays.stream(keys).map(key -> key.bulk).toList()), counters,
                Arrays.stream(keys).mapToInt(key -> key.text.nameLength).sum());
    }

    private static byte[] concatenated(Collection<byte[]> parts) {
        byte[] all = new byte[parts.stream().mapToInt(part -> part.length).sum()];
        int length = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, all, length, part.length);
            length += part.length;
        }
        return all;
    }

    /** The text between the first brace and the next closing one; null if there is none, or it is empty. */
    static String hashTagOf(String key) {
        int start = key.indexOf('{');
        int end = start < 0 ? -1 : key.indexOf('}', start);
        return end <= start + 1 ? null : key.substring(start + 1, end);
    }

    /** Returns the length of the name of a resource in the name of a key: that of a reservation has more. */
    public static int resourceLengthOf(ByteBuf name, int index, int length) {
        int left = length - KeyText.RESERVATION_MARK.length();
        for (int i = KeyText.RESERVATION_MARK.length() - 1; i >= 0; i--) {
            if (left <= 0 || name.getByte(index + left + i) != KeyText.RESERVATION_MARK.charAt(i)) {
                return length;
            }
        }
        return left;
    }
}
