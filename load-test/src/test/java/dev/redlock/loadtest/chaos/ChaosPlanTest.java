package dev.redlock.loadtest.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Plans are repeatable and stay within their terms. */
class ChaosPlanTest {
    private static final int SEEDS = 200;

    @Test
    void seedGivesTheSamePlanAgain() {
        assertEquals(ChaosPlan.of(7, terms(false)), ChaosPlan.of(7, terms(false)));
        assertNotEquals(ChaosPlan.of(7, terms(false)), ChaosPlan.of(8, terms(false)));
    }

    @Test
    void atMostAMinorityOfTheNodesIsBadAtOnce() {
        for (long seed = 0; seed < SEEDS; seed++) {
            assertTrue(mostBadNodes(ChaosPlan.of(seed, terms(false))) <= 2, "seed " + seed);
        }
    }

    @Test
    void majorityLossMakesMoreThanAMinorityBad() {
        for (long seed = 0; seed < SEEDS; seed++) {
            assertTrue(mostBadNodes(ChaosPlan.of(seed, terms(true))) > 2, "seed " + seed);
        }
    }

    @Test
    void eachTargetHasOneFaultAtATimeAndAllEndInTime() {
        for (long seed = 0; seed < SEEDS; seed++) {
            List<ChaosStep> plan = ChaosPlan.of(seed, terms(true));
            for (ChaosStep step : plan) {
                assertTrue(step.endMs() <= terms(true).duration().toMillis(), step::toString);
                assertEquals(1, plan.stream().filter(other -> isSameTargetAt(other, step)).count(), step::toString);
            }
        }
    }

    @Test
    void everyFaultIsUsedAndOnlyThoseAllowed() {
        Set<Fault> used = EnumSet.noneOf(Fault.class);
        for (long seed = 0; seed < SEEDS; seed++) {
            ChaosPlan.of(seed, terms(true)).forEach(step -> used.add(step.fault()));
        }
        assertEquals(faultsOfMasters(), used);
        ChaosPlan.Terms onlyKills = new ChaosPlan.Terms(5, 3, Duration.ofSeconds(30), Duration.ofSeconds(2),
                List.of(Fault.KILL),
                false, true, false, false, false);
        List<ChaosStep> kills = ChaosPlan.of(1, onlyKills);
        assertFalse(kills.isEmpty());
        assertTrue(kills.stream().allMatch(step -> step.fault() == Fault.KILL));
    }

    /** Otherwise no lock is retained, which needs all nodes. */
    @Test
    void calmPlansHaveTimesWithoutABadNode() {
        ChaosPlan.Terms calm = new ChaosPlan.Terms(5, 3, Duration.ofSeconds(120), Duration.ofSeconds(2),
                terms(false).faults(), false, true, false, false, true);
        for (long seed = 0; seed < SEEDS; seed++) {
            List<ChaosStep> plan = ChaosPlan.of(seed, calm);
            long calmMs = LongStream.range(0, 1200).filter(tenth -> badNodesAt(plan, 100 * tenth) == 0).count() * 100;
            assertTrue(calmMs > 30_000 && calmMs < 110_000, "seed " + seed + ": " + calmMs);
            assertTrue(mostBadNodes(plan) <= 2, "seed " + seed);
        }
    }

    @Test
    void withClockStepsOneNodeIsBadAtATime() {
        ChaosPlan.Terms stepped = new ChaosPlan.Terms(5, 3, Duration.ofSeconds(60), Duration.ofSeconds(2),
                List.of(Fault.values()), false, true, false, false, false);
        for (long seed = 0; seed < SEEDS; seed++) {
            List<ChaosStep> plan = ChaosPlan.of(seed, stepped);
            assertTrue(mostBadNodes(plan) <= 1, "seed " + seed);
            assertTrue(plan.stream()
                    .filter(step -> step.fault() == Fault.CLOCK_STEP)
                    .allMatch(step -> step.lengthMs() >= ClockSteps.FOUND_WITHIN_MS), "found before the end, " + seed);
        }
    }

