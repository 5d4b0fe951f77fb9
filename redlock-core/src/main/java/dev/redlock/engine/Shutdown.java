package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.node.Log;
import dev.redlock.node.Voter;
import dev.redlock.time.DeadlineTimer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.FutureListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Ends a conductor, in one of two ways:
 *
 * <ul>
 * <li>the client closes: it ends pending acquisitions, releases held leases and waits for the replies;
 * <li>the event loop ends first: every caller gets an outcome without the nodes.
 * </ul>
 *
 * @threading event-loop-confined, except {@link #start}, {@link #isClosed}
 */
final class Shutdown {

    /** 100 years: the sentinel never fires, but the loop cancels it. */
    private static final long SENTINEL_DELAY_DAYS = 36_500;

    private final Conductor conductor;
    private final EventLoop loop;
    private final DeadlineTimer timer = new DeadlineTimer(nowNs -> closeNodes());
    private final List<String> unreleased = new ArrayList<>();
    private int releasedCount;
    private volatile boolean isClosing;
    private volatile boolean isClosed;
    /** The loop cancels it at its shutdown; null before the start and after the end. */
    private Future<?> loopEndSentinel;
    private CompletableFuture<CloseReport> report;

    Shutdown(Conductor conductor, EventLoop loop) {
        this.conductor = conductor;
        this.loop = loop;
    }

    boolean isClosing() {
        return isClosing;
    }

    /**
     * Returns whether the conductor has ended. A task submitted before still runs. A later one may not, because a
     * terminated event loop accepts tasks silently.
     */
    boolean isClosed() {
        return isClosed;
    }

    /** The loop was shutting down before the start: there are no requests yet. */
    void markClosed() {
        isClosing = true;
        isClosed = true;
    }

    // ---- the loop ends first ----------------------------------------------------------------------------------------

    /** Detects a shutdown of the loop by a scheduled task, which the loop then cancels. */
    void watchLoop() {
        Future<?> end = loop.schedule(() -> {
        }, SENTINEL_DELAY_DAYS, TimeUnit.DAYS);
        loopEndSentinel = end;
        end.addListener(cancelled -> {
            if (loopEndSentinel != null) {
                onCancelled(cancelled);
            }
        });
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
        if (!isClosed) {
            isClosing = true;
            int lostCount = conductor.keeper().heldCount();
            try {
                endWithoutNodes();
            } finally {
                isClosed = true;
                conductor.settle();
                if (report != null) {
                    report.complete(newReport());
                }
            }
            logEndOfLoop(lostCount);
        }
        conductor.nextTurn().completeElsewhere();
    }

    private void endWithoutNodes() {
        LeaseKeeper keeper = conductor.keeper();
        for (LeaseHandle lease = keeper.firstHeld(); lease != null; lease = lease.nextHeld) {
            unreleased.add(lease.resource());
        }
        endAll(AcquireOutcome.Kind.CLOSED, lease -> keeper.loseWithoutNodes(lease.claim));
        for (Voter voter : conductor.voters()) {
            voter.end();
        }
        conductor.fanOut().close();
    }

    private static void logEndOfLoop(int lostCount) {
        if (lostCount > 0) {
            Log.log(System.Logger.Level.WARNING, "the event loop was shut down before the client was closed:"
                    + " {0} leases are lost, their keys expire with their ttl; close the client first", lostCount);
        }
    }

    // ---- closing in order -------------------------------------------------------------------------------------------

    /** Starts to close, from any thread. The report completes even if the loop ends before. */
    void start(long timeoutNs, CompletableFuture<CloseReport> newReport) {
        try {
            loop.execute(() -> close(timeoutNs, newReport));
        } catch (RejectedExecutionException e) {
            // A given event loop has ended before the client, with its connections and timers.
            loop.terminationFuture().addListener(future -> conductor.fanOut().free());
            newReport.complete(newReport());
            return;
        }
        // A loop that ends now may have accepted the task silently.
        FutureListener<Object> onTerminated = terminated -> newReport.complete(newReport());
        Future<?> termination = loop.terminationFuture();
        termination.addListener(onTerminated);
        newReport.whenComplete((done, failure) -> termination.removeListener(onTerminated));
    }

    /** Ends pending acquisitions and releases held leases; closes the nodes after the last reply or the timeout. */
    void close(long timeoutNs, CompletableFuture<CloseReport> newReport) {
        if (isClosed) {
            newReport.complete(newReport());
            return;
        }
        report = newReport;
        isClosing = true;
        endAll(AcquireOutcome.Kind.CLOSED, conductor.releaseOperation()::release);
        for (Voter voter : conductor.voters()) {
            voter.drain();
        }
        conductor.startTimer(timer, conductor.nowNs() + Math.min(timeoutNs, Long.MAX_VALUE / 4));
        closeNodesIfQuiet();
    }

    /** Ends all acquisitions and leases. If the end of one throws, the others still follow. */
    private void endAll(AcquireOutcome.Kind kind, Consumer<LeaseHandle> end) {
        AcquireScheduler scheduler = conductor.scheduler();
        LeaseKeeper keeper = conductor.keeper();
        while (scheduler.firstPending() != null || keeper.firstHeld() != null) {
            try {
                while (scheduler.firstPending() != null) {
                    scheduler.abortFirst(kind);
                }
                while (keeper.firstHeld() != null) {
                    end.accept(keeper.firstHeld());
                }
            } catch (RuntimeException | Error e) {
                UserCallbacks.logRequestThrown(e);
            }
        }
    }

    void recordRelease(LeaseHandle lease, ReleaseOutcome outcome) {
        if (!isClosing) {
            return;
        }
        if (outcome == ReleaseOutcome.UNKNOWN) {
            unreleased.add(lease.resource());
        } else {
            releasedCount++;
        }
    }

    /** A node has closed, or the last claim has returned to its pool. */
    void onProgress() {
        if (isClosing) {
            conductor.executeUnlessEnding(this::closeNodesIfQuiet);
        }
    }

    private void closeNodesIfQuiet() {
        if (conductor.claims().outCount() == 0 && report != null && !report.isDone()) {
            closeNodes();
        }
    }

    private void closeNodes() {
        conductor.stopTimer(timer);
        for (Voter voter : conductor.voters()) {
            voter.close();
        }
        // After the events of the closed channels, which complete the pending requests.
        conductor.executeUnlessEnding(this::end);
    }

    private void end() {
        if (!isClosed) {
            conductor.fanOut().close();
            isClosed = true;
            Future<?> watched = loopEndSentinel;
            loopEndSentinel = null;
            if (watched != null) {
                watched.cancel(false);
            }
            report.complete(newReport());
            conductor.closeTimers();
        }
    }

    private CloseReport newReport() {
        return new CloseReport(releasedCount, unreleased);
    }
}
