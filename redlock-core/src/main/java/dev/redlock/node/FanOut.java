package dev.redlock.node;

import dev.redlock.quorum.Token;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Writes a command once and sends the same bytes to every node.
 *
 * <p>Commands collect in one {@link SharedBatch} for the rest of the turn. The event loop runs its task queue
 * until it is empty before it polls its sockets, and the flush is the last task. So all commands of one turn leave in
 * one write per node.
 *
 * @threading event-loop-confined
 */
public final class FanOut implements RejectedSends.Listener {

    /** A token with the longest label, as a bulk string. */
    private static final int VALUE_BYTES_MAX = 32 + Token.LABEL_LENGTH_MAX;

    private final EventLoop loop;
    private final DirectBuffers buffers;
    /** The senders by voter. */
    private final CommandSender[] senders;
    /** The connections by voter; null without one. */
    private final NodeConnection[] connections;
    /** Null without a cluster. */
    private ClusterRoutes routes;
    /** The nodes that get releases and queries, as a mask; also the ones in {@link #open}. */
    private long connected;
    /** The nodes that get every command, as a mask. */
    private long open;
    /** The nodes with a command of their own for the release of a plain lock, as a mask. */
    private long nativeReleases;
    /** The nodes with a command of their own for the extension of a plain lock, as a mask. */
    private long nativeExtensions;
    /** The nodes that push changes of keys, as a mask. */
    private long pushing;
    private final Runnable flushTask = this::flush;
    private final CommandBatches batches;
    private final DeferredCommands deferred;
    private final boolean hasBatches;
    private final RejectedSends rejectedSends = new RejectedSends(this);
    private final SharedBatch batch;
    private boolean hasRejected;
    private boolean isFlushScheduled;
    private boolean isNextTurnScheduled;

    /**
     * A fan-out without nodes; each {@link Node} adds itself.
     *
     * @param loop            the event loop of all nodes
     * @param buffers         allocates the batches
     * @param nodeCount       the number of nodes
     * @param batchMax        most releases in one script call, 1 to 64; and most extensions, up to 32
     */
    public FanOut(EventLoop loop, DirectBuffers buffers, int nodeCount,
            int batchMax) {
        this.batches = new CommandBatches(this, batchMax);
        this.deferred = new DeferredCommands(this, batches);
        this.hasBatches = batchMax > 1;
        this.loop = loop;
        this.buffers = buffers;
        this.senders = new CommandSender[nodeCount];
        this.connections = new NodeConnection[nodeCount];
        this.batch = new SharedBatch(buffers, connections);
    }

    void add(CommandSender sender) {
        senders[sender.nodeIndex()] = sender;
        update(sender);
    }

    /** A sender has another connection, accepts other commands than before, or has other encodings of them. */
    void update(CommandSender sender) {
        int i = sender.nodeIndex();
        if (senders[i] == sender) {
            long bit = 1L << i;
            connections[i] = sender.connection();
            ServerCapabilities capabilities = sender.capabilities();
            connected = with(bit, sender.isConnected(), connected);
            open = with(bit, sender.isOpen(), open);
            pushing = with(bit, sender.isPushing, pushing);
            nativeReleases = with(bit, capabilities.releaseEncoding() != CommandEncoding.SCRIPT, nativeReleases);
            nativeExtensions = with(bit, capabilities.extendEncoding() != CommandEncoding.SCRIPT, nativeExtensions);
        }
    }

    private static long with(long bit, boolean isIn, long mask) {
        return isIn ? mask | bit : mask & ~bit;
    }

    /** Adds a voter that is a cluster; the sender is that of a key without a known owner. */
    void add(SlotOwners owners, CommandSender unrouted) {
        add(unrouted);
        if (routes == null) {
            routes = new ClusterRoutes(this, senders, connections);
            batch.setRoutes(routes);
        }
        routes.add(owners, unrouted.nodeIndex());
    }

    /** Sets the servers of a cluster. */
    void setMembers(int voterIndex, CommandSender[] members) {
        routes.setMembers(voterIndex, members);
    }

    /**
     * Sends one command to the nodes of a mask. A node that cannot get it is reported by {@link LockRequest#onNotSent}:
     * <ul>
     * <li>for an acquire and a ttl query before this method returns, after the command is queued for all other nodes;
     * <li>for any other command at the end of this turn.
     * </ul>
     *
     * <p>So a command that the report causes cannot overtake this one.
     *
     * @param request  the claim
     * @param kind     which command
     * @param sequence passed back with each outcome
     * @param mask     the nodes, node i as bit i
     * @return the nodes that the command is sent to, as a mask
     */
    public long send(LockRequest request, CommandKind kind, int sequence, long mask) {
        if (batches.isCollecting && deferred.mightContain(request)) {
            // A later command for the same resource must not overtake its release or extension.
            deferred.sealCollected();
        }
        return sendNow(request, kind, sequence, mask);
    }

