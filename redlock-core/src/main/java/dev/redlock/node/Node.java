package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.node.guard.Quarantine;
import dev.redlock.node.guard.RestartGuard;
import dev.redlock.node.guard.VoteGuard;
import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.node.send.FanOut;
import dev.redlock.node.send.LockRequest;
import dev.redlock.node.send.NodeConnection;
import dev.redlock.node.send.NodeCounter;
import dev.redlock.node.send.ReleaseRedelivery;
import dev.redlock.node.send.ServerCapabilities;
import dev.redlock.node.send.SlotKey;
import dev.redlock.node.send.UndeliveredRelease;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.resp.RespValue;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.transport.Login;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.SentinelAddress;
import dev.redlock.transport.TlsChannel;
import dev.redlock.transport.VoterAddress;
import io.netty.buffer.ByteBuf;
import java.lang.System.Logger.Level;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One Redis or Valkey master on one event loop, and its life: connect, handshake, vote, and connect again when the
 * connection ends. See {@link NodeState}.
 *
 * <p>This class decides the state. Its parts do the work and report events: {@link NodeConnector} opens connections,
 * {@link Authenticator} gets their logins, {@link Handshake} identifies the server, {@link VoteGuard} and
 * {@link FirstContact} decide whether it may vote, {@link CommandSender} sends commands, and {@link NodeMonitor} finds
 * lost replies.
 *
 * @threading event-loop-confined
 */
public final class Node extends Voter {

    /** The delay after a rejection that only a person can end: wrong password, a replica, a duplicate. */
    private static final long REJECTED_DELAY_MS = 5_000;
    private static final String LOOP_ENDED = "its event loop was shut down before the client was closed: close the"
            + " client first";

    private final NodeContext context;
    /** Null unless the voter is a cluster. */
    private final Membership member;
    private final NodeView view;
    private final CommandSender sender;
    private final ReleaseRedelivery redelivery;
    private final FlushReports flushReports;
    private final NodeConnector<NodeConnection> connector;
    private final Authenticator authenticator;
    private final ReconnectDelay reconnectDelay;
    private final VoteGuard voteGuard;
    private final FirstContact firstContact;
    /** Null if the voter is a cluster. */
    private final Succession succession;
    private final NodeClock nodeClock;
    private final NodeMonitor monitor;
    private final Events events = new Events();
    private final DeadlineTimer handshakeTimer = new DeadlineTimer(this::onHandshakeTimeout);
    private NodeState state = NodeState.WAITING;
    private NodeConnection connection;
    /** Identifies the process of the server; null before the first handshake. */
    private String runId;
    /** The reason why the client closes the connection; null if it does not. */
    private String closeReason;

    /**
     * A node that is not connected yet.
     *
     * @param index the node's place in configured order, 0 to 62
     */
    public Node(int index, VoterAddress address, NodeContext context, FanOut fanOut) {
        this(index, address, context, fanOut, null);
        fanOut.add(sender);
    }

    /** A server of a cluster, which adds it to the fan-out. */
    public Node(int index, VoterAddress address, NodeContext context, FanOut fanOut, Membership member) {
        this.context = context;
        this.member = member;
        NodeOptions options = context.options();
        this.view = new NodeView(index, address, context, member == null ? null : member.logLimit());
        this.flushReports = new FlushReports(view, context);
        this.sender = new CommandSender(view.statistics, context.sending(), fanOut, events,
                member == null ? null : member.redirects());
        this.redelivery = new ReleaseRedelivery(sender);
        this.connector = newConnector(address, member == null ? null : member.connects());
        this.authenticator = new Authenticator(context, options.access().loginSource(), sender, view, events);
        this.reconnectDelay = new ReconnectDelay(options, context.platform().random());
        NodeOptions.Guards guards = options.guards();
        this.voteGuard = new VoteGuard(context.clock(), context.timers(),
                new RestartGuard(guards.mode(), guards.maxTtlMs(), guards.drift()), guards.maxTtlMs(),
                this::onQuarantineEnd);
        this.succession = member == null
                ? new Succession(context, voteGuard, new DeposedPrimary(context, sender, view, this::onServiceKnown),
                        fanOut.hasOneVoter(), this::onReclaimable)
                : null;
        this.firstContact = new FirstContact(context, sender, voteGuard, view, this::silenceNs, events);
        this.monitor = new NodeMonitor(context, sender, events);
        this.nodeClock = new NodeClock(context, view, voteGuard, monitor, this::onStoodStill);
        context.group().identities().add(view);
    }

