package dev.redlock.node;

import dev.redlock.quorum.Token;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Writes a command once and sends the same bytes to every node.
 *
 * <p>Commands collect in one {@link SharedBatch} for the rest of the duty cycle. The event loop runs its task queue
 * until it is empty before it polls its sockets, and the flush is the last task. So all commands of one turn leave in
 * one write per node.
 *
 * @threading event-loop-confined
 */
public final class FanOut {

    /** Bytes of keys that are enough for one script call. */
    private static final int KEY_BYTES_MAX = 16 * 1024;
    /** An extension takes a node longer than a release: this many block it for less time than 64 releases. */
    private static final int EXTENSIONS_MAX = 32;
    private static final long ALL = -1L;
    /** A token with the longest label, as a bulk string. */
    private static final int VALUE_BYTES_MAX = 32 + Token.LABEL_LENGTH_MAX;

    private final EventLoop loop;
    private final DirectBuffers buffers;
    /** The senders by voter. */
    private final CommandSender[] senders;
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
    private final Runnable flushTask = this::flush;
    private final CommandBatcher plain;
    private final CommandBatcher fenced;
    private final CommandBatcher extensions;
    private final ResourceFilter filter = new ResourceFilter();
    private final RejectedSends rejectedSends = new RejectedSends();
    private final SharedBatch batch;
    /** Whether any batcher has commands. */
    private boolean isCollecting;
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
        this.plain = new CommandBatcher(CommandKind.RELEASE_MANY, batchMax);
        this.fenced = new CommandBatcher(CommandKind.RELEASE_MANY_FENCED, batchMax);
        this.extensions = new CommandBatcher(CommandKind.EXTEND_MANY, Math.min(batchMax, EXTENSIONS_MAX));
        this.loop = loop;
        this.buffers = buffers;
        this.senders = new CommandSender[nodeCount];
        this.batch = new SharedBatch(buffers, senders);
    }

    void add(CommandSender sender) {
        senders[sender.nodeIndex()] = sender;
        update(sender);
    }

    /** A sender accepts other commands than before, or has other encodings of them. */
    void update(CommandSender sender) {
        int i = sender.nodeIndex();
        if (senders[i] == sender) {
            long bit = 1L << i;
            connected = sender.isConnected() ? connected | bit : connected & ~bit;
            open = sender.isOpen() ? open | bit : open & ~bit;
            nativeReleases = sender.isNative(CommandKind.RELEASE) ? nativeReleases | bit : nativeReleases & ~bit;
            nativeExtensions = sender.isNative(CommandKind.EXTEND) ? nativeExtensions | bit : nativeExtensions & ~bit;
        }
    }

    /** Adds a voter that is a cluster; the sender is that of a key without a known owner. */
    void add(ClusterVoter cluster, CommandSender unrouted) {
        add(unrouted);
        if (routes == null) {
            routes = new ClusterRoutes(this, senders);
            batch.setRoutes(routes);
        }
        routes.add(cluster, unrouted.nodeIndex());
    }

    /** Sets the servers of a cluster. */
    void setMembers(int voterIndex, MemberSender[] members) {
        routes.setMembers(voterIndex, members);
    }

    /**
     * Sends one command to the nodes of a mask. A node that cannot get it is reported by {@link LockRequest#onNotSent}:
     * <ul>
     * <li>for an acquire and a ttl query before this method returns, after the command is queued for all other nodes;
     * <li>for any other command at the end of this duty cycle.
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
        if (isCollecting && filter.mightContain(request)) {
            // A later command for the same resource must not overtake its release or extension.
            sealBatches();
        }
        return sendNow(request, kind, sequence, mask);
    }

    private long sendNow(LockRequest request, CommandKind kind, int sequence, long mask) {
        long left = routes == null ? mask : mask & ~routes.route(request, kind.isVote);
        long sent = 0;
        while (left != 0) {
            // One pass, unless the nodes have different commands.
            CommandEncoding encoding = senders[Long.numberOfTrailingZeros(left)].encodingOf(request, kind);
            long group = isEncodedByNode(request, kind) ? withEncoding(request, kind, encoding, left) : left;
            sent |= sendEncoded(request, kind, encoding, sequence, group);
            left &= ~group;
        }
        scheduleFlush();
        long unsent = mask & ~sent;
        if (unsent != 0 && (kind.isAcquire || kind == CommandKind.REMAINING_TTL)) {
            report(request, kind, sequence, unsent);
        } else if (unsent != 0) {
            rejectedSends.add(request, kind, sequence, unsent);
            hasRejected = true;
        }
        return sent;
    }

    /** Whether nodes may have different encodings of the command. */
    private boolean isEncodedByNode(LockRequest request, CommandKind kind) {
        return natives(kind) != 0 || kind == CommandKind.ACQUIRE && request.lockKind() == LockKind.SET;
    }

    /** The nodes of a mask with the same encoding of the command. */
    private long withEncoding(LockRequest request, CommandKind kind, CommandEncoding encoding,
            long mask) {
        long group = 0;
        for (CommandSender sender : senders) {
            if (sender.encodingOf(request, kind) == encoding) {
                group |= 1L << sender.nodeIndex();
            }
        }
        return group & mask;
    }

    private long sendEncoded(LockRequest request, CommandKind kind, CommandEncoding encoding,
            int sequence, long mask) {
        ByteBuf out = withRoom(roomFor(request, kind, encoding));
        if (out == null) {
            return 0;
        }
        if (routes != null) {
            // Room may have taken a flush, whose events send other commands.
            routes.route(request, false);
        }
        int start = out.writerIndex();
        boolean isWakeUpWanted = kind.mayRegister() && request.isWakeUpWanted();
        if (isWakeUpWanted) {
            WakeUpRequest.writeTo(out);
        }
        int commandStart = out.writerIndex();
        if (encoding == CommandEncoding.SCRIPT) {
            LockScripts.writeEvalSha(out, kind, request);
        } else {
            NativeCommands.write(out, encoding, request, sequence);
        }
        int end = out.writerIndex();
        int tag = RequestRing.tag(kind, encoding, sequence, false);
        long sent = 0;
        for (long left = mask & (kind.isVote ? open : connected); left != 0; left &= left - 1) {
            CommandSender sender = senders[Long.numberOfTrailingZeros(left)];
            boolean isRegistering = isWakeUpWanted && sender.hasWakeUps();
            sent |= sender.enqueue(request, tag, isRegistering, end - start) ? Long.lowestOneBit(left) : 0;
        }
        if (isWakeUpWanted) {
            skipWakeUp(sent, out, start, commandStart, end);
        } else if (routes != null) {
            routes.copy(sent, out, start, end);
        }
        skip(sent, out, start, end);
        return sent;
    }

    /** Leaves a range of the shared batch out for the nodes that do not get it. */
    private void skip(long sent, ByteBuf out, int start, int end) {
        for (long left = connected & ~sent; left != 0; left &= left - 1) {
            senders[Long.numberOfTrailingZeros(left)].skip(out, start, end);
        }
    }

    /** Leaves the registration out for the nodes that do not push changes of keys. */
    private void skipWakeUp(long sent, ByteBuf out, int start, int commandStart, int end) {
        for (long left = sent; left != 0; left &= left - 1) {
            CommandSender sender = senders[Long.numberOfTrailingZeros(left)];
            if (sender.hasWakeUps()) {
                sender.copy(out, start, end);
            } else {
                sender.skip(out, start, commandStart);
                sender.copy(out, commandStart, end);
            }
        }
    }

    // ---- batches ----------------------------------------------------------------------------------------------------

    /**
     * Sends a release at the end of this duty cycle.
     * <ul>
     * <li>A node without a conditional delete gets one script call for all its releases, which costs it less than one
     * call each.
     * <li>A node with a conditional delete gets one for each release, which costs it less than its share of the script.
     * <li>Locks of other kinds than {@link LockKind#PLAIN} are released at once, each by a script of its own.
     * </ul>
     *
     * <p>No command for the same resource overtakes the release. A node that cannot get it is reported by {@link
     * LockRequest#onNotSent} at the end of the duty cycle.
     *
     * @param request the claim, whose token the nodes release
     * @param kind    {@link CommandKind#RELEASE} or {@link CommandKind#RELEASE_FENCED}
     * @param mask    the nodes, node i as bit i
     */
    public void release(LockRequest request, CommandKind kind, long mask) {
        CommandBatcher releases = kind == CommandKind.RELEASE ? plain : fenced;
        if (isBatched(request, releases)) {
            collect(request, releases, 0, mask);
        } else {
            send(request, kind, 0, mask);
        }
    }

    /**
     * Sends an extension at the end of this duty cycle, batched as {@link #release} does. Its order with the releases
     * and the other commands for the resource is kept.
     *
     * @param request  the claim
     * @param sequence passed back with each outcome
     * @param mask     the nodes, node i as bit i
     * @return false if it is not batched and not sent: {@link #send} it
     */
    public boolean extend(LockRequest request, int sequence, long mask) {
        if (!isBatched(request, extensions)) {
            return false;
        }
        if (isCollecting && filter.mightContain(request)) {
            sealBatches();
        }
        collect(request, extensions, sequence, mask);
        return true;
    }

    private boolean isBatched(LockRequest request, CommandBatcher batcher) {
        return batcher.lengthMax() > 1 && request.lockKind() == LockKind.PLAIN && isBatchUseful(batcher.single());
    }

    private void collect(LockRequest request, CommandBatcher batcher, int sequence, long mask) {
        CommandBatch pending = batcher.add(request, sequence, mask);
        filter.add(request);
        isCollecting = true;
        if (pending.length() >= batcher.lengthMax() || pending.keyBytes() > KEY_BYTES_MAX) {
            sealBatches();
        }
        scheduleFlush();
    }

    /** Whether {@link #flushLast} was called since the last flush. */
    public boolean isLastNodeChosen() {
        return batch.isLastNodeChosen();
    }

    /**
     * Chooses the node that gets the commands of this duty cycle last: the one whose push wakes the waiters of a
     * released lock. One node for all releases, because most duty cycles with a contended release have no other.
     *
     * @param nodeIndex -1 for any
     */
    public void flushLast(int nodeIndex) {
        batch.flushLast(nodeIndex);
    }

    /** Whether a node needs the script. True also without any connected node. */
    private boolean isBatchUseful(CommandKind kind) {
        long natives = natives(kind);
        return (connected & ~natives) != 0 || (connected & natives) == 0;
    }

    /** The nodes with a command of their own for a plain lock, as a mask. */
    private long natives(CommandKind kind) {
        return kind == CommandKind.RELEASE ? nativeReleases : kind == CommandKind.EXTEND ? nativeExtensions : 0;
    }

    /** Writes the collected commands, so that later ones follow them. An extension precedes the release of its lock. */
    void sealBatches() {
        if (extensions.isPending()) {
            reserve(extensions);
            seal(extensions);
        }
        seal(plain);
        seal(fenced);
    }

    /**
     * Provides room for a batch before it is taken. Room may take a flush, whose events send other commands: they must
     * find the batch, or a release could overtake the extension that it follows.
     */
    private void reserve(CommandBatcher batcher) {
        for (int reserved = 0; batcher.isPending() && batcher.pending().length() != reserved;) {
            reserved = batcher.pending().length();
            withRoom(LockScripts.roomForEach(batcher.pending()));
        }
    }

    private boolean isBatchPending() {
        return plain.isPending() || fenced.isPending() || extensions.isPending();
    }

    /** A send from here may call {@link #sealBatches} again, so the filter is kept until all kinds are taken. */
    private void seal(CommandBatcher origin) {
        CommandBatch commands = origin.take();
        if (commands == null) {
            return;
        }
        if (!isBatchPending()) {
            isCollecting = false;
            filter.clear();
        }
        if (commands.length() == 1) {
            LockRequest single = commands.member(0);
            int sequence = commands.sequence(0);
            long nodes = commands.nodesOf(0);
            origin.recycle(commands);
            sendNow(single, origin.single(), sequence, nodes);
            return;
        }
        if (routes == null) {
            send(commands, origin, ALL);
        } else {
            routes.sendBySlot(commands, origin);
            send(commands, origin, ~routes.mask());
        }
    }

    /** Sends a batch to the nodes of a mask. */
    void send(CommandBatch commands, CommandBatcher origin, long mask) {
        long natives = natives(origin.single()) & connected & mask;
        for (int i = 0; natives != 0 && i < commands.length(); i++) {
            sendAlone(commands, i, natives);
        }
        long others = commands.nodes() & mask & ~natives;
        if (others == 0) {
            origin.recycle(commands);
        } else {
            sendTogether(commands, others);
        }
    }

    /** Sends one command of a batch to the nodes of a mask. */
    void sendAlone(CommandBatch commands, int index, long mask) {
        sendNow(commands.member(index), commands.kind().single(), commands.sequence(index),
                mask & commands.nodesOf(index));
    }

    private void sendTogether(CommandBatch commands, long mask) {
        commands.expectOutcomes(Long.bitCount(mask));
        long sent = 0;
        for (long left = mask; left != 0;) {
            // One pass, unless the commands are for different nodes.
            long members = commands.membersOf(Long.numberOfTrailingZeros(left));
            long group = withMembers(commands, members, left);
            sent |= sendEncoded(commands, members, group);
            left &= ~group;
        }
        scheduleFlush();
        if (sent != mask) {
            rejectedSends.add(commands, mask & ~sent);
            hasRejected = true;
        }
    }

    /** The nodes of a mask that get the same members. */
    private static long withMembers(CommandBatch commands, long members, long mask) {
        long group = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            if (commands.membersOf(Long.numberOfTrailingZeros(left)) == members) {
                group |= Long.lowestOneBit(left);
            }
        }
        return group;
    }

    private long sendEncoded(CommandBatch commands, long members, long mask) {
        ByteBuf out = withRoom(LockScripts.roomFor(commands, false));
        if (out == null) {
            return 0;
        }
        if (routes != null) {
            // Room may have taken a flush, whose events send other commands.
            routes.route(firstOf(commands, members), false);
        }
        int start = out.writerIndex();
        LockScripts.writeBatch(out, commands, members, false);
        int end = out.writerIndex();
        int tag = RequestRing.tag(commands.kind(), CommandEncoding.SCRIPT, 0, false);
        long sent = 0;
        for (long left = mask & (commands.kind().isVote ? open : connected); left != 0; left &= left - 1) {
            CommandSender sender = senders[Long.numberOfTrailingZeros(left)];
            sent |= sender.enqueue(commands, tag, false, end - start) ? Long.lowestOneBit(left) : 0;
        }
        if (routes != null) {
            routes.copy(sent, out, start, end);
        }
        skip(sent, out, start, end);
        return sent;
    }

    /** A member that still waits for an outcome; others may be in their pool already. */
    private static LockRequest firstOf(CommandBatch commands, long members) {
        return commands.member(Long.numberOfTrailingZeros(members));
    }

    void onBatchOutcome(CommandBatch commands) {
        if (commands.isLastOutcome()) {
            batcherOf(commands.kind()).recycle(commands);
        }
    }

    private CommandBatcher batcherOf(CommandKind many) {
        return switch (many) {
            case RELEASE_MANY -> plain;
            case RELEASE_MANY_FENCED -> fenced;
            default -> extensions;
        };
    }

    // ---- rejected sends ---------------------------------------------------------------------------------------------

    /** Reports to a request the nodes that it was not sent to. */
    void report(LockRequest request, CommandKind kind, int sequence, long unsent) {
        for (long left = unsent; left != 0; left &= left - 1) {
            int index = Long.numberOfTrailingZeros(left);
            request.onNotSent(index, kind, sequence, whyUnsent(request, kind, index));
        }
    }

    /** Reports to the members of a batch the nodes that it was not sent to. */
    void report(CommandBatch commands, long unsent) {
        for (long left = unsent; left != 0; left &= left - 1) {
            int index = Long.numberOfTrailingZeros(left);
            LockRequest first = firstOf(commands, commands.membersOf(index));
            commands.onNotSent(index, whyUnsent(first, commands.kind().single(), index));
            onBatchOutcome(commands);
        }
    }

    /** The reason now. If there is none any more, or the command did not fit, the reason was back-pressure. */
    private VoteFailure whyUnsent(SlotKey key, CommandKind kind, int index) {
        boolean isSilent = routes != null && (routes.route(key, kind.isVote) & 1L << index) != 0;
        VoteFailure refusal = isSilent ? VoteFailure.SLOT_MOVED : senders[index].refusalOf(kind);
        return refusal == VoteFailure.NONE ? VoteFailure.BACK_PRESSURE : refusal;
    }

    // ---- batch and flush --------------------------------------------------------------------------------------------

    /** Capacity for a command in an encoding. */
    static int roomFor(LockCommand command, CommandKind kind, CommandEncoding encoding) {
        int room = roomFor(command, kind);
        return encoding == CommandEncoding.MSETEX ? room + command.keyCount() * VALUE_BYTES_MAX : room;
    }

    /** Capacity for a command in any encoding but {@code MSETEX}, which has the token once for each key. */
    static int roomFor(LockCommand command, CommandKind kind) {
        boolean isCounterNamed = kind.hasCounter || kind.hasTicket() || kind == CommandKind.TICKETS;
        int counterLength = isCounterNamed ? command.counterBulk().length : 0;
        return WakeUpRequest.COMMAND_BYTES + LockScripts.COMMAND_OVERHEAD_BYTES + command.resourceBulk().length
                + counterLength;
    }

    /** Where the part of a node starts that can be sent to from now on. */
    int batchIndex() {
        return batch.writerIndex();
    }

    /** Writes a node's part of the batch so far to its connection, so that a command of its own can follow. */
    void writeShared(CommandSender sender) {
        batch.writeTo(sender);
    }

    /** The batch, with room; null if there is none: each command without room is reported as not sent. */
    private ByteBuf withRoom(int bytes) {
        try {
            return batch.withRoom(bytes);
        } catch (RuntimeException | Error e) {
            // A caller does not know how many nodes will reply to a send that throws.
            Log.error("commands are not sent: their buffer threw", e);
            return null;
        }
    }

    /** Flushes at the end of this duty cycle. */
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
            if (isCollecting) {
                sealBatches();
            }
            if (hasRejected) {
                rejectedSends.report(this);
                hasRejected = !rejectedSends.isEmpty();
            }
            if (isCollecting) {
                // Again, for releases and extensions that the reports have caused.
                sealBatches();
            }
        } finally {
            isFlushScheduled = false;
            batch.flush();
            if (hasRejected && !rejectedSends.isEmpty()) {
                // In the next turn: a caller that retries at once must not block the sockets.
                flushInNextTurn();
            }
        }
    }

    /** Frees memory that was not needed since the last call. To be called at regular intervals. */
    public void trim() {
        plain.trim();
        fenced.trim();
        extensions.trim();
        rejectedSends.trim();
    }

    /** Reports all rejected sends and releases the buffers. */
    public void close() {
        while (isCollecting || !rejectedSends.isEmpty()) {
            sealBatches();
            rejectedSends.report(this);
        }
        free();
    }

    /** Releases the buffers and does nothing else. Any thread, once the event loop has terminated. */
    public void free() {
        batch.free();
    }
}
