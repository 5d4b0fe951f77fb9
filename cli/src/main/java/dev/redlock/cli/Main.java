package dev.redlock.cli;

import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.logging.LogManager;
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
        subcommands = {LocksCommand.class, NodesCommand.class}, synopsisSubcommandLabel = "(locks|nodes)",
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
        List.of("noUnsafe=true", "jfr.enabled=false", "allocator.type=unpooled", "processId=1",
                "machineId=" + NO_MACHINE)
                .forEach(Main::setForNetty);
        // What the client would log is in the answers.
        LogManager.getLogManager().reset();
        JvmEnd.watch();
        System.exit(run(new PrintWriter(System.out, true), new PrintWriter(System.err, true), args));
    }

    private static void setForNetty(String property) {
        int equals = property.indexOf('=');
        System.setProperty("io.netty." + property.substring(0, equals), property.substring(equals + 1));
    }

    /** Runs a command and returns its exit code. */
    public static int run(PrintWriter out, PrintWriter err, String... args) {
        return PROGRAM.run(commandLine(), UncheckedIOException.class, out, err, args);
    }

    /** All commands, ready to parse. */
    public static CommandLine commandLine() {
        return Program.commandLine(new Main());
    }

    @Override
    public void run() {
        throw new CommandLine.ParameterException(spec.commandLine(), "a command is missing: write locks or nodes");
    }
}
