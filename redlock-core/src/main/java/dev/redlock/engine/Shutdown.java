package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.CloseReport;
import dev.redlock.ReleaseOutcome;
import dev.redlock.node.Log;
import dev.redlock.node.Node;
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
 * The end of a conductor. It closes in order: it ends pending acquisitions, releases the held leases and waits for the
 * answers. Or its event loop ends first: then every caller gets an outcome without the nodes.
 *
 * @threading event-loop-confined, except {@link #start}, {@link #isClosed}
 */
final class Shutdown {

    /** Longer than a process lives. */
    private static final long FAR_DAYS = 36_500;

    private final Conductor conductor;
    private final EventLoop loop;
    private final DeadlineTimer timer = new DeadlineTimer(nowNs -> closeNodes());
    private final List<String> unreleased = new ArrayList<>();
    private int releasedCount;
    private volatile boolean isClosing;
    private volatile boolean isClosed;
    /** Cancelled by the loop when it shuts down; null before the client is open, and when it is closed. */
    private Future<?> endOfLoop;
    private CompletableFuture<CloseReport> report;

    Shutdown(final Conductor conductor, final EventLoop loop) {
        this.conductor = conductor;
        this.loop = loop;
    }

    boolean isClosing() {
        return isClosing;
    }

    /**
     * Whether the conductor has ended. A task that is executed before this turns true still runs; one that is executed
     * later may not, because an event loop that has terminated accepts tasks silently.
     */
    boolean isClosed() {
        return isClosed;
    }

    /** The loop was shutting down before the client was open: nobody has asked for anything yet. */
    void markClosed() {
        isClosing = true;
        isClosed = true;
    }

    // ---- the loop ends first ----------------------------------------------------------------------------------------

    /** A loop that shuts down closes its channels, cancels its scheduled tasks, runs its tasks, and ends. */
    void watchLoop() {
        final Future<?> end = loop.schedule(() -> {
        }, FAR_DAYS, TimeUnit.DAYS);
        endOfLoop = end;
        end.addListener(cancelled -> {
            if (endOfLoop != null) {
                onCancelled(cancelled);
            }
        });
    }

    void onCancelled(final Future<?> scheduled) {
        if (scheduled.isCancelled()) {
            onLoopEnding();
        }
    }

    /**
     * The loop is shutting down before the client was closed: its connections are closed and its timers are gone, so no
     * answer will come. Every caller gets an outcome; the keys of held leases last until their ttl.
     */
    void onLoopEnding() {
        if (!isClosed) {
            isClosing = true;
            final int lostCount = conductor.keeper().heldCount();
            try {
                endWithLoop();
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

    private void endWithLoop() {
        final LeaseKeeper keeper = conductor.keeper();
        for (LeaseHandle lease = keeper.firstHeld(); lease != null; lease = lease.nextHeld) {
            unreleased.add(lease.resource());
        }
        endAll(AcquireOutcome.Kind.CLOSED, lease -> keeper.loseWithLoop(lease.claim));
        for (final Node node : conductor.nodes()) {
            node.end();
        }
        conductor.fanOut().close();
    }

    private static void logEndOfLoop(final int lostCount) {
        if (lostCount > 0) {
            Log.log(System.Logger.Level.WARNING, "the event loop was shut down before the client was closed:"
                    + " {0} leases are lost, their keys end with their ttl; close the client first", lostCount);
        }
    }

    // ---- closing in order -------------------------------------------------------------------------------------------

    /** Starts to close, on the loop. The report is completed in any case, also if the loop ends before. Any thread. */
    void start(final long timeoutNs, final CompletableFuture<CloseReport> newReport) {
        try {
            loop.execute(() -> close(timeoutNs, newReport));
        } catch (final RejectedExecutionException e) {
            // A given event loop has ended before the client: its connections and timers have ended with it.
            loop.terminationFuture().addListener(future -> conductor.fanOut().free());
            newReport.complete(newReport());
            return;
        }
        // A loop that ends now may have accepted the task silently.
        final FutureListener<Object> onTerminated = terminated -> newReport.complete(newReport());
        final Future<?> termination = loop.terminationFuture();
        termination.addListener(onTerminated);
        newReport.whenComplete((done, failure) -> termination.removeListener(onTerminated));
    }

    /** Ends pending acquisitions, releases held leases, and ends when every answer is in or the time is over. */
    void close(final long timeoutNs, final CompletableFuture<CloseReport> newReport) {
        if (isClosed) {
            newReport.complete(newReport());
            return;
        }
        report = newReport;
        isClosing = true;
        endAll(AcquireOutcome.Kind.CLOSED, conductor.releasing()::release);
        for (final Node node : conductor.nodes()) {
            node.drain();
        }
        conductor.startTimer(timer, conductor.nowNs() + Math.min(timeoutNs, Long.MAX_VALUE / 4));
        closeNodesIfQuiet();
    }

    /** Ends all acquisitions and leases; one that throws has ended too, and the others follow. */
    private void endAll(final AcquireOutcome.Kind kind, final Consumer<LeaseHandle> end) {
        final AcquireScheduler acquires = conductor.acquires();
        final LeaseKeeper keeper = conductor.keeper();
        while (acquires.hasPending() || keeper.firstHeld() != null) {
            try {
                while (acquires.hasPending()) {
                    acquires.abortFirst(kind);
                }
                while (keeper.firstHeld() != null) {
                    end.accept(keeper.firstHeld());
                }
            } catch (final RuntimeException | Error e) {
                UserCallbacks.logRequestThrown(e);
            }
        }
    }

    void recordRelease(final LeaseHandle lease, final ReleaseOutcome outcome) {
        if (!isClosing) {
            return;
        }
        if (outcome == ReleaseOutcome.UNKNOWN) {
            unreleased.add(lease.resource());
        } else {
            releasedCount++;
        }
    }

    /** A node has closed, or the last claim is back in its pool. */
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
        for (final Node node : conductor.nodes()) {
            node.close();
        }
        // Behind the events of the closed channels, which complete the requests that are still open.
        conductor.executeUnlessEnding(this::end);
    }

    private void end() {
        if (!isClosed) {
            conductor.fanOut().close();
            isClosed = true;
            final Future<?> watched = endOfLoop;
            endOfLoop = null;
            if (watched != null) {
                watched.cancel(false);
            }
            report.complete(newReport());
        }
    }

    private CloseReport newReport() {
        return new CloseReport(releasedCount, unreleased);
    }
}
