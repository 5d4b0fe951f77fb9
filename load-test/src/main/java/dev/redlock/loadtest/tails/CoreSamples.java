package dev.redlock.loadtest.tails;

import dev.redlock.loadtest.rig.SlowCycles;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;

/**
 * What threads did in spans of time: for how long each has run, and has waited for a core while it could run, and for
 * how long the machine stood still. It keeps the spans in which one of these took a good part, in memory that it has
 * from the start.
 *
 * @threading caller-confined: one thread adds, and another one asks after that
 */
final class CoreSamples {
    /** A slow cycle may have met several waits, but shorter ones explain nothing. */
    private static final long WAIT_NS_MIN = 20_000;
    private static final double BUSY_SHARE_MIN = 0.8;
    private static final int SAMPLES_MAX = 200_000;
    /** The start, the end, the time of a standstill, and then for each thread how long it has waited and run. */
    private static final int HEAD = 3;
    private static final int STILL = 2;

    private final int loopCount;
    private final int serverCount;
    private final int kernelCount;
    private final int width;
    private final long[] samples;
    private int count;

    /**
     * @param loopCount   the event loops of the client, which come first
     * @param serverCount the servers, which follow
     * @param kernelCount the threads of the kernel's network, which come last
     */
    CoreSamples(int loopCount, int serverCount, int kernelCount) {
        this.loopCount = loopCount;
        this.serverCount = serverCount;
        this.kernelCount = kernelCount;
        this.width = HEAD + 2 * (loopCount + serverCount + kernelCount);
        this.samples = new long[width * SAMPLES_MAX];
    }

    /**
     * Adds a span, which follows those before; allocates nothing. Drops one that explains nothing.
     *
     * @param stillNs for how long the machine stood still before its end
     */
    void add(long fromNs, long toNs, long stillNs, long[] waitedNs, long[] ranNs) {
        if (isFull()) {
            return;
        }
        int at = count * width;
        boolean isKept = stillNs >= WAIT_NS_MIN;
        for (int i = 0; i < waitedNs.length; i++) {
            samples[at + HEAD + 2 * i] = waitedNs[i];
            samples[at + HEAD + 2 * i + 1] = ranNs[i];
            isKept |= waitedNs[i] >= WAIT_NS_MIN || waitedNs[i] + ranNs[i] >= (toNs - fromNs) * BUSY_SHARE_MIN;
        }
        samples[at] = fromNs;
        samples[at + 1] = toNs;
        samples[at + STILL] = stillNs;
        count += isKept ? 1 : 0;
    }

    /** Whether the memory is full, so that causes of later cycles are unknown. */
    boolean isFull() {
        return count == SAMPLES_MAX;
    }

    /**
     * How much of a cycle each cause has taken, without the pauses of the JVM.
     *
     * <p>A majority of N servers is missing when N - majority + 1 of them are late, so the servers' part is that which
     * so many of them reach.
     */
    Map<Cause, Long> timesOf(SlowCycles.Slow cycle) {
        int servers = loopCount + serverCount;
        long[] waited = new long[servers + kernelCount];
        long[] ran = new long[waited.length];
        long kernelNs = 0;
        long stillNs = 0;
        // A server that waits, and one that is busy, are both late.
        int missing = serverCount - serverCount / 2;
        long[] late = new long[waited.length];
        Spans explained = new Spans();
        explained.add(cycle.intendedNs(), cycle.begunNs());
        for (int s = firstAfter(cycle.intendedNs()); s < count && samples[s * width] - cycle.endNs() < 0; s++) {
            long fromNs = samples[s * width];
            long toNs = samples[s * width + 1];
            double share = (double) overlapNs(cycle, fromNs, toNs) / (toNs - fromNs);
            for (int i = 0; i < waited.length; i++) {
                long ranNs = (long) (share * samples[s * width + HEAD + 2 * i + 1]);
                // A wait counts when it ends: it may have begun before the span.
                long waitedNs = samples[s * width + HEAD + 2 * i];
                waited[i] += overlapNs(cycle, toNs - waitedNs, toNs);
                // A thread with time to spare delays nobody.
                double busyNsMin = share * (toNs - fromNs) * BUSY_SHARE_MIN;
                ran[i] += ranNs >= busyNsMin ? ranNs : 0;
                late[i] = waitedNs + (waitedNs + ranNs >= busyNsMin ? ranNs : 0);
            }
            long spanStillNs = samples[s * width + STILL];
            stillNs += overlapNs(cycle, toNs - spanStillNs, toNs);
            long kernelLateNs = reachedBy(late, servers, late.length, 1);
            kernelNs += overlapNs(cycle, toNs - kernelLateNs, toNs);
            long lateNs = Math.max(Math.max(spanStillNs, kernelLateNs),
                    Math.max(reachedBy(late, 0, loopCount, 1), reachedBy(late, loopCount, servers, missing)));
            explained.add(Math.max(cycle.intendedNs(), toNs - lateNs), Math.min(cycle.endNs(), toNs));
        }
        Map<Cause, Long> times = new EnumMap<>(Cause.class);
        times.put(Cause.RIG_LATE, cycle.begunNs() - cycle.intendedNs());
        times.put(Cause.CLIENT_CORE, reachedBy(waited, 0, loopCount, 1));
        times.put(Cause.CLIENT_BUSY, reachedBy(ran, 0, loopCount, 1));
        times.put(Cause.SERVER_CORE, reachedBy(waited, loopCount, servers, missing));
        times.put(Cause.SERVER_BUSY, reachedBy(ran, loopCount, servers, missing));
        times.put(Cause.KERNEL, kernelNs);
        times.put(Cause.MACHINE, stillNs);
        times.put(Cause.SEVERAL, explained.lengthNs());
        return times;
    }

    private static long overlapNs(SlowCycles.Slow cycle, long fromNs, long toNs) {
        return Math.max(0, Math.min(cycle.endNs() - fromNs, toNs - fromNs)
                - Math.max(0, cycle.intendedNs() - fromNs));
    }

    /** The first span that ends after a time. */
    private int firstAfter(long ns) {
        int low = 0;
        int high = count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (samples[middle * width + 1] - ns > 0) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    /** The value that so many of a range reach; 0 if the range is empty. */
    private static long reachedBy(long[] values, int from, int to, int number) {
        long[] sorted = Arrays.copyOfRange(values, from, to);
        Arrays.sort(sorted);
        return sorted.length == 0 ? 0 : sorted[sorted.length - number];
    }
}
