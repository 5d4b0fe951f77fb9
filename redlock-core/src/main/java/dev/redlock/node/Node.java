package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.NodeState;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.SafeText;
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
import java.net.UnknownHostException;

/**
 * One Redis or Valkey master as one event loop sees it: it connects, introduces itself, votes, is watched, and connects
 * again for ever when the connection ends. See {@link NodeState} for its life.
 *
 * <p>Guarantees: commands reach the node in the order in which they were enlisted; nothing is sent again after a
 * reconnect but the releases it is owed, and those go first; every enlisted request is answered exactly once.
 *
 * @threading event-loop-confined, except {@link #state}, {@link #problem}, {@link #failingCode}, {@link #failingNs},
 *             {@link #roundTripNs} and {@link #statistics}
 */
public final class Node {

    private static final int WATCH_PERIOD_MS = 250;
    /** Delay after a refusal that trying again soon will not mend: wrong password, a replica, a duplicate. */
    private static final long REFUSED_DELAY_MS = 5_000;
    private static final int RECONNECT_DOUBLINGS_MAX = 16;
    private static final long IDLE_SAMPLE_MS = 1_000;
    private static final long SAMPLE_RETRY_MS = 20;
    /** A clock that says more is wrong, and sums with it must not wrap. */
    private static final long WALL_US_MAX = 1L << 60;
    /** Longer than a resolver takes that has to ask a second server. */
    private static final long LOOKUP_TIMEOUT_MS = 10_000;
    /** A resolver that hangs keeps a thread for each look-up, so the next ones wait longer. */
    private static final int LOOKUP_DOUBLINGS_MAX = 5;
    private static final int PROBLEM_LENGTH_MAX = 1_000;

