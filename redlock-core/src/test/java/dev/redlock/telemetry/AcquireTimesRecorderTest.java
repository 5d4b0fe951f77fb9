package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The buckets of acquire times, and the percentiles that are read from them. */
@Timeout(60)
class AcquireTimesRecorderTest {

    private static final long SECOND_NS = 1_000_000_000;
    private static final long MINUTE_NS = 60 * SECOND_NS;

    private final AcquireTimesRecorder times = new AcquireTimesRecorder(2);
    private long nowNs;

    private AcquireTimesReader reader(AcquireTimesRecorder... loops) {
        return new AcquireTimesReader(List.of(loops), 2, () -> nowNs);
    }

    /** The buckets follow each other without a gap, and none is wide. */
    @Test
    void everyDurationHasOneNarrowBucket() {
        for (int bucket = 0; bucket < AcquireTimesRecorder.BUCKET_COUNT - 1; bucket++) {
            long startNs = bucket == 0 ? 0 : AcquireTimesRecorder.endNs(bucket - 1);
            long endNs = AcquireTimesRecorder.endNs(bucket);
            assertEquals(bucket, AcquireTimesRecorder.bucketOf(startNs), "start of bucket " + bucket);
            assertEquals(bucket, AcquireTimesRecorder.bucketOf(endNs - 1), "end of bucket " + bucket);
            assertTrue(endNs - startNs <= Math.max(1024, startNs / 32), "width of bucket " + bucket);
        }
        assertEquals(AcquireTimesRecorder.BUCKET_COUNT - 1, AcquireTimesRecorder.bucketOf(Long.MAX_VALUE));
        assertTrue(AcquireTimesRecorder.endNs(AcquireTimesRecorder.BUCKET_COUNT - 1) > 4_000 * SECOND_NS,
                "more than an hour");
    }

    @Test
    void hugeAndNegativeDurationsAreCounted() {
        times.add(1, Long.MAX_VALUE / 2);
        times.add(1, -5);
        AcquireTimesReader reader = reader(times);
        assertEquals(2, reader.count(1));
        assertEquals(0, reader.count(0));
        assertEquals(Long.MAX_VALUE / 2, reader.sumNs(1));
        assertEquals(1, reader.countUpTo(1, SECOND_NS));
    }

    @Test
    void percentilesAreThoseOfTheSortedDurations() {
        SplittableRandom random = new SplittableRandom(1);
        AcquireTimesRecorder other = new AcquireTimesRecorder(2);
        AcquireTimesReader reader = reader(times, other);
        List<Long> all = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            long ns = (long) Math.exp(random.nextDouble() * 20);
            all.add(ns);
            (random.nextBoolean() ? times : other).add(0, ns);
        }
        Collections.sort(all);
        assertEquals(all.stream().mapToLong(ns -> ns).sum(), reader.sumNs(0));
        for (double share : new double[]{0.001, 0.5, 0.95, 0.99, 0.999, 1}) {
            long exact = all.get((int) Math.ceil(share * all.size()) - 1);
            double read = reader.percentileNs(0, share);
            assertTrue(read > exact && read <= exact * 33.0 / 32 + 1024, share + ": " + read + " for " + exact);
        }
        assertTrue(Double.isNaN(reader.percentileNs(1, 0.5)), "another outcome");
    }

    @Test
    void percentilesForgetAfterTwoMinutesAndCountsDoNot() {
        AcquireTimesReader reader = reader(times);
        times.add(0, SECOND_NS);
        nowNs = MINUTE_NS;
        reader.percentileNs(0, 1);
        times.add(0, 1_000);
        nowNs = 2 * MINUTE_NS - 1;
        assertTrue(reader.percentileNs(0, 1) >= SECOND_NS, "one minute old");
        nowNs = 2 * MINUTE_NS;
        assertEquals(1024, reader.percentileNs(0, 1));
        nowNs = 3 * MINUTE_NS;
        assertTrue(Double.isNaN(reader.percentileNs(0, 1)), "nothing for a minute");
        assertEquals(2, reader.count(0));
    }

    /** A reader that starts later has all counts, and percentiles from its start on. */
    @Test
    void aReaderStartsWithItsFirstMoment() {
        times.add(0, SECOND_NS);
        AcquireTimesReader late = reader(times);
        assertEquals(1, late.count(0));
        assertTrue(Double.isNaN(late.percentileNs(0, 1)), "before its start");
    }

    /** A reader sees no number twice and none too early, while another thread adds. */
    @Test
    void aReaderMayReadWhileTheLoopAdds() throws InterruptedException {
        AcquireTimesReader reader = reader(times);
        int count = 2_000_000;
        CountDownLatch started = new CountDownLatch(1);
        Thread loop = new Thread(() -> {
            for (int i = 0; i < count; i++) {
                times.add(0, 2_000);
                if (i == 1_000) {
                    started.countDown();
                }
            }
        });
        loop.start();
        started.await();
        long before = 0;
        while (loop.isAlive()) {
            assertEquals(AcquireTimesRecorder.endNs(AcquireTimesRecorder.bucketOf(2_000)),
                    reader.percentileNs(0, 0.99));
            long now = reader.count(0);
            assertTrue(now >= before && now <= count, now + " after " + before);
            before = now;
        }
        loop.join();
        assertEquals(count, reader.count(0));
        assertEquals(2_000L * count, reader.sumNs(0));
    }
}
