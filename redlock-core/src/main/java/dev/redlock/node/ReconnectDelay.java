package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import java.util.random.RandomGenerator;

/**
 * The delays between connections to one node. They double from {@code reconnectDelayMsMin} to {@code
 * reconnectDelayMsMax}.
 *
 * <p>A complete handshake does not reset them, since a node may fail after each handshake. They are reset when a
 * connection has lasted for the longest delay. Until then the node is unstable.
 *
 * @threading event-loop-confined
 */
final class ReconnectDelay {

    private static final int DOUBLINGS_MAX = 16;

    private final NodeOptions options;
    private final RandomGenerator random;
    private int failureCount;
    private boolean isUnstable;
    private long connectedNs;

    ReconnectDelay(NodeOptions options, RandomGenerator random) {
        this.options = options;
        this.random = random;
    }

    /** Whether the last connections ended soon after their handshakes. */
    boolean isUnstable() {
        return isUnstable;
    }

    /** A handshake is complete. */
    void onConnected(long nowNs) {
        connectedNs = nowNs;
    }

    /** A connection whose handshake was complete has ended. */
    void onConnectionLost(long nowNs) {
        isUnstable = true;
        resetIfLasting(nowNs);
    }

    /** Resets the delays if the present connection has lasted for the longest of them. */
    void resetIfLasting(long nowNs) {
        if (nowNs - connectedNs >= options.timeouts().reconnectDelayMsMax() * NS_PER_MS) {
            failureCount = 0;
            isUnstable = false;
        }
    }

    /**
     * The delay before the next connection: random between half of the doubled delay and all of it, so that many
     * clients do not reconnect in step. The least delay is that before the random part is taken off.
     */
    long nextNs(long delayMsMin) {
        int doublings = Math.min(failureCount++, DOUBLINGS_MAX);
        long doubledMs = Math.min(options.timeouts().reconnectDelayMsMax(),
                (long) options.timeouts().reconnectDelayMsMin() << doublings);
        long halfNs = Math.max(delayMsMin, doubledMs) * NS_PER_MS / 2;
        return halfNs + random.nextLong(halfNs + 1);
    }
}
