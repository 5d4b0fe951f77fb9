package dev.redlock.node;

import dev.redlock.quorum.Quorum;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Writes a command once and hands the same bytes to every node.
 *
 * <p>Commands collect in one batch buffer for the rest of the duty cycle: the event loop's task queue is emptied before
 * it looks at its sockets again, and the flush stands last in that queue, so everything that was submitted or answered
 * in one turn leaves in one write per node. The buffer never grows while slices of it are on their way, so what a
 * transport reads asynchronously stays where it is; when all nodes have written it out, it is used again.
 *
 * @threading event-loop-confined
 */
public final class FanOut {

    /** A batch of about 300 commands; a full one is flushed early. */
    static final int BATCH_BYTES = 64 * 1024;
    /** Keys of this many bytes are enough for one script call. */
    private static final int KEY_BYTES_MAX = 16 * 1024;

    private final EventLoop loop;
    private final DirectBuffers buffers;
    private final Node[] nodes;
    private final Runnable flushTask = this::flush;
    private final int releaseBatchMax;
    private final ReleaseBatcher plain = new ReleaseBatcher(CommandKind.RELEASE, CommandKind.RELEASE_MANY);
    private final ReleaseBatcher fenced = new ReleaseBatcher(CommandKind.RELEASE_FENCED,
            CommandKind.RELEASE_MANY_FENCED);
    private final ResourceFilter filter = new ResourceFilter();
    private final RejectedSends unsentCommands = new RejectedSends();
    private ByteBuf batch;
    private ByteBuf timeCommand;
    private boolean isFlushScheduled;
    private boolean isNextTurnScheduled;

    /**
     * A fan-out over fixed nodes.
     *
     * @param loop      the loop that all of them live on
     * @param buffers   where batches come from
     * @param nodes     the nodes, by index; borrowed
     * @param releaseBatchMax most releases in one script call, 1 to 64
     */
    public FanOut(final EventLoop loop, final DirectBuffers buffers, final Node[] nodes,
            final int releaseBatchMax) {
        this.releaseBatchMax = releaseBatchMax;
        this.loop = loop;
        this.buffers = buffers;
        this.nodes = nodes;
    }

    /**
     * Sends one command to the nodes of a mask. A node that cannot take it answers {@link LockRequest#onNotSent}: to an
     * acquire and to a question behind it before this returns, when the command has been queued for all others; to any
     * other command at the end of this duty cycle. So what the answer sets off cannot overtake the command.
     *
     * @param request  whose command
     * @param kind     which command
     * @param sequence given back with each answer
     * @param mask     the nodes, node i being bit i
     * @return nodes that it was sent to, as a mask
     */
    public long send(final LockRequest request, final CommandKind kind, final int sequence, final long mask) {
        if (filter.mightContain(request)) {
            // What follows a release of the same resource must not overtake it.
            sealReleases();
        }
        long sent = 0;
        for (long left = mask; left != 0;) {
            // Once, unless the nodes differ in what they have.
            final CommandEncoding encoding = nodes[Long.numberOfTrailingZeros(left)].encodingOf(request, kind);
            final long alike = alike(request, kind, encoding, left);
            sent |= sendAlike(request, kind, encoding, sequence, alike);
            left &= ~alike;
        }
        scheduleFlush();
        final long unsent = mask & ~sent;
        if (unsent != 0 && (kind.isAcquire() || kind == CommandKind.REMAINING_TTL)) {
            report(request, kind, sequence, unsent);
        } else if (unsent != 0) {
            unsentCommands.add(request, kind, sequence, unsent);
        }
        return sent;
    }

    /** Those nodes of a mask that are asked in the same form. */
    private long alike(final LockRequest request, final CommandKind kind, final CommandEncoding encoding,
            final long mask) {
        long alike = 0;
        for (final Node node : nodes) {
            if (node.encodingOf(request, kind) == encoding) {
                alike |= 1L << node.index();
            }
        }
        return alike & mask;
    }

    private long sendAlike(final LockRequest request, final CommandKind kind, final CommandEncoding encoding,
            final int sequence,
            final long mask) {
        final ByteBuf out = batchWithRoom(roomFor(request, kind));
        if (out == null) {
            return 0;
        }
        final int start = out.writerIndex();
        if (encoding == CommandEncoding.SCRIPT) {
            LockScripts.writeEvalSha(out, kind, request);
        } else {
            NativeCommands.write(out, encoding, request);
        }
        final int end = out.writerIndex();
        long sent = 0;
        for (final Node node : nodes) {
            final boolean isWanted = (mask & 1L << node.index()) != 0;
            if (isWanted && node.enlist(request, kind, encoding, sequence) == VoteFailure.NONE) {
                sent |= 1L << node.index();
            } else {
                node.skip(out, start, end);
            }
        }
        return sent;
    }

