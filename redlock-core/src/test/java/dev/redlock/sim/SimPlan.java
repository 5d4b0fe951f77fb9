package dev.redlock.sim;

import dev.redlock.CommandMode;
import dev.redlock.RestartGuardMode;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * What one simulated run is made of: all of it drawn from the seed, or set by a test that wants something special.
 */
public final class SimPlan {

    /** What can go wrong. */
    public enum Fault {
        // of the network
        BREAK, CUT, LOSE_REQUESTS, LOSE_REPLIES,
        // of a proxy: requests of a connection are executed seconds later, whether its client has hung up or not
        LATE_REQUESTS,
        // of a node's process
        CRASH_KEEP, CRASH_LOSE, PAUSE_NODE, SLOW, FLUSH_SCRIPTS, ERRORS,
        // of a node's clock
        CLOCK_RATE, CLOCK_BACK, CLOCK_FORWARD,
        // of a node's clock: steps ahead that are too small for the clock watch
        SMALL_STEPS,
        // of what is not promised to last: the counters behind fencing tokens
        LOSE_COUNTERS,
        // of keys, without a crash: one is deleted by hand or evicted, or all locks of one node are; counters stay
        LOSE_KEY, FLUSH_ALL,
        // of a node's machine: its clock is set ahead while the process is down; it is set after the process started
        REBOOT_KEEP, REBOOT_LOSE,
        // of a client's process
        PAUSE_CLIENT, CLOSE_CLIENT, KILL_CLIENT,
        // of a client's process: time passes between two instructions of one turn; its direct memory is used up
        SLOW_TURNS, NO_MEMORY,
        // of the application: callbacks, listeners and policies throw; who gets no lock tries again inside of the call
        THROWING_CALLBACKS, RETRY_AT_ONCE,
        // of the application's log: its handlers throw
        THROWING_LOG
    }

    /** Faults under which no two leases may overlap, but for the moment in which nobody can know of a clock's jump. */
    public static final Set<Fault> ASSUMED = EnumSet.complementOf(EnumSet.of(Fault.LOSE_COUNTERS));
    /** Faults after which every key that is not wanted is gone soon, not only when its ttl ends. */
    private static final Set<Fault> TIDY = EnumSet.of(Fault.BREAK, Fault.CUT, Fault.LOSE_REQUESTS, Fault.LOSE_REPLIES,
            Fault.CRASH_KEEP, Fault.PAUSE_NODE, Fault.SLOW, Fault.FLUSH_SCRIPTS, Fault.PAUSE_CLIENT, Fault.CLOCK_RATE,
            Fault.SLOW_TURNS, Fault.THROWING_CALLBACKS);

    final long seed;
    int nodeCount;
    int clientCount;
    int resourceCount;
    int workersPerResource;
    int maxTtlMs;
    int ttlMsMin;
    int ttlMsMax;
    int workMs;
    int faultPeriodMs;
    int delayUsMax;
    int clockSampleMs = 1000;
    int driftConstantMs = 2;
    int debtMax = 65_536;
    int nodeInFlightMax = 65_536;
    int localHandoffsMax = 4;
    RestartGuardMode guard = RestartGuardMode.UPTIME;
    Set<Fault> faults;
    boolean isTidy;
    boolean isLateExecuted;
    /** Extensions to a shorter ttl shorten keys on the nodes, which no node may do. */
    boolean isShorteningOnNodes;
    /** No more than the rate of the drift allows for between two samples, with what {@link Fault#CLOCK_RATE} adds. */
    int smallStepMsMax = 8;
    /** The checker knows which keys were lost, and does not take that for the client's fault. */
    boolean isKeyLossExcused = true;
    /** Real time without any event after which a run is given up. */
    long stuckMs = Long.getLong("sim.stuckMs", 20_000);
    /** The checker believes in the whole ttl from the grant on, as a client without validity would. */
    boolean isValidityIgnored;
    boolean isExtending = true;
    /** How often a worker extends what it holds, of ten times; to a ttl that may be shorter or longer than before. */
    int extendTenths = 3;
    /** Every grant has a fencing token. */
    boolean isFenced;
    /** Leases may overlap, so of two attempts under way at once either may get the greater fencing token. */
    boolean isOverlapExpected;
    /** Counters are lost only where the node's clock is past every number that any node has counted to. */
    boolean isCounterLossSafe = true;

    /** Which server each node is; Redis 7 where the list ends. */
    final List<FakeRedis.Kind> kinds = new ArrayList<>();
    /** How each client asks, in turn; by the default where the list is empty. */
    final List<CommandMode> commands = new ArrayList<>();

    private SimPlan(final long seed) {
        this.seed = seed;
    }

