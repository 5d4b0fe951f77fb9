package dev.redlock.loadtest;

import dev.redlock.cli.JvmEnd;
import dev.redlock.cli.Program;
import dev.redlock.loadtest.chaos.ChaosCommand;
import dev.redlock.loadtest.chaos.ChaosWorkerCommand;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.Invocation;
import dev.redlock.loadtest.cli.NodesCommand;
import dev.redlock.loadtest.cli.PlotsCommand;
import dev.redlock.loadtest.commit.CallersCommand;
import dev.redlock.loadtest.commit.VersusCommitCommand;
import dev.redlock.loadtest.compare.CompareCommand;
import dev.redlock.loadtest.compare.CompareDriverCommand;
import dev.redlock.loadtest.cycle.CommandCostCommand;
import dev.redlock.loadtest.cycle.CyclesCommand;
import dev.redlock.loadtest.cycle.LoopsCommand;
import dev.redlock.loadtest.cycle.YardstickCommand;
import dev.redlock.loadtest.election.ElectionCommand;
import dev.redlock.loadtest.history.HistoryCommand;
import dev.redlock.loadtest.measure.ContentionCommand;
import dev.redlock.loadtest.measure.LatencyCommand;
import dev.redlock.loadtest.measure.LeasesCommand;
import dev.redlock.loadtest.measure.RetainCommand;
import dev.redlock.loadtest.measure.SoakCommand;
import dev.redlock.loadtest.measure.ThroughputCommand;
import dev.redlock.loadtest.scenario.ScenariosCommand;
import dev.redlock.loadtest.start.FirstSecondCommand;
import dev.redlock.loadtest.tails.TailsCommand;
import dev.redlock.trial.nodes.NodesUnavailableException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * The program: {@code java -jar load-test.jar [command] [options]}. Without a command it runs {@code latency}.
 *
 * @threading caller-confined
 */
@Command(name = "load-test", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class,
        subcommands = {LatencyCommand.class, ThroughputCommand.class, CompareCommand.class,
            CompareDriverCommand.class, ContentionCommand.class, RetainCommand.class, LeasesCommand.class,
            SoakCommand.class, TailsCommand.class, FirstSecondCommand.class, ElectionCommand.class, CyclesCommand.class,
            YardstickCommand.class, LoopsCommand.class, CommandCostCommand.class, VersusCommitCommand.class,
            CallersCommand.class,
            ChaosCommand.class, ChaosWorkerCommand.class, ScenariosCommand.class, NodesCommand.class,
            HistoryCommand.class, PlotsCommand.class},
        synopsisSubcommandLabel = "[latency|throughput|compare|contention|retain|leases|"
                + "soak|tails|first-second|election|cycles|yardstick|loops|command-cost|versus-commit|callers|chaos|"
                + "scenarios|nodes|history|plots]",
        description = "Measures distributed locks over real Redis or Valkey nodes, and injects faults into them.",
        footerHeading = "%nWithout a command, latency is run. Every command has its own --help with examples.%n",
        exitCodeListHeading = "%nExit codes:%n", exitCodeList = {
            " 0:the run counts",
            " 1:the run failed: overlapping holders, failed calls, a missed rate, growth, or nothing measured",
            " 2:an option is unknown or out of range",
            " 3:no nodes could be started or reached, or a file could not be read or written",
            " 4:nothing failed, but a scenario could not be played on this machine",
            "70:a bug of this program",
            "130:interrupted (Ctrl-C), or 143 (SIGTERM); the started nodes have been stopped"})
public final class Main implements Runnable {
    /** The clients start and end by the dozen; their problems are shown. A field keeps the logger. */
    private static final Logger CLIENT_LOG = Logger.getLogger("dev.redlock");

    private static final String DEFAULT_COMMAND = "latency";
    private static final Set<String> TOP_LEVEL = Set.of("-h", "--help", "-V", "--version");

    @Spec
    private CommandSpec spec;

    /** Runs a command and ends the JVM with its exit code. */
    public static void main(String[] args) {
        JvmEnd.watch();
        CLIENT_LOG.setLevel(Level.WARNING);
        System.exit(run(new PrintWriter(System.out, true), new PrintWriter(System.err, true), args));
    }

    static int run(PrintWriter out, PrintWriter err, String... args) {
        return Invocation.PROGRAM.run(commandLine(), NodesUnavailableException.class, out, err, withCommand(args));
    }

    /** All commands, ready to parse. */
    static CommandLine commandLine() {
        return Program.commandLine(new Main());
    }

    /** The arguments, with the default command in front if they name none. */
    static String[] withCommand(String[] args) {
        boolean isTopLevel = args.length > 0 && (TOP_LEVEL.contains(args[0]) || !args[0].startsWith("-"));
        if (isTopLevel) {
            return args;
        }
        List<String> full = new ArrayList<>(List.of(DEFAULT_COMMAND));
        full.addAll(Arrays.asList(args));
        return full.toArray(String[]::new);
    }

    /** Unreachable from the command line: {@link #withCommand} always names a command. */
    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }
}