    // ---- for the engine ---------------------------------------------------------------------------------------------

    /** @return the node's state */
    public NodeState state() {
        return state;
    }

    /** @return state, problem and counters */
    public NodeView view() {
        return view;
    }

    @Override
    public Node nodeFor(SlotKey key) {
        return this;
    }

    @Override
    public boolean isSilentFor(SlotKey key) {
        return false;
    }

    @Override
    public boolean isGrantCounted(SlotKey key) {
        return state != NodeState.QUARANTINED;
    }

    /** The engine asks after a change of the state that settles a node. */
    @Override
    public boolean isSettled() {
        return true;
    }

    @Override
    public NodeView[] views() {
        return new NodeView[]{view};
    }

    @Override
    public long count(NodeCounter counter) {
        return view.count(counter);
    }

    @Override
    public long roundTripNs() {
        return view.roundTripNs();
    }

    @Override
    public boolean hasWakeUps() {
        return sender.hasWakeUps();
    }

    @Override
    public boolean hasWakeChannel() {
        return sender.hasWakeChannel();
    }

    /**
     * Keeps a release that the node could not be sent, until the node is connected again.
     *
     * @param command the key and the token that the node may hold
     */
    public void redeliverLater(LockRequest command) {
        redelivery.redeliverLater(command);
    }

    /**
     * Sends a command of the client itself.
     *
     * @param onReply gets the reply, which may be an error; null if there is none
     */
    public void ask(Consumer<RespValue> onReply, String... words) {
        if (!isConnected() || !sender.sendValue(sender.command(words), onReply)) {
            onReply.accept(null);
        }
    }

    @Override
    public boolean isVoting() {
        return view.isVoting();
    }

    @Override
    public void open() {
        // Called again after a failure, when the next try may have started, or have ended with a connection.
        if (state == NodeState.WAITING && connection == null && !connector.isTrying()) {
            connector.connect();
        }
    }

    @Override
    public long wallUs(long nowNs) {
        return nodeClock.watch.wallUs(nowNs);
    }

    @Override
    public boolean mayVoteBy(long timeNs) {
        return state != NodeState.QUARANTINED || firstContact.isPending()
                || voteGuard.quarantineEndNs(nowNs()) - timeNs <= 0;
    }

    @Override
    public void trim() {
        if (connection != null) {
            connection.trim();
        }
    }

    @Override
    public void drain() {
        stopReclaims();
        voteGuard.stop();
        firstContact.stop();
        authenticator.stop();
        if (isConnected()) {
            setState(NodeState.DRAINING);
        } else {
            close();
        }
    }

    @Override
    public void close() {
        context.timers().stop(handshakeTimer);
        stopReclaims();
        voteGuard.stop();
        firstContact.stop();
        monitor.stop();
        redelivery.stopProbing();
        nodeClock.stop();
        authenticator.close();
        try {
            setState(NodeState.CLOSED);
        } finally {
            connector.close();
            if (connection != null) {
                connection.close();
            }
        }
    }

    @Override
    public void end() {
        NodeConnection ended = connection;
        // A node that was down has a problem that nothing will end.
        view.showProblem(LOOP_ENDED);
        close();
        connection = null;
        sender.detach();
        flushReports.stop();
        if (ended != null) {
            ended.end();
        }
    }