    /** A run under the assumptions of the algorithm, with a random choice of faults. */
    public static SimPlan of(final long seed) {
        final SplittableRandom random = new SplittableRandom(seed ^ 0x51AB);
        final SimPlan plan = new SimPlan(seed);
        plan.nodeCount = List.of(1, 2, 3, 3, 3, 4, 5, 5, 5, 7).get(random.nextInt(10));
        plan.clientCount = 2 + random.nextInt(3);
        plan.resourceCount = 1 + random.nextInt(3);
        plan.workersPerResource = 1 + random.nextInt(2);
        plan.workMs = 5_000;
        plan.faultPeriodMs = 50 + random.nextInt(1000);
        plan.delayUsMax = random.nextInt(4) == 0 ? 20_000 : 1_000;
        plan.isTidy = random.nextInt(3) == 0;
        plan.faults = EnumSet.noneOf(Fault.class);
        for (final Fault fault : plan.isTidy ? TIDY : ASSUMED) {
            if (random.nextInt(3) > 0) {
                plan.faults.add(fault);
            }
        }
        plan.maxTtlMs = plan.isTidy ? 60_000 : 2_000 + random.nextInt(3_000);
        plan.ttlMsMin = plan.isTidy ? 30_000 : 100;
        plan.ttlMsMax = plan.maxTtlMs;
        if (plan.isTidy || !plan.isDataLost() && random.nextBoolean()) {
            plan.guard = RestartGuardMode.OFF;
        }
        plan.isLateExecuted = !plan.isTidy && random.nextBoolean();
        plan.isFenced = random.nextInt(3) == 0;
        if (!plan.isTidy && random.nextInt(4) == 0) {
            plan.debtMax = random.nextInt(4);
        }
        if (!plan.isTidy && random.nextInt(4) == 0) {
            plan.nodeInFlightMax = 16;
        }
        for (int i = 0; i < plan.nodeCount; i++) {
            plan.kinds.add(drawn(random, FakeRedis.Kind.values()));
        }
        for (int i = 0; i < plan.clientCount; i++) {
            plan.commands.add(drawn(random, CommandMode.values()));
        }
        plan.localHandoffsMax = List.of(0, 1, 1, 4).get(random.nextInt(4));
        plan.extendTenths = List.of(1, 3, 8).get(random.nextInt(3));
        return plan;
    }

    private static <T> T drawn(final SplittableRandom random, final T[] values) {
        return values[random.nextInt(values.length)];
    }

    /** A quiet world in which nothing but the given faults happens, to three nodes. */
    public static SimPlan only(final long seed, final Fault... faults) {
        final SimPlan plan = new SimPlan(seed);
        plan.nodeCount = 3;
        plan.clientCount = 3;
        plan.resourceCount = 1;
        plan.workersPerResource = 1;
        plan.workMs = 20_000;
        plan.faultPeriodMs = 300;
        plan.delayUsMax = 500;
        plan.faults = EnumSet.noneOf(Fault.class);
        plan.faults.addAll(List.of(faults));
        plan.maxTtlMs = 3_000;
        plan.ttlMsMin = 1_000;
        plan.ttlMsMax = 3_000;
        return plan;
    }

    boolean isAnyOf(final Fault... candidates) {
        return List.of(candidates).stream().anyMatch(faults::contains);
    }

    /** Whether nodes may come back without their keys and counters. */
    boolean isDataLost() {
        return isAnyOf(Fault.CRASH_LOSE, Fault.REBOOT_LOSE);
    }

    /** Whether a node may execute a command of a connection behind commands of the next one. */
    boolean isLate() {
        return isLateExecuted || faults.contains(Fault.LATE_REQUESTS);
    }

    /** Whether the callback of a grant may be told behind the grant to the next holder. */
    boolean isGrantOrderOpen() {
        return isOverlapExpected || isAnyOf(Fault.CLOCK_FORWARD, Fault.SLOW_TURNS, Fault.LOSE_KEY, Fault.FLUSH_ALL);
    }

    /** Whether nothing but lost keys stands between a holder and its next extension. */
    boolean isOnlyKeyLoss() {
        return EnumSet.of(Fault.LOSE_KEY, Fault.FLUSH_ALL).containsAll(faults);
    }

    @Override
    public String toString() {
        return "seed " + seed + ": " + nodeCount + " nodes, " + clientCount + " clients, " + resourceCount + " x "
                + workersPerResource + " workers, maxTtl " + maxTtlMs + " ms, guard " + guard + ", delays up to "
                + delayUsMax + " us, a fault each " + faultPeriodMs + " ms of " + faults + (isTidy ? ", tidy" : "")
                + (isFenced ? ", fenced" : "")
                + (isLateExecuted ? ", late execution" : "") + (isShorteningOnNodes ? "" : ", nodes only lengthen")
                + ", debtMax " + debtMax
                + ", localHandoffsMax " + localHandoffsMax + ", nodes " + kinds
                + ", clients "
                + commands;
    }
}