    long sendNow(LockRequest request, CommandKind kind, int sequence, long mask) {
        long left = routes == null ? mask : mask & ~routes.route(request, kind.isVote);
        long sent = 0;
        if (request.lockKind() == LockKind.PLAIN && natives(kind) == 0) {
            boolean isSet = kind == CommandKind.ACQUIRE && !request.isRemainingTtlWanted();
            sent = sendEncoded(request, kind, isSet ? CommandEncoding.PLAIN_SET : kind.encoding, sequence, left);
            left = 0;
        }
        while (left != 0) {
            // The nodes may have different commands.
            CommandEncoding encoding = encodingOf(request, kind, Long.numberOfTrailingZeros(left));
            long group = withEncoding(request, kind, encoding, left);
            sent |= sendEncoded(request, kind, encoding, sequence, group);
            left &= ~group;
        }
        scheduleFlush();
        long unsent = mask & ~sent;
        if (unsent != 0 && (kind.isAcquire || kind == CommandKind.REMAINING_TTL)) {
            onRejected(request, kind, sequence, unsent);
        } else if (unsent != 0) {
            rejectedSends.add(request, kind, sequence, unsent);
            hasRejected = true;
        }
        return sent;
    }

    private CommandEncoding encodingOf(LockRequest request, CommandKind kind, int index) {
        return senders[index].capabilities().encodingOf(request, kind);
    }

    /** The nodes of a mask with the same encoding of the command. */
    private long withEncoding(LockRequest request, CommandKind kind, CommandEncoding encoding,
            long mask) {
        long group = 0;
        for (int i = 0; i < senders.length; i++) {
            group |= encodingOf(request, kind, i) == encoding ? 1L << i : 0;
        }
        return group & mask;
    }

    private long sendEncoded(LockRequest request, CommandKind kind, CommandEncoding encoding,
            int sequence, long mask) {
        if (mask == 0) {
            return 0;
        }
        int room = roomFor(request, kind);
        ByteBuf out = withRoom(encoding == CommandEncoding.MSETEX ? room + roomForValues(request) : room);
        if (out == null) {
            return 0;
        }
        if (routes != null) {
            // Room may have taken a flush, whose events send other commands.
            routes.route(request, false);
        }
        int start = out.writerIndex();
        boolean isWakeUpWanted = kind.mayRegister && request.isWakeUpWanted();
        if (isWakeUpWanted) {
            WakeUpRequest.writeTo(out);
        }
        int commandStart = out.writerIndex();
        if (encoding == CommandEncoding.SCRIPT) {
            LockScripts.writeEvalSha(out, kind, request);
        } else {
            NativeCommands.write(out, encoding, request, sequence);
        }
        int tag = RequestRing.tag(kind, encoding, sequence, false);
        return isWakeUpWanted
                ? enqueueWithWakeUp(request, kind, tag, mask, out, start, commandStart)
                : enqueue(request, kind, tag, mask, out, start);
    }

    /** Adds a request, whose bytes end the shared batch, for the nodes of a mask. Returns those that accept it. */
    long enqueue(InFlightRequest request, CommandKind kind, int tag, long mask, ByteBuf out, int start) {
        int end = out.writerIndex();
        long sent = 0;
        for (long left = mask & (kind.isVote ? open : connected); left != 0; left &= left - 1) {
            boolean isSent = connections[Long.numberOfTrailingZeros(left)].offer(request, tag, end - start);
            sent |= isSent ? Long.lowestOneBit(left) : 0;
        }
        if (routes != null) {
            routes.copy(sent, out, start, end);
        }
        if (sent != connected) {
            skip(sent, out, start, end);
        }
        return sent;
    }

    /** As above. A node that pushes no changes of keys gets the command without the registration. */
    private long enqueueWithWakeUp(LockRequest request, CommandKind kind, int tag, long mask, ByteBuf out, int start,
            int commandStart) {
        int end = out.writerIndex();
        long sent = 0;
        for (long left = mask & (kind.isVote ? open : connected); left != 0; left &= left - 1) {
            NodeConnection connection = connections[Long.numberOfTrailingZeros(left)];
            boolean isSent = (pushing & Long.lowestOneBit(left)) != 0
                    ? connection.offerWithWakeUp(request, tag, end - start)
                    : connection.offer(request, tag, end - start);
            sent |= isSent ? Long.lowestOneBit(left) : 0;
        }
        if (routes != null) {
            routes.copy(sent & pushing, out, start, end);
            routes.copy(sent & ~pushing, out, commandStart, end);
        }
        skip(~sent | pushing, out, start, commandStart);
        skip(sent, out, start, end);
        return sent;
    }

