package dev.redlock.engine;

import dev.redlock.node.LockKind;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;

/**
 * The local queues of locks that have one key among others: of sets and semaphores. A push has the name of one key, and
 * a lease of one key may end for several queues.
 *
 * @threading event-loop-confined
 */
final class MemberQueues {

    private final KeyedMap<Entry> entries = new KeyedMap<>();
    /** As those of {@link WaitQueues}, of resources for which no set waits any more. */
    private final RecentValues recentTickets = new RecentValues();

    /**
     * The queues of one resource.
     *
     * @threading event-loop-confined
     */
    static final class Entry extends Keyed {
        /** In order of arrival. */
        final List<WaitQueue> queues = new ArrayList<>();
        /** The set whose turn it is; null for none. See {@link SetTurns}. */
        WaitQueue turn;
        /** It has the turn before older ones, because its client has released the same set. */
        boolean isTurnEarly;
        /** Orders this client among those whose sets wait for the resource; {@link Ticket#NONE} without one. */
        int ticket;
        /** A lease of this client has the resource, until then at most unless it is extended. */
        boolean isHeld;
        long heldUntilNs;
    }

    /**
     * Adds a queue, unless its lock is plain: {@link WaitQueues} finds that by its own key. A semaphore has many slots,
     * so its queue is added by {@link #addSlots} when it needs pushes.
     */
    void add(WaitQueue queue) {
        LockKey key = queue.key;
        for (int i = 0; hasMembers(key) && i < key.memberCount(); i++) {
            queue.members.add(add(queue, key.member(i)));
        }
    }

    /** Adds the queue of a semaphore, which the pushes of its slots wake from now on. */
    void addSlots(WaitQueue queue) {
        PermitKey semaphore = (PermitKey) queue.key;
        for (int i = 0; !queue.hasSlotEntries && i < semaphore.slotCount(); i++) {
            add(queue, semaphore.slotKey(i));
        }
        queue.hasSlotEntries = true;
    }

    private Entry add(WaitQueue queue, LockKey member) {
        Entry entry = entries.get(member);
        if (entry == null) {
            entry = new Entry();
            entry.key = member;
            entry.ticket = (int) recentTickets.take(member, Ticket.NONE);
            entries.add(entry);
        }
        entry.queues.add(queue);
        return entry;
    }

    void remove(WaitQueue queue) {
        LockKey key = queue.key;
        queue.members.forEach(entry -> remove(queue, entry));
        queue.members.clear();
        if (queue.hasSlotEntries) {
            PermitKey semaphore = (PermitKey) key;
            for (int i = 0; i < semaphore.slotCount(); i++) {
                remove(queue, entries.get(semaphore.slotKey(i)));
            }
        }
        queue.hasSlotEntries = false;
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
        for (Entry entry : queue.members) {
            entry.queues.remove(queue);
            entry.queues.add(queue);
        }
    }

    private static boolean hasMembers(LockKey key) {
        return key.kind() != LockKind.PLAIN && key.kind() != LockKind.PERMIT;
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
