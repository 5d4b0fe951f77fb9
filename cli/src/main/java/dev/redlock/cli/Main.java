package dev.redlock.cli;

import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * The program: {@code java -jar redlock.jar COMMAND [options]}.
 *
 * @threading caller-confined
 */
@Command(name = "redlock", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class,
        synopsisSubcommandLabel = "(locks|nodes)",
        description = "Shows the locks of redlock on running Redis or Valkey nodes, and the state of the nodes.",
        footerHeading = "%nEvery command has its own --help with examples.%n",
        exitCodeListHeading = "%nExit codes:%n", exitCodeList = {
            " 0:done",
            " 1:the value was not deleted, or too few nodes vote",
            " 2:an option is unknown or out of range",
            " 3:no node answers",
            "70:a bug of this program",
            "130:interrupted (Ctrl-C), or 143 (SIGTERM)"})
public final class Main implements Runnable {

    static final Program PROGRAM = new Program("redlock", "cli/target/redlock.jar");

    private static final List<Class<?>> COMMANDS = List.of(LocksCommand.class, NodesCommand.class);
    /** Netty would look for the network interfaces to name its channels. */
    private static final String NO_MACHINE = "00:00:00:00:00:00:00:01";

    @Spec
    private CommandSpec spec;

    private Main() {
    }

    /**
     * Runs a command and ends the JVM with its exit code.
     *
     * @param args the command line
     */
    public static void main(String[] args) {
        // No warning about memory from JDK 24 on, and nothing prepared that a program of half a second does not use.
        setForNetty("noUnsafe", "true");
        setForNetty("jfr.enabled", "false");
        setForNetty("allocator.type", "unpooled");
        setForNetty("processId", "1");
        setForNetty("machineId", NO_MACHINE);
        // No option has one of these types with a converter of picocli.
        System.setProperty("picocli.converters.excludes", "java[.](sql|time)[.].*");
        if (!List.of(args).contains("--help")) {
            EarlyLoading.begin();
        }
        JvmEnd.watch();
        System.exit(run(new PrintWriter(System.out, true), new PrintWriter(System.err, true), args));
    }

    private static void setForNetty(String property, String value) {
        System.setProperty("io.netty." + property, value);
    }

    /** Runs a command and returns its exit code. */
    public static int run(PrintWriter out, PrintWriter err, String... args) {
        return PROGRAM.run(commandLine(args), UncheckedIOException.class, out, err, args);
    }

    /**
     * The commands, ready to parse. Those that the first words of a command line exclude are left out: their options
     * would take longer to prepare than a command runs.
     *
     * @param args the command line; empty for all commands
     * @return the program
     */
    public static CommandLine commandLine(String... args) {
        CommandLine program = new CommandLine(new Main());
        Program.addCommands(program, args, 0, COMMANDS);
        CommandLine locks = program.getSubcommands().get("locks");
        if (locks != null) {
            Program.addCommands(locks, args, 1, LocksCommand.COMMANDS);
        }
        return Program.configured(program);
    }

    @Override
    public void run() {
        throw new CommandLine.ParameterException(spec.commandLine(), "a command is missing: write locks or nodes");
    }
}
