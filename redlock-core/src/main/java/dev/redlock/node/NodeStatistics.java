package dev.redlock.node;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Counters of one node. One thread writes, any thread reads; a read is a plain load of a recent value and allocates
 * nothing.
 *
 * @threading any thread
 */
public final class NodeStatistics {

    private static final VarHandle COUNTS = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int GRANTED = 0;
    private static final int REFUSED = 1;
    private static final int ERRORS = 2;
    private static final int DISCONNECTS = 3;
    private static final int CLOCK_JUMPS = 4;
    private static final int DEBT = 5;
    private static final int DEBT_DROPPED = 6;
    private static final int DEBT_PAID = 7;
    private static final int DEBT_REFUSED = 8;

    private final long[] counts = new long[DEBT_REFUSED + 1];

    NodeStatistics() {
        // all zero
    }

    private void add(final int counter) {
        set(counter, counts[counter] + 1);
    }

    private void set(final int counter, final long value) {
        COUNTS.setOpaque(counts, counter, value);
    }

    private long read(final int counter) {
        return (long) COUNTS.getOpaque(counts, counter);
    }

    void onReply(final CommandKind kind, final long value) {
        if (kind.isAcquire()) {
            add(value > 0 ? GRANTED : REFUSED);
        }
    }

    void onError() {
        add(ERRORS);
    }

    void onDisconnect() {
        add(DISCONNECTS);
    }

    void onClockJump() {
        add(CLOCK_JUMPS);
    }

    void onUndeliveredReleases(final int length, final long droppedCount) {
        set(DEBT, length);
        set(DEBT_DROPPED, droppedCount);
    }

    void onUndeliveredReleaseDelivered() {
        add(DEBT_PAID);
    }

    void onUndeliveredReleaseRefused() {
        add(DEBT_REFUSED);
    }

    /** @return acquires that the node granted */
    public long grantedCount() {
        return read(GRANTED);
    }

    /** @return acquires that the node refused */
    public long refusedCount() {
        return read(REFUSED);
    }

    /** @return error replies to lock commands */
    public long errorCount() {
        return read(ERRORS);
    }

    /** @return connections that ended without being closed by us */
    public long disconnectCount() {
        return read(DISCONNECTS);
    }

    /** @return jumps of the node's clock */
    public long clockJumpCount() {
        return read(CLOCK_JUMPS);
    }

    /** @return releases that the node is owed now */
    public long undeliveredReleaseCount() {
        return read(DEBT);
    }

    /** @return owed releases that were dropped because there were too many; their keys end with their ttl */
    public long undeliveredReleaseDroppedCount() {
        return read(DEBT_DROPPED);
    }

    /** @return owed releases that were sent and answered */
    public long undeliveredReleaseDeliveredCount() {
        return read(DEBT_PAID);
    }

    /** @return owed releases that the node answered with an error */
    public long undeliveredReleaseRefusedCount() {
        return read(DEBT_REFUSED);
    }
}
