package dev.redlock.trial.nodes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Finds libfaketime, which gives a process a wall clock of its own: a Debian package of that name, an optional guest.
 *
 * @threading any thread
 */
public final class ClockLibrary {
    private static final List<Path> FOLDERS = List.of(Path.of("/usr/lib"), Path.of("/usr/lib64"),
            Path.of("/usr/local/lib"));
    private static final Path NAME = Path.of("faketime", "libfaketimeMT.so.1");

    /** Searches the folders of the distributions, or the place that {@code trial.libfaketime} names. */
    public static Optional<Path> find() {
        String given = System.getProperty("trial.libfaketime");
        if (given != null) {
            return Optional.of(Path.of(given)).filter(Files::isReadable);
        }
        return FOLDERS.stream().flatMap(folder -> under(folder).stream()).filter(Files::isReadable).findFirst();
    }

    /** The folder itself, and those of each architecture in it. */
    private static List<Path> under(Path folder) {
        try (Stream<Path> children = Files.isDirectory(folder) ? Files.list(folder) : Stream.empty()) {
            return Stream.concat(Stream.of(folder), children).map(child -> child.resolve(NAME)).toList();
        } catch (IOException e) {
            return List.of();
        }
    }
}
