package dev.redlock.node.send;

import dev.redlock.resp.RespCommand;
import dev.redlock.resp.RespValue;
import dev.redlock.telemetry.Counters;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/**
 * Sends commands to one node over its current connection and passes the replies to the requests.
 *
 * <p>Guarantees:
 * <ul>
 * <li>Commands reach the node in the order in which they were enqueued.
 * <li>A command is not sent again on another connection.
 * <li>Each enqueued request gets exactly one outcome.
 * </ul>
 *
 * @threading event-loop-confined
 */
public final class CommandSender implements PushReader.Listener {

    /**
     * What the node gets now.
     *
     * @threading immutable
     */
    public enum Gate {
        /** No lock command: the node is not connected. */
        CLOSED,
        /** Releases and queries only: the node does not vote. */
        RELEASES,
        /** Also the extensions of leases that outlive a failover or a restart; the only voter was replaced. */
        EXTENSIONS,
        /** Every command. */
        OPEN
    }

    /**
     * Gets what the replies of the node show beside the outcomes of requests.
     *
     * @threading event-loop-confined
     */
    public interface Listener {

        /** A key that a refused acquire has registered has changed. The bytes are borrowed for this call. */
        void onInvalidated(ByteBuf key, int index, int length);

        /** The event loop has another place among waiting clients. The bytes are borrowed for this call. */
        void onMessage(byte word, ByteBuf key, int index, int length);

        /** A release that could not be sent in time has deleted a key. The bytes are borrowed for this call. */
        void onDeliveredLate(ByteBuf key, int index, int length);

        /** The server was flushed, which may happen during the handshake too. */
        void onKeysFlushed();

        /** The node pushes no changes of keys from now on. */
        void onWakeUpsRejected(String problem);

        /** The node answers a kind of command with errors from now on, or no longer. The text is for the log. */
        void onHealthChange(String text);

        /** The node does not get an acquire, because the user may not run its release. */
        void onForbidden(String problem);
    }

    /**
     * The cluster of the node: it learns from its errors about slots, and knows the other servers.
     *
     * @threading event-loop-confined
     */
    public interface Cluster {

        /**
         * The node has redirected a command.
         *
         * @return the sender of the server that gets the command instead; null if it is not known
         */
        CommandSender onRedirect(SlotKey key, SlotRedirect redirect);

        /**
         * The node has moved keys of a slot to another master. If the operator aborts the migration, the node grants
         * locks again whose keys are at the other master. So the slot is silent from the last such reply on.
         */
        void onMigration(SlotKey key);
    }

    final int nodeIndex;
    final Counters counters;
    private final NodeHealth health;
    final Listener listener;
    final SendContext context;
    final FanOut fanOut;
    /** Handles the errors of the node. */
    final CommandRetries retries;
    /** Has the releases that the node could not be sent; it sets itself. */
    UndeliveredRelease.Owner undelivered;
    /** Null unless the voter is a cluster. */
    final Cluster cluster;
    private Gate gate = Gate.CLOSED;
    private NodeConnection connection;
    private ServerCapabilities capabilities = ServerCapabilities.SCRIPTS;
    /** As {@link NodeHealth#isSuspicious}. */
    boolean isSuspicious;
    /** Whether the node pushes changes of keys that a command registers. */
    boolean isPushing;
    /** The kinds of locks whose scripts this connection was sent, as a mask of their ordinals. */
    private int preparedLocks;
    /** The same for all clients of the server while its process runs; 0 before the first handshake. */
    int identityHash;

    /** A sender without a connection; the cluster is null for a server that is in none. */
    public CommandSender(NodeStatistics statistics, SendContext context, FanOut fanOut, Listener listener,
            Cluster cluster) {
        this.cluster = cluster;
        this.nodeIndex = statistics.index();
        this.counters = statistics.counters();
        this.health = statistics.health();
        this.listener = listener;
        this.context = context;
        this.fanOut = fanOut;
        this.retries = new CommandRetries(this, fanOut);
    }

    // ---- the connection ---------------------------------------------------------------------------------------------

    /** Uses a new connection, for the handshake only. */
    public void attach(NodeConnection newConnection) {
        connection = newConnection;
        update();
    }

