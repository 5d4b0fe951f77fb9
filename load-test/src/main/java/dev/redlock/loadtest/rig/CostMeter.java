package dev.redlock.loadtest.rig;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import dev.redlock.loadtest.result.ClientCost;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Measures CPU time and allocated bytes of this process without the rig's own threads. The CPU time of the garbage
 * collector and the compiler counts, because the client causes it.
 *
 * @threading caller-confined to the thread that runs the rig
 */
final class CostMeter {
    /** The name prefixes of the threads of the rig and of the progress bar. */
    private static final List<String> RIG_THREADS = List.of("load-", "progressbar");

    private final OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private final ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
    private final LongSupplier rigCpuNs;
    private Map<Long, Long> bytesBefore = Map.of();
    private long cpuNsBefore;

    CostMeter(LongSupplier rigCpuNs) {
        this.rigCpuNs = rigCpuNs;
    }

    void begin() {
        bytesBefore = bytesByThread();
        cpuNsBefore = cpuNs();
    }

    ClientCost end(long cycles) {
        if (cycles == 0) {
            return ClientCost.UNKNOWN;
        }
        long cpuNs = cpuNs() - cpuNsBefore;
        long bytes = 0;
        for (Map.Entry<Long, Long> thread : bytesByThread().entrySet()) {
            bytes += thread.getValue() - bytesBefore.getOrDefault(thread.getKey(), 0L);
        }
        return new ClientCost(cpuNs / 1e3 / cycles, (double) bytes / cycles);
    }

    private long cpuNs() {
        long ownNs = Math.max(0, threads.getCurrentThreadCpuTime());
        return system.getProcessCpuTime() - rigCpuNs.getAsLong() - ownNs;
    }

    private Map<Long, Long> bytesByThread() {
        long[] ids = threads.getAllThreadIds();
        long[] bytes = threads.getThreadAllocatedBytes(ids);
        ThreadInfo[] infos = threads.getThreadInfo(ids);
        Map<Long, Long> byThread = new HashMap<>();
        for (int i = 0; i < ids.length; i++) {
            boolean isRig = infos[i] == null || ids[i] == Thread.currentThread().getId()
                    || RIG_THREADS.stream().anyMatch(infos[i].getThreadName()::startsWith);
            if (!isRig && bytes[i] >= 0) {
                byThread.put(ids[i], bytes[i]);
            }
        }
        return byThread;
    }
}
