package dev.redlock.node.send;

import dev.redlock.resp.RespCommand;
import dev.redlock.telemetry.Log;
import io.netty.buffer.ByteBuf;

/**
 * The buffer that commands for several nodes are written to once. Each node's connection gets a slice of it.
 *
 * <p>The buffer does not grow while slices of it are in use, so its memory stays in place for transports that read it
 * asynchronously. When all nodes have written their slices, the buffer is used again.
 *
 * @threading event-loop-confined
 */
final class SharedBatch {

    /** Some 300 commands; a full buffer is flushed early. */
    static final int CAPACITY = 64 * 1024;
    static final RespCommand TIME = RespCommand.of("TIME");
    /** Capacity for {@code TIME}. */
    static final int TIME_BYTES = 32;
    static final int ANY_NODE = -1;

    final DirectBuffers buffers;
    /** By voter; null without a connection. */
    private final NodeConnection[] connections;
    /** Null without a cluster. */
    private SlotRoutes routes;
    private ByteBuf batch;
    private ByteBuf timeCommand;
    /** The node whose connection the next flush writes last; -1 for any. */
    int lastNode = ANY_NODE;

    /** An empty batch; the connections are borrowed. */
    SharedBatch(DirectBuffers buffers, NodeConnection[] connections) {
        this.buffers = buffers;
        this.connections = connections;
    }

    /** Sets the routes to the servers of clusters, which have their own batches. */
    void setRoutes(SlotRoutes newRoutes) {
        routes = newRoutes;
    }

    /** The buffer, with room; null if there is none: each command without room is reported as not sent. */
    ByteBuf withRoom(int bytes) {
        return batch != null && batch.writableBytes() >= bytes ? batch : newRoom(bytes);
    }

    private ByteBuf newRoom(int bytes) {
        try {
            return makeRoom(bytes);
        } catch (RuntimeException | Error e) {
            // A caller does not know how many nodes will reply to a send that throws.
            Log.error("commands are not sent: their buffer threw", e);
            return null;
        }
    }

    private ByteBuf makeRoom(int bytes) {
        while (batch != null && batch.writableBytes() < bytes) {
            if (batch.isReadable()) {
                flush();
            } else {
                // Too small also when it is empty: a fenced set of long names needs more.
                batch.release();
                batch = null;
            }
        }
        if (batch == null) {
            batch = buffers.takeReused(Math.max(CAPACITY, bytes));
        }
        return batch;
    }

    /** Where the part of a node starts that can be sent to from now on. */
    int writerIndex() {
        return batch == null ? 0 : batch.writerIndex();
    }

    /** Writes a node's part so far to its connection, so that a command of its own can follow. */
    void writeTo(NodeConnection connection) {
        connection.writeShared(batch);
    }

    /**
     * Flushes all connections. In three steps, because a socket's event may send commands: they find an empty batch,
     * and every node at its start.
     *
     * <p>A write to a socket can take tens of microseconds, so the node that wakes waiters gets its bytes last.
     * Otherwise a waiter that it wakes could ask the other nodes before they have the release.
     */
    void flush() {
        ByteBuf flushed = batch;
        if (flushed != null) {
            int end = flushed.writerIndex();
            for (NodeConnection connection : connections) {
                if (connection != null) {
                    connection.writeBatchEnd(flushed, end);
                }
            }
            batch = null;
        }
        if (routes != null) {
            routes.write();
        }
        int first = lastNode + 1;
        lastNode = ANY_NODE;
        for (int i = 0; i < connections.length; i++) {
            int next = first + i < connections.length ? first + i : first + i - connections.length;
            if ((routes == null || !routes.flush(next)) && connections[next] != null) {
                connections[next].flush();
            }
        }
        if (flushed == null) {
            return;
        }
        if (batch == null && flushed.refCnt() == 1) {
            batch = flushed.clear();
        } else {
            flushed.release();
        }
    }

    /**
     * {@code TIME}. All nodes get the same bytes again and again, so clocks are watched also without free memory.
     *
     * @return owned by the caller; null if there is no memory, which is possible the first time only
     */
    ByteBuf timeCommand() {
        if (timeCommand == null) {
            timeCommand = buffers.takeReused(TIME_BYTES);
            if (timeCommand == null) {
                return null;
            }
            TIME.writeTo(timeCommand);
        }
        return timeCommand.retainedDuplicate();
    }

    /** Releases the buffers and does nothing else. Any thread, once the event loop has terminated. */
    void free() {
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
