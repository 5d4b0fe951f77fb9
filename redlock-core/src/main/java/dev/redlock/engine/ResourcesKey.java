package dev.redlock.engine;

import dev.redlock.node.LockKind;
import java.util.Arrays;
import java.util.List;

/**
 * A key that refers to the keys of its resources, one after another: of a set, of a reader or a writer, or of the
 * search for a free permit.
 *
 * @threading immutable
 */
class ResourcesKey extends LockKey {

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
            super(text, LockKind.PLAIN, hashOf(text), lock.orderHash);
            this.lock = lock;
        }

        @Override
        LockKey lock() {
            return lock;
        }
    }

    /** The key of a reader or writer: the same keys on the nodes, and a lock of its own in this client. */
    ResourcesKey(LockKey plain, LockKind kind) {
        this(plain.text, kind, plain.hashCode() * 31 + kind.ordinal(), plain.orderHash, plain);
    }

    ResourcesKey(KeyText text, LockKind kind, int hash, int orderHash, LockKey... resourceKeys) {
        super(text, kind, hash, orderHash);
        this.resourceKeys = resourceKeys;
    }

    @Override
    public List<String> resources() {
        return Arrays.stream(resourceKeys).map(LockKey::resource).toList();
    }

    @Override
    int resourceCount() {
        return resourceKeys.length;
    }

    @Override
    LockKey resourceKey(int index) {
        return resourceKeys[index];
    }

    @Override
    LockKey markKey() {
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
    void checkSlots(boolean isFenced) {
        for (LockKey key : resourceKeys) {
            if (key.slot() != slot()) {
                throw new IllegalArgumentException("resources " + this + " are in different slots of a cluster: \""
                        + resourceKeys[0] + "\" in " + slot() + ", \"" + key + "\" in " + key.slot()
                        + "; give all resources of a set one hash tag, such as {tag}");
            }
            key.checkSlots(isFenced);
        }
    }
}
