package dev.redlock.loadtest.nodes;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import redis.embedded.RedisServer;

/**
 * The server binaries inside the embedded-redis artifact. Only the binaries are used: that library's own runner copies
 * them once per server and ends them less strictly than {@link RedisNode} does.
 *
 * <p>The 64-bit Linux binary is linked against OpenSSL 3; where that is missing, the static 32-bit one takes its place.
 *
 * @threading any thread
 */
final class EmbeddedServer {
    /** Extracts into the folder and takes the first binary that runs. */
    static NodeLauncher extract(Path folder) throws SourceRefusedException {
        List<String> reasons = new ArrayList<>();
        for (String name : binaries(System.getProperty("os.name"), System.getProperty("os.arch"))) {
            try {
                Path executable = extract(name, folder);
                return new LocalLauncher(Source.EMBEDDED, executable, ServerBinary.identify(executable));
            } catch (SourceRefusedException e) {
                reasons.add(e.getMessage());
            }
        }
        throw new SourceRefusedException(String.join("; ", reasons));
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
}
