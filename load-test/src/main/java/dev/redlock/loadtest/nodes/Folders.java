package dev.redlock.loadtest.nodes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** @threading any thread */
public final class Folders {
    /** Removes a folder with its content; does nothing if it does not exist. */
    public static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        for (Path path : deepestFirst(folder)) {
            Files.deleteIfExists(path);
        }
    }

    private static List<Path> deepestFirst(Path folder) throws IOException {
        try (Stream<Path> paths = Files.walk(folder)) {
            return paths.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }
}
