package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.LiveNodes;
import dev.redlock.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Several threads extend one lease at the same time: each gets an outcome, or an exception that another extension is in
 * progress.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ConcurrentExtendTest {

    private static final int THREADS = 4;
    private static final int ROUNDS = 300;

    @Test
    void everyConcurrentExtendGetsAnOutcomeOrIsRejected() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (LiveNodes nodes = new LiveNodes(3)) {
            RedlockContext context = new RedlockContext().nodes(nodes.addresses())
                    .restartGuard(RestartGuardMode.OFF)
                    .nodeTimeout(Duration.ofSeconds(2));
            TestClient client = new TestClient(context, nodes.clientLoop(), nodes.newTransport(),
                    NanoClock.system(), 1);
            client.open().join();
            Lease lease = client.redlock().acquire("shared", Duration.ofSeconds(30)).lease();
            List<Future<Integer>> extended = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                extended.add(threads.submit(() -> extendOften(lease)));
            }
            int sum = 0;
            for (Future<Integer> count : extended) {
                sum += count.get();
            }
            assertEquals(THREADS * ROUNDS, sum);
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
            client.redlock().close();
        } finally {
            threads.shutdownNow();
        }
    }

    /** Runs until enough extensions have succeeded; how many calls are rejected in between depends on the scheduler. */
    private static int extendOften(Lease lease) {
        int extended = 0;
        while (extended < ROUNDS) {
            try {
                ExtendOutcome outcome = lease.extend(Duration.ofSeconds(30));
                assertEquals(ExtendOutcome.EXTENDED, outcome, "every extension has its own outcome");
                extended++;
            } catch (IllegalStateException e) {
                assertTrue(e.getMessage().contains("in progress"), e.getMessage());
                Thread.yield();
            }
        }
        return extended;
    }
}
