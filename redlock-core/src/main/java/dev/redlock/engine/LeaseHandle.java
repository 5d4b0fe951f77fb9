package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.AcquireCallback;
import dev.redlock.AcquireOutcome;
import dev.redlock.ExtendCallback;
import dev.redlock.ExtendOutcome;
import dev.redlock.Lease;
import dev.redlock.LeaseListener;
import dev.redlock.LeaseState;
import dev.redlock.ReleaseCallback;
import dev.redlock.ReleaseOutcome;
import dev.redlock.RetryPolicy;
import dev.redlock.node.VoteFailure;
import dev.redlock.quorum.Validity;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;

/**
 * The lease handle and the outcome of its acquisition in one object, so that a lock costs one allocation, or none where
 * the handle is used again. It is its own task: callers set a request bit, and the conductor finds the bits when it
 * runs it.
 *
 * <p>Who writes what: a caller writes the request fields before it sets the bit; the conductor writes everything
 * else, the volatile state last. Between the state and the bits there is no lock. What stands before the state is
 * stored with release semantics, which is enough for it: a full barrier at each of a dozen stores would be a twentieth
 * of the client's CPU. What a blocked caller is woken for is stored with a full barrier, so that either it sees the
 * value or the conductor sees the waiter.
 *
 * @threading any thread; the fields without volatile are the conductor's
 */
public final class LeaseHandle implements Lease, AcquireOutcome, Runnable {

    // Requests, which are carried out from the lowest bit up.
    private static final int ACQUIRE = 1;
    private static final int DELIVER = 1 << 1;
    private static final int CANCEL = 1 << 2;
    private static final int EXTEND = 1 << 3;
    private static final int RELEASE = 1 << 4;
    /** How long a second thread that blocks on the same lease sleeps between two looks. */
    private static final long SECOND_WAITER_PARK_NS = 100_000;

    private static final VarHandle STATE;
    private static final VarHandle REQUESTED;
    private static final VarHandle WAITER;
    private static final VarHandle EXTEND_REQUESTED;
    private static final VarHandle VALID_UNTIL;
    private static final VarHandle CONDUCTOR;
    private static final VarHandle RELEASE_OUTCOME;
    private static final VarHandle RELEASE_CALLBACK;

