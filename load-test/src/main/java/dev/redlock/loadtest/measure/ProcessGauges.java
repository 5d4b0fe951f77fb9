package dev.redlock.loadtest.measure;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Reads the resources that this process uses. A reading collects garbage first, so that the heap shows reachable
 * objects.
 *
 * @threading any thread
 */
final class ProcessGauges {
    static final String HEAP = "heapAfterGcBytes";
    static final String RSS = "rssBytes";
    static final String THREADS = "threads";
    static final String FILES = "openFiles";

    private static final Path STATUS = Path.of("/proc/self/status");
    private static final long BYTES_PER_KB = 1024;

    static Map<String, Double> read() {
        System.gc();
        Map<String, Double> values = new LinkedHashMap<>();
        values.put(HEAP, (double) ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
        long rss = residentBytes();
        if (rss > 0) {
            values.put(RSS, (double) rss);
        }
        values.put(THREADS, (double) ManagementFactory.getThreadMXBean().getThreadCount());
        if (ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix) {
            values.put(FILES, (double) unix.getOpenFileDescriptorCount());
        }
        return values;
    }

    private static long residentBytes() {
        if (!Files.isReadable(STATUS)) {
            return 0;
        }
        try (Stream<String> lines = Files.lines(STATUS)) {
            return lines.filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * BYTES_PER_KB)
                    .findFirst()
                    .orElse(0);
        } catch (IOException e) {
            return 0;
        }
    }
}
