package dev.redlock.engine;

import dev.redlock.node.LockKind;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;

/**
 * The local queues of locks that have one resource among others: of sets. A push has the name of one resource, and a
 * lease of one resource may end for several queues.
 *
 * @threading event-loop-confined
 */
final class MemberQueues {

    private final KeyedMap<Entry> entries = new KeyedMap<>();

    /**
     * The queues of one resource.
     *
     * @threading event-loop-confined
     */
    private static final class Entry extends Keyed {
        private final List<WaitQueue> queues = new ArrayList<>();
    }

    /** Adds a queue, unless its lock is plain: {@link WaitQueues} finds that by its own key. */
    void add(WaitQueue queue) {
        LockKey key = queue.key;
        for (int i = 0; key.kind() != LockKind.PLAIN && i < key.memberCount(); i++) {
            Entry entry = entries.get(key.member(i));
            if (entry == null) {
                entry = new Entry();
                entry.key = key.member(i);
                entries.add(entry);
            }
            entry.queues.add(queue);
        }
    }

    void remove(WaitQueue queue) {
        LockKey key = queue.key;
        for (int i = 0; key.kind() != LockKind.PLAIN && i < key.memberCount(); i++) {
            Entry entry = entries.get(key.member(i));
            entry.queues.remove(queue);
            if (entry.queues.isEmpty()) {
                entries.remove(entry);
            }
        }
    }

    boolean isEmpty() {
        return entries.size() == 0;
    }

    /** Returns the queues of locks with a resource, borrowed until the next change. */
    List<WaitQueue> of(LockKey key) {
        Entry entry = entries.get(key);
        return entry == null ? List.of() : entry.queues;
    }

    /** Returns the queues of locks with the resource of a name, borrowed until the next change. */
    List<WaitQueue> of(ByteBuf name, int index, int length) {
        Entry entry = entries.get(name, index, length);
        return entry == null ? List.of() : entry.queues;
    }

    void trim(int capacityMin) {
        entries.trim(capacityMin);
    }
}
