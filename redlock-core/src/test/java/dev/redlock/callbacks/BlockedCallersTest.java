package dev.redlock.callbacks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.RedlockLock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads block on a lease while the thread of the test runs the event loop, step by step and in virtual time. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("jdk")
class BlockedCallersTest extends VirtualTest {

    private static final Duration LONGER = Duration.ofSeconds(20);

    private final List<BlockedCall<?>> calls = new ArrayList<>();

    private <T> BlockedCall<T> call(Callable<T> task) {
        BlockedCall<T> call = new BlockedCall<>(task);
        calls.add(call);
        return call;
    }

    @AfterEach
    void noCallIsLeft() throws InterruptedException {
        for (BlockedCall<?> call : calls) {
            call.awaitEnd();
        }
    }

    @Test
    void aBlockedAcquireIsWokenByItsOutcome() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        BlockedCall<AcquireOutcome> acquire = call(() -> client.redlock().acquire("orders", options())).awaitBlocked();
        world.runMs(5);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, acquire.result().kind(), "outcome");
        assertEquals(3, keyCount(), "keys");
    }

    @Test
    void aBlockedReleaseIsWokenByItsOutcome() throws InterruptedException {
        Lease lease = lease(world(3));
        BlockedCall<ReleaseOutcome> release = call(lease::release).awaitBlocked();
        assertEquals(LeaseState.HELD, lease.state(), "the loop has not taken the request");
        world.runMs(5);
        assertEquals(ReleaseOutcome.RELEASED, release.result(), "outcome");
        assertEquals(LeaseState.RELEASED, lease.state(), "state");
        assertEquals(0, keyCount(), "keys");
        assertEquals(ReleaseOutcome.RELEASED, call(lease::release).result(), "the outcome is returned again");
    }

    @Test
    void aBlockedExtendIsWokenByItsOutcome() throws InterruptedException {
        Lease lease = lease(world(3));
        BlockedCall<ExtendOutcome> extend = call(() -> lease.extend(LONGER)).awaitBlocked();
        world.runMs(5);
        assertEquals(ExtendOutcome.EXTENDED, extend.result(), "outcome");
        assertTrue(lease.remainingValidityNs() > TTL.toNanos(), "longer than the first ttl");
    }

    /** The lease has ended, and its release is sent later. */
    @Test
    void closeReturnsAtOnce() throws InterruptedException {
        Lease lease = lease(world(3));
        BlockedCall<LeaseState> close = call(() -> {
            lease.close();
            assertFalse(lease.isHeld());
            return lease.state();
        });
        assertEquals(LeaseState.RELEASING, close.result());
        assertEquals(3, keyCount(), "keys");
        world.runMs(5);
        assertEquals(LeaseState.RELEASED, lease.state());
        assertEquals(0, keyCount(), "keys");
    }

    /** The acquisition follows the release, so it waits where the caller can wait. */
    @Test
    void aClosedLeaseIsUsedAgainAfterItsRelease() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        Lease lease = client.redlock().newLease();
        List<AcquireOutcome.Kind> kinds = new ArrayList<>();
        client.redlock()
                .acquire(client.redlock().key("orders"), options(), lease, outcome -> kinds.add(outcome.kind()));
        world.runMs(5);
        BlockedCall<LeaseState> reuse = call(() -> {
            lease.close();
            client.redlock()
                    .acquire(client.redlock().key("orders"), options(), lease, outcome -> kinds.add(outcome.kind()));
            return lease.state();
        }).awaitBlocked();
        world.runMs(5);
        reuse.result();
        world.runMs(5);
        assertEquals(List.of(AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.ACQUIRED), kinds);
        assertTrue(lease.isHeld());
        lease.releaseAsync();
    }

    private VirtualWorld.Client waitingWorld() {
        world = new VirtualWorld(3);
        return client(context().closeWaits(true));
    }

    @Test
    void closeWaitsForTheRelease() throws InterruptedException {
        Lease lease = lease(waitingWorld());
        BlockedCall<LeaseState> close = call(() -> {
            lease.close();
            return lease.state();
        }).awaitBlocked();
        world.runMs(5);
        assertEquals(LeaseState.RELEASED, close.result(), "when close returned");
        assertEquals(0, keyCount(), "keys");
    }

    @Test
    void closeWaitsForAReleaseInProgress() throws InterruptedException {
        Lease lease = lease(waitingWorld());
        eachNode(node -> node.pause());
        var released = lease.releaseAsync().toCompletableFuture();
        assertEquals(LeaseState.RELEASING, lease.state(), "in progress");
        BlockedCall<LeaseState> close = call(() -> {
            lease.close();
            return lease.state();
        }).awaitBlocked();
        BlockedCall<ReleaseOutcome> release = call(lease::release).awaitBlocked(Thread.State.TIMED_WAITING);
        eachNode(node -> node.resume());
        world.runMs(5);
        assertEquals(LeaseState.RELEASED, close.result(), "when close returned");
        assertEquals(ReleaseOutcome.RELEASED, release.result(), "the second one has the outcome of the first");
        assertEquals(ReleaseOutcome.RELEASED, released.getNow(null), "the first one");
    }

    @Test
    void closeInAnotherThreadCancelsAnAcquisitionWithoutWaiting() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        Lease lease = client.redlock().newLease();
        List<AcquireOutcome.Kind> kinds = new ArrayList<>();
        eachNode(node -> node.pause());
        client.redlock()
                .acquire(client.redlock().key("orders"), options(), lease, outcome -> kinds.add(outcome.kind()));
        call(() -> {
            lease.close();
            return true;
        }).result();
        eachNode(node -> node.resume());
        world.runMs(100);
        assertEquals(List.of(AcquireOutcome.Kind.CANCELLED), kinds, "outcome");
        assertEquals(0, keyCount(), "rolled back");
    }

    @Test
    void closeOfAnIdleOrReleasedLeaseReturns() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        Lease idle = client.redlock().newLease();
        Lease released = lease(client);
        release(released);
        call(() -> {
            idle.close();
            released.close();
            return true;
        }).result();
        assertEquals(LeaseState.IDLE, idle.state(), "never used");
        assertEquals(ReleaseOutcome.EXPIRED, call(idle::release).result(), "nothing was held");
    }

    /** One field holds the first waiter; the second one polls. */
    @Test
    void twoBlockedCallersBothReturn() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        long sentBefore = client.redlock().counters().commandCount();
        BlockedCall<ReleaseOutcome> first = call(lease::release).awaitBlocked();
        BlockedCall<ReleaseOutcome> second = call(lease::release).awaitBlocked(Thread.State.TIMED_WAITING);
        world.runMs(5);
        assertEquals(ReleaseOutcome.RELEASED, first.result(), "the first");
        assertEquals(ReleaseOutcome.RELEASED, second.result(), "the second");
        assertEquals(3, client.redlock().counters().commandCount() - sentBefore, "one release to each node");
    }

    /** The second waiter does not take the place of the first, and the next one to block is the first again. */
    @Test
    void aLaterCallerIsWokenToo() throws InterruptedException {
        Lease lease = lease(world(3));
        for (int i = 0; i < 3; i++) {
            BlockedCall<ExtendOutcome> extend = call(() -> lease.extend(TTL)).awaitBlocked();
            world.runMs(5);
            assertEquals(ExtendOutcome.EXTENDED, extend.result(), "extension");
        }
        BlockedCall<ReleaseOutcome> release = call(lease::release).awaitBlocked();
        world.runMs(5);
        assertEquals(ReleaseOutcome.RELEASED, release.result(), "release");
    }

    /** The lease is being acquired again when the blocked thread reads its state. */
    @Test
    void aBlockedReleaseReturnsAlthoughACallbackUsesTheLeaseAgain() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        BlockedCall<ReleaseOutcome> release = call(lease::release).awaitBlocked();
        List<AcquireOutcome.Kind> kinds = new ArrayList<>();
        lease.release((released, outcome) -> client.redlock()
                .acquire(client.redlock().key("orders"), options(), released, next -> kinds.add(next.kind())));
        world.runMs(5);
        ReleaseOutcome outcome = release.result();
        assertTrue(outcome == ReleaseOutcome.RELEASED || outcome == ReleaseOutcome.UNKNOWN, outcome::name);
        assertEquals(List.of(AcquireOutcome.Kind.ACQUIRED), kinds, "the next use");
        assertTrue(lease.isHeld(), "the next use");
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    @Test
    void anInterruptDoesNotEndAReleaseAndIsKept() throws InterruptedException {
        Lease lease = lease(world(3));
        AtomicInteger interrupted = new AtomicInteger();
        BlockedCall<ReleaseOutcome> release = call(() -> {
            ReleaseOutcome outcome = lease.release();
            interrupted.set(Thread.interrupted() ? 1 : -1);
            return outcome;
        }).awaitBlocked();
        release.thread().interrupt();
        Await.until("the flag is cleared while the caller waits", () -> !release.thread().isInterrupted());
        release.awaitBlocked();
        world.runMs(5);
        assertEquals(ReleaseOutcome.RELEASED, release.result(), "outcome");
        assertEquals(1, interrupted.get(), "the flag is set again");
        BlockedCall<ExtendOutcome> extend = call(() -> {
            ExtendOutcome outcome = lease.extend(TTL);
            interrupted.set(Thread.interrupted() ? 1 : -1);
            return outcome;
        });
        Await.until("the request is there", () -> {
            world.runMs(1);
            return extend.isDone();
        });
        assertEquals(ExtendOutcome.NOT_HELD, extend.result(), "released");
        assertEquals(-1, interrupted.get(), "no interrupt");
    }

    @Test
    void anInterruptEndsAnAcquireAndRollsItBack() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        BlockedCall<String> acquire = call(() -> {
            InterruptedException thrown = assertThrows(InterruptedException.class,
                    () -> client.redlock().acquire("orders", options()));
            assertFalse(Thread.currentThread().isInterrupted(), "the exception replaces the flag");
            return thrown.getMessage();
        }).awaitBlocked();
        eachNode(node -> node.pause());
        world.settle();
        acquire.thread().interrupt();
        assertTrue(acquire.result().contains("rolled back"), "message");
        eachNode(node -> node.resume());
        world.runMs(100);
        assertEquals(0, keyCount(), "rolled back");
    }

    @Test
    void aThreadThatIsInterruptedBeforeTheCallSendsNothing() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        BlockedCall<Exception> acquire = call(() -> {
            Thread.currentThread().interrupt();
            return assertThrows(InterruptedException.class, () -> client.redlock().acquire("orders", options()));
        });
        assertInstanceOf(InterruptedException.class, acquire.result(), "thrown");
        world.runMs(5);
        assertEquals(0, keyCount(), "nothing was sent");
    }

    /** Virtual time stands still, so the caller spins until the outcome, and reads the clock meanwhile. */
    @Test
    void aSpinningCallerSeesItsOutcomeWithoutParking() throws InterruptedException {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().blockingSpin(Duration.ofMillis(1)));
        Lease lease = lease(client);
        AtomicInteger readCount = new AtomicInteger();
        client.clockListener(() -> {
            if (Thread.currentThread().getName().equals("caller")) {
                readCount.incrementAndGet();
            }
        });
        BlockedCall<ReleaseOutcome> release = call(lease::release);
        Await.until("it spins", () -> readCount.get() > 100);
        assertNotEquals(Thread.State.WAITING, release.thread().getState(), "not parked");
        world.runMs(1);
        assertEquals(ReleaseOutcome.RELEASED, release.result(), "outcome");
    }

    @Test
    void aCallerParksAfterItsSpin() throws InterruptedException {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().blockingSpin(Duration.ofMillis(1)));
        Lease lease = lease(client);
        AtomicInteger readCount = new AtomicInteger();
        client.clockListener(() -> {
            if (Thread.currentThread().getName().equals("caller")) {
                readCount.incrementAndGet();
            }
        });
        BlockedCall<ReleaseOutcome> release = call(lease::release);
        Await.until("it spins", () -> readCount.get() > 100);
        world.pass(1_000_000);
        int before = readCount.get();
        Await.until("it still spins at the end of its time", () -> readCount.get() > before + 100);
        world.pass(1);
        release.awaitBlocked();
        world.runMs(5);
        assertEquals(ReleaseOutcome.RELEASED, release.result(), "outcome");
    }

    /** The lease of the first thread expires, and another client takes the lock. */
    @Test
    void theTimeoutOfTryLockIncludesTheWaitForAThreadOfTheSameClient() throws InterruptedException {
        RedlockLock view = world(3).redlock().asLock("orders", options());
        CountDownLatch locked = new CountDownLatch(1);
        CountDownLatch unlocking = new CountDownLatch(1);
        BlockedCall<Integer> first = call(() -> {
            view.lock();
            locked.countDown();
            unlocking.await();
            view.unlock();
            return view.holdCount();
        }).awaitBlocked();
        world.runMs(5);
        assertTrue(locked.await(60, TimeUnit.SECONDS), "locked");
        BlockedCall<Boolean> second = call(() -> view.tryLock(60, TimeUnit.SECONDS))
                .awaitBlocked(Thread.State.TIMED_WAITING);
        world.runMs(50_000);
        eachNode(node -> node.redis().set("orders", "of another client", 100_000));
        unlocking.countDown();
        assertEquals(0, first.result(), "unlocked");
        second.awaitBlocked();
        world.runMs(9_000);
        assertFalse(second.isDone(), "it waits for the other client");
        world.runMs(2_000);
        assertEquals(false, second.result(), "60 seconds in all");
    }

    /** Both requests of two threads wait for the same turn: the extension runs first, then the release ends it. */
    @Test
    void requestsOfTwoThreadsRunInOneTurn() throws InterruptedException {
        Lease lease = lease(world(3));
        BlockedCall<ReleaseOutcome> release = call(lease::release).awaitBlocked();
        BlockedCall<ExtendOutcome> extend = call(() -> lease.extend(LONGER)).awaitBlocked(Thread.State.TIMED_WAITING);
        world.runMs(5);
        assertEquals(ReleaseOutcome.RELEASED, release.result(), "release");
        assertEquals(ExtendOutcome.NOT_HELD, extend.result(), "extension");
        assertEquals(0, keyCount(), "keys");
    }

    @Test
    void aRequestThatIsNotTakenYetIsInProgress() throws InterruptedException {
        Lease lease = lease(world(3));
        BlockedCall<ExtendOutcome> first = call(() -> lease.extend(LONGER)).awaitBlocked();
        assertThrows(IllegalStateException.class, () -> lease.extendAsync(TTL), "a second extension");
        world.runMs(5);
        assertEquals(ExtendOutcome.EXTENDED, first.result(), "the first one is unchanged");
        assertTrue(lease.remainingValidityNs() > TTL.toNanos(), "by its own ttl");
    }
}
