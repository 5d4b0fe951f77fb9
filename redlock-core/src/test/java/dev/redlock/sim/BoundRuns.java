package dev.redlock.sim;

import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.SimPlan.Fault;
import java.util.List;

/** Runs of the simulator that break a bound if the client has a fault. Only types of the JDK cross its methods. */
public final class BoundRuns {
    private BoundRuns() {
    }

    /** The violations of a run. */
    public static List<String> violations(String name, long seed) {
        Simulation simulation = new Simulation(plan(name, seed));
        try {
            simulation.run();
        } catch (AssertionError e) {
            // The violations count up to the failure.
        }
        return simulation.violations();
    }

    private static SimPlan plan(String name, long seed) {
        return switch (name) {
            case "no fault" -> {
                SimPlan plan = SimPlan.only(seed);
                plan.workersPerResource = 2;
                yield plan;
            }
            case "broken connections" -> SimPlan.only(seed, Fault.BREAK, Fault.LOSE_REPLIES, Fault.CRASH_KEEP);
            case "long ttls" -> {
                SimPlan plan = SimPlan.only(seed, Fault.BREAK, Fault.LOSE_REQUESTS, Fault.LOSE_REPLIES, Fault.CUT);
                plan.isTidy = true;
                plan.guard = RestartGuardMode.OFF;
                plan.maxTtlMs = 60_000;
                plan.ttlMsMin = 30_000;
                plan.ttlMsMax = 60_000;
                yield plan;
            }
            case "small limits" -> {
                SimPlan plan = SimPlan.only(seed, Fault.BREAK, Fault.CUT, Fault.CRASH_KEEP);
                plan.undeliveredReleasesMax = 1;
                plan.workersPerResource = 3;
                plan.resourceCount = 3;
                yield plan;
            }
            default -> throw new IllegalArgumentException(name);
        };
    }
}
