package dev.redlock.loadtest.rig;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Measures the CPU time and the allocated bytes of this process without the rig's own threads, and on request the CPU
 * time of event loops, of servers and of all other processes.
 *
 * @threading caller-confined to the thread that runs the rig
 */
public final class CostMeter {
    /** The name prefixes of the threads of the rig and of the progress bar. */
    private static final List<String> RIG_THREADS = List.of("load-", "progressbar");
    private static final long NS_PER_TICK = 10_000_000;

    private final OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private final ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
    private final LongSupplier pacerCpuNs;
    private final Scope scope;
    private Map<Long, Long> bytesBefore = Map.of();
    private Map<Long, Long> rigCpuBefore = Map.of();
    private Reading before;

    /**
     * The threads and processes whose CPU time is measured besides that of the client's process. It needs /proc.
     *
     * @param loopThreads the prefix of the names of the client's event loops
     * @threading immutable
     */
    public record Scope(String loopThreads, List<Long> serverPids) {
    }

    /** @threading immutable */
    private record Reading(long ns, long processNs, long rigNs, long loopNs, long serverNs, long machineNs) {
    }

    /** By the CPU time so far of the rig's pacer, which may have ended; a null scope is for nothing else. */
    public CostMeter(LongSupplier pacerCpuNs, Scope scope) {
        this.pacerCpuNs = pacerCpuNs;
        this.scope = scope;
    }

    /** Begins the recorded time. */
    public void begin() {
        bytesBefore = bytesByThread();
        rigCpuBefore = rigCpuByThread();
        before = read();
    }

    /** @return the resources used since its begin */
    public Usage end() {
        Reading after = read();
        long rigNs = after.rigNs - before.rigNs + growth(rigCpuBefore, rigCpuByThread());
        long bytes = growth(bytesBefore, bytesByThread());
        long ns = after.ns - before.ns;
        long processNs = after.processNs - before.processNs;
        long serverNs = after.serverNs - before.serverNs;
        double otherCores = scope == null
                ? 0
                : (double) (after.machineNs - before.machineNs - processNs - serverNs) / ns;
        return new Usage(ns, processNs - rigNs, after.loopNs - before.loopNs, serverNs,
                otherCores, bytes);
    }

    /** Of the threads that live at the end. */
    private static long growth(Map<Long, Long> before, Map<Long, Long> after) {
        return after.entrySet()
                .stream()
                .mapToLong(thread -> thread.getValue() - before.getOrDefault(thread.getKey(), 0L))
                .sum();
    }

    private Reading read() {
        long ownNs = Math.max(0, threads.getCurrentThreadCpuTime());
        boolean isScoped = scope != null;
        return new Reading(System.nanoTime(), system.getProcessCpuTime(), pacerCpuNs.getAsLong() + ownNs,
                isScoped ? loopNs() : 0, isScoped ? mainThreadsNs(scope.serverPids) : 0, isScoped ? machineNs() : 0);
    }

    private long loopNs() {
        long ns = 0;
        for (long id : threads.getAllThreadIds()) {
            ThreadInfo info = threads.getThreadInfo(id);
            if (info != null && info.getThreadName().startsWith(scope.loopThreads)) {
                ns += threads.getThreadCpuTime(id);
            }
        }
        return ns;
    }

    /** The CPU time of the main threads of processes, where Redis runs its commands, as the kernel reports it. */
    public static long mainThreadsNs(List<Long> pids) {
        long sum = 0;
        for (long pid : pids) {
            String stat = read(Path.of("/proc/" + pid + "/schedstat"));
            sum += Long.parseLong(stat.substring(0, stat.indexOf(' ')));
        }
        return sum;
    }

    /** The CPU time of all cores so far. */
    private static long machineNs() {
        String[] ticks = read(Path.of("/proc/stat")).split(" +", 9);
        long busy = 0;
        for (int column : new int[]{1, 2, 3, 6, 7}) {
            busy += Long.parseLong(ticks[column]);
        }
        return busy * NS_PER_TICK;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Map<Long, Long> bytesByThread() {
        long[] ids = threads.getAllThreadIds();
        long[] bytes = threads.getThreadAllocatedBytes(ids);
        ThreadInfo[] infos = threads.getThreadInfo(ids);
        Map<Long, Long> byThread = new HashMap<>();
        for (int i = 0; i < ids.length; i++) {
            boolean isRig = infos[i] == null || ids[i] == Thread.currentThread().getId() || isRig(infos[i]);
            if (!isRig && bytes[i] >= 0) {
                byThread.put(ids[i], bytes[i]);
            }
        }
        return byThread;
    }

    /** The CPU time so far of the rig's threads. The reading has those of the pacer and of the current thread. */
    private Map<Long, Long> rigCpuByThread() {
        Map<Long, Long> byThread = new HashMap<>();
        for (ThreadInfo info : threads.getThreadInfo(threads.getAllThreadIds())) {
            if (info != null && isRig(info) && !info.getThreadName().equals(Pacer.THREAD)
                    && info.getThreadId() != Thread.currentThread().getId()) {
                byThread.put(info.getThreadId(), Math.max(0, threads.getThreadCpuTime(info.getThreadId())));
            }
        }
        return byThread;
    }

    private static boolean isRig(ThreadInfo thread) {
        return RIG_THREADS.stream().anyMatch(thread.getThreadName()::startsWith);
    }
}
