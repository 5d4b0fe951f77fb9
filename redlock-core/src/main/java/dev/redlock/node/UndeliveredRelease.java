package dev.redlock.node;

import dev.redlock.quorum.Token;

/**
 * A release that a node could not be sent: a token that the node may still hold.
 *
 * @threading event-loop-confined
 */
final class UndeliveredRelease extends InFlightRequest implements SlotKey {

    private ReleaseRedelivery redelivery;
    private final byte[] resourceBulk;
    private final Token token;
    private final long untilNs;

    /**
     * A release of one token.
     *
     * @param redelivery   gets the outcome
     * @param resourceBulk the resource; borrowed for good, since it never changes
     * @param token        copied
     * @param untilNs      monotonic time after which the key has expired
     */
    UndeliveredRelease(ReleaseRedelivery redelivery, byte[] resourceBulk, Token token,
            long untilNs) {
        this.redelivery = redelivery;
        this.resourceBulk = resourceBulk;
        this.token = token.copy();
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
        redelivery.onReply(value);
    }

    void onError(int tag, VoteFailure failure, String errorCode, SlotRedirect redirect) {
        redelivery.onError(this, tag, failure, errorCode, redirect);
    }

    void onUnknown() {
        redelivery.onUnknown(this);
    }
}
