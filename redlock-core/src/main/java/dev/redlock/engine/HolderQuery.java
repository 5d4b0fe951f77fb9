package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.KeyType;
import dev.redlock.node.send.LockKind;

/**
 * Asks for details of the key that has refused an acquisition:
 *
 * <ul>
 * <li>its remaining ttl, if the acquisition ends with a refused {@code SET}, which does not contain it;
 * <li>its type, if it outlives the longest ttl of a lock, or if the rollback has met a type that is no string: another
 * program has probably set it.
 * </ul>
 *
 * <p>The rollback follows the first query on each connection, so other clients do not wait for the reply. Its own reply
 * ends the query of the ttl, which it follows.
 *
 * @threading event-loop-confined
 */
final class HolderQuery {

    static final int KEY_MISSING = -2;

    private final LoopServices services;
    private final ClaimPool claims;
    private final ReleaseOperation releases;
    private final AcquireScheduler scheduler;
    /** Its queries are being sent: the query ends after the last send at the earliest. */
    private Claim asking;

    HolderQuery(LoopServices services, ClaimPool claims, ReleaseOperation releases, AcquireScheduler scheduler) {
        this.services = services;
        this.claims = claims;
        this.releases = releases;
        this.scheduler = scheduler;
    }

    /**
     * Starts if the refusal ends the acquisition and does not contain the holder's ttl, as that of a {@code SET}, or if
     * the type of a key that no lock can have is not known.
     *
     * @return false if it is not due: the rollback follows
     */
    boolean startIfDue(Claim claim) {
        if (!isDue(claim)) {
            return false;
        }
        boolean isRolledBack = claim.shortestRemainingTtlMs() < 0 || scheduler.retries.mayHaveSetKeys(claim);
        if (isRolledBack) {
            services.counters.add(ConductorCounters.ROLLED_BACK, 1);
        }
        start(claim, isRolledBack);
        return true;
    }

    private boolean isDue(Claim claim) {
        if (claim.phase != Claim.Phase.ACQUIRING || claim.pending.kind() == LockKind.PERMIT) {
            return false;
        }
        if (claim.shortestRemainingTtlMs() >= 0) {
            return isTypeDue(claim) && hasTimeForQuery(claim.pending);
        }
        return services.config.attempts().commandMode() == CommandMode.AUTO && claim.pending.lease.waitNs <= 0
                && claim.fenceOrSearch == null && !claim.isRemainingTtlWanted;
    }

    private boolean hasTimeForQuery(PendingAcquire pending) {
        return pending.lease.waitNs <= 0 || !pending.isNextDue()
                && pending.deadlineNs - services.clock.nanoTime() > pending.lease.times.nodeTimeoutNs;
    }

    /** Sends the query to nodes that refused, then the release to all that may have the token. */
    void start(Claim claim, boolean isRolledBack) {
        boolean isTtlKnown = claim.shortestRemainingTtlMs() >= 0;
        claim.beginHolderQuery();
        services.timers.start(claim.roundTimer,
                services.clock.nanoTime() + services.config.terms().nodeTimeoutNs(claim.ttlMs));
        // A send may send acquires first, of which one may ask too.
        Claim outer = asking;
        asking = claim;
        try {
            if (isTtlKnown) {
                askType(claim, Long.lowestOneBit(claim.round.refused()));
            } else {
                claim.contention().queriedMask = claim.round.refused();
                claim.addPendingReplies(Long.bitCount(claim.contention().queriedMask));
                services.fanOut.send(claim, CommandKind.REMAINING_TTL, CommandDetail.NONE,
                        claim.contention().queriedMask);
            }
            if (isRolledBack) {
                releases.send(claim);
            }
        } finally {
            asking = outer;
        }
        endIfAnswered(claim);
    }

    /** Whether the key in use lasts longer than a lock can, and its type is not known yet. */
    boolean isTypeDue(Claim claim) {
        return claim.shortestRemainingTtlMs() > services.config.terms().maxTtlMs()
                && claim.pending.lease.askedKey == null;
    }

    /** Asks one node that refused. The keys of a set need a command each. */
    private void askType(Claim claim, long nodeBit) {
        int count = typeCount(claim.key);
        claim.contention().queriedMask |= nodeBit;
        claim.pending.lease.askedKey = claim.key;
        claim.pending.lease.keyType = KeyType.NONE;
        claim.addPendingReplies(Long.bitCount(nodeBit) * count);
        for (int i = 0; i < count; i++) {
            services.fanOut.send(claim, CommandKind.KEY_TYPE, i, nodeBit);
        }
    }

    private static int typeCount(LockKey key) {
        return key.kind == LockKind.SET ? key.resourceCount : 1;
    }

    void onType(Claim claim, int nodeIndex, int resource, long value) {
        KeyType type = KeyType.of((int) value);
        if (claim.phase == Claim.Phase.QUERYING_HOLDER && type.isForeign()) {
            claim.pending.lease.askedKey = claim.key.resourceKey(resource);
            claim.pending.lease.keyType = type;
        }
        onNoType(claim, nodeIndex, resource);
    }

    void onNoType(Claim claim, int nodeIndex, int resource) {
        if (resource == typeCount(claim.key) - 1) {
            onReleased(claim, nodeIndex);
        }
    }

    /** The value is in milliseconds: -1 for a key without expiry, -2 for a missing key. */
    void onReply(Claim claim, long value) {
        if (claim.phase == Claim.Phase.QUERYING_HOLDER) {
            long ttlMs = value < 0 ? Long.MAX_VALUE : value;
            claim.contention().recordRemainingTtl(value == KEY_MISSING ? 0 : ttlMs);
        }
    }

    /** The rollback has found a key that is no string. Returns whether its node is asked for the type. */
    boolean onWrongType(Claim claim, int nodeIndex) {
        boolean isAsked = claim.phase == Claim.Phase.QUERYING_HOLDER && claim.pending.lease.askedKey == null;
        if (isAsked) {
            askType(claim, 1L << nodeIndex);
        }
        return isAsked;
    }

    /** A node has answered the rollback, or cannot, so it has answered the query before. */
    void onReleased(Claim claim, int nodeIndex) {
        if (claim.phase == Claim.Phase.QUERYING_HOLDER) {
            claim.contention().queriedMask &= ~(1L << nodeIndex);
            endIfAnswered(claim);
        }
    }

    private void endIfAnswered(Claim claim) {
        if (claim.contention().queriedMask != 0 || claim == asking) {
            return;
        }
        if (isTypeDue(claim)) {
            Claim outer = asking;
            asking = claim;
            try {
                askType(claim, Long.lowestOneBit(claim.round.refused()));
            } finally {
                asking = outer;
            }
        }
        if (claim.contention().queriedMask == 0) {
            end(claim);
        }
    }

    /** Ends the query after the last reply or the timeout, with the shortest ttl so far. */
    void end(Claim claim) {
        PendingAcquire pending = claim.pending;
        if (claim.lockKind() == LockKind.PERMIT) {
            scheduler.permits.onNoneFree(claim);
            return;
        }
        pending.lease.shortestRemainingTtlMs = claim.shortestRemainingTtlMs();
        untrack(claim);
        scheduler.retries.onAttemptFailed(pending, AcquireOutcome.Kind.CONTENDED);
    }

    /** Detaches the claim from its acquisition: later replies do not count. */
    void untrack(Claim claim) {
        services.timers.stop(claim.roundTimer);
        claim.abandon();
        claims.recycleIfDone(claim);
    }
}
