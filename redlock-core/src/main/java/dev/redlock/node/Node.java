package dev.redlock.node;

import dev.redlock.resp.RespValue;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.transport.NodeAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.WriteBufferWaterMark;
import java.net.SocketAddress;

/**
 * One Redis or Valkey master as one event loop sees it: it connects, introduces itself, votes, is watched, and connects
 * again for ever when the connection ends. See {@link NodeState} for its life.
 *
 * <p>Guarantees: commands reach the node in the order in which they were enlisted; nothing is sent again after a
 * reconnect but the releases it is owed, and those go first; every enlisted request is answered exactly once.
 *
 * @threading event-loop-confined, except {@link #state}, {@link #problem}, {@link #roundTripNs} and {@link #statistics}
 */
public final class Node {

    private static final long MS = 1_000_000;
    private static final int WATCH_PERIOD_MS = 250;
    /** Delay after a refusal that trying again soon will not mend: wrong password, a replica, a duplicate. */
    private static final long REFUSED_DELAY_MS = 5_000;
    private static final int RECONNECT_DOUBLINGS_MAX = 16;
    private static final long IDLE_SAMPLE_MS = 1_000;

    private final int index;
    private final NodeAddress address;
    private final NodeContext context;
    private final NodeOptions options;
    private final RestartGuard restartGuard;
    private final ClockWatch clockWatch;
    private final ReleaseDebt debt;
    private final NodeStatistics statistics = new NodeStatistics();
    private final DeadlineTimer reconnectTimer = new DeadlineTimer(nowNs -> connect());
    private final DeadlineTimer handshakeTimer = new DeadlineTimer(nowNs -> onHandshakeTimeout());
    private final DeadlineTimer quarantineTimer = new DeadlineTimer(nowNs -> onQuarantineServed());
    private final DeadlineTimer watchTimer = new DeadlineTimer(this::onWatch);
    private FanOut fanOut;
    private NodeConnection connection;
    private Channel opening;
    private String runId;
    private Dialect dialect = Dialect.SCRIPTS;
    private String quarantineReason;
    private int failedConnects;
    private int segmentStart;
    private long sampleDueNs;
    private long timeSentNs;
    private boolean isTimePending;
    private volatile NodeState state = NodeState.WAITING;
    private volatile String problem;
    private volatile long roundTripNs;

    /**
     * A node that is not connected yet.
     *
     * @param index   its place among the nodes, 0 to 62
     * @param address where it listens
     * @param context what it shares with the other nodes
     */
    public Node(final int index, final NodeAddress address, final NodeContext context) {
        this.index = index;
        this.address = address;
        this.context = context;
        this.options = context.options();
        this.restartGuard = new RestartGuard(options.guardMode(), options.maxTtlMs(), options.drift());
        this.clockWatch = new ClockWatch(options.drift());
        this.debt = new ReleaseDebt(options.debtMax());
    }

    /**
     * Starts to connect.
     *
     * @param sharedFanOut what writes the shared batch
     */
    public void open(final FanOut sharedFanOut) {
        fanOut = sharedFanOut;
        connect();
    }

    // ---- connecting -------------------------------------------------------------------------------------------------

    private void connect() {
        setState(NodeState.CONNECTING);
        try {
            context.transport().resolve(address, context.loop(), this::onResolved);
        } catch (final RuntimeException | Error e) {
            // There was no thread for it, for example. That passes, and nobody else would try again.
            onConnectFailed("its name cannot be looked up: " + e, 0);
        }
    }

