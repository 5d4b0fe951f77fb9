package dev.redlock.engine;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.callback.CallbackExecutor;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.LossCause;
import dev.redlock.node.NodeView;
import dev.redlock.telemetry.Log;

/**
 * Ends leases without their holder: those that expire, and those that lose the quorum of their holder nodes because a
 * node may have lost its keys.
 *
 * @threading event-loop-confined
 */
final class LeaseLoss {

    private final LoopServices services;
    private final LeaseKeeper keeper;
    private final CallbackExecutor callbacks;
    final ShortenedLeases shortened;

    LeaseLoss(LoopServices services, LeaseKeeper keeper) {
        this.services = services;
        this.keeper = keeper;
        this.callbacks = services.config.loops().callbacks();
        this.shortened = new ShortenedLeases(services);
    }

    /**
     * Ends an expired lease: releases its keys and notifies its listener. The release goes out at once, so that others
     * need not wait for the expiry on the nodes.
     */
    void expire(Claim claim) {
        LossCause cause = Unclaimed.causeOfLoss(claim);
        if (cause != null) {
            lose(claim, 0, cause);
            return;
        }
        lose(claim, LeaseState.EXPIRED, ReleaseOutcome.EXPIRED, ExtendOutcome.EXPIRED, LossCause.VALIDITY_ENDED,
                LossCause.NO_NODE);
    }

    /** Ends a lease because its loop ends: the client can neither extend nor release it. */
    void loseWithoutNodes(Claim claim) {
        lose(claim, LeaseState.LOST, ReleaseOutcome.UNKNOWN, ExtendOutcome.NOT_HELD, LossCause.LOOP_ENDED,
                LossCause.NO_NODE);
    }

    private void lose(Claim claim, LeaseState state, ReleaseOutcome releaseOutcome,
            ExtendOutcome extendOutcome, LossCause cause, int nodeIndex) {
        if (keeper.retention.count != 0) {
            keeper.retention.onLosing(claim);
        }
        LeaseHandle lease = claim.lease;
        // A callback may reuse the lease, for another resource and with another listener.
        LockKey key = lease.key;
        LockKey lockedKey = claim.key;
        long waitNs = lease.waitNs;
        long acquiredNs = lease.acquiredNs;
        int number = claim.number;
        LeaseListener listener = lease.spec.listener;
        long nowNs = nowOr(acquiredNs);
        boolean isToBeKept = lease.isToBeKept(nowNs);
        // Another thread may be about to submit its release: the request of that one completes it.
        boolean isReleaseTaken = lease.storedState() == LeaseState.RELEASING;
        keeper.untrack(lease);
        claim.leaveLease();
        // Before the release is sent, because another client may acquire the lock afterwards.
        lease.end(state, releaseOutcome);
        try {
            if (isReleaseTaken) {
                // It waited for answers of the nodes, or for the pace of the close.
                lease.completeReleaseLater();
            }
            keeper.waiters.onLost(key, waitNs, acquiredNs, nowNs);
            if (isToBeKept) {
                keeper.releases.leaveToExpiry(claim);
            } else {
                keeper.releases.abandon(claim);
            }
            if (services.isClosing && cause != LossCause.LOOP_ENDED && !lease.isKept) {
                // The close has not released it yet. A release of an expired lease has this outcome too.
                keeper.releases.count(lease, key.resource(),
                        state == LeaseState.EXPIRED ? ReleaseOutcome.EXPIRED : ReleaseOutcome.UNKNOWN);
            }
        } finally {
            if (!lease.isKept) {
                services.telemetry.rare.onLeaseLost(acquiredNs, key, number, state, cause, nodeIndex);
            }
            if (lease.isExtensionAccepted()) {
                lease.completeExtend(extendOutcome);
            }
            callbacks.notifyLost(listener, lease, state);
            keeper.waiters.handOff(key, lockedKey);
        }
    }

    /** The time; another one if the clock throws, because the lease has to end all the same. */
    private long nowOr(long otherNs) {
        try {
            return services.clock.nanoTime();
        } catch (Throwable e) {
            return otherNs;
        }
    }

    /** Ends a lease because of a node. A release that throws must not keep the others back. */
    void lose(Claim claim, int nodeIndex, LossCause cause) {
        try {
            lose(claim, LeaseState.LOST, ReleaseOutcome.EXPIRED, ExtendOutcome.LOST, cause, nodeIndex);
        } catch (Throwable e) {
            Log.error("the release of a lost lease threw; its keys expire with their ttl", e);
        }
    }

    /**
     * Removes a holder node of a held lease; without a quorum of holder nodes the lease is lost, unless it is {@link
     * Unclaimed} from now on.
     */
    void dropHolder(Claim claim, int nodeIndex, LossCause cause) {
        if ((claim.holderMask & 1L << nodeIndex) != 0) {
            services.telemetry.rare.onHolderDropped(claim, nodeIndex, cause);
        }
        claim.removeHolder(nodeIndex);
        if (!services.majority.isReachedBy(claim.holderMask) && !keeper.unclaimed.outlives(claim, cause)) {
            lose(claim, nodeIndex, cause);
        } else if (keeper.retention.count != 0) {
            keeper.retention.onHolderDropped(claim);
        }
    }

