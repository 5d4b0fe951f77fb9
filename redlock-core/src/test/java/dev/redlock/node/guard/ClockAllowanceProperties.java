package dev.redlock.node.guard;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.quorum.Drift;
import dev.redlock.quorum.Validity;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/**
 * The clock watch and the allowance of validity against an adversary that controls a node's clock and the network's
 * delays. It moves the clock as far as the watch allows, at any time. Still no key expires within the validity of its
 * holder.
 */
class ClockAllowanceProperties {

    private static final long MS = 1_000_000;
    private static final long EPOCH_NS = 1_760_000_000_000L * MS;
    /** More than any clock gains here between two samples. */
    private static final long FAR_NS = 1L << 40;

    /** The next move: of the clock, and of the moment in the round trip at which the sample reads it. */
    private enum Move {
        AHEAD, BACK, STAY
    }

    private record Sample(long sentNs, long readNs, long receivedNs, long offsetNs) {
        boolean show(ClockWatch watch) {
            return watch.onSample(sentNs, receivedNs, EPOCH_NS + readNs + offsetNs);
        }
    }

    /** A node's clock and its samples, none of which the watch reports. */
    private static final class Run {
        private final Drift drift;
        private final int sampleMs;
        private final List<Sample> samples = new ArrayList<>();

        Run(Drift drift, int sampleMs) {
            this.drift = drift;
            this.sampleMs = sampleMs;
        }

        /** Takes a sample, sent late and on its way for so long, with the clock moved as far as can go unseen. */
        void sample(Move move, long lateNs, long tripNs, boolean isReadFirst) {
            Sample last = samples.isEmpty() ? null : samples.get(samples.size() - 1);
            long sentNs = last == null ? 0 : last.sentNs + sampleMs * MS + lateNs;
            long readNs = isReadFirst ? sentNs : sentNs + tripNs;
            long sign = move == Move.BACK ? -1 : 1;
            long unseenNs = 0;
            long seenNs = move == Move.STAY || last == null ? 1 : FAR_NS;
            while (seenNs - unseenNs > 1) {
                long halfNs = (unseenNs + seenNs) / 2;
                if (isSeen(new Sample(sentNs, readNs, sentNs + tripNs, last.offsetNs + sign * halfNs))) {
                    seenNs = halfNs;
                } else {
                    unseenNs = halfNs;
                }
            }
            long offsetNs = last == null ? 0 : last.offsetNs + sign * unseenNs;
            samples.add(new Sample(sentNs, readNs, sentNs + tripNs, offsetNs));
        }

        private boolean isSeen(Sample next) {
            ClockWatch watch = new ClockWatch(drift);
            samples.forEach(sample -> sample.show(watch));
            return next.show(watch);
        }

        /** Whether the last sample is reported. */
        boolean isLastSeen() {
            ClockWatch watch = new ClockWatch(drift);
            boolean isSeen = false;
            for (Sample sample : samples) {
                isSeen = sample.show(watch);
            }
            return isSeen;
        }

        /**
         * The shortest life of a key. It is set in one gap between samples and expires in another. In each gap the
         * clock has the worse of its offsets at the two ends.
         */
        long shortestNs(long ttlNs) {
            long shortestNs = ttlNs;
            for (int k = 0; k + 1 < samples.size(); k++) {
                for (int m = k; m + 1 < samples.size(); m++) {
                    long standsNs = ttlNs - gainNs(k, m);
                    long closestNs = samples.get(m).readNs - samples.get(k + 1).readNs;
                    long furthestNs = samples.get(m + 1).readNs - samples.get(k).readNs;
                    if (standsNs >= closestNs && standsNs <= furthestNs) {
                        shortestNs = Math.min(shortestNs, standsNs);
                    }
                }
            }
            return shortestNs;
        }

        private long gainNs(int k, int m) {
            long before = samples.get(k).offsetNs;
            long behind = samples.get(k + 1).offsetNs;
            if (k == m) {
                return Math.max(0, behind - before);
            }
            return Math.max(samples.get(m).offsetNs, samples.get(m + 1).offsetNs) - Math.min(before, behind);
        }
    }

    /** How long a round trip may take, by the assumptions of {@link Validity}. */
    private static long tripNsMax(Drift drift, long lateNs) {
        long leftNs = Validity.LATENESS_MS * MS - lateNs;
        long hiddenNs = drift.constantNs() / 4 + leftNs * drift.ratePpm() / 1_000_000;
        return Math.min(leftNs, hiddenNs * 1_000_000 / (1_000_000 + drift.ratePpm()));
    }

