package dev.redlock.loadtest;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * This program once more, in a JVM of its own.
 *
 * @threading any thread
 */
final class ChildJvm {
    /** From this version on the JVM warns, on standard error, about what Netty does. */
    private static final int WARNING_JDK = 24;

    private ChildJvm() {
    }

    /** The command line: this JVM's executable and class path, and these options and arguments. */
    static List<String> command(List<String> jvmOptions, List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmOptions);
        if (Runtime.version().feature() >= WARNING_JDK) {
            command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"));
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
        command.addAll(arguments);
        return command;
    }
}
