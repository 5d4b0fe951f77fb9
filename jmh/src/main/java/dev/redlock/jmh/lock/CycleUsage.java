package dev.redlock.jmh.lock;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * The resources used so far.
 *
 * @param ns        the time
 * @param clientNs  CPU time of this process
 * @param loopsNs   CPU time of its event loops
 * @param serversNs CPU time of the servers' main threads
 * @param busyNs    CPU time of everything on this machine
 * @param heapBytes allocated by all live threads
 * @threading immutable
 */
record CycleUsage(long ns, long clientNs, long loopsNs, long serversNs, long busyNs, long heapBytes) {

    static CycleUsage now(long[] serverPids, String loopNamePrefix) throws IOException {
        long serversNs = mainThreadsNs(serverPids);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long heap = Arrays.stream(threads.getThreadAllocatedBytes(threads.getAllThreadIds())).sum();
        OperatingSystemMXBean os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long loopsNs = 0;
        for (long id : threads.getAllThreadIds()) {
            ThreadInfo info = threads.getThreadInfo(id);
            if (info != null && info.getThreadName().startsWith(loopNamePrefix)) {
                loopsNs += threads.getThreadCpuTime(id);
            }
        }
        return new CycleUsage(System.nanoTime(), os.getProcessCpuTime(), loopsNs, serversNs, allBusyNs(), heap);
    }

    /** CPU time of the main threads of processes, where Redis runs its commands. */
    static long mainThreadsNs(long... pids) throws IOException {
        long sum = 0;
        for (long pid : pids) {
            String stat = Files.readString(Path.of("/proc/" + pid + "/schedstat"));
            sum += Long.parseLong(stat.substring(0, stat.indexOf(' ')));
        }
        return sum;
    }

    /** The CPU time of all cores so far, in Linux' ticks of 10 ms. */
    private static long allBusyNs() throws IOException {
        String[] ticks = Files.readAllLines(Path.of("/proc/stat")).get(0).trim().split(" +");
        long busy = 0;
        for (int column : new int[]{1, 2, 3, 6, 7}) {
            busy += Long.parseLong(ticks[column]);
        }
        return busy * 10_000_000;
    }

    CycleUsage since(CycleUsage before) {
        return new CycleUsage(ns - before.ns, clientNs - before.clientNs, loopsNs - before.loopsNs,
                serversNs - before.serversNs, busyNs - before.busyNs, heapBytes - before.heapBytes);
    }

    /** The number of cores that other processes kept busy. */
    double otherCores() {
        return (double) (busyNs - clientNs - serversNs) / ns;
    }
}
