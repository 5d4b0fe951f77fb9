package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A finished process: its standard output and its standard error. */
record Program(String out, String err) {

    /** An image takes 20 s if other processes have most of the machine. */
    private static final long LIMIT_SECONDS = 180;

    /** Runs a command in a folder; a tool of the JDK is that of this JVM. It must succeed. */
    static Program run(Path folder, List<String> command) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(command);
        Path tool = Path.of(System.getProperty("java.home"), "bin", words.get(0));
        if (Files.isExecutable(tool)) {
            words.set(0, tool.toString());
        }
        if (command.get(0).equals("java")) {
            // It lives for seconds.
            words.addAll(1, List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        }
        Path out = Files.createTempFile(folder, "out", ".txt");
        Path err = Files.createTempFile(folder, "err", ".txt");
        ProcessBuilder builder = new ProcessBuilder(words).directory(folder.toFile());
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        builder.environment().remove("JDK_JAVA_OPTIONS");
        Process process = builder.redirectOutput(out.toFile()).redirectError(err.toFile()).start();
        try {
            assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), () -> "still running: " + words);
        } finally {
            process.destroyForcibly();
        }
        Program program = new Program(Files.readString(out), Files.readString(err));
        assertEquals(0, process.exitValue(), () -> words + "\n" + program.out + program.err);
        return program;
    }

    /** A command line of the documentation as words. */
    static List<String> words(String line) {
        return List.of(line.strip().split(" +"));
    }
}
