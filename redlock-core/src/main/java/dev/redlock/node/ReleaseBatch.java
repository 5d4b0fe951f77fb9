package dev.redlock.node;

import java.util.Arrays;

/**
 * Releases of one duty cycle that the nodes get as one script call over all keys. Pooled by the fan-out, and recycled
 * when every node has an outcome.
 *
 * @threading event-loop-confined
 */
final class ReleaseBatch extends InFlightRequest {

    /** The outcomes on one node are bits of a long. */
    static final int LENGTH_MAX = Long.SIZE;

    private final CommandKind kind;
    private final LockRequest[] members = new LockRequest[LENGTH_MAX];
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

    void add(LockRequest request) {
        members[length++] = request;
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
        for (int i = 0; i < length; i++) {
            members[i].onError(nodeIndex, CommandKind.RELEASE, 0, failure);
        }
    }

    void onUnknown(int nodeIndex) {
        for (int i = 0; i < length; i++) {
            members[i].onUnknown(nodeIndex, CommandKind.RELEASE, 0);
        }
    }

    void onNotSent(int nodeIndex, VoteFailure failure) {
        for (int i = 0; i < length; i++) {
            members[i].onNotSent(nodeIndex, CommandKind.RELEASE, 0, failure);
        }
    }

    @Override
    public String toString() {
        return "ReleaseBatch{" + kind + ", " + length + " releases, open=" + openCount + "}";
    }
}
