package dev.redlock.sim;

import dev.redlock.api.CommandMode;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.spec.Rule;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/** The plan of one simulated run: drawn from the seed, or set by a test for a special case. */
public final class SimPlan {

    /** The kinds of faults. */
    public enum Fault {
        // network
        BREAK, CUT, LOSE_REQUESTS, LOSE_REPLIES,
        // proxy: requests of a connection are executed seconds later, even if its client has disconnected
        LATE_REQUESTS,
        // process of a node
        CRASH_KEEP, CRASH_LOSE, PAUSE_NODE, SLOW, FLUSH_SCRIPTS, ERRORS,
        // clock of a node
        CLOCK_RATE, CLOCK_BACK, CLOCK_FORWARD,
        // clock of a node: forward steps below the detection limit of the clock watch
        SMALL_STEPS,
        // fencing counters, which may expire
        LOSE_COUNTERS,
        // keys, without a crash: one is deleted or evicted, or all locks of one node are; counters stay
        LOSE_KEY, FLUSH_ALL,
        // machine of a node: its clock is set ahead while the process is down, or set after the process has started
        REBOOT_KEEP, REBOOT_LOSE,
        // process of a client
        PAUSE_CLIENT, CLOSE_CLIENT, KILL_CLIENT,
        // process of a client: time passes between two instructions of one turn; allocations fail
        SLOW_TURNS, NO_MEMORY,
        // application: callbacks, listeners and policies throw; callers retry inside the callback
        THROWING_CALLBACKS, RETRY_AT_ONCE,
        // log of the application: its handlers throw
        THROWING_LOG,
        // invalidation pushes of a node: lost, late, repeated, for keys that nobody waits for or for all keys
        LOSE_PUSHES, DELAY_PUSHES, REPEAT_PUSHES, STRAY_PUSHES,
        // machine of a client: its clock stands still; in runs of their own
        SUSPEND_CLIENT,
        // server of a node: its replica is promoted and takes over its name; in runs of their own
        PROMOTE
    }

    /** Faults that delay waiters and nothing else. */
    private static final Set<Fault> PUSH_FAULTS = EnumSet.of(Fault.LOSE_PUSHES, Fault.DELAY_PUSHES,
            Fault.REPEAT_PUSHES, Fault.STRAY_PUSHES);

    private static final Set<Fault> ADDED_PUSHES = EnumSet.of(Fault.REPEAT_PUSHES, Fault.STRAY_PUSHES);

