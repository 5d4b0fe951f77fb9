package dev.redlock.loadtest.rig;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class SystemRigTimeTest {
    private static final int SENDS = 20;
    private static final long PERIOD_NS = 1_000_000;

    @Test
    void pacerNeverCallsEarlyAndStopsAtTheEnd() throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        List<Long> earlyNs = new ArrayList<>();
        try (SystemRigTime time = new SystemRigTime()) {
            long startNs = time.nowNs();
            time.pace(new Pacer.Target() {
                private int sent;

                @Override
                public boolean onDue(long nowNs) {
                    if (nowNs - nextNs() < 0) {
                        earlyNs.add(nextNs() - nowNs);
                    }
                    sent++;
                    if (sent == SENDS) {
                        done.countDown();
                    }
                    return sent < SENDS;
                }

                @Override
                public long nextNs() {
                    return startNs + sent * PERIOD_NS;
                }
            }, PERIOD_NS);
            assertTrue(done.await(60, TimeUnit.SECONDS));
            assertTrue(time.nowNs() - startNs >= (SENDS - 1) * PERIOD_NS);
        }
        assertEquals(List.of(), earlyNs);
    }

    @Test
    void scheduledTaskNeverRunsEarly() throws InterruptedException {
        CountDownLatch ran = new CountDownLatch(1);
        try (SystemRigTime time = new SystemRigTime()) {
            long startNs = time.nowNs();
            time.schedule(ran::countDown, 5_000_000);
            assertTrue(time.await(ran, startNs + TimeUnit.SECONDS.toNanos(20)));
            assertTrue(time.nowNs() - startNs >= 5_000_000);
        }
    }

    @Test
    void closedTimeIgnoresNewTasks() throws InterruptedException {
        SystemRigTime time = new SystemRigTime();
        time.close();
        CountDownLatch never = new CountDownLatch(1);
        time.schedule(never::countDown, 0);
        assertFalse(time.await(never, time.nowNs() + 1_000_000));
    }
}
