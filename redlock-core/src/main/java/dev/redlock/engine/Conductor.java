package dev.redlock.engine;

import dev.redlock.AcquireCallback;
import dev.redlock.AcquireOutcome;
import dev.redlock.CloseReport;
import dev.redlock.ExtendCallback;
import dev.redlock.ExtendOutcome;
import dev.redlock.Lease;
import dev.redlock.LeaseListener;
import dev.redlock.LeaseState;
import dev.redlock.ReleaseCallback;
import dev.redlock.ReleaseOutcome;
import dev.redlock.node.DirectBuffers;
import dev.redlock.node.FanOut;
import dev.redlock.node.FreeList;
import dev.redlock.node.Log;
import dev.redlock.node.Node;
import dev.redlock.node.NodeContext;
import dev.redlock.node.NodeListener;
import dev.redlock.NodeState;
import dev.redlock.quorum.Quorum;
import dev.redlock.quorum.TokenStream;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import dev.redlock.transport.IoTransport;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.FutureListener;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.agrona.collections.Object2ObjectHashMap;

/**
 * Owner of all lock state of one event loop: nodes, attempts, waiting lines, held leases, timers. Everything below it
 * runs on its thread; callers reach it only through {@link LeaseHandle}, whose requests it executes.
 *
 * @threading event-loop-confined, except {@link #execute}, {@link #isOwnThread}, {@link #isClosed},
 *            {@link #startClose}, {@link #nowNs} and {@link #counters}
 */
final class Conductor implements NodeListener {

    /** Half of the longest delay between attempts where the retry policy throws. */
    private static final long RETRY_DELAY_NS_MIN = 25_000_000;
    private static final int CALL_DEPTH_MAX = 16;
    /** Objects that each pool keeps: about a megabyte of attempts. */
    private static final int POOLED_MIN = 1024;
    private static final long TRIM_PERIOD_NS = 1_000_000_000;
    /** Longer than a process lives. */
    private static final long FAR_DAYS = 36_500;

    private final EventLoop loop;
    private final NanoClock clock;
    private final ClientConfig config;
    private final Node[] nodes;
    private final FanOut fanOut;
    private final TimerWheel timers;
    private final TokenStream tokens;
    private final RandomGenerator random;
    private final ConductorCounters counters = new ConductorCounters();
    private final AcquireOperation acquiring = new AcquireOperation(this);
    private final ExtendOperation extending = new ExtendOperation(this);
    private final RaiseOperation raising = new RaiseOperation(this);
    private final HolderTtlQuery holderTtlQuery = new HolderTtlQuery(this);
    private final ReleaseOperation releasing = new ReleaseOperation(this);
    private final FenceGuard fenceGuard;
    private final LeaseKeeper keeper = new LeaseKeeper(this);
    private final FreeList<Claim> freeClaims = new FreeList<>(POOLED_MIN);
    private final FreeList<PendingAcquire> freePendingAcquires = new FreeList<>(POOLED_MIN);
    private final FreeList<WaitQueue> freeQueues = new FreeList<>(POOLED_MIN);
    private final Object2ObjectHashMap<LockKey, WaitQueue> queues = new Object2ObjectHashMap<>();
    private final InFlightLimit inFlight;
    private final Runnable alarmTask = this::onAlarm;
    private final ArrayDeque<LeaseHandle> nextTurn = new ArrayDeque<>();
    private final Runnable nextTurnTask = this::onNextTurn;
    private final List<String> unreleased = new ArrayList<>();
    private final CompletableFuture<Void> settled = new CompletableFuture<>();
    private PendingAcquire firstActive;
    private long alarmNs;
    private long trimmedNs;
    private boolean isAlarmSet;
    private long settledMask;
    private int claimsOut;
    private int waiterCount;
    private int autoExtendedCount;
    private int callDepth;
    private int releasedAtCloseCount;
    private boolean isNextTurnScheduled;
    private volatile boolean isClosing;
    private volatile boolean isClosed;
    /** Cancelled by the loop when it shuts down; null before the client is open, and when it is closed. */
    private Future<?> endOfLoop;
    private CompletableFuture<CloseReport> closed;
    private final DeadlineTimer closeTimer = new DeadlineTimer(nowNs -> endClose());

