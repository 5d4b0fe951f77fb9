package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.engine.TestEngine;
import dev.redlock.testing.Await;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A reused handle may use another event loop, which must not touch the state of the previous loop. */
@Timeout(value = 30, unit = TimeUnit.SECONDS)
class LeaseOnTwoLoopsTest {

    private final ManualIoEventLoop here = new ManualIoEventLoop(Thread.currentThread(), NioIoHandler.newFactory());
    private ManualIoEventLoop there;
    private final Thread thread = new Thread(() -> {
        while (!there.isTerminated()) {
            there.run(TimeUnit.MILLISECONDS.toNanos(1));
        }
    });
    private final AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce();
    private final List<String> received = new ArrayList<>();

    private long attempts(Redlock redlock) {
        return redlock.counters().outcomeCount(AcquireOutcome.Kind.NO_QUORUM);
    }

    /** Two keys; the first belongs to the loop of this thread, so its requests run inside their call. */
    private List<ResourceKey> keys(Redlock redlock) {
        ResourceKey mine = null;
        ResourceKey others = null;
        for (int i = 0; mine == null || others == null; i++) {
            ResourceKey key = redlock.key("r" + i);
            long before = attempts(redlock);
            redlock.acquire(key, options, redlock.newLease(), outcome -> {
            });
            if (attempts(redlock) > before) {
                mine = key;
            } else {
                others = key;
            }
        }
        return List.of(mine, others);
    }

    @Test
    void aStaleTaskLeavesTheRequestToTheNewLoop() throws InterruptedException {
        there = new ManualIoEventLoop(thread, NioIoHandler.newFactory());
        Redlock redlock = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1").eventLoops(here, there));
        List<ResourceKey> keys = keys(redlock);
        here.runNow();
        Lease lease = redlock.newLease();
        long before = attempts(redlock);
        // The outcome exists and a task to deliver it is queued, when the cancellation takes over the work of that
        // task.
        redlock.acquire(keys.get(0), options, lease, first -> {
            received.add("first " + first.kind());
            redlock.acquire(keys.get(1), options, lease, second -> received.add("second " + second.kind()));
        });
        lease.close();
        assertEquals(List.of("first NO_QUORUM"), received);
        here.runNow();
        assertEquals(before + 1, attempts(redlock), "the other loop has not run");
        runThereUntilNotAcquired(lease, redlock);
        assertEquals(List.of("first NO_QUORUM", "second NO_QUORUM"), received);
    }

    /**
     * A late cancellation, as by a thread in {@code close()}, is queued on the old loop. The next acquisition relies on
     * its task.
     */
    @Test
    void aStaleTaskPassesTheRequestToTheNewLoop() throws InterruptedException {
        there = new ManualIoEventLoop(thread, NioIoHandler.newFactory());
        Redlock redlock = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1").eventLoops(here, there));
        List<ResourceKey> keys = keys(redlock);
        Lease lease = redlock.newLease();
        redlock.acquire(keys.get(0), options, lease, first -> received.add("first " + first.kind()));
        Await.until("its callback runs here", () -> here.runNow() >= 0 && lease.state() == LeaseState.NOT_ACQUIRED);
        Thread canceller = new Thread(() -> TestEngine.cancel(lease));
        canceller.start();
        canceller.join();
        redlock.acquire(keys.get(1), options, lease, second -> received.add("second " + second.kind()));
        here.runNow();
        runThereUntilNotAcquired(lease, redlock);
        assertEquals(List.of("first NO_QUORUM", "second NO_QUORUM"), received);
    }

    private void runThereUntilNotAcquired(Lease lease, Redlock redlock) throws InterruptedException {
        thread.start();
        Await.until("its callback runs there", () -> lease.state() == LeaseState.NOT_ACQUIRED);
        redlock.close();
        here.runNow();
        here.runNow();
        there.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        here.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        Await.until("ended", () -> here.runNow() >= 0 && here.isTerminated());
        thread.join();
    }
}
