package dev.redlock.loadtest.result;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * The kind of machine, without its identity.
 *
 * @param cores       processors that this JVM may use
 * @param memoryBytes physical memory, or the container's limit
 * @threading immutable
 */
public record MachineClass(int cores, String cpu, long memoryBytes, String os, String kernel, String arch) {
    private static final Path CPU_INFO = Path.of("/proc/cpuinfo");
    private static final String UNKNOWN = "unknown";

    public static MachineClass here() {
        long memoryBytes = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
        return new MachineClass(Runtime.getRuntime().availableProcessors(), cpuModel(), memoryBytes,
                System.getProperty("os.name"), System.getProperty("os.version"), System.getProperty("os.arch"));
    }

    private static String cpuModel() {
        if (!Files.isReadable(CPU_INFO)) {
            return UNKNOWN;
        }
        try (Stream<String> lines = Files.lines(CPU_INFO)) {
            return lines.filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).trim())
                    .findFirst()
                    .orElse(UNKNOWN);
        } catch (IOException e) {
            return UNKNOWN;
        }
    }
}
