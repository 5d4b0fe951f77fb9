package dev.redlock;

import dev.redlock.node.FanOut;
import dev.redlock.node.Node;
import dev.redlock.node.NodeContext;
import dev.redlock.node.NodeListener;
import dev.redlock.node.NodeState;
import dev.redlock.quorum.Quorum;
import dev.redlock.quorum.TokenStream;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import dev.redlock.transport.IoTransport;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.agrona.collections.Object2ObjectHashMap;

/**
 * Owner of all lock state of one event loop: nodes, attempts, waiting lines, held leases, timers. Everything below it
 * runs on its thread; callers reach it only through {@link LeaseSlot}, whose requests it executes.
 *
 * @threading event-loop-confined, except {@link #execute}, {@link #isOwnThread}, {@link #nowNs} and {@link #counters}
 */
final class Conductor implements NodeListener {

    private static final System.Logger LOG = System.getLogger("dev.redlock");
    /** Half of the longest delay between attempts where the retry policy throws. */
    private static final long RETRY_DELAY_NS_MIN = 25_000_000;
    private static final int CALL_DEPTH_MAX = 16;

    private final EventLoop loop;
    private final NanoClock clock;
    private final RedlockContext context;
    private final Node[] nodes;
    private final FanOut fanOut;
    private final TimerWheel timers;
    private final TokenStream tokens;
    private final RandomGenerator random;
    private final ConductorCounters counters = new ConductorCounters();
    private final AcquireOperation acquiring = new AcquireOperation(this);
    private final ExtendOperation extending = new ExtendOperation(this);
    private final RaiseOperation raising = new RaiseOperation(this);
    private final RefusalInquiry inquiring = new RefusalInquiry(this);
    private final ReleaseOperation releasing = new ReleaseOperation(this);
    private final LeaseKeeper keeper = new LeaseKeeper(this);
    private final ArrayDeque<Attempt> freeAttempts = new ArrayDeque<>();
    private final ArrayDeque<Acquisition> freeAcquisitions = new ArrayDeque<>();
    private final ArrayDeque<WaitQueue> freeQueues = new ArrayDeque<>();
    private final Object2ObjectHashMap<ResourceKey, WaitQueue> queues = new Object2ObjectHashMap<>();
    private final Runnable alarmTask = this::onAlarm;
    private final List<String> unreleased = new ArrayList<>();
    private final CompletableFuture<Void> settled = new CompletableFuture<>();
    private Acquisition firstActive;
    private long alarmNs;
    private boolean isAlarmSet;
    private long settledMask;
    private int attemptsOut;
    private int inFlightCount;
    private int waiterCount;
    private int autoExtendedCount;
    private int callDepth;
    private int releasedAtCloseCount;
    private boolean isClosing;
    private volatile boolean isClosed;
    private CompletableFuture<CloseReport> closed;
    private final DeadlineTimer closeTimer = new DeadlineTimer(nowNs -> endClose());

