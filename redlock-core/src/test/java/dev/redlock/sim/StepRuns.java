package dev.redlock.sim;

import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.SimPlan.Fault;
import java.util.List;

/** Runs of the simulator whose steps are checked. Only types of the JDK cross its methods. */
public final class StepRuns {
    /** The names of the runs: random ones, and those that look for one kind of mistake. */
    public static final List<String> NAMES = List.of("random", "restarts", "clock rates", "four nodes", "slow network",
            "fenced", "pauses", "readers and writers", "late", "late sets", "jumps", "lost keys", "thrifty",
            "small steps", "slow turns", "sets", "reboots", "fresh group", "joint lists",
            "clusters");

    private StepRuns() {
    }

    /** Returns the rule that a step of a run breaks, and the step; null if each is a step of the specification. */
    public static String rejected(String name, long seed) {
        StepsMain.Result result = switch (name) {
            case "joint lists" -> StepsMain.checkJointLists(seed);
            case "clusters" -> StepsMain.checkClusters(seed, null);
            default -> StepsMain.check(plan(name, seed), null);
        };
        return result.rejected() == null ? null : result.rejected().getMessage();
    }

    static SimPlan plan(String name, long seed) {
        return switch (name) {
            case "random" -> SimPlan.of(seed);
            case "late" -> {
                SimPlan plan = SimPlan.only(seed, Fault.LATE_REQUESTS, Fault.BREAK);
                plan.nodeCount = seed % 2 == 0 ? 1 : 3;
                plan.resourceCount = 3;
                plan.ttlMsMin = 300;
                plan.extendTenths = 8;
                yield plan;
            }
            case "late sets" -> lateSets(seed);
            case "jumps" -> {
                SimPlan plan = SimPlan.only(seed, Fault.CLOCK_FORWARD, Fault.PAUSE_CLIENT);
                plan.extendTenths = 6;
                plan.isFenced = seed % 2 == 0;
                yield plan;
            }
            case "lost keys" -> {
                SimPlan plan = SimPlan.only(seed, Fault.LOSE_KEY, Fault.FLUSH_ALL);
                plan.faultPeriodMs = 100;
                plan.extendTenths = 8;
                yield plan;
            }
            case "thrifty" -> {
                SimPlan plan = SimPlan.only(seed, Fault.CRASH_LOSE, Fault.BREAK, Fault.LOSE_REPLIES, Fault.PAUSE_NODE);
                plan.nodeCount = seed % 2 == 0 ? 3 : 5;
                plan.thriftyClients = 255;
                plan.faultPeriodMs = 200;
                plan.extendTenths = 8;
                yield plan;
            }
            case "small steps" -> {
                SimPlan plan = SimPlan.only(seed, Fault.SMALL_STEPS, Fault.CLOCK_RATE);
                plan.faultPeriodMs = 100;
                plan.ttlMsMin = 100;
                plan.ttlMsMax = 300;
                yield plan;
            }
            case "slow turns" -> {
                SimPlan plan = SimPlan.only(seed, Fault.SLOW_TURNS, Fault.SLOW);
                plan.faultPeriodMs = 150;
                plan.ttlMsMin = 100;
                plan.ttlMsMax = 600;
                plan.extendTenths = 8;
                yield plan;
            }
            case "sets" -> {
                SimPlan plan = SimPlan.only(seed, Fault.BREAK, Fault.LOSE_REPLIES, Fault.CRASH_LOSE,
                        Fault.PAUSE_CLIENT);
                plan.resourceCount = 4;
                plan.setTenths = 7;
                plan.isFenced = seed % 2 == 0;
                yield plan;
            }
            case "reboots" -> {
                SimPlan plan = SimPlan.only(seed, Fault.REBOOT_LOSE);
                plan.faultPeriodMs = 2_000;
                yield plan;
            }
            case "fresh group" -> freshGroup(seed);
            default -> HistoryRuns.plan(name, seed);
        };
    }

    /** One server that replaces a longer expiry. */
    private static SimPlan lateSets(long seed) {
        SimPlan plan = SimPlan.only(seed, Fault.LATE_REQUESTS);
        plan.nodeCount = 1;
        plan.kinds.add(FakeRedis.Kind.VALKEY_9);
        plan.resourceCount = 5;
        plan.ttlMsMin = 300;
        plan.extendTenths = 8;
        return plan;
    }

    private static SimPlan freshGroup(long seed) {
        SimPlan plan = SimPlan.only(seed, Fault.CRASH_LOSE, Fault.CRASH_KEEP, Fault.CLOSE_CLIENT, Fault.LOSE_KEY);
        plan.guard = RestartGuardMode.FRESH_GROUP;
        plan.isFreshAtStart = seed % 2 == 0;
        plan.faultPeriodMs = 150;
        plan.thriftyClients = 85;
        return plan;
    }
}
