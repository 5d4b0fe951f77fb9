package dev.redlock.node.send;

import dev.redlock.quorum.Token;

/**
 * The arguments of commands that are not plain: of fenced locks, of clients that wait, and of kinds of locks that
 * reserve or search. Such a command is a script. It reads them while it is written, in the turn of its send.
 *
 * @threading event-loop-confined
 */
public interface ScriptArguments {

    /** Those of a request without a fence that neither waits nor searches. */
    ScriptArguments NONE = new ScriptArguments() {
    };

    /**
     * @return the name of the reservation that a waiting writer leaves beside readers, and a waiting set beside its
     *         keys; null for none
     */
    default Token reservation() {
        return null;
    }

    /** @return whether a refused command leaves its reservation; if not, it still respects those of others */
    default boolean isReservationLeft() {
        return false;
    }

    /** @return the name of the client in the queue of the waiting clients, as a bulk string; null for none */
    default byte[] waiterBulk() {
        return null;
    }

    /** @return the time that the client has waited for the lock, microseconds */
    default long waitedUs() {
        return 0;
    }

    /** @return how it asks in order, one of the letters of {@code acquire_in_order} */
    default byte queueMode() {
        return 'f';
    }

    /** @return whether a refused set gets a ticket, which orders this client among those whose sets wait */
    default boolean isTicketWanted() {
        return false;
    }

    /** @return the number of the client's ticket for one of the resources of a set; 0 for none */
    default int ticket(int index) {
        return 0;
    }

    /** @return the number of free permits that a search for a permit wants to know */
    default int wantedCount() {
        return 0;
    }

    /** @return the expiry of the counter of a fenced lock, milliseconds */
    default long counterTtlMs() {
        return 0;
    }

    /** @return the number from which a lower counter of a fenced lock continues: it may have lost counts */
    default long counterFloor() {
        return 0;
    }

    /** @return the highest value of the counter seen by a fenced lock */
    default long highestFence() {
        return 0;
    }
}
