package dev.redlock.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Lists the locks under a prefix.
 *
 * @threading caller-confined
 */
@Command(name = "list", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Lists the locks under a prefix: how many nodes have the value, by which client, when it "
                + "expires without an extension, and on what the nodes disagree. STATE is held (a quorum has the "
                + "value), no quorum (the rest of a lock, or one that is being acquired or released) or unclear (too "
                + "many nodes do not answer). It reads the keys with SCAN, which slows the nodes little, also if they "
                + "have many other keys.",
        footer = {"  redlock locks list --nodes a:6379,b:6379,c:6379",
            "  redlock locks list shop:orders/ --limit 50 --json"})
final class LocksListCommand implements Callable<Integer> {

    private static final int LIMIT_MAX = 100_000;

    @Parameters(paramLabel = "PREFIX", arity = "0..1", defaultValue = "",
            description = "Start of the keys, with the key prefix of the clients (default: all keys).")
    private String prefix;

    @Option(names = "--limit", paramLabel = "N", defaultValue = "1000",
            description = "Keys to list at most, 1 to 100000 (default: ${DEFAULT-VALUE}).")
    private int limit;

    @Option(names = "--scan-timeout", paramLabel = "TIME", defaultValue = "1m", converter = DurationConverter.class,
            description = "How long a node may take for all of its keys (default: ${DEFAULT-VALUE}).")
    private Duration scanTimeout;

    @Mixin
    private LocksOptions options;

    @Spec
    private CommandSpec spec;

    LocksListCommand() {
        // picocli fills the fields.
    }

    @Override
    public Integer call() throws IOException {
        Options.requireRange(spec.commandLine(), "--limit", limit, 1, LIMIT_MAX);
        Options.requireAtLeast(spec.commandLine(), "--scan-timeout", scanTimeout, Duration.ofMillis(1));
        PrintWriter out = spec.commandLine().getOut();
        try (LockNodes nodes = options.connect(spec.commandLine())) {
            LockNodes.Listing listing = nodes.list(prefix, limit, scanTimeout);
            if (options.isJson()) {
                Map<String, Object> root = LocksJson.root(nodes);
                root.put("isCut", listing.isCut());
                root.put("deniedCount", listing.deniedCount());
                root.put("locks", LocksJson.locks(nodes, listing.locks(), options.areValuesShown()));
                out.println(Json.text(root));
            } else {
                print(out, nodes, listing);
            }
            out.flush();
            return nodes.upCount() == 0 ? ExitCodes.NO_NODES : ExitCodes.GOOD;
        }
    }

    private void print(PrintWriter out, LockNodes nodes, LockNodes.Listing listing) {
        LocksText.printProblems(out, nodes);
        if (listing.deniedCount() > 0) {
            out.println(LocksText.denied(listing.deniedCount()));
        }
        if (!listing.locks().isEmpty()) {
            LocksText.printList(out, listing, options.areValuesShown());
        } else if (!listing.isCut()) {
            out.println((listing.deniedCount() > 0 ? "No other keys" : "No keys")
                    + (prefix.isEmpty() ? "" : " with this prefix") + " on " + nodes.upCount() + " of "
                    + Counted.of(nodes.nodes().size(), "node") + ".");
        }
        if (listing.isCut()) {
            out.println("There are more keys: give a longer prefix, or a --limit above " + limit + ".");
        }
    }
}
