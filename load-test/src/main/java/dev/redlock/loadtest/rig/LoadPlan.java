package dev.redlock.loadtest.rig;

import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.result.LoopKind;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/**
 * The load of a run. Each method returns a changed copy.
 *
 * <pre>{@code
 * LoadPlan plan = LoadPlan.open(5_000, 256).warmup(Duration.ofSeconds(1)).duration(Duration.ofSeconds(10));
 * }</pre>
 *
 * @threading immutable
 */
public final class LoadPlan implements Cloneable {
    /** The index of the resource that is common to all cycles. */
    public static final int COMMON = -1;

    private static final Duration INTERVAL_MIN = Duration.ofMillis(100);
    private static final Duration INTERVAL_MAX = Duration.ofSeconds(10);
    private static final int INTERVALS = 20;

    final LoopKind loop;
    final int inFlight;
    final double ratePerSecond;
    int resources;
    double hotShare;
    double foreignShare;
    /** A foreign cycle follows so many local ones in a row whose release had the outcome below; 0 without the rule. */
    int foreignAfter;
    ReleaseOutcome foreignAfterOutcome;
    boolean isAmongClients;
    boolean isWaitingByClient;
    boolean isFenced;
    Duration hold = Duration.ZERO;
    Duration waitBudget = Duration.ZERO;
    Duration warmup = Duration.ZERO;
    Duration duration = Duration.ofSeconds(1);
    Duration ttl = Duration.ofSeconds(30);
    private Duration interval;
    double errorShareMax;
    boolean isCostMeasured = true;
    boolean isAudited = true;
    IntFunction<String> names = prefixed("load-test:");
    long seed;

    private LoadPlan(LoopKind loop, int inFlight, double ratePerSecond) {
        require(inFlight >= 1, "inFlight is " + inFlight + ": expected at least 1");
        this.loop = loop;
        this.inFlight = inFlight;
        this.ratePerSecond = ratePerSecond;
        this.resources = inFlight;
    }

    /**
     * A fixed number of cycles in flight, each of which starts its next cycle when it ends; every cycle on a resource
     * of its own, released as soon as it is held. This measures the cost of the lock alone.
     */
    public static LoadPlan closed(int inFlight) {
        return new LoadPlan(LoopKind.CLOSED, inFlight, 0);
    }

    /**
     * Cycles that start at a fixed rate, regardless of unfinished ones. Each handle of a pool has a resource of its
     * own. A cycle that finds all handles in use waits for one, and its latency counts from its intended time.
     */
    public static LoadPlan open(double ratePerSecond, int inFlightMax) {
        require(ratePerSecond > 0 && ratePerSecond <= 1_000_000,
                "ratePerSecond is " + ratePerSecond + ": expected more than 0, at most a million");
        return new LoadPlan(LoopKind.OPEN, inFlightMax, ratePerSecond);
    }

