package dev.redlock.sim;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.function.BooleanSupplier;

/** The direct memory of one process, which a test can use up. */
public final class FakeMemory extends AbstractByteBufAllocator {

    private static final PooledByteBufAllocator POOL = PooledByteBufAllocator.DEFAULT;

    /**
     * The leak detector tracks one buffer in 128 by chance. A client takes another one then, so the same seed would be
     * another run. Some tests track each buffer.
     */
    private static final int UNTRACKED_TRIES_MAX = 8;

    private BooleanSupplier isUsedUp = () -> false;

    /** Thrown on purpose. */
    public static final class UsedUp extends OutOfMemoryError {
        private static final long serialVersionUID = 1L;

        UsedUp() {
            super("direct memory is used up, thrown by a test");
        }
    }

    /** Called at each allocation. */
    public void usedUpWhile(BooleanSupplier condition) {
        isUsedUp = condition;
    }

    @Override
    public boolean isDirectBufferPooled() {
        return true;
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
        return POOL.heapBuffer(initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
        if (isUsedUp.getAsBoolean()) {
            throw new UsedUp();
        }
        ByteBuf buffer = POOL.directBuffer(initialCapacity, maxCapacity);
        for (int tries = 1; tries < UNTRACKED_TRIES_MAX && buffer.unwrap() != null; tries++) {
            buffer.release();
            buffer = POOL.directBuffer(initialCapacity, maxCapacity);
        }
        return buffer;
    }
}
