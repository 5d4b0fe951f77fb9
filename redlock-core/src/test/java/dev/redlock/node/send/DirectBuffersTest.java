package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.ScarceAllocator;
import dev.redlock.testing.LogLines;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

/** A failing allocation takes half a second in the JDK, so a failure starts a pause. */
class DirectBuffersTest {

    private static final long MS = 1_000_000;

    private final ScarceAllocator allocator = new ScarceAllocator();
    private long nowNs = Long.MAX_VALUE - 10;
    private final DirectBuffers buffers = new DirectBuffers(task -> {
        throw new RejectedExecutionException("a loop that has ended, thrown by a test");
    }, allocator, () -> nowNs);

    private long lostNs(long tryNs, long periodNs) {
        allocator.onFailure(() -> nowNs += tryNs);
        long lostNs = 0;
        long startNs = nowNs;
        while (nowNs - startNs < periodNs) {
            long beforeNs = nowNs;
            assertNull(buffers.takeReused(64));
            lostNs += nowNs - beforeNs;
            nowNs += MS;
        }
        return lostNs;
    }

    @Test
    void slowFailuresUseAFifthOfTheTime() {
        allocator.exhausted(true);
        long periodNs = 60_000 * MS;
        long lostNs = lostNs(500 * MS, periodNs);
        assertTrue(lostNs > 0 && lostNs <= periodNs / 5 + 500 * MS, lostNs / MS + " ms of 60 s");
    }

    @Test
    void quickFailuresAreRetriedSoon() {
        allocator.exhausted(true);
        lostNs(0, 1_000 * MS);
        assertTrue(allocator.failedCount() > 40 && allocator.failedCount() <= 51, allocator.failedCount() + " tries");
    }

    /** The whole process may have been stopped during the allocation. */
    @Test
    void oneVerySlowFailureCausesAPauseOfTwoSecondsAtMost() {
        allocator.exhausted(true);
        allocator.onFailure(() -> nowNs += 60_000 * MS);
        assertNull(buffers.take(64));
        allocator.exhausted(false);
        nowNs += 1_999 * MS;
        assertNull(buffers.take(64), "in the pause");
        nowNs += MS;
        take();
    }

    @Test
    void allKindsOfBuffersShareThePause() {
        allocator.exhausted(true);
        assertNull(buffers.take(64));
        allocator.exhausted(false);
        assertNull(buffers.take(64));
        assertNull(buffers.takeReused(64));
        assertNull(buffers.takeReused(new ScarceAllocator(), 64));
        nowNs += 20 * MS;
        take();
        take();
        assertEquals(3, allocator.askedCount(), "the allocator was asked");
    }

    /** As if the command needed more memory than there is, or its request were in its pool already. */
    @Test
    void aCommandThatCannotBeWrittenLeavesNoBuffer() {
        List<Runnable> tasks = new ArrayList<>();
        DirectBuffers taking = new DirectBuffers(tasks::add, allocator, () -> nowNs);
        List<ByteBuf> written = new ArrayList<>();
        assertNull(taking.take(64, buffer -> {
            written.add(buffer.writeByte('*'));
            throw new IllegalStateException("thrown by a test");
        }));
        assertNull(taking.take(64, buffer -> {
            written.add(buffer.writeByte('*'));
            throw new OutOfMemoryError("thrown by a test");
        }));
        assertEquals(List.of(0, 0), written.stream().map(ByteBuf::refCnt).toList());
        try (LogLines log = new LogLines()) {
            tasks.forEach(Runnable::run);
            assertEquals(2, log.with("a command is not sent, because writing it threw").size());
        }
        ByteBuf buffer = taking.take(64, out -> out.writeByte('*'));
        assertEquals('*', buffer.readByte());
        buffer.release();
    }

    private void take() {
        ByteBuf buffer = buffers.take(64);
        assertNotNull(buffer);
        buffer.release();
    }
}