    /** Leaves a range of the shared batch out for the nodes that do not get it. */
    private void skip(long sent, ByteBuf out, int start, int end) {
        for (long left = connected & ~sent; left != 0; left &= left - 1) {
            connections[Long.numberOfTrailingZeros(left)].skip(out, start, end);
        }
    }

    // ---- batches ----------------------------------------------------------------------------------------------------

    /**
     * Sends a release at the end of this turn.
     * <ul>
     * <li>A node without a conditional delete gets one script call for all its releases, which costs it less than one
     * call each.
     * <li>A node with a conditional delete gets one for each release, which costs it less than its share of the script.
     * <li>Locks of other kinds than {@link LockKind#PLAIN} are released at once, each by a script of its own.
     * </ul>
     *
     * <p>No command for the same resource overtakes the release. A node that cannot get it is reported by {@link
     * LockRequest#onNotSent} at the end of the turn.
     *
     * @param request the claim, whose token the nodes release
     * @param kind    {@link CommandKind#RELEASE} or {@link CommandKind#RELEASE_FENCED}
     * @param mask    the nodes, node i as bit i
     */
    public void release(LockRequest request, CommandKind kind, long mask) {
        if (isBatched(request, kind)) {
            deferred.collect(request, kind, 0, mask);
        } else {
            send(request, kind, 0, mask);
        }
    }

    /**
     * Sends an extension at the end of this turn, batched as {@link #release} does. Its order with the releases
     * and the other commands for the resource is kept.
     *
     * @param request  the claim
     * @param sequence passed back with each outcome
     * @param mask     the nodes, node i as bit i
     * @return false if it is not batched and not sent: {@link #send} it
     */
    public boolean extend(LockRequest request, int sequence, long mask) {
        if (!isBatched(request, CommandKind.EXTEND)) {
            return false;
        }
        if (batches.isCollecting && deferred.mightContain(request)) {
            deferred.sealCollected();
        }
        deferred.collect(request, CommandKind.EXTEND, sequence, mask);
        return true;
    }

    private boolean isBatched(LockRequest request, CommandKind kind) {
        return hasBatches && request.lockKind() == LockKind.PLAIN && isBatchUseful(kind);
    }

    /** Whether a node needs the script. True also without any connected node. */
    private boolean isBatchUseful(CommandKind kind) {
        long natives = natives(kind);
        return (connected & ~natives) != 0 || (connected & natives) == 0;
    }

    /** The nodes with a command of their own for a plain lock, as a mask. */
    long natives(CommandKind kind) {
        return kind == CommandKind.RELEASE ? nativeReleases : kind == CommandKind.EXTEND ? nativeExtensions : 0;
    }

    /** Writes the collected commands, so that later ones follow them. */
    void sealBatches() {
        deferred.sealCollected();
    }

    void onBatchOutcome(CommandBatch commands) {
        batches.onOutcome(commands);
    }

    /** Whether {@link #flushLast} was called since the last flush. */
    public boolean isLastNodeChosen() {
        return batch.lastNode != SharedBatch.ANY_NODE;
    }

    /**
     * Chooses the node that gets the commands of this turn last: the one whose push wakes the waiters of a
     * released lock. One node for all releases, because most turns with a contended release have no other.
     *
     * @param nodeIndex -1 for any
     */
    public void flushLast(int nodeIndex) {
        batch.lastNode = nodeIndex;
    }

    // ---- rejected sends ---------------------------------------------------------------------------------------------

    /** Reports to a request the nodes that it was not sent to. */
    @Override
    public void onRejected(LockRequest request, CommandKind kind, int sequence, long unsent) {
        for (long left = unsent; left != 0; left &= left - 1) {
            int index = Long.numberOfTrailingZeros(left);
            request.onNotSent(index, kind, sequence, whyUnsent(request, kind, index));
        }
    }

    @Override
    public void onRejected(CommandBatch commands, long unsent) {
        batches.report(commands, unsent);
    }

    /** Reports at the end of the turn the nodes that a batch was not sent to. */
    void reject(CommandBatch commands, long unsent) {
        rejectedSends.add(commands, unsent);
        hasRejected = true;
    }

