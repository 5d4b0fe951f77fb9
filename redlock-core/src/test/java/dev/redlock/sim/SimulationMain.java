package dev.redlock.sim;

import io.netty.util.ResourceLeakDetector;
import java.io.IOException;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * Runs the kept seeds and then random ones, {@code -Dsim.count} or for {@code -Dsim.seconds}, from the seed of seeds
 * {@code -Dsim.first} after the first {@code -Dsim.skip}. Keeps the seeds whose runs have something new
 * ({@link SimCorpus}), unless {@code -Dsim.kept=false}. Prints one run in full with {@code -Dsim.seed}.
 */
public final class SimulationMain {
    private static final int REPORT_EVERY = 1_000;

    private final SimCorpus corpus = new SimCorpus();
    private final boolean isKept = !"false".equals(System.getProperty("sim.kept"));
    private final long startNs = System.nanoTime();
    private long runs;
    private long failures;
    private long events;

    private SimulationMain() {
    }

    public static void main(String[] arguments) throws IOException {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        Long one = Long.getLong("sim.seed");
        if (one != null) {
            System.out.println(new Simulation(plan(one)).run().report());
            return;
        }
        long failures = new SimulationMain().search();
        System.exit(failures == 0 ? 0 : 1);
    }

    private long search() throws IOException {
        if (isKept) {
            SimCorpus.read().forEach(this::run);
            report();
        }
        long first = Long.getLong("sim.first", System.nanoTime());
        long skipped = Long.getLong("sim.skip", 0);
        long countMax = Long.getLong("sim.count", Long.MAX_VALUE);
        long endNs = startNs
                + Long.getLong("sim.seconds", countMax == Long.MAX_VALUE ? 60 : 1_000_000) * 1_000_000_000L;
        long failuresMax = Long.getLong("sim.failures", 5);
        SplittableRandom seeds = new SplittableRandom(first);
        for (long i = 0; i < skipped; i++) {
            seeds.nextLong();
        }
        long drawn = 0;
        for (; drawn < countMax && failures < failuresMax && endNs - System.nanoTime() > 0; drawn++) {
            run(seeds.nextLong());
            if (runs % REPORT_EVERY == 0) {
                report();
            }
        }
        report();
        System.out.println("continue with -Dsim.first=" + first + " -Dsim.skip=" + (skipped + drawn));
        if (isKept) {
            corpus.write(SimCorpus.FILE);
            report();
        }
        return failures;
    }

    /**
     * With {@code -Dsim.crowd=true}, many clients want one lock; with {@code -Dsim.retain=true}, they retain locks;
     * with {@code -Dsim.suspend=true}, they are suspended; with {@code -Dsim.promote=true}, nodes fail over.
     */
    private static SimPlan plan(long seed) {
        if (Boolean.getBoolean("sim.crowd")) {
            return SimPlan.crowding(seed);
        }
        if (Boolean.getBoolean("sim.promote")) {
            return SimPlan.promoting(seed);
        }
        if (Boolean.getBoolean("sim.suspend")) {
            return SimPlan.suspending(seed);
        }
        return Boolean.getBoolean("sim.retain") ? SimPlan.retaining(seed) : SimPlan.of(seed);
    }

    private void run(long seed) {
        runs++;
        try {
            Simulation simulation = new Simulation(plan(seed));
            Set<String> features = SimFeatures.ofRun(simulation);
            corpus.add(seed, features);
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
    }

    private void report() {
        System.out.println(runs + " seeds, " + failures + " failed, " + events + " events, " + corpus.keptCount()
                + " seeds kept, " + corpus.featureCount() + " features, "
                + (System.nanoTime() - startNs) / 1_000_000_000L + " s");
    }
}
