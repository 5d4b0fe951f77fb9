package dev.redlock.engine;

import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.KeyedMap;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.time.NanoClock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One retained lock, whose local holders change without the nodes. One word has its state and the number of its last
 * local grant:
 *
 * <pre>
 * WATCHED ---> PREPARING ---> FREE ---> GRANTING ---> HELD ---> FREE     by callers, from FREE on
 *    ^                                                  +---> WANTED, BOUND: its return needs the event loop
 *    +------------------------------------------------------------+      its holder needs a lease like any other
 *        any of them ---> ENDED                                          by the event loop
 * </pre>
 *
 * <p>Each change is a compare-and-set, so a lock that the event loop has ended has no later holder. The number in the
 * word keeps a caller that has read FREE, and the times, from a lock that has changed since.
 *
 * <p>A local holder submits its requests to this loop, which passes them to the loop of the client. A request of an
 * earlier use of its handle may come late, so a request counts only if the word says that its holder has made one.
 *
 * @threading any thread, except the fields of the event loop
 */
final class RetainedLease extends KeyedMap.Keyed implements LeaseLoop {

    /** Its claim is acquired or held by a caller as any other, and the nodes push that another client waits. */
    static final int WATCHED = 0;
    /** Its holder has returned it, and answers of nodes are missing; no caller sees the lock. */
    static final int PREPARING = 1;
    static final int FREE = 2;
    /** A caller writes the fields of the next holder. It has the lock only if nobody ends it before. */
    static final int GRANTING = 3;
    static final int HELD = 4;
    /** As HELD, and another caller of this client waits. */
    static final int WANTED = 5;
    /** As HELD, and its holder has submitted a request. */
    static final int BOUND = 6;
    static final int ENDED = 7;
    /** A local grant needs this part of the validity, or the least validity of its options if that is more. */
    private static final int VALIDITY_DIVIDEND = 2;
    private static final int VALIDITY_DIVISOR = 3;
    /** At most some microseconds. */
    private static final int SPINS_MAX = 64;
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

    private final LeaseLoop loop;
    private final NanoClock clock;
    private volatile long word;
    /** The last local holder. Its writer has set the word to GRANTING; readers read HELD first. */
    private LeaseHandle holder;
    private final LeaseTimes times;
    private final AcquireSpec spec;
    // Written by the event loop before the word is FREE.
    /** The validity of each local lease ends with that of the lease on the nodes, at one absolute time. */
    long validUntilNs;
    /** When the last local lease may start. */
    long grantUntilNs;

    // The state of the event loop.
    final Claim claim;
    /** Has the claim: a lease of a caller while the word is WATCHED or PREPARING, later one without a caller. */
    LeaseHandle lease;
    /** Set once. */
    RetainedRequest watch;
    /** The nodes that have answered that nobody waits, by both keys. */
    long queueMask;
    long tracesMask;
    /** When the client may retain it no longer; unknown before the first release. */
    long retainUntilNs;
    boolean isUntilKnown;
    /** Whether callers may get it. */
    boolean isRetained;
    /** Its grants that the counter has; written while no other thread finds the entry. */
    long countedGrants;
    final DeadlineTimer timer;
    RetainedLease older;
    RetainedLease newer;

    private RetainedLease(RetainedLocks room, LeaseLoop loop, LeaseHandle lease, Claim claim) {
        this.loop = loop;
        this.clock = loop.clock();
        this.key = lease.key;
        this.times = lease.times;
        this.spec = lease.spec;
        this.claim = claim;
        this.lease = lease;
        this.timer = new DeadlineTimer(nowNs -> room.onTimer(this, nowNs));
    }

    static RetainedLease create(RetainedLocks room, LeaseLoop loop, LeaseHandle lease, Claim claim) {
        RetainedLease created = new RetainedLease(room, loop, lease, claim);
        created.watch = new RetainedRequest(room, created);
        return created;
    }

    // ---- callers ----------------------------------------------------------------------------------------------------

