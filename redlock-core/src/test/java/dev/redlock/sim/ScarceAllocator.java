package dev.redlock.sim;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledDirectByteBuf;
import java.util.function.IntPredicate;
import java.util.function.Supplier;

/** Direct memory that a test can use up, with a count of the allocations. */
public final class ScarceAllocator extends AbstractByteBufAllocator {

    private Supplier<Throwable> thrown = () -> new OutOfMemoryError("direct memory is used up, thrown by a test");
    private IntPredicate isFailing = number -> false;
    private Runnable onFailure = () -> {
    };
    private boolean isFreeFailing;
    private int askedCount;
    private int failedCount;

    /** Sets which allocations fail, by their number; the first one is 0. */
    public void failIf(IntPredicate failing) {
        isFailing = failing;
    }

    public void exhausted(boolean isExhausted) {
        isFailing = number -> isExhausted;
    }

    /** Sets whether a buffer throws when its memory is released. */
    public void failFree(boolean isFailing) {
        isFreeFailing = isFailing;
    }

    /** Sets the exception of a failing allocation. */
    public void thrown(Supplier<Throwable> newThrown) {
        thrown = newThrown;
    }

    /** Sets a task that runs before the exception. */
    public void onFailure(Runnable task) {
        onFailure = task;
    }

    public int askedCount() {
        return askedCount;
    }

    public int failedCount() {
        return failedCount;
    }

    @Override
    public boolean isDirectBufferPooled() {
        return false;
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
        return Unpooled.buffer(initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
        if (isFailing.test(askedCount++)) {
            failedCount++;
            onFailure.run();
            Throwable failure = thrown.get();
            if (failure instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) failure;
        }
        return new UnpooledDirectByteBuf(this, initialCapacity, maxCapacity) {
            @Override
            protected void deallocate() {
                if (isFreeFailing) {
                    throw new IllegalStateException("the memory cannot be released, thrown by a test");
                }
                super.deallocate();
            }
        };
    }
}
