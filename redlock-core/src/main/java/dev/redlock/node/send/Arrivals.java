package dev.redlock.node.send;

/**
 * Knows whether bytes have arrived on an event loop since it has read the time: what they say is later.
 *
 * @threading event-loop-confined
 */
public final class Arrivals {

    /** Set by each read of a connection, cleared by who reads the time. */
    public boolean isTimeOld;
}
