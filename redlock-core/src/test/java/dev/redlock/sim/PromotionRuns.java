package dev.redlock.sim;

import dev.redlock.sim.SimPlan.Fault;
import java.util.List;

/** Runs of the simulator whose nodes fail over. Only types of the JDK cross its methods. */
public final class PromotionRuns {
    /** From this seed on, leases are reclaimed. */
    private static final long RECLAIMS = 1_000;
    /** From this seed on, a deposed primary serves for longer than leases are valid. */
    private static final long SHORT_TTLS = 2_000;

    private PromotionRuns() {
    }

    /** The overlaps of a run; faults that are no failovers are few, so that clients get locks on each side. */
    public static List<String> overlaps(long seed) {
        Simulation simulation = new Simulation(plan(seed));
        try {
            simulation.run();
        } catch (AssertionError e) {
            // The violations count up to the failure.
        }
        return simulation.violations().stream().filter(each -> each.contains("two hold")).toList();
    }

    /** The leases that a new primary has set the keys of, in a run without a fault that has clients reclaim leases. */
    public static int reclaims(long seed) {
        return new Simulation(plan(RECLAIMS + seed)).run().counts().getOrDefault("SET_AGAIN", 0);
    }

    private static SimPlan plan(long seed) {
        SimPlan plan = SimPlan.promoting(seed);
        plan.nodeCount = 1;
        plan.thriftyClients = 0;
        plan.clientCount = 4;
        plan.isServiceLimited = true;
        plan.ttlMsMin = plan.maxTtlMs * 2 / 3;
        plan.faults.clear();
        plan.faults.addAll(List.of(Fault.PROMOTE, Fault.KILL_CLIENT, Fault.BREAK, Fault.CUT, Fault.PAUSE_CLIENT));
        plan.faultPeriodMs = 400;
        // Two promotions within a silence, or locks between them.
        plan.promotionGapMs = seed % 2 == 0 ? 0 : 10_000;
        plan.workersPerResource = 1;
        plan.resourceCount = 2;
        plan.extendTenths = 1;
        plan.setTenths = 0;
        plan.readTenths = 0;
        plan.writeTenths = 0;
        plan.permitTenths = 0;
        plan.nodeInFlightMax = 65_536;
        if (seed >= SHORT_TTLS) {
            plan.isHoldingLong = true;
            plan.promotionGapMs = 10_000;
            plan.faultPeriodMs = 1_000;
        } else if (seed >= RECLAIMS) {
            plan.outlivingService();
        }
        return plan;
    }
}
