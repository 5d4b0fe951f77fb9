package dev.redlock.jmh.lock;

import dev.redlock.api.IdlePolicy;
import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine;

/**
 * The yardstick for {@link CycleRun}: the same cycles over bare sockets with the minimum of work. It sends the nodes
 * the same commands, byte for byte except for the tokens.
 *
 * @threading caller-confined
 */
@Command(name = "yardstick-run", mixinStandardHelpOptions = true, description = {
    "Lock cycles over bare sockets: the lower bound for a Java client. It sends the same commands as cycle-run "
            + "with --commands scripts (or native) --release-batch 1, and measures and prints in the same way.",
    "A rejected acquire, or a node that does not vote, fails the run."})
public final class YardstickRun implements Callable<Integer> {

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

    @Option(names = "--commands", defaultValue = "SCRIPTS", description = "${COMPLETION-CANDIDATES}")
    private Commands commands;

    @Spec
    private CommandSpec spec;

    private final InputStream turns;

    YardstickRun(InputStream turns) {
        this.turns = turns;
        // picocli fills the other fields.
    }

    /**
     * Runs.
     *
     * @param args see {@code --help}
     */
    public static void main(String[] args) {
        System.exit(commandLine().execute(args));
    }

    /**
     * Its command line, for parsing without running.
     *
     * @return a new one
     */
    public static CommandLine commandLine() {
        return commandLine(System.in);
    }

    static CommandLine commandLine(InputStream turns) {
        return new CommandLine(new YardstickRun(turns)).setCaseInsensitiveEnumValuesAllowed(true);
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