    private LoadPlan with(Consumer<LoadPlan> change) {
        try {
            LoadPlan copy = (LoadPlan) clone();
            change.accept(copy);
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    private static void require(boolean isRight, String otherwise) {
        if (!isRight) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    /** With fewer than cycles in flight, they contend; with more, each uses its own ones in turn. Default: as many. */
    public LoadPlan resources(int count) {
        require(count >= 1, "resources is " + count + ": expected at least 1");
        return with(plan -> plan.resources = count);
    }

    /** The share of the cycles that lock one resource common to all, 0 to 1. Default 0. */
    public LoadPlan hotShare(double share) {
        require(share >= 0 && share <= 1, "hotShare is " + share + ": expected 0 to 1");
        return with(plan -> plan.hotShare = share);
    }

    /**
     * The share of the cycles of each resource that the last client makes, 0 to 1, while the other clients make the
     * rest; the choice is random, and one after the other. Default 0: each client has resources of its own.
     */
    public LoadPlan foreignShare(double share) {
        require(share >= 0 && share <= 1, "foreignShare is " + share + ": expected 0 to 1");
        return with(plan -> plan.foreignShare = share);
    }

    /** The last client makes each cycle that follows so many of the others in a row with this end. */
    public LoadPlan foreignAfter(int count, ReleaseOutcome outcome) {
        require(count >= 1, "foreignAfter is " + count + ": expected at least 1");
        return with(plan -> {
            plan.foreignAfter = count;
            plan.foreignAfterOutcome = outcome;
        });
    }

    /** Whether the last client and the others lock the same resources in turn. */
    boolean isMixed() {
        return foreignShare > 0 || foreignAfter > 0;
    }

    /**
     * Checks exclusion between clients: a rig with several sessions rejects the plan if a resource has cycles of one
     * session only. Default off.
     */
    public LoadPlan amongClients() {
        return with(plan -> plan.isAmongClients = true);
    }

    /** The time to hold a lock before the release. Default: not at all. */
    public LoadPlan hold(Duration time) {
        return with(plan -> plan.hold = notNegative("hold", time));
    }

    /**
     * The time, from its first attempt, for which a rejected cycle retries; then it counts as timed out. With zero, the
     * default, each attempt is a cycle of its own.
     *
     * @param isByClient whether the client itself waits; otherwise the rig retries after a random delay
     */
    public LoadPlan waitUpTo(Duration budget, boolean isByClient) {
        return with(plan -> {
            plan.waitBudget = notNegative("wait", budget);
            plan.isWaitingByClient = isByClient;
        });
    }

    /** Asks for fencing tokens. Default off. */
    public LoadPlan fenced(boolean on) {
        return with(plan -> plan.isFenced = on);
    }

    /** The unrecorded time at the start. Default zero. */
    public LoadPlan warmup(Duration time) {
        return with(plan -> plan.warmup = notNegative("warmup", time));
    }

    /** The recorded time. Default one second. */
    public LoadPlan duration(Duration time) {
        require(!time.isZero() && !time.isNegative(), "duration is " + time + ": expected more than zero");
        return with(plan -> plan.duration = time);
    }

    /** The time to live of the locks. Default 30 s. */
    public LoadPlan ttl(Duration time) {
        return with(plan -> plan.ttl = Objects.requireNonNull(time, "ttl is null"));
    }

    /** The interval of the time series. Default: a twentieth of the duration, 100 ms to 10 s. */
    public LoadPlan interval(Duration time) {
        require(!time.isZero() && !time.isNegative(), "interval is " + time + ": expected more than zero");
        return with(plan -> plan.interval = time);
    }

    /** The share of unexpected outcomes above which the run fails, 0 to 1. Default 0. */
    public LoadPlan errorShareMax(double share) {
        require(share >= 0 && share <= 1, "errorShareMax is " + share + ": expected 0 to 1");
        return with(plan -> plan.errorShareMax = share);
    }

    /** Whether to measure the cost of a cycle for this process. Default on; off where other things run in it. */
    public LoadPlan costMeasured(boolean on) {
        return with(plan -> plan.isCostMeasured = on);
    }

    /** The prefix of every resource's name, unique to a run. Default {@code load-test:}. */
    public LoadPlan keyPrefix(String prefix) {
        Objects.requireNonNull(prefix, "keyPrefix is null");
        return names(prefixed(prefix));
    }

    private static IntFunction<String> prefixed(String prefix) {
        return index -> prefix + (index == COMMON ? "hot" : index);
    }

    /** The names of the resources by index, from 0; {@link #COMMON} is the resource of all cycles. */
    public LoadPlan names(IntFunction<String> byIndex) {
        return with(plan -> plan.names = Objects.requireNonNull(byIndex, "names is null"));
    }

    /**
     * Whether to audit mutual exclusion, and to measure releases apart from cycles. Default on; off where the cycles of
     * this process share no resource and its own CPU time is measured.
     */
    public LoadPlan audited(boolean on) {
        return with(plan -> plan.isAudited = on);
    }

    /** The seed for the choice of hot cycles and for the rig's retry delays. Default 0. */
    public LoadPlan seed(long value) {
        return with(plan -> plan.seed = value);
    }

    private static Duration notNegative(String name, Duration time) {
        require(!time.isNegative(), name + " is " + time + ": expected zero or more");
        return time;
    }

    /** Whether cycles share resources, so that acquires may be rejected. */
    public boolean isContended() {
        return inFlight > 1 && (resources < inFlight || hotShare > 0);
    }

    /** Cycles in flight: exactly so many in a closed loop, at most so many in an open one. */
    public int inFlight() {
        return inFlight;
    }

    public Duration warmup() {
        return warmup;
    }

    public Duration duration() {
        return duration;
    }

    Duration interval() {
        if (interval != null) {
            return interval;
        }
        Duration share = duration.dividedBy(INTERVALS);
        if (share.compareTo(INTERVAL_MIN) < 0) {
            return INTERVAL_MIN;
        }
        return share.compareTo(INTERVAL_MAX) > 0 ? INTERVAL_MAX : share;
    }
}
