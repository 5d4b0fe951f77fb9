package dev.redlock.node;

import dev.redlock.api.RestartGuardMode;
import dev.redlock.node.guard.VoteGuard;
import dev.redlock.time.DeadlineTimer;

/**
 * What a server that follows another one at an address may do: for how long it is <i>silent</i>, which means that it
 * gives no vote because it may lack locks of its predecessor, and from when it renews leases meanwhile.
 *
 * <p>With one voter, leases outlive a failover and a restart. In the silence no client gets a lock that was held
 * before, so a lease stays valid to the end of its validity. And an extension may set its key at the new process, which
 * protects it after the silence too: the lease is <i>reclaimed</i>.
 *
 * <p>An extension must not be sent too early: a deposed primary may still serve clients that have not noticed the
 * failover, and the key of the lease ends there. So the node gets extensions when {@link DeposedPrimary#serviceNs} has
 * passed since this client found the promotion. A process that has only restarted has no such predecessor. The lease
 * has to be valid until then: most are, if they are extended after a third of their ttl, and the service is short.
 *
 * <p>{@code PromotionSearch} visits all states of this rule with two clients, two promotions, restarts, and jumps of
 * clocks. It does not hold for several voters, where other nodes may vote meanwhile; nor for a server that would not
 * show a promotion.
 *
 * @threading event-loop-confined
 */
final class Succession {

    private final NodeContext context;
    private final VoteGuard guard;
    private final DeposedPrimary predecessor;
    private final boolean isLone;
    private final Runnable onReclaimable;
    private final DeadlineTimer timer = new DeadlineTimer(nowNs -> check());
    /** The connected server would show a promotion. False without a connection. */
    private boolean isHistoryShown;

    /**
     * Calls {@code onReclaimable} when the node may get extensions.
     *
     * @param isLone whether the node is the only voter
     */
    Succession(NodeContext context, VoteGuard guard, DeposedPrimary predecessor, boolean isLone,
            Runnable onReclaimable) {
        this.context = context;
        this.guard = guard;
        this.predecessor = predecessor;
        this.isLone = isLone;
        this.onReclaimable = onReclaimable;
    }

    /** A handshake is complete. */
    void onConnected() {
        predecessor.onConnected(guard.isPromotionQuarantined());
    }

    /** The server has shown its replicas, in the handshake or later. */
    void onInfo(ReplicationInfo shown) {
        predecessor.onInfo(shown);
    }

    /** How long a promoted server gives no vote. */
    long silenceNs() {
        return predecessor.silenceNs();
    }

    /** Whether leases outlive a process: another client does not get their locks from the next one. */
    boolean mayLeasesOutlive() {
        return isLone && context.options().guards().mode() != RestartGuardMode.OFF;
    }

    /** The connected server may lack locks, as it has shown now. */
    void start(ReplicationInfo shown) {
        isHistoryShown = shown.isHistoryShown();
        check();
    }

    /** The silence is over, or the connection has ended. */
    void stop() {
        isHistoryShown = false;
        context.timers().stop(timer);
    }

    /**
     * Something has changed, or the time has come. The service may have another length than before: the server reports
     * its settings after the handshake.
     */
    void check() {
        if (isReclaimable()) {
            onReclaimable.run();
        } else if (isPossible()) {
            context.timers().start(timer, reclaimableNs());
        }
    }

    /** Whether the node gets extensions now, if it is connected and silent. */
    boolean isReclaimable() {
        return isPossible() && reclaimableNs() - context.clock().nanoTime() <= 0;
    }

    private boolean isPossible() {
        return isLone && isHistoryShown && guard.mayLackLocks() && guard.isClockReadable();
    }

    /** The predecessor of a promoted server may serve even if that server has restarted since. */
    private long reclaimableNs() {
        long serviceNs = predecessor.serviceNs();
        boolean isPromoted = guard.isPromotionQuarantined();
        long promotionNs = isPromoted ? guard.promotedNs() + serviceNs : 0;
        if (!guard.isRestartQuarantined()) {
            return promotionNs;
        }
        long restartNs = guard.restartGuard().firstContactNs() + (predecessor.isNone() ? 0 : serviceNs);
        return isPromoted && promotionNs - restartNs > 0 ? promotionNs : restartNs;
    }
}
