package dev.redlock.mutants;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The sources of the module by the names of their files alone: the lists of mutants name no folder and no package, so a
 * file that moves changes none of them. Two files of one name would be ambiguous, and are rejected.
 */
final class SourceFiles {
    private static final Path SOURCES = Path.of("src").toAbsolutePath();
    private static final Map<String, Path> PATHS = paths();

    private SourceFiles() {
    }

    private static Map<String, Path> paths() {
        try (Stream<Path> all = Files.walk(SOURCES)) {
            return all.filter(path -> path.toString().matches(".*\\.(java|lua)"))
                    .filter(path -> !path.endsWith("package-info.java"))
                    .collect(Collectors.toMap(path -> path.getFileName().toString(), path -> path));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The path of a file: {@code AcquireOperation.java} or {@code acquire.lua}. */
    static Path path(String file) {
        Path path = PATHS.get(file);
        if (path == null) {
            throw new IllegalStateException("no source file has the name " + file);
        }
        return path;
    }

    /** The full name of a test class or method: that of {@code RetainTest} or {@code RetainTest#aMethod}. */
    static String test(String name) {
        String[] parts = name.split("#", 2);
        Path path = path(parts[0] + ".java");
        // src/<source root>/java/<packages>
        String type = SOURCES.relativize(path)
                .subpath(2, SOURCES.relativize(path).getNameCount())
                .toString()
                .replaceAll("\\.java$", "")
                .replace(path.getFileSystem().getSeparator(), ".");
        return parts.length == 1 ? type : type + '#' + parts[1];
    }
}
