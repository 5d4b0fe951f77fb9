package dev.redlock.trial.nodes;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Runs commands of the system to their end.
 *
 * @threading any thread
 */
public final class Shell {
    private static final long LIMIT_SECONDS = 60;

    /** @threading immutable */
    public record Ended(int code, String said) {
    }

    /** The programs with one of these names in the folders of a search path, by folder. */
    public static List<Path> onPath(String searchPath, List<String> names) {
        return Stream.of(searchPath.split(File.pathSeparator))
                .flatMap(folder -> names.stream().map(name -> Path.of(folder.isEmpty() ? "." : folder, name)))
                .filter(file -> Files.isRegularFile(file) && Files.isExecutable(file))
                .map(Path::toAbsolutePath)
                .toList();
    }

    /** Fails if the command is missing, or runs for longer than a minute. */
    public static Ended run(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
        try {
            if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new IOException(command.get(0) + " did not end within " + LIMIT_SECONDS + " s: " + said);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while running " + command.get(0), e);
        }
        return new Ended(process.exitValue(), said);
    }

    /** Fails if the command ends with another code than 0 too; returns what it has printed. */
    public static String require(List<String> command) throws IOException {
        Ended ended = run(command);
        if (ended.code != 0) {
            throw new IOException(String.join(" ", command) + ": " + ended.said);
        }
        return ended.said;
    }

    public static String require(String... command) throws IOException {
        return require(List.of(command));
    }

    /** Java has no call for signals; the shell's built-in kill needs no further package. */
    public static void signal(String name, long pid) throws IOException {
        require("sh", "-c", "kill -" + name + " " + pid);
    }
}