    /** The handshake is complete. */
    public void onHandshake(ServerCapabilities newCapabilities) {
        retries.onHandshake();
        preparedLocks = 0;
        health.onRightsProven(nowNs());
        isSuspicious = health.isSuspicious();
        connection.startSegment(fanOut.batch.writerIndex());
        setCapabilities(newCapabilities);
    }

    private void update() {
        isPushing = isConnected() && capabilities.wakeUpProblem() == null;
        fanOut.update(this);
    }

    public ServerCapabilities capabilities() {
        return capabilities;
    }

    void setCapabilities(ServerCapabilities newCapabilities) {
        capabilities = newCapabilities;
        update();
    }

    public void setGate(Gate newGate) {
        gate = newGate;
        if (newGate == Gate.CLOSED && connection != null) {
            connection.endSegment();
        }
        update();
    }

    /** The connection is no longer used. */
    public void detach() {
        setGate(Gate.CLOSED);
        connection = null;
        update();
    }

    /** Whether commands can be sent; not during the handshake. */
    public boolean isConnected() {
        return gate != Gate.CLOSED;
    }

    /** Whether the node pushes changes of keys that a command registers. */
    public boolean hasWakeUps() {
        return isPushing;
    }

    /** Whether the node sends messages to waiting clients. The head of a queue needs the push of a release too. */
    public boolean hasWakeChannel() {
        return isPushing && capabilities.pushes().hasChannel();
    }

    /** Sets the hash of the server's identity. */
    public void setIdentityHash(int hash) {
        identityHash = hash;
    }

    /** Whether every command can be sent. */
    boolean isOpen() {
        return gate == Gate.OPEN;
    }

    /** Whether extensions can be sent, of all commands that need a vote. */
    boolean isExtending() {
        return gate == Gate.EXTENSIONS || isOpen();
    }

    /** Whether the server is one of a cluster. */
    public boolean isOfCluster() {
        return cluster != null;
    }

    boolean isCongested() {
        return connection.isCongested();
    }

    /** Null without a connection. */
    NodeConnection connection() {
        return connection;
    }

    // ---- sending ----------------------------------------------------------------------------------------------------

    /** Why a command would not be sent now; {@link VoteFailure#NONE} if it would. */
    VoteFailure refusalOf(CommandKind kind) {
        if (gate == Gate.CLOSED) {
            return VoteFailure.NOT_CONNECTED;
        }
        if (kind.isVote && !(kind == CommandKind.EXTEND ? isExtending() : isOpen())) {
            return VoteFailure.QUARANTINED;
        }
        return connection.isCongested() ? VoteFailure.BACK_PRESSURE : VoteFailure.NONE;
    }

    /** Whether the node must not get an acquire, because the user could not release it. The log shows the right. */
    boolean isForbidden(LockKind lock, CommandKind kind) {
        boolean isForbidden = isOpen() && capabilities.isForbidden(lock, kind);
        if (isForbidden) {
            listener.onForbidden(capabilities.readWriteProblem());
        }
        return isForbidden;
    }

    /**
     * Sends the scripts that a kind of lock needs before its first acquire on this connection. Without
     * its script a node answers a release by {@code NOSCRIPT}, and gets it again: behind the next acquire of the same
     * resource, which the old key refuses.
     */
    void prepare(LockKind lock) {
        int bit = 1 << lock.ordinal();
        if ((preparedLocks & bit) == 0 && refusalOf(CommandKind.ACQUIRE) == VoteFailure.NONE) {
            preparedLocks |= bit;
            for (byte[] source : ScriptSources.ofCycle(lock)) {
                sendValue(scriptLoad(source), reply -> {
                    // After an error NOSCRIPT asks for it.
                });
            }
        }
    }

    /** Writes a command after the collected batches and the node's part of the shared batch. */
    boolean write(InFlightRequest request, int tag, ByteBuf command, boolean isRegistering) {
        fanOut.sealBatches();
        fanOut.batch.writeTo(connection);
        return write(command, isRegistering && request instanceof LockRequest lockRequest
                ? connection.addWithWakeUp(lockRequest, tag)
                : connection.add(request, tag));
    }

    /** As {@link #write} for a command that starts with {@code ASKING}. */
    boolean writeAsking(InFlightRequest request, int tag, ByteBuf command) {
        fanOut.sealBatches();
        fanOut.batch.writeTo(connection);
        return write(command, isConnected() && connection.addWithAsking(request, tag));
    }