    /** The reason now. If there is none any more, or the command did not fit, the reason was back-pressure. */
    VoteFailure whyUnsent(SlotKey key, CommandKind kind, int index) {
        boolean isSilent = routes != null && (routes.route(key, kind.isVote) & 1L << index) != 0;
        VoteFailure refusal = isSilent ? VoteFailure.SLOT_MOVED : senders[index].refusalOf(kind);
        return refusal == VoteFailure.NONE ? VoteFailure.BACK_PRESSURE : refusal;
    }

    // ---- batch and flush --------------------------------------------------------------------------------------------

    /** Capacity that {@code MSETEX} needs beyond {@link #roomFor}: it has the token once for each key. */
    static int roomForValues(LockRequest command) {
        return command.keyCount() * VALUE_BYTES_MAX;
    }

    /** Capacity for a command in any encoding but {@code MSETEX}. */
    static int roomFor(LockRequest command, CommandKind kind) {
        int counterLength = kind.isCounterNamed ? command.counterBulk().length : 0;
        return WakeUpRequest.COMMAND_BYTES + LockScripts.COMMAND_OVERHEAD_BYTES + command.resourceBulk().length
                + counterLength;
    }

    /** Where the part of a node starts that can be sent to from now on. */
    int batchIndex() {
        return batch.writerIndex();
    }

    /** Writes a node's part of the batch so far to its connection, so that a command of its own can follow. */
    void writeShared(NodeConnection connection) {
        batch.writeTo(connection);
    }

    /** The batch, with room; null if there is none: each command without room is reported as not sent. */
    ByteBuf withRoom(int bytes) {
        try {
            return batch.withRoom(bytes);
        } catch (RuntimeException | Error e) {
            // A caller does not know how many nodes will reply to a send that throws.
            Log.error("commands are not sent: their buffer threw", e);
            return null;
        }
    }

    /** Flushes at the end of this turn. */
    void scheduleFlush() {
        if (!isFlushScheduled) {
            try {
                // The flag is set afterwards: if this throws, the next call must schedule the flush.
                loop.execute(flushTask);
            } catch (RejectedExecutionException e) {
                // The loop terminates; close() completes the open requests.
            }
            isFlushScheduled = true;
        }
    }

    /** A scheduled task runs in the next turn; an executed one would run in this turn. */
    private void flushInNextTurn() {
        if (!isNextTurnScheduled) {
            loop.schedule(() -> {
                isNextTurnScheduled = false;
                flush();
            }, 0, TimeUnit.NANOSECONDS);
            isNextTurnScheduled = true;
        }
    }

    /** Null without a cluster. */
    ClusterRoutes routes() {
        return routes;
    }

    /**
     * The nodes that vote on a key now.
     *
     * @param key the key
     * @return the nodes, as a mask
     */
    public long votingMask(SlotKey key) {
        long silent = routes == null ? 0 : routes.route(key, true);
        return open & ~silent;
    }

    /** The nodes that get releases and queries, as a mask. */
    long connected() {
        return connected;
    }

    DirectBuffers buffers() {
        return buffers;
    }

    /** {@code TIME}, owned by the caller; null if there is no memory for it. */
    ByteBuf timeCommand() {
        return batch.timeCommand();
    }

    private void flush() {
        // Also in the flush of the next turn: commands from here on leave with it, or one turn later.
        isFlushScheduled = true;
        try {
            if (batches.isCollecting) {
                deferred.sealCollected();
            }
            if (hasRejected) {
                rejectedSends.report();
                hasRejected = !rejectedSends.isEmpty();
            }
            if (batches.isCollecting) {
                // Again, for releases and extensions that the reports have caused.
                deferred.sealCollected();
            }
        } finally {
            isFlushScheduled = false;
            batch.flush();
            if (batches.isCollecting && !isFlushScheduled || hasRejected && !rejectedSends.isEmpty()) {
                // In the next turn: a caller that retries at once must not block the sockets.
                flushInNextTurn();
            }
        }
    }

    /** Frees memory that was not needed since the last call. To be called at regular intervals. */
    public void trim() {
        batches.trim();
        rejectedSends.trim();
    }

    /** Reports all rejected sends and releases the buffers. */
    public void close() {
        while (batches.isCollecting || !rejectedSends.isEmpty()) {
            deferred.sealCollected();
            rejectedSends.report();
        }
        free();
    }

    /** Releases the buffers and does nothing else. Any thread, once the event loop has terminated. */
    public void free() {
        batch.free();
    }
}
