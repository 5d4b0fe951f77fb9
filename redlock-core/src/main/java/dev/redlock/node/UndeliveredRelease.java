package dev.redlock.node;

import dev.redlock.quorum.Token;

/**
 * A release that a node could not be sent: a token that the node may still hold.
 *
 * @threading event-loop-confined
 */
final class UndeliveredRelease extends InFlightRequest implements SlotKey {

    private ReleaseRedelivery redelivery;
    private final LockKind lockKind;
    private final int keyCount;
    private final byte[] resourceBulk;
    private final Token token;
    private final long untilNs;

    /**
     * A release of one token.
     *
     * @param redelivery gets the outcome
     * @param command    the token, which is copied, and the resources, borrowed for good, since they never change
     * @param untilNs    monotonic time after which the keys have expired
     */
    UndeliveredRelease(ReleaseRedelivery redelivery, LockCommand command, long untilNs) {
        this.redelivery = redelivery;
        this.lockKind = command.lockKind();
        this.keyCount = command.keyCount();
        this.resourceBulk = command.resourceBulk();
        this.token = command.token().copy();
        this.untilNs = untilNs;
    }

    /** Another server of the cluster gets the release. */
    void moveTo(ReleaseRedelivery other) {
        redelivery = other;
    }

    @Override
    public int slot() {
        return KeySlot.ofBulk(resourceBulk);
    }

    LockKind lockKind() {
        return lockKind;
    }

    int keyCount() {
        return keyCount;
    }

    byte[] resourceBulk() {
        return resourceBulk;
    }

    Token token() {
        return token;
    }

    long untilNs() {
        return untilNs;
    }

    void onReply(long value) {
        redelivery.onReply(this, value);
    }

    void onError(int tag, VoteFailure failure, String errorCode, SlotRedirect redirect) {
        redelivery.onError(this, tag, failure, errorCode, redirect);
    }

    void onUnknown() {
        redelivery.onUnknown(this);
    }
}