    private static void assertNoKeyEndsEarly(Run run, long ttlNs) {
        long validNs = ttlNs - new Validity(run.drift, run.sampleMs).allowanceNs(ttlNs);
        long shortestNs = run.shortestNs(ttlNs);
        assertTrue(shortestNs >= validNs, "a key of " + ttlNs + " ns ends after " + shortestNs
                + " ns, its holder relies on " + validNs + " ns; " + run.drift + ", sampled each " + run.sampleMs
                + " ms: " + run.samples);
    }

    @Property(tries = 300)
    void noKeyExpiresWithinItsValidityWithoutAReport(@ForAll long seed,
            @ForAll @LongRange(min = 5, max = 60_000) long ttlMs,
            @ForAll @IntRange(min = 0, max = 50_000) int ratePpm,
            @ForAll @LongRange(min = 0, max = 20_000_000) long constantNs) {
        SplittableRandom random = new SplittableRandom(seed);
        Drift drift = new Drift(ratePpm, constantNs);
        int sampleMs = (int) Math.min(60_000, Math.max(1, ttlMs / random.nextInt(1, 12)))
                * (random.nextBoolean() ? 1 : random.nextInt(1, 10));
        long lateNs = random.nextLong(Validity.LATENESS_MS * MS + 1);
        long tripNs = tripNsMax(drift, lateNs);
        Run run = new Run(drift, sampleMs);
        for (int i = 0; i < 16; i++) {
            boolean isExtreme = random.nextInt(3) > 0;
            Move move = Move.values()[random.nextInt(3)];
            run.sample(move, isExtreme ? lateNs : random.nextLong(lateNs + 1),
                    isExtreme ? tripNs : random.nextLong(tripNs + 1),
                    isExtreme ? move == Move.AHEAD : random.nextBoolean());
            if (run.isLastSeen()) {
                // It had gone so far that it is found without another move: the gain before that was not reported.
                run.samples.remove(i);
                break;
            }
        }
        assertNoKeyEndsEarly(run, ttlMs * MS);
    }

    /** Every sequence of six samples, with the defaults and some ttls. */
    @Example
    void noSequenceOfSixSamplesHidesAnEarlyExpiry() {
        for (int sampleMs : new int[]{10, 1_000}) {
            for (long lateNs : new long[]{0, Validity.LATENESS_MS * MS / 2}) {
                extend(new Run(Drift.DEFAULT, sampleMs), lateNs, tripNsMax(Drift.DEFAULT, lateNs), 0);
            }
        }
    }

    private static void extend(Run run, long lateNs, long tripNs, int length) {
        if (length == 6) {
            for (long ttlMs : new long[]{5, 100, 1_000, 2_000, 3_500}) {
                assertNoKeyEndsEarly(run, ttlMs * MS);
            }
            return;
        }
        for (Move move : Move.values()) {
            for (int first = 0; first < 2; first++) {
                run.sample(move, lateNs, tripNs, first == 0);
                if (!run.isLastSeen()) {
                    extend(run, lateNs, tripNs, length + 1);
                }
                run.samples.remove(run.samples.size() - 1);
            }
        }
    }

    /** The adversary is no weakling: it nearly uses up the allowance, and far more than the drift of the ttl alone. */
    @Example
    void theAdversaryNearlyUsesUpTheAllowance() {
        long ttlNs = 100 * MS;
        Run run = new Run(Drift.DEFAULT, 1_000);
        long lateNs = 50 * MS;
        for (Move move : new Move[]{Move.STAY, Move.BACK, Move.AHEAD, Move.AHEAD}) {
            run.sample(move, lateNs, tripNsMax(Drift.DEFAULT, lateNs), move == Move.AHEAD);
        }
        long gainNs = ttlNs - run.shortestNs(ttlNs);
        long allowedNs = new Validity(Drift.DEFAULT, 1_000).allowanceNs(ttlNs);
        assertTrue(gainNs > 8 * Drift.DEFAULT.ofNs(ttlNs) - MS, "more than seven times the drift: " + gainNs + " ns");
        assertTrue(gainNs > allowedNs * 9 / 10, "nine tenths of the allowance: " + gainNs + " ns of " + allowedNs);
    }
}
