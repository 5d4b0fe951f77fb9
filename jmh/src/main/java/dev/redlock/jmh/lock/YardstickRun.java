package dev.redlock.jmh.lock;

import dev.redlock.IdlePolicy;
import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The yardstick: what {@link CycleRun} measures, done over bare sockets and by nothing that could be left out. It sends
 * the nodes the same commands, byte for byte but for the tokens.
 *
 * @threading caller-confined
 */
@Command(name = "yardstick-run", mixinStandardHelpOptions = true, description = {
    "Lock cycles over bare sockets: the least that a Java client can do. It sends what cycle-run sends with --commands "
            + "scripts (or native) --release-batch 1, and measures and prints in the same way.",
    "An acquire that is refused, or a node that does not vote for one, fails the run."})
public final class YardstickRun implements Callable<Integer> {

    /**
     * How a lock is asked for. It is given back by the script in both.
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

    YardstickRun(final InputStream turns) {
        this.turns = turns;
        // picocli fills the other fields.
    }

    /**
     * Runs.
     *
     * @param args see {@code --help}
     */
    public static void main(final String[] args) {
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

    static CommandLine commandLine(final InputStream turns) {
        return new CommandLine(new YardstickRun(turns)).setCaseInsensitiveEnumValuesAllowed(true);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        options.check();
        options.require(!options.isInProcess(), "--in-process has no sockets, and this program nothing else");
        options.require(options.idlePolicy() != IdlePolicy.BACK_OFF,
                "--idle is BACK_OFF: expected BLOCK, YIELD or BUSY_SPIN, which is all that this program can do");
        try {
            options.startNodes();
            final CycleMeter meter = new CycleMeter(options,
                    "yardstick " + commands.name().toLowerCase(Locale.ROOT), BareLoop.THREAD_NAME);
            try (BareLoop loop = new BareLoop(options, meter, commands == Commands.SET)) {
                return meter.run(loop, turns, spec.commandLine().getOut());
            }
        } finally {
            options.endNodes();
        }
    }
}
