package dev.redlock.engine;

/**
 * Remembers the tickets of queues whose last waiter has given up. The next waiter for the resource continues with the
 * ticket: with a new one, this client would wait for the turn of its own earlier waits.
 *
 * <p>The memory is small and fixed. A ticket that another one replaces costs the others one turn.
 *
 * @threading event-loop-confined
 */
final class RecentTickets {

    private final LockKey[] keys = new LockKey[RecentStreaks.CAPACITY];
    private final int[] tickets = new int[RecentStreaks.CAPACITY];

    /** Remembers the ticket of a key. */
    void put(LockKey key, int ticket) {
        int slot = RecentStreaks.slotOf(key);
        keys[slot] = key;
        tickets[slot] = ticket;
    }

    /** Removes and returns the ticket of a key; {@link Ticket#NONE} if there is none. */
    int take(LockKey key) {
        int slot = RecentStreaks.slotOf(key);
        if (keys[slot] == null || !keys[slot].equals(key)) {
            return Ticket.NONE;
        }
        keys[slot] = null;
        return tickets[slot];
    }
}
