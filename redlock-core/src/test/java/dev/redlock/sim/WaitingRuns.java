package dev.redlock.sim;

/** Runs of the simulator in which no push is lost. Only types of the JDK cross its methods. */
public final class WaitingRuns {
    private WaitingRuns() {
    }

    /** Readers, writers and plain locks of each client change the keys that its other waiters wait for. */
    static void mixKinds(SimPlan plan) {
        plan.clientCount = 1 + (int) (plan.seed % 3);
        plan.workersPerResource = 3;
        plan.resourceCount = 2;
        plan.workMs = 10_000;
        plan.readTenths = 6;
        plan.writeTenths = 3;
        plan.extendTenths = 8;
    }

    /** Returns whether a waiter sleeps although its lock is free. */
    public static boolean hasSleeper(long seed) {
        SimPlan plan = SimPlan.only(seed);
        mixKinds(plan);
        return new Simulation(plan).run().violations().stream().anyMatch(each -> each.contains("has been free"));
    }
}
