package dev.redlock.loadtest.cycle;

import dev.redlock.api.IdlePolicy;
import dev.redlock.loadtest.cli.BuildVersion;
import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The yardstick for {@link CyclesCommand}: the same cycles over bare sockets with the minimum of work. It sends the
 * nodes the same commands, byte for byte except for the tokens.
 *
 * @threading caller-confined
 */
@Command(name = "yardstick", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class,
        sortOptions = false,
        description = {"Measures lock cycles over bare sockets: the lower bound for a Java client. It sends the same "
                + "commands as cycles with --commands scripts (or native) --release-batch 1, and measures and prints "
                + "in the same way.",
            "A rejected acquire, or a node that does not vote, fails the run."},
        footer = {"  load-test yardstick --start 5 --in-flight 64", "  load-test yardstick --start 3 --commands set"})
public final class YardstickCommand implements Callable<Integer> {

    /**
     * The command that acquires. Both release by the script.
     *
     * @threading immutable
     */
    enum Commands {
        /** The client's own acquire script. */
        SCRIPTS,
        /** Plain {@code SET NX PX}. */
        SET
    }

    @Mixin
    private CycleOptions options;

    @Option(names = "--commands", paramLabel = "COMMANDS", defaultValue = "SCRIPTS",
            description = "${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private Commands commands;

    @Spec
    private CommandSpec spec;

    private final InputStream turns;

    public YardstickCommand() {
        this(System.in);
    }

    YardstickCommand(InputStream turns) {
        this.turns = turns;
        // picocli fills the other fields.
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        options.check();
        options.require(!options.isInProcess(), "--in-process has no sockets, and this program uses nothing else");
        options.require(options.idlePolicy() != IdlePolicy.BACK_OFF,
                "--idle is BACK_OFF: expected BLOCK, YIELD or BUSY_SPIN, which this program supports");
        try {
            options.startNodes();
            CycleMeter meter = new CycleMeter(options, "yardstick " + commands.name().toLowerCase(Locale.ROOT),
                    BareLoop.THREAD_NAME, spec.commandLine().getOut());
            try (BareLoop loop = new BareLoop(options.addresses(), options.inFlight(), options.idlePolicy(),
                    commands == Commands.SET)) {
                return meter.run(loop, options.load(), loop::problems, turns);
            }
        } finally {
            options.endNodes();
        }
    }
}