    Conductor(final ClientConfig config, final EventLoop loop, final IoTransport transport, final NanoClock clock,
            final TokenStream tokens, final RandomGenerator random) {
        this.config = config;
        this.loop = loop;
        this.clock = clock;
        this.tokens = tokens;
        this.random = random;
        this.inFlight = new InFlightLimit(config.limits().inFlightMax());
        this.trimmedNs = clock.nanoTime();
        this.timers = new TimerWheel(trimmedNs, this::onTimerStarted);
        this.nodes = new Node[config.nodes().size()];
        this.fanOut = new FanOut(loop, new DirectBuffers(loop, transport.allocator(), clock), nodes,
                config.nodeOptions().releaseBatchMax());
        final NodeContext nodeContext = new NodeContext(loop, transport, clock, timers, random, config.nodeOptions(),
                this, nodes);
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = new Node(i, config.nodes().get(i), nodeContext);
        }
        this.fenceGuard = new FenceGuard(this);
    }

    /** Starts to connect to every node; the future completes when each of them has answered or failed once. */
    CompletableFuture<Void> open() {
        try {
            loop.execute(this::connect);
        } catch (final RejectedExecutionException e) {
            // It is shutting down, which is looked at next.
        }
        if (loop.isShuttingDown()) {
            // Whether it will run the task is not known. Nobody has asked for anything yet.
            isClosing = true;
            isClosed = true;
            settled.complete(null);
        }
        return settled;
    }

    private void connect() {
        if (loop.isShuttingDown()) {
            onLoopEnding();
            return;
        }
        // A loop that shuts down closes its channels, cancels what is scheduled, runs the tasks it has, and ends.
        final io.netty.util.concurrent.Future<?> end = loop.schedule(() -> {
        }, FAR_DAYS, TimeUnit.DAYS);
        endOfLoop = end;
        end.addListener(cancelled -> {
            if (endOfLoop != null) {
                onCancelled(cancelled);
            }
        });
        for (final Node node : nodes) {
            node.open(fanOut);
        }
    }

    // ---- any thread -------------------------------------------------------------------------------------------------

    void execute(final Runnable task) {
        loop.execute(task);
    }

    /** As {@link #execute}; a loop that takes no tasks any more ends, and {@link #onLoopEnding} does what is left. */
    private void executeUnlessEnding(final Runnable task) {
        try {
            loop.execute(task);
        } catch (final RejectedExecutionException e) {
            // see above
        }
    }

    boolean isOwnThread() {
        return loop.inEventLoop();
    }

    long nowNs() {
        return clock.nanoTime();
    }

    /**
     * Whether the conductor has ended. A task that is executed before this turns true still runs; one that is executed
     * later may not, because an event loop that has terminated takes tasks silently.
     */
    boolean isClosed() {
        return isClosed;
    }

    ClientConfig config() {
        return config;
    }

    ConductorCounters counters() {
        return counters;
    }

    Node node(final int index) {
        return nodes[index];
    }

    boolean isInQuarantine(final int index) {
        return nodes[index].state() == NodeState.QUARANTINED;
    }

    int nodeCount() {
        return nodes.length;
    }

    // ---- acquiring --------------------------------------------------------------------------------------------------

    void acquire(final LeaseHandle lease) {
        lease.isStarting = true;
        try {
            start(lease);
        } finally {
            lease.isStarting = false;
        }
    }

    private void start(final LeaseHandle lease) {
        if (isClosing) {
            lease.completeAcquire(AcquireOutcome.Kind.CLOSED, AcquireOutcome.Kind.CLOSED);
            return;
        }
        final boolean isAutoExtended = lease.extensionCountMax > 0;
        if (isAutoExtended && autoExtendedCount >= config.limits().autoExtendedLeasesMax()) {
            refuseOverloaded(lease);
            return;
        }
        final WaitQueue queue = lease.waitNs > 0 ? queues.get(lease.key) : null;
        if (queue != null && waiterCount >= config.limits().waitersMax()) {
            refuseOverloaded(lease);
            return;
        }
        final PendingAcquire pending = takePendingAcquire(lease);
        autoExtendedCount += isAutoExtended ? 1 : 0;
        if (lease.waitNs > 0) {
            pending.deadlineNs = nowNs() + Math.min(lease.waitNs, Long.MAX_VALUE / 4);
            enqueueWaiter(pending, queue);
        }
        if (queue == null) {
            startAttempt(pending);
        }
    }

    private void refuseOverloaded(final LeaseHandle lease) {
        counters.onOutcome(AcquireOutcome.Kind.OVERLOADED);
        lease.completeAcquire(AcquireOutcome.Kind.OVERLOADED, AcquireOutcome.Kind.OVERLOADED);
    }

    private void enqueueWaiter(final PendingAcquire pending, final WaitQueue existing) {
        if (existing != null) {
            waiterCount++;
            pending.state = PendingAcquire.State.QUEUED;
            existing.append(pending);
            startTimer(pending.timer, pending.deadlineNs);
            return;
        }
        final WaitQueue pooled = freeQueues.poll();
        final WaitQueue queue = pooled == null ? new WaitQueue() : pooled;
        queue.key = pending.lease.key;
        queue.streak.end();
        queues.put(queue.key, queue);
        queue.append(pending);
    }

    private void startAttempt(final PendingAcquire pending) {
        if (pending.state == PendingAcquire.State.QUEUED) {
            waiterCount--;
        }
        stopTimer(pending.timer);
        if (pending.queue != null) {
            pending.queue.isPausing = false;
        }
        if (!inFlight.tryEnter(pending)) {
            awaitInFlightSlot(pending);
            return;
        }
        pending.state = PendingAcquire.State.ATTEMPTING;
        pending.retryImmediately = false;
        pending.turn++;
        acquiring.start(pending);
    }

    /** One that may wait does so until its budget ends; a new one only if there is room for one more waiter. */
    private void awaitInFlightSlot(final PendingAcquire pending) {
        final LeaseHandle lease = pending.lease;
        if (lease.waitNs <= 0 || lease.isStarting && waiterCount >= config.limits().waitersMax()) {
            pending.state = PendingAcquire.State.BACKING_OFF;
            finish(pending, AcquireOutcome.Kind.OVERLOADED, AcquireOutcome.Kind.OVERLOADED);
            return;
        }
        waiterCount++;
        pending.state = PendingAcquire.State.AWAITING_SLOT;
        inFlight.append(pending);
        lease.recordReason(AcquireOutcome.Kind.OVERLOADED);
        startTimer(pending.timer, pending.deadlineNs);
    }

    /** An attempt has ended: whoever waits for its place gets it, in a turn of its own. */
    private void leaveInFlight() {
        final PendingAcquire next = inFlight.leave();
        if (next != null) {
            waiterCount--;
            next.state = PendingAcquire.State.BACKING_OFF;
            startTimer(next.timer, nowNs());
        }
    }

    private void leaveInFlightUnused(final PendingAcquire pending) {
        if (pending.hasSlot) {
            pending.hasSlot = false;
            leaveInFlight();
        }
    }

    /** Ends what an acquisition waits for, or the place that it has. */
    private void stopWaiting(final PendingAcquire pending) {
        switch (pending.state) {
            case ATTEMPTING -> leaveInFlight();
            case QUEUED -> waiterCount--;
            case AWAITING_SLOT -> {
                waiterCount--;
                inFlight.remove(pending);
            }
            default -> leaveInFlightUnused(pending);
        }
    }

    void onAcquired(final PendingAcquire pending, final Claim claim, final long nowNs) {
        pending.claim = null;
        startOrContinue(claim.streak, pending.queue, nowNs);
        try {
            keeper.hold(pending.lease, claim, nowNs);
        } finally {
            finish(pending, AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.ACQUIRED);
        }
    }

    private static void startOrContinue(final HandoffStreak streak, final WaitQueue queue, final long nowNs) {
        if (queue != null && queue.streak.handoffCount() > 0) {
            streak.continueFrom(queue.streak);
        } else {
            streak.start(nowNs);
        }
    }

    void onAttemptFailed(final PendingAcquire pending, final AcquireOutcome.Kind reason) {
        pending.state = PendingAcquire.State.BACKING_OFF;
        leaveInFlight();
        counters.onAttemptFailed(reason);
        if (loop.isShuttingDown()) {
            // That is why its connections are gone.
            finish(pending, AcquireOutcome.Kind.CLOSED, AcquireOutcome.Kind.CLOSED);
            return;
        }
        final LeaseHandle lease = pending.lease;
        lease.recordReason(reason);
        if (lease.waitNs <= 0) {
            finish(pending, reason, reason);
            return;
        }
        if (!pending.retryImmediately) {
            // Somebody else has the lock, or may get it before the next attempt.
            pending.queue.streak.end();
        }
        final long nowNs = nowNs();
        final long leftNs = pending.deadlineNs - nowNs;
        if (leftNs <= 0) {
            finish(pending, AcquireOutcome.Kind.TIMED_OUT, reason);
        } else if (pending.retryImmediately) {
            startTimer(pending.timer, nowNs);
        } else {
            final long turn = pending.turn;
            final long delayNs = retryDelayNs(lease, reason, lease.shortestRemainingTtlMs());
            if (pending.turn == turn) {
                startTimer(pending.timer, nowNs + Math.min(leftNs, delayNs));
            }
        }
    }

    /**
     * The policy may be the user's: whatever it does, the acquisition has to go on, unless it ends it, or gives it its
     * next turn by a release.
     */
    private long retryDelayNs(final LeaseHandle lease, final AcquireOutcome.Kind reason, final long remainingTtlMs) {
        final long bits = random.nextLong();
        try {
            final int attemptCount = Math.max(1, lease.attemptCount());
            return Math.max(0, lease.retryPolicy.delayNs(attemptCount, reason, remainingTtlMs, bits));
        } catch (final RuntimeException | Error e) {
            logThrown("retry policy", e);
            return RETRY_DELAY_NS_MIN + (bits >>> 1) % RETRY_DELAY_NS_MIN;
        }
    }

    void onPendingAcquireTimer(final PendingAcquire pending, final long nowNs) {
        final LeaseHandle lease = pending.lease;
        if (pending.deadlineNs - nowNs <= 0) {
            finish(pending, AcquireOutcome.Kind.TIMED_OUT, lease.reasonSoFar());
        } else if (pending.state == PendingAcquire.State.BACKING_OFF) {
            final long turn = pending.turn;
            try {
                startAttempt(pending);
            } catch (final RuntimeException | Error e) {
                // Its timer has had its call: nothing else would ever end it.
                final boolean isSame = pending.turn - turn <= 1 && lease.pending == pending;
                if (isSame) {
                    giveUp(lease);
                }
                throw e;
            }
        }
    }

    /** What was asked for an acquisition threw: it ends, and what it may have sent is rolled back. */
    void giveUp(final LeaseHandle lease) {
        if (lease.pending != null) {
            abort(lease.pending, AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    /** Ends an acquisition, lets the next in line move up, then tells the caller, whatever else throws. */
    private void finish(final PendingAcquire pending, final AcquireOutcome.Kind kind,
            final AcquireOutcome.Kind reason) {
        final LeaseHandle lease = pending.lease;
        if (kind != AcquireOutcome.Kind.ACQUIRED && lease.extensionCountMax > 0) {
            autoExtendedCount--;
        }
        try {
            leaveQueues(pending, kind == AcquireOutcome.Kind.ACQUIRED ? lease : null);
        } finally {
            recycle(pending);
            counters.onOutcome(kind);
            lease.completeAcquire(kind, reason);
        }
    }

    private void leaveQueues(final PendingAcquire pending, final LeaseHandle holder) {
        stopTimer(pending.timer);
        stopWaiting(pending);
        final WaitQueue queue = pending.queue;
        if (queue != null) {
            final boolean wasHead = queue.head() == pending;
            queue.remove(pending);
            if (wasHead) {
                promoteNext(queue, holder);
            }
        }
    }

    /**
     * A line has a new head: it tries at once, or, if the lock has just been taken by this process, when that one
     * ends.
     */
    private void promoteNext(final WaitQueue queue, final LeaseHandle holder) {
        final PendingAcquire head = queue.head();
        if (head == null) {
            queues.remove(queue.key);
            queue.key = null;
            freeQueues.push(queue);
        } else if (holder == null) {
            activateHead(head);
            startTimer(head.timer, queue.isPausing ? earlier(queue.pauseEndNs, head.deadlineNs) : nowNs());
        } else {
            activateHead(head);
            startTimer(head.timer, earlier(holder.validUntilNs(), head.deadlineNs));
        }
    }

    private static long earlier(final long oneNs, final long otherNs) {
        return oneNs - otherNs < 0 ? oneNs : otherNs;
    }

    private void activateHead(final PendingAcquire head) {
        waiterCount--;
        head.state = PendingAcquire.State.BACKING_OFF;
        head.lease.recordReason(AcquireOutcome.Kind.CONTENDED);
    }

    /** A lock of this process is about to be given back: the line for it goes on with its run. */
    void passStreak(final Claim claim) {
        final WaitQueue queue = queueFor(claim.key);
        if (queue != null) {
            queue.streak.continueFrom(claim.streak);
        }
    }

    /**
     * A lock of this process is free: whoever is first in line here gets the turn at once, or behind a pause if this
     * client has had enough turns in a row.
     */
    void handOff(final LockKey key) {
        final WaitQueue queue = queueFor(key);
        if (queue == null || queue.isPausing) {
            return;
        }
        final PendingAcquire head = queue.head();
        final long turn = head.turn;
        final boolean isPauseDue = isPauseDue(queue.streak, head.lease);
        if (head.turn != turn) {
            // The retry policy has called back, which ended it or gave it its turn: whoever is first now knows.
            return;
        }
        final boolean isBackingOff = head.state == PendingAcquire.State.BACKING_OFF;
        if (isPauseDue) {
            if (isBackingOff) {
                pause(queue, head);
            }
            // Else its attempt was sent before the release: the delay behind the refusal is the pause.
        } else {
            queue.streak.onHandoff();
            if (isBackingOff) {
                startAttempt(head);
            } else {
                head.retryImmediately = true;
            }
        }
    }

    private WaitQueue queueFor(final LockKey key) {
        return queues.isEmpty() ? null : queues.get(key);
    }

    private boolean isPauseDue(final HandoffStreak streak, final LeaseHandle next) {
        final int handoffsMax = config.limits().localHandoffsMax();
        if (handoffsMax == 0 || streak.handoffCount() < handoffsMax) {
            return false;
        }
        if (!streak.hasPause()) {
            streak.setPause(retryDelayNs(next, AcquireOutcome.Kind.CONTENDED, -1));
        }
        return streak.isLongEnoughToPause(nowNs());
    }

    /** Waits as after a refused attempt, so that an attempt of another client finds the lock free. */
    private void pause(final WaitQueue queue, final PendingAcquire head) {
        queue.isPausing = true;
        queue.pauseEndNs = nowNs() + queue.streak.pauseNs();
        queue.streak.end();
        leaveInFlightUnused(head);
        startTimer(head.timer, earlier(queue.pauseEndNs, head.deadlineNs));
    }

    void cancel(final LeaseHandle lease) {
        if (lease.pending != null) {
            abort(lease.pending, AcquireOutcome.Kind.CANCELLED);
        } else if (lease.state() == LeaseState.HELD) {
            release(lease);
        }
    }

    private void abort(final PendingAcquire pending, final AcquireOutcome.Kind kind) {
        try {
            if (pending.claim != null) {
                pending.lease.recordVotes(pending.claim);
                acquiring.rollBack(pending.claim);
            }
        } finally {
            pending.claim = null;
            finish(pending, kind, kind);
        }
    }

    // ---- releasing --------------------------------------------------------------------------------------------------

    void release(final LeaseHandle lease) {
        final Claim claim = lease.claim;
        if (claim == null) {
            final ReleaseOutcome before = lease.releaseOutcome();
            lease.completeRelease(before == null ? ReleaseOutcome.EXPIRED : before);
            return;
        }
        if (claim.phase != Claim.Phase.HELD) {
            return;
        }
        keeper.untrack(lease);
        lease.markReleasing();
        // A callback may use the lease again, for another resource.
        final LockKey key = lease.key;
        passStreak(claim);
        releasing.start(claim);
        if (lease.isExtendTaken) {
            lease.completeExtend(ExtendOutcome.NOT_HELD);
        }
        handOff(key);
    }

    void onReleased(final LeaseHandle lease, final ReleaseOutcome outcome) {
        counters.onReleased(outcome);
        if (isClosing) {
            recordReleasedAtClose(lease, outcome);
        }
        lease.completeRelease(outcome);
    }

    void onUntracked(final LeaseHandle lease) {
        if (lease.extensionCountMax > 0) {
            autoExtendedCount--;
        }
    }

    void retainRelease(final Claim claim, final int nodeIndex, final long untilNs) {
        nodes[nodeIndex].retainRelease(claim, untilNs);
    }

    // ---- pools ------------------------------------------------------------------------------------------------------

    Claim takeClaim() {
        final Claim pooled = freeClaims.poll();
        final Claim claim = pooled == null ? new Claim(this, nodes.length) : pooled;
        claimsOut++;
        claim.reset();
        return claim;
    }

    void recycleIfDone(final Claim claim) {
        if (claim.phase == Claim.Phase.ABANDONED && claim.isAnswered()) {
            claim.phase = Claim.Phase.FREE;
            claim.key = null;
            freeClaims.push(claim);
            claimsOut--;
            if (isClosing && claimsOut == 0) {
                executeUnlessEnding(this::endCloseIfQuiet);
            }
        }
    }

    private PendingAcquire takePendingAcquire(final LeaseHandle lease) {
        final PendingAcquire pooled = freePendingAcquires.poll();
        final PendingAcquire pending = pooled == null ? new PendingAcquire(this) : pooled;
        pending.reset(lease);
        lease.pending = pending;
        pending.previousActive = null;
        pending.nextActive = firstActive;
        if (firstActive != null) {
            firstActive.previousActive = pending;
        }
        firstActive = pending;
        return pending;
    }

    private void recycle(final PendingAcquire pending) {
        if (pending.previousActive == null) {
            firstActive = pending.nextActive;
        } else {
            pending.previousActive.nextActive = pending.nextActive;
        }
        if (pending.nextActive != null) {
            pending.nextActive.previousActive = pending.previousActive;
        }
        pending.previousActive = null;
        pending.nextActive = null;
        pending.lease = null;
        pending.turn++;
        pending.state = PendingAcquire.State.FREE;
        freePendingAcquires.push(pending);
    }

    /** What an outage has filled shrinks again. Timers run also in a client that does nothing: it watches its nodes. */
    private void trimIfDue(final long nowNs) {
        if (nowNs - trimmedNs < TRIM_PERIOD_NS) {
            return;
        }
        trimmedNs = nowNs;
        freeClaims.trim();
        freePendingAcquires.trim();
        freeQueues.trim();
        fanOut.trim();
        for (final Node node : nodes) {
            node.trim();
        }
        if (queues.capacity() > 4 * POOLED_MIN && queues.size() < queues.capacity() / 8) {
            queues.compact();
        }
    }

    // ---- time -------------------------------------------------------------------------------------------------------

    void startTimer(final DeadlineTimer timer, final long deadlineNs) {
        timers.start(timer, deadlineNs);
    }

    void stopTimer(final DeadlineTimer timer) {
        timers.stop(timer);
    }

    private void onTimerStarted(final long deadlineNs) {
        if (!isAlarmSet || deadlineNs - alarmNs < 0) {
            setAlarm(deadlineNs);
        }
    }

    /**
     * One scheduled task serves all timers. It is set anew only for an earlier deadline than the one it waits for, so a
     * steady stream of locks, each with its node timeout, costs some twenty scheduled tasks a second and not one per
     * lock.
     */
    private void setAlarm(final long deadlineNs) {
        // First of all, because it may throw: an alarm that is noted and not scheduled would be the last one.
        loop.schedule(alarmTask, Math.max(0, deadlineNs - nowNs()), TimeUnit.NANOSECONDS);
        isAlarmSet = true;
        alarmNs = deadlineNs;
    }

    private void onAlarm() {
        final long nowNs = nowNs();
        if (isAlarmSet && alarmNs - nowNs > 0) {
            // An alarm that a later one for an earlier time has replaced; that one is still to come.
            return;
        }
        isAlarmSet = false;
        try {
            timers.poll(nowNs);
            trimIfDue(nowNs);
        } catch (final RuntimeException | Error e) {
            // The loop would keep it to itself. What this poll did not come to is due at once.
            setAlarm(nowNs);
            Log.error("a timer threw; the client goes on", e);
            return;
        }
        armAlarm();
    }

    private void armAlarm() {
        if (timers.startedCount() > 0) {
            onTimerStarted(timers.wakeAtNs());
        }
    }

    // ---- nodes ------------------------------------------------------------------------------------------------------

    @Override
    public void onStateChange(final Node node, final NodeState state) {
        if (state == NodeState.READY || state == NodeState.QUARANTINED || state == NodeState.WAITING) {
            // A copy of this process cannot go on with its connections: what it sends over new ones has tokens of its
            // own.
            tokens.rekey();
            settledMask |= 1L << node.index();
            if (settledMask == Quorum.allOf(nodes.length)) {
                settled.complete(null);
            }
        }
        if (isClosing && state == NodeState.CLOSED) {
            executeUnlessEnding(this::endCloseIfQuiet);
        }
    }

    @Override
    public void onClockJump(final Node node) {
        for (PendingAcquire pending = firstActive; pending != null; pending = pending.nextActive) {
            if (pending.claim != null) {
                acquiring.revoke(pending.claim, node.index());
            }
        }
        keeper.revoke(node.index());
    }

    @Override
    public void onProblem(final Node node, final String problem) {
        if (!isClosing) {
            // The node is in the middle of a change of state.
            Log.later(loop, System.Logger.Level.INFO, "node {0} ({1}): {2}", node.index(), node.address(), problem);
        }
    }

    // ---- closing ----------------------------------------------------------------------------------------------------

    /** Begins to close, on the loop; the report comes in any case, also if the loop ends before. Any thread. */
    void startClose(final long timeoutNs, final CompletableFuture<CloseReport> report) {
        try {
            loop.execute(() -> close(timeoutNs, report));
        } catch (final RejectedExecutionException e) {
            // A given event loop has ended before the client: its connections and timers have ended with it.
            freeBehindLoop();
            report.complete(closeReport());
            return;
        }
        // A loop that ends now may have taken the task silently.
        final FutureListener<Object> onTerminated = terminated -> report.complete(closeReport());
        final io.netty.util.concurrent.Future<?> termination = loop.terminationFuture();
        termination.addListener(onTerminated);
        report.whenComplete((done, failure) -> termination.removeListener(onTerminated));
    }

    /** Cancels what waits, releases what is held, and ends when every answer is in or the time is over. */
    void close(final long timeoutNs, final CompletableFuture<CloseReport> report) {
        if (isClosed) {
            report.complete(closeReport());
            return;
        }
        closed = report;
        isClosing = true;
        endAll(AcquireOutcome.Kind.CLOSED, this::release);
        for (final Node node : nodes) {
            node.drain();
        }
        startTimer(closeTimer, nowNs() + Math.min(timeoutNs, Long.MAX_VALUE / 4));
        endCloseIfQuiet();
    }

    /** The event loop has ended, or is about to, before the client was closed: only memory is left to give back. */
    private void freeBehindLoop() {
        loop.terminationFuture().addListener(future -> fanOut.free());
    }

    /** Ends what is under way and what is held. One that throws has ended too, and must not keep the others. */
    private void endAll(final AcquireOutcome.Kind kind, final Consumer<LeaseHandle> end) {
        while (firstActive != null || keeper.firstHeld() != null) {
            try {
                while (firstActive != null) {
                    abort(firstActive, kind);
                }
                while (keeper.firstHeld() != null) {
                    end.accept(keeper.firstHeld());
                }
            } catch (final RuntimeException | Error e) {
                logRequestThrown(e);
            }
        }
    }

    /**
     * The loop is shutting down before the client was closed: its connections are closed and its timers are gone, so
     * nothing more will be answered. Every caller gets an outcome; the keys of held leases end with their ttl.
     */
    private void onLoopEnding() {
        if (!isClosed) {
            isClosing = true;
            final int lostCount = keeper.heldCount();
            try {
                endWithLoop();
            } finally {
                isClosed = true;
                settled.complete(null);
                if (closed != null) {
                    closed.complete(closeReport());
                }
            }
            logEndOfLoop(lostCount);
        }
        while (!nextTurn.isEmpty()) {
            nextTurn.remove().completeElsewhere();
        }
    }

    private void endWithLoop() {
        for (LeaseHandle lease = keeper.firstHeld(); lease != null; lease = lease.nextHeld) {
            unreleased.add(lease.resource());
        }
        endAll(AcquireOutcome.Kind.CLOSED, lease -> keeper.loseWithLoop(lease.claim));
        for (final Node node : nodes) {
            node.end();
        }
        fanOut.close();
    }

    private static void logEndOfLoop(final int lostCount) {
        if (lostCount > 0) {
            Log.log(System.Logger.Level.WARNING, "the event loop was shut down before the client was closed:"
                    + " {0} leases are lost, their keys end with their ttl; close the client first", lostCount);
        }
    }

    private CloseReport closeReport() {
        return new CloseReport(releasedAtCloseCount, List.copyOf(unreleased));
    }

    private void cancelEndOfLoop() {
        final Future<?> end = endOfLoop;
        endOfLoop = null;
        if (end != null) {
            end.cancel(false);
        }
    }

    private void recordReleasedAtClose(final LeaseHandle lease, final ReleaseOutcome outcome) {
        if (outcome == ReleaseOutcome.UNKNOWN) {
            unreleased.add(lease.resource());
        } else {
            releasedAtCloseCount++;
        }
    }

    private void endCloseIfQuiet() {
        if (claimsOut == 0 && closed != null && !closed.isDone()) {
            endClose();
        }
    }

    private void endClose() {
        stopTimer(closeTimer);
        for (final Node node : nodes) {
            node.close();
        }
        // Behind the events of the closed channels, which answer what was still open.
        executeUnlessEnding(this::endClosed);
    }

    private void endClosed() {
        if (!isClosed) {
            fanOut.close();
            isClosed = true;
            cancelEndOfLoop();
            closed.complete(closeReport());
        }
    }

    // ---- callbacks of the user's ------------------------------------------------------------------------------------

    static void runGuarded(final AcquireCallback callback, final AcquireOutcome outcome) {
        try {
            callback.onOutcome(outcome);
        } catch (final RuntimeException | Error e) {
            logThrown("acquire callback", e);
        }
    }

    static void runGuarded(final ReleaseCallback callback, final Lease lease, final ReleaseOutcome outcome) {
        try {
            callback.onReleased(lease, outcome);
        } catch (final RuntimeException | Error e) {
            logThrown("release callback", e);
        }
    }

    static void runGuarded(final ExtendCallback callback, final Lease lease, final ExtendOutcome outcome) {
        try {
            callback.onExtended(lease, outcome);
        } catch (final RuntimeException | Error e) {
            logThrown("extend callback", e);
        }
    }

    static void notifyLost(final LeaseListener listener, final LeaseHandle lease, final LeaseState state) {
        if (listener != null) {
            try {
                listener.onLost(lease, state);
            } catch (final RuntimeException | Error e) {
                logThrown("lease listener", e);
            }
        }
    }

    static void notifyExtended(final LeaseHandle lease) {
        try {
            lease.listener.onExtended(lease, lease.extensionCount);
        } catch (final RuntimeException | Error e) {
            logThrown("lease listener", e);
        }
    }

    /** A request or a timer threw, which is a bug here or memory that is used up. Whoever waits for it was told. */
    static void logRequestThrown(final Throwable thrown) {
        Log.error("a request threw; it has ended, and the client goes on", thrown);
    }

    private static void logThrown(final String what, final Throwable thrown) {
        Log.error("a " + what + " threw; the client goes on", thrown);
    }

    // ---- parts ------------------------------------------------------------------------------------------------------

    AcquireOperation acquiring() {
        return acquiring;
    }

    ExtendOperation extending() {
        return extending;
    }

    RaiseOperation raising() {
        return raising;
    }

    HolderTtlQuery holderTtlQuery() {
        return holderTtlQuery;
    }

    ReleaseOperation releasing() {
        return releasing;
    }

    FenceGuard fenceGuard() {
        return fenceGuard;
    }

    LeaseKeeper keeper() {
        return keeper;
    }

    FanOut fanOut() {
        return fanOut;
    }

    TokenStream tokens() {
        return tokens;
    }

    /**
     * Leaves a lease's requests to the next turn of the loop: behind a look at its sockets and timers, so that a caller
     * who asks again and again from its callback does not keep the loop from them, however fast it is refused.
     */
    void runInNextTurn(final LeaseHandle lease) {
        if (isClosed && loop.isShuttingDown()) {
            // There may be no next turn; and if there were, the caller might ask once more, and the loop never end.
            lease.completeElsewhere();
            return;
        }
        nextTurn.add(lease);
        if (!isNextTurnScheduled) {
            scheduleNextTurn();
        }
    }

    /** A loop looks for scheduled tasks once in each turn; a task that is executed runs in the same turn. */
    private void scheduleNextTurn() {
        loop.schedule(nextTurnTask, 0, TimeUnit.NANOSECONDS).addListener(this::onCancelled);
        isNextTurnScheduled = true;
    }

    private void onNextTurn() {
        isNextTurnScheduled = false;
        // Those that have come until now; what they bring comes in the turn behind.
        for (int left = nextTurn.size(); left > 0 && !nextTurn.isEmpty(); left--) {
            nextTurn.remove().run();
        }
    }

    private void onCancelled(final io.netty.util.concurrent.Future<?> scheduled) {
        if (scheduled.isCancelled()) {
            onLoopEnding();
        }
    }

    /**
     * Whether a call on this thread may be carried out inside of the call. Not if it comes out of a callback out of a
     * call out of a callback, and so on: then it waits for the next turn, so that a long chain needs no deep stack.
     */
    boolean enterCall() {
        if (callDepth == CALL_DEPTH_MAX) {
            return false;
        }
        callDepth++;
        return true;
    }

    void leaveCall() {
        callDepth--;
    }

    /** Attempts that are not back in their pool. */
    int claimsOut() {
        return claimsOut;
    }

    /** Attempts in their pool. */
    int pooledClaims() {
        return freeClaims.length();
    }
}
