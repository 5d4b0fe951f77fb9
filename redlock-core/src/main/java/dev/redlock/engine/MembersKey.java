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
class MembersKey extends LockKey {

    private final LockKey[] members;
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
            super(text, LockKind.PLAIN, hashOf(text), lock.orderHash());
            this.lock = lock;
        }

        @Override
        LockKey lock() {
            return lock;
        }
    }

    MembersKey(KeyText text, LockKind kind, int hash, int orderHash, LockKey... members) {
        super(text, kind, hash, orderHash);
        this.members = members;
    }

    @Override
    public List<String> resources() {
        return Arrays.stream(members).map(LockKey::resource).toList();
    }

    @Override
    int memberCount() {
        return members.length;
    }

    @Override
    LockKey member(int index) {
        return members[index];
    }

    @Override
    LockKey markKey() {
        LockKey known = mark;
        if (known == null) {
            String name = prefix() + members[0].resource();
            String suffix = KeyText.counterName(name).substring(name.length()) + KeyText.WAITING_MARK;
            known = new Mark(KeyText.of(prefix(), members[0].resource() + suffix, ""), this);
            mark = known;
        }
        return known;
    }

    @Override
    public int slot() {
        return members[0].slot();
    }

    @Override
    void checkSlots(boolean isFenced) {
        for (LockKey member : members) {
            if (member.slot() != slot()) {
                throw new IllegalArgumentException("resources " + this + " are in different slots of a cluster: \""
                        + members[0] + "\" in " + slot() + ", \"" + member + "\" in " + member.slot()
                        + "; give all resources of a set one hash tag, such as {tag}");
            }
            member.checkSlots(isFenced);
        }
    }
}
