package dev.redlock.node;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;

/**
 * Writes a command once and hands the same bytes to every node.
 *
 * <p>Commands collect in one batch buffer for the rest of the duty cycle: the event loop's task queue is emptied
 * before it
 * looks at its sockets again, and the flush stands last in that queue, so everything that was submitted or answered
 * in one
 * turn leaves in one write per node. The buffer never grows while slices of it are on their way, so what a transport
 * reads
 * asynchronously stays where it is; when all nodes have written it out, it is used again.
 *
 * @threading event-loop-confined
 */
public final class FanOut {

    /** A batch of about 300 commands; a full one is flushed early. */
    static final int BATCH_BYTES = 64 * 1024;

    private final EventLoop loop;
    private final ByteBufAllocator allocator;
    private final Node[] nodes;
    private final Runnable flushTask = this::flush;
    private ByteBuf batch;
    private boolean isFlushScheduled;

    /**
     * A fan-out over fixed nodes.
     *
     * @param loop      the loop that all of them live on
     * @param allocator where batches come from
     * @param nodes     the nodes, by index; borrowed
     */
    public FanOut(final EventLoop loop, final ByteBufAllocator allocator, final Node[] nodes) {
        this.loop = loop;
        this.allocator = allocator;
        this.nodes = nodes;
    }

    /**
     * Sends one command to the nodes of a mask. A node that cannot take it answers {@link LockRequest#onNotSent}, after
     * the command has been queued for all others, so that what the answer sets off cannot overtake it.
     *
     * @param request  whose command
     * @param verb     which command
     * @param sequence given back with each answer
     * @param mask     the nodes, node i being bit i
     * @return nodes that it was sent to, as a mask
     */
    public long send(final LockRequest request, final Verb verb, final int sequence, final long mask) {
        final ByteBuf out = batchWithRoom(roomFor(request, verb));
        final int start = out.writerIndex();
        LockScripts.writeEvalSha(out, verb, request);
        final int end = out.writerIndex();
        long sent = 0;
        for (final Node node : nodes) {
            final boolean isWanted = (mask & 1L << node.index()) != 0;
            if (isWanted && node.enlist(request, verb, sequence) == VoteFailure.NONE) {
                sent |= 1L << node.index();
            } else {
                node.skip(out, start, end);
            }
        }
        scheduleFlush();
        final long unsent = mask & ~sent;
        if (unsent != 0) {
            reportUnsent(request, verb, sequence, unsent);
        }
        return sent;
    }

    private static int roomFor(final LockRequest request, final Verb verb) {
        final int counterLength = verb.hasCounter() ? request.counterBulk().length : 0;
        return LockScripts.COMMAND_OVERHEAD_BYTES + request.resourceBulk().length + counterLength;
    }

    private void reportUnsent(final LockRequest request, final Verb verb, final int sequence, final long unsent) {
        for (final Node node : nodes) {
            if ((unsent & 1L << node.index()) != 0) {
                request.onNotSent(node.index(), verb, sequence, node.refusalOf(verb));
            }
        }
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
            isFlushScheduled = true;
            loop.execute(flushTask);
        }
    }

    ByteBufAllocator allocator() {
        return allocator;
    }

    private ByteBuf batchWithRoom(final int bytes) {
        if (batch != null && batch.writableBytes() < bytes) {
            flushBatch();
        }
        if (batch == null) {
            batch = allocator.directBuffer(Math.max(BATCH_BYTES, bytes), Math.max(BATCH_BYTES, bytes));
        }
        return batch;
    }

    private void flush() {
        isFlushScheduled = false;
        flushBatch();
    }

    /**
     * In three steps, so that whatever a socket sets off finds the batch empty and every node at its start: hand
     * over, let
     * go, flush.
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

    /** Gives the batch buffer back. */
    public void close() {
        if (batch != null) {
            batch.release();
            batch = null;
        }
    }
}
