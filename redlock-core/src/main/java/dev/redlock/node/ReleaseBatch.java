package dev.redlock.node;

import java.util.Arrays;

/**
 * Releases of one duty cycle that go to the nodes as one script call over all their keys. Pooled by the fan-out; it
 * goes back when every node has answered.
 *
 * @threading event-loop-confined
 */
final class ReleaseBatch {

    /** As many as there are bits in the answer of one node. */
    static final int LENGTH_MAX = Long.SIZE;

    private final CommandKind kind;
    private final LockRequest[] members = new LockRequest[LENGTH_MAX];
    private int length;
    private int keyBytes;
    private int unanswered;

    /** An empty batch of {@link CommandKind#RELEASE_MANY} or {@link CommandKind#RELEASE_MANY_FENCED}. */
    ReleaseBatch(final CommandKind kind) {
        this.kind = kind;
    }

    CommandKind kind() {
        return kind;
    }

    void add(final LockRequest request) {
        members[length++] = request;
        keyBytes += request.resourceBulk().length + (kind.hasCounter() ? request.counterBulk().length : 0);
    }

    int length() {
        return length;
    }

    /** Bytes of all keys as they stand on the wire. */
    int keyBytes() {
        return keyBytes;
    }

    LockRequest member(final int index) {
        return members[index];
    }

    /** Counts answers that will come. */
    void expect(final int answerCount) {
        unanswered += answerCount;
    }

    /** One answer has been dealt with; true if it was the last. */
    boolean isLastAnswer() {
        return --unanswered == 0;
    }

    void reset() {
        assert unanswered == 0 : "batch is answered when it is used again";
        Arrays.fill(members, 0, length, null);
        length = 0;
        keyBytes = 0;
    }

    /** Bit i of the mask is the reply to member i. */
    void onReply(final Node node, final long deletedMask) {
        for (int i = 0; i < length; i++) {
            node.onReply(members[i], RequestRing.RELEASE_TAG, deletedMask >>> i & 1);
        }
    }

    void onError(final Node node, final VoteFailure failure) {
        for (int i = 0; i < length; i++) {
            members[i].onError(node.index(), CommandKind.RELEASE, 0, failure);
        }
    }

    void onUnknown(final Node node) {
        for (int i = 0; i < length; i++) {
            members[i].onUnknown(node.index(), CommandKind.RELEASE, 0);
        }
    }

    void onNotSent(final Node node, final VoteFailure failure) {
        for (int i = 0; i < length; i++) {
            members[i].onNotSent(node.index(), CommandKind.RELEASE, 0, failure);
        }
    }

    @Override
    public String toString() {
        return "ReleaseBatch{" + kind + ", " + length + " releases, unanswered=" + unanswered + "}";
    }
}