    // ---- for its cluster --------------------------------------------------------------------------------------------

    /** @return what sends its commands */
    public CommandSender sender() {
        return sender;
    }

    /** Moves the releases that this node could not be sent to other nodes. */
    public void moveUndelivered(Function<UndeliveredRelease, Node> newNode) {
        redelivery.moveAll(release -> newNode.apply(release).redelivery);
    }

    /** The server has left its cluster: moves its releases too when they come back from its last connection. */
    public void leaveUndelivered(Function<UndeliveredRelease, Node> newNode) {
        redelivery.moveForGood(release -> newNode.apply(release).redelivery);
    }

    /** Sends the releases that an error of the cluster has stopped. */
    public void redeliver() {
        if (isConnected()) {
            redelivery.sendAll();
        }
    }

    /** Whether commands can be sent. */
    public boolean isConnected() {
        return state.isConnected();
    }

    /** A check has shown the server's role and its history. */
    public void onReplication(ReplicationInfo shown) {
        if (!isConnected() || state == NodeState.DRAINING) {
            return;
        }
        boolean isRenamed = !Objects.equals(shown.id(), voteGuard.replicationId());
        if (noteRole(shown)) {
            if (voteGuard.objection() == null) {
                leaveQuarantine();
                return;
            }
            stopReclaims();
            quarantine(voteGuard.objection());
            firstContact.start(runId, shown);
            context.listener().onPromotion(view);
            startReclaims(shown);
        } else if (isRenamed) {
            firstContact.onRenamed(shown);
        }
    }

    // ---- the role of the server -------------------------------------------------------------------------------------

    /** Returns whether this changes if the node may vote. */
    private boolean noteRole(ReplicationInfo shown) {
        if (member == null) {
            if (context.options().guards().mode() != RestartGuardMode.OFF) {
                succession.onInfo(shown);
            }
            return context.options().guards().mode() != RestartGuardMode.OFF
                    && voteGuard.onRole(true, shown.wasPromoted(), shown.id(), silenceNs());
        }
        // A member that does not show its history may have been promoted.
        return voteGuard.onRole(shown.isMaster(), shown.wasPromoted() || !shown.isHistoryShown(), shown.id(),
                silenceNs());
    }

    private long silenceNs() {
        return member == null ? succession.silenceNs() : member.silenceNs();
    }

    /** A server has reported that the predecessor of this one may serve for longer than was known. */
    public void onServiceKnown() {
        voteGuard.onSilence(silenceNs());
        checkReclaims();
        if (state == NodeState.QUARANTINED && voteGuard.isPromotionQuarantined()) {
            view.reportQuarantine(voteGuard.objection());
        }
    }

    // ---- handshake --------------------------------------------------------------------------------------------------

    private NodeConnector<NodeConnection> newConnector(VoterAddress address, ConnectLimit limit) {
        if (address instanceof SentinelAddress sentinels) {
            SentinelGroup group = new SentinelGroup(view.index(), sentinels, context, view);
            return new NodeConnector<>(null, context, group.limit, this::newConnection, events, group);
        }
        return new NodeConnector<>((NodeAddress) address, context, limit, this::newConnection, events);
    }

    private NodeConnection newConnection(TlsChannel tls) {
        return member == null
                ? new NodeConnection(sender, events, tls)
                : member.newConnection(events, tls);
    }

    private String problemOfRole(String role) {
        return ServerReply.problemOfRole(role, connector.hasDirectory());
    }

    private void onHandshakeTimeout(long nowNs) {
        // Started first: a close that throws is tried again.
        startHandshakeTimer(nowNs, 0);
        disconnect("the handshake took longer than " + context.options().timeouts().handshakeTimeoutMs() + " ms");
    }

    private void startHandshakeTimer(long nowNs, long loginMs) {
        context.timers()
                .start(handshakeTimer,
                        nowNs + (loginMs + context.options().timeouts().handshakeTimeoutMs()) * NS_PER_MS);
    }

