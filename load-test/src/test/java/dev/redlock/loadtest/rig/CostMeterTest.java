package dev.redlock.loadtest.rig;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.result.ClientCost;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class CostMeterTest {
    private static final int MB = 1 << 20;
    private static final long CPU_NS = 200_000_000;

    private final CostMeter meter = new CostMeter(() -> 0, null);
    private byte[] kept;

    @Test
    void bytesOfTheClientCountAndThoseOfTheRigDoNot() throws InterruptedException {
        assertEquals(8 * MB, measured("client", () -> allocate(8)).allocatedBytesPerCycle(), MB);
        assertEquals(0, measured("load-pacer", () -> allocate(8)).allocatedBytesPerCycle(), MB);
    }

    @Test
    void cpuTimeOfTheProcessCounts() throws InterruptedException {
        assertTrue(measured("client", CostMeterTest::burn).cpuUsPerCycle() >= CPU_NS / 1e3 * 0.9);
    }

    /** Each hold and each retry of the rig runs there. */
    @Test
    void cpuTimeOfTheRigsThreadsDoesNotCount() throws InterruptedException {
        for (String thread : new String[]{"load-later", "load-stalls", "progressbar"}) {
            double us = measured(thread, CostMeterTest::burn).cpuUsPerCycle();
            assertTrue(us < CPU_NS / 1e3 / 2, thread + ": " + us + " us");
        }
    }

    @Test
    void cpuTimeOfTheRigIsSubtracted() throws InterruptedException {
        long[] rigNs = {0};
        CostMeter aware = new CostMeter(() -> rigNs[0], null);
        aware.begin();
        burn();
        // As if the pacer had used all of it; the CPU time of this thread is subtracted separately.
        double own = aware.end().perCycle(1).cpuUsPerCycle();
        aware.begin();
        rigNs[0] = CPU_NS;
        assertTrue(aware.end().perCycle(1).cpuUsPerCycle() < own, "less than without it");
    }

    @Test
    void costOfNoCyclesIsUnknown() {
        meter.begin();
        assertEquals(ClientCost.UNKNOWN, meter.end().perCycle(0));
    }

    /** The thread lives until the meter has looked: a dead thread cannot be asked for its bytes. */
    private ClientCost measured(String name, Runnable work) throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        CountDownLatch read = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            try {
                begun.await();
                work.run();
                done.countDown();
                read.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, name);
        thread.start();
        meter.begin();
        begun.countDown();
        done.await();
        ClientCost cost = meter.end().perCycle(1);
        read.countDown();
        thread.join();
        return cost;
    }

    private void allocate(int megabytes) {
        for (int i = 0; i < megabytes; i++) {
            kept = new byte[MB];
        }
        assertEquals(MB, kept.length);
    }

    private static void burn() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long untilNs = threads.getCurrentThreadCpuTime() + CPU_NS;
        while (threads.getCurrentThreadCpuTime() < untilNs) {
            Thread.onSpinWait();
        }
    }
}
