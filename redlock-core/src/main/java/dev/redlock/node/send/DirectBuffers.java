package dev.redlock.node.send;

import dev.redlock.telemetry.Log;
import dev.redlock.time.NanoClock;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * Allocates direct memory for one event loop. Direct memory belongs to the whole process and may be used up by others.
 *
 * <p>A failing allocation may take long: the JDK waits about half a second for the garbage collector before it throws.
 * So a failure starts a pause, in which every allocation fails at once. The pause is a multiple of the time that the
 * failure took, so that failing allocations use at most a fifth of the loop's time.
 *
 * <p>Every exception of the allocator counts as lack of memory. Then the caller gets null and must do without.
 *
 * @threading event-loop-confined
 */
public final class DirectBuffers {

    private static final long PAUSE_NS_MIN = 20_000_000;
    private static final long PAUSE_NS_MAX = 2_000_000_000;
    private static final int PAUSE_MULTIPLE = 4;
    /** Memory may run out many times a second. */
    private static final long LOG_PERIOD_NS = 10_000_000_000L;
    /** After so many tries a tracked buffer is used: the detector may track every buffer. */
    private static final int UNTRACKED_TRIES_MAX = 8;

    private final Executor loop;
    private final ByteBufAllocator allocator;
    private final NanoClock clock;
    private boolean isUsedUp;
    private boolean isLogged;
    private long pauseEndNs;
    private long loggedNs;

    /** Allocates nothing yet. The loop runs the log task. */
    public DirectBuffers(Executor loop, ByteBufAllocator allocator, NanoClock clock) {
        this.loop = loop;
        this.allocator = allocator;
        this.clock = clock;
    }

    /** A buffer for one message with an initial capacity, owned by the caller; null if there is no memory. */
    ByteBuf take(int capacity) {
        return take(allocator, capacity, false);
    }

    /**
     * A buffer with one command, owned by the caller; null if there is no memory, or if the writer throws. An exception
     * here would keep the outcome from the request that the command is for.
     */
    ByteBuf take(int capacity, Consumer<ByteBuf> writer) {
        ByteBuf buffer = take(capacity);
        if (buffer == null) {
            return null;
        }
        try {
            writer.accept(buffer);
            return buffer;
        } catch (RuntimeException | Error e) {
            buffer.release();
            Log.errorLater(loop, "a command is not sent, because writing it threw", e);
            return null;
        }
    }

    /** A buffer of fixed capacity that is reused for as long as the client lives; null if there is no memory. */
    ByteBuf takeReused(int capacity) {
        return takeReused(allocator, capacity);
    }

    /** A reused buffer of another allocator. The memory is the same, and so is the pause. */
    ByteBuf takeReused(ByteBufAllocator other, int capacity) {
        return take(other, capacity, true);
    }

    private ByteBuf take(ByteBufAllocator from, int capacity, boolean isReused) {
        if (isUsedUp && clock.nanoTime() - pauseEndNs < 0) {
            return null;
        }
        long startNs = clock.nanoTime();
        try {
            ByteBuf buffer = isReused ? untracked(from, capacity) : from.directBuffer(capacity);
            isUsedUp = false;
            return buffer;
        } catch (RuntimeException | Error e) {
            onFailed(startNs, e);
            return null;
        }
    }

    /**
     * Allocates a buffer that Netty's leak detector does not track, if possible. The detector tracks one new buffer in
     * 128, and each slice of a tracked buffer, which allocates objects. For a buffer of one message that is a sample. A
     * client with a tracked shared batch would allocate hundreds of bytes of heap per lock. So a tracked buffer is
     * released, and another one allocated.
     */
    static ByteBuf untracked(ByteBufAllocator allocator, int capacity) {
        ByteBuf buffer = allocator.directBuffer(capacity, capacity);
        for (int tries = 1; tries < UNTRACKED_TRIES_MAX && isTracked(buffer); tries++) {
            // Before the next allocation, which may find no memory.
            buffer.release();
            buffer = allocator.directBuffer(capacity, capacity);
        }
        return buffer;
    }

    /** A tracked buffer is wrapped by its tracker. */
    static boolean isTracked(ByteBuf buffer) {
        return buffer.unwrap() != null;
    }

    private void onFailed(long startNs, Throwable failure) {
        long nowNs = clock.nanoTime();
        long pauseNs = Math.max(PAUSE_NS_MIN, Math.min(PAUSE_MULTIPLE * (nowNs - startNs), PAUSE_NS_MAX));
        isUsedUp = true;
        pauseEndNs = nowNs + pauseNs;
        if (!isLogged || nowNs - loggedNs >= LOG_PERIOD_NS) {
            isLogged = true;
            loggedNs = nowNs;
            Log.later(loop, System.Logger.Level.WARNING,
                    "no direct memory, commands are not sent: {0}; raise -XX:MaxDirectMemorySize", failure);
        }
    }
}