    // ---- releases ---------------------------------------------------------------------------------------------------

    /**
     * Sends a release to all nodes at the end of this duty cycle, together with others: one script call over all their
     * keys costs a node less than one call for each. A node that has a conditional delete is sent one for each release,
     * which costs it less than its share of the script call. Nothing about its resource overtakes it. A node that
     * cannot take it answers {@link LockRequest#onNotSent} then.
     *
     * @param request whose token is released everywhere
     * @param kind    {@link CommandKind#RELEASE} or {@link CommandKind#RELEASE_FENCED}
     */
    public void release(final LockRequest request, final CommandKind kind) {
        if (releaseBatchMax == 1 || kind == CommandKind.RELEASE && !isBatchOfUse()) {
            send(request, kind, 0, Quorum.allOf(nodes.length));
            return;
        }
        final ReleaseBatch pending = (kind == CommandKind.RELEASE ? plain : fenced).add(request);
        filter.add(request);
        if (pending.length() == releaseBatchMax || pending.keyBytes() > KEY_BYTES_MAX) {
            sealReleases();
        }
        scheduleFlush();
    }

    /** Whether a node would be asked by script; without any node that is connected, they are collected too. */
    private boolean isBatchOfUse() {
        boolean isAnyNative = false;
        for (final Node node : nodes) {
            if (node.isReleasedByScript()) {
                return true;
            }
            isAnyNative |= node.isReleasedNatively();
        }
        return !isAnyNative;
    }

    private long releasedNatively() {
        long mask = 0;
        for (final Node node : nodes) {
            if (node.isReleasedNatively()) {
                mask |= 1L << node.index();
            }
        }
        return mask;
    }

    /** Writes the releases that have come together so far: what is sent from here on stands behind them. */
    void sealReleases() {
        seal(plain);
        seal(fenced);
    }

    private boolean isReleasePending() {
        return plain.isPending() || fenced.isPending();
    }

    /** What is sent here comes back to {@link #sealReleases}, and has to find the other kind in the filter still. */
    private void seal(final ReleaseBatcher origin) {
        final ReleaseBatch releases = origin.take();
        if (releases == null) {
            return;
        }
        if (!isReleasePending()) {
            filter.clear();
        }
        if (releases.length() == 1) {
            final LockRequest single = releases.member(0);
            origin.recycle(releases);
            send(single, origin.single(), 0, Quorum.allOf(nodes.length));
        } else {
            send(releases, origin);
        }
    }

    private void send(final ReleaseBatch releases, final ReleaseBatcher origin) {
        final long natives = origin.single() == CommandKind.RELEASE ? releasedNatively() : 0;
        for (int i = 0; natives != 0 && i < releases.length(); i++) {
            send(releases.member(i), origin.single(), 0, natives);
        }
        final long others = Quorum.allOf(nodes.length) & ~natives;
        if (others == 0) {
            origin.recycle(releases);
        } else {
            sendTogether(releases, others);
        }
    }

    private void sendTogether(final ReleaseBatch releases, final long mask) {
        releases.expect(Long.bitCount(mask));
        final ByteBuf out = batchWithRoom(LockScripts.roomFor(releases, false));
        if (out == null) {
            unsentCommands.add(releases, mask);
            scheduleFlush();
            return;
        }
        final int start = out.writerIndex();
        LockScripts.writeBatch(out, releases, false);
        final int end = out.writerIndex();
        long unsent = 0;
        for (final Node node : nodes) {
            final long bit = 1L << node.index();
            final boolean isWanted = (mask & bit) != 0;
            if (!isWanted || node.enlist(releases) != VoteFailure.NONE) {
                node.skip(out, start, end);
                unsent |= isWanted ? bit : 0;
            }
        }
        scheduleFlush();
        if (unsent != 0) {
            unsentCommands.add(releases, unsent);
        }
    }

    void onBatchAnswered(final ReleaseBatch releases) {
        if (releases.isLastAnswer()) {
            (releases.kind() == CommandKind.RELEASE_MANY ? plain : fenced).recycle(releases);
        }
    }

    // ---- what could not be sent -------------------------------------------------------------------------------------

    /** Tells a request which nodes it was not sent to. */
    void report(final LockRequest request, final CommandKind kind, final int sequence, final long unsent) {
        for (long left = unsent; left != 0; left &= left - 1) {
            final Node node = nodes[Long.numberOfTrailingZeros(left)];
            request.onNotSent(node.index(), kind, sequence, whyUnsent(node, kind));
        }
    }

