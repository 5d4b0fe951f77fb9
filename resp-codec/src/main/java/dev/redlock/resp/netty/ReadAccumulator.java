package dev.redlock.resp.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.function.Consumer;

/**
 * Keeps the unparsed end of a read until the next read completes it, and copies as few bytes as possible.
 * <ul>
 * <li>A read that ends with a complete value is parsed in place.
 * <li>Otherwise the unparsed end, usually a few bytes of a line, is copied to the pending buffer.
 * <li>The first {@value #BOUNDARY_BYTES} bytes of the next read are appended to the pending buffer. When the parser has
 * read the value across the boundary, the rest of the read is parsed in place. The cost of a boundary does not depend
 * on the size of the read.
 * <li>If these bytes do not complete the value (a body that the visitor wants whole), the whole read is appended. The
 * pending buffer doubles with the bytes that arrive, never with an announced length, and discards parsed bytes first.
 * <li>A pending buffer that is parsed to its end is reused, or released if it is above {@value #REUSED_CAPACITY_MAX}
 * bytes.
 * </ul>
 *
 * @threading event-loop-confined
 */
final class ReadAccumulator {
    /** Longer than any integer or length line, and short enough to copy at every boundary. */
    static final int BOUNDARY_BYTES = 64;
    /** A connection keeps at most this much memory between values. */
    static final int REUSED_CAPACITY_MAX = 4096;
    private static final int INITIAL_CAPACITY = 256;

    /** Null until a read ends within a value. */
    private ByteBuf pending;

    /**
     * Parses the pending bytes and a new read.
     *
     * @param alloc  allocates the pending buffer
     * @param in     borrowed; read to its end
     * @param parser parses a borrowed buffer and leaves an unfinished end unread
     */
    void read(ByteBufAllocator alloc, ByteBuf in, Consumer<ByteBuf> parser) {
        if (pendingBytes() > 0) {
            completePending(alloc, in, parser);
        }
        if (in.isReadable()) {
            parser.accept(in);
        }
        if (in.isReadable()) {
            append(alloc, in, in.readableBytes());
        }
    }

    private void completePending(ByteBufAllocator alloc, ByteBuf in, Consumer<ByteBuf> parser) {
        int appended = Math.min(BOUNDARY_BYTES, in.readableBytes());
        while (appended > 0) {
            int start = in.readerIndex();
            append(alloc, in, appended);
            parser.accept(pending);
            int parsedOfAppended = appended - pending.readableBytes();
            if (parsedOfAppended >= 0) {
                // The value across the boundary is complete, so the caller parses the rest in place.
                in.readerIndex(start + parsedOfAppended);
                clearPending();
                return;
            }
            appended = in.readableBytes();
        }
    }

    /** Keeps bytes of a read. */
    void append(ByteBufAllocator alloc, ByteBuf in, int length) {
        if (pending == null) {
            pending = alloc.buffer(Math.max(INITIAL_CAPACITY, length));
        }
        ensureWritable(length);
        pending.writeBytes(in, length);
    }

    private void ensureWritable(int length) {
        if (pending.writableBytes() >= length) {
            return;
        }
        pending.discardReadBytes();
        long needed = (long) pending.readableBytes() + length;
        if (needed > pending.capacity()) {
            pending.capacity((int) Math.min(Math.max(needed, 2L * pending.capacity()), pending.maxCapacity()));
        }
    }

    private void clearPending() {
        if (pending.capacity() > REUSED_CAPACITY_MAX) {
            release();
        } else {
            pending.clear();
        }
    }

    /** Releases the pending buffer and its bytes. The accumulator can be used again. */
    void release() {
        if (pending != null) {
            ByteBuf last = pending;
            pending = null;
            last.release();
        }
    }

    /** Returns the number of unparsed bytes. */
    int pendingBytes() {
        return pending == null ? 0 : pending.readableBytes();
    }
}