    /** Gives the lock to an acquisition; false if it is not free, or not long enough. */
    @Override
    public boolean grant(LeaseHandle to) {
        long free = word;
        if ((free & STATE_MASK) != FREE || !isFor(to)) {
            return false;
        }
        // These times are those of the word: they change only while it is not FREE, and its number with them.
        long untilNs = validUntilNs;
        long lastNs = grantUntilNs;
        long nowNs = clock.nanoTime();
        long granting = next(free, GRANTING);
        if (lastNs - nowNs <= 0 || untilNs - nowNs < to.times.minValidityNs
                || !WORD.compareAndSet(this, free, granting)) {
            return false;
        }
        holder = to;
        to.prepareGrant(this, untilNs, nowNs);
        if (!WORD.compareAndSet(this, granting, with(granting, HELD))) {
            to.withdrawGrant(loop);
            return false;
        }
        return true;
    }

    /** Another thread may return the lock sooner than the event loop could pass it on. */
    boolean grantSoon(LeaseHandle to) {
        for (int i = 0; i < SPINS_MAX; i++) {
            if (grant(to)) {
                return true;
            }
            if (!isHeldForNow(to)) {
                return false;
            }
            Thread.onSpinWait();
        }
        return false;
    }

    /** Whether an acquisition asks for what the lease on the nodes is, for as long as its client retains it. */
    boolean isFor(LeaseHandle to) {
        return to.times.ttlMs == times.ttlMs && to.spec.isLossWatched == spec.isLossWatched
                && to.spec.retainNsMax == spec.retainNsMax;
    }

    @Override
    public boolean retainAgain(LeaseHandle from) {
        long held = word;
        if (!isHeldBy(held, from)) {
            return false;
        }
        // The caller may have paused for longer than the loop, which says then that the lease has expired. A request
        // that it has submitted comes first.
        if ((held & STATE_MASK) == HELD && from.isTaken(-1) && validUntilNs - clock.nanoTime() > 0
                && from.startReturn() && WORD.compareAndSet(this, held, with(held, FREE))) {
            from.endReturn();
            return true;
        }
        bind(from);
        return false;
    }

    @Override
    public boolean bind(LeaseHandle from) {
        long held = word;
        while (isHeldBy(held, from) && !WORD.compareAndSet(this, held, with(held, BOUND))) {
            held = word;
        }
        return true;
    }

    /** Whether another caller has it, or had it a moment ago, and nobody waits for it. */
    boolean isHeldForNow(LeaseHandle by) {
        int state = state();
        if (!isFor(by)) {
            return false;
        }
        return state == FREE ? grantUntilNs - clock.nanoTime() > 0 : state == GRANTING || state == HELD;
    }

    private boolean isHeldBy(long read, LeaseHandle local) {
        int state = (int) read & STATE_MASK;
        return state >= HELD && state <= BOUND && holder == local;
    }

    boolean isHolder(LeaseHandle local) {
        return isHeldBy(word, local);
    }

    private static long with(long read, int state) {
        return read & ~STATE_MASK | state;
    }

    private static long next(long read, int state) {
        return (read >>> NUMBER_SHIFT) + 1 << NUMBER_SHIFT | state;
    }

    // ---- the event loop ---------------------------------------------------------------------------------------------

    int state() {
        return (int) word & STATE_MASK;
    }

    /** Returns the number of local grants. */
    long grantCount() {
        return word >>> NUMBER_SHIFT;
    }

    /** Returns the local grants that the counter does not have. */
    long uncountedGrants() {
        return grantCount() - countedGrants;
    }

    /** Its holder releases it. */
    void setTimes(long nowNs) {
        if (!isUntilKnown) {
            isUntilKnown = true;
            retainUntilNs = nowNs + lease.spec.retainNsMax;
        }
        validUntilNs = lease.validUntilNs;
        long lastNs = validUntilNs - times.validityNs / VALIDITY_DIVISOR * VALIDITY_DIVIDEND;
        grantUntilNs = WaitQueues.earlier(lastNs, retainUntilNs);
    }

    /** The release of its lease waits for answers. */
    void prepare() {
        word = with(word, PREPARING);
    }

