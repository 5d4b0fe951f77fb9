package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.callback.UserCallbacks;
import dev.redlock.telemetry.Log;
import dev.redlock.node.Voter;
import dev.redlock.time.DeadlineTimer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.FutureListener;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Ends everything of an event loop, in one of two ways:
 *
 * <ul>
 * <li>the client closes: it ends pending acquisitions, releases held leases and waits for the replies;
 * <li>the event loop ends first: every caller gets an outcome without the nodes.
 * </ul>
 *
 * @threading event-loop-confined, except {@link #start}
 */
final class Shutdown {

    /** 100 years: the sentinel never fires, but the loop cancels it. */
    private static final long SENTINEL_DELAY_DAYS = 36_500;
    /** The last resort. It is not clean, because leases may not have been released. */
    static final CloseReport UNKNOWN = new CloseReport(0, List.of("unknown: the report of the close threw"));

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final LeaseKeeper keeper;
    private final ReleaseTally tally;
    private final EventLoop loop;
    private final DeadlineTimer timer = new DeadlineTimer(this::onTimeout);
    private final ReleasePace pace;
    private final DeadlineTimer releaseTimer = new DeadlineTimer(this::onReleaseTimer);
    private final NextTurn nextTurn;
    private final ClaimPool claims;
    private final CompletableFuture<Void> settled;
    /** The loop cancels it at its shutdown; null before the start and after the end. */
    private Future<?> loopEndSentinel;
    private CompletableFuture<CloseReport> report;

    Shutdown(LoopServices services, AcquireScheduler scheduler, LeaseKeeper keeper, ReleaseTally tally,
            ClaimPool claims, CompletableFuture<Void> settled) {
        this.services = services;
        this.scheduler = scheduler;
        this.keeper = keeper;
        this.tally = tally;
        this.loop = services.loop;
        this.pace = new ReleasePace(services.fanOut);
        this.claims = claims;
        this.settled = settled;
        this.nextTurn = new NextTurn(services, keeper, this::onCancelled);
    }

    NextTurn nextTurn() {
        return nextTurn;
    }

    /** The loop was shutting down before the start: there are no requests yet. */
    void markClosed() {
        services.isClosing = true;
        services.isClosed = true;
    }

    // ---- the loop ends first ----------------------------------------------------------------------------------------

    /** Detects a shutdown of the loop by a scheduled task, which the loop then cancels. */
    void watchLoop() {
        // First, because it may need memory: a sentinel without a listener would be useless.
        FutureListener<Object> listener = cancelled -> {
            if (loopEndSentinel != null) {
                onCancelled(cancelled);
            }
        };
        Future<?> end = loop.schedule(() -> {
        }, SENTINEL_DELAY_DAYS, TimeUnit.DAYS);
        loopEndSentinel = end;
        end.addListener(listener);
    }

    void onCancelled(Future<?> scheduled) {
        if (scheduled.isCancelled()) {
            onLoopEnding();
        }
    }

    /**
     * The loop is shutting down before the client was closed. Its connections and timers are gone, so every caller gets
     * an outcome now. The keys of held leases expire with their ttl.
     */
    void onLoopEnding() {
        if (!services.isClosed) {
            services.isClosing = true;
            pace.end();
            int lostCount = keeper.heldCount();
            try {
                endWithoutNodes();
            } finally {
                services.isClosed = true;
                settled.complete(null);
                if (report != null) {
                    complete(report);
                }
                services.callers.close();
            }
            logEndOfLoop(lostCount);
        }
        services.unsubmitted.run();
        nextTurn.completeElsewhere();
    }

    private void endWithoutNodes() {
        for (LeaseHandle lease = keeper.firstHeld; lease != null; lease = lease.nextHeld) {
            tally.record(lease, lease.resource(), ReleaseOutcome.UNKNOWN);
        }
        endAll(AcquireOutcome.Kind.CLOSED, lease -> keeper.loss.loseWithoutNodes(lease.claim));
        forEachVoter(Voter::end);
        services.fanOut.close();
    }

    private static void logEndOfLoop(int lostCount) {
        if (lostCount > 0) {
            Log.log(System.Logger.Level.WARNING, "the event loop was shut down before the client was closed:"
                    + " {0} leases are lost, their keys expire with their ttl; close the client first", lostCount);
        } else {
            Log.log(System.Logger.Level.INFO,
                    "the event loop was shut down before the client was closed: requests on it"
                            + " get the outcome CLOSED; close the client first");
        }
    }

    // ---- closing in order -------------------------------------------------------------------------------------------

    /**
     * Starts to close, from any thread. The report completes even if the loop ends before. If the loop throws otherwise
     * than by a rejection, the close has not started, and may be started again.
     */
    void start(long timeoutNs, CompletableFuture<CloseReport> newReport) {
        try {
            loop.execute(() -> close(timeoutNs, newReport));
        } catch (RejectedExecutionException e) {
            // A given event loop has ended before the client, with its connections and timers.
            loop.terminationFuture().addListener(future -> services.fanOut.free());
            complete(newReport);
            return;
        }
        // A loop that ends now may have accepted the task silently.
        FutureListener<Object> onTerminated = terminated -> complete(newReport);
        Future<?> termination = loop.terminationFuture();
        termination.addListener(onTerminated);
        newReport.whenComplete((done, failure) -> termination.removeListener(onTerminated));
    }

    /** Ends pending acquisitions and releases held leases; closes the nodes after the last reply or the timeout. */
    void close(long timeoutNs, CompletableFuture<CloseReport> newReport) {
        if (services.isClosed) {
            complete(newReport);
            return;
        }
        if (report != null) {
            // Another event loop of the client did not start to close before.
            report.thenAccept(newReport::complete);
            return;
        }
        report = newReport;
        services.isClosing = true;
        try {
            long nowNs = services.clock.nanoTime();
            long limitNs = Math.min(timeoutNs, Long.MAX_VALUE / 4);
            pace.start(nowNs, limitNs);
            services.timers.start(timer, nowNs + limitNs);
            releaseHeld(nowNs);
        } catch (Throwable e) {
            closeAfterFailure(e);
        }
    }

    /** Nothing else would end this close: releases all leases now, and does not wait for the replies. */
    private void closeAfterFailure(Throwable thrown) {
        try {
            pace.end();
            endAll(AcquireOutcome.Kind.CLOSED, keeper.releases::release);
        } catch (Throwable e) {
            Log.error("a lease was not released when the client closed; its keys expire with their ttl", e);
        } finally {
            // After the releases, which a task sends.
            executeOrRun(this::closeNodes);
        }
        Log.error("the close of the client threw; it closes without waiting for the replies to its releases", thrown);
    }

    /** Without memory for the task, it runs now. */
    private void executeOrRun(Runnable task) {
        try {
            services.executeUnlessEnding(task);
        } catch (Throwable e) {
            task.run();
        }
    }

    /** Releases held leases, some in this turn. A lease that waits for its release is held like any other. */
    private void releaseHeld(long nowNs) {
        pace.startTurn(nowNs);
        endAll(AcquireOutcome.Kind.CLOSED, keeper.releases::release);
        if (keeper.firstHeld != null) {
            services.timers.start(releaseTimer, pace.nextTurnNs());
            return;
        }
        forEachVoter(Voter::drain);
        closeNodesIfQuiet();
    }

    private void onReleaseTimer(long nowNs) {
        try {
            releaseHeld(nowNs);
        } catch (Throwable e) {
            closeAfterFailure(e);
        }
    }

    private void onTimeout(long nowNs) {
        if (keeper.firstHeld == null) {
            closeNodes();
            return;
        }
        try {
            // The loop is late: the releases have to leave before the connections close.
            services.timers.start(timer, nowNs);
            releaseHeld(nowNs);
        } catch (Throwable e) {
            closeAfterFailure(e);
        }
    }

    /** If the end of one voter throws, the others still follow. */
    private void forEachVoter(Consumer<Voter> end) {
        for (Voter voter : services.voters) {
            try {
                end.accept(voter);
            } catch (Throwable e) {
                Log.error("the end of a node threw; the client continues to close", e);
            }
        }
    }

    /** Ends all acquisitions, and the leases of this turn. If the end of one throws, the others still follow. */
    private void endAll(AcquireOutcome.Kind kind, Consumer<LeaseHandle> end) {
        keeper.retention.stop();
        boolean hasThrown;
        do {
            hasThrown = false;
            try {
                while (scheduler.firstActive != null) {
                    scheduler.retries.abort(scheduler.firstActive, kind);
                }
                while (keeper.firstHeld != null && pace.admits(keeper.firstHeld.claim)) {
                    end.accept(keeper.firstHeld);
                }
            } catch (Throwable e) {
                hasThrown = true;
                UserCallbacks.logRequestThrown(e);
            }
        } while (hasThrown || scheduler.firstActive != null);
    }

    /** A node has closed, or the last claim has returned to its pool. */
    void onProgress() {
        if (services.isClosing) {
            services.executeUnlessEnding(this::closeNodesIfQuiet);
        }
    }

    private void closeNodesIfQuiet() {
        if (claims.outCount() == 0 && report != null && !report.isDone()) {
            closeNodes();
        }
    }

    private void closeNodes() {
        services.timers.stop(timer);
        forEachVoter(Voter::close);
        try {
            // After the events of the closed channels, which complete the pending requests.
            services.executeUnlessEnding(this::end);
        } catch (Throwable e) {
            // Without memory for the task: these requests have no outcome yet.
            tally.recordUnfinished(claims.outCount());
            end();
        }
    }

    private void end() {
        if (services.isClosed) {
            return;
        }
        try {
            services.fanOut.close();
        } catch (Throwable e) {
            // An allocator may throw when it gets its memory back. The caller of the close still gets a report.
            Log.error("buffers were not released when the client closed", e);
        }
        services.isClosed = true;
        Future<?> watched = loopEndSentinel;
        loopEndSentinel = null;
        try {
            if (watched != null) {
                watched.cancel(false);
            }
            services.closeTimers();
        } finally {
            complete(report);
            services.unsubmitted.run();
            nextTurn.runUnscheduled();
            services.callers.close();
        }
    }

    /** Its caller waits for it, also if there is no memory for the report. */
    private void complete(CompletableFuture<CloseReport> waiting) {
        CloseReport result = UNKNOWN;
        try {
            result = tally.report();
        } catch (Throwable e) {
            Log.error("the report of a close threw; it shows no resources", e);
        }
        waiting.complete(result);
    }
}
