package dev.redlock.loadtest.nodes;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The first server on PATH. In a folder with both, redis-server precedes valkey-server.
 *
 * @threading any thread
 */
final class PathServer {
    private static final List<String> NAMES = List.of("redis-server", "valkey-server", "redis-server.exe");

    static NodeLauncher find(String searchPath) throws SourceRefusedException {
        List<String> reasons = new ArrayList<>();
        for (Path executable : candidates(searchPath)) {
            try {
                return new LocalLauncher(Source.PATH, executable, ServerBinary.identify(executable));
            } catch (SourceRefusedException e) {
                reasons.add(e.getMessage());
            }
        }
        throw new SourceRefusedException(
                reasons.isEmpty() ? "no redis-server or valkey-server on PATH" : String.join("; ", reasons));
    }

    private static List<Path> candidates(String searchPath) {
        List<Path> found = new ArrayList<>();
        for (String folder : searchPath.split(File.pathSeparator)) {
            for (String name : NAMES) {
                Path file = Path.of(folder.isEmpty() ? "." : folder, name);
                if (Files.isRegularFile(file) && Files.isExecutable(file)) {
                    found.add(file.toAbsolutePath());
                }
            }
        }
        return found;
    }
}
