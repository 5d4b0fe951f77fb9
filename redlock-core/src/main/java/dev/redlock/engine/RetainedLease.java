package dev.redlock.engine;

import dev.redlock.time.DeadlineTimer;
import dev.redlock.time.NanoClock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One retained lock, whose local holders change without the nodes. One word has its state and the number of its last
 * local grant:
 *
 * <pre>
 * PREPARING ---> FREE ---> GRANTING ---> HELD ---> FREE     by callers, except the first
 *        any of them ---> ENDED                             by the event loop, which releases it, or makes the holder's
 *                                                           lease a lease like any other
 * </pre>
 *
 * <p>Each change is a compare-and-set, so a lock that the event loop has ended has no later holder. The number in the
 * word keeps the handle of an earlier holder from the lock of a later one.
 *
 * <p>A local holder submits its requests to this loop, which passes them to the loop of the client.
 *
 * @threading any thread, except the fields of the event loop
 */
final class RetainedLease extends KeyedMap.Keyed implements LeaseLoop {

    /** The nodes are asked whether another client waits; no caller sees the lock. */
    static final int PREPARING = 0;
    static final int FREE = 1;
    /** A caller writes the fields of the next holder. It has the lock only if nobody ends it before. */
    static final int GRANTING = 2;
    static final int HELD = 3;
    static final int ENDED = 4;
    private static final int STATE_MASK = 7;
    private static final int NUMBER_SHIFT = 3;
    private static final VarHandle WORD;

    static {
        try {
            WORD = MethodHandles.lookup().findVarHandle(RetainedLease.class, "word", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final RetainedLocks room;
    private final LeaseLoop loop;
    private final NanoClock clock;
    private volatile long word;
    /** The last local holder. Its writer has set the word to GRANTING; readers read HELD first. */
    private LeaseHandle holder;
    private final LeaseTimes times;
    private final boolean isLossWatched;
    /** The validity of each local lease ends with that of the lease on the nodes, at one absolute time. */
    final long validUntilNs;
    /** When the last local lease may start. */
    final long grantUntilNs;

    // The state of the event loop.
    final Claim claim;
    /** Has the claim: the lease whose release prepares it, later one without a caller. */
    LeaseHandle lease;
    /** The nodes that have answered that nobody waits. */
    long answeredMask;
    final DeadlineTimer timer;
    RetainedLease older;
    RetainedLease newer;

    RetainedLease(RetainedLocks room, LeaseLoop loop, LeaseHandle released, long grantUntilNs) {
        this.room = room;
        this.loop = loop;
        this.clock = loop.clock();
        this.key = released.key;
        this.times = released.times;
        this.isLossWatched = released.spec.isLossWatched;
        this.validUntilNs = released.validUntilNs;
        this.grantUntilNs = grantUntilNs;
        this.claim = released.claim;
        this.lease = released;
        this.timer = new DeadlineTimer(nowNs -> room.onTimer(this));
    }

    // ---- callers ----------------------------------------------------------------------------------------------------

    /** Gives the lock to an acquisition; false if it is not free, or not long enough. */
    boolean grant(LeaseHandle to) {
        long free = word;
        if ((free & STATE_MASK) != FREE || to.times.ttlMs != times.ttlMs || to.spec.isLossWatched != isLossWatched) {
            return false;
        }
        long nowNs = clock.nanoTime();
        long number = (free >>> NUMBER_SHIFT) + 1;
        long granting = number << NUMBER_SHIFT | GRANTING;
        if (grantUntilNs - nowNs <= 0 || validUntilNs - nowNs < to.times.minValidityNs
                || !WORD.compareAndSet(this, free, granting)) {
            return false;
        }
        holder = to;
        LocalGrant.prepare(to, this, number, validUntilNs, nowNs);
        if (!WORD.compareAndSet(this, granting, number << NUMBER_SHIFT | HELD)) {
            LocalGrant.withdraw(to, loop);
            return false;
        }
        return true;
    }

    @Override
    public boolean retainAgain(LeaseHandle from) {
        long number = from.retainedNumber;
        long held = number << NUMBER_SHIFT | HELD;
        // The caller may have paused for longer than the loop, which says then that the lease has expired.
        if (word != held || validUntilNs - clock.nanoTime() <= 0 || !LocalGrant.startReturn(from)) {
            return false;
        }
        boolean isRetained = WORD.compareAndSet(this, held, number << NUMBER_SHIFT | FREE);
        LocalGrant.endReturn(from, isRetained);
        return isRetained;
    }

    // ---- the event loop ---------------------------------------------------------------------------------------------

    int state() {
        return (int) word & STATE_MASK;
    }

    /** Returns the number of local grants. */
    long grantCount() {
        return word >>> NUMBER_SHIFT;
    }

    /** From now on callers may have it. */
    void open() {
        word = FREE;
    }

    /** Ends it for all callers but the present holder. Returns the state before. */
    int end() {
        long before;
        do {
            before = word;
        } while (!WORD.compareAndSet(this, before, before & ~STATE_MASK | ENDED));
        return (int) before & STATE_MASK;
    }

    /** The holder; if the lock was HELD. */
    LeaseHandle holder() {
        return holder;
    }

    boolean isHolder(LeaseHandle local) {
        return word == (local.retainedNumber << NUMBER_SHIFT | HELD) && holder == local;
    }

    // ---- the loop of local holders ----------------------------------------------------------------------------------

    /** A release needs no node. Every other request needs a lease like any other. */
    @Override
    public void execute(LeaseHandle local, int request) {
        boolean isEnd = request == RequestMailbox.RELEASE || request == RequestMailbox.CANCEL;
        if (request == RequestMailbox.CANCEL && LocalGrant.isOpen(local)) {
            local.deferToNextTurn(loop, request);
        } else if (isEnd && retainAgain(local)) {
            LocalGrant.runReleaseCallback(local);
        } else {
            if (isHolder(local)) {
                room.endFor(this);
            }
            loop.execute(local, request);
        }
    }

    @Override
    public NanoClock clock() {
        return clock;
    }

    @Override
    public boolean isOwnThread() {
        return loop.isOwnThread();
    }

    @Override
    public boolean isClosed() {
        return loop.isClosed();
    }

    @Override
    public void execute(Runnable task) {
        loop.execute(task);
    }

    @Override
    public boolean enterCall() {
        return loop.enterCall();
    }

    @Override
    public void leaveCall() {
        loop.leaveCall();
    }

    @Override
    public void addToNextTurn(RequestMailbox local) {
        loop.addToNextTurn(local);
    }

    @Override
    public void abortAfterFailure(LeaseHandle local) {
        loop.abortAfterFailure(local);
    }

    @Override
    public void endAfterFailure(LeaseHandle local) {
        if (local.claim != null) {
            loop.endAfterFailure(local);
        }
    }
}
