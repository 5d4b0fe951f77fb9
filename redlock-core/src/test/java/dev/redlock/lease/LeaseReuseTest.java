package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.LeaseHandle;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.Await;
import dev.redlock.time.NanoClock;
import io.netty.channel.EventLoop;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.local.LocalIoHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A handle is reused while a thread still works on its previous use. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LeaseReuseTest {

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(TTL).tryOnce();

    private final LiveNodes nodes = new LiveNodes(1);
    private final ManualIoEventLoop here = new ManualIoEventLoop(Thread.currentThread(), LocalIoHandler.newFactory());
    private Runnable onInEventLoop;

    @AfterEach
    void end() {
        nodes.close();
    }

    /** A loop that runs a task when it is asked whether the current thread is its own. */
    private EventLoop there() {
        EventLoop loop = nodes.clientLoop();
        return (EventLoop) Proxy.newProxyInstance(EventLoop.class.getClassLoader(), new Class<?>[]{EventLoop.class},
                (proxy, method, arguments) -> {
                    Runnable event = onInEventLoop;
                    if (event != null && method.getName().equals("inEventLoop") && here.inEventLoop()) {
                        onInEventLoop = null;
                        event.run();
                    }
                    try {
                        return method.invoke(loop, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static ResourceKey keyOn(Redlock redlock, EventLoop loop) {
        for (int i = 0; i < 1_000; i++) {
            ResourceKey key = redlock.key("r" + i);
            int spread = key.hashCode() * 0x9E3779B9;
            if ((spread >>> 1) % 2 == (loop == null ? 0 : 1)) {
                return key;
            }
        }
        throw new AssertionError("no resource maps to the loop");
    }

    /**
     * A task of the previous use is queued on this loop when the handle is acquired on the other one. After the task
     * has read the requests, the acquisition is cancelled: the cancellation must not overtake it.
     */
    @Test
    void aStaleTaskDoesNotReorderRequests() throws InterruptedException {
        RedlockContext context = new RedlockContext().nodes(nodes.addresses()).eventLoops(2);
        TestClient client = new TestClient(context, nodes::newTransport, NanoClock.system(), 1, there(), here);
        client.open().join();
        Redlock redlock = client.redlock();
        LeaseHandle lease = (LeaseHandle) redlock.newLease();
        CountDownLatch isReady = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        nodes.clientLoop().execute(() -> {
            isReady.countDown();
            awaitQuietly(goOn);
        });
        isReady.await();
        nodes.access(0).setIfAbsent(keyOn(redlock, null).resource(), "foreign", 3_600_000);
        redlock.acquire(keyOn(redlock, null), OPTIONS.waitUpTo(Duration.ofHours(1)), lease, outcome -> {
        });
        onInEventLoop = () -> {
            lease.close();
            goOn.countDown();
            nodes.clientLoop().submit(() -> {
            }).syncUninterruptibly();
        };
        lease.run();
        Await.until("cancelled", () -> lease.state() == LeaseState.NOT_ACQUIRED);
        assertEquals(AcquireOutcome.Kind.CANCELLED, lease.kind());
        client.close(Duration.ZERO);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The lease is released and reused before the blocked thread reads its state. */
    @Test
    void aBlockedReleaseReturnsEvenIfTheLeaseIsReused() throws Exception {
        TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses())
                .nodeTimeout(Duration.ofSeconds(20))
                .unansweredTimeout(Duration.ofSeconds(60)), nodes.clientLoop(), nodes.newTransport(),
                NanoClock.system(), 1);
        client.open().join();
        Redlock redlock = client.redlock();
        for (int i = 0; i < 100; i++) {
            Lease lease = redlock.tryAcquire("r", TTL).lease();
            nodes.onLoop(() -> {
                nodes.node(0).pause();
                return null;
            });
            FutureTask<ReleaseOutcome> waiting = new FutureTask<>(lease::release);
            Thread thread = new Thread(waiting);
            thread.setDaemon(true);
            thread.start();
            Await.until("parked", () -> thread.getState() == Thread.State.WAITING);
            CountDownLatch isInUse = new CountDownLatch(1);
            lease.release((released, outcome) -> redlock.acquire(redlock.key("other"), OPTIONS, lease,
                    again -> isInUse.countDown()));
            nodes.onLoop(() -> {
                nodes.node(0).resume();
                return null;
            });
            isInUse.await();
            waiting.get(60, TimeUnit.SECONDS);
            lease.release();
        }
        redlock.close();
    }
}