    private void startVoting() {
        if (firstContact.isPending()) {
            return;
        }
        if (!firstContact.isUndecided() && !voteGuard.mayLackLocks()) {
            stopReclaims();
            updateGate();
            NodeState before = state;
            context.listener().onSilenceOver(view);
            if (state != before) {
                // A listener of a lost lease has closed the client.
                return;
            }
        }
        Quarantine objection = objection();
        if (objection != null) {
            view.reportQuarantine(objection);
            context.listener().onQuarantined(view);
            return;
        }
        setState(NodeState.READY);
        if (!reconnectDelay.isUnstable()) {
            // Else the reason why the last connections ended remains visible until this one has lasted.
            view.clearProblem();
        }
    }

    /** Why the node may not vote now; null if it may. */
    private Quarantine objection() {
        Quarantine objection = voteGuard.objection();
        String also = firstContact.objection();
        if (objection != null) {
            return also == null ? objection : objection.and(also);
        }
        return firstContact.isUndecided() ? Quarantine.untilEvent(also) : null;
    }

    private void onQuarantineEnd() {
        if (state == NodeState.QUARANTINED) {
            voteGuard.onQuarantineServed(runId);
            firstContact.onQuarantineServed();
            leaveQuarantine();
        }
    }

    // ---- leases that outlive the process ----------------------------------------------------------------------------

    /** To be called when the engine knows that the server may lack locks. */
    private void startReclaims(ReplicationInfo shown) {
        if (succession != null && state == NodeState.QUARANTINED) {
            succession.start(shown);
        }
    }

    private void checkReclaims() {
        if (succession != null) {
            succession.check();
        }
    }

    private void stopReclaims() {
        if (succession != null) {
            succession.stop();
        }
    }

    private void onReclaimable() {
        if (state == NodeState.QUARANTINED) {
            updateGate();
            context.listener().onReclaimable(view);
        }
    }

    /** The node votes again, unless there is another objection. */
    private void leaveQuarantine() {
        startVoting();
        if (state == NodeState.READY) {
            view.clearProblem();
        }
    }

    // ---- the end of a connection ------------------------------------------------------------------------------------

    /** The server is reachable but cannot be used until a person changes something. */
    private void reject(String reason, long delayMsMin) {
        NodeConnection rejected = connection;
        try {
            detach();
            rejected.close();
        } finally {
            connectAgain(Level.WARNING, reason, true, delayMsMin);
        }
    }

    /** Closes the connection; {@link Events#onDisconnected} follows and reports the first reason. */
    private void disconnect(String reason) {
        try {
            if (closeReason == null) {
                closeReason = reason;
                view.showProblem(reason);
            }
        } finally {
            if (connection != null) {
                connection.close();
            }
        }
    }

    private void detach() {
        context.timers().stop(handshakeTimer);
        stopReclaims();
        firstContact.stop();
        monitor.stop();
        redelivery.stopProbing();
        authenticator.stop();
        sender.detach();
        flushReports.stop();
        view.wakeUpProblem = "not connected";
        view.setTlsDescription(null);
        connection = null;
        closeReason = null;
    }

    /** A report that throws, as without memory, must not cost the node its next try, nor hide that it is down. */
    private void connectAgain(Level level, String reason, boolean isPlaceShown, long delayMsMin) {
        long shortestMs = delayMsMin;
        try {
            if (isConnected()) {
                reconnectDelay.onConnectionLost(nowNs());
            }
            view.reportProblem(level, isPlaceShown ? reason + connector.place() : reason);
            // Another address of the host name may lead to a server that can be used.
            shortestMs = connector.onEnd() ? 0 : delayMsMin;
        } finally {
            try {
                // Before the state: its listeners may throw, or close the client, which stops the timer.
                connector.connectAfter(reconnectDelay.nextNs(shortestMs));
            } finally {
                setState(NodeState.WAITING);
            }
        }
        flushReports.reportPending();
    }

