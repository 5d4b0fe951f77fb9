package dev.redlock.loadtest.chaos;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The faults of a run with their targets and times: a pure function of the seed and the terms. Each fault starts and
 * ends inside the plan's duration, a target has one fault at a time, and no more nodes than allowed are bad at once. A
 * restarted node counts as bad until the restart guard accepts its votes again.
 *
 * @threading immutable
 */
final class ChaosPlan {
    /** The earliest time of a fault. */
    static final int GAP_MS_MIN = 100;
    private static final int GAP_MS_MAX = 900;
    private static final int CALM_MS_MIN = 2000;
    private static final int CALM_MS_MAX = 8000;
    private static final int WORKER_GAP_MS_MIN = 1500;
    private static final int WORKER_GAP_MS_MAX = 6000;
    private static final int DELAY_MS_MIN = 5;
    private static final int DELAY_MS_MAX = 400;
    private static final int STEP_MS_MIN = 100;
    /** The longest step of a clock. */
    static final int STEP_MS_MAX = 3000;
    /** The longest time between two connection attempts of a client, with a margin. */
    private static final int RECONNECT_MS = 500;
    /** TCP doubles its retransmission timeout, so a healed path carries data only after a while. */
    private static final int RESEND_MS = 4000;
    /** A margin for the start of a server, the whole seconds of its uptime, and the rounding of the guard. */
    private static final int GUARD_MS = 3000;
    /** The same for a cluster: it elects a replica, clients notice, and the silence of the changed slots ends. */
    private static final int CLUSTER_MS = 7000;
    /** Some faults follow within the silence of the last one, some after it. */
    private static final int SENTINELS_MS_MIN = 2000;
    private static final int SENTINELS_MS_MAX = 20_000;
    /** Of the resource whose slot a fault of a cluster concerns. */
    private static final int DRAWS = 1 << 16;

    /**
     * The parameters of a plan. Equal terms and an equal seed give an equal plan.
     *
     * @param maxTtl        of the clients, which bounds the quarantine after a restart
     * @param isCalmBetween whether there are times in which all nodes are healthy
     * @threading immutable
     */
    record Terms(int nodes, int workers, Duration duration, Duration maxTtl, List<Fault> faults,
            boolean isMajorityLoss, boolean isGuarded, boolean isClustered, boolean isListChanged,
            boolean isCalmBetween) {

        int majority() {
            return nodes / 2 + 1;
        }

        boolean isOfSentinels() {
            return faults.stream().anyMatch(Fault::isOfSentinels);
        }

        /**
         * The clock watch detects a step at the next sample. Until then only the other nodes keep the lock, so with
         * steps one node is bad at a time: {@link ClockSteps}. Two bad nodes may be a majority of one of two lists.
         */
        int badNodesMax() {
            if (faults.contains(Fault.CLOCK_STEP) || isOfSentinels()) {
                return 1;
            }
            return isMajorityLoss ? nodes : isListChanged ? 1 : (nodes - 1) / 2;
        }
    }

    private final Terms terms;
    private final SplittableRandom random;
    private final List<ChaosStep> steps = new ArrayList<>();

    private ChaosPlan(long seed, Terms terms) {
        this.terms = terms;
        this.random = new SplittableRandom(seed);
    }

    static List<ChaosStep> of(long seed, Terms terms) {
        ChaosPlan plan = new ChaosPlan(seed, terms);
        plan.add(terms.nodes(), terms.badNodesMax(), false, GAP_MS_MIN, GAP_MS_MAX);
        plan.add(terms.workers(), 1, true, WORKER_GAP_MS_MIN, WORKER_GAP_MS_MAX);
        plan.steps.sort((a, b) -> Long.compare(a.atMs(), b.atMs()));
        return List.copyOf(plan.steps);
    }

    private void add(int targets, int badMax, boolean isOfWorker, int gapMsMin, int gapMsMax) {
        List<Fault> faults = terms.faults().stream().filter(fault -> fault.isOfWorker() == isOfWorker).toList();
        if (faults.isEmpty()) {
            return;
        }
        long[] badUntilMs = new long[targets];
        long durationMs = terms.duration().toMillis();
        for (long atMs = between(gapMsMin, gapMsMax); atMs < durationMs; atMs += between(gapMsMin, gapMsMax)) {
            List<Integer> good = good(badUntilMs, atMs);
            int bad = targets - good.size();
            if (bad < badMax) {
                Fault fault = faults.get(random.nextInt(faults.size()));
                int width = fault == Fault.WIPE_MAJORITY ? terms.majority() : 1;
                if (bad + width <= badMax) {
                    add(step(atMs, fault, drawn(good, width)), badUntilMs);
                }
            }
            if (terms.isCalmBetween() && !isOfWorker && random.nextBoolean()) {
                long healthyMs = Math.max(atMs, Arrays.stream(badUntilMs).max().orElseThrow());
                atMs = healthyMs + between(CALM_MS_MIN, CALM_MS_MAX);
            }
        }
    }

    private void add(ChaosStep step, long[] badUntilMs) {
        if (step.endMs() <= terms.duration().toMillis()) {
            steps.add(step);
            step.targets().forEach(target -> badUntilMs[target] = step.atMs() + step.healthyMs());
        }
    }

    private static List<Integer> good(long[] badUntilMs, long atMs) {
        List<Integer> good = new ArrayList<>();
        for (int i = 0; i < badUntilMs.length; i++) {
            if (badUntilMs[i] <= atMs) {
                good.add(i);
            }
        }
        return good;
    }

    private List<Integer> drawn(List<Integer> good, int width) {
        List<Integer> left = new ArrayList<>(good);
        List<Integer> drawn = new ArrayList<>();
        while (drawn.size() < width) {
            drawn.add(left.remove(random.nextInt(left.size())));
        }
        return List.copyOf(drawn);
    }

    private ChaosStep step(long atMs, Fault fault, List<Integer> targets) {
        int lengthMs = between(fault.lengthMsMin(), fault.lengthMsMax());
        int amount = switch (fault) {
            case SLOW -> between(DELAY_MS_MIN, DELAY_MS_MAX);
            case CLOCK_STEP -> between(STEP_MS_MIN, STEP_MS_MAX) * (random.nextBoolean() ? 1 : -1);
            default -> terms.isClustered() ? random.nextInt(DRAWS) : 0;
        };
        return new ChaosStep(atMs, fault, targets, lengthMs, lengthMs + recoveryMs(fault), amount);
    }

    private long recoveryMs(Fault fault) {
        if (fault.isOfSentinels()) {
            return between(SENTINELS_MS_MIN, SENTINELS_MS_MAX);
        }
        if (terms.isClustered() && !fault.isOfWorker()) {
            return terms.maxTtl().toMillis() + CLUSTER_MS;
        }
        boolean isQuarantined = fault.isQuarantined() && (terms.isGuarded() || !fault.isRestart());
        return isQuarantined
                ? terms.maxTtl().toMillis() + GUARD_MS
                : fault.isOfNetwork() ? RESEND_MS : RECONNECT_MS;
    }

    private int between(int min, int max) {
        return random.nextInt(min, max + 1);
    }
}