    Conductor(final RedlockContext context, final EventLoop loop, final IoTransport transport, final NanoClock clock,
            final TokenStream tokens, final RandomGenerator random) {
        this.context = context;
        this.loop = loop;
        this.clock = clock;
        this.tokens = tokens;
        this.random = random;
        this.timers = new TimerWheel(clock.nanoTime(), this::onTimerStarted);
        this.nodes = new Node[context.nodes().size()];
        // Slices of a pooled buffer are pooled too; those of Netty's default allocator are made anew for each write.
        this.fanOut = new FanOut(loop, PooledByteBufAllocator.DEFAULT, nodes,
                context.nodeOptions().releaseBatchMax());
        final NodeContext nodeContext = new NodeContext(loop, transport, clock, timers, random, context.nodeOptions(),
                this, nodes);
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = new Node(i, context.nodes().get(i), nodeContext);
        }
    }

    /** Starts to connect to every node; the future completes when each of them has answered or failed once. */
    CompletableFuture<Void> open() {
        loop.execute(() -> {
            for (final Node node : nodes) {
                node.open(fanOut);
            }
        });
        return settled;
    }

    // ---- any thread -------------------------------------------------------------------------------------------------

    void execute(final Runnable task) {
        loop.execute(task);
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

    RedlockContext context() {
        return context;
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

    void acquire(final LeaseSlot lease) {
        lease.isStarting = true;
        try {
            begin(lease);
        } finally {
            lease.isStarting = false;
        }
    }

    private void begin(final LeaseSlot lease) {
        if (isClosing) {
            lease.completeAcquire(AcquireOutcome.Kind.CLOSED, AcquireOutcome.Kind.CLOSED);
            return;
        }
        final boolean isAutoExtended = lease.extensionCountMax > 0;
        if (isAutoExtended && autoExtendedCount >= context.autoExtendedLeasesMax()) {
            refuseOverloaded(lease);
            return;
        }
        final WaitQueue queue = lease.waitNs > 0 ? queues.get(lease.key) : null;
        if (queue != null && waiterCount >= context.waitersMax()) {
            refuseOverloaded(lease);
            return;
        }
        autoExtendedCount += isAutoExtended ? 1 : 0;
        final Acquisition acquisition = takeAcquisition(lease);
        if (lease.waitNs > 0) {
            acquisition.deadlineNs = nowNs() + Math.min(lease.waitNs, Long.MAX_VALUE / 4);
            standInLine(acquisition, queue);
        }
        if (queue == null) {
            startAttempt(acquisition);
        }
    }

    private void refuseOverloaded(final LeaseSlot lease) {
        counters.onOutcome(AcquireOutcome.Kind.OVERLOADED);
        lease.completeAcquire(AcquireOutcome.Kind.OVERLOADED, AcquireOutcome.Kind.OVERLOADED);
    }

    private void standInLine(final Acquisition acquisition, final WaitQueue existing) {
        if (existing != null) {
            waiterCount++;
            acquisition.state = Acquisition.State.QUEUED;
            existing.append(acquisition);
            startTimer(acquisition.timer, acquisition.deadlineNs);
            return;
        }
        final WaitQueue queue = freeQueues.isEmpty() ? new WaitQueue() : freeQueues.pop();
        queue.key = acquisition.lease.key;
        queue.run.end();
        queues.put(queue.key, queue);
        queue.append(acquisition);
    }

    private void startAttempt(final Acquisition acquisition) {
        if (acquisition.state == Acquisition.State.QUEUED) {
            waiterCount--;
        }
        stopTimer(acquisition.timer);
        if (acquisition.queue != null) {
            acquisition.queue.isPausing = false;
        }
        if (inFlightCount >= context.inFlightMax()) {
            acquisition.state = Acquisition.State.BACKING_OFF;
            finish(acquisition, AcquireOutcome.Kind.OVERLOADED, AcquireOutcome.Kind.OVERLOADED);
            return;
        }
        inFlightCount++;
        acquisition.state = Acquisition.State.ATTEMPTING;
        acquisition.isHandedOn = false;
        acquisition.turn++;
        acquiring.start(acquisition);
    }

    void onAcquired(final Acquisition acquisition, final Attempt attempt, final long nowNs) {
        inFlightCount--;
        acquisition.attempt = null;
        beginOrGoOn(attempt.run, acquisition.queue, nowNs);
        keeper.hold(acquisition.lease, attempt, nowNs);
        finish(acquisition, AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.ACQUIRED);
    }

    private static void beginOrGoOn(final HandOverRun run, final WaitQueue queue, final long nowNs) {
        if (queue != null && queue.run.handOverCount() > 0) {
            run.goOn(queue.run);
        } else {
            run.begin(nowNs);
        }
    }

    void onAttemptFailed(final Acquisition acquisition, final AcquireOutcome.Kind reason) {
        inFlightCount--;
        acquisition.state = Acquisition.State.BACKING_OFF;
        counters.onAttemptFailed(reason);
        final LeaseSlot lease = acquisition.lease;
        lease.noteReason(reason);
        if (lease.waitNs <= 0) {
            finish(acquisition, reason, reason);
            return;
        }
        if (!acquisition.isHandedOn) {
            // Somebody else has the lock, or may get it before the next attempt.
            acquisition.queue.run.end();
        }
        final long nowNs = nowNs();
        final long leftNs = acquisition.deadlineNs - nowNs;
        if (leftNs <= 0) {
            finish(acquisition, AcquireOutcome.Kind.TIMED_OUT, reason);
        } else if (acquisition.isHandedOn) {
            startTimer(acquisition.timer, nowNs);
        } else {
            final long turn = acquisition.turn;
            final long delayNs = retryDelayNs(lease, reason, lease.shortestRemainingTtlMs());
            if (acquisition.turn == turn) {
                startTimer(acquisition.timer, nowNs + Math.min(leftNs, delayNs));
            }
        }
    }

    /**
     * The policy may be the user's: whatever it does, the acquisition has to go on, unless it ends it, or gives it its
     * next turn by a release.
     */
    private long retryDelayNs(final LeaseSlot lease, final AcquireOutcome.Kind reason, final long remainingTtlMs) {
        final long bits = random.nextLong();
        try {
            final int attemptCount = Math.max(1, lease.attemptCount());
            return Math.max(0, lease.retryPolicy.delayNs(attemptCount, reason, remainingTtlMs, bits));
        } catch (final RuntimeException | Error e) {
            logThrown("retry policy", e);
            return RETRY_DELAY_NS_MIN + (bits >>> 1) % RETRY_DELAY_NS_MIN;
        }
    }

    void onAcquisitionTimer(final Acquisition acquisition, final long nowNs) {
        if (acquisition.deadlineNs - nowNs <= 0) {
            finish(acquisition, AcquireOutcome.Kind.TIMED_OUT, acquisition.lease.reasonSoFar());
        } else if (acquisition.state == Acquisition.State.BACKING_OFF) {
            startAttempt(acquisition);
        }
    }

    /** Ends an acquisition, lets the next in line move up, then tells the caller. */
    private void finish(final Acquisition acquisition, final AcquireOutcome.Kind kind,
            final AcquireOutcome.Kind reason) {
        final LeaseSlot lease = acquisition.lease;
        if (acquisition.state == Acquisition.State.QUEUED) {
            waiterCount--;
        }
        if (kind != AcquireOutcome.Kind.ACQUIRED && lease.extensionCountMax > 0) {
            autoExtendedCount--;
        }
        stopTimer(acquisition.timer);
        final WaitQueue queue = acquisition.queue;
        if (queue != null) {
            final boolean wasHead = queue.head() == acquisition;
            queue.remove(acquisition);
            if (wasHead) {
                moveUp(queue, kind == AcquireOutcome.Kind.ACQUIRED ? lease : null);
            }
        }
        recycle(acquisition);
        counters.onOutcome(kind);
        lease.completeAcquire(kind, reason);
    }

    /**
     * A line has a new head: it tries at once, or, if the lock has just been taken by this process, when that one
     * ends.
     */
    private void moveUp(final WaitQueue queue, final LeaseSlot holder) {
        final Acquisition head = queue.head();
        if (head == null) {
            queues.remove(queue.key);
            queue.key = null;
            freeQueues.push(queue);
        } else if (holder == null) {
            becomeHead(head);
            startTimer(head.timer, queue.isPausing ? earlier(queue.pauseEndNs, head.deadlineNs) : nowNs());
        } else {
            becomeHead(head);
            startTimer(head.timer, earlier(holder.validUntilNs(), head.deadlineNs));
        }
    }

    private static long earlier(final long oneNs, final long otherNs) {
        return oneNs - otherNs < 0 ? oneNs : otherNs;
    }

    private void becomeHead(final Acquisition head) {
        waiterCount--;
        head.state = Acquisition.State.BACKING_OFF;
        head.lease.noteReason(AcquireOutcome.Kind.CONTENDED);
    }

    /** A lock of this process is about to be given back: the line for it goes on with its run. */
    void passRun(final Attempt attempt) {
        final WaitQueue queue = lineFor(attempt.key);
        if (queue != null) {
            queue.run.goOn(attempt.run);
        }
    }

    /**
     * A lock of this process is free: whoever is first in line here gets the turn at once, or behind a pause if this
     * client has had enough turns in a row.
     */
    void handOn(final ResourceKey key) {
        final WaitQueue queue = lineFor(key);
        if (queue == null || queue.isPausing) {
            return;
        }
        final Acquisition head = queue.head();
        final long turn = head.turn;
        final boolean isPauseDue = isPauseDue(queue.run, head.lease);
        if (head.turn != turn) {
            // The retry policy has called back, which ended it or gave it its turn: whoever is first now knows.
            return;
        }
        final boolean isBackingOff = head.state == Acquisition.State.BACKING_OFF;
        if (isPauseDue) {
            if (isBackingOff) {
                pause(queue, head);
            }
            // Else its attempt was sent before the release: the delay behind the refusal is the pause.
        } else {
            queue.run.onHandOver();
            if (isBackingOff) {
                startAttempt(head);
            } else {
                head.isHandedOn = true;
            }
        }
    }

    private WaitQueue lineFor(final ResourceKey key) {
        return queues.isEmpty() ? null : queues.get(key);
    }

    private boolean isPauseDue(final HandOverRun run, final LeaseSlot next) {
        final int handOversMax = context.localHandOversMax();
        if (handOversMax == 0 || run.handOverCount() < handOversMax) {
            return false;
        }
        if (!run.isPauseDrawn()) {
            run.drawPause(retryDelayNs(next, AcquireOutcome.Kind.CONTENDED, -1));
        }
        return run.isWorthItsPause(nowNs());
    }

    /** Waits as after a refused attempt, so that an attempt of another client finds the lock free. */
    private void pause(final WaitQueue queue, final Acquisition head) {
        queue.isPausing = true;
        queue.pauseEndNs = nowNs() + queue.run.pauseNs();
        queue.run.end();
        startTimer(head.timer, earlier(queue.pauseEndNs, head.deadlineNs));
    }

    void cancel(final LeaseSlot lease) {
        if (lease.acquisition != null) {
            abort(lease.acquisition, AcquireOutcome.Kind.CANCELLED);
        } else if (lease.state() == LeaseState.HELD) {
            release(lease);
        }
    }

    private void abort(final Acquisition acquisition, final AcquireOutcome.Kind kind) {
        if (acquisition.attempt != null) {
            acquisition.lease.noteVotes(acquisition.attempt);
            acquiring.rollBack(acquisition.attempt);
            inFlightCount--;
            acquisition.state = Acquisition.State.BACKING_OFF;
        }
        finish(acquisition, kind, kind);
    }

    // ---- releasing --------------------------------------------------------------------------------------------------

    void release(final LeaseSlot lease) {
        final Attempt attempt = lease.attempt;
        if (attempt == null) {
            final ReleaseOutcome before = lease.releaseOutcome();
            lease.completeRelease(before == null ? ReleaseOutcome.EXPIRED : before);
            return;
        }
        if (attempt.phase != Attempt.Phase.HELD) {
            return;
        }
        keeper.letGo(lease);
        lease.beginRelease();
        // A callback may use the lease again, for another resource.
        final ResourceKey key = lease.key;
        passRun(attempt);
        releasing.start(attempt);
        if (lease.isExtendTaken) {
            lease.completeExtend(ExtendOutcome.NOT_HELD);
        }
        handOn(key);
    }

    void onReleased(final LeaseSlot lease, final ReleaseOutcome outcome) {
        counters.onReleased(outcome);
        if (isClosing) {
            noteReleasedAtClose(lease, outcome);
        }
        lease.completeRelease(outcome);
    }

    void onLetGo(final LeaseSlot lease) {
        if (lease.extensionCountMax > 0) {
            autoExtendedCount--;
        }
    }

    void owe(final Attempt attempt, final int nodeIndex, final long untilNs) {
        nodes[nodeIndex].owe(attempt, untilNs);
    }

    // ---- pools ------------------------------------------------------------------------------------------------------

    Attempt takeAttempt() {
        attemptsOut++;
        final Attempt attempt = freeAttempts.isEmpty() ? new Attempt(this, nodes.length) : freeAttempts.pop();
        attempt.reset();
        return attempt;
    }

    void recycleIfDone(final Attempt attempt) {
        if (attempt.phase == Attempt.Phase.ABANDONED && attempt.isAnswered()) {
            attempt.phase = Attempt.Phase.FREE;
            attempt.key = null;
            freeAttempts.push(attempt);
            attemptsOut--;
            if (isClosing && attemptsOut == 0) {
                execute(this::endCloseIfQuiet);
            }
        }
    }

    private Acquisition takeAcquisition(final LeaseSlot lease) {
        final Acquisition acquisition = freeAcquisitions.isEmpty() ? new Acquisition(this) : freeAcquisitions.pop();
        acquisition.reset(lease);
        lease.acquisition = acquisition;
        acquisition.previousActive = null;
        acquisition.nextActive = firstActive;
        if (firstActive != null) {
            firstActive.previousActive = acquisition;
        }
        firstActive = acquisition;
        return acquisition;
    }

    private void recycle(final Acquisition acquisition) {
        if (acquisition.previousActive == null) {
            firstActive = acquisition.nextActive;
        } else {
            acquisition.previousActive.nextActive = acquisition.nextActive;
        }
        if (acquisition.nextActive != null) {
            acquisition.nextActive.previousActive = acquisition.previousActive;
        }
        acquisition.previousActive = null;
        acquisition.nextActive = null;
        acquisition.lease = null;
        acquisition.turn++;
        acquisition.state = Acquisition.State.FREE;
        freeAcquisitions.push(acquisition);
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
        isAlarmSet = true;
        alarmNs = deadlineNs;
        loop.schedule(alarmTask, Math.max(0, deadlineNs - nowNs()), TimeUnit.NANOSECONDS);
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
        } catch (final RuntimeException | Error e) {
            // The loop would keep it to itself. What this poll did not come to is due at once.
            LOG.log(System.Logger.Level.ERROR, "a timer threw; the client goes on", e);
            setAlarm(nowNs);
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
            execute(this::endCloseIfQuiet);
        }
    }

    @Override
    public void onClockJump(final Node node) {
        for (Acquisition acquisition = firstActive; acquisition != null; acquisition = acquisition.nextActive) {
            if (acquisition.attempt != null) {
                acquiring.distrust(acquisition.attempt, node.index());
            }
        }
        keeper.distrust(node.index(), Quorum.sizeOf(nodes.length));
    }

    @Override
    public void onProblem(final Node node, final String problem) {
        if (!isClosing) {
            LOG.log(System.Logger.Level.INFO, "node {0} ({1}): {2}", node.index(), node.address(), problem);
        }
    }

    // ---- closing ----------------------------------------------------------------------------------------------------

    /** Cancels what waits, releases what is held, and ends when every answer is in or the time is over. */
    void close(final long timeoutNs, final CompletableFuture<CloseReport> report) {
        closed = report;
        isClosing = true;
        while (firstActive != null) {
            abort(firstActive, AcquireOutcome.Kind.CLOSED);
        }
        while (keeper.firstHeld() != null) {
            release(keeper.firstHeld());
        }
        for (final Node node : nodes) {
            node.drain();
        }
        startTimer(closeTimer, nowNs() + Math.min(timeoutNs, Long.MAX_VALUE / 4));
        endCloseIfQuiet();
    }

    private void noteReleasedAtClose(final LeaseSlot lease, final ReleaseOutcome outcome) {
        if (outcome == ReleaseOutcome.UNKNOWN) {
            unreleased.add(lease.resource());
        } else {
            releasedAtCloseCount++;
        }
    }

    private void endCloseIfQuiet() {
        if (attemptsOut == 0 && !closed.isDone()) {
            endClose();
        }
    }

    private void endClose() {
        stopTimer(closeTimer);
        for (final Node node : nodes) {
            node.close();
        }
        // Behind the events of the closed channels, which answer what was still open.
        execute(() -> {
            fanOut.close();
            isClosed = true;
            closed.complete(new CloseReport(releasedAtCloseCount, List.copyOf(unreleased)));
        });
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

    static void tellLost(final LeaseListener listener, final LeaseSlot lease, final LeaseState state) {
        if (listener != null) {
            try {
                listener.onLost(lease, state);
            } catch (final RuntimeException | Error e) {
                logThrown("lease listener", e);
            }
        }
    }

    static void tellExtended(final LeaseSlot lease) {
        try {
            lease.listener.onExtended(lease, lease.extensionCount);
        } catch (final RuntimeException | Error e) {
            logThrown("lease listener", e);
        }
    }

    private static void logThrown(final String what, final Throwable thrown) {
        LOG.log(System.Logger.Level.ERROR, "a " + what + " threw; the client goes on", thrown);
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

    RefusalInquiry inquiring() {
        return inquiring;
    }

    ReleaseOperation releasing() {
        return releasing;
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
    int attemptsOut() {
        return attemptsOut;
    }
}