    /** Faults under which no two leases may overlap, except while a clock jump is undetectable. */
    public static final Set<Fault> ASSUMED = assumed();
    /** Faults after which every unwanted key disappears soon, not only at the end of its ttl. */
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
    /** Clients close a connection without replies after this time; 0 for the default. */
    int unansweredMs;
    /** {@code min-replicas-to-write} bounds how long a deposed primary serves; without it, it stops at once. */
    boolean isServiceLimited;
    /** From the end of the service of a deposed primary to the next promotion at the node, at least. */
    int promotionGapMs;
    int undeliveredReleasesMax = 65_536;
    int nodeInFlightMax = 65_536;
    int localHandoffsMax = 4;
    /** Many clients want few plain locks. */
    boolean isCrowded;
    /** A client passes a waiter that has come earlier as often: it comes without knowing of the others, twice. */
    int passesMax = 2;
    /** No push arrives. */
    boolean areAllPushesLost;
    /** The delay of the retry policy of all clients; 0 for the default. */
    long retryDelayMs;
    RestartGuardMode guard = RestartGuardMode.UPTIME;
    /** The nodes have just been started when the first clients connect. */
    boolean isFreshAtStart;
    Set<Fault> faults;
    boolean isTidy;
    boolean isLateExecuted;
    /** The script of an extension to a shorter ttl shortens the key on the node, which the real one never does. */
    boolean isShorteningOnNodes;
    /** Together with {@link Fault#CLOCK_RATE}, at most what the drift rate allows between two samples. */
    int smallStepMsMax = 8;
    /** The longest time after which a node deletes an expired key that nobody touches; -1 for never. */
    int activeExpiryMsMax = 100;
    /** Keys that a node tracks at most. */
    int trackedKeysMax = 1_000_000;
    /** The checker excuses overlaps that lost keys explain. */
    boolean isKeyLossExcused = true;
    /** Real time without an event after which a run is stopped. */
    long stuckMs = Long.getLong("sim.stuckMs", 20_000);
    /** The holder relies on the whole ttl after the grant, like a client without validity. */
    boolean isValidityIgnored;
    boolean isExtending = true;
    /** Some locks stay for a time although their lease is released. */
    boolean isKeeping = true;
    /** Extensions of a held lease, of ten decisions; the new ttl may be shorter or longer. */
    int extendTenths = 3;
    /** Leases are extended automatically, and held for longer than their ttl. */
    boolean isHoldingLong;
    /** Acquisitions that take several resources at once, of ten. */
    int setTenths;
    /** Acquisitions of one resource for reading, and for writing, of ten; the others are plain. */
    int readTenths;
    int writeTenths;
    /** Acquisitions of a permit of a semaphore, of ten; 0 for no semaphores. */
    int permitTenths;
    int permitCount;
    /** Acquisitions of one resource whose client may retain the lock, of ten. */
    int retainTenths;
    /** Locks that a client retains at most; 0 if none does. */
    int retainedMax;
    /** Every lease but those of readers and permits has a fencing token. */
    boolean isFenced;
    /** Leases may overlap, so either of two attempts in flight may get the greater fencing token. */
    boolean isOverlapExpected;
    /** Counters are lost only while the clock of their node is ahead of all counters. */
    boolean isCounterLossSafe = true;

    /** Events that the flight recorder of each client keeps. */
    int flightRecorderEvents = 4096;

    /** The kind of each node; Redis 7 beyond the end of the list. */
    final List<FakeRedis.Kind> kinds = new ArrayList<>();
    /** Of eight clients, those with names in the values of their locks, as bits. */
    int namedClients;
    /** Of eight clients, those with thrifty quorums, as bits. */
    int thriftyClients;
    /** The command mode of each client, in turn; the default if the list is empty. */
    final List<CommandMode> commands = new ArrayList<>();

    private SimPlan(long seed) {
        this.seed = seed;
    }

    private static Set<Fault> assumed() {
        Set<Fault> all = EnumSet.allOf(Fault.class);
        all.remove(Fault.LOSE_COUNTERS);
        all.remove(Fault.SUSPEND_CLIENT);
        all.remove(Fault.PROMOTE);
        return all;
    }

