package dev.redlock.loadtest.rig;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.result.IntervalLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LatencyRecorderTest {
    private static final int EACH = 10_000;

    /** Up to 16 threads have memory of their own, and the others share one. */
    @ParameterizedTest
    @CsvSource({"1, true", "16, true", "40, true", "1, false", "16, false", "40, false"})
    void noLatencyOfAnyThreadIsLost(int threadCount, boolean isSeries) throws InterruptedException {
        LatencyRecorder recorder = new LatencyRecorder("acquire", isSeries);
        CountDownLatch all = new CountDownLatch(threadCount);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < threadCount; i++) {
            threads.add(new Thread(() -> record(recorder, all), "loop-" + i % 2));
            threads.get(i).start();
        }
        for (Thread thread : threads) {
            while (isSeries && thread.isAlive()) {
                recorder.rotate(0, 1, IntervalLog.NONE);
            }
            thread.join();
        }
        recorder.rotate(0, 1, IntervalLog.NONE);
        assertEquals((long) threadCount * EACH, recorder.count());
        assertEquals(1_000_000, recorder.result().histogram().getMaxValue(), 1_000, "the others do not count");
        Map<String, Long> counts = recorder.countByThread();
        assertEquals(recorder.count(), counts.values().stream().mapToLong(Long::longValue).sum());
        assertEquals(Math.min(2, threadCount), counts.size(), counts::toString);
    }

    private static void record(LatencyRecorder recorder, CountDownLatch all) {
        all.countDown();
        try {
            all.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        for (int i = 0; i < EACH; i++) {
            recorder.writer().record(0, 1_000_000);
            recorder.writer().record(1, 9_000_000);
        }
    }
}
