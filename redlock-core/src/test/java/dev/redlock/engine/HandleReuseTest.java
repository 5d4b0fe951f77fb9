package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** A request that a thread has begun in one use of a handle ends no later use. */
class HandleReuseTest extends VirtualTest {

    private static final Duration LONG = Duration.ofSeconds(60);

    private final List<AcquireOutcome.Kind> outcomes = new ArrayList<>();
    private VirtualWorld.Client client;
    private LeaseHandle lease;

    private void acquire(Duration wait) {
        client.redlock()
                .acquire(client.redlock().key("orders"), options().waitUpTo(wait), lease,
                        outcome -> outcomes.add(outcome.kind()));
    }

    private static void runInAnotherThread(Runnable task) {
        Thread thread = new Thread(task);
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Another client holds the lock, so the first use ends without it. */
    private Lease contended() {
        client = world(3);
        Lease other = lease(client());
        lease = (LeaseHandle) client.redlock().newLease();
        acquire(Duration.ZERO);
        world.runMs(10);
        assertEquals(List.of(AcquireOutcome.Kind.CONTENDED), outcomes);
        return other;
    }

    /** The task of the cancellation is queued when the next use adds its request to it. */
    @Test
    void aLateCancellationDoesNotCancelTheNextAcquisition() {
        Lease other = contended();
        runInAnotherThread(lease::cancel);
        acquire(LONG);
        world.runMs(10);
        assertEquals(LeaseState.ACQUIRING, lease.state(), outcomes::toString);
        release(other);
        world.runMs(10);
        assertEquals(List.of(AcquireOutcome.Kind.CONTENDED, AcquireOutcome.Kind.ACQUIRED), outcomes);
        assertTrue(lease.isHeld());
        lease.close();
        world.runMs(10);
    }

    /** A thread that cancels the first use is late, when another one has cancelled the next use. */
    @Test
    void aLateCancellationDoesNotReplaceAnother() {
        Lease other = contended();
        short first = lease.useCount();
        acquire(LONG);
        world.runMs(10);
        runInAnotherThread(lease::cancel);
        runInAnotherThread(() -> lease.cancel(first));
        world.runMs(10);
        assertEquals(List.of(AcquireOutcome.Kind.CONTENDED, AcquireOutcome.Kind.CANCELLED), outcomes);
        release(other);
    }

    /** A loop on which something happens when a thread that closes a lease asks whether the lock stays. */
    private LeaseLoop interrupting(LeaseLoop loop, Callable<?> event) {
        return (LeaseLoop) Proxy.newProxyInstance(LeaseLoop.class.getClassLoader(), new Class<?>[]{LeaseLoop.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("retainAgain")) {
                        event.call();
                        return false;
                    }
                    return method.invoke(loop, arguments);
                });
    }

    /** The lease expires between two steps of the thread that closes it, and its handle is used again. */
    @Test
    void aLateCloseDoesNotCloseTheNextLease() {
        client = world(3);
        lease = (LeaseHandle) client.redlock().newLease();
        acquire(Duration.ZERO);
        world.runMs(10);
        lease.spec = lease.spec.copy();
        lease.spec.retainNsMax = 1;
        VirtualWorld.Client otherClient = client();
        Lease[] other = new Lease[1];
        lease.startUse(interrupting(lease.loop(), () -> {
            world.runMs(TTL.toMillis());
            assertEquals(LeaseState.EXPIRED, lease.storedState());
            other[0] = lease(otherClient);
            acquire(LONG);
            world.runMs(10);
            return null;
        }));
        lease.close();
        world.runMs(10);
        assertEquals(LeaseState.ACQUIRING, lease.state());
        release(other[0]);
        world.runMs(10);
        assertEquals(LeaseState.HELD, lease.state());
        assertTrue(lease.isHeld());
        lease.close();
        assertFalse(lease.isHeld(), "closed");
        world.runMs(10);
    }
}