    private final int index;
    private final NodeAddress address;
    private final NodeContext context;
    private final NodeOptions options;
    private final RestartGuard restartGuard;
    private final ClockWatch clockWatch;
    private final UndeliveredReleases undelivered;
    private final NodeStatistics statistics = new NodeStatistics();
    private final ProblemLog problemLog = new ProblemLog();
    private final NodeHealth health = new NodeHealth();
    private final DeadlineTimer reconnectTimer = new DeadlineTimer(nowNs -> connect());
    private final DeadlineTimer connectTimer = new DeadlineTimer(nowNs -> onConnectTimeout());
    private final DeadlineTimer handshakeTimer = new DeadlineTimer(nowNs -> onHandshakeTimeout());
    private final DeadlineTimer quarantineTimer = new DeadlineTimer(nowNs -> onQuarantineServed());
    private final DeadlineTimer watchTimer = new DeadlineTimer(this::onWatch);
    private FanOut fanOut;
    private NodeConnection connection;
    /** What is being opened. */
    private NodeConnection next;
    private Channel opening;
    private int lookupNumber;
    private int silentLookups;
    private String runId;
    /** When this address introduced itself with that identity first. */
    private long runIdSinceNs;
    private long disconnectedNs;
    /** The node that this one was refused for. */
    private Node duplicateOf;
    /** Why its clock cannot be watched; null if it can. */
    private String timeProblem;
    private ServerCapabilities dialect = ServerCapabilities.SCRIPTS;
    private String quarantineReason;
    private int failedConnects;
    /** Connections in a row that ended soon after their handshake. */
    private int shortConnections;
    private long introducedNs;
    private String endReason;
    private int segmentStart;
    private long sampleDueNs;
    private long timeSentNs;
    private boolean isTimePending;
    /** The node's clock less the local one at the last sample. */
    private long wallOffsetUs;
    private boolean isWallKnown;
    private boolean isScriptReloading;
    private volatile NodeState state = NodeState.WAITING;
    private volatile String problem;
    private boolean isProblemLogged;
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
        this.undelivered = new UndeliveredReleases(options.undeliveredReleasesMax());
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
        // A resolver may not answer, and a channel may not say that it has failed: nobody else would try again.
        final long lookupMs = LOOKUP_TIMEOUT_MS << Math.min(silentLookups, LOOKUP_DOUBLINGS_MAX);
        context.timers().start(connectTimer, nowNs() + (lookupMs + options.connectTimeoutMs()) * NS_PER_MS);
        setState(NodeState.CONNECTING);
        final int number = ++lookupNumber;
        try {
            context.transport()
                    .resolve(address, context.loop(), (found, failure) -> onResolved(number, found, failure));
        } catch (final RuntimeException | Error e) {
            // There was no thread for it, for example. That passes.
            onResolved(number, null, e);
        }
    }

    /**
     * A name has been looked up. The first address counts, also that of a look-up which was too slow before: it is the
     * same name. Of failures only that of the latest look-up counts.
     */
    private void onResolved(final int number, final SocketAddress found, final Throwable failure) {
        if (state != NodeState.CONNECTING || next != null || found == null && number != lookupNumber) {
            return;
        }
        silentLookups = 0;
        if (found == null) {
            onConnectFailed("its name cannot be looked up: " + reasonOf(failure), 0);
            return;
        }
        try {
            open(found);
        } catch (final RuntimeException | Error e) {
            onConnectFailed("it cannot be connected to: " + e, 0);
        }
    }

    private static String reasonOf(final Throwable failure) {
        return failure instanceof UnknownHostException ? failure.getMessage() : String.valueOf(failure);
    }

    private void open(final SocketAddress found) {
        // The name has been looked up. Netty's own resolver would remember the loop until that is shut down.
        final Bootstrap bootstrap = new Bootstrap().group(context.loop())
                .disableResolver()
                .channel(context.transport().channelClass(address))
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, options.connectTimeoutMs())
                .option(ChannelOption.WRITE_BUFFER_WATER_MARK,
                        new WriteBufferWaterMark(options.unsentBytesMax() / 2, options.unsentBytesMax()));
        context.transport().tune(bootstrap, address, options.unansweredTimeoutMs());
        final NodeConnection newConnection = new NodeConnection(this, options, fanOut.buffers());
        next = newConnection;
        final ChannelFuture connected = bootstrap.handler(initializerOf(newConnection)).connect(found);
        if (connected.isDone()) {
            // A channel that could not be made (too many open files) has no loop: it would tell on another thread.
            onConnected(connected, newConnection);
            return;
        }
        opening = connected.channel();
        connected.addListener((ChannelFuture future) -> onConnected(future, newConnection));
    }

    private void onConnectTimeout() {
        if (next == null) {
            silentLookups++;
            onConnectFailed("its name has not been looked up in time", 0);
        } else {
            onConnectFailed("it cannot be connected to: no answer in time", 0);
        }
    }

    private static ChannelHandler initializerOf(final NodeConnection newConnection) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(final Channel channel) {
                newConnection.addTo(channel.pipeline());
            }
        };
    }

    private void onConnected(final ChannelFuture future, final NodeConnection newConnection) {
        if (next != newConnection) {
            future.channel().close();
            return;
        }
        if (!future.isSuccess()) {
            onConnectFailed("it cannot be connected to: " + future.cause().getMessage(), 0);
            return;
        }
        context.timers().stop(connectTimer);
        next = null;
        opening = null;
        connection = newConnection;
        endReason = null;
        context.timers().start(handshakeTimer, nowNs() + options.handshakeTimeoutMs() * NS_PER_MS);
        setState(NodeState.HANDSHAKING);
        new Handshake(this, newConnection, address, options).start();
    }

    /** Gives up what is being opened; its late answer finds that it is not wanted any more. */
    private void stopConnecting() {
        context.timers().stop(connectTimer);
        final Channel unwanted = opening;
        next = null;
        opening = null;
        if (unwanted != null) {
            unwanted.close();
        }
    }

    private void onHandshakeTimeout() {
        disconnect("its handshake took longer than " + options.handshakeTimeoutMs() + " ms");
    }

    /** The handshake is over and the node may be used. */
    void onIntroduced(final String newRunId, final long uptimeSeconds, final ServerCapabilities newDialect) {
        duplicateOf = duplicateOf(newRunId);
        if (duplicateOf != null) {
            onRefused(sameServerAs(duplicateOf));
            return;
        }
        context.timers().stop(handshakeTimer);
        introducedNs = nowNs();
        if (!newRunId.equals(runId)) {
            runId = newRunId;
            runIdSinceNs = introducedNs;
        }
        refuseCopies();
        timeProblem = null;
        dialect = newDialect;
        segmentStart = fanOut.batchIndex();
        if (shortConnections == 0) {
            // Else the reason why the connections before this one ended stays to be seen until this one has lasted.
            setProblem(null);
        }
        startWatching();
        final long guardNs = restartGuard.quarantineMs(newRunId, uptimeSeconds, nowNs()) * NS_PER_MS;
        if (guardNs > quarantineLeftNs()) {
            startQuarantine(guardNs, "restart guard: its process says that it has been up for " + uptimeSeconds
                    + " s, it votes when every lock it may have lost has expired");
        }
        // Releases first: what the node is owed goes out before anything that it may vote on.
        setState(NodeState.QUARANTINED);
        sendUndeliveredReleases();
        if (quarantineLeftNs() > 0) {
            setProblem(quarantineProblem());
        } else if (state == NodeState.QUARANTINED) {
            setState(NodeState.READY);
        }
    }

    private static String sameServerAs(final Node first) {
        return "it is the same server as node " + first.index + " (" + first.address
                + "): one server has one vote, so each address must be a server of its own";
    }

    /**
     * The node whose vote an identity is: the address that showed it first. It keeps it while it is away, until every
     * lock it may have granted has expired, and takes it back when it returns later. A node that was refused as its
     * copy is not believed a new identity either as long as it is away: that may be a copy again.
     *
     * @return null if this node may have the identity
     */
    private Node duplicateOf(final String newRunId) {
        for (final Node peer : context.peers()) {
            if (peer != null && peer != this && newRunId.equals(peer.runId) && peer.isVoteKept()
                    && !isOlderThan(peer)) {
                return peer;
            }
        }
        return duplicateOf != null && !duplicateOf.state.isConnected() && duplicateOf.isVoteKept() ? duplicateOf : null;
    }

    private boolean isVoteKept() {
        return state.isConnected() || runId != null && nowNs() - disconnectedNs < voteKeptNs();
    }

    private long voteKeptNs() {
        return (options.maxTtlMs() + options.drift().ofMs(options.maxTtlMs()) + 1_000) * NS_PER_MS;
    }

    private boolean isOlderThan(final Node peer) {
        return peer.runId.equals(runId) && runIdSinceNs - peer.runIdSinceNs < 0;
    }

    /** Ends the connections of those that had this node's identity while it was away. */
    private void refuseCopies() {
        for (final Node peer : context.peers()) {
            if (peer != null && peer != this && peer.state.isConnected() && runId.equals(peer.runId)) {
                peer.duplicateOf = this;
                peer.statistics.onDisconnect();
                peer.onRefused(sameServerAs(this));
            }
        }
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
        return "in quarantine for " + (quarantineLeftNs() / NS_PER_MS + 1) + " ms; " + quarantineReason;
    }

    private void onQuarantineServed() {
        if (state == NodeState.QUARANTINED) {
            restartGuard.onServed(runId);
            leaveQuarantine();
        }
    }

    /** The node votes again unless there is another reason why it must not. */
    private void leaveQuarantine() {
        if (quarantineLeftNs() > 0) {
            setProblem(quarantineProblem());
        } else if (timeProblem != null) {
            setProblem(timeProblem);
        } else {
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
        stopConnecting();
        context.timers().stop(handshakeTimer);
        if (state.isConnected()) {
            disconnectedNs = nowNs();
            shortConnections++;
            forgetFailuresIfLasting(nowNs());
        }
        setProblem(reason);
        setState(NodeState.WAITING);
        final int doublings = Math.min(failedConnects++, RECONNECT_DOUBLINGS_MAX);
        final long ceilingMs = Math.min(options.reconnectDelayMsMax(),
                (long) options.reconnectDelayMsMin() << doublings);
        final long delayMs = Math.max(delayMsMin, ceilingMs);
        // Between half and all of the delay, so that many clients do not come back in step.
        final long jitteredNs = delayMs * NS_PER_MS / 2 + context.random().nextLong(delayMs * NS_PER_MS / 2 + 1);
        context.timers().start(reconnectTimer, nowNs() + jitteredNs);
    }

    /**
     * A handshake alone does not make a node one that is worth connecting to at once: the delays start anew when a
     * connection has lasted as long as the longest of them.
     */
    private void forgetFailuresIfLasting(final long nowNs) {
        if (nowNs - introducedNs >= options.reconnectDelayMsMax() * NS_PER_MS) {
            failedConnects = 0;
            shortConnections = 0;
        }
    }

    /** Ends the connection; {@link #onDisconnected} follows. */
    void disconnect(final String reason) {
        final boolean isRepeated = state.isConnected() && reason.equals(problem);
        endReason = reason;
        setProblem(reason);
        if (connection != null) {
            connection.close();
        }
        if (isRepeated) {
            logProblem(reason, true);
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
            final String reason = endReason == null ? "its connection ended" : endReason;
            final boolean isRepeated = state.isConnected() && endReason == null && reason.equals(problem);
            onConnectFailed(reason, 0);
            if (isRepeated) {
                logProblem(reason, true);
            }
        }
        gone.failAll();
    }

    // ---- sending ----------------------------------------------------------------------------------------------------

    /** Why a command would not be sent now; {@link VoteFailure#NONE} if it would. */
    VoteFailure refusalOf(final CommandKind kind) {
        if (!state.isConnected()) {
            return VoteFailure.NOT_CONNECTED;
        }
        if (kind.isVote() && state != NodeState.READY) {
            return VoteFailure.QUARANTINED;
        }
        return connection.isCongested() ? VoteFailure.BACK_PRESSURE : VoteFailure.NONE;
    }

    /** How this node is asked for what. */
    CommandEncoding encodingOf(final LockRequest request, final CommandKind kind) {
        return switch (kind) {
            case REMAINING_TTL -> CommandEncoding.PTTL;
            case ACQUIRE -> request.isRemainingTtlWanted() ? CommandEncoding.SCRIPT : CommandEncoding.PLAIN_SET;
            case RELEASE -> dialect.releaseEncoding();
            case EXTEND -> dialect.extendEncoding();
            case ACQUIRE_FENCED, RAISE, RELEASE_FENCED, RELEASE_MANY, RELEASE_MANY_FENCED -> CommandEncoding.SCRIPT;
        };
    }

    /** Whether it is connected and has no cheaper command for a release than the script. */
    boolean isReleasedByScript() {
        return state.isConnected() && dialect.releaseEncoding() == CommandEncoding.SCRIPT;
    }

    /** Whether it is connected and has a command of its own for a release. */
    boolean isReleasedNatively() {
        return state.isConnected() && dialect.releaseEncoding() != CommandEncoding.SCRIPT;
    }

    /** Notes a request whose bytes stand in the shared batch, if this node takes it. */
    VoteFailure enlist(final LockRequest request, final CommandKind kind, final CommandEncoding encoding,
            final int sequence) {
        final VoteFailure refusal = refusalOf(kind);
        if (refusal == VoteFailure.NONE && !connection.add(request, RequestRing.tag(kind, encoding, sequence, false))) {
            return VoteFailure.BACK_PRESSURE;
        }
        return refusal;
    }

    /** Notes a batch of releases whose bytes stand in the shared batch, if this node takes it. */
    VoteFailure enlist(final ReleaseBatch releases) {
        final VoteFailure refusal = refusalOf(CommandKind.RELEASE);
        if (refusal == VoteFailure.NONE
                && !connection.add(releases, RequestRing.tag(releases.kind(), CommandEncoding.SCRIPT, 0, false))) {
            return VoteFailure.BACK_PRESSURE;
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
        final int start = segmentStart;
        segmentStart = 0;
        if (state.isConnected() && end > start) {
            writeSegment(batch, start, end);
        }
    }

    /** Requests whose bytes cannot be handed over stand in the ring already: the connection is out of step then. */
    private void writeSegment(final ByteBuf batch, final int start, final int end) {
        try {
            connection.write(batch.retainedSlice(start, end - start));
        } catch (final RuntimeException | Error e) {
            disconnect("its commands cannot be written: " + e);
        }
    }

    void flush() {
        if (connection != null) {
            connection.flush();
        }
    }

    /**
     * Sends a command to this node alone, behind what it was sent before.
     *
     * @return false if there is no memory for it
     */
    private boolean sendAlone(final LockRequest request, final CommandKind kind, final int sequence,
            final boolean isSecondTry) {
        final int scriptLength = isSecondTry ? LockScripts.source(kind).length : 0;
        final ByteBuf out = fanOut.buffers().take(FanOut.roomFor(request, kind) + scriptLength);
        if (out == null) {
            return false;
        }
        if (isSecondTry) {
            LockScripts.writeEval(out, kind, request);
        } else {
            LockScripts.writeEvalSha(out, kind, request);
        }
        return writeAlone(request, RequestRing.tag(kind, CommandEncoding.SCRIPT, sequence, isSecondTry), out);
    }

    private boolean writeAlone(final Object request, final int tag, final ByteBuf command) {
        fanOut.sealReleases();
        fanOut.writeShared(this);
        if (!connection.add(request, tag)) {
            command.release();
            return false;
        }
        connection.write(command);
        fanOut.scheduleFlush();
        return true;
    }

    /**
     * Sends a request of the node's own.
     *
     * @param command its bytes, which belong to this call; null if there was no memory for them
     * @param request gets the answer
     * @return false if there is no memory for it
     */
    boolean sendValue(final ByteBuf command, final ValueRequest request) {
        if (command == null) {
            return false;
        }
        if (state.isConnected()) {
            fanOut.writeShared(this);
        }
        if (!connection.add(request, 0)) {
            command.release();
            return false;
        }
        connection.write(command);
        fanOut.scheduleFlush();
        return true;
    }

    /** A buffer for a command of the node's own; null if there is no memory for it. */
    ByteBuf newCommand(final int capacity) {
        return fanOut.buffers().take(capacity);
    }

    ByteBuf timeCommand() {
        return fanOut.timeCommand();
    }

    // ---- answers ----------------------------------------------------------------------------------------------------

    void onReply(final LockRequest request, final int tag, final long value) {
        statistics.onReply(RequestRing.kindOf(tag), value);
        final String change = health.isSuspicious()
                ? health.onAnswer(RequestRing.kindOf(tag), value <= 0, nowNs())
                : null;
        request.onReply(index, RequestRing.kindOf(tag), RequestRing.sequenceOf(tag), value);
        logHealth(change);
    }

    /** {@code +OK} or null, the answer to a SET. */
    void onSetReply(final LockRequest request, final int tag, final boolean isOk) {
        if (isOk) {
            onReply(request, tag, 1);
        } else if (RequestRing.kindOf(tag).isAcquire()) {
            onReply(request, tag, LockRequest.REFUSED_TTL_UNKNOWN);
        } else {
            onSetIfEqualRefused(request, tag);
        }
    }

    /** The key is missing or somebody else's. The script knows which, and mends what is missing. */
    private void onSetIfEqualRefused(final LockRequest request, final int tag) {
        final CommandKind kind = RequestRing.kindOf(tag);
        final int sequence = RequestRing.sequenceOf(tag);
        request.onRefusedAhead(index);
        if (!isSecondTryPossible(request, kind, sequence) || !sendAlone(request, kind, sequence, false)) {
            onReply(request, tag, 0);
        }
    }

    private boolean isSecondTryPossible(final LockRequest request, final CommandKind kind, final int sequence) {
        return refusalOf(kind) == VoteFailure.NONE && request.isSecondTryWanted(kind, sequence);
    }

    void onError(final LockRequest request, final int tag, final VoteFailure failure, final String errorCode) {
        final CommandKind kind = RequestRing.kindOf(tag);
        final int sequence = RequestRing.sequenceOf(tag);
        final boolean isUnknownScript = failure == VoteFailure.NOSCRIPT && !RequestRing.isSecondTry(tag);
        final boolean isUnknownCommand = isOptionalCommandRejected(RequestRing.encodingOf(tag), failure);
        if (isUnknownCommand) {
            dialect = dialect.without(RequestRing.encodingOf(tag));
        }
        if ((isUnknownScript || isUnknownCommand) && isSecondTryPossible(request, kind, sequence)
                && sendAlone(request, kind, sequence, isUnknownScript)) {
            return;
        }
        statistics.onError();
        if (isUnknownScript && RequestRing.encodingOf(tag) == CommandEncoding.SCRIPT) {
            reload(kind);
        }
        final String change = health.onError(kind, errorCode, nowNs());
        request.onError(index, kind, sequence, failure);
        logHealth(change);
    }

    /**
     * The command is not worth sending again, because the others have decided; a node that answers later than they do
     * would never learn the script from it.
     */
    private void reload(final CommandKind kind) {
        if (!isScriptReloading && refusalOf(CommandKind.RELEASE) == VoteFailure.NONE) {
            isScriptReloading = sendValue(Handshake.scriptLoad(this, kind), reply -> isScriptReloading = false);
        }
    }

    private void logHealth(final String change) {
        if (change != null) {
            context.listener().onProblem(this, change);
        }
    }

    /** The node said that it has a command, and refuses it all the same: from here on a script does it. */
    private static boolean isOptionalCommandRejected(final CommandEncoding encoding, final VoteFailure failure) {
        return encoding.isOptional() && (failure == VoteFailure.ERROR || failure == VoteFailure.NOPERM);
    }

    void onBatchReply(final ReleaseBatch releases, final long deletedMask) {
        releases.onReply(this, deletedMask);
        fanOut.onBatchAnswered(releases);
    }

    void onBatchError(final ReleaseBatch releases, final int tag, final VoteFailure failure,
            final String errorCode) {
        if (failure == VoteFailure.NOSCRIPT && !RequestRing.isSecondTry(tag)
                && refusalOf(CommandKind.RELEASE) == VoteFailure.NONE && sendAgain(releases)) {
            return;
        }
        statistics.onError();
        final String change = health.onError(releases.kind(), errorCode, nowNs());
        releases.onError(this, failure);
        fanOut.onBatchAnswered(releases);
        logHealth(change);
    }

    private boolean sendAgain(final ReleaseBatch releases) {
        final ByteBuf out = fanOut.buffers().take(LockScripts.roomFor(releases, true));
        if (out == null) {
            return false;
        }
        LockScripts.writeBatch(out, releases, true);
        return writeAlone(releases, RequestRing.tag(releases.kind(), CommandEncoding.SCRIPT, 0, true), out);
    }

    void onBatchUnknown(final ReleaseBatch releases) {
        releases.onUnknown(this);
        fanOut.onBatchAnswered(releases);
    }

    void onUnknown(final LockRequest request, final int tag) {
        if (RequestRing.encodingOf(tag).mayShorten()) {
            request.onMayShortenLate(index, RequestRing.sequenceOf(tag));
        }
        request.onUnknown(index, RequestRing.kindOf(tag), RequestRing.sequenceOf(tag));
    }

    // ---- release debt -----------------------------------------------------------------------------------------------

    /**
     * Keeps a release that this node could not be sent.
     *
     * @param request whose token may stand on the node
     * @param untilNs monotonic time after which the key has expired by itself
     */
    public void retainRelease(final LockRequest request, final long untilNs) {
        undelivered.add(request.resourceBulk(), request.token(), untilNs);
        statistics.onUndeliveredReleases(undelivered.length(), undelivered.droppedCount());
    }

    /** Sends what is owed, as far as the connection takes it. */
    private void sendUndeliveredReleases() {
        while (state.isConnected() && undelivered.length() > 0 && !connection.isCongested()) {
            final UndeliveredReleases.Entry entry = undelivered.poll(nowNs());
            if (entry != null && !sendAlone(new UndeliveredRelease(this, entry), CommandKind.RELEASE, 0, false)) {
                undelivered.putBack(entry);
                break;
            }
        }
        statistics.onUndeliveredReleases(undelivered.length(), undelivered.droppedCount());
    }

    void onUndeliveredReleaseUnknown(final UndeliveredReleases.Entry entry) {
        undelivered.putBack(entry);
        statistics.onUndeliveredReleases(undelivered.length(), undelivered.droppedCount());
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
        // First of all: whatever the rest does, the next look must come.
        context.timers().start(watchTimer, nowNs + WATCH_PERIOD_MS * NS_PER_MS);
        if (connection.watch(nowNs, options.unansweredTimeoutMs() * NS_PER_MS)) {
            disconnect("it has not answered for " + options.unansweredTimeoutMs() + " ms");
            return;
        }
        if (shortConnections > 0) {
            forgetFailuresIfLasting(nowNs);
            if (shortConnections == 0 && state == NodeState.READY) {
                setProblem(null);
            }
        }
        if (sampleDueNs - nowNs <= 0 && !isTimePending) {
            sampleClock(nowNs);
        }
        armWatch(nowNs);
        sendUndeliveredReleases();
    }

    /** A sample is sent when it is due and not at the next look: validity allows for the time between two. */
    private void armWatch(final long nowNs) {
        final long nextNs = nowNs + WATCH_PERIOD_MS * NS_PER_MS;
        final boolean isSampleNext = !isTimePending && sampleDueNs - nextNs < 0;
        if (isSampleNext && sampleDueNs - nowNs <= 0) {
            // There was no memory for the sample: soon, but not in a busy loop.
            context.timers().start(watchTimer, nowNs + SAMPLE_RETRY_MS * NS_PER_MS);
        } else {
            context.timers().start(watchTimer, isSampleNext ? sampleDueNs : nextNs);
        }
    }

    /** Where there is no memory for it the sample stays due. */
    private void sampleClock(final long nowNs) {
        timeSentNs = nowNs();
        if (sendValue(timeCommand(), this::onTime)) {
            isTimePending = true;
            // With the clock watch off, TIME still tells the round trip and keeps a dead connection from going
            // unnoticed.
            sampleDueNs = nowNs + (options.clockSampleMs() > 0 ? options.clockSampleMs() : IDLE_SAMPLE_MS) * NS_PER_MS;
        }
    }

    private void onTime(final RespValue value) {
        isTimePending = false;
        if (value == null || !state.isConnected()) {
            return;
        }
        final long receivedNs = nowNs();
        roundTripNs = receivedNs - timeSentNs;
        restartGuard.onAnswer(receivedNs);
        armWatch(receivedNs);
        final long microseconds = Handshake.microsecondsOf(value);
        if (microseconds < 0) {
            onTimeRefused(Handshake.timeProblem(value));
            return;
        }
        final boolean wasBlind = timeProblem != null;
        timeProblem = null;
        onClockSample(timeSentNs, receivedNs, microseconds);
        if (wasBlind && state == NodeState.QUARANTINED) {
            leaveQuarantine();
        }
    }

    /** As in the handshake: a node whose clock cannot be watched does not vote. Its releases still go out. */
    private void onTimeRefused(final String reason) {
        if (options.clockSampleMs() > 0) {
            timeProblem = reason;
            if (state != NodeState.DRAINING) {
                setState(NodeState.QUARANTINED);
                setProblem(reason);
            }
        }
    }

    /** The node's clock was read; in its handshake too, since it may have jumped while we were apart. */
    void onClockSample(final long sentNs, final long receivedNs, final long microseconds) {
        wallOffsetUs = Math.min(microseconds, WALL_US_MAX) - receivedNs / 1_000;
        isWallKnown = true;
        if (options.clockSampleMs() == 0 || !clockWatch.onSample(sentNs, receivedNs, microseconds * 1000)) {
            return;
        }
        statistics.onClockJump();
        if (state != NodeState.DRAINING && state != NodeState.CLOSED) {
            startQuarantine(Math.max(options.maxTtlMs() * NS_PER_MS, quarantineLeftNs()),
                    "clock watch: its clock has jumped, keys may have expired early");
            if (state.isConnected()) {
                setProblem(quarantineProblem());
                setState(NodeState.QUARANTINED);
            }
        }
        context.listener().onClockJump(this);
    }

    /** Gives up room that was not needed since the last call; to be called at regular times. */
    public void trim() {
        if (connection != null) {
            connection.trim();
        }
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
        stopConnecting();
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
        final String known = problem;
        final NodeHealth.Failing failing = health.failing();
        return known == null && failing != null ? failing.problem() : known;
    }

    /** @return the first word of the errors with which it answers lock commands, null if it does not; any thread */
    public String failingCode() {
        final NodeHealth.Failing failing = health.failing();
        return failing == null ? null : failing.errorCode();
    }

    /** @return nanoseconds since the first of those errors, 0 if there are none; any thread may ask */
    public long failingNs() {
        final NodeHealth.Failing failing = health.failing();
        return failing == null ? 0 : nowNs() - failing.sinceNs();
    }

    /** @return nanoseconds of the last clock sample's round trip, 0 before the first; any thread may ask */
    public long roundTripNs() {
        return roundTripNs;
    }

    /**
     * The node's wall clock as its last sample and the local clock tell it, also while it is not connected.
     *
     * @param nowNs monotonic time
     * @return microseconds since the epoch, 0 if it has never told its time
     */
    public long wallUs(final long nowNs) {
        return isWallKnown ? wallOffsetUs + nowNs / 1_000 : 0;
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

    /** Whatever a reason is made of, by here it is fit for a log. */
    private void setProblem(final String reason) {
        final String next = reason == null ? null : SafeText.of(reason, PROBLEM_LENGTH_MAX);
        final boolean isNew = next != null && !next.equals(problem);
        problem = next;
        if (isNew || next != null && !isProblemLogged) {
            logProblem(next, isNew);
        }
    }

    /** Logs what is wrong unless that has been logged of late; then it is tried again when it is still wrong later. */
    private void logProblem(final String text, final boolean isNew) {
        final String line = problemLog.queueFor(text, isNew, nowNs());
        isProblemLogged = line != null;
        if (line != null) {
            context.listener().onProblem(this, line);
        }
    }

    @Override
    public String toString() {
        final String wrong = problem();
        return "node " + index + " (" + address + ") " + state + (wrong == null ? "" : ": " + wrong);
    }
}
