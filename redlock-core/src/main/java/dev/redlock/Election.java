package dev.redlock;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.callback.CallbackExecutor;
import dev.redlock.engine.LeaseHandle;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.callback.LoopListener;
import dev.redlock.telemetry.Log;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * A candidate of a leader election: it waits for its lock, leads for a {@link Term}, and joins again after the term. It
 * ends when it or its client is closed. {@link Redlock#elect Redlock.elect} creates it.
 *
 * @threading any thread
 */
public final class Election implements AutoCloseable {

    /** Lets other candidates lead after a resignation, and the client recover after an overload. */
    private static final long REJOIN_DELAY_NS = TimeUnit.SECONDS.toNanos(1);

    /** A function that has run for this long after the end of its term is logged. */
    private static final int FUNCTION_S_MAX = 10;

    private final ConnectedClient client;
    private final LockKey key;
    private final AcquireSpec spec;
    private final Consumer<? super Term> onElected;
    /** Used on the event loop. */
    private final RepeatLog failures;
    private volatile LeaseHandle candidate;
    private volatile Term term;
    private volatile boolean isClosed;

    Election(ConnectedClient client, LockKey key, AcquireOptions options, Consumer<? super Term> onElected) {
        LeaseListener next = options.spec.listener;
        LoopListener listener = (lease, state) -> {
            onLost(lease, state);
            if (next != null) {
                callbacks().notifyLostInOrder(next, lease, state);
            }
        };
        AcquireOptions fenced = options.fenced().listener(listener);
        this.client = client;
        this.key = key;
        this.spec = (fenced.spec.extensionCountMax == 0 ? fenced.autoExtend() : fenced).spec;
        this.onElected = onElected;
        this.failures = new RepeatLog("the candidate", key, client.engine.nowNs());
    }

    /**
     * The time for which a candidate leads. Terms of one resource have increasing fencing tokens.
     *
     * @threading any thread
     */
    public final class Term {

        private final Lease lease;
        private final CompletableFuture<LeaseState> end = new CompletableFuture<>();
        private final AtomicBoolean hasEnded = new AtomicBoolean();
        /** Completed when the functions have returned, after which the lock may be released. */
        private final CompletableFuture<Void> functions = new CompletableFuture<>();
        /** The thread that runs them; null if none does, and after a loss. */
        private volatile Thread functionThread;

        Term(Lease lease) {
            this.lease = lease;
        }

        /** @return true if this candidate leads at this moment; to be asked before each step that matters */
        public boolean isHeld() {
            return !hasEnded.get() && lease.isHeld();
        }

        /** @return the token for the protected resource to check; see {@link Lease#fencingToken()} */
        public long fencingToken() {
            return lease.fencingToken();
        }

        /**
         * The end of the term. Its functions run once: after a loss by {@link RedlockContext#callbackExecutor}, or on
         * the thread that resigns or closes, before this candidate releases the lock, so a function that blocks keeps
         * the lock from all other candidates. After a loss the candidate joins again when they have returned, so a
         * function that blocks keeps it out of the election. The client logs both after ten seconds.
         *
         * @return completed with {@link LeaseState#LOST}, {@link LeaseState#EXPIRED}, or {@link LeaseState#RELEASED} if
         *         this candidate has resigned or was closed
         */
        public CompletionStage<LeaseState> ended() {
            return end.minimalCompletionStage();
        }

        /** Ends the term. The candidate joins the election again a second later. */
        public void resign() {
            if (end()) {
                try {
                    lease.releaseAsync();
                } finally {
                    // Without memory for the release, the next attempt releases.
                    joinLater();
                }
                watchFunctions(lease);
            }
        }

        /** This candidate gives the lock back. Returns false if the term has ended, or another thread ends it. */
        private boolean end() {
            if (!hasEnded.compareAndSet(false, true)) {
                return false;
            }
            functionThread = Thread.currentThread();
            watchLock(this);
            try {
                end.complete(LeaseState.RELEASED);
            } finally {
                functionThread = null;
                functions.complete(null);
            }
            return true;
        }

        private void endAfterLoss(LeaseState state) {
            if (hasEnded.compareAndSet(false, true)) {
                // There is no lock to keep for them.
                functions.complete(null);
                callbacks().executeAfterLoss(this, () -> completeAndJoin(state));
                watchFunctions(lease);
            }
        }

        /** In this order, because a function may stop what the next term would start. */
        private void completeAndJoin(LeaseState state) {
            try {
                end.complete(state);
            } finally {
                joinInOrder();
            }
        }
    }

    /** @throws IllegalStateException if the client has closed meanwhile, so that there is no candidate */
    void joinFirst() {
        join();
        if (candidate == null) {
            throw ConnectedClient.closed(key);
        }
    }

    private void join() {
        LeaseHandle last = candidate;
        if (last != null && last.state() == LeaseState.HELD) {
            // Its release threw.
            last.close();
        }
        if (isClosed) {
            return;
        }
        LeaseHandle lease = client.engine.newLease();
        candidate = lease;
        client.engine.acquire(lease, key, spec, LockEngine.UNLIMITED_WAIT_NS, this::onOutcome);
        if (isClosed) {
            // close() may have seen the candidate of the term before.
            lease.close();
        }
    }

    /** On the event loop: the work of the application may occupy the common pool of the JVM for long. */
    private void joinLater() {
        try {
            client.engine.schedule(key, this::joinInOrder, REJOIN_DELAY_NS);
        } catch (RejectedExecutionException e) {
            logIfLoopEnded();
        } catch (RuntimeException | Error e) {
            // No memory for the task. The thread that delays only tries this again.
            CompletableFuture.delayedExecutor(REJOIN_DELAY_NS, TimeUnit.NANOSECONDS, Runnable::run)
                    .execute(this::joinLater);
        }
    }

    /** A candidate on an event loop of the user that has ended would look like one that waits. */
    private void logIfLoopEnded() {
        if (!isClosed && !client.engine.loops.isClosing()) {
            Log.log(System.Logger.Level.WARNING, "the candidate for \"{0}\" has left its election for good: its event"
                    + " loop was shut down before the client was closed; close the client first, or connect again",
                    key);
        }
    }

    /** A candidate that its functions keep out of the election would look like one that waits. */
    private void watchFunctions(Lease last) {
        watch(() -> logIfOut(last));
    }

    /** The lock of a term that has ended would look like that of a leader. */
    private void watchLock(Term ended) {
        watch(() -> logIfKept(ended));
    }

    private void watch(Runnable check) {
        try {
            client.engine.schedule(key, check, TimeUnit.SECONDS.toNanos(FUNCTION_S_MAX));
        } catch (RuntimeException | Error e) {
            // The loop has ended, or there is no memory for the task. The line is less important than the election.
        }
    }

    private void logIfOut(Lease last) {
        if (candidate == last && !isClosed) {
            Log.log(System.Logger.Level.WARNING, "the candidate for \"{0}\" has not joined its election again: a"
                    + " function of its last term has not returned {1} s after the end of the term", key,
                    FUNCTION_S_MAX);
        }
    }

    private void logIfKept(Term ended) {
        if (ended.functions.isDone()) {
            return;
        }
        if (ended.lease.state() == LeaseState.HELD) {
            Log.log(System.Logger.Level.WARNING, "the term of \"{0}\" has ended, and its lock is still held, so no"
                    + " other candidate can lead: a function of Term.ended has not returned {1} s after the end of the"
                    + " term", key, FUNCTION_S_MAX);
        } else {
            logIfOut(ended.lease);
        }
    }

    /** When the function for the last term has returned: a candidate whose function is stuck does not lead again. */
    private void joinInOrder() {
        callbacks().executeLong(this, this::joinOrRetry);
    }

    /** No other event would lead to an attempt. */
    private void joinOrRetry() {
        try {
            join();
        } catch (Throwable e) {
            joinLater();
            Log.error("the candidate for \"" + key + "\" could not join its election; it tries again in a second", e);
        }
    }

    private CallbackExecutor callbacks() {
        return client.engine.callbacks();
    }

    private void onOutcome(AcquireOutcome outcome) {
        if (!outcome.isAcquired()) {
            if (outcome.kind() == AcquireOutcome.Kind.CLOSED) {
                logIfLoopEnded();
            } else {
                joinLater();
                failures.onFailed(outcome, client.engine.nowNs());
            }
            return;
        }
        boolean isStarted = false;
        try {
            start(outcome.lease());
            isStarted = true;
        } finally {
            if (!isStarted) {
                // Nobody has seen the term; the next attempt releases the lock.
                joinLater();
            }
        }
    }

    private void start(Lease lease) {
        failures.onAcquired();
        Term elected = new Term(lease);
        term = elected;
        if (isClosed || lease.state() != LeaseState.HELD) {
            // It has never led. The engine may have ended the lease before, for example after a long pause.
            lease.close();
            onLost(lease, lease.state());
            return;
        }
        callbacks().executeLong(this, () -> startTerm(elected));
    }

    private void startTerm(Term elected) {
        if (elected.hasEnded.get()) {
            // Before this function had a thread.
            return;
        }
        boolean isAccepted = false;
        try {
            onElected.accept(elected);
            isAccepted = true;
        } finally {
            if (!isAccepted) {
                elected.resign();
            }
        }
    }

    private void onLost(Lease lease, LeaseState state) {
        Term last = term;
        if (last != null && last.lease == lease) {
            last.endAfterLoss(state);
        }
    }

    /** Ends the term, whose lock the client then releases, and the election. */
    void end() {
        endTerm();
    }

    /** Returns the last term, which has ended; null if there was none. */
    private Term endTerm() {
        isClosed = true;
        Term last = term;
        if (last != null) {
            last.end();
        }
        return last;
    }

    /**
     * The functions of a term that another thread ends, which run before the lock is released. A function that closes
     * the client does not wait for itself.
     *
     * @return completed if there are none
     */
    CompletableFuture<Void> functionsElsewhere() {
        Term last = term;
        return last == null || !last.hasEnded.get() || last.functionThread == Thread.currentThread()
                ? CompletableFuture.completedFuture(null)
                : last.functions;
    }

    /** The client releases the lock now. */
    void logIfFunctionsRun() {
        if (!functionsElsewhere().isDone()) {
            Log.log(System.Logger.Level.WARNING, "the client closes and releases \"{0}\" before the functions of its"
                    + " last term have returned: another candidate may lead during them; let them return within the"
                    + " close timeout", key);
        }
    }

    /**
     * Leaves the election. A term ends first; then the lock is released as by {@link Lease#close()}, which does not
     * wait unless the client has {@link RedlockContext#closeWaits closeWaits}. If another thread runs the functions of
     * {@link Term#ended} at this moment, this call returns at once, and that thread releases the lock after them.
     * Closing twice is no error.
     */
    @Override
    public void close() {
        Term last = endTerm();
        if (last == null || last.functions.isDone()) {
            leave();
        } else {
            last.functions.thenRun(this::leave);
        }
    }

    private void leave() {
        client.elections.remove(this);
        boolean isClosing = false;
        try {
            candidate.close();
            isClosing = true;
        } finally {
            if (!isClosing) {
                // It releases the lock, and does not join.
                joinLater();
            }
        }
    }
}