    static {
        try {
            final MethodHandles.Lookup lookup = MethodHandles.lookup();
            STATE = lookup.findVarHandle(LeaseHandle.class, "state", LeaseState.class);
            REQUESTED = lookup.findVarHandle(LeaseHandle.class, "requested", int.class);
            WAITER = lookup.findVarHandle(LeaseHandle.class, "waiter", Thread.class);
            EXTEND_REQUESTED = lookup.findVarHandle(LeaseHandle.class, "isExtendRequested", boolean.class);
            VALID_UNTIL = lookup.findVarHandle(LeaseHandle.class, "validUntilNs", long.class);
            CONDUCTOR = lookup.findVarHandle(LeaseHandle.class, "conductor", Conductor.class);
            RELEASE_OUTCOME = lookup.findVarHandle(LeaseHandle.class, "releaseOutcome", ReleaseOutcome.class);
            RELEASE_CALLBACK = lookup.findVarHandle(LeaseHandle.class, "releaseCallback", ReleaseCallback.class);
        } catch (final ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final LockEngine engine;
    private volatile LeaseState state = LeaseState.IDLE;
    private volatile int requested;
    private volatile Thread waiter;
    private volatile long validUntilNs;
    private volatile ReleaseOutcome releaseOutcome;
    private volatile ExtendOutcome extendOutcome;
    private volatile ReleaseCallback releaseCallback;
    private volatile ExtendCallback extendCallback;
    private volatile boolean isExtendRequested;
    private volatile Conductor conductor;

    // What the caller asks for.
    LockKey key;
    long ttlMs;
    long waitNs;
    long minValidityNs;
    long holdNsMax;
    int extensionCountMax;
    boolean isFenced;
    RetryPolicy retryPolicy;
    LeaseListener listener;
    long extendTtlMs;
    private AcquireCallback acquireCallback;

    // The conductor's.
    Claim claim;
    PendingAcquire pending;
    LeaseHandle previousHeld;
    LeaseHandle nextHeld;
    long acquiredNs;
    int extensionCount;
    /** An extension that a caller asked for has reached the conductor and has no outcome yet. */
    boolean isExtendTaken;
    /** Its round is under way. */
    boolean isExtendStarted;
    boolean isStarting;
    /** A caller is inside of a call on the conductor's thread, which is carried out at once. */
    private boolean isInCall;
    /** Counts acquisitions, so that what was asked for one is never carried out for the next. Racy, but by one only. */
    private short useCount;

    // The outcome.
    private Kind kind = Kind.CANCELLED;
    private Kind lastReason = Kind.CANCELLED;
    private int attemptCount;
    private long granted;
    private long refused;
    private long failed;
    private long unknown;
    private long shortestRemainingTtlMs = -1;
    private byte[] failures;
    private long fencingToken;

    LeaseHandle(final LockEngine engine) {
        this.engine = engine;
    }

    /**
     * Whether a client created this lease.
     *
     * @param  client the client
     * @return        true if so
     */
    public boolean isOf(final LockEngine client) {
        return engine == client;
    }

    // ---- asked by callers -------------------------------------------------------------------------------------------

    /** Begins an acquisition: claims the handle, then hands it to the conductor. */
    void start(final Conductor newConductor, final LockKey newKey, final AcquireSpec spec,
            final long newWaitNs, final AcquireCallback callback) {
        claim();
        CONDUCTOR.setRelease(this, newConductor);
        key = newKey;
        ttlMs = spec.ttlMs();
        waitNs = newWaitNs;
        minValidityNs = newConductor.config().terms().minValidityNs(spec.ttlMs(), spec.minValidityNs());
        holdNsMax = spec.holdNsMax();
        extensionCountMax = spec.extensionCountMax();
        isFenced = spec.isFenced();
        retryPolicy = spec.retryPolicy() == null ? newConductor.config().retryPolicy() : spec.retryPolicy();
        listener = spec.listener();
        acquireCallback = callback;
        submit(ACQUIRE);
    }

    private void claim() {
        final LeaseState before = state;
        final boolean isFree = before == LeaseState.IDLE || before.isFinal();
        if (!isFree || releaseCallback != null || isExtendRequested
                || !STATE.compareAndSet(this, before, LeaseState.ACQUIRING)) {
            throw new IllegalStateException("lease of \"" + key + "\" is in use, its state is " + before
                    + ": release it and wait for the outcome before it is used again");
        }
        useCount++;
        // Not seen while it is being acquired; but a thread that asks whether it is held reads this before the state,
        // and must not take the end of the lease before for that of the next.
        VALID_UNTIL.setRelease(this, 0L);
        RELEASE_OUTCOME.setRelease(this, null);
        kind = Kind.CANCELLED;
        attemptCount = 0;
        lastReason = Kind.CONTENDED;
        clearVotes();
    }

    private void clearVotes() {
        granted = 0;
        refused = 0;
        failed = 0;
        unknown = 0;
        shortestRemainingTtlMs = -1;
    }

    private void submit(final int request) {
        // Kept, because a callback may use the lease again, with another one.
        final Conductor owner = conductor;
        if (owner.isOwnThread()) {
            submitHere(owner, request);
        } else if ((int) REQUESTED.getAndBitwiseOr(this, request) == 0) {
            submitTo(owner);
        } else if (owner.isClosed()) {
            onRejected();
        }
    }

    private void submitHere(final Conductor owner, final int request) {
        if (!owner.enterCall()) {
            deferToNextTurn(owner, request);
            return;
        }
        final boolean wasInCall = isInCall;
        isInCall = true;
        try {
            if (requested == 0) {
                // Nobody else has asked for anything that has to come first.
                process(owner, request);
            } else {
                REQUESTED.getAndBitwiseOr(this, request);
                run();
            }
        } finally {
            isInCall = wasInCall;
            owner.leaveCall();
        }
    }

    /** Leaves a request to the next turn of the loop. */
    private void deferToNextTurn(final Conductor owner, final int request) {
        REQUESTED.getAndBitwiseOr(this, request);
        owner.runInNextTurn(this);
    }

    private void submitTo(final Conductor owner) {
        try {
            owner.execute(this);
        } catch (final RejectedExecutionException e) {
            onRejected();
            return;
        }
        if (owner.isClosed()) {
            onRejected();
        }
    }

    /** The loop has ended: whatever is asked gets its answer here, unless there is a callback to call. */
    private void onRejected() {
        final int requests = (int) REQUESTED.getAndSet(this, 0);
        if (acquireCallback == null && extendCallback == null && releaseCallback == null) {
            answer(requests);
        } else {
            completeElsewhere(requests);
        }
    }

    /** The same on the thread of a loop that is ending. */
    void completeElsewhere() {
        completeElsewhere((int) REQUESTED.getAndSet(this, 0));
    }

    /** On another thread, because this one may be inside of the very call that asks. */
    private void completeElsewhere(final int requests) {
        if (requests == 0) {
            return;
        }
        try {
            CompletableFuture.runAsync(() -> answer(requests));
        } catch (final RuntimeException | Error e) {
            // There is no other thread to be had.
            answer(requests);
        }
    }

    private void answer(final int requests) {
        if ((requests & ACQUIRE) != 0) {
            complete(Kind.CLOSED, Kind.CLOSED, LeaseState.NOT_ACQUIRED);
        }
        if ((requests & DELIVER) != 0) {
            // The loop has answered in the meantime, and this has taken its answer before it was delivered.
            complete(kind, lastReason, LeaseState.NOT_ACQUIRED);
        }
        if ((requests & EXTEND) != 0) {
            completeExtend(ExtendOutcome.NOT_HELD);
        }
        if ((requests & RELEASE) != 0) {
            final ReleaseOutcome before = releaseOutcome;
            if (!state.isFinal()) {
                state = LeaseState.RELEASED;
            }
            completeRelease(before == null ? ReleaseOutcome.UNKNOWN : before);
        }
    }

    /**
     * Runs what was asked for, on the conductor's thread. A task whose work was done by a call on that thread can come
     * when the lease is in use again with another conductor: then it leaves the requests where they are, so that none
     * of them can overtake another.
     */
    @Override
    public void run() {
        while (true) {
            // The requests before the conductor: if the lease moves in between, they are not the same any more.
            final int requests = requested;
            if (requests == 0) {
                return;
            }
            final Conductor owner = conductor;
            if (!owner.isOwnThread()) {
                submitTo(owner);
                return;
            }
            if (REQUESTED.compareAndSet(this, requests, 0)) {
                process(owner, requests);
                return;
            }
        }
    }

    /** Whatever one request throws, its caller gets an outcome, and the others are carried out. */
    private void process(final Conductor owner, final int requests) {
        final short use = useCount;
        // A callback may use the lease again, perhaps with another conductor: what is left was asked for before.
        for (int left = requests; left != 0 && useCount == use; left &= left - 1) {
            final int request = Integer.lowestOneBit(left);
            try {
                processOne(owner, request);
            } catch (final RuntimeException | Error e) {
                giveUp(owner, use, request, e);
            }
        }
    }

    private void processOne(final Conductor owner, final int request) {
        switch (request) {
            case ACQUIRE -> owner.acquire(this);
            case DELIVER -> complete(kind, lastReason, LeaseState.NOT_ACQUIRED);
            case CANCEL -> owner.cancel(this);
            case EXTEND -> owner.keeper().extend(this);
            default -> release(owner);
        }
    }

    private void release(final Conductor owner) {
        if (isInCall && claim == null && releaseCallback != null) {
            // It has ended, and the callback is never called from inside of the call.
            deferToNextTurn(owner, RELEASE);
        } else {
            owner.release(this);
        }
    }

    /** Leaves an extension of a lease that has ended to the next turn, if its caller is inside of the call still. */
    boolean deferExtension() {
        if (isInCall) {
            deferToNextTurn(conductor, EXTEND);
        }
        return isInCall;
    }

    /** The last resort: a request threw, whose caller waits for an outcome. Logged when the caller has it. */
    private void giveUp(final Conductor owner, final short use, final int request, final Throwable thrown) {
        try {
            if (useCount == use) {
                switch (request) {
                    case EXTEND -> giveUpExtension();
                    case RELEASE -> giveUpRelease();
                    default -> giveUpAcquisition(owner);
                }
            }
        } catch (final RuntimeException | Error e) {
            thrown.addSuppressed(e);
        } finally {
            Conductor.logRequestThrown(thrown);
        }
    }

    private void giveUpAcquisition(final Conductor owner) {
        try {
            isStarting = isInCall;
            owner.giveUp(this);
        } finally {
            isStarting = false;
            if (pending == null && state == LeaseState.ACQUIRING && (requested & DELIVER) == 0) {
                complete(Kind.NO_QUORUM, Kind.NO_QUORUM, LeaseState.NOT_ACQUIRED);
            }
        }
    }

    private void giveUpExtension() {
        if (isExtendRequested && (requested & EXTEND) == 0) {
            completeExtend(ExtendOutcome.NOT_EXTENDED);
        }
    }

    private void giveUpRelease() {
        final boolean isUnderWay = state == LeaseState.HELD || state == LeaseState.RELEASING;
        if (isUnderWay || releaseCallback != null && (requested & RELEASE) == 0) {
            if (isUnderWay) {
                markReleasing();
            }
            completeRelease(ReleaseOutcome.UNKNOWN);
        }
    }

    /** Waits for the acquisition; an interrupt cancels it. */
    AcquireOutcome awaitAcquired() throws InterruptedException {
        await(Awaited.ACQUIRED, useCount, true);
        if (Thread.interrupted()) {
            cancel();
            throw new InterruptedException("interrupted while acquiring \"" + key + "\"; the attempt is rolled back");
        }
        return this;
    }

    void cancel() {
        submit(CANCEL);
    }

    @Override
    public ReleaseOutcome release() {
        refuseOnLoop("release()", "release(callback) or releaseAsync()");
        refuseWhileAcquiring();
        final short use = useCount;
        if (state == LeaseState.HELD || state == LeaseState.RELEASING) {
            submit(RELEASE);
            await(Awaited.RELEASED, use, false);
        }
        final ReleaseOutcome outcome = releaseOutcome;
        return outcome == null ? ReleaseOutcome.EXPIRED : outcome;
    }

    @Override
    public void release(final ReleaseCallback callback) {
        Objects.requireNonNull(callback, "release callback is null");
        refuseWhileAcquiring();
        if (conductor == null) {
            throw new IllegalStateException(
                    "this lease was never used for an acquisition: there is nothing to release");
        }
        if (!RELEASE_CALLBACK.compareAndSet(this, null, callback)) {
            throw new IllegalStateException("a release of \"" + key + "\" with a callback is under way: wait for it");
        }
        submit(RELEASE);
    }

    @Override
    public CompletionStage<ReleaseOutcome> releaseAsync() {
        final CompletableFuture<ReleaseOutcome> future = new CompletableFuture<>();
        release((lease, outcome) -> future.complete(outcome));
        return future;
    }

    @Override
    public void close() {
        final short use = useCount;
        final LeaseState now = state;
        if (now == LeaseState.ACQUIRING) {
            cancel();
        } else if (now == LeaseState.HELD || now == LeaseState.RELEASING) {
            submit(RELEASE);
            if (!engine.isOnLoop()) {
                await(Awaited.RELEASED, use, false);
            }
        }
    }

    @Override
    public ExtendOutcome extend(final Duration ttl) {
        refuseOnLoop("extend(ttl)", "extend(ttlMs, callback) or extendAsync(ttl)");
        final long newTtlMs = Durations.millisOf("ttl", ttl);
        requestExtend(newTtlMs, null);
        ExtendOutcome outcome;
        do {
            await(Awaited.EXTENDED, useCount, false);
            // Another thread may ask for an extension between the two lines, which forgets the outcome: then its is
            // ours too.
            outcome = extendOutcome;
        } while (outcome == null);
        return outcome;
    }

    @Override
    public void extend(final long newTtlMs, final ExtendCallback callback) {
        Objects.requireNonNull(callback, "extend callback is null");
        requestExtend(newTtlMs, callback);
    }

    private void requestExtend(final long newTtlMs, final ExtendCallback callback) {
        refuseWhileAcquiring();
        if (conductor == null) {
            throw new IllegalStateException("this lease was never used for an acquisition: there is nothing to extend");
        }
        conductor.config().terms().checkTtl(newTtlMs, 0);
        if (!EXTEND_REQUESTED.compareAndSet(this, false, true)) {
            throw new IllegalStateException("an extension of \"" + key + "\" is under way: wait for its outcome");
        }
        extendOutcome = null;
        extendCallback = callback;
        extendTtlMs = newTtlMs;
        submit(EXTEND);
    }

    @Override
    public CompletionStage<ExtendOutcome> extendAsync(final Duration ttl) {
        final CompletableFuture<ExtendOutcome> future = new CompletableFuture<>();
        extend(Durations.millisOf("ttl", ttl), (lease, outcome) -> future.complete(outcome));
        return future;
    }

    private void refuseWhileAcquiring() {
        if (state == LeaseState.ACQUIRING) {
            throw new IllegalStateException("lease of \"" + key + "\" is being acquired: wait for the outcome first");
        }
    }

    private void refuseOnLoop(final String call, final String instead) {
        engine.refuseOnLoop(call, instead);
    }

    // ---- waiting ----------------------------------------------------------------------------------------------------

    /**
     * What a blocked caller waits for.
     *
     * @threading immutable
     */
    private enum Awaited {
        ACQUIRED, RELEASED, EXTENDED
    }

    private boolean isDone(final Awaited awaited, final short use) {
        return switch (awaited) {
            case ACQUIRED -> state != LeaseState.ACQUIRING;
            // Whoever is told of the release may use the lease again, before a thread that waits for it looks.
            case RELEASED -> state.isFinal() || useCount != use;
            case EXTENDED -> extendOutcome != null;
        };
    }

    private void await(final Awaited awaited, final short use, final boolean isInterruptible) {
        if (spin(awaited, use)) {
            return;
        }
        final Thread current = Thread.currentThread();
        final boolean isFirst = WAITER.compareAndSet(this, null, current);
        boolean wasInterrupted = false;
        while (!isDone(awaited, use)) {
            if (isFirst) {
                LockSupport.park(this);
            } else {
                LockSupport.parkNanos(this, SECOND_WAITER_PARK_NS);
            }
            if (isInterruptible && current.isInterrupted()) {
                break;
            }
            // A parked thread does not sleep while its interrupt flag is set, so the flag is put aside until the end.
            wasInterrupted |= !isInterruptible && Thread.interrupted();
        }
        if (isFirst) {
            waiter = null;
        }
        if (wasInterrupted) {
            current.interrupt();
        }
    }

    private boolean spin(final Awaited awaited, final short use) {
        final long spinNs = conductor.config().spinNs();
        if (spinNs == 0) {
            return isDone(awaited, use);
        }
        final long startNs = conductor.nowNs();
        while (!isDone(awaited, use)) {
            if (conductor.nowNs() - startNs > spinNs) {
                return false;
            }
            Thread.onSpinWait();
        }
        return true;
    }

    private void wakeWaiter() {
        final Thread blocked = waiter;
        if (blocked != null) {
            LockSupport.unpark(blocked);
        }
    }

    // ---- told by the conductor --------------------------------------------------------------------------------------

    /** Keeps what the nodes said in an attempt that is decided. */
    void recordVotes(final Claim decided) {
        attemptCount++;
        granted = decided.acquireRound.granted();
        refused = decided.acquireRound.refused();
        failed = decided.acquireRound.failed();
        unknown = decided.acquireRound.unknown();
        shortestRemainingTtlMs = decided.shortestRemainingTtlMs;
        if ((failed | unknown) != 0) {
            if (failures == null) {
                failures = new byte[decided.failures.length];
            }
            System.arraycopy(decided.failures, 0, failures, 0, failures.length);
        }
    }

    /** Keeps why the acquisition has not succeeded so far. */
    void recordReason(final Kind reason) {
        lastReason = reason;
    }

    Kind reasonSoFar() {
        return lastReason;
    }

    /** Ends the acquisition, with a lock or without; delivered later if the caller is still inside its own call. */
    void completeAcquire(final Kind outcome, final Kind reason) {
        pending = null;
        if (isStarting) {
            kind = outcome;
            lastReason = reason;
            deferToNextTurn(conductor, DELIVER);
        } else {
            complete(outcome, reason, outcome == Kind.ACQUIRED ? LeaseState.HELD : LeaseState.NOT_ACQUIRED);
        }
    }

    private void complete(final Kind outcome, final Kind reason, final LeaseState next) {
        kind = outcome;
        lastReason = reason;
        final AcquireCallback callback = acquireCallback;
        acquireCallback = null;
        state = next;
        wakeWaiter();
        if (callback != null) {
            Conductor.runGuarded(callback, this);
        }
    }

    /** The release is under way. */
    void markReleasing() {
        STATE.setRelease(this, LeaseState.RELEASING);
    }

    /** The release is decided. */
    void completeRelease(final ReleaseOutcome outcome) {
        RELEASE_OUTCOME.setRelease(this, outcome);
        final ReleaseCallback callback = releaseCallback;
        if (callback != null) {
            // Not where there was none: one that comes after the look has a release of its own, still to be answered.
            RELEASE_CALLBACK.setRelease(this, null);
        }
        if (state == LeaseState.RELEASING) {
            state = LeaseState.RELEASED;
        }
        wakeWaiter();
        if (callback != null) {
            Conductor.runGuarded(callback, this, outcome);
        }
    }

    /** The lock is gone although nobody released it; a release from now on finds the given outcome. */
    void end(final LeaseState lostOrExpired, final ReleaseOutcome outcome) {
        releaseOutcome = outcome;
        state = lostOrExpired;
        wakeWaiter();
    }

    /** An extension that a caller asked for is decided. */
    void completeExtend(final ExtendOutcome outcome) {
        isExtendTaken = false;
        isExtendStarted = false;
        final ExtendCallback callback = extendCallback;
        extendCallback = null;
        // In this order: who asks next forgets this outcome, not the other way round.
        extendOutcome = outcome;
        isExtendRequested = false;
        wakeWaiter();
        if (callback != null) {
            Conductor.runGuarded(callback, this, outcome);
        }
    }

    boolean isExpired() {
        return state == LeaseState.EXPIRED || state == LeaseState.LOST;
    }

    ReleaseOutcome releaseOutcome() {
        return releaseOutcome;
    }

    void setFencingToken(final long token) {
        fencingToken = token;
    }

    long validUntilNs() {
        return validUntilNs;
    }

    void setValidUntilNs(final long untilNs) {
        VALID_UNTIL.setRelease(this, untilNs);
    }

    // ---- read by anybody --------------------------------------------------------------------------------------------

    @Override
    public String resource() {
        return key == null ? null : key.resource();
    }

    @Override
    public LeaseState state() {
        return state;
    }

    @Override
    public boolean isHeld() {
        return remainingValidityNs() > 0;
    }

    @Override
    public long remainingValidityNs() {
        while (state == LeaseState.HELD) {
            final long untilNs = validUntilNs;
            final long leftNs = Validity.remainingNs(untilNs, conductor.nowNs());
            // The state after the time: a lease that was lost in between must not look held. Then the end again: if it
            // is another one, the handle was used again in between, and the state may be that of the next lease.
            if (state == LeaseState.HELD && untilNs == validUntilNs) {
                return leftNs;
            }
        }
        return 0;
    }

    @Override
    public long fencingToken() {
        refuseWhileAcquiring();
        if (kind != Kind.ACQUIRED) {
            throw new IllegalStateException("\"" + key + "\" was not acquired, it has no fencing token: " + this);
        }
        if (!isFenced) {
            throw new IllegalStateException("the lease of \"" + key
                    + "\" is not fenced: acquire it with AcquireOptions.fenced() to get a fencing token");
        }
        return fencingToken;
    }

    @Override
    public Kind kind() {
        return kind;
    }

    @Override
    public boolean isAcquired() {
        return kind == Kind.ACQUIRED;
    }

    @Override
    public Lease lease() {
        refuseWhileAcquiring();
        if (kind != Kind.ACQUIRED) {
            throw new IllegalStateException("\"" + key + "\" was not acquired: " + this + "; " + kind.advice());
        }
        return this;
    }

    @Override
    public Kind lastReason() {
        return lastReason;
    }

    @Override
    public int attemptCount() {
        return attemptCount;
    }

    @Override
    public int grantedCount() {
        return Long.bitCount(granted);
    }

    @Override
    public int refusedCount() {
        return Long.bitCount(refused);
    }

    @Override
    public int failedCount() {
        return Long.bitCount(failed);
    }

    @Override
    public int unknownCount() {
        return Long.bitCount(unknown);
    }

    @Override
    public long shortestRemainingTtlMs() {
        return shortestRemainingTtlMs;
    }

    @Override
    public String voteText(final int nodeIndex) {
        if (nodeIndex < 0 || nodeIndex >= engine.nodeCount()) {
            throw new IndexOutOfBoundsException("node index " + nodeIndex + " is out of range: 0 to "
                    + (engine.nodeCount() - 1) + " are the nodes in configured order");
        }
        final long bit = 1L << nodeIndex;
        if ((granted & bit) != 0) {
            return "granted";
        }
        if ((refused & bit) != 0) {
            return "refused";
        }
        final String reason = failures == null ? "" : ": " + VoteFailure.of(failures[nodeIndex]).text();
        if ((failed & bit) != 0) {
            return "failed" + reason;
        }
        return (unknown & bit) != 0 ? "unknown" + reason : "pending";
    }

    @Override
    public String toString() {
        final StringBuilder text = new StringBuilder(160);
        text.append("Lease{").append(key).append(", ").append(state);
        if (state == LeaseState.HELD) {
            text.append(", valid for ").append(remainingValidityNs() / NS_PER_MS).append(" ms");
            if (isFenced) {
                text.append(", fencing token ").append(fencingToken);
            }
        }
        if (state != LeaseState.IDLE && state != LeaseState.ACQUIRING) {
            appendOutcome(text);
        }
        return text.append('}').toString();
    }

    private void appendOutcome(final StringBuilder text) {
        text.append(", outcome ").append(kind);
        if (lastReason != kind) {
            text.append(" after ").append(lastReason);
        }
        text.append(", attempts ")
                .append(attemptCount)
                .append(", votes ")
                .append(grantedCount())
                .append(" granted ")
                .append(refusedCount())
                .append(" refused ")
                .append(failedCount())
                .append(" failed ")
                .append(unknownCount())
                .append(" unknown");
        if (shortestRemainingTtlMs >= 0) {
            text.append(", shortest remaining ttl ")
                    .append(shortestRemainingTtlMs == Long.MAX_VALUE ? "unlimited" : shortestRemainingTtlMs + " ms");
        }
        long silent = failed | unknown;
        for (; silent != 0; silent &= silent - 1) {
            final int nodeIndex = Long.numberOfTrailingZeros(silent);
            text.append(", node ").append(nodeIndex).append(' ').append(voteText(nodeIndex));
        }
    }
}
