package dev.redlock.resp.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.function.Consumer;

/**
 * Keeps what a read left unread until the next read completes it. The policy is <em>bridge, then grow</em>:
 * <ul>
 * <li><b>Nothing is kept</b> when a read ends with the end of a value: the read buffer is parsed in place.
 * <li><b>Bridge.</b> An unfinished end is copied aside, usually a few bytes of a line. The next read first lends
 * {@value #BRIDGE_BYTES} bytes to it; once the value over the seam is parsed, the rest of that read is parsed in place
 * again. So about {@value #BRIDGE_BYTES} bytes are copied for a seam, whatever the size of the read.
 * <li><b>Grow.</b> If a bridge is not enough (a body that the visitor wants whole), the read is copied whole, into a
 * buffer that doubles. It is sized by what has arrived, never by what a length claims.
 * <li><b>Compact before growing.</b> The parsed front is dropped only when room is needed.
 * <li><b>Give back.</b> When all is parsed, a buffer above {@value #KEPT_BYTES_MAX} bytes is released, a smaller one
 * is kept for the next seam.
 * </ul>
 *
 * @threading event-loop-confined
 */
final class ReadAccumulator {
    /** How much of a read is lent to an unfinished end: more than any line of numbers, less than is felt. */
    static final int BRIDGE_BYTES = 64;
    /** The largest empty buffer that is kept. */
    static final int KEPT_BYTES_MAX = 4096;
    private static final int CAPACITY_START = 256;

    private ByteBuf kept;

    /**
     * Parses what was kept together with a new read.
     *
     * @param alloc  where buffers come from
     * @param in     borrowed; read to its end
     * @param parser reads the buffer it is given and leaves the unfinished end unread
     */
    void read(ByteBufAllocator alloc, ByteBuf in, Consumer<ByteBuf> parser) {
        if (kept != null && kept.isReadable()) {
            bridge(alloc, in, parser);
        }
        if (in.isReadable()) {
            parser.accept(in);
        }
        if (in.isReadable()) {
            append(alloc, in, in.readableBytes());
        }
    }

    private void bridge(ByteBufAllocator alloc, ByteBuf in, Consumer<ByteBuf> parser) {
        int step = Math.min(BRIDGE_BYTES, in.readableBytes());
        while (step > 0) {
            int start = in.readerIndex();
            append(alloc, in, step);
            parser.accept(kept);
            int lentAndRead = step - kept.readableBytes();
            if (lentAndRead >= 0) {
                // The kept bytes are all read, and some of those lent: go on in the read buffer from there.
                in.readerIndex(start + lentAndRead);
                empty();
                return;
            }
            step = in.readableBytes();
        }
    }

    private void append(ByteBufAllocator alloc, ByteBuf in, int length) {
        if (kept == null) {
            kept = alloc.buffer(Math.max(CAPACITY_START, length));
        }
        makeRoom(length);
        kept.writeBytes(in, length);
    }

    private void makeRoom(int length) {
        if (kept.writableBytes() >= length) {
            return;
        }
        kept.discardReadBytes();
        long needed = (long) kept.readableBytes() + length;
        if (needed > kept.capacity()) {
            kept.capacity((int) Math.min(Math.max(needed, 2L * kept.capacity()), kept.maxCapacity()));
        }
    }

    private void empty() {
        if (kept.capacity() > KEPT_BYTES_MAX) {
            release();
        } else {
            kept.clear();
        }
    }

    /** Gives the buffer back. The accumulator can be used again. */
    void release() {
        if (kept != null) {
            ByteBuf last = kept;
            kept = null;
            last.release();
        }
    }

    /** How many bytes wait for the next read. */
    int keptBytes() {
        return kept == null ? 0 : kept.readableBytes();
    }
}
