package dev.redlock.loadtest.chaos;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.RetentionEnd;
import dev.redlock.cli.ClientTls;
import dev.redlock.cli.TlsFileOptions;
import dev.redlock.loadtest.history.HistoryFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * One worker process of a chaos run. It works until its standard input ends, so that it never outlives its parent. Then
 * it prints its tally.
 *
 * @threading caller-confined
 */
@Command(name = "chaos-worker", hidden = true, description = "A worker process of the chaos command.")
public final class ChaosWorkerCommand implements Callable<Integer> {
    /** A field, because a logger without references loses its filter. */
    private static final Logger LOG = Logger.getLogger("dev.redlock");

    /** With fewer, a quorum is all. */
    private static final int THRIFTY_NODES_MIN = 3;
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);

    /** The address of a cluster has commas. */
    private static final String SEPARATOR = " ";

    @Mixin
    private ChaosOptions options;
    @Mixin
    private TlsFileOptions tlsFiles;
    @Option(names = "--worker", required = true)
    private int worker;
    @Option(names = "--place", required = true)
    private int place;
    @Option(names = "--addresses", required = true, split = SEPARATOR)
    private List<String> nodes;
    @Option(names = "--next-addresses", split = SEPARATOR)
    private List<String> nextNodes = List.of();
    @Option(names = "--records", required = true)
    private Path records;
    @Option(names = "--registers", required = true)
    private Path registers;

    @Spec
    private CommandSpec spec;

    /** The command line of this command. The registers are needed for a history. */
    static List<String> arguments(int worker, int place, List<String> nodes, List<String> nextNodes, ClientTls tls,
            Path records,
            Path registers, ChaosOptions options) {
        List<String> arguments = new ArrayList<>(List.of("chaos-worker", "--worker=" + worker, "--place=" + place,
                "--addresses=" + String.join(SEPARATOR, nodes), "--records=" + records, "--registers=" + registers,
                "--seed=" + options.seed));
        if (!nextNodes.isEmpty()) {
            arguments.add("--next-addresses=" + String.join(SEPARATOR, nextNodes));
        }
        arguments.addAll(options.given);
        arguments.addAll(TlsFileOptions.arguments(tls));
        return arguments;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        // Losing and finding nodes and quorums, and slow ones, is expected; any other log message fails the run.
        Logger.getLogger("").setLevel(Level.WARNING);
        WorkerTally tally = new WorkerTally();
        LOG.setFilter(line -> isUnexpected(new SimpleFormatter().formatMessage(line), tally));
        try (SectionFile file = SectionFile.append(records);
                HistoryFile operations = options.history == null ? null : HistoryFile.append(options.history)) {
            try (Redlock redlock = Redlock.connect(context())) {
                work(redlock, file, operations, tally);
                boolean isClean = redlock.closeWithin(CLOSE_TIMEOUT).isClean();
                tally.count(isClean ? "closed clean" : "closed with releases unconfirmed");
                tally.count("retained locks, local grants", redlock.counters().localGrantCount());
                tally.count("retained locks, revoked",
                        redlock.counters().retentionEndCount(RetentionEnd.REVOKED));
                tally.count("lease lost", redlock.counters().lostCount());
                tally.count("fence raised", redlock.counters().raisedCount());
                tally.count("release debt paid",
                        redlock.nodes().stream().mapToLong(node -> node.undeliveredReleaseDeliveredCount()).sum());
            }
        }
        tally.print(spec.commandLine().getOut());
        return 0;
    }

    /** A busy machine stalls an event loop, mostly while it loads classes: the report has the count. */
    private static boolean isUnexpected(String text, WorkerTally tally) {
        boolean isStall = text.contains(" has not completed a turn for ");
        if (isStall) {
            tally.count("event loop stalls of a second");
        }
        return !isStall && !isExpected(text);
    }

    private static boolean isExpected(String text) {
        return text.contains("quarantine") || text.startsWith("no quorum votes") || text.startsWith("a quorum votes")
                || text.contains(" nodes vote; ") || text.contains("after a failover, the former primary")
                || text.contains("Sentinel") || text.contains("does not vote")
                // A client that connects to a primary without its replicas.
                || text.contains("cannot be written: NOREPLICAS")
                || text.contains("the node is too far away or too slow");
    }

    private RedlockContext context() {
        RedlockContext context = new RedlockContext().nodes(nodes.toArray(String[]::new))
                .clientName("chaos-" + worker)
                .maxTtl(options.ttl)
                .nodeTimeout(options.nodeTimeout)
                .restartGuard(options.isGuarded() ? RestartGuardMode.FRESH_GROUP : RestartGuardMode.OFF)
                .commands(options.commands)
                .thriftyQuorums(isThrifty())
                // A lost lease is expected and counted; the default would log it, which fails the run.
                .flightRecordListener(text -> {
                })
                .reconnectDelay(Duration.ofMillis(20), Duration.ofMillis(200));
        if (!nextNodes.isEmpty()) {
            context.nextNodes(nextNodes.toArray(String[]::new));
        }
        if (options.clusterShards > 0) {
            // A master that was paused for longer serves requests that wait in its socket.
            context.unansweredTimeout(Duration.ofMillis(ChaosClusters.NODE_TIMEOUT_MS / 2))
                    .clockSampleInterval(Duration.ofMillis(ChaosClusters.NODE_TIMEOUT_MS / 2));
        }
        if (options.hasSentinels) {
            context.unansweredTimeout(Duration.ofMillis(ChaosSentinels.SAMPLE_MS))
                    .clockSampleInterval(Duration.ofMillis(ChaosSentinels.SAMPLE_MS));
        }
        if (options.isClockStepped) {
            context.clockSampleInterval(Duration.ofMillis(ClockSteps.SAMPLE_MS));
        }
        return nodes.get(0).startsWith("rediss://") ? context.tls(tlsFiles.files().options()) : context;
    }

    private long seed() {
        return options.seed * 31 + worker;
    }

    /** Every other worker asks a quorum first, so that both ways exclude each other under all faults. */
    private boolean isThrifty() {
        return !options.isRetaining && (seed() & 1) != 0 && nodes.size() >= THRIFTY_NODES_MIN;
    }

    private void work(Redlock redlock, SectionFile file, HistoryFile operations, WorkerTally tally)
            throws IOException, InterruptedException {
        SharedRegisters shared = operations == null ? null : SharedRegisters.open(registers);
        List<SectionWorker> workers = new ArrayList<>();
        List<Thread> running = new ArrayList<>();
        int tags = options.clusterShards > 0 ? ChaosClusters.tagCount(options.resources) : 0;
        for (int i = 0; i < options.threads; i++) {
            SectionWorker sections = new SectionWorker(redlock, file,
                    new SectionHistory(operations, shared, worker * options.threads + i), tally, worker, i, seed());
            sections.plan(options.resources, tags, options.fenced, options.ttl, options.hold);
            if (!options.isGuarded()) {
                sections.ignoreLosses();
            }
            if (options.isRetaining) {
                sections.retain(place, options.workers);
            }
            workers.add(sections);
            running.add(new Thread(sections, "worker-" + i));
        }
        running.forEach(Thread::start);
        awaitEndOfInput();
        workers.forEach(SectionWorker::stop);
        for (Thread thread : running) {
            thread.join();
        }
    }

    private static void awaitEndOfInput() {
        try {
            System.in.readAllBytes();
        } catch (IOException e) {
            // The parent has ended, which is the end of input too.
            return;
        }
    }
}
