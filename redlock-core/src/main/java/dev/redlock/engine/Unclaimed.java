package dev.redlock.engine;

import dev.redlock.engine.watch.LossCause;
import dev.redlock.node.NodeView;
import dev.redlock.telemetry.Log;

/**
 * The leases that outlive a failover or a restart of the only voter, for as long as no key protects them: they are
 * <i>unclaimed</i>. Such a lease has no holder node. It stays valid, because the new process gives no client a lock
 * before the lease ends, and an extension reclaims it; see {@code Succession} of the node.
 *
 * <ul>
 * <li>A reply that the key has our token, or is set now, makes the node a holder again. Replies to extensions from
 * before do not count: their connection has ended, or the node gets no extension yet.
 * <li>A reply that the key has another token ends the lease.
 * <li>A flush, or a clock that goes back, concerns keys that no unclaimed lease counts. An extension in progress does
 * not count then.
 * <li>A jump of the clock ahead shortens the lease as if it had a key. The server derives its uptime from that clock,
 * so a client that connects after the jump votes earlier by that much.
 * <li>Another failover or restart begins the same again.
 * <li>The node votes again: the lease ends, because another client may get the lock now.
 * <li>The validity ends: the lease ends, as one that was lost if it should have been extended.
 * </ul>
 *
 * <p>Locks of several keys, of readers and of writers have entries beside the key that an extension does not set again:
 * those leases are lost at once.
 *
 * @threading event-loop-confined
 */
final class Unclaimed {

    private final LoopServices services;
    private final LeaseKeeper keeper;
    /** A lease may be unclaimed. */
    private boolean isAny;
    /** The leases that have outlived something since the last line in the log. */
    private int count;

    Unclaimed(LoopServices services, LeaseKeeper keeper) {
        this.services = services;
        this.keeper = keeper;
    }

    static boolean is(Claim claim) {
        return claim.isKeyMissing();
    }

    /** The lease has no holder any more. Returns whether it outlives that. A clock that has jumped has gone back. */
    boolean outlives(Claim claim, LossCause cause) {
        if (is(claim) && (cause == LossCause.FLUSHED || cause == LossCause.CLOCK_JUMPED)) {
            return true;
        }
        boolean isOfProcess = cause == LossCause.RESTARTED || cause == LossCause.PROMOTED;
        if (!isOfProcess || !claim.lockKind().isOneKey || !services.isLoneNode()) {
            return false;
        }
        keeper.extensions.extensionOf(claim).unclaimedBecause = cause;
        isAny = true;
        count++;
        return true;
    }

    /** Tells how many leases have outlived what happened to a node. */
    void log(NodeView node) {
        int outliving = count;
        count = 0;
        if (outliving > 0 && !services.isClosing) {
            Log.later(services.loop, System.Logger.Level.INFO,
                    "node {0} ({1}): leases that were held there go on to the"
                            + " end of their validity, and are renewed at the new process: {2}",
                    node.index(), node.name(),
                    outliving);
        }
    }

    /** The validity has ended. Returns why a lease that should have been extended has lost its lock; null if none. */
    static LossCause causeOfLoss(Claim claim) {
        return is(claim) && claim.lease.isExtendable() ? claim.extension.unclaimedBecause : null;
    }

    /** The node gives votes from now on, so another client may get the locks. */
    void onSilenceOver(NodeView node) {
        if (!isAny) {
            return;
        }
        isAny = false;
        keeper.forEachHeld(claim -> {
            if (is(claim)) {
                keeper.loss.lose(claim, node.index(), claim.extension.unclaimedBecause);
            }
        });
    }
}