    private void onResolved(final SocketAddress found, final Throwable failure) {
        if (state != NodeState.CONNECTING) {
            return;
        }
        if (failure != null) {
            onConnectFailed("its name cannot be looked up: " + failure.getMessage(), 0);
            return;
        }
        // The name has been looked up. Netty's own resolver would remember the loop until that is shut down.
        final Bootstrap bootstrap = new Bootstrap().group(context.loop())
                .disableResolver()
                .channel(context.transport().channelClass(address))
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, options.connectTimeoutMs())
                .option(ChannelOption.WRITE_BUFFER_WATER_MARK,
                        new WriteBufferWaterMark(options.unsentBytesMax() / 2, options.unsentBytesMax()));
        context.transport().tune(bootstrap, address, options.unansweredTimeoutMs());
        final NodeConnection next = new NodeConnection(this, options);
        final ChannelFuture connected = bootstrap.handler(initializerOf(next)).connect(found);
        if (connected.isDone()) {
            // A channel that could not be made (too many open files) has no loop: it would tell on another thread.
            onConnected(connected, next);
            return;
        }
        opening = connected.channel();
        connected.addListener((ChannelFuture future) -> onConnected(future, next));
    }

    private static ChannelHandler initializerOf(final NodeConnection next) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(final Channel channel) {
                next.addTo(channel.pipeline());
            }
        };
    }

    private void onConnected(final ChannelFuture future, final NodeConnection next) {
        opening = null;
        if (state != NodeState.CONNECTING) {
            future.channel().close();
            return;
        }
        if (!future.isSuccess()) {
            onConnectFailed("it cannot be connected to: " + future.cause().getMessage(), 0);
            return;
        }
        connection = next;
        setState(NodeState.HANDSHAKING);
        context.timers().start(handshakeTimer, nowNs() + options.handshakeTimeoutMs() * MS);
        new Handshake(this, next, address, options).start();
    }

    private void onHandshakeTimeout() {
        disconnect("its handshake took longer than " + options.handshakeTimeoutMs() + " ms");
    }

    /** The handshake is over and the node may be used. */
    void onIntroduced(final String newRunId, final long uptimeSeconds, final Dialect newDialect) {
        final Node twin = twinOf(newRunId);
        if (twin != null) {
            onRefused("it is the same server as node " + twin.index + " (" + twin.address
                    + "): one server has one vote, so each address must be a server of its own");
            return;
        }
        context.timers().stop(handshakeTimer);
        runId = newRunId;
        failedConnects = 0;
        dialect = newDialect;
        segmentStart = fanOut.batchIndex();
        setProblem(null);
        startWatching();
        final long guardNs = restartGuard.quarantineMs(newRunId, uptimeSeconds, nowNs()) * MS;
        if (guardNs > quarantineLeftNs()) {
            startQuarantine(guardNs, "restart guard: its process says that it has been up for " + uptimeSeconds
                    + " s, it votes when every lock it may have lost has expired");
        }
        // Releases first: what the node is owed goes out before anything that it may vote on.
        setState(NodeState.QUARANTINED);
        payDebt();
        if (quarantineLeftNs() > 0) {
            setProblem(quarantineProblem());
        } else {
            setState(NodeState.READY);
        }
    }

    private Node twinOf(final String newRunId) {
        for (final Node peer : context.peers()) {
            if (peer != null && peer != this && peer.state.isConnected() && newRunId.equals(peer.runId)) {
                return peer;
            }
        }
        return null;
    }

    private long quarantineLeftNs() {
        return quarantineTimer.isStarted() ? quarantineTimer.deadlineNs() - nowNs() : 0;
    }

    /** It goes on while the node is not connected. */
    private void startQuarantine(final long durationNs, final String reason) {
        context.timers().start(quarantineTimer, nowNs() + durationNs);
        quarantineReason = reason;
    }

    private String quarantineProblem() {
        return "in quarantine for " + (quarantineLeftNs() / MS + 1) + " ms; " + quarantineReason;
    }

    private void onQuarantineServed() {
        if (state == NodeState.QUARANTINED) {
            restartGuard.onServed(runId);
            setProblem(null);
            setState(NodeState.READY);
        }
    }

    /** The node answered, but it is not one that may be used: trying again soon will not help. */
    void onRefused(final String reason) {
        final NodeConnection refused = connection;
        connection = null;
        refused.close();
        onConnectFailed(reason, REFUSED_DELAY_MS);
    }

    private void onConnectFailed(final String reason, final long delayMsMin) {
        context.timers().stop(handshakeTimer);
        setProblem(reason);
        setState(NodeState.WAITING);
        final int doublings = Math.min(failedConnects++, RECONNECT_DOUBLINGS_MAX);
        final long ceilingMs = Math.min(options.reconnectDelayMsMax(),
                (long) options.reconnectDelayMsMin() << doublings);
        final long delayMs = Math.max(delayMsMin, ceilingMs);
        // Between half and all of the delay, so that many clients do not come back in step.
        final long jitteredNs = delayMs * MS / 2 + context.random().nextLong(delayMs * MS / 2 + 1);
        context.timers().start(reconnectTimer, nowNs() + jitteredNs);
    }

    /** Ends the connection; {@link #onDisconnected} follows. */
    void disconnect(final String reason) {
        setProblem(reason);
        if (connection != null) {
            connection.close();
        }
    }

    /** The connection is of no use any more, for the given reason; {@link #onDisconnected} follows. */
    void onConnectionError(final NodeConnection broken, final String reason) {
        if (broken == connection) {
            disconnect(reason);
        } else {
            broken.close();
        }
    }

    /** The connection is gone: whatever it did not answer is unknown from now on. */
    void onDisconnected(final NodeConnection gone) {
        if (gone != connection) {
            gone.failAll();
            return;
        }
        connection = null;
        context.timers().stop(watchTimer);
        isTimePending = false;
        if (state == NodeState.DRAINING || state == NodeState.CLOSED) {
            setState(NodeState.CLOSED);
        } else {
            statistics.onDisconnect();
            onConnectFailed(problem == null ? "its connection ended" : problem, 0);
        }
        gone.failAll();
    }

    // ---- sending ----------------------------------------------------------------------------------------------------

    /** Why a command would not be sent now; {@link VoteFailure#NONE} if it would. */
    VoteFailure refusalOf(final Verb verb) {
        if (!state.isConnected()) {
            return VoteFailure.NOT_CONNECTED;
        }
        if (verb.isVote() && state != NodeState.READY) {
            return VoteFailure.QUARANTINED;
        }
        return connection.isCongested() ? VoteFailure.BACK_PRESSURE : VoteFailure.NONE;
    }

    /** How this node is asked for what. */
    CommandForm formOf(final LockRequest request, final Verb verb) {
        return switch (verb) {
            case REMAINING_TTL -> CommandForm.PTTL;
            case ACQUIRE -> request.isRemainingTtlWanted() ? CommandForm.SCRIPT : CommandForm.PLAIN_SET;
            case RELEASE -> dialect.releaseForm();
            case EXTEND -> dialect.extendForm();
            case ACQUIRE_FENCED, RAISE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED -> CommandForm.SCRIPT;
        };
    }

    CommandForm releaseForm() {
        return dialect.releaseForm();
    }

    /** Notes a request whose bytes stand in the shared batch, if this node takes it. */
    VoteFailure enlist(final LockRequest request, final Verb verb, final CommandForm form, final int sequence) {
        final VoteFailure refusal = refusalOf(verb);
        if (refusal == VoteFailure.NONE) {
            connection.add(request, RequestRing.tag(verb, form, sequence, false));
        }
        return refusal;
    }

    /** Notes a batch of releases whose bytes stand in the shared batch, if this node takes it. */
    VoteFailure enlist(final ReleaseBatch releases) {
        final VoteFailure refusal = refusalOf(Verb.RELEASE);
        if (refusal == VoteFailure.NONE) {
            connection.add(releases, RequestRing.tag(releases.verb(), CommandForm.SCRIPT, 0, false));
        }
        return refusal;
    }

    /** Leaves a range of the shared batch out: what stands before it is handed to the connection. */
    void skip(final ByteBuf batch, final int start, final int end) {
        if (state.isConnected()) {
            writeBatchEnd(batch, start);
            segmentStart = end;
        }
    }

    /** Hands this node's part of the batch up to an index to the connection and starts at the batch's begin again. */
    void writeBatchEnd(final ByteBuf batch, final int end) {
        if (state.isConnected() && end > segmentStart) {
            connection.write(batch.retainedSlice(segmentStart, end - segmentStart));
        }
        segmentStart = 0;
    }

    void flush() {
        if (connection != null) {
            connection.flush();
        }
    }

    /** Sends a command to this node alone, behind what it was sent before. */
    private void sendAlone(final LockRequest request, final Verb verb, final int sequence, final boolean isSecondTry) {
        final ByteBuf out = fanOut.allocator().directBuffer();
        if (isSecondTry) {
            LockScripts.writeEval(out, verb, request);
        } else {
            LockScripts.writeEvalSha(out, verb, request);
        }
        writeAlone(request, RequestRing.tag(verb, CommandForm.SCRIPT, sequence, isSecondTry), out);
    }

    private void writeAlone(final Object request, final int tag, final ByteBuf command) {
        fanOut.sealReleases();
        fanOut.writeShared(this);
        connection.add(request, tag);
        connection.write(command);
        fanOut.scheduleFlush();
    }

    /** Sends a request of the node's own. */
    void sendValue(final ByteBuf command, final ValueRequest request) {
        if (state.isConnected()) {
            fanOut.writeShared(this);
        }
        connection.add(request, 0);
        connection.write(command);
        fanOut.scheduleFlush();
    }

    // ---- answers ----------------------------------------------------------------------------------------------------

    void onReply(final LockRequest request, final int tag, final long value) {
        statistics.onReply(RequestRing.verbOf(tag), value);
        request.onReply(index, RequestRing.verbOf(tag), RequestRing.sequenceOf(tag), value);
    }

    /** {@code +OK} or null, the answer to a SET. */
    void onSetReply(final LockRequest request, final int tag, final boolean isOk) {
        final Verb verb = RequestRing.verbOf(tag);
        final int sequence = RequestRing.sequenceOf(tag);
        if (isOk) {
            onReply(request, tag, 1);
        } else if (verb.isAcquire()) {
            onReply(request, tag, LockRequest.REFUSED_UNTOLD);
        } else if (isSecondTryPossible(request, verb, sequence)) {
            // The key is missing or somebody else's. The script knows which, and mends what is missing.
            sendAlone(request, verb, sequence, false);
        } else {
            onReply(request, tag, 0);
        }
    }

    private boolean isSecondTryPossible(final LockRequest request, final Verb verb, final int sequence) {
        return refusalOf(verb) == VoteFailure.NONE && request.isSecondTryWanted(verb, sequence);
    }

    void onError(final LockRequest request, final int tag, final VoteFailure failure) {
        final Verb verb = RequestRing.verbOf(tag);
        final int sequence = RequestRing.sequenceOf(tag);
        final boolean isUnknownScript = failure == VoteFailure.NOSCRIPT && !RequestRing.isSecondTry(tag);
        final boolean isUnknownCommand = isDialectRefused(RequestRing.formOf(tag), failure);
        if (isUnknownCommand) {
            dialect = Dialect.SCRIPTS;
        }
        if ((isUnknownScript || isUnknownCommand) && isSecondTryPossible(request, verb, sequence)) {
            sendAlone(request, verb, sequence, isUnknownScript);
            return;
        }
        statistics.onError();
        request.onError(index, verb, sequence, failure);
    }

    /** The node said that it has a command, and refuses it all the same: from here on it is asked by scripts. */
    private static boolean isDialectRefused(final CommandForm form, final VoteFailure failure) {
        return form.isOfDialect() && (failure == VoteFailure.ERROR || failure == VoteFailure.NOPERM);
    }

    void onBatchReply(final ReleaseBatch releases, final long deletedMask) {
        releases.onReply(this, deletedMask);
        fanOut.onBatchAnswered(releases);
    }

    void onBatchError(final ReleaseBatch releases, final int tag, final VoteFailure failure) {
        if (failure == VoteFailure.NOSCRIPT && !RequestRing.isSecondTry(tag)
                && refusalOf(Verb.RELEASE) == VoteFailure.NONE) {
            final ByteBuf out = fanOut.allocator().directBuffer(LockScripts.roomFor(releases, true));
            LockScripts.writeBatch(out, releases, true);
            writeAlone(releases, RequestRing.tag(releases.verb(), CommandForm.SCRIPT, 0, true), out);
            return;
        }
        statistics.onError();
        releases.onError(this, failure);
        fanOut.onBatchAnswered(releases);
    }

    void onBatchUnknown(final ReleaseBatch releases) {
        releases.onUnknown(this);
        fanOut.onBatchAnswered(releases);
    }

    void onUnknown(final LockRequest request, final int tag) {
        request.onUnknown(index, RequestRing.verbOf(tag), RequestRing.sequenceOf(tag));
    }

    // ---- release debt -----------------------------------------------------------------------------------------------

    /**
     * Keeps a release that this node could not be sent.
     *
     * @param request whose token may stand on the node
     * @param untilNs monotonic time after which the key has expired by itself
     */
    public void owe(final LockRequest request, final long untilNs) {
        debt.add(request.resourceBulk(), request.token(), untilNs);
        statistics.onDebt(debt.length(), debt.droppedCount());
    }

    /** Sends what is owed, as far as the connection takes it. */
    private void payDebt() {
        while (state.isConnected() && debt.length() > 0 && !connection.isCongested()) {
            final ReleaseDebt.Entry entry = debt.poll(nowNs());
            if (entry != null) {
                sendAlone(new DebtRequest(this, entry), Verb.RELEASE, 0, false);
            }
        }
        statistics.onDebt(debt.length(), debt.droppedCount());
    }

    void onDebtUnpaid(final ReleaseDebt.Entry entry) {
        debt.putBack(entry);
        statistics.onDebt(debt.length(), debt.droppedCount());
    }

    // ---- watching ---------------------------------------------------------------------------------------------------

    private void startWatching() {
        final long nowNs = nowNs();
        sampleDueNs = nowNs;
        isTimePending = false;
        connection.watch(nowNs, 0);
        context.timers().start(watchTimer, nowNs);
    }

    private void onWatch(final long nowNs) {
        if (!state.isConnected()) {
            return;
        }
        if (connection.watch(nowNs, options.unansweredTimeoutMs() * MS)) {
            disconnect("it has not answered for " + options.unansweredTimeoutMs() + " ms");
            return;
        }
        payDebt();
        if (sampleDueNs - nowNs <= 0 && !isTimePending) {
            sampleClock(nowNs);
        }
        context.timers().start(watchTimer, nowNs + WATCH_PERIOD_MS * MS);
    }

    private void sampleClock(final long nowNs) {
        isTimePending = true;
        timeSentNs = nowNs();
        // With the clock watch off, TIME still tells the round trip and keeps a dead connection from going unnoticed.
        sampleDueNs = nowNs + (options.clockSampleMs() > 0 ? options.clockSampleMs() : IDLE_SAMPLE_MS) * MS;
        sendValue(Handshake.timeCommand(fanOut.allocator()), this::onTime);
    }

    private void onTime(final RespValue value) {
        isTimePending = false;
        final long microseconds = value == null ? -1 : Handshake.microsecondsOf(value);
        if (microseconds < 0 || !state.isConnected()) {
            return;
        }
        final long receivedNs = nowNs();
        roundTripNs = receivedNs - timeSentNs;
        restartGuard.onAnswer(receivedNs);
        onClockSample(timeSentNs, receivedNs, microseconds);
    }

    /** The node's clock was read; in its handshake too, since it may have jumped while we were apart. */
    void onClockSample(final long sentNs, final long receivedNs, final long microseconds) {
        if (options.clockSampleMs() == 0 || !clockWatch.onSample(sentNs, receivedNs, microseconds * 1000)) {
            return;
        }
        statistics.onClockJump();
        if (state != NodeState.DRAINING && state != NodeState.CLOSED) {
            startQuarantine(Math.max(options.maxTtlMs() * MS, quarantineLeftNs()),
                    "clock watch: its clock has jumped, keys may have expired early");
            if (state.isConnected()) {
                setProblem(quarantineProblem());
                setState(NodeState.QUARANTINED);
            }
        }
        context.listener().onClockJump(this);
    }

    // ---- closing ----------------------------------------------------------------------------------------------------

    /** From now on only releases are sent. */
    public void drain() {
        context.timers().stop(reconnectTimer);
        context.timers().stop(quarantineTimer);
        if (state.isConnected()) {
            setState(NodeState.DRAINING);
        } else {
            close();
        }
    }

    /** Closes the connection; what it has not answered becomes unknown. */
    public void close() {
        context.timers().stop(reconnectTimer);
        context.timers().stop(handshakeTimer);
        context.timers().stop(quarantineTimer);
        context.timers().stop(watchTimer);
        setState(NodeState.CLOSED);
        if (opening != null) {
            opening.close();
        }
        if (connection != null) {
            connection.close();
        }
    }

    /** As {@link #close}, where the loop has ended and no event will tell that the connection is gone. */
    public void end() {
        final NodeConnection gone = connection;
        close();
        connection = null;
        if (gone != null) {
            gone.end();
        }
    }

    // ---- what others see --------------------------------------------------------------------------------------------

    /** @return its place among the nodes */
    public int index() {
        return index;
    }

    /** @return where it listens */
    public NodeAddress address() {
        return address;
    }

    /** @return its state; any thread may ask */
    public NodeState state() {
        return state;
    }

    /** @return what is wrong with it, one sentence, or null; any thread may ask */
    public String problem() {
        return problem;
    }

    /** @return nanoseconds of the last clock sample's round trip, 0 before the first; any thread may ask */
    public long roundTripNs() {
        return roundTripNs;
    }

    /** @return its counters; any thread may read them */
    public NodeStatistics statistics() {
        return statistics;
    }

    long nowNs() {
        return context.clock().nanoTime();
    }

    private void setState(final NodeState next) {
        if (state != next) {
            state = next;
            context.listener().onStateChange(this, next);
        }
    }

    private void setProblem(final String next) {
        if (next != null && !next.equals(problem)) {
            context.listener().onProblem(this, next);
        }
        problem = next;
    }

    @Override
    public String toString() {
        return "node " + index + " (" + address + ") " + state + (problem == null ? "" : ": " + problem);
    }
}
