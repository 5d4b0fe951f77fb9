package dev.redlock.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RedlockLock;
import dev.redlock.RedlockReadWriteLock;
import dev.redlock.RedlockSemaphore;
import dev.redlock.TestClient;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.Await;
import dev.redlock.testing.Refusal;
import dev.redlock.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** The {@link java.util.concurrent.locks.Lock} view: the contract of that interface, and every wrong use of it. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class RedlockLockTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(20)).tryOnce();

    private static final AtomicInteger SEEDS = new AtomicInteger();
    private static LiveNodes nodes;
    private final List<Redlock> clients = new ArrayList<>();
    private RedlockLock view;
    private Redlock redlock;

    @BeforeAll
    static void startNodes() {
        nodes = new LiveNodes(3);
    }

    @AfterAll
    static void stopNodes() {
        nodes.close();
    }

    @BeforeEach
    void open() {
        redlock = client();
        view = redlock.asLock("orders", OPTIONS);
    }

    @AfterEach
    void close() {
        clients.forEach(Redlock::close);
    }

    private Redlock client() {
        TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses())
                .nodeTimeout(Duration.ofSeconds(2)), nodes.clientLoop(), nodes.newTransport(), NanoClock.system(),
                // A seed for tokens: clients with the same seed would take each other's locks for their own.
                SEEDS.incrementAndGet());
        client.open().join();
        clients.add(client.redlock());
        return client.redlock();
    }

    private int keyCount() {
        int count = 0;
        for (int i = 0; i < 3; i++) {
            count += nodes.access(i).get("orders") == null ? 0 : 1;
        }
        return count;
    }

    private static <T> T inAnotherThread(Callable<T> task) throws Exception {
        return started(task).get();
    }

    private static <T> Running<T> started(Callable<T> task) {
        FutureTask<T> future = new FutureTask<>(task);
        Thread thread = new Thread(future, "another");
        thread.start();
        return new Running<>(thread, future);
    }

    private record Running<T>(Thread thread, FutureTask<T> future) {
        T get() throws Exception {
            return future.get(30, TimeUnit.SECONDS);
        }

        void awaitParked() {
            Await.until("it waits", () -> thread.getState() == Thread.State.WAITING
                    || thread.getState() == Thread.State.TIMED_WAITING);
        }
    }

    // ---- holding ----------------------------------------------------------------------------------------------------

    @Test
    void theLockIsReentrantAndTheLastUnlockReleases() throws Exception {
        view.lock();
        Lease lease = view.lease();
        view.lock();
        assertTrue(view.tryLock());
        assertTrue(view.tryLock(1, TimeUnit.SECONDS));
        view.lockInterruptibly();
        assertEquals(5, view.holdCount());
        assertEquals(lease, view.lease(), "one lease for all holds");
        for (int i = 4; i > 0; i--) {
            view.unlock();
            assertEquals(i, view.holdCount());
            assertTrue(view.isHeldByCurrentThread());
            assertEquals(false, inAnotherThread(() -> view.tryLock()), "still locked");
        }
        view.unlock();
        assertEquals(0, view.holdCount());
        assertFalse(view.isHeldByCurrentThread());
        Await.until("released", () -> keyCount() == 0);
        assertEquals(true, inAnotherThread(() -> {
            boolean isTaken = view.tryLock();
            view.unlock();
            return isTaken;
        }), "free for others");
    }

    @Test
    void viewsOfOneResourceShareTheirHold() throws Exception {
        RedlockLock other = redlock.asLock("orders", OPTIONS);
        view.lock();
        other.lock();
        assertEquals(2, view.holdCount(), "entered again through the other view");
        assertEquals(view.lease(), other.lease(), "one lease");
        assertEquals(false, inAnotherThread(() -> redlock.asLock("orders", OPTIONS).tryLock()), "another thread");
        view.unlock();
        assertTrue(other.isHeldByCurrentThread(), "one hold is left");
        other.unlock();
        assertFalse(view.isHeldByCurrentThread());
        Await.until("released", () -> keyCount() == 0);
    }

    @Test
    void holdCountsBelongToOneThread() throws Exception {
        view.lock();
        assertEquals(0, inAnotherThread(() -> view.holdCount()));
        assertEquals(false, inAnotherThread(() -> view.isHeldByCurrentThread()));
        assertEquals(false, inAnotherThread(() -> view.tryLock()));
        assertEquals(false, inAnotherThread(() -> view.tryLock(20, TimeUnit.MILLISECONDS)));
        assertFalse(client().asLock("orders", OPTIONS).tryLock(), "a view of another client is another lock");
        view.unlock();
    }

    @Test
    void threadsOfOneViewAndOfTwoClientsNeverHoldTheLockTogether() throws Exception {
        RedlockLock other = client().asLock("orders", OPTIONS);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger turns = new AtomicInteger();
        List<Running<Void>> all = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            RedlockLock mine = i % 2 == 0 ? view : other;
            all.add(started(() -> {
                for (int turn = 0; turn < 5; turn++) {
                    mine.lock();
                    try {
                        assertEquals(1, inside.incrementAndGet(), "alone");
                        turns.incrementAndGet();
                        inside.decrementAndGet();
                    } finally {
                        mine.unlock();
                    }
                }
                return null;
            }));
        }
        for (Running<Void> each : all) {
            each.get();
        }
        assertEquals(30, turns.get());
    }

    // ---- waiting ----------------------------------------------------------------------------------------------------

    @Test
    void tryLockDoesNotWait() throws Exception {
        try (Lease held = client().tryAcquire("orders", Duration.ofSeconds(20)).lease()) {
            assertTrue(held.isHeld());
            assertFalse(view.tryLock());
            assertEquals(1, redlock.counters().contendedAttemptCount(), "one attempt, no second one");
            assertEquals(0, view.holdCount());
        }
    }

    @Test
    void tryLockWaitsForItsTimeout() throws Exception {
        try (Lease held = client().tryAcquire("orders", Duration.ofSeconds(20)).lease()) {
            assertTrue(held.isHeld());
            long startNs = System.nanoTime();
            assertFalse(view.tryLock(80, TimeUnit.MILLISECONDS));
            assertTrue(System.nanoTime() - startNs >= 80_000_000);
            assertFalse(view.tryLock(-1, TimeUnit.SECONDS), "no time is one attempt");
        }
    }

    @Test
    void lockWaitsUntilItSucceedsDespiteInterrupts() throws Exception {
        Lease held = client().tryAcquire("orders", Duration.ofSeconds(20)).lease();
        AtomicBoolean isIn = new AtomicBoolean();
        Running<Boolean> waiting = started(() -> {
            view.lock();
            isIn.set(view.isHeldByCurrentThread());
            boolean isInterrupted = Thread.interrupted();
            view.unlock();
            return isInterrupted;
        });
        waiting.awaitParked();
        waiting.thread().interrupt();
        Await.until("it has tried again", () -> redlock.counters().contendedAttemptCount() > 2);
        assertFalse(isIn.get(), "an interrupt does not give the lock");
        held.release();
        assertTrue(waiting.get(), "the interrupt stays set");
        assertTrue(isIn.get(), "and finally it got the lock");
    }

    @Test
    void anInterruptStaysSetIfTheWaitEndsWithAnException() throws Exception {
        AcquireOptions permit = AcquireOptions.ofTtl(Duration.ofSeconds(20)).forPermitOf(1);
        assertTrue(client().tryAcquire("orders", Duration.ofSeconds(20)).isAcquired());
        assertTrue(client().acquire("permits", permit).isAcquired());
        RedlockSemaphore semaphore = redlock.asSemaphore("permits", 1, OPTIONS);
        List<Running<Boolean>> waits = List.of(interruptedAfterFailure(view::lock),
                interruptedAfterFailure(semaphore::acquireUninterruptibly));
        for (Running<Boolean> wait : waits) {
            wait.awaitParked();
            wait.thread().interrupt();
            Await.until("it has seen the interrupt", () -> !wait.thread().isInterrupted());
            wait.awaitParked();
        }
        redlock.close();
        for (Running<Boolean> wait : waits) {
            assertTrue(wait.get(), "the interrupt stays set");
        }
    }

    private static Running<Boolean> interruptedAfterFailure(Executable call) {
        return started(() -> {
            assertThrows(LockNotAcquiredException.class, call);
            return Thread.interrupted();
        });
    }

    @Test
    void lockInterruptiblyThrowsAtAnInterrupt() throws Exception {
        Lease held = client().tryAcquire("orders", Duration.ofSeconds(20)).lease();
        Running<String> waiting = started(() -> {
            try {
                view.lockInterruptibly();
                return "locked";
            } catch (InterruptedException e) {
                return "interrupted, holds " + view.holdCount() + ", flag " + Thread.currentThread().isInterrupted();
            }
        });
        waiting.awaitParked();
        waiting.thread().interrupt();
        assertEquals("interrupted, holds 0, flag false", waiting.get());
        held.release();
        Await.until("nothing is left", () -> keyCount() == 0);
        assertTrue(view.tryLock(), "and the view is free");
        view.unlock();
    }

    @Test
    void aPendingInterruptPreventsTheLock() throws Exception {
        assertEquals("refused, interrupted true", inAnotherThread(() -> {
            Thread.currentThread().interrupt();
            return (view.tryLock() ? "locked" : "refused") + ", interrupted " + Thread.interrupted();
        }));
        assertThrows(InterruptedException.class, () -> interrupted(view::lockInterruptibly));
        assertThrows(InterruptedException.class, () -> interrupted(() -> view.tryLock(1, TimeUnit.SECONDS)));
        assertEquals(0, view.holdCount());
        assertEquals(0, keyCount(), "no node has a key");
    }

    private static void interrupted(Waiting call) throws InterruptedException {
        Thread.currentThread().interrupt();
        try {
            call.run();
        } finally {
            Thread.interrupted();
        }
    }

    /** A call that an interrupt may end. */
    @FunctionalInterface
    private interface Waiting {
        void run() throws InterruptedException;
    }

    // ---- losing -----------------------------------------------------------------------------------------------------

    @Test
    void unlockDoesNotThrowAfterTheLeaseHasExpired() {
        RedlockLock brief = redlock.asLock("brief", AcquireOptions.ofTtl(Duration.ofMillis(300)).tryOnce());
        brief.lock();
        Await.until("expired", () -> brief.lease().state() == LeaseState.EXPIRED);
        assertEquals(1, brief.holdCount(), "the thread still has its hold count, although the lock is gone");
        Refusal.ofState("the lease of \"brief\" was lost while this thread held the lock: unlock and start over; "
                + brief.lease(), brief::lock);
        brief.unlock();
        assertEquals(0, brief.holdCount());
        brief.lock();
        assertTrue(brief.isHeldByCurrentThread(), "it can be locked again");
        brief.unlock();
    }

    private void loseLease(RedlockLock lock) {
        for (int i = 0; i < 3; i++) {
            nodes.access(i).delete("orders");
        }
        lock.lease().extend(Duration.ofSeconds(20));
        assertEquals(LeaseState.LOST, lock.lease().state());
    }

    /** The loop of a leader that asks with tryLock whether it still leads, and forgets the lock when it does not. */
    @Test
    void tryLockLeadsAgainAfterALoss() throws Exception {
        for (int term = 0; term < 3; term++) {
            assertTrue(view.tryLock(1, TimeUnit.SECONDS), "leads");
            assertTrue(view.tryLock(1, TimeUnit.SECONDS), "still leads");
            view.unlock();
            Lease lost = view.lease();
            loseLease(view);
            assertFalse(term == 1 ? view.tryLock() : view.tryLock(1, TimeUnit.SECONDS), "once");
            assertEquals(0, view.holdCount(), "its hold has ended");
            Await.until("nothing is acquired within the call", () -> keyCount() == 0);
            assertTrue(view.tryLock(1, TimeUnit.SECONDS), "leads again");
            assertFalse(lost == view.lease() || lost.isHeld(), "by another lease");
            assertEquals(false, inAnotherThread(() -> view.tryLock()), "alone");
            view.unlock();
            assertEquals(true, inAnotherThread(() -> {
                boolean isTaken = view.tryLock();
                view.unlock();
                return isTaken;
            }), "any thread may lead after the loss");
        }
    }

    /** Code with several holds must not end with an exception that hides the one of its critical section. */
    @Test
    void holdsThatTryLockHasEndedMayBeUnlocked() throws Exception {
        view.lock();
        view.lock();
        loseLease(view);
        assertFalse(view.tryLock());
        assertTrue(view.tryLock(), "a new hold");
        assertEquals(1, view.holdCount());
        view.unlock();
        assertEquals(0, view.holdCount());
        inAnotherThread(() -> assertThrows(IllegalMonitorStateException.class, view::unlock, "not its hold"));
        redlock.asLock("orders", OPTIONS).unlock();
        view.unlock();
        assertThrows(IllegalMonitorStateException.class, view::unlock, "one unlock too many");
    }

    @Test
    void readersAndWritersEndLostHoldsToo() throws Exception {
        RedlockReadWriteLock both = redlock.asReadWriteLock("orders", OPTIONS);
        both.writeLock().lock();
        both.readLock().lock();
        for (int i = 0; i < 3; i++) {
            nodes.access(i).delete("orders");
        }
        both.lease().extend(Duration.ofSeconds(20));
        assertFalse(both.readLock().tryLock());
        assertTrue(both.readLock().tryLock(1, TimeUnit.SECONDS), "a reader now");
        assertEquals(true, inAnotherThread(() -> {
            boolean isTaken = both.readLock().tryLock();
            both.readLock().unlock();
            return isTaken;
        }), "beside another one");
        both.readLock().unlock();
        both.readLock().unlock();
        both.writeLock().unlock();
        assertThrows(IllegalMonitorStateException.class, () -> both.writeLock().unlock());
    }

    // ---- wrong use --------------------------------------------------------------------------------------------------

    @Test
    void onlyTheThreadThatLockedMayUnlock() throws Exception {
        String mine = Thread.currentThread().getName();
        assertEquals("\"orders\" is not locked by thread " + mine + ": only the thread that locked it may unlock it",
                assertThrows(IllegalMonitorStateException.class, view::unlock).getMessage());
        view.lock();
        assertEquals("\"orders\" is not locked by thread another: only the thread that locked it may unlock it",
                inAnotherThread(() -> assertThrows(IllegalMonitorStateException.class, view::unlock).getMessage()));
        assertTrue(view.isHeldByCurrentThread(), "still held");
        view.unlock();
        assertThrows(IllegalMonitorStateException.class, view::unlock, "one unlock too many");
    }

    @Test
    void leaseIsAvailableToTheHolderOnly() throws Exception {
        String message = "\"orders\" is not locked by this thread, it has no lease";
        assertEquals(message, assertThrows(IllegalMonitorStateException.class, view::lease).getMessage());
        view.lock();
        assertEquals(message,
                inAnotherThread(() -> assertThrows(IllegalMonitorStateException.class, view::lease).getMessage()));
        assertTrue(view.lease().isHeld());
        view.unlock();
    }

    @Test
    void newConditionThrowsUnsupportedOperation() {
        assertEquals("a distributed lock has no conditions: wait for changes at the resource itself",
                assertThrows(UnsupportedOperationException.class, view::newCondition).getMessage());
    }

    @Test
    void nullUnitsAreRejected() {
        Refusal.ofNull("time unit is null: say what the time is counted in", () -> view.tryLock(1, null));
        assertEquals(0, view.holdCount());
    }

    @Test
    void blockingCallsOnTheEventLoopThrowAndHoldNothing() throws Exception {
        String message = nodes.clientLoop()
                .submit(() -> assertThrows(IllegalStateException.class, view::lock).getMessage())
                .get();
        assertTrue(message.contains("event loop"), message);
        assertTrue(view.tryLock(), "nothing is held");
        view.unlock();
    }

    @Test
    void noCallHangsAfterTheClientHasClosed() {
        view.lock();
        redlock.close();
        assertFalse(view.isHeldByCurrentThread(), "close has released it");
        view.unlock();
        Refusal.ofState("\"orders\" cannot be locked: " + AcquireOutcome.Kind.CLOSED.advice(), view::lock);
        Refusal.ofState("\"orders\" cannot be locked: " + AcquireOutcome.Kind.CLOSED.advice(), view::lockInterruptibly);
        assertFalse(view.tryLock());
        assertEquals(0, view.holdCount());
    }

    @Test
    void toStringShowsWhetherThisProcessHoldsTheLock() {
        assertEquals("RedlockLock{orders, not locked in this process}", view.toString());
        view.lock();
        assertEquals("RedlockLock{orders, locked in this process}", view.toString());
        view.unlock();
    }

    /** A thread whose hash code cannot be computed, as the map of the holds needs it. */
    private static final class HostileThread extends Thread {

        private static final RuntimeException THROWN = new IllegalStateException("thrown by a test");
        private final Executable call;
        private volatile Throwable thrown;

        HostileThread(Executable call) {
            this.call = call;
        }

        @Override
        public void run() {
            try {
                call.execute();
            } catch (Throwable e) {
                thrown = e;
            }
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            throw THROWN;
        }
    }

    private void assertLeavesNoLease(Executable call) throws InterruptedException {
        HostileThread thread = new HostileThread(call);
        thread.start();
        thread.join(30_000);
        assertSame(HostileThread.THROWN, thread.thrown);
        Await.until("no lease is held", () -> redlock.counters().heldCount() == 0);
    }

    /** The client would extend a lease that nobody has until it closes. */
    @Test
    void aLeaseThatCannotBeStoredIsReleased() throws InterruptedException {
        AcquireOptions options = OPTIONS.autoExtend();
        assertLeavesNoLease(() -> redlock.asLock("r", options).tryLock());
        assertLeavesNoLease(() -> redlock.asLock("r", options).lock());
        assertLeavesNoLease(() -> redlock.asSemaphore("s", 1, options).tryAcquire());
        RedlockLock other = redlock.asLock("r", options);
        assertTrue(other.tryLock(), "the local lock is free too");
        other.unlock();
    }
}