    @Test
    void wipedMajorityHasDistinctNodes() {
        List<ChaosStep> wipes = ChaosPlan.of(3, new ChaosPlan.Terms(5, 3, Duration.ofSeconds(60), Duration.ofSeconds(2),
                List.of(Fault.WIPE_MAJORITY), true, false, false, false, false));
        assertTrue(wipes.size() > 10, wipes::toString);
        wipes.forEach(step -> assertEquals(3, step.targets().stream().distinct().count(), step::toString));
        assertTrue(wipes.get(0).begins().startsWith("nodes "), wipes.get(0)::begins);
    }

    /** A slot with a new owner is silent for longer than maxTtl, so a minority rule must count it as bad meanwhile. */
    @Test
    void aClusterIsBadUntilItsSilenceHasEnded() {
        ChaosPlan.Terms clustered = new ChaosPlan.Terms(3, 2, Duration.ofSeconds(60), Duration.ofSeconds(2),
                List.of(Fault.WIPE, Fault.PAUSE, Fault.FAIL_OVER, Fault.MOVE_SLOT, Fault.CLUSTER_DOWN,
                        Fault.WORKER_KILL),
                false, true, true, false, false);
        for (long seed = 0; seed < SEEDS; seed++) {
            List<ChaosStep> plan = ChaosPlan.of(seed, clustered);
            assertTrue(mostBadNodes(plan) <= 1, "seed " + seed);
            plan.stream()
                    .filter(step -> !step.fault().isOfWorker())
                    .forEach(step -> assertTrue(step.healthyMs() - step.lengthMs() >= 9_000, step::toString));
        }
    }

    private static boolean isSameTargetAt(ChaosStep other, ChaosStep step) {
        return !Collections.disjoint(other.targets(), step.targets())
                && other.fault().isOfWorker() == step.fault().isOfWorker()
                && other.atMs() <= step.atMs() && step.atMs() < other.atMs() + other.healthyMs();
    }

    private static long mostBadNodes(List<ChaosStep> plan) {
        return plan.stream().mapToLong(step -> badNodesAt(plan, step.atMs())).max().orElse(0);
    }

    private static long badNodesAt(List<ChaosStep> plan, long atMs) {
        return plan.stream()
                .filter(step -> !step.fault().isOfWorker())
                .filter(step -> step.atMs() <= atMs && atMs < step.atMs() + step.healthyMs())
                .mapToLong(step -> step.targets().size())
                .sum();
    }

    private static Set<Fault> faultsOfMasters() {
        Set<Fault> faults = EnumSet.complementOf(EnumSet.of(Fault.CLOCK_STEP));
        faults.removeIf(Fault::isOfSentinels);
        return faults;
    }

    /** Some faults follow within the silence of the last one, which the Sentinels have to survive. */
    @Test
    void aPrimaryHasOneFaultAtATime() {
        Set<Fault> used = EnumSet.noneOf(Fault.class);
        List<Fault> faults = Stream.of(Fault.values()).filter(Fault::isOfSentinels).toList();
        ChaosPlan.Terms terms = new ChaosPlan.Terms(1, 2, Duration.ofSeconds(60), Duration.ofSeconds(1), faults, false,
                true, false, false, false);
        for (long seed = 0; seed < SEEDS; seed++) {
            List<ChaosStep> plan = ChaosPlan.of(seed, terms);
            plan.forEach(step -> used.add(step.fault()));
            assertTrue(!plan.isEmpty() && mostBadNodes(plan) == 1, "seed " + seed);
        }
        assertEquals(Set.copyOf(faults), used);
    }

    private static ChaosPlan.Terms terms(boolean isMajorityLoss) {
        Set<Fault> faults = faultsOfMasters();
        if (!isMajorityLoss) {
            faults.remove(Fault.WIPE_MAJORITY);
        }
        return new ChaosPlan.Terms(5, 3, Duration.ofSeconds(30), Duration.ofSeconds(2), List.copyOf(faults),
                isMajorityLoss,
                true, false, false, false);
    }
}