    private boolean write(ByteBuf command, boolean isRequestAdded) {
        if (isRequestAdded) {
            connection.write(command);
            fanOut.scheduleFlush();
        } else {
            command.release();
        }
        return isRequestAdded;
    }

    /**
     * Sends a request of the client itself.
     *
     * @param command its bytes, which belong to this call; null if there was no memory for them
     * @param handler gets the reply, which may be an error; null if the connection was lost before it
     * @return false if there is no memory for it
     */
    public boolean sendValue(ByteBuf command, Consumer<RespValue> handler) {
        return sendValue(command, new ValueRequest(handler));
    }

    /**
     * Subscribes to the channel of the event loop.
     *
     * @param handler gets {@link ValueRequest#SUBSCRIBED}, which is the only push among replies, or an ordinary reply;
     *                null if the connection was lost before it
     * @return false if there is no memory for it
     */
    public boolean sendSubscribe(Consumer<RespValue> handler) {
        return sendValue(command("SUBSCRIBE", context.waiter().channel()), new ValueRequest(handler, true));
    }

    private boolean sendValue(ByteBuf command, ValueRequest request) {
        if (command == null) {
            return false;
        }
        if (isConnected()) {
            fanOut.batch.writeTo(connection);
        }
        return write(command, connection.add(request, 0));
    }

    /** A command of the client itself, in UTF-8; null if there is no memory for it. */
    public ByteBuf command(String... words) {
        RespCommand command = RespCommand.of(words);
        ByteBuf out = fanOut.batch.buffers.take(command.constantLength());
        if (out != null) {
            command.writeTo(out);
        }
        return out;
    }

    /** {@code SCRIPT LOAD source}; null if there is no memory for it. */
    public ByteBuf scriptLoad(byte[] source) {
        return command("SCRIPT", "LOAD", new String(source, StandardCharsets.US_ASCII));
    }

    /** {@code TIME}; null if there is no memory for it. */
    public ByteBuf timeCommand() {
        return fanOut.batch.timeCommand();
    }

    // ---- replies ----------------------------------------------------------------------------------------------------

    void onReply(LockRequest request, int tag, long value) {
        CommandKind kind = RequestRing.kindOf(tag);
        if (kind.isAcquire) {
            counters.add((value > 0 ? NodeCounter.GRANTED : NodeCounter.REFUSED).ordinal(), 1);
        }
        String recovery = recordRecovery(kind, value);
        request.onReply(nodeIndex, kind, RequestRing.detailOf(tag), value);
        if (recovery != null) {
            logHealth(recovery);
        }
    }

    /** Called regularly while the node is connected. */
    public void onTick(long nowNs) {
        if (isSuspicious) {
            onHealthChange(health.forget(nowNs));
        }
    }

    /** Whether acquires fail. */
    public boolean isAcquireFailing() {
        return isSuspicious && health.isAcquireFailing();
    }

    /** The node has answered whether it accepts a write: the first word of its error, or null. */
    public void onWriteAnswer(String errorCode) {
        onHealthChange(health.onWriteAnswer(errorCode, nowNs()));
    }

    private void onHealthChange(String change) {
        isSuspicious = health.isSuspicious();
        logHealth(change);
    }

    /** Whether releases fail, maybe for lack of a right. */
    public boolean isReleaseForbidden() {
        return isSuspicious && health.isReleaseForbidden();
    }

    /** Null, the reply to a SET that did not set the key. */
    void onSetRefused(LockRequest request, int tag) {
        if (RequestRing.kindOf(tag).isAcquire) {
            onReply(request, tag, LockRequest.REFUSED_TTL_UNKNOWN);
        } else {
            retries.onSetIfEqualRefused(request, tag);
        }
    }

    void onUnknown(LockRequest request, int tag) {
        if (RequestRing.encodingOf(tag).mayShorten()) {
            request.onMayShortenLate(nodeIndex, RequestRing.detailOf(tag));
        }
        request.onUnknown(nodeIndex, RequestRing.kindOf(tag), RequestRing.detailOf(tag));
    }

    /** The number of outcomes in the reply of this node. */
    int lengthOf(CommandBatch commands) {
        return Long.bitCount(commands.requestsOf(nodeIndex));
    }

