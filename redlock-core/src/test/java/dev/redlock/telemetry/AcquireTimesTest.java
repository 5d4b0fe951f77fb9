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
class AcquireTimesTest {

    private static final long SECOND_NS = 1_000_000_000;
    private static final long MINUTE_NS = 60 * SECOND_NS;

    private final AcquireTimes times = new AcquireTimes(2);

    private AcquireTimesReader reader(AcquireTimes... loops) {
        return new AcquireTimesReader(List.of(loops), 2, 0);
    }

    /** The buckets follow each other without a gap, and none is wide. */
    @Test
    void everyDurationHasOneNarrowBucket() {
        for (int bucket = 0; bucket < AcquireTimes.BUCKET_COUNT - 1; bucket++) {
            long startNs = bucket == 0 ? 0 : AcquireTimes.endNs(bucket - 1);
            long endNs = AcquireTimes.endNs(bucket);
            assertEquals(bucket, AcquireTimes.bucketOf(startNs), "start of bucket " + bucket);
            assertEquals(bucket, AcquireTimes.bucketOf(endNs - 1), "end of bucket " + bucket);
            assertTrue(endNs - startNs <= Math.max(1024, startNs / 32), "width of bucket " + bucket);
        }
        assertEquals(AcquireTimes.BUCKET_COUNT - 1, AcquireTimes.bucketOf(Long.MAX_VALUE));
        assertTrue(AcquireTimes.endNs(AcquireTimes.BUCKET_COUNT - 1) > 4_000 * SECOND_NS, "more than an hour");
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
        AcquireTimes other = new AcquireTimes(2);
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
            double read = reader.percentileNs(0, share, 0);
            assertTrue(read > exact && read <= exact * 33.0 / 32 + 1024, share + ": " + read + " for " + exact);
        }
        assertTrue(Double.isNaN(reader.percentileNs(1, 0.5, 0)), "another outcome");
    }

    @Test
    void percentilesForgetAfterTwoMinutesAndCountsDoNot() {
        AcquireTimesReader reader = reader(times);
        times.add(0, SECOND_NS);
        reader.percentileNs(0, 1, MINUTE_NS);
        times.add(0, 1_000);
        assertTrue(reader.percentileNs(0, 1, 2 * MINUTE_NS - 1) >= SECOND_NS, "one minute old");
        assertEquals(1024, reader.percentileNs(0, 1, 2 * MINUTE_NS));
        assertTrue(Double.isNaN(reader.percentileNs(0, 1, 3 * MINUTE_NS)), "nothing for a minute");
        assertEquals(2, reader.count(0));
    }

    /** Two registries read the same client, each with percentiles of its own. */
    @Test
    void aReaderStartsWithItsFirstMoment() {
        times.add(0, SECOND_NS);
        AcquireTimesReader late = reader(times);
        assertEquals(1, late.count(0));
        assertTrue(Double.isNaN(late.percentileNs(0, 1, 0)), "before its start");
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
            assertEquals(AcquireTimes.endNs(AcquireTimes.bucketOf(2_000)), reader.percentileNs(0, 0.99, 0));
            long now = reader.count(0);
            assertTrue(now >= before && now <= count, now + " after " + before);
            before = now;
        }
        loop.join();
        assertEquals(count, reader.count(0));
        assertEquals(2_000L * count, reader.sumNs(0));
    }
}
