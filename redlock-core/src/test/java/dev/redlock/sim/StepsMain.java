package dev.redlock.sim;

import dev.redlock.spec.Rejected;
import dev.redlock.spec.Step;
import dev.redlock.spec.StepChecker;
import io.netty.util.ResourceLeakDetector;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * Checks that each step of random runs is one of the specification: {@code -Dsim.count} runs of the seed of seeds
 * {@code -Dsim.first}, one of twenty with joint lists, one of twenty with clusters. {@code -Dsim.seed} prints the
 * steps of one run, with {@code -Dsim.clusters=true} of one with clusters.
 */
public final class StepsMain {
    private static final int CLUSTER_MS = 10_000;

    private StepsMain() {
    }

    public static void main(String[] arguments) throws IOException {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        Long one = Long.getLong("sim.seed");
        if (one != null) {
            System.out.println(Boolean.getBoolean("sim.clusters")
                    ? checkClusters(one, System.out)
                    : check(SimPlan.of(one), System.out));
            return;
        }
        long count = Long.getLong("sim.count", 1_000);
        SplittableRandom seeds = new SplittableRandom(Long.getLong("sim.first", 1));
        for (long i = Long.getLong("sim.skip", 0); i > 0; i--) {
            seeds.nextLong();
        }
        long startNs = System.nanoTime();
        List<String> failures = new ArrayList<>();
        long steps = 0;
        for (int i = 0; i < count && failures.size() < 20; i++) {
            long seed = seeds.nextLong();
            Result result = switch (i % 20) {
                case 19 -> checkJointLists(seed >>> 1);
                case 9 -> checkClusters(seed >>> 1, null);
                default -> check(SimPlan.of(seed), null);
            };
            steps += result.stepCount;
            if (result.rejected != null) {
                failures.add(result.toString());
                System.out.println(result);
            }
        }
        System.out.println(count + " seeds, " + steps + " steps, " + failures.size() + " rejected, "
                + (System.nanoTime() - startNs) / 1_000_000_000L + " s");
        System.exit(failures.isEmpty() ? 0 : 1);
    }

    /** What the checker says about a run. */
    record Result(Object plan, long stepCount, long events, Rejected rejected) {
        @Override
        public String toString() {
            return plan + "\n  " + stepCount + " steps, " + events + " events; "
                    + (rejected == null ? "accepted" : rejected.getMessage());
        }
    }

    static Result check(SimPlan plan, PrintStream out) {
        StepChecker checker = new StepChecker(plan.brokenRules());
        Simulation simulation = new Simulation(plan);
        StepTrace trace = simulation.writeSteps(step -> print(checker, step, out));
        try {
            simulation.run();
        } catch (AssertionError e) {
            // The steps count up to the failure.
            if (Boolean.getBoolean("steps.stacks")) {
                e.printStackTrace();
            }
        }
        return new Result(plan, checker.stepCount(), simulation.traceCount(), trace.rejected());
    }

    static Result checkJointLists(long seed) {
        StepChecker checker = new StepChecker(Set.of());
        JointListsSimulation simulation = new JointListsSimulation(seed, JointListsSimulation.Procedure.THREE_STEPS);
        StepTrace trace = simulation.writeSteps(checker::accept);
        simulation.run();
        return new Result(simulation, checker.stepCount(), 0, trace.rejected());
    }

    /** Checks one resource of a run with clusters. */
    static Result checkClusters(long seed, PrintStream out) {
        return checkClusters(seed, ClusterSimulation.Silence.ALL_OBEY, CLUSTER_MS, out);
    }

    static Result checkClusters(long seed, ClusterSimulation.Silence silence, int workMs, PrintStream out) {
        StepChecker checker = new StepChecker(Set.of());
        ClusterSimulation simulation = new ClusterSimulation(seed, silence);
        StepTrace trace = simulation.writeSteps("resource-" + seed % 3, step -> print(checker, step, out));
        simulation.run(workMs);
        return new Result("clusters, seed " + seed + ": " + simulation, checker.stepCount(), 0, trace.rejected());
    }

    private static void print(StepChecker checker, Step step, PrintStream out) {
        if (out != null) {
            out.println(step);
        }
        checker.accept(step);
    }
}
