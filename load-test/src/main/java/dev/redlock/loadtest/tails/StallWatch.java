package dev.redlock.loadtest.tails;

import dev.redlock.loadtest.measure.SeriesWatch;
import dev.redlock.loadtest.rig.SlowCycles;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Samples, about twice in each millisecond of one measurement, how long the threads that a cycle needs have run and
 * have waited for a core: the event loops of the client, and the main threads of the servers. Its own thread, which is
 * due at known times, shows when the machine stands still. On a machine that does not count these times it samples
 * nothing.
 *
 * @threading caller-confined; a thread of its own samples between the open and the close
 */
final class StallWatch implements SeriesWatch, AutoCloseable {
    private static final long PERIOD_NS = 500_000;
    private static final long NAMED_NS_MAX = 500_000_000;
    /** Timers of a thread are late by as much. */
    private static final long TIMER_NS = 100_000;

    private final SlowCycles slow;
    private final List<TaskClock> clocks = new ArrayList<>();
    private final CoreSamples samples;
    private final Thread thread = new Thread(this::run, "load-stalls");
    private volatile boolean isStopping;

    /**
     * Starts to sample.
     *
     * @param loopThreads the prefix of the names of the client's event loops, which run
     * @param serverPids  the servers; empty if they run elsewhere
     * @param slow        gets the slow cycles
     */
    StallWatch(String loopThreads, List<Long> serverPids, SlowCycles slow) throws IOException {
        this.slow = slow;
        int loopCount = 0;
        int serverCount = serverPids.size();
        if (TaskClock.isAvailable()) {
            clocks.addAll(loops(loopThreads));
            loopCount = clocks.size();
            for (long pid : serverPids) {
                clocks.add(TaskClock.ofProcess(pid));
            }
            clocks.addAll(TaskClock.ofKernelNetwork());
        }
        this.samples = new CoreSamples(loopCount, clocks.isEmpty() ? 0 : serverCount,
                Math.max(0, clocks.size() - loopCount - serverCount));
        thread.setDaemon(true);
        thread.start();
    }

    /** A thread that has just started gets its name a little later. */
    private static List<TaskClock> loops(String names) throws IOException {
        long startNs = System.nanoTime();
        List<TaskClock> found = TaskClock.ofThreads(names);
        while (found.isEmpty() && System.nanoTime() - startNs < NAMED_NS_MAX) {
            LockSupport.parkNanos(PERIOD_NS);
            found = TaskClock.ofThreads(names);
        }
        return found;
    }

    @Override
    public SlowCycles slowCycles() {
        return slow;
    }

    private void run() {
        try (TaskClock own = clocks.isEmpty() ? null : TaskClock.ofThisThread()) {
            if (own != null) {
                run(own);
            }
        } catch (IOException e) {
            // Without the times of this thread there are no samples.
        }
    }

    private void run(TaskClock own) {
        long[] waited = new long[clocks.size()];
        long[] ran = new long[clocks.size()];
        long fromNs = System.nanoTime();
        read(waited, ran);
        while (!isStopping) {
            long usedNs = own.ranNs() + own.waitedNs();
            LockSupport.parkNanos(PERIOD_NS);
            long toNs = System.nanoTime();
            own.read();
            usedNs = own.ranNs() + own.waitedNs() - usedNs;
            read(waited, ran);
            samples.add(fromNs, toNs, Math.max(0, toNs - fromNs - usedNs - PERIOD_NS - TIMER_NS), waited, ran);
            fromNs = toNs;
        }
    }

    /** The times since the last reading. */
    private void read(long[] waited, long[] ran) {
        for (int i = 0; i < waited.length; i++) {
            TaskClock clock = clocks.get(i);
            long waitedBefore = clock.waitedNs();
            long ranBefore = clock.ranNs();
            clock.read();
            waited[i] = clock.waitedNs() - waitedBefore;
            ran[i] = clock.ranNs() - ranBefore;
        }
    }

    /** Stops to sample. */
    @Override
    public void close() throws IOException {
        isStopping = true;
        LockSupport.unpark(thread);
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        for (TaskClock clock : clocks) {
            clock.close();
        }
    }

    /** What the threads did. Valid after the close. */
    CoreSamples coreSamples() {
        return samples;
    }
}