    /** Tells the members of a batch which nodes it was not sent to. */
    void report(final ReleaseBatch releases, final long unsent) {
        for (long left = unsent; left != 0; left &= left - 1) {
            final Node node = nodes[Long.numberOfTrailingZeros(left)];
            releases.onNotSent(node, whyUnsent(node, CommandKind.RELEASE));
            onBatchAnswered(releases);
        }
    }

    /** A node that would take it by now, or would have if there had been room to write it, has had too much. */
    private static VoteFailure whyUnsent(final Node node, final CommandKind kind) {
        final VoteFailure refusal = node.refusalOf(kind);
        return refusal == VoteFailure.NONE ? VoteFailure.BACK_PRESSURE : refusal;
    }

    // ---- the batch buffer -------------------------------------------------------------------------------------------

    static int roomFor(final LockRequest request, final CommandKind kind) {
        final int counterLength = kind.hasCounter() ? request.counterBulk().length : 0;
        return LockScripts.COMMAND_OVERHEAD_BYTES + request.resourceBulk().length + counterLength;
    }

    /** Where a node that has just become able to send starts to take part in the batch. */
    int batchIndex() {
        return batch == null ? 0 : batch.writerIndex();
    }

    /** Hands a node's share of the batch so far to its connection, so that private bytes can follow in order. */
    void writeShared(final Node node) {
        if (batch != null) {
            node.skip(batch, batch.writerIndex(), batch.writerIndex());
        }
    }

    /** Makes sure that what has been written leaves at the end of this duty cycle. */
    void scheduleFlush() {
        if (!isFlushScheduled) {
            try {
                // Noted behind, because it may throw: a flush that is noted and not scheduled would be the last one.
                loop.execute(flushTask);
            } catch (final RejectedExecutionException e) {
                // The loop ends; what is still open then is answered by close().
            }
            isFlushScheduled = true;
        }
    }

    /** A loop looks for scheduled tasks once in each turn; a task that is executed runs in the same turn. */
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

    /**
     * {@code TIME}, of which every node sends the same bytes again and again: the clocks are watched also when memory
     * is used up.
     *
     * @return owned by the caller; null where there is no memory, which is possible the first time only
     */
    ByteBuf timeCommand() {
        if (timeCommand == null) {
            timeCommand = buffers.takeLongLived(Handshake.TIME_BYTES);
            if (timeCommand == null) {
                return null;
            }
            Handshake.writeTime(timeCommand);
        }
        return timeCommand.retainedDuplicate();
    }

    /** The batch, with so much room behind its end; null where there is no memory for it. */
    private ByteBuf batchWithRoom(final int bytes) {
        if (batch != null && batch.writableBytes() < bytes) {
            flushBatch();
        }
        if (batch == null) {
            batch = buffers.takeLongLived(Math.max(BATCH_BYTES, bytes));
        }
        return batch;
    }

    private void flush() {
        // Also if this is the flush of the next turn: commands from here on leave with it, or one turn later.
        isFlushScheduled = true;
        try {
            sealReleases();
            unsentCommands.report(this);
            // Once more, for what the answers have brought.
            sealReleases();
        } finally {
            isFlushScheduled = false;
            flushBatch();
            if (!unsentCommands.isEmpty()) {
                // In the next turn: whoever tries again at once must not keep the loop from its sockets.
                flushInNextTurn();
            }
        }
    }

    /**
     * In three steps, so that whatever a socket sets off finds the batch empty and every node at its start: hand over,
     * let go, flush.
     */
    private void flushBatch() {
        final ByteBuf flushed = batch;
        if (flushed != null) {
            final int end = flushed.writerIndex();
            for (final Node node : nodes) {
                node.writeBatchEnd(flushed, end);
            }
            batch = null;
        }
        for (final Node node : nodes) {
            node.flush();
        }
        if (flushed != null) {
            reuseOrRelease(flushed);
        }
    }

    private void reuseOrRelease(final ByteBuf flushed) {
        if (batch == null && flushed.refCnt() == 1) {
            batch = flushed.clear();
        } else {
            flushed.release();
        }
    }

    /** Gives up some of what was not needed since the last call; to be called at regular times. */
    public void trim() {
        plain.trim();
        fenced.trim();
        unsentCommands.trim();
    }

    /** Gives the buffers back. */
    public void close() {
        while (isReleasePending() || !unsentCommands.isEmpty()) {
            sealReleases();
            unsentCommands.report(this);
        }
        free();
    }

    /** Gives the buffers back and does nothing else; any thread may do that when the event loop has ended. */
    public void free() {
        if (batch != null) {
            batch.release();
            batch = null;
        }
        if (timeCommand != null) {
            timeCommand.release();
            timeCommand = null;
        }
    }
}
