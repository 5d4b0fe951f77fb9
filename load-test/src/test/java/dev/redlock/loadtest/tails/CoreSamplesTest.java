package dev.redlock.loadtest.tails;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.rig.SlowCycles.Slow;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** One event loop and three servers; times are milliseconds. */
class CoreSamplesTest {
    private static final long MS = 1_000_000;

    private final CoreSamples samples = new CoreSamples(1, 3, 0);

    private void waited(long from, long to, long... ms) {
        samples.add(from * MS, to * MS, 0, ns(ms), new long[4]);
    }

    private void ran(long from, long to, long... ms) {
        samples.add(from * MS, to * MS, 0, new long[4], ns(ms));
    }

    private static long[] ns(long[] ms) {
        long[] ns = new long[ms.length];
        for (int i = 0; i < ms.length; i++) {
            ns[i] = ms[i] * MS;
        }
        return ns;
    }

    private long of(Cause cause, long from, long begun, long end) {
        Map<Cause, Long> times = samples.timesOf(new Slow(from * MS, begun * MS, end * MS));
        return times.get(cause) / MS;
    }

    @Test
    void aLateStartIsTheRigs() {
        assertEquals(3, of(Cause.RIG_LATE, 10, 13, 20));
    }

    @Test
    void aWaitCountsUpToItsEndAndMayHaveBegunBeforeItsSpan() {
        waited(18, 20, 7, 0, 0, 0);
        assertEquals(7, of(Cause.CLIENT_CORE, 10, 10, 20));
        assertEquals(5, of(Cause.CLIENT_CORE, 15, 15, 20));
        assertEquals(6, of(Cause.CLIENT_CORE, 10, 10, 19));
        assertEquals(0, of(Cause.CLIENT_CORE, 20, 20, 30));
        assertEquals(0, of(Cause.CLIENT_CORE, 10, 10, 18));
    }

    @Test
    void workCountsByTheShareOfItsSpan() {
        ran(10, 20, 10, 0, 0, 0);
        ran(20, 30, 8, 0, 0, 0);
        assertEquals(9, of(Cause.CLIENT_BUSY, 15, 15, 25));
    }

    @Test
    void aThreadWithTimeToSpareIsNotBusy() {
        ran(10, 20, 7, 0, 9, 7);
        assertEquals(0, of(Cause.CLIENT_BUSY, 10, 10, 20));
        assertEquals(0, of(Cause.SERVER_BUSY, 10, 10, 20));
    }

    @Test
    void oneSlowServerOfThreeLeavesAMajority() {
        waited(10, 20, 0, 9, 0, 0);
        assertEquals(0, of(Cause.SERVER_CORE, 10, 10, 20));
        waited(20, 30, 0, 9, 6, 0);
        assertEquals(6, of(Cause.SERVER_CORE, 20, 20, 30));
        ran(30, 40, 0, 1, 8, 9);
        assertEquals(8, of(Cause.SERVER_BUSY, 30, 30, 40));
    }

    @Test
    void theNetworkOfTheKernelIsLateIfItWaitsOrIsBusy() {
        CoreSamples kernel = new CoreSamples(1, 1, 2);
        kernel.add(10 * MS, 20 * MS, 0, new long[]{0, 0, 0, 3 * MS}, new long[]{0, 0, MS, 0});
        kernel.add(20 * MS, 30 * MS, 0, new long[4], new long[]{0, 0, 9 * MS, 0});
        Map<Cause, Long> times = kernel.timesOf(new Slow(10 * MS, 10 * MS, 30 * MS));
        assertEquals(12 * MS, times.get(Cause.KERNEL));
        assertEquals(0, times.get(Cause.SERVER_CORE));
        assertEquals(0, times.get(Cause.SERVER_BUSY));
        assertEquals(Cause.KERNEL, Cause.of(times, 24 * MS));
    }

    @Test
    void aStandstillCountsUpToTheEndOfItsSpan() {
        samples.add(10 * MS, 20 * MS, 6 * MS, new long[4], new long[4]);
        assertEquals(6, of(Cause.MACHINE, 10, 10, 20));
        assertEquals(4, of(Cause.MACHINE, 10, 10, 18));
        assertEquals(0, of(Cause.MACHINE, 20, 20, 30));
    }

    /** 12 of 20 ms: a late start, a wait of the loop that overlaps it, two late servers, and a standstill. */
    @Test
    void severalCausesInTurnCountTheirTimeOnce() {
        waited(10, 14, 3, 0, 0, 0);
        samples.add(14 * MS, 20 * MS, 0, new long[]{0, 4 * MS, 0, 0}, new long[]{0, 0, 5 * MS, 0});
        samples.add(26 * MS, 30 * MS, 2 * MS, new long[4], new long[4]);
        Map<Cause, Long> times = samples.timesOf(new Slow(10 * MS, 12 * MS, 30 * MS));
        assertEquals(10 * MS, times.get(Cause.SEVERAL));
        assertEquals(0, times.get(Cause.SERVER_CORE));
        assertEquals(Cause.SEVERAL, Cause.of(times, 20 * MS));
        assertEquals(Cause.UNKNOWN, Cause.of(times, 21 * MS));
        assertEquals(Cause.UNKNOWN, Cause.of(times, 0));
    }

    @Test
    void withoutKnownServersTheirPartIsNothing() {
        CoreSamples client = new CoreSamples(1, 0, 0);
        client.add(0, MS, 0, new long[]{MS}, new long[]{0});
        Map<Cause, Long> times = client.timesOf(new Slow(0, 0, MS));
        assertEquals(MS, times.get(Cause.CLIENT_CORE));
        assertEquals(0, times.get(Cause.SERVER_CORE));
        assertEquals(0, new CoreSamples(0, 0, 0).timesOf(new Slow(0, 0, MS)).get(Cause.CLIENT_CORE));
    }

    @Test
    void theMemoryIsBoundedAndSaysSo() {
        for (int i = 0; !samples.isFull() && i < 1_000_000; i++) {
            assertFalse(samples.isFull());
            ran(i, i + 1, 0, 0, 0, 0);
            ran(i, i + 1, 1, 0, 0, 0);
        }
        assertTrue(samples.isFull());
        ran(2_000_000, 2_000_001, 1, 0, 0, 0);
        assertEquals(0, of(Cause.CLIENT_BUSY, 2_000_000, 2_000_000, 2_000_001));
        assertEquals(1, of(Cause.CLIENT_BUSY, 5, 5, 6));
    }
}
