package dev.redlock.loadtest.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The command line that starts this program in another JVM.
 *
 * @threading any thread
 */
public final class ChildJvm {
    /** By name: the main class depends on every command, and commands start child JVMs. */
    private static final String MAIN_CLASS = "dev.redlock.loadtest.Main";
    /** From this version on the JVM warns on standard error about what Netty does. */
    private static final int WARNING_JDK = 24;

    public static List<String> command(List<String> jvmOptions, List<String> arguments) {
        return command(jvmOptions, System.getProperty("java.class.path"), MAIN_CLASS, arguments);
    }

    /** The same for another class path or another class of this program. */
    public static List<String> command(List<String> jvmOptions, String classPath, String mainClass,
            List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmOptions);
        if (Runtime.version().feature() >= WARNING_JDK) {
            command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"));
        }
        command.addAll(List.of("-cp", classPath, mainClass));
        command.addAll(arguments);
        return command;
    }
}
