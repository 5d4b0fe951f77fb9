package dev.redlock.loadtest.chaos;

import dev.redlock.loadtest.DurationConverter;
import dev.redlock.loadtest.nodes.ClockLibrary;
import dev.redlock.loadtest.nodes.RedisNodesContext;
import dev.redlock.loadtest.nodes.Source;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * What the user can set for a chaos run.
 *
 * @threading caller-confined
 */
final class ChaosOptions {
    private static final Duration TTL_MIN = Duration.ofMillis(200);

    @Option(names = "--duration", paramLabel = "TIME", defaultValue = "60s", converter = DurationConverter.class,
            description = "How long nodes are hurt (default: ${DEFAULT-VALUE}).")
    private Duration duration;

    @Option(names = "--seed", paramLabel = "N",
            description = "Replays the plan of that seed (default: random, and printed).")
    private Long seed;

    @Option(names = "--nodes", paramLabel = "N", defaultValue = "5",
            description = "How many nodes, 3 to 9 (default: ${DEFAULT-VALUE}).")
    private int nodes;

    @Option(names = "--workers", paramLabel = "N", defaultValue = "3",
            description = "How many worker processes, 1 to 32 (default: ${DEFAULT-VALUE}).")
    private int workers;

    @Option(names = "--threads", paramLabel = "N", defaultValue = "3",
            description = "Threads of each worker, 1 to 64 (default: ${DEFAULT-VALUE}).")
    private int threads;

    @Option(names = "--resources", paramLabel = "N", defaultValue = "4",
            description = "How many resources they fight for, 1 to 1000 (default: ${DEFAULT-VALUE}).")
    private int resources;

    @Option(names = "--fenced", paramLabel = "WHICH", defaultValue = "half",
            description = "Which resources are locked with fencing tokens: ${COMPLETION-CANDIDATES} (default: "
                    + "${DEFAULT-VALUE}).")
    private Fenced fenced;

    @Option(names = "--ttl", paramLabel = "TIME", defaultValue = "2s", converter = DurationConverter.class,
            description = "Time to live of each lock, and the clients' maxTtl (default: ${DEFAULT-VALUE}).")
    private Duration ttl;

    @Option(names = "--node-timeout", paramLabel = "TIME", defaultValue = "500ms", converter = DurationConverter.class,
            description = "The clients' node timeout (default: ${DEFAULT-VALUE}).")
    private Duration nodeTimeout;

    @Option(names = "--faults", paramLabel = "FAULT", split = ",",
            description = "What may be done: ${COMPLETION-CANDIDATES} (default: all but "
                    + "clock_step, and wipe_majority with --majority-loss only).")
    private List<Fault> faults = List.of();

    @Option(names = "--clock-steps",
            description = "The wall clocks of nodes jump too. Needs libfaketime and the embedded server; one node is "
                    + "bad at a time then.")
    private boolean isClockStepped;

    @Option(names = "--hold", paramLabel = "TIME", defaultValue = "15ms", converter = DurationConverter.class,
            description = "How long a section lasts at most, the few that overstay aside (default: ${DEFAULT-VALUE}).")
    private Duration hold;

    @Option(names = "--without-guard",
            description = "Clients trust nodes that come back empty. With wipes the lock does not hold then, and the "
                    + "run has to fail: it shows that the audit sees what it is there for.")
    private boolean isUnguarded;

    @Option(names = "--majority-loss",
            description = "More than a minority of the nodes may be bad at once: the lock may become unavailable, but "
                    + "never unsafe.")
    private boolean isMajorityLoss;

    ChaosOptions() {
        // picocli fills the fields.
    }

    void check(CommandLine line) {
        requireRange(line, "--nodes", nodes, 3, 9);
        requireRange(line, "--workers", workers, 1, 32);
        requireRange(line, "--threads", threads, 1, 64);
        requireRange(line, "--resources", resources, 1, 1000);
        require(line, ttl.compareTo(TTL_MIN) >= 0, "--ttl is below " + TTL_MIN.toMillis() + "ms");
        require(line, !isClockStepped || ClockLibrary.find().isPresent(),
                "--clock-steps: libfaketime is missing (a Debian package of that name)");
        require(line, isClockStepped || !faults.contains(Fault.CLOCK_STEP), "--faults clock_step needs --clock-steps");
        require(line, !isClockStepped || !isMajorityLoss, "--clock-steps and --majority-loss exclude each other");
        require(line, isMajorityLoss || !faults.contains(Fault.WIPE_MAJORITY),
                "--faults wipe_majority needs --majority-loss");
        require(line, hold.compareTo(ttl) <= 0, "--hold is longer than --ttl");
        require(line, nodeTimeout.compareTo(ttl) <= 0, "--node-timeout is longer than --ttl");
        if (seed == null) {
            seed = ThreadLocalRandom.current().nextLong(1_000_000_000);
        }
    }

    private static void requireRange(CommandLine line, String name, int value, int min, int max) {
        require(line, value >= min && value <= max, name + " is " + value + ": expected " + min + " to " + max);
    }

    private static void require(CommandLine line, boolean isRight, String otherwise) {
        if (!isRight) {
            throw new CommandLine.ParameterException(line, otherwise);
        }
    }

    ChaosTerms terms() {
        List<Fault> all = new ArrayList<>(faults.isEmpty() ? List.of(Fault.values()) : faults);
        all.removeIf(fault -> fault == Fault.CLOCK_STEP);
        if (isClockStepped) {
            all.add(Fault.CLOCK_STEP);
        }
        if (!isMajorityLoss) {
            all.remove(Fault.WIPE_MAJORITY);
        }
        return new ChaosTerms(nodes, workers, duration, ttl, all, isMajorityLoss, !isUnguarded);
    }

    RedisNodesContext nodesContext() {
        RedisNodesContext context = new RedisNodesContext().count(nodes).appendOnly(true);
        return isClockStepped
                ? context.source(Source.EMBEDDED).clockLibrary(ClockLibrary.find().orElseThrow())
                : context;
    }

    /** How much longer than its ttl a key may stay: a node whose clock jumps back keeps it longer. */
    long keyRoomMs() {
        return isClockStepped ? ChaosPlan.STEP_MS_MAX : 0;
    }

    Duration duration() {
        return duration;
    }

    long seed() {
        return seed;
    }

    int nodes() {
        return nodes;
    }

    int workers() {
        return workers;
    }

    int threads() {
        return threads;
    }

    int resources() {
        return resources;
    }

    Fenced fenced() {
        return fenced;
    }

    Duration ttl() {
        return ttl;
    }

    Duration hold() {
        return hold;
    }

    boolean isGuarded() {
        return !isUnguarded;
    }

    Duration nodeTimeout() {
        return nodeTimeout;
    }

    boolean isMajorityLoss() {
        return isMajorityLoss;
    }
}