    // ---- clock ------------------------------------------------------------------------------------------------------

    private void quarantine(Quarantine reason) {
        view.reportQuarantine(reason);
        setState(NodeState.QUARANTINED);
    }

    private void onStoodStill() {
        if (state == NodeState.QUARANTINED) {
            leaveQuarantine();
        }
    }

    /** A node without a readable clock does not vote if clocks are watched. It gets releases. */
    private void onClockUnreadable(String reason) {
        if (context.options().guards().clockSampleMs() > 0) {
            voteGuard.onClockUnreadable(reason);
            if (state != NodeState.DRAINING) {
                quarantine(Quarantine.untilEvent(reason));
            }
        }
    }

    // ---- state ------------------------------------------------------------------------------------------------------

    private void setState(NodeState newState) {
        state = newState;
        updateGate();
        view.setState(newState);
    }

    private void updateGate() {
        sender.setGate(switch (state) {
            case READY -> CommandSender.Gate.OPEN;
            case QUARANTINED -> succession != null && succession.isReclaimable()
                    ? CommandSender.Gate.EXTENSIONS
                    : CommandSender.Gate.RELEASES;
            case DRAINING -> CommandSender.Gate.RELEASES;
            case WAITING, CONNECTING, HANDSHAKING, CLOSED -> CommandSender.Gate.CLOSED;
        });
    }

    private long nowNs() {
        return context.clock().nanoTime();
    }

    @Override
    public String toString() {
        return view.toString();
    }

