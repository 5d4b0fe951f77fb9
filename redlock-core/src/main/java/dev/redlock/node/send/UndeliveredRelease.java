package dev.redlock.node.send;

import dev.redlock.quorum.Token;

/**
 * A release that a node could not be sent: a token that the node may still hold.
 *
 * @threading event-loop-confined
 */
public final class UndeliveredRelease extends InFlightRequest implements SlotKey {

    /**
     * Gets the outcome of a release.
     *
     * @threading event-loop-confined
     */
    interface Owner {

        /** The node replied with an integer. */
        void onReply(UndeliveredRelease release, long value);

        /** The node replied with an error: it did not execute the release. */
        void onError(UndeliveredRelease release, int tag, VoteFailure failure, String errorCode,
                SlotRedirect redirect);

        /** The connection was lost before the reply. */
        void onUnknown(UndeliveredRelease release);

        /** Another server of the cluster has redirected the release. */
        void onRedirected(UndeliveredRelease release, boolean isAsk);
    }

    /** Gets the outcome; another server of the cluster may get the release. */
    Owner owner;
    final LockKind lockKind;
    final int keyCount;
    final byte[] resourceBulk;
    final Token token;
    private boolean isRejected;
    private long rejectedNs;

    /**
     * A release of one token.
     *
     * @param command the token, which is copied, and the resources, borrowed for good, since they never change
     */
    UndeliveredRelease(Owner owner, LockRequest command) {
        this.owner = owner;
        this.lockKind = command.lockKind();
        this.keyCount = command.keyCount();
        this.resourceBulk = command.resourceBulk();
        this.token = command.token.copy();
    }

    /** The server did not execute it. Returns the time since the first time, nanoseconds. */
    long onRejected(long nowNs) {
        rejectedNs = isRejected ? rejectedNs : nowNs;
        isRejected = true;
        return nowNs - rejectedNs;
    }

    @Override
    public int slot() {
        return KeySlot.ofBulk(resourceBulk);
    }
}
