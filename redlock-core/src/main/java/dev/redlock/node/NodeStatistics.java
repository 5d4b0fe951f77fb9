package dev.redlock.node;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The counters of one node. One thread writes, any thread reads. A read returns a recent value and allocates nothing.
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
    private static final int UNDELIVERED = 5;
    private static final int UNDELIVERED_DROPPED = 6;
    private static final int UNDELIVERED_SENT = 7;
    private static final int UNDELIVERED_REFUSED = 8;

    private final long[] counts = new long[UNDELIVERED_REFUSED + 1];

    NodeStatistics() {
        // all zero
    }

    private void add(int counter) {
        COUNTS.setOpaque(counts, counter, counts[counter] + 1);
    }

    private void set(int counter, long value) {
        COUNTS.setOpaque(counts, counter, value);
    }

    private long read(int counter) {
        return (long) COUNTS.getOpaque(counts, counter);
    }

    /** The node has granted or refused an acquire. */
    void onVote(boolean isGrant) {
        add(isGrant ? GRANTED : REFUSED);
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

    void onUndeliveredReleases(int length, long droppedCount) {
        set(UNDELIVERED, length);
        set(UNDELIVERED_DROPPED, droppedCount);
    }

    void onUndeliveredReleaseDelivered() {
        add(UNDELIVERED_SENT);
    }

    void onUndeliveredReleaseRefused() {
        add(UNDELIVERED_REFUSED);
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

    /** @return connections that were lost */
    public long disconnectCount() {
        return read(DISCONNECTS);
    }

    /** @return jumps of the node's clock */
    public long clockJumpCount() {
        return read(CLOCK_JUMPS);
    }

    /** @return undelivered releases now */
    public long undeliveredReleaseCount() {
        return read(UNDELIVERED);
    }

    /** @return undelivered releases that were dropped because there were too many; their keys expire */
    public long undeliveredReleaseDroppedCount() {
        return read(UNDELIVERED_DROPPED);
    }

    /** @return undelivered releases that were sent later and executed */
    public long undeliveredReleaseDeliveredCount() {
        return read(UNDELIVERED_SENT);
    }

    /** @return undelivered releases that were sent later and failed with an error */
    public long undeliveredReleaseRefusedCount() {
        return read(UNDELIVERED_REFUSED);
    }
}