    /** Returns a run under the assumptions of the algorithm, with a random choice of faults. */
    public static SimPlan of(long seed) {
        SplittableRandom random = new SplittableRandom(seed ^ 0x51AB);
        SimPlan plan = new SimPlan(seed);
        plan.nodeCount = List.of(1, 2, 3, 3, 3, 4, 5, 5, 5, 7).get(random.nextInt(10));
        plan.clientCount = 2 + random.nextInt(3);
        plan.resourceCount = 1 + random.nextInt(3);
        plan.workersPerResource = 1 + random.nextInt(2);
        plan.workMs = 5_000;
        plan.faultPeriodMs = 50 + random.nextInt(1000);
        plan.delayUsMax = random.nextInt(4) == 0 ? 20_000 : 1_000;
        plan.isTidy = random.nextInt(3) == 0;
        plan.faults = EnumSet.noneOf(Fault.class);
        for (Fault fault : plan.isTidy ? TIDY : ASSUMED) {
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
            plan.undeliveredReleasesMax = random.nextInt(4);
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
        plan.activeExpiryMsMax = List.of(100, 100, 10_000, -1).get(random.nextInt(4));
        plan.trackedKeysMax = List.of(1, 1_000_000, 1_000_000).get(random.nextInt(3));
        if (plan.guard == RestartGuardMode.UPTIME && random.nextInt(4) > 0) {
            plan.guard = RestartGuardMode.FRESH_GROUP;
            plan.isFreshAtStart = plan.nodeCount > 1 && random.nextBoolean();
        }
        plan.namedClients = random.nextInt(256);
        plan.thriftyClients = plan.nodeCount < 3 ? 0 : random.nextInt(256);
        plan.setTenths = List.of(0, 0, 2, 8).get(random.nextInt(4));
        plan.resourceCount = plan.setTenths == 0 ? plan.resourceCount : 3;
        plan.readTenths = List.of(0, 0, 3, 7).get(random.nextInt(4));
        plan.writeTenths = plan.readTenths == 0 ? 0 : List.of(0, 2, 3).get(random.nextInt(3));
        plan.permitTenths = List.of(0, 0, 4, 10).get(random.nextInt(4));
        plan.permitCount = 1 + random.nextInt(3);
        if (random.nextInt(8) == 0) {
            plan.calm(random);
        }
        return plan;
    }

    /** No push is lost, so that every sleep of a waiter shows; and all kinds of lock meet in one client. */
    private void calm(SplittableRandom random) {
        faults.retainAll(ADDED_PUSHES);
        clientCount = 1 + random.nextInt(3);
        workersPerResource = 1 + random.nextInt(4);
        delayUsMax = 500;
        guard = RestartGuardMode.OFF;
        isFreshAtStart = false;
        nodeInFlightMax = 65_536;
        trackedKeysMax = 1_000_000;
        commands.removeIf(mode -> mode == CommandMode.NATIVE);
        setTenths = List.of(0, 2, 5).get(random.nextInt(3));
        resourceCount = setTenths == 0 ? resourceCount : 3;
        readTenths = List.of(3, 6).get(random.nextInt(2));
        writeTenths = List.of(1, 3).get(random.nextInt(2));
        permitTenths = List.of(0, 0, 4).get(random.nextInt(3));
    }

    /** Returns a run whose clients retain locks. */
    public static SimPlan retaining(long seed) {
        SimPlan plan = of(seed);
        SplittableRandom random = new SplittableRandom(seed ^ 0x2E7A11);
        plan.retainTenths = List.of(3, 7, 10).get(random.nextInt(3));
        plan.retainedMax = List.of(1, 2, 1000).get(random.nextInt(3));
        plan.isFenced = false;
        plan.thriftyClients &= List.of(0, 0, 255).get(random.nextInt(3));
        plan.permitTenths = Math.min(plan.permitTenths, 4);
        plan.setTenths = Math.min(plan.setTenths, 2);
        if (random.nextBoolean()) {
            plan.commands.removeIf(mode -> mode == CommandMode.NATIVE);
            plan.setTenths = 0;
            plan.readTenths = 0;
            plan.writeTenths = 0;
        }
        return plan;
    }

    /** Returns a run in which many clients want one lock, or two. In a third of the runs, no push is lost. */
    public static SimPlan crowding(long seed) {
        SimPlan plan = of(seed);
        SplittableRandom random = new SplittableRandom(seed ^ 0xC40D);
        plan.clientCount = List.of(8, 16, 32, 64).get(random.nextInt(4));
        plan.isCrowded = true;
        plan.resourceCount = List.of(1, 1, 2).get(random.nextInt(3));
        plan.workersPerResource = List.of(1, 1, 3).get(random.nextInt(3));
        plan.setTenths = 0;
        plan.readTenths = 0;
        plan.writeTenths = 0;
        plan.permitTenths = 0;
        plan.trackedKeysMax = Math.max(plan.trackedKeysMax, 16);
        if (random.nextInt(3) == 0) {
            plan.faults.retainAll(ADDED_PUSHES);
            plan.delayUsMax = 500;
            plan.guard = RestartGuardMode.OFF;
            plan.isFreshAtStart = false;
            plan.commands.removeIf(mode -> mode == CommandMode.NATIVE);
        }
        return plan;
    }

    /** Returns a run whose machines are suspended, with replies that are quick enough to show it. */
    public static SimPlan suspending(long seed) {
        SimPlan plan = of(seed);
        plan.faults.removeAll(Set.of(Fault.PAUSE_NODE, Fault.SLOW, Fault.SLOW_TURNS, Fault.PAUSE_CLIENT,
                Fault.SMALL_STEPS, Fault.LATE_REQUESTS));
        plan.faults.add(Fault.SUSPEND_CLIENT);
        // The keys of a lost lock that was to be kept end with their ttl.
        plan.isTidy = false;
        plan.maxTtlMs = Math.min(plan.maxTtlMs, 10_000);
        plan.ttlMsMax = plan.maxTtlMs;
        plan.ttlMsMin = Math.min(plan.ttlMsMin, 1_000);
        plan.faultPeriodMs = Math.max(plan.faultPeriodMs, 300);
        return plan;
    }

    /** Returns a run whose nodes fail over, often with one node. Their clocks are right. */
    public static SimPlan promoting(long seed) {
        SimPlan plan = of(seed);
        SplittableRandom random = new SplittableRandom(seed ^ 0x9120);
        plan.nodeCount = List.of(1, 1, 1, 2, 3, 3).get(random.nextInt(6));
        plan.thriftyClients = plan.nodeCount < 3 ? 0 : plan.thriftyClients;
        while (plan.kinds.size() < 2 * plan.nodeCount) {
            plan.kinds.add(drawn(random, FakeRedis.Kind.values()));
        }
        plan.faults.removeAll(Set.of(Fault.CLOCK_RATE, Fault.CLOCK_BACK, Fault.CLOCK_FORWARD, Fault.SMALL_STEPS,
                Fault.REBOOT_KEEP, Fault.REBOOT_LOSE, Fault.LOSE_COUNTERS, Fault.LOSE_KEY, Fault.FLUSH_ALL));
        plan.faults.add(Fault.PROMOTE);
        plan.isServiceLimited = random.nextInt(4) > 0;
        plan.promotionGapMs = List.of(0, 2_000, 10_000, 15_000).get(random.nextInt(4));
        plan.guard = random.nextBoolean() ? RestartGuardMode.FRESH_GROUP : RestartGuardMode.UPTIME;
        plan.isFreshAtStart &= plan.nodeCount > 1 && plan.guard == RestartGuardMode.FRESH_GROUP;
        plan.isTidy = false;
        plan.maxTtlMs = 1_000 + random.nextInt(3_000);
        plan.ttlMsMin = 100;
        plan.ttlMsMax = plan.maxTtlMs;
        plan.clockSampleMs = 300;
        plan.unansweredMs = 500;
        plan.workMs = 40_000;
        plan.faultPeriodMs = Math.max(plan.faultPeriodMs, 300);
        if (plan.nodeCount == 1 && random.nextInt(3) == 0) {
            plan.outlivingService();
        }
        return plan;
    }

    /** Leases outlive the time that a deposed primary serves, so that they are reclaimed. */
    void outlivingService() {
        maxTtlMs = 9_000;
        ttlMsMin = 6_000;
        ttlMsMax = maxTtlMs;
        isHoldingLong = true;
        // Locks are acquired between the failovers, and most holders live on.
        promotionGapMs = 20_000;
        faultPeriodMs = 1_500;
        workMs = 120_000;
    }

    private static <T> T drawn(SplittableRandom random, T[] values) {
        return values[random.nextInt(values.length)];
    }

    /** Returns a run with three nodes and the given faults only. */
    public static SimPlan only(long seed, Fault... faults) {
        SimPlan plan = new SimPlan(seed);
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

    /** Returns whether the client of a name asks a quorum first. */
    boolean isThrifty(String clientName) {
        return (thriftyClients >>> Math.floorMod(clientName.hashCode(), 8) & 1) != 0;
    }

    boolean isAnyOf(Fault... candidates) {
        return List.of(candidates).stream().anyMatch(faults::contains);
    }

    /** Returns whether every release reaches every node at once, so that waiters have to get free locks soon. */
    boolean isEveryWaiterWoken() {
        return PUSH_FAULTS.containsAll(faults);
    }

    /** Returns whether each push that a waiter needs reaches it in time. */
    boolean isEveryPushSent() {
        return ADDED_PUSHES.containsAll(faults) && !areAllPushesLost && trackedKeysMax > 1
                && !commands.contains(CommandMode.NATIVE);
    }

    /** Returns whether each push that a waiter needs reaches it in time, and no other one does. */
    boolean isEachPushSentOnce() {
        return faults.isEmpty() && isEveryPushSent();
    }

    /** Returns whether each node has a replica that may be promoted. */
    boolean isFailingOver() {
        return faults.contains(Fault.PROMOTE);
    }

    /** The servers of all nodes: the primaries, and then their replicas. */
    int serverCount() {
        return isFailingOver() ? 2 * nodeCount : nodeCount;
    }

    /** Returns whether nodes may restart without their keys and counters. */
    boolean isDataLost() {
        return isAnyOf(Fault.CRASH_LOSE, Fault.REBOOT_LOSE);
    }

    /** The rules of the specification that the faults of this run break. */
    Set<Rule> brokenRules() {
        Set<Rule> broken = EnumSet.noneOf(Rule.class);
        if (isAnyOf(Fault.LOSE_KEY, Fault.FLUSH_ALL, Fault.CLOCK_FORWARD, Fault.REBOOT_KEEP, Fault.REBOOT_LOSE)) {
            broken.add(Rule.KeysKept);
        }
        if (guard == RestartGuardMode.FRESH_GROUP && nodeCount > 1 && isDataLost()) {
            broken.add(Rule.FewLost);
        }
        return broken;
    }

    /** Returns whether a node may execute a command of a connection after commands of the next one. */
    boolean isLate() {
        return isLateExecuted || faults.contains(Fault.LATE_REQUESTS);
    }

    /** Returns whether the callback of a grant may run after the grant to the next holder. */
    boolean isGrantOrderOpen() {
        return isOverlapExpected || isAnyOf(Fault.CLOCK_FORWARD, Fault.SUSPEND_CLIENT, Fault.SLOW_TURNS,
                Fault.LOSE_KEY, Fault.FLUSH_ALL);
    }

    /** Returns whether lost keys are the only reason why an extension may fail. */
    boolean isOnlyKeyLoss() {
        return EnumSet.of(Fault.LOSE_KEY, Fault.FLUSH_ALL).containsAll(faults);
    }

    @Override
    public String toString() {
        return "seed " + seed + ": " + nodeCount + " nodes, " + clientCount + " clients, " + resourceCount + " x "
                + workersPerResource + " workers, maxTtl " + maxTtlMs + " ms, guard " + guard
                + (isFreshAtStart ? " on fresh nodes" : "")
                + (isServiceLimited ? ", limited service" : "")
                + ", delays up to "
                + delayUsMax + " us, a fault each " + faultPeriodMs + " ms of " + faults + (isTidy ? ", tidy" : "")
                + (setTenths > 0 ? ", sets " + setTenths + " of 10" : "")
                + (readTenths > 0 ? ", reads " + readTenths + ", writes " + writeTenths : "")
                + (permitTenths > 0 ? ", permits of " + permitCount + ": " + permitTenths : "")
                + (isFenced ? ", fenced" : "")
                + (retainTenths > 0 ? ", retains " + retainTenths + " of 10, at most " + retainedMax : "")
                + ", active expiry within " + activeExpiryMsMax + " ms, tracks " + trackedKeysMax + " keys"
                + (isLateExecuted ? ", late execution" : "") + (isShorteningOnNodes ? ", scripts shorten" : "")
                + ", undeliveredReleasesMax " + undeliveredReleasesMax
                + ", localHandoffsMax " + localHandoffsMax + ", named " + Integer.toBinaryString(namedClients)
                + ", thrifty " + Integer.toBinaryString(thriftyClients)
                + ", nodes " + kinds
                + ", clients "
                + commands;
    }
}
