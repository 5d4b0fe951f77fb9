package dev.redlock.engine;

import dev.redlock.engine.key.KeyedMap;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.PermitKey;
import dev.redlock.engine.key.RecentValues;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;

/**
 * The local queues of locks that have one key among others: of sets and semaphores. A push has the name of one key, and
 * a lease of one key may end for several queues.
 *
 * @threading event-loop-confined
 */
final class ResourceQueues {

    private final KeyedMap<Entry> entries = new KeyedMap<>();
    /** The tickets of resources for which no set waits any more, as {@link WaitQueues} keeps those of locks. */
    private final RecentValues recentTickets = new RecentValues();
    private long arrivalCount;

    /**
     * The queues of one resource.
     *
     * @threading event-loop-confined
     */
    static final class Entry extends KeyedMap.Keyed {
        /** In order of arrival. */
        final List<WaitQueue> queues = new ArrayList<>();
        /** The set that has priority; null for none. See {@link SetOrder}. */
        WaitQueue priority;
        /** It has priority before older ones, because its client has released the same set. */
        boolean isPriorityEarly;
        /** Orders this client among those whose sets wait for the resource; {@link Ticket#NONE} without one. */
        int ticket;
        /** A lease of this client has the resource, until then at most unless it is extended. */
        boolean isHeld;
        long heldUntilNs;

        void givePriority(WaitQueue queue, boolean isEarly) {
            priority = queue;
            isPriorityEarly = isEarly;
        }
    }

    /**
     * Adds a queue, unless its lock is plain: {@link WaitQueues} finds that by its own key. A semaphore has many
     * permits, so its queue is added by {@link #addPermits} when it needs pushes.
     */
    void add(WaitQueue queue) {
        LockKey key = queue.key;
        queue.arrive(arrivalCount++);
        try {
            for (int i = 0; hasEntries(key) && i < key.resourceCount; i++) {
                queue.resources.add(add(queue, key.resourceKey(i)));
            }
        } catch (RuntimeException | Error e) {
            // A queue that is not complete is not found by anybody who could remove it.
            queue.resources.clear();
            for (int i = 0; i < key.resourceCount; i++) {
                Entry entry = entries.get(key.resourceKey(i));
                if (entry != null) {
                    remove(queue, entry);
                }
            }
            throw e;
        }
    }

    /** Adds the queue of a semaphore, which the pushes of its permits wake from now on. */
    void addPermits(WaitQueue queue) {
        PermitKey semaphore = (PermitKey) queue.key;
        for (int i = 0; !queue.hasPermitEntries && i < semaphore.permitCount(); i++) {
            add(queue, semaphore.permitKey(i));
        }
        queue.hasPermitEntries = true;
    }

    private Entry add(WaitQueue queue, LockKey resource) {
        Entry entry = entries.get(resource);
        if (entry == null) {
            entry = new Entry();
            entry.key = resource;
            entry.ticket = (int) recentTickets.take(resource, Ticket.NONE);
            entries.add(entry);
        }
        entry.queues.add(queue);
        return entry;
    }

    void remove(WaitQueue queue) {
        queue.resources.forEach(entry -> remove(queue, entry));
        queue.resources.clear();
        if (queue.hasPermitEntries) {
            PermitKey semaphore = (PermitKey) queue.key;
            for (int i = 0; i < semaphore.permitCount(); i++) {
                remove(queue, entries.get(semaphore.permitKey(i)));
            }
        }
        queue.hasPermitEntries = false;
    }

    private void remove(WaitQueue queue, Entry entry) {
        entry.queues.remove(queue);
        if (entry.queues.isEmpty()) {
            if (entry.ticket != Ticket.NONE) {
                recentTickets.put(entry.key, entry.ticket);
            }
            entries.remove(entry);
        }
    }

    /** The next waiter of a set is younger than those of other sets. */
    void moveToEnd(WaitQueue queue) {
        queue.arrive(arrivalCount++);
        for (Entry entry : queue.resources) {
            entry.queues.remove(queue);
            entry.queues.add(queue);
        }
    }

    private static boolean hasEntries(LockKey key) {
        return !key.kind.isOneKey;
    }

    boolean isEmpty() {
        return entries.size() == 0;
    }

    /** Returns the queues of locks with a resource, borrowed until the next change; null for none. */
    Entry of(LockKey key) {
        return entries.get(key);
    }

    /** Returns the queues of locks with the resource of a name, borrowed until the next change; null for none. */
    Entry of(ByteBuf name, int index, int length) {
        return entries.get(name, index, length);
    }

    int capacity() {
        return entries.capacity();
    }

    void trim(int capacityMin) {
        entries.trim(capacityMin);
    }
}
