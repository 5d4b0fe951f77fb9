package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Test;

/** Shared starts of JFR events: which operations share one, the pool, and thresholds that change. */
class SharedStartsTest {

    private static final long SECOND_NS = 1_000_000_000;

    private int madeCount;
    private final SharedStarts<ReleaseEvent> starts = new SharedStarts<>(() -> {
        madeCount++;
        return new ReleaseEvent();
    });

    private static Recording record(Duration threshold) {
        Recording recording = new Recording();
        recording.enable("dev.redlock.Release").withThreshold(threshold);
        recording.start();
        return recording;
    }

    @Test
    void operationsOfTwentyMicrosecondsShareAStart() {
        SharedStarts.Start<ReleaseEvent> first = starts.start(-5_000);
        assertSame(first, starts.start(14_999));
        assertNotSame(first, starts.start(15_000));
    }

    @Test
    void aStartIsReusedAfterItsLastOperation() {
        SharedStarts.Start<ReleaseEvent> first = starts.start(0);
        starts.start(0);
        SharedStarts.Start<ReleaseEvent> second = starts.start(100_000);
        starts.release(first);
        SharedStarts.Start<ReleaseEvent> third = starts.start(200_000);
        assertNotSame(first, third, "it has one more operation");
        starts.release(first);
        assertSame(first, starts.start(300_000));
        starts.release(second);
        assertEquals(3, madeCount);
    }

    @Test
    void aLoneOperationKeepsOneEvent() {
        for (int i = 0; i < 1_000; i++) {
            starts.release(starts.start(i * SECOND_NS));
        }
        assertEquals(1, madeCount);
    }

    @Test
    void aLowerThresholdAppliesWithinASecond() {
        SharedStarts.Start<ReleaseEvent> start = starts.start(0);
        try (Recording recording = record(Duration.ofHours(1))) {
            assertFalse(starts.isDue(start, 5_000_000), recording::toString);
        }
        try (Recording recording = record(Duration.ZERO)) {
            assertFalse(starts.isDue(start, 4_000_000), "known to be below the threshold of before");
            assertTrue(starts.isDue(start, 5_000_001), "not known");
            assertTrue(starts.isDue(start, 5_000_000 + SECOND_NS), recording::toString);
            assertTrue(starts.isDue(start, 4_000_000), "the knowledge is discarded");
        }
    }

    @Test
    void withoutMemoryThereIsNoStart() {
        SharedStarts<ReleaseEvent> poor = new SharedStarts<>(() -> {
            throw new OutOfMemoryError("on purpose");
        });
        assertNull(poor.start(0));
    }
}
