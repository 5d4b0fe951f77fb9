package dev.redlock.loadtest.cycle;

import dev.redlock.LoopClient;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.CommandMode;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TransportKind;
import dev.redlock.cli.ExitCodes;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.driver.ApiForm;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.RedlockDriver;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.micrometer.RedlockMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Runs cycles of {@code redlock-core} for a given time and prints one line of figures, for a comparison with {@link
 * YardstickCommand}, which does the same over bare sockets. It audits nothing, so that the CPU time is that of the
 * client.
 *
 * @threading caller-confined
 */
@Command(name = "cycles", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = {"Measures lock cycles of one client: a closed loop, or with --rate an open one, started by a "
                + "thread outside the client. An unexpected outcome, or a node that does not vote, fails the run.",
            "With --in-process no bytes leave the process: this measures the client alone, and whether its loops delay "
                    + "each other."},
        footer = {"  load-test cycles --start 5 --in-flight 64",
            "  load-test cycles --start 5 --rate 10000",
            "  load-test cycles --in-process 3 --loops 2"})
public final class CyclesCommand implements Callable<Integer> {

    private static final String LOOP_NAME_PREFIX = "redlock-";
    private static final int CONNECT_LIMIT_MS = 10_000;
    private static final int LOOPS_MAX = 64;
    private static final int SPIN_US_MAX = 10_000;
    private static final int FLIGHT_RECORDER_MAX = 1 << 20;

    @Mixin
    private CycleOptions options;

    @Option(names = "--transport", paramLabel = "KIND", defaultValue = "AUTO",
            description = "${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private TransportKind transport;

    @Option(names = "--commands", paramLabel = "MODE", defaultValue = "AUTO",
            description = "${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private CommandMode commands;

    @Option(names = "--release-batch", paramLabel = "COUNT", defaultValue = "64",
            description = "Releases in one script call, at most (default: ${DEFAULT-VALUE}).")
    private int releaseBatchMax;

    @Option(names = "--loops", paramLabel = "COUNT", defaultValue = "1",
            description = "Event loops. Each gets its share of the cycles in flight (default: ${DEFAULT-VALUE}).")
    private int loops;

    @Option(names = "--blocking", description = "One thread per cycle in flight, blocking form.")
    private boolean isBlocking;

    @Option(names = "--fenced", description = "With fencing tokens.")
    private boolean isFenced;

    @Option(names = "--spin-us", paramLabel = "MICROSECONDS", defaultValue = "0",
            description = "How long a blocked caller spins (default: ${DEFAULT-VALUE}).")
    private int spinMicroseconds;

    @Option(names = "--flight-recorder", paramLabel = "COUNT",
            description = "Events that the flight recorder keeps; 0 switches it off.")
    private Integer flightRecorderEvents;

    @Option(names = "--metrics", description = "With the meters of Micrometer, which nobody reads meanwhile.")
    private boolean hasMetrics;

    @Spec
    private CommandSpec spec;

    private final InputStream turns;

    public CyclesCommand() {
        this(System.in);
    }

    CyclesCommand(InputStream turns) {
        this.turns = turns;
        // picocli fills the other fields.
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        options.check();
        checkClient(spec.commandLine());
        options.require(!options.isOpen() || !isBlocking, "--rate and --blocking exclude each other: leave one out");
        options.require(!options.isInProcess() || !isFenced && transport == TransportKind.AUTO,
                "--in-process has no fencing counters and no choice of transport: leave --fenced and --transport out");
        try {
            options.startNodes();
            return measure();
        } finally {
            options.endNodes();
        }
    }

    /** The bounds of {@link RedlockContext}: nodes do not start for a client that is rejected. */
    private void checkClient(CommandLine line) {
        CycleOptions.checkReleaseBatch(line, releaseBatchMax);
        Options.requireRange(line, "--loops", loops, 1, LOOPS_MAX);
        Options.requireRange(line, "--spin-us", spinMicroseconds, 0, SPIN_US_MAX);
        if (flightRecorderEvents != null) {
            Options.requireRange(line, "--flight-recorder", flightRecorderEvents, 0, FLIGHT_RECORDER_MAX);
        }
    }

    private int measure() throws IOException, InterruptedException {
        if (options.isInProcess()) {
            return measureInProcess();
        }
        try (Redlock redlock = Redlock.connect(context())) {
            return measure(redlock);
        }
    }

    private int measure(Redlock redlock) throws IOException, InterruptedException {
        if (hasMetrics) {
            new RedlockMetrics(redlock).bindTo(new SimpleMeterRegistry());
        }
        // All nodes vote from the first cycle on, as they do for the yardstick.
        RedlockDriver.awaitReady(redlock, redlock.nodes().size());
        CycleMeter meter = new CycleMeter(options, "redlock", LOOP_NAME_PREFIX, spec.commandLine().getOut());
        LoadPlan load = options.load().fenced(isFenced).names(resources(redlock));
        try (LockSession session = RedlockDriver.session(redlock, isBlocking ? ApiForm.BLOCKING : ApiForm.CALLBACK)) {
            return meter.run(session, load, new LostVotes(redlock), turns);
        }
    }

    /** With several loops, the same number for each. */
    private IntFunction<String> resources(Redlock redlock) {
        if (loops == 1) {
            return options::resource;
        }
        int share = (options.inFlight() + loops - 1) / loops;
        List<List<String>> names = LoopShares.of(redlock, loops, share, options::resource);
        return i -> names.get(i % loops).get(i / loops);
    }

    /**
     * Each loop has nodes of its own. A resource stays with its loop, so the result is the same as with common nodes.
     */
    private int measureInProcess() throws IOException, InterruptedException {
        List<LoopTransport> transports = IntStream.range(0, loops).mapToObj(i -> new LoopTransport()).toList();
        int code;
        try (LoopClient client = new LoopClient(context(), transports)) {
            code = measure(client.redlock());
        }
        int left = transports.stream().mapToInt(LoopTransport::heldCount).sum();
        if (left > 0) {
            spec.commandLine().getOut().println("FAIL: " + left + " locks are left on the nodes");
        }
        return left > 0 ? ExitCodes.FAILED : code;
    }

    private RedlockContext context() {
        RedlockContext context = new RedlockContext();
        if (flightRecorderEvents != null) {
            context.flightRecorderEvents(flightRecorderEvents);
        }
        return context.nodes(options.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5))
                .connectTimeout(Duration.ofMillis(CONNECT_LIMIT_MS))
                .transport(transport)
                .idlePolicy(options.idlePolicy())
                .commands(commands)
                .releaseBatchMax(releaseBatchMax)
                .eventLoops(loops)
                .blockingSpin(Duration.ofNanos(spinMicroseconds * 1000L));
    }
}