    /** Revokes the grants of a node: leases without a quorum of other holder nodes are lost. */
    void revoke(NodeView node, LossCause cause) {
        revoke(node, cause, 0);
    }

    /** Revokes the grants of a node, but shortens a lease that needs it if the jump is known and leaves something. */
    void onClockJump(NodeView node, long aheadNsMax, int comparison) {
        shortened.onJump(node, comparison);
        revoke(node, LossCause.CLOCK_JUMPED, aheadNsMax);
    }

    /** What the jumps of the present comparison have done to leases. */
    String jumpText() {
        return shortened.toString();
    }

    private void revoke(NodeView node, LossCause cause, long aheadNsMax) {
        int nodeIndex = node.index();
        keeper.forEachHeld(claim -> {
            if (services.isNodeOf(claim, node)) {
                revokeSafely(claim, nodeIndex, cause, aheadNsMax);
            }
        });
    }

    /** Nothing reports the loss of the node again, so a lease that needs it ends also if its revocation throws. */
    private void revokeSafely(Claim claim, int nodeIndex, LossCause cause, long aheadNsMax) {
        try {
            revoke(claim, nodeIndex, cause, aheadNsMax);
        } catch (Throwable e) {
            if (claim.phase == Claim.Phase.HELD) {
                claim.removeHolder(nodeIndex);
                if (!services.majority.isReachedBy(claim.holderMask)) {
                    lose(claim, nodeIndex, cause);
                }
            }
            Log.error("the revocation of a grant threw; a lease without a quorum has ended", e);
        }
    }

    /**
     * A node may have lost the key: its vote in a round that is not decided no longer counts. If it has replied that it
     * held the key, it has lost it after that, so the key was not interrupted before the round. A lease that has no key
     * ends if a jump of the clock leaves it nothing, because others may vote now.
     */
    private void revoke(Claim claim, int nodeIndex, LossCause cause, long aheadNsMax) {
        if (claim.isExtending()) {
            claim.extension.round.revoke(nodeIndex);
            claim.extension.continuousMask &= ~(1L << nodeIndex);
        }
        boolean isUnclaimed = Unclaimed.is(claim);
        boolean isNeeded = isUnclaimed || (claim.holderMask & 1L << nodeIndex) != 0
                && !services.majority.isReachedBy(claim.holderMask & ~(1L << nodeIndex));
        boolean isShortened = aheadNsMax > 0 && isNeeded && shortened.shorten(claim, aheadNsMax);
        if (aheadNsMax > 0 && isUnclaimed && !isShortened) {
            lose(claim, nodeIndex, cause);
        } else if (!isShortened) {
            dropHolder(claim, nodeIndex, cause);
        }
    }

    /** Removes a node that has proved that it does not hold the token. */
    void onNotHeld(Claim claim, int nodeIndex) {
        if (claim.phase != Claim.Phase.HELD) {
            return;
        }
        boolean wasContinuous = (claim.extension.continuousMask & 1L << nodeIndex) != 0;
        claim.extension.continuousMask &= ~(1L << nodeIndex);
        dropHolder(claim, nodeIndex, LossCause.KEY_GONE);
        if (wasContinuous && claim.phase == Claim.Phase.HELD && isInterrupted(claim)) {
            lose(claim, nodeIndex, LossCause.KEY_GONE);
        }
    }

    /** Whether too few nodes held the key until the round. A key from before may expire with the validity before it. */
    private boolean isInterrupted(Claim claim) {
        return !services.majority.isReachedBy(claim.extension.continuousMask)
                && claim.extension.validBeforeNs - services.clock.nanoTime() > 0;
    }

    /** Ends a held lease whose release threw before its round: the nodes get the release later. */
    void endAfterFailure(LeaseHandle lease) {
        Claim claim = lease.claim;
        // A callback may reuse the lease for another resource, and the claim returns to its pool.
        LockKey key = lease.key;
        LockKey lockedKey = claim.key;
        keeper.retention.onEnded(claim);
        keeper.untrack(lease);
        lease.setState(LeaseState.RELEASING);
        claim.beginRelease();
        if (lease.isExtensionAccepted()) {
            lease.completeExtend(ExtendOutcome.NOT_HELD);
        }
        try {
            onSendFailed(claim);
        } finally {
            keeper.waiters.handOff(key, lockedKey);
        }
    }

    /**
     * Retains the release for all nodes that were asked, because some sends may have failed; a second release of a
     * token does nothing.
     */
    void onSendFailed(Claim claim) {
        if (claim.phase != Claim.Phase.RELEASING) {
            return;
        }
        try {
            for (long left = claim.askedMask; left != 0; left &= left - 1) {
                services.node(Long.numberOfTrailingZeros(left), claim).redeliverLater(claim);
            }
        } finally {
            keeper.releases.end(claim, ReleaseOutcome.UNKNOWN);
            keeper.releases.claims.recycleIfDone(claim);
        }
    }
}
