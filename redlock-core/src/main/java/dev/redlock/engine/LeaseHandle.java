package dev.redlock.engine;

import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendCallback;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.callback.UserCallbacks;
import dev.redlock.engine.key.LockKey;
import dev.redlock.time.Durations;
import dev.redlock.time.NanoClock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;

/**
 * Implements a lease and the outcome of its acquisition in one object. A lock costs one allocation, or none if the
 * caller reuses the handle. Its layers are {@link RequestMailbox} and {@link LeaseView}.
 *
 * <p>The caller writes the request fields before it sets a request bit. The event loop writes all other fields, the
 * volatile state last. Fields written before the state use release stores: a full barrier at each of a dozen stores
 * would take 5 % of the client's CPU. An outcome that wakes a blocked caller uses a full barrier: either the caller
 * sees the outcome, or the event loop sees the waiter.
 *
 * @threading any thread; only the event loop uses the fields without volatile
 */
public final class LeaseHandle extends LeaseView {

    /** Time that a caller sleeps between two looks whether the event loop has ended an expired lease. */
    private static final long EXPIRY_PARK_NS = 100_000;
    static final VarHandle STATE;
    private static final VarHandle EXTEND_STATE;
    private static final VarHandle VALID_UNTIL;
    static final VarHandle RELEASE_OUTCOME;
    private static final VarHandle RELEASE_CALLBACK;
    private static final VarHandle CANCELLED_USE;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            STATE = lookup.findVarHandle(LeaseView.class, "state", LeaseState.class);
            EXTEND_STATE = lookup.findVarHandle(LeaseHandle.class, "extendState", ExtendState.class);
            VALID_UNTIL = lookup.findVarHandle(LeaseView.class, "validUntilNs", long.class);
            RELEASE_OUTCOME = lookup.findVarHandle(LeaseHandle.class, "releaseOutcome", ReleaseOutcome.class);
            RELEASE_CALLBACK = lookup.findVarHandle(LeaseHandle.class, "releaseCallback", ReleaseCallback.class);
            CANCELLED_USE = lookup.findVarHandle(LeaseHandle.class, "cancelledUse", short.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /**
     * The state of an extension that a caller has requested.
     *
     * @threading immutable
     */
    enum ExtendState {
        /** No request. */
        NONE,
        /** A caller has requested an extension; the event loop has not taken the request. */
        REQUESTED,
        /** The event loop has taken the request; it starts after the automatic extension in progress. */
        ACCEPTED,
        /** Its round is in progress. */
        STARTED
    }

    volatile ReleaseOutcome releaseOutcome;
    private volatile ExtendOutcome extendOutcome;
    volatile ReleaseCallback releaseCallback;
    private volatile ExtendCallback extendCallback;
    volatile ExtendState extendState = ExtendState.NONE;

    // The request of the caller.
    LeaseTimes times;
    long waitNs;
    long extendTtlMs;
    long holdUntilNs;
    AcquireCallback acquireCallback;
    volatile short cancelledUse;

    // The state of the event loop.
    Claim claim;
    PendingAcquire pending;
    LeaseHandle previousHeld;
    LeaseHandle nextHeld;
    long acquiredNs;
    /** Its holder has released it, and the client keeps the lock: no caller has this handle. */
    boolean isKept;
    /** The acquisition runs inside the call of its caller, so an outcome now is delivered in the next turn. */
    boolean isStarting;

    LeaseHandle(LeaseClient client) {
        super(client);
    }

    /** @return whether a client created this lease */
    public boolean isOf(LeaseClient other) {
        return client == other;
    }

    // ---- acquiring --------------------------------------------------------------------------------------------------

    /** Starts an acquisition: reserves the handle, then submits it to the loop. */
    void start(LeaseLoop owner, LockKey newKey, AcquireSpec newSpec, LeaseTimes newTimes, long newWaitNs,
            AcquireCallback callback) {
        takeHandle();
        key = newKey;
        spec = newSpec;
        times = newTimes;
        waitNs = newWaitNs;
        acquireCallback = callback;
        startUse(owner);
        if (newSpec.retainNsMax <= 0 || !owner.grant(this)) {
            submit(ACQUIRE);
        }
    }

    private void takeHandle() {
        awaitClosed();
        LeaseState before = state == LeaseState.HELD ? awaitExpired() : state;
        boolean isFree = before == LeaseState.IDLE || before.isFinal();
        if (!isFree || releaseCallback != null || extendState != ExtendState.NONE
                || !STATE.compareAndSet(this, before, LeaseState.ACQUIRING)) {
            throw new IllegalStateException(inUseText(before));
        }
        closedUse = useCount();
        countUse();
        // isHeld() must not combine the validity of the previous lease with the state of the next one.
        VALID_UNTIL.setRelease(this, 0L);
        RELEASE_OUTCOME.setRelease(this, null);
        resetResult();
    }

    private String inUseText(LeaseState before) {
        return isExpiring()
                ? "lease of \"" + key + "\" has expired, and the event loop is about to end it: use it again in a later"
                        + " task of the loop"
                : "lease of \"" + key + "\" is in use, its state is " + before
                        + ": release it and wait for the outcome before it is used again";
    }

    void resetResult() {
        kind = Kind.CANCELLED;
        lastReason = Kind.CANCELLED;
        attemptCount = 0;
        aheadCount = 0;
        waitCause = null;
        grantedMask = 0;
        refusedMask = 0;
        failedMask = 0;
        unknownMask = 0;
        shortestRemainingTtlMs = -1;
        askedKey = null;
    }

    /** Blocks until the outcome; an interrupt cancels the acquisition. */
    AcquireOutcome awaitAcquired() throws InterruptedException {
        short use = useCount();
        try {
            await(Awaited.ACQUIRED, use, true);
        } catch (RuntimeException | Error e) {
            // Nobody would release the lock.
            cancel(use);
            throw e;
        }
        if (Thread.interrupted()) {
            cancel(use);
            throw new InterruptedException("interrupted while acquiring \"" + key
                    + "\": it waits no longer, and an attempt in progress is rolled back");
        }
        return this;
    }

    private void await(Awaited awaited, short use, boolean isInterruptible) {
        LeaseClient owner = client;
        await(awaited, use, isInterruptible, owner.spinNs, owner.clock);
    }

    @Override
    public Lease lease() {
        refuseWhileAcquiring();
        if (kind != Kind.ACQUIRED) {
            throw new LockNotAcquiredException("\"" + key + "\" was not acquired: " + this + "; " + advice(), this);
        }
        return this;
    }

    void cancel() {
        cancel(useCount());
    }

    /**
     * Cancels one use of the handle. A handle that another thread reserves for its first acquisition has no loop yet:
     * this call precedes it.
     */
    void cancel(short use) {
        boolean isStored = false;
        while (!isStored) {
            // Read before the use: a late call must not replace the cancellation of a later use.
            short before = cancelledUse;
            if (loop() == null || use != useCount()) {
                return;
            }
            isStored = CANCELLED_USE.compareAndSet(this, before, use);
        }
        submit(CANCEL);
    }

    // ---- releasing --------------------------------------------------------------------------------------------------

    @Override
    public ReleaseOutcome release() {
        client.refuseOnLoop("release()", "release(callback) or releaseAsync()");
        refuseWhileAcquiring();
        short use = useCount();
        if (isToBeReleased() && !(spec.retainNsMax > 0 && loop().retainAgain(this))) {
            submit(RELEASE);
            await(Awaited.RELEASED, use, false);
        }
        ReleaseOutcome outcome = releaseOutcome;
        if (outcome != null) {
            return outcome;
        }
        // Another thread may have released and reused the lease meanwhile, which clears the outcome.
        return useCount() == use ? ReleaseOutcome.EXPIRED : ReleaseOutcome.UNKNOWN;
    }

    private boolean isToBeReleased() {
        LeaseState now = state;
        return now == LeaseState.HELD || now == LeaseState.RELEASING;
    }

    @Override
    public void release(ReleaseCallback callback) {
        Objects.requireNonNull(callback, "release callback is null");
        refuseWhileAcquiring();
        if (loop() == null) {
            throw new IllegalStateException(
                    "this lease was never used for an acquisition: there is nothing to release");
        }
        if (!RELEASE_CALLBACK.compareAndSet(this, null, callback)) {
            throw new IllegalStateException(
                    "a release of \"" + key + "\" with a callback is in progress: wait for its outcome");
        }
        submit(RELEASE);
    }

    @Override
    public CompletionStage<ReleaseOutcome> releaseAsync() {
        CompletableFuture<ReleaseOutcome> future = new CompletableFuture<>();
        release((lease, outcome) -> client.callbacks.complete(future, outcome));
        return future;
    }

    @Override
    public void close() {
        // Read before the state: the lease may end now, and its handle be used again.
        short use = useCount();
        if (state == LeaseState.ACQUIRING) {
            cancel(use);
        } else if (isToBeReleased() && !(spec.retainNsMax > 0 && loop().retainAgain(this))) {
            closedUse = use;
            submit(RELEASE);
            if (client.closeWaits && !client.isOnLoop()) {
                await(Awaited.RELEASED, use, false);
            }
        }
    }

    /** A lease that was closed can be used again as soon as its release is decided: this waits for that. */
    private void awaitClosed() {
        if (closedUse == useCount() && isToBeReleased() && !client.isOnLoop()) {
            await(Awaited.RELEASED, useCount(), false);
        }
    }

    /** The event loop ends a lease soon after its validity, which {@link #state()} shows at once: this waits for it. */
    private LeaseState awaitExpired() {
        boolean wasInterrupted = false;
        while (isExpiring() && !loop().isClosed() && !client.isOnLoop()) {
            LockSupport.parkNanos(this, EXPIRY_PARK_NS);
            wasInterrupted |= Thread.interrupted();
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
        return state;
    }

    private boolean isExpiring() {
        return state() == LeaseState.EXPIRED && storedState() == LeaseState.HELD;
    }

    // ---- extending --------------------------------------------------------------------------------------------------

    @Override
    public ExtendOutcome extend(Duration ttl) {
        client.refuseOnLoop("extend(ttl)", "extend(ttlMs, callback) or extendAsync(ttl)");
        requestExtend(Durations.millisOf("ttl", ttl), null);
        ExtendOutcome outcome;
        do {
            await(Awaited.EXTENDED, useCount(), false);
            // A request of another thread in between clears the outcome; then the loop waits for that request.
            outcome = extendOutcome;
        } while (outcome == null);
        return outcome;
    }

    @Override
    public void extend(long newTtlMs, ExtendCallback callback) {
        Objects.requireNonNull(callback, "extend callback is null");
        requestExtend(newTtlMs, callback);
    }

    @Override
    public CompletionStage<ExtendOutcome> extendAsync(Duration ttl) {
        CompletableFuture<ExtendOutcome> future = new CompletableFuture<>();
        extend(Durations.millisOf("ttl", ttl), (lease, outcome) -> client.callbacks.complete(future, outcome));
        return future;
    }

    private void requestExtend(long newTtlMs, ExtendCallback callback) {
        refuseWhileAcquiring();
        if (loop() == null) {
            throw new IllegalStateException("this lease was never used for an acquisition: there is nothing to extend");
        }
        if (newTtlMs != spec.ttlMs) {
            times.terms.checkTtl(newTtlMs, 0);
        }
        if (!EXTEND_STATE.compareAndSet(this, ExtendState.NONE, ExtendState.REQUESTED)) {
            throw new IllegalStateException("an extension of \"" + key + "\" is in progress: wait for its outcome");
        }
        extendOutcome = null;
        extendCallback = callback;
        extendTtlMs = newTtlMs;
        submit(EXTEND);
    }

    @Override
    public void holdAtLeast(Duration holdMin) {
        long holdNs = Durations.nanosOf("shortest hold", holdMin);
        refuseWhileAcquiring();
        if (state == LeaseState.HELD && loop().bind(this)) {
            holdUntilNs = loop().clock().nanoTime() + Math.min(holdNs, Long.MAX_VALUE / 4);
            submit(HOLD);
        }
    }

    @Override
    void refuseWhileAcquiring() {
        if (state == LeaseState.ACQUIRING) {
            throw new IllegalStateException("lease of \"" + key + "\" is being acquired: wait for the outcome first");
        }
    }

    /** The handle is as it was before the request, so that its caller can try again. */
    @Override
    void onNotSubmitted(int request) {
        switch (request) {
            case ACQUIRE -> {
                acquireCallback = null;
                setState(LeaseState.NOT_ACQUIRED);
            }
            case EXTEND -> {
                extendCallback = null;
                setExtendState(ExtendState.NONE);
            }
            default -> {
                // A hold is as it was.
            }
        }
    }

    // ---- requests on the event loop ---------------------------------------------------------------------------------

    @Override
    void execute(LeaseLoop owner, int request) {
        switch (request) {
            case RELEASE -> release(owner);
            default -> owner.execute(this, request);
        }
    }

    private void release(LeaseLoop owner) {
        boolean isDoneAtOnce = claim == null || isToBeKept(owner.clock());
        if (isInCall() && isDoneAtOnce && releaseCallback != null) {
            // There is nothing to wait for, and the client never runs a callback inside the call that passed it.
            deferToNextTurn(owner, RELEASE);
        } else {
            owner.execute(this, RELEASE);
        }
    }

    /** Returns whether the lock has to stay now if the lease ends. Reads the clock only with the option. */
    boolean isToBeKept(NanoClock clock) {
        return spec.holdNsMin > 0 && isToBeKept(clock.nanoTime());
    }

    boolean isToBeKept(long nowNs) {
        return spec.holdNsMin > 0 && keepUntilNs() - nowNs > 0;
    }

    long keepUntilNs() {
        return acquiredNs + spec.holdNsMin;
    }

    /** Returns whether the client may have to extend it, so that it counts for the limit of such leases. */
    boolean isExtendable() {
        return spec.extensionCountMax > 0 || spec.holdNsMin > 0;
    }

    @Override
    boolean hasCallback() {
        return acquireCallback != null || extendCallback != null || releaseCallback != null;
    }

    @Override
    boolean isDone(Awaited awaited, short use) {
        return switch (awaited) {
            case ACQUIRED -> state != LeaseState.ACQUIRING;
            // A release callback may reuse the lease before the blocked thread reads its state.
            case RELEASED -> !isToBeReleased() || useCount() != use;
            case EXTENDED -> extendOutcome != null;
        };
    }

    // ---- retained locks ---------------------------------------------------------------------------------------------
    // A lease gets a retained lock, and returns it, without the nodes. On the thread of its caller, each change of its
    // state is a compare-and-set, and no store follows that could undo a later one.

    /** Prepares an acquisition that gets a retained lock, unless the lock ends now. */
    void prepareGrant(LeaseLoop owner, long untilNs, long nowNs) {
        acquiredNs = nowNs;
        setValidUntilNs(untilNs);
        kind = Kind.ACQUIRED;
        lastReason = Kind.ACQUIRED;
        startUse(owner);
    }

    /** The lock has ended: the acquisition goes to the nodes. */
    void withdrawGrant(LeaseLoop owner) {
        setValidUntilNs(0);
        resetResult();
        startUse(owner);
    }

    /** Completes a grant on the thread of the caller. The event loop may have ended the lease already. */
    boolean completeGrant() {
        return STATE.compareAndSet(this, LeaseState.ACQUIRING, LeaseState.HELD);
    }

    void completeGrantOnLoop() {
        if (isInCall() && acquireCallback != null) {
            deferToNextTurn(loop(), DELIVER);
        } else {
            deliver();
        }
    }

    /**
     * Delivers an outcome that the call of its caller has not. The caller of a local grant may release the lease, and
     * use the handle again, as soon as its state is HELD.
     */
    void deliver() {
        if (kind != Kind.ACQUIRED) {
            complete(kind, lastReason, LeaseState.NOT_ACQUIRED);
            return;
        }
        AcquireCallback callback = acquireCallback;
        acquireCallback = null;
        if (completeGrant()) {
            wakeWaiter();
        }
        if (callback != null) {
            UserCallbacks.run(callback, this);
        }
    }

    /** Before the lock is free, the lease is not held any more. Returns false if it is not held now. */
    boolean startReturn() {
        return STATE.compareAndSet(this, LeaseState.HELD, LeaseState.RELEASING);
    }

    /** The lock is free again, or another lease has it. */
    void endReturn() {
        RELEASE_OUTCOME.setRelease(this, ReleaseOutcome.RETAINED);
        STATE.setVolatile(this, LeaseState.RELEASED);
        wakeWaiter();
    }

    /** Whether another thread is between both, until its last store: after that one the handle may be used again. */
    boolean isReturning() {
        return claim == null && state == LeaseState.RELEASING;
    }

    /** The lease ends otherwise than by its release, which calls no callback. */
    void completeReleaseLater() {
        if (releaseCallback != null) {
            deferToNextTurn(loop(), RELEASE);
        }
    }

    /** A lease without a caller, for the claim of one that its holder has released. */
    LeaseHandle withoutCaller(LeaseLoop owner, AcquireSpec newSpec) {
        LeaseHandle other = new LeaseHandle(client);
        other.countUse();
        other.startUse(owner);
        other.key = key;
        other.spec = newSpec;
        other.times = times;
        other.acquiredNs = acquiredNs;
        other.setValidUntilNs(validUntilNs);
        other.setState(LeaseState.HELD);
        return other;
    }

    // ---- outcomes ---------------------------------------------------------------------------------------------------

    /** Records the votes of an attempt that has ended. */
    void recordVotes(Claim decided) {
        grantedMask = decided.round.granted();
        refusedMask = decided.round.refused();
        failedMask = decided.round.failed();
        unknownMask = decided.round.unknown();
        shortestRemainingTtlMs = decided.shortestRemainingTtlMs();
        if ((failedMask | unknownMask) != 0) {
            recordFailures(decided.failures);
        }
        attemptCount++;
    }

    /** Takes the reason of an acquisition of this client that is ahead, with the votes of its last attempt. */
    void copyReason(LeaseHandle ahead) {
        lastReason = ahead.lastReason;
        waitCause = ahead.waitCause == null ? WaitCause.CALLER_AHEAD : ahead.waitCause;
        grantedMask = ahead.grantedMask;
        refusedMask = ahead.refusedMask;
        failedMask = ahead.failedMask;
        unknownMask = ahead.unknownMask;
        shortestRemainingTtlMs = ahead.shortestRemainingTtlMs;
        askedKey = ahead.askedKey;
        keyType = ahead.keyType;
        if ((failedMask | unknownMask) != 0) {
            recordFailures(ahead.failures);
        }
    }

    /** Without the reasons of the one ahead, for which there was no memory, this one has none either. */
    private void recordFailures(byte[] decided) {
        if (decided == null) {
            failures = null;
            return;
        }
        if (failures == null) {
            failures = new byte[decided.length];
        }
        System.arraycopy(decided, 0, failures, 0, failures.length);
    }

    /** Ends the acquisition. During the call of its caller, it defers the outcome to the next turn. */
    void completeAcquire(Kind outcome, Kind reason) {
        pending = null;
        if (isStarting) {
            kind = outcome;
            lastReason = reason;
            deferToNextTurn(loop(), DELIVER);
        } else {
            complete(outcome, reason, outcome == Kind.ACQUIRED ? LeaseState.HELD : LeaseState.NOT_ACQUIRED);
        }
    }

    void complete(Kind outcome, Kind reason, LeaseState next) {
        kind = outcome;
        lastReason = reason;
        AcquireCallback callback = acquireCallback;
        acquireCallback = null;
        state = next;
        wakeWaiter();
        if (callback != null) {
            UserCallbacks.run(callback, this);
        }
    }

    /** Stores a state for which no caller waits. */
    void setState(LeaseState next) {
        STATE.setRelease(this, next);
    }

    /** On the event loop: a callback runs in the next turn if its call is still in progress. */
    void endRelease(ReleaseOutcome outcome) {
        boolean isDeferred = isInCall() && releaseCallback != null;
        completeRelease(outcome, isDeferred ? null : releaseCallback);
        if (isDeferred) {
            deferToNextTurn(loop(), RELEASE);
        }
    }

    void completeRelease(ReleaseOutcome outcome) {
        completeRelease(outcome, releaseCallback);
    }

    private void completeRelease(ReleaseOutcome outcome, ReleaseCallback callback) {
        RELEASE_OUTCOME.setRelease(this, outcome);
        if (callback != null) {
            // Conditional, because a callback set after the read belongs to a later release request.
            RELEASE_CALLBACK.setRelease(this, null);
        }
        if (state == LeaseState.RELEASING) {
            state = LeaseState.RELEASED;
        }
        wakeWaiter();
        if (callback != null) {
            UserCallbacks.run(callback, this, outcome);
        }
    }

    /** The lease ended without a release; later releases return the given outcome. */
    void end(LeaseState lostOrExpired, ReleaseOutcome outcome) {
        releaseOutcome = outcome;
        state = lostOrExpired;
        wakeWaiter();
    }

    void setExtendState(ExtendState next) {
        EXTEND_STATE.setRelease(this, next);
    }

    /** Returns whether the event loop has taken a requested extension that has no outcome yet. */
    boolean isExtensionAccepted() {
        ExtendState now = extendState;
        return now == ExtendState.ACCEPTED || now == ExtendState.STARTED;
    }

    void completeExtend(ExtendOutcome outcome) {
        ExtendCallback callback = extendCallback;
        extendCallback = null;
        // The outcome first, because the next request clears it as soon as the state is NONE.
        extendOutcome = outcome;
        extendState = ExtendState.NONE;
        wakeWaiter();
        if (callback != null) {
            UserCallbacks.run(callback, this, outcome);
        }
    }

    void setValidUntilNs(long untilNs) {
        VALID_UNTIL.setRelease(this, untilNs);
    }
}
