package dev.redlock.engine;

import dev.redlock.api.CommandMode;
import dev.redlock.engine.crowd.Place;
import dev.redlock.engine.crowd.QueueReply;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.LockKind;

/**
 * Informs a client that retains a lock that this client wants it. A refused attempt that does not enter the queue
 * leaves a trace: it changes the key of the traces, if there is one.
 *
 * @threading event-loop-confined
 */
final class RetainedTraces {

    /** A caller whose budget ends sooner may not come to enter the queue. */
    private static final long ENTRY_NS_MAX = 1_000_000;

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    /** Users of the command mode {@code NATIVE} may lack the right. */
    private final boolean areSet;
    private final RetainedRequest trace = new RetainedRequest(null, null);

    RetainedTraces(LoopServices services, AcquireScheduler scheduler) {
        this.services = services;
        this.scheduler = scheduler;
        this.areSet = services.config.limits().retainedLeasesMax() > 0 && !services.config.nodes().hasClusters()
                && services.config.attempts().commandMode() != CommandMode.NATIVE;
    }

    /** An attempt was refused. */
    void set(Claim claim) {
        if (!areSet || !isDue(claim)) {
            return;
        }
        // On each node that refuses it, also later: the coordinator may have granted, and one may not be reached.
        long refusing = claim.askedMask & ~claim.round.granted();
        int keyCount = claim.lockKind() == LockKind.SET ? claim.key.resourceCount : 1;
        for (int i = 0; i < keyCount; i++) {
            services.counters.add(ConductorCounters.COMMANDS, Long.bitCount(refusing));
            trace.of(claim.key.resourceKey(i));
            services.fanOut.send(trace, CommandKind.LEAVE_TRACE, CommandDetail.TRACES, refusing);
        }
    }

    private boolean isDue(Claim claim) {
        PendingAcquire pending = claim.pending;
        LockKey key = pending.lease.key;
        if (key.kind != LockKind.PLAIN) {
            return !key.kind.isOneKey;
        }
        return claim.isInOrder() && Long.bitCount(claim.askedMask) == 1
                ? pending.queue == null || !isInQueue(PlainQueue.placeOf(pending))
                : !isEntryNext(pending, key);
    }

    /** A node that cannot keep the queue says nothing about the place. */
    private static boolean isInQueue(Place place) {
        return place.isEntered() && place.rank() < QueueReply.RANK_UNKNOWN;
    }

    /** Whether its next attempt enters the queue at once. */
    private boolean isEntryNext(PendingAcquire pending, LockKey key) {
        return pending.lease.waitNs > 0 && pending.plan() == PendingAcquire.Plan.UNCONTENDED
                && pending.deadlineNs - services.clock.nanoTime() > ENTRY_NS_MAX
                && services.coordinator.of(key) != Coordinator.NONE && scheduler.inFlight.first == null
                && scheduler.queues.get(key) == null
                && scheduler.registrations.count < services.config.limits().wakeUpKeysMax();
    }
}