    void onBatchReply(CommandBatch commands, BatchReply reply) {
        int index = 0;
        for (long left = commands.requestsOf(nodeIndex); left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            int tag = singleTag(commands, i, false);
            if (reply.failure(index) == VoteFailure.NONE) {
                onReply(commands.request(i), tag, reply.value(index));
            } else {
                retries.onError(commands.request(i), tag, reply.failure(index), reply.errorCode(index), null);
            }
            index++;
        }
        fanOut.onBatchOutcome(commands);
    }

    /** The node has set all keys of a batch, or none. */
    void onAcquiresReply(CommandBatch commands, long value) {
        if (value == 1) {
            for (long left = commands.requestsOf(nodeIndex); left != 0; left &= left - 1) {
                int i = Long.numberOfTrailingZeros(left);
                onReply(commands.request(i), singleTag(commands, i, false), 1);
            }
            fanOut.onBatchOutcome(commands);
        } else {
            fanOut.onAcquiresRefused();
            retries.sendEachAcquire(commands);
        }
    }

    /** The tag that a request of a batch has as a command of its own. */
    static int singleTag(CommandBatch commands, int index, boolean isSecondTry) {
        return RequestRing.tag(commands.single, CommandEncoding.SCRIPT, commands.detail(index), isSecondTry);
    }

    void onBatchUnknown(CommandBatch commands) {
        commands.onUnknown(nodeIndex);
        fanOut.onBatchOutcome(commands);
    }

    // ---- pushes -----------------------------------------------------------------------------------------------------

    /** The node rejects the registration: the client polls this node from now on. */
    void onWakeUpRejected(String errorCode) {
        setCapabilities(capabilities.withWakeUpProblem("CLIENT CACHING failed: " + errorCode));
        listener.onWakeUpsRejected(capabilities.wakeUpProblem());
    }

    /** A registered key has changed. The bytes are borrowed. */
    @Override
    public void onInvalidated(ByteBuf key, int index, int length) {
        if (connection == null) {
            return;
        }
        if (!connection.wakeUps.onPush(nowNs())) {
            failForPushes();
        } else if (isConnected()) {
            listener.onInvalidated(key, index, length);
        }
    }

    /** The server was flushed, which may happen during the handshake too. */
    @Override
    public void onKeysFlushed() {
        if (onOtherPush(1)) {
            listener.onKeysFlushed();
        }
    }

    @Override
    public void onMessage(byte word, ByteBuf key, int index, int length) {
        if (connection == null) {
            return;
        }
        if (!connection.wakeUps.onMessage(nowNs())) {
            failForPushes();
        } else if (isConnected()) {
            listener.onMessage(word, key, index, length);
        }
    }

    /** Counts a push about no key; false if its connection is not used any more. */
    @Override
    public boolean onOtherPush(int weight) {
        boolean isUsed = connection != null;
        if (isUsed && !connection.wakeUps.onOtherPush(nowNs(), weight)) {
            failForPushes();
        }
        return isUsed;
    }

    private void failForPushes() {
        connection.fail("the server sent more than " + WakeUps.EXCESS_MAX
                + " pushes within a second that the client did not register for");
    }

    // ---- health -----------------------------------------------------------------------------------------------------

    /** The node has replied without an error; returns a sentence if it is found to have recovered, else null. */
    String recordRecovery(CommandKind kind, long value) {
        if (!isSuspicious) {
            return null;
        }
        String recovery = health.onReply(kind, value <= 0, nowNs());
        isSuspicious = health.isSuspicious();
        return recovery;
    }

    /**
     * Counts an error; returns the problem if the node is found to fail with it, else null. The connection ends if the
     * error is of the server.
     */
    String recordError(CommandKind kind, VoteFailure failure, String errorCode) {
        counters.add(NodeCounter.ERRORS.ordinal(), 1);
        if (failure.isOfServer() && connection != null) {
            connection.endAfterRead("the server answered " + errorCode + ": " + ErrorAdvice.of(failure));
        }
        String problem = health.onError(kind, errorCode, nowNs());
        isSuspicious = health.isSuspicious();
        return problem;
    }

    void logHealth(String change) {
        if (change != null) {
            listener.onHealthChange(change);
        }
    }

    private long nowNs() {
        return context.clock().nanoTime();
    }
}
