package dev.redlock.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Shows one lock, node by node.
 *
 * @threading caller-confined
 */
@Command(name = "show", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Shows one lock: its value, expiry and fencing counter on each node; and the permits that are "
                + "held, if the name is that of a semaphore.",
        footer = {"  redlock locks show orders/42 --nodes a:6379,b:6379,c:6379"})
final class LocksShowCommand implements Callable<Integer> {

    @Parameters(paramLabel = "KEY", description = "Name of the lock, with the key prefix of the clients.")
    private String key;

    @Mixin
    private LocksOptions options;

    @Spec
    private CommandSpec spec;

    LocksShowCommand() {
        // picocli fills the fields.
    }

    @Override
    public Integer call() throws IOException {
        LocksOptions.requireKey(spec.commandLine(), key);
        PrintWriter out = spec.commandLine().getOut();
        try (LockNodes nodes = options.connect(spec.commandLine())) {
            LockView view = nodes.read(key);
            List<LockView> permits = nodes.readPermits(key);
            if (options.isJson()) {
                Map<String, Object> root = LocksJson.root(nodes);
                root.put("locks", LocksJson.locks(nodes, List.of(view), options.areValuesShown()));
                root.put("permits", LocksJson.locks(nodes, permits, options.areValuesShown()));
                out.println(Json.text(root));
            } else {
                LocksText.printProblems(out, nodes);
                LocksText.printOne(out, view, nodes, options.areValuesShown());
                if (!permits.isEmpty()) {
                    out.println();
                    LocksText.printList(out, new LockNodes.Listing(permits, false, 0), options.areValuesShown());
                }
            }
            out.flush();
            return nodes.upCount() == 0 ? ExitCodes.NO_NODES : ExitCodes.GOOD;
        }
    }
}
