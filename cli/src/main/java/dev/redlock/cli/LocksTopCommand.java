package dev.redlock.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Shows the held locks and their waiters, each second.
 *
 * @threading caller-confined
 */
@Command(name = "top", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Shows the held locks and how many clients wait for each, every second until Ctrl-C. KIND is "
                + "lock (a plain lock or a writer), fenced (its name has a fencing counter), set, read, permit N, "
                + "retained (its client may keep it, and nobody uses it), no quorum or unclear. WAITING counts the "
                + "clients that the nodes remember: one that gave up may count for a minute, and 1+ is one or more, "
                + "where the nodes do not count (readers, writers, sets, semaphores).%nEach second costs a node at "
                + "most 5 SCANs of 1000 keys, a GETRANGE for each key of them that is no known lock, and 12 short "
                + "reads for each lock up to --limit, 18 if the nodes disagree. A node with many keys shows its locks "
                + "after some time; those that are waited for come first.",
        footer = {"  redlock locks top --nodes a:6379,b:6379,c:6379",
            "  redlock locks top --prefix shop:orders/ --sort ttl",
            "  redlock locks top --count 1 --limit 1000"})
final class LocksTopCommand implements Callable<Integer> {

    private static final int LIMIT_MAX = 1_000;
    private static final String HOME = "\033[H";
    private static final String CLEAR = "\033[2J";
    private static final String CLEAR_TO_END_OF_LINE = "\033[K";
    private static final String CLEAR_BELOW = "\033[J";

    @Option(names = "--prefix", paramLabel = "PREFIX", defaultValue = "",
            description = "Start of the keys, with the key prefix of the clients (default: all keys).")
    private String prefix;

    @Option(names = "--sort", paramLabel = "ORDER", defaultValue = "waiters",
            description = "waiters (the most first), ttl (the next to expire first) or name (default: "
                    + "${DEFAULT-VALUE}).")
    private TopRow.Order order;

    @Option(names = "--count", paramLabel = "N", description = "End after N refreshes (default: at Ctrl-C).")
    private Integer count;

    @Option(names = "--limit", paramLabel = "N", defaultValue = "200",
            description = "Locks to follow at most, 1 to 1000 (default: ${DEFAULT-VALUE}).")
    private int limit;

    @Mixin
    private ServerOptions servers;

    @Spec
    private CommandSpec spec;

    private TopScreen screen = new TopScreen();

    LocksTopCommand() {
        // picocli fills the fields.
    }

    void screen(TopScreen newScreen) {
        screen = newScreen;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        Options.requireRange(spec.commandLine(), "--limit", limit, 1, LIMIT_MAX);
        Options.require(spec.commandLine(), count == null || count > 0, "--count is " + count + ": expected 1 or more");
        PrintWriter out = spec.commandLine().getOut();
        boolean isTerminal = screen.isTerminal();
        try (LockNodes nodes = LocksOptions.connect(spec.commandLine(), servers)) {
            LockWatch watch = new LockWatch(nodes, prefix, limit);
            // A closed pipe is an error of the writer: nobody reads on.
            for (int i = 0; (count == null || i < count) && !out.checkError(); i++) {
                if (i > 0) {
                    screen.pause();
                }
                print(out, nodes, watch.refresh(), isTerminal, i == 0);
            }
            return nodes.upCount() == 0 ? ExitCodes.NO_NODES : ExitCodes.GOOD;
        }
    }

    private void print(PrintWriter out, LockNodes nodes, LockWatch.Snapshot snapshot, boolean isTerminal,
            boolean isFirst) {
        List<TopRow> rows = snapshot.rows().stream().sorted(order.comparator).toList();
        TopScreen.Size size = isTerminal ? screen.size() : TopScreen.USUAL;
        // The last line of a terminal is for the cursor.
        int linesMax = isTerminal ? Math.max(1, size.lines() - 1) : Integer.MAX_VALUE;
        List<String> lines = new TopTable(size.columns()).lines(screen.time(), nodes, snapshot, rows, linesMax);
        StringBuilder text = new StringBuilder();
        if (isTerminal) {
            text.append(isFirst ? HOME + CLEAR : HOME);
            lines.forEach(line -> text.append(line).append(CLEAR_TO_END_OF_LINE).append('\n'));
            text.append(CLEAR_BELOW);
        } else {
            text.append(isFirst ? "" : "\n");
            lines.forEach(line -> text.append(line).append('\n'));
        }
        out.print(text);
        out.flush();
    }
}
