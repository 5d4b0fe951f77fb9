package dev.redlock.engine;

import dev.redlock.quorum.Token;

/**
 * The reservation of a waiting writer or set.
 *
 * @threading event-loop-confined
 */
final class Reservation {

    /** Its name; stale if it is not active. */
    final Token name;
    /** The acquisition leaves it on nodes that refuse it. */
    boolean isActive;
    /** The current attempt contains its name. */
    boolean isSent;
    /** The node that has that of a set, as far as is known; -1 for none. */
    int node = -1;
    /** When the writer last left it on all nodes, or the set first left it, monotonic. */
    long reservedNs;
    /** When the set last left it, monotonic. */
    long leftNs;

    Reservation(Token name) {
        this.name = name;
    }

    void reset() {
        isActive = false;
        node = -1;
    }
}
