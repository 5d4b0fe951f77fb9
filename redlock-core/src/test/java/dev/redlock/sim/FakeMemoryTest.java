package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.buffer.ByteBuf;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakDetector.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FakeMemoryTest {

    private final Level before = ResourceLeakDetector.getLevel();
    private final FakeMemory memory = new FakeMemory();

    @AfterEach
    void restore() {
        ResourceLeakDetector.setLevel(before);
    }

    /** A client allocates again in place of a tracked buffer: which allocation fails would depend on chance. */
    @Test
    void theLeakDetectorTracksNoBufferByChance() {
        ResourceLeakDetector.setLevel(Level.SIMPLE);
        for (int i = 0; i < 5_000; i++) {
            ByteBuf buffer = memory.directBuffer(64, 64);
            boolean isTracked = buffer.unwrap() != null;
            buffer.release();
            assertFalse(isTracked, "buffer " + i);
        }
    }

    @Test
    void memoryThatIsUsedUpThrows() {
        memory.usedUpWhile(() -> true);
        assertThrows(FakeMemory.UsedUp.class, () -> memory.directBuffer(64, 64));
    }
}
