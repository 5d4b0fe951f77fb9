package dev.redlock.node;

import java.util.Arrays;

/**
 * Releases of one duty cycle that each node gets as one script call over the keys that it may have. Pooled by the
 * fan-out, and recycled when every node has an outcome.
 *
 * @threading event-loop-confined
 */
final class ReleaseBatch extends InFlightRequest {

    /** The outcomes on one node are bits of a long. */
    static final int LENGTH_MAX = Long.SIZE;

    private final CommandKind kind;
    private final LockRequest[] members = new LockRequest[LENGTH_MAX];
    private final long[] nodeMasks = new long[LENGTH_MAX];
    private int length;
    private int keyBytes;
    private int valueBytes;
    private int openCount;

    /** An empty batch of {@link CommandKind#RELEASE_MANY} or {@link CommandKind#RELEASE_MANY_FENCED}. */
    ReleaseBatch(CommandKind kind) {
        this.kind = kind;
    }

    CommandKind kind() {
        return kind;
    }

    /** Adds a release for the nodes of a mask. */
    void add(LockRequest request, long nodes) {
        members[length] = request;
        nodeMasks[length++] = nodes;
        keyBytes += request.resourceBulk().length + (kind.hasCounter() ? request.counterBulk().length : 0);
        valueBytes += request.token().valueLength();
    }

    int length() {
        return length;
    }

    /** Bytes of all keys as encoded. */
    int keyBytes() {
        return keyBytes;
    }

    /** Bytes of all values. */
    int valueBytes() {
        return valueBytes;
    }

    LockRequest member(int index) {
        return members[index];
    }

    /** The nodes that get a member, as a mask. */
    long nodesOf(int index) {
        return nodeMasks[index];
    }

    /** The nodes that get any member, as a mask. */
    long nodes() {
        long nodes = 0;
        for (int i = 0; i < length; i++) {
            nodes |= nodeMasks[i];
        }
        return nodes;
    }

    /** The members that a node gets, member i as bit i; its reply has them in this order. */
    long membersOf(int nodeIndex) {
        long mask = 0;
        for (int i = 0; i < length; i++) {
            mask |= (nodeMasks[i] >>> nodeIndex & 1) << i;
        }
        return mask;
    }

    /** Counts outcomes that will come. */
    void expectOutcomes(int count) {
        openCount += count;
    }

    /** Counts one outcome; true if it was the last. */
    boolean isLastOutcome() {
        return --openCount == 0;
    }

    void reset() {
        assert openCount == 0 : "every node has an outcome";
        Arrays.fill(members, 0, length, null);
        length = 0;
        keyBytes = 0;
        valueBytes = 0;
    }

    void onError(int nodeIndex, VoteFailure failure) {
        for (long left = membersOf(nodeIndex); left != 0; left &= left - 1) {
            members[Long.numberOfTrailingZeros(left)].onError(nodeIndex, CommandKind.RELEASE, 0, failure);
        }
    }

    void onUnknown(int nodeIndex) {
        for (long left = membersOf(nodeIndex); left != 0; left &= left - 1) {
            members[Long.numberOfTrailingZeros(left)].onUnknown(nodeIndex, CommandKind.RELEASE, 0);
        }
    }

    void onNotSent(int nodeIndex, VoteFailure failure) {
        for (long left = membersOf(nodeIndex); left != 0; left &= left - 1) {
            members[Long.numberOfTrailingZeros(left)].onNotSent(nodeIndex, CommandKind.RELEASE, 0, failure);
        }
    }

    @Override
    public String toString() {
        return "ReleaseBatch{" + kind + ", " + length + " releases, open=" + openCount + "}";
    }
}
