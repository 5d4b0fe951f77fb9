package dev.redlock.sim;

import io.netty.util.ResourceLeakDetector;
import java.util.SplittableRandom;

/** Runs seeds for a time: {@code -Dsim.seconds=3600}, or one seed with its trace: {@code -Dsim.seed=42}. */
public final class SimulationMain {

    private SimulationMain() {
    }

    public static void main(String[] arguments) {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        Long one = Long.getLong("sim.seed");
        if (one != null) {
            System.out.println(new Simulation(SimPlan.of(one)).run().report());
            return;
        }
        long startNs = System.nanoTime();
        long endNs = startNs + Long.getLong("sim.seconds", 60) * 1_000_000_000L;
        SplittableRandom seeds = new SplittableRandom(Long.getLong("sim.first", System.nanoTime()));
        long runs = 0;
        long failures = 0;
        long events = 0;
        while (endNs - System.nanoTime() > 0 && failures < Long.getLong("sim.failures", 5)) {
            long seed = seeds.nextLong();
            try {
                Simulation simulation = new Simulation(SimPlan.of(seed)).run();
                events += simulation.traceCount();
                if (!simulation.isClean()) {
                    failures++;
                    System.out.println(simulation.plan + "\n  " + String.join("\n  ", simulation.violations()));
                }
            } catch (AssertionError e) {
                failures++;
                System.out.println(e.getMessage());
                e.printStackTrace(System.out);
            }
            if (++runs % 500 == 0) {
                System.out.println(runs + " seeds, " + failures + " failed");
            }
        }
        System.out.println(runs + " seeds, " + failures + " failed, " + events + " events, "
                + (System.nanoTime() - startNs) / 1_000_000_000L + " s");
        System.exit(failures == 0 ? 0 : 1);
    }
}
