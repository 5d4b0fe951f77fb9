package dev.redlock.engine;

import dev.redlock.node.Voter;
import java.util.function.LongConsumer;

/**
 * Shrinks the pools of one event loop, once a second at most, so that the memory of an outage is free again, and
 * executes the {@link UnsubmittedRequests}, a {@link NextTurn} that was not scheduled, and {@link StartSteps} that have
 * failed. It also drives the looks of {@link UnlimitedWaits}. The timers of the loop drive it: an idle client has
 * timers too, because it watches its nodes.
 *
 * @threading event-loop-confined
 */
final class PoolTrimmer implements LongConsumer {

    private static final long PERIOD_NS = 1_000_000_000;

    private LoopServices services;
    private ClaimPool claims;
    private AcquireScheduler scheduler;
    private LeaseKeeper keeper;
    private NextTurn nextTurn;
    private StartSteps startSteps;
    private UnlimitedWaits unlimitedWaits;
    private long trimmedNs;

    /** The timers need this object, and the parts need the timers: it knows them before the first timer fires. */
    void connect(LoopServices ofLoop, ClaimPool pool, AcquireScheduler acquiring, LeaseKeeper held,
            NextTurn next, StartSteps start, UnlimitedWaits waits) {
        services = ofLoop;
        claims = pool;
        scheduler = acquiring;
        keeper = held;
        nextTurn = next;
        startSteps = start;
        unlimitedWaits = waits;
        trimmedNs = ofLoop.clock.nanoTime();
    }

    @Override
    public void accept(long nowNs) {
        services.unsubmitted.run();
        nextTurn.runUnscheduled();
        startSteps.retry(nowNs);
        if (nowNs - trimmedNs < PERIOD_NS) {
            return;
        }
        trimmedNs = nowNs;
        services.config.loops().callbacks().poll(nowNs);
        claims.trim();
        scheduler.trim();
        keeper.retention.trim();
        keeper.loss.shortened.trim();
        services.fanOut.trim();
        for (Voter voter : services.voters) {
            voter.trim();
        }
        unlimitedWaits.lookIfDue(nowNs);
    }
}