    /**
     * The events of the parts.
     *
     * @threading event-loop-confined
     */
    private final class Events
            implements
                NodeConnector.Listener<NodeConnection>,
                Authenticator.Listener,
                NodeSignals,
                CommandSender.Listener,
                NodeConnection.Listener {

        @Override
        public void onConnecting() {
            setState(NodeState.CONNECTING);
        }

        @Override
        public void onAddressesSkipped(String text) {
            view.log(Level.INFO, text);
        }

        @Override
        public void onConnected(NodeConnection opened) {
            connection = opened;
            closeReason = null;
            try {
                // First: it also ends a handshake of which a later step throws.
                startHandshakeTimer(nowNs(), Authenticator.PROVIDER_TIMEOUT_MS);
                sender.attach(opened);
                showTls(opened.tls());
                setState(NodeState.HANDSHAKING);
                authenticator.start();
            } catch (RuntimeException | Error e) {
                disconnect("the handshake could not be started");
                throw e;
            }
        }

        @Override
        public void onLogin(Login login) {
            startHandshakeTimer(nowNs(), 0);
            new Handshake(sender, login, context, this).start();
        }

        @Override
        public void onLoginFailed(String reason) {
            // A provider that fails now may succeed soon, so the usual delays apply.
            reject(reason, 0);
        }

        @Override
        public void onConnectFailed(String reason) {
            if (state != NodeState.CLOSED) {
                connectAgain(Level.INFO, reason, false, 0);
            }
        }

        private void showTls(TlsChannel tls) {
            if (tls != null) {
                view.setTlsDescription(tls.description());
                if (tls.problem() != null) {
                    view.log(Level.WARNING, tls.problem());
                }
            }
        }

        @Override
        public void onConnectRejected(String reason) {
            connectAgain(Level.WARNING, reason, false, REJECTED_DELAY_MS);
        }

        @Override
        public void onMoved(String reason) {
            if (connection != null) {
                disconnect(reason);
            }
        }

        @Override
        public void onHandshake(String newRunId, long uptimeSeconds, ServerCapabilities capabilities,
                MemberIdentity shown) {
            reconnectDelay.onConnected(nowNs());
            String ambiguity = connector.onHandshake(runId != null && !newRunId.equals(runId));
            if (ambiguity != null) {
                view.log(Level.WARNING, ambiguity);
            }
            if (!newRunId.equals(runId)) {
                runId = newRunId;
                sender.setIdentityHash(runId.hashCode());
                context.group().identities().onRunId(view, runId);
            }
            if (succession != null) {
                succession.onConnected();
            }
            boolean isKnown = voteGuard.replicationId() != null;
            boolean isRestarted = voteGuard.onHandshake(runId, uptimeSeconds);
            boolean isPromoted = noteRole(shown.replication()) && isKnown && voteGuard.isPromotionQuarantined();
            if (isRestarted && member == null && !shown.replication().isHistoryShown()) {
                // It may be a promoted one, and would not show that.
                voteGuard.onPromotion(silenceNs());
            }
            sender.onHandshake(capabilities);
            view.wakeUpProblem = capabilities.pushProblem();
            view.setEvictionProblem(capabilities.evictionProblem());
            monitor.start(connection);
            // From here on, the monitor finds a connection of which nothing else is heard.
            context.timers().stop(handshakeTimer);
            authenticator.onHandshake();
            // Releases go out before any command that needs a vote.
            setState(NodeState.QUARANTINED);
            redelivery.sendAll();
            if (isRestarted) {
                context.listener().onRestarted(view);
            } else if (isPromoted) {
                context.listener().onPromotion(view);
            }
            compareSuccessor();
            startReclaims(shown.replication());
            flushReports.reportPending();
            if (state == NodeState.QUARANTINED) {
                firstContact.start(runId, shown.replication());
                startVoting();
            }
            if (member != null) {
                member.onHandshake(shown.nodeId());
            }
        }

        @Override
        public void onRejected(String reason) {
            if (state != NodeState.DRAINING) {
                reject(reason, REJECTED_DELAY_MS);
            }
        }

        @Override
        public void onNoMaster(String role) {
            voteGuard.restartGuard().onReplica();
            // A failover may change it soon, so the usual delays apply.
            reject(problemOfRole(role), 0);
        }

        @Override
        public void onHandshakeFailed(String reason) {
            disconnect(reason);
        }

        @Override
        public void onProcess(String seenRunId) {
            nodeClock.holdBack(runId != null && !seenRunId.equals(runId) && succession != null
                    && succession.mayLeasesOutlive());
            voteGuard.restartGuard().onProcess(seenRunId, nowNs());
        }

        @Override
        public void onClockSample(long sentNs, long receivedNs, long wallUs) {
            if (!nodeClock.onSample(sentNs, receivedNs, wallUs * 1_000)) {
                return;
            }
            if (isConnected() && state != NodeState.DRAINING) {
                quarantine(voteGuard.objection());
            }
            nodeClock.report();
        }

        /**
         * The engine knows now that no vote of the earlier process counts. So a lease that outlives that process does
         * not end because the clock of the new one is behind. Where leases do not outlive it, or the clock is ahead, it
         * was compared as soon as it was read.
         */
        private void compareSuccessor() {
            NodeClock.Sample sample = nodeClock.heldBack();
            if (sample != null) {
                onClockSample(sample.sentNs(), sample.receivedNs(), sample.wallNs() / 1_000);
            }
        }

        @Override
        public void onFirstContactDecided() {
            if (state == NodeState.QUARANTINED) {
                if (firstContact.isQuarantineReported()) {
                    leaveQuarantine();
                } else {
                    startVoting();
                }
            }
        }

        @Override
        public void onKeysLost() {
            flushReports.onFlushed(true);
        }

        @Override
        public void onUnanswered() {
            disconnect("the node has not answered for " + context.options().timeouts().unansweredTimeoutMs() + " ms");
        }

        @Override
        public void onTick(long nowNs) {
            if (reconnectDelay.isUnstable()) {
                reconnectDelay.resetIfLasting(nowNs);
                if (!reconnectDelay.isUnstable() && state == NodeState.READY) {
                    view.clearProblem();
                }
            }
            if (state == NodeState.QUARANTINED && closeReason == null && voteGuard.objection() == null
                    && !firstContact.isUndecided()) {
                // The timer has no second call if the first one throws.
                onQuarantineEnd();
            }
            redelivery.sendAll();
        }

        @Override
        public void onTime(long sentNs, long receivedNs, RespValue reply) {
            view.setRoundTrip(receivedNs - sentNs);
            voteGuard.onReply(receivedNs);
            long wallUs = ServerReply.microsecondsOf(reply);
            VoteFailure failure = ServerReply.failureOf(reply);
            if (failure.isOfServer()) {
                connection.endAfterRead("the server answered " + failure.text() + ": "
                        + ErrorAdvice.of(failure));
                return;
            }
            if (wallUs < 0) {
                onClockUnreadable(ServerReply.problemOf(reply));
                return;
            }
            boolean wasUnreadable = voteGuard.onClockReadable();
            onClockSample(sentNs, receivedNs, wallUs);
            if (wasUnreadable && state == NodeState.QUARANTINED) {
                checkReclaims();
                leaveQuarantine();
            }
        }

        @Override
        public void onRole(ReplicationInfo shown) {
            if (shown.isMaster()) {
                onReplication(shown);
            } else if (state != NodeState.DRAINING) {
                connection.endAfterRead(problemOfRole(shown.role()));
            }
        }

        @Override
        public void onConnectionError(NodeConnection broken, String reason) {
            if (broken == connection) {
                disconnect(reason);
            } else {
                broken.close();
            }
        }

        @Override
        public void onConnectionBroken(NodeConnection broken, String reason) {
            onConnectionError(broken, reason + broken.hintAtEnd(view.address()));
        }

        @Override
        public void onConnectionRejected(NodeConnection broken, String reason) {
            if (broken == connection && state != NodeState.DRAINING && state != NodeState.CLOSED) {
                reject(reason, REJECTED_DELAY_MS);
            } else {
                onConnectionError(broken, reason);
            }
        }

        @Override
        public void onDisconnected(NodeConnection closed) {
            try {
                if (closed == connection) {
                    onEnd(closed);
                }
            } finally {
                closed.failAll();
            }
        }

        private void onEnd(NodeConnection closed) {
            String reason = closeReason == null ? "the connection has ended" : closeReason;
            boolean isReasonKnown = closeReason != null;
            try {
                detach();
                reason = isReasonKnown ? reason : endReason(closed);
            } finally {
                if (state == NodeState.DRAINING || state == NodeState.CLOSED) {
                    setState(NodeState.CLOSED);
                } else {
                    view.statistics.counters().add(NodeCounter.DISCONNECTS.ordinal(), 1);
                    connectAgain(Level.INFO, reason, true, 0);
                }
            }
        }

        private String endReason(NodeConnection closed) {
            return context.platform().loop().isShuttingDown()
                    ? LOOP_ENDED
                    : "the server closed the connection" + closed.hintAtEnd(view.address());
        }

        @Override
        public void onInvalidated(ByteBuf key, int index, int length) {
            context.listener().onInvalidated(view, key, index, length);
        }

        @Override
        public void onMessage(byte word, ByteBuf key, int index, int length) {
            context.listener().onMessage(view, word, key, index, length);
        }

        @Override
        public void onDeliveredLate(ByteBuf key, int index, int length) {
            context.listener().onDeliveredLate(view, key, index, length);
        }

        @Override
        public void onKeysFlushed() {
            flushReports.onFlushed(sender.isConnected());
        }

        @Override
        public void onWakeUpsRejected(String problem) {
            view.wakeUpProblem = problem;
        }

        @Override
        public void onHealthChange(String text) {
            view.log(Level.INFO, text);
            context.listener().onHealthChange(view);
        }

        @Override
        public void onForbidden(String problem) {
            view.log(Level.WARNING, "no votes for readers and writers: " + problem);
        }
    }
}
