package dev.redlock.trial.nodes;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.embedded.RedisServer;

/**
 * The servers that are files of this machine.
 *
 * @threading any thread
 */
final class ServerFiles {
    /** A folder that takes the place of PATH and of the embedded server. */
    static final String FOLDER_PROPERTY = "trial.nodes.folder";

    private static final List<String> NAMES = List.of("redis-server", "valkey-server", "redis-server.exe");
    private static final Pattern VERSION = Pattern.compile("(Redis|Valkey) server v=([0-9.]+)",
            Pattern.CASE_INSENSITIVE);

    /** The first server on PATH. In a folder with both, redis-server precedes valkey-server. */
    static NodeProcess.Launcher onPath(String searchPath) throws SourceRefusedException {
        return first(Shell.onPath(searchPath, NAMES), ServerFiles::launcher,
                "no redis-server or valkey-server on PATH");
    }

    /**
     * The first binary of the embedded-redis artifact that runs, extracted into the folder. Only the binaries are used:
     * that library's own runner copies them once per server and ends them less strictly than {@link RedisNode} does.
     * The 64-bit Linux binary is linked against OpenSSL 3; where that is missing, the static 32-bit one takes its
     * place.
     */
    static NodeProcess.Launcher embedded(Path folder) throws SourceRefusedException {
        return first(binaries(System.getProperty("os.name"), System.getProperty("os.arch")),
                name -> launcher(extract(name, folder)), "");
    }

    /** @threading any thread */
    @FunctionalInterface
    private interface Attempt<T> {
        NodeProcess.Launcher with(T candidate) throws SourceRefusedException;
    }

    private static <T> NodeProcess.Launcher first(List<T> candidates, Attempt<T> attempt, String none)
            throws SourceRefusedException {
        List<String> reasons = new ArrayList<>();
        for (T candidate : candidates) {
            try {
                return attempt.with(candidate);
            } catch (SourceRefusedException e) {
                reasons.add(e.getMessage());
            }
        }
        throw new SourceRefusedException(reasons.isEmpty() ? none : String.join("; ", reasons));
    }

    static List<String> binaries(String osName, String osArch) throws SourceRefusedException {
        String os = osName.toLowerCase(Locale.ROOT);
        String arch = osArch.toLowerCase(Locale.ROOT);
        boolean isArm = arch.equals("aarch64") || arch.equals("arm64");
        boolean isIntel64 = arch.equals("amd64") || arch.equals("x86_64");
        if (os.contains("linux") && isIntel64) {
            return List.of("redis-server-6.2.6-v5-linux-amd64", "redis-server-6.2.7-linux-386");
        }
        if (os.contains("linux") && isArm) {
            return List.of("redis-server-6.2.7-linux-arm64");
        }
        if (os.contains("mac") && (isArm || isIntel64)) {
            return List.of("redis-server-6.2.6-v5-darwin-" + (isArm ? "arm64" : "amd64"));
        }
        if (os.contains("windows") && isIntel64) {
            return List.of("redis-server-5.0.14.1-windows-amd64.exe");
        }
        throw new SourceRefusedException("no embedded binary for " + osName + " on " + osArch);
    }

    private static Path extract(String name, Path folder) throws SourceRefusedException {
        Path target = folder.resolve(name);
        try (InputStream binary = RedisServer.class.getResourceAsStream("/" + name)) {
            if (binary == null) {
                throw new SourceRefusedException("the embedded-redis artifact has no " + name);
            }
            Files.copy(binary, target);
            if (!target.toFile().setExecutable(true, true)) {
                throw new SourceRefusedException("cannot make " + name + " executable in " + folder);
            }
            return target;
        } catch (IOException e) {
            throw new SourceRefusedException("cannot extract " + name + ": " + e.getMessage());
        }
    }

    /** Runs it, to find its product and whether it runs on this machine at all. */
    private static NodeProcess.Launcher launcher(Path executable) throws SourceRefusedException {
        try {
            String said = Shell.run(List.of(executable.toString(), "--version")).said();
            Matcher matcher = VERSION.matcher(said);
            if (!matcher.find()) {
                throw new SourceRefusedException(executable.getFileName() + " --version printed: " + said);
            }
            return new NodeProcess.Launcher(matcher.group(1).toLowerCase(Locale.ROOT) + "-server " + matcher.group(2),
                    spec -> LocalProcess.start(executable, spec));
        } catch (IOException e) {
            throw new SourceRefusedException(executable.getFileName() + " does not run: " + e.getMessage());
        }
    }
}
