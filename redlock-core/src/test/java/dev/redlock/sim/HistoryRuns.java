package dev.redlock.sim;

import dev.redlock.sim.SimPlan.Fault;
import java.util.List;

/** Short runs of the simulator whose histories a checker judges. Only types of the JDK cross its methods. */
public final class HistoryRuns {
    private HistoryRuns() {
    }

    /** The history of a run. No fault of these runs permits two holders. */
    public static List<String> lines(String name, long seed) {
        Simulation simulation = new Simulation(plan(name, seed));
        try {
            simulation.run();
        } catch (AssertionError e) {
            // The history of a seeded fault counts up to the failure.
        }
        return simulation.history.lines();
    }

    static SimPlan plan(String name, long seed) {
        return switch (name) {
            case "restarts" -> {
                SimPlan plan = plan(seed, Fault.CRASH_LOSE);
                plan.faultPeriodMs = 200;
                plan.extendTenths = 8;
                yield plan;
            }
            case "clock rates" -> plan(seed, Fault.CLOCK_RATE);
            case "four nodes" -> {
                SimPlan plan = plan(seed, Fault.BREAK, Fault.LOSE_REPLIES);
                plan.nodeCount = 4;
                yield plan;
            }
            case "slow network" -> {
                SimPlan plan = plan(seed, Fault.SLOW);
                plan.delayUsMax = 40_000;
                yield plan;
            }
            case "fenced" -> {
                SimPlan plan = plan(seed, Fault.PAUSE_CLIENT, Fault.CUT, Fault.LOSE_REQUESTS, Fault.LOSE_REPLIES,
                        Fault.BREAK);
                plan.clientCount = 5;
                plan.faultPeriodMs = 100;
                plan.isFenced = true;
                yield plan;
            }
            case "pauses" -> {
                SimPlan plan = plan(seed, Fault.PAUSE_CLIENT, Fault.KILL_CLIENT, Fault.LOSE_REPLIES);
                plan.ttlMsMin = 200;
                plan.ttlMsMax = 1_000;
                yield plan;
            }
            case "readers and writers" -> {
                SimPlan plan = plan(seed, Fault.BREAK, Fault.PAUSE_CLIENT, Fault.LOSE_REPLIES);
                plan.readTenths = 5;
                plan.writeTenths = 4;
                yield plan;
            }
            case "semaphores" -> {
                SimPlan plan = plan(seed, Fault.BREAK, Fault.PAUSE_CLIENT, Fault.LOSE_REPLIES);
                plan.permitTenths = 10;
                plan.permitCount = 2;
                yield plan;
            }
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static SimPlan plan(long seed, Fault... faults) {
        SimPlan plan = SimPlan.only(seed, faults);
        plan.workMs = 10_000;
        return plan;
    }
}