    /** From now on callers may have it. */
    void open() {
        WORD.setRelease(this, with(word, FREE));
    }

    /** Gives the lock, which no caller sees, to an acquisition of this client. */
    void give(LeaseHandle to, boolean isOtherWaiting, long nowNs) {
        holder = to;
        to.prepareGrant(this, validUntilNs, nowNs);
        word = next(word, isOtherWaiting ? WANTED : HELD);
    }

    /** The lock is not for callers now. Returns its holder, or null if it has returned the lock. */
    LeaseHandle take(LeaseHandle local) {
        long before = word;
        while (isHeldBy(before, local)) {
            if (WORD.compareAndSet(this, before, with(before, WATCHED))) {
                return local;
            }
            before = word;
        }
        return null;
    }

    /** The next return of the lock needs the event loop. Returns whether it has a local holder. */
    boolean want() {
        long held = word;
        boolean isWanted = (held & STATE_MASK) == HELD && WORD.compareAndSet(this, held, with(held, WANTED));
        return isWanted || state() == WANTED || state() == BOUND;
    }

    /** Ends it for all callers but the present holder. A grant that is not complete does not count. */
    int end() {
        long before;
        long granted;
        do {
            before = word;
            granted = (before & STATE_MASK) == GRANTING ? before - (1 << NUMBER_SHIFT) : before;
        } while (!WORD.compareAndSet(this, before, with(granted, ENDED)));
        return (int) before & STATE_MASK;
    }

    boolean isHeldLocally() {
        int state = state();
        return state >= HELD && state <= BOUND;
    }

    /** The holder; if the lock had one. */
    LeaseHandle holder() {
        return holder;
    }

    // ---- the loop of local holders ----------------------------------------------------------------------------------

    /** A release needs no node. Every other request needs a lease like any other. */
    @Override
    public void execute(LeaseHandle local, int request) {
        switch (request) {
            case RequestMailbox.DELIVER -> local.deliver();
            case RequestMailbox.CANCEL -> cancel(local);
            case RequestMailbox.RELEASE -> release(local);
            default -> {
                if (take(local) != null) {
                    watch.room.giveToHolder(this);
                }
                loop.execute(local, request);
            }
        }
    }

    private void cancel(LeaseHandle local) {
        if (local.cancelledUse != local.useCount()) {
            return;
        }
        if (local.state == LeaseState.ACQUIRING) {
            // Its caller, or the next turn, completes the grant first.
            local.deferToNextTurn(loop, RequestMailbox.CANCEL);
        } else {
            giveBack(local, RequestMailbox.CANCEL);
        }
    }

    private void release(LeaseHandle local) {
        long read = word;
        boolean isLate = isHeldBy(read, local) && (read & STATE_MASK) != BOUND && local.releaseCallback == null;
        // A late request has ended an earlier use of the handle.
        if (!isLate) {
            giveBack(local, RequestMailbox.RELEASE);
        }
    }

    private void giveBack(LeaseHandle local, int request) {
        boolean isExpired = validUntilNs - clock.nanoTime() <= 0;
        if (take(local) == null) {
            if (local.isReturning()) {
                // Its outcome comes in a moment.
                local.deferToNextTurn(loop, request);
            } else {
                loop.execute(local, request);
            }
        } else if (isExpired) {
            watch.room.giveToHolder(this);
            loop.execute(local, request);
        } else {
            local.setState(LeaseState.RELEASING);
            try {
                watch.room.passOn(this);
            } finally {
                local.endRelease(ReleaseOutcome.RETAINED);
            }
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
    public void addUnsubmitted(RequestMailbox local) {
        loop.addUnsubmitted(local);
    }

    @Override
    public void abortAfterFailure(LeaseHandle local) {
        loop.abortAfterFailure(local);
    }

    @Override
    public void endAfterFailure(LeaseHandle local) {
        if (take(local) != null) {
            watch.room.giveToHolder(this);
        }
        if (local.claim != null) {
            loop.endAfterFailure(local);
        }
    }
}
