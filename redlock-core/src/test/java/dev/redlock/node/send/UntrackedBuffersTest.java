package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Buffers that live as long as a client are not tracked by the leak detector. */
class UntrackedBuffersTest {

    private static final int MANY = 5_000;
    private static final List<ByteBufAllocator> ALLOCATORS = List.of(PooledByteBufAllocator.DEFAULT,
            new AdaptiveByteBufAllocator());

    private final ResourceLeakDetector.Level level = ResourceLeakDetector.getLevel();

    @AfterEach
    void restoreTheLevel() {
        ResourceLeakDetector.setLevel(level);
    }

    private static int watchedOfMany(ByteBufAllocator allocator, boolean isLongLived) {
        int watched = 0;
        for (int i = 0; i < MANY; i++) {
            ByteBuf buffer = isLongLived
                    ? DirectBuffers.untracked(allocator, 64)
                    : allocator.directBuffer(64, 64);
            watched += DirectBuffers.isTracked(buffer) ? 1 : 0;
            assertTrue(buffer.isDirect());
            assertEquals(64, buffer.capacity());
            assertTrue(buffer.release());
        }
        return watched;
    }

    @Test
    void noBufferIsTrackedAtTheDefaultLevel() {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.SIMPLE);
        for (ByteBufAllocator allocator : ALLOCATORS) {
            int watched = watchedOfMany(allocator, false);
            assertTrue(watched > 0 && watched < MANY / 10, watched + " of others: what this test looks at is random");
            assertEquals(0, watchedOfMany(allocator, true), allocator.toString());
        }
    }

    /** A search for leaks includes these buffers. */
    @Test
    void everyBufferIsTrackedAtTheParanoidLevel() {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
        ByteBuf buffer = DirectBuffers.untracked(PooledByteBufAllocator.DEFAULT, 64);
        assertTrue(DirectBuffers.isTracked(buffer));
        assertTrue(buffer.release());
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        ByteBuf unwatched = DirectBuffers.untracked(PooledByteBufAllocator.DEFAULT, 64);
        assertFalse(DirectBuffers.isTracked(unwatched));
        assertTrue(unwatched.release());
    }
}
