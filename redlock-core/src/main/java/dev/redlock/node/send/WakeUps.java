package dev.redlock.node.send;

import static dev.redlock.quorum.Validity.NS_PER_MS;

/**
 * Bounds the wake-ups of one connection: a server sends at most one push for each key that the client registered, and a
 * few messages for each entry in a queue, so more of them are a fault of the server.
 *
 * @threading event-loop-confined
 */
final class WakeUps {

    /** A fenced acquire may read the counter of each key. */
    private static final int READS_PER_KEY = 2;
    /**
     * An entry moves to the head at most once, and becomes the deputy before. Checks of other clients repeat a message
     * to a head or deputy that is late.
     */
    private static final int MESSAGES_PER_ENTRY = 8;
    /**
     * More than the keys that a server tracks by default, 1,000,000. Each retained lock leaves a registration that ends
     * a minute later, with a push.
     */
    private static final int EXPECTED_MAX = 1 << 20;
    /** More messages than the entries of one connection need at the same time. */
    private static final int EXPECTED_MESSAGES_MAX = 1 << 17;
    /** Pushes without a registration that are accepted in a second: doubled ones of a proxy, and flushes. */
    static final int EXCESS_MAX = 1024;
    private static final long EXCESS_PERIOD_NS = 1_000 * NS_PER_MS;

    private int expectedCount;
    private int expectedMessageCount;
    private int excessCount;
    private long excessSinceNs;

    /** The client registers the keys that its next command reads. */
    void onRegister(int keyCount) {
        expectedCount = Math.min(EXPECTED_MAX, expectedCount + READS_PER_KEY * keyCount);
    }

    /** The client enters a queue with its next command, or changes its entry there. */
    void onEntered() {
        expectedMessageCount = Math.min(EXPECTED_MESSAGES_MAX, expectedMessageCount + MESSAGES_PER_ENTRY);
    }

    /** Counts a message about one queue; returns false if there were too many pushes within a second. */
    boolean onMessage(long nowNs) {
        if (expectedMessageCount > 0) {
            expectedMessageCount--;
            return true;
        }
        return onOtherPush(nowNs, 1);
    }

    /** Counts a push about one key; returns false if there were too many within a second. */
    boolean onPush(long nowNs) {
        if (expectedCount > 0) {
            expectedCount--;
            return true;
        }
        return onOtherPush(nowNs, 1);
    }

    /**
     * Counts a push about no key.
     *
     * @return false if there were too many within a second
     */
    boolean onOtherPush(long nowNs, int weight) {
        if (nowNs - excessSinceNs >= EXCESS_PERIOD_NS) {
            excessSinceNs = nowNs;
            excessCount = 0;
        }
        excessCount += Math.min(EXCESS_MAX + 1 - excessCount, weight);
        return excessCount <= EXCESS_MAX;
    }
}
