package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.LockKey;
import dev.redlock.quorum.Majority;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import dev.redlock.time.NanoClock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The steps of callers of a retained lock, one between those of another. */
class RetainedLeaseTest extends VirtualTest {

    private static final long ROUNDS_NS = 3_000_000_000L;
    private static final int CYCLES = 2_000;
    private static final int RACES = 1_000;
    private static final int NOT_ENDED = -1;

    private VirtualWorld.Client client;
    private LockEngine engine;
    private LockKey key;
    private RetainedLease entry;

    private static AcquireSpec retaining() {
        AcquireSpec spec = new AcquireSpec(TTL.toMillis());
        spec.retainNsMax = TTL.toNanos();
        return spec;
    }

    private LeaseHandle acquired() {
        LeaseHandle lease = engine.newLease();
        engine.acquire(lease, key, retaining(), 0, null);
        world.runMs(1);
        assertEquals(LeaseState.HELD, lease.state());
        return lease;
    }

    private void retained() {
        client = slowWorld(3);
        engine = client.engine().engine().lockEngine();
        key = engine.key("orders");
        LeaseHandle lease = acquired();
        lease.release((released, outcome) -> {
        });
        world.runMs(1);
        assertEquals(ReleaseOutcome.RETAINED, lease.releaseOutcome);
        LeaseHandle local = acquired();
        entry = (RetainedLease) local.loop();
        local.close();
        assertEquals(RetainedLease.FREE, entry.state());
    }

    @Test
    void aLocalCycleAllocatesNothing() {
        retained();
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        AcquireSpec spec = retaining();
        LeaseHandle lease = engine.newLease();
        long best = Long.MAX_VALUE;
        for (int i = 0; i < 20; i++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int j = 0; j < CYCLES; j++) {
                engine.acquire(lease, key, spec, 0, null);
                lease.close();
            }
            best = Math.min(best, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertEquals(RetainedLease.FREE, entry.state());
        assertTrue(best < CYCLES, best + " bytes in " + CYCLES + " cycles");
    }

    /** A caller has reserved the handle, and submitted no request yet. */
    @Test
    void aCancellationBetweenTheStepsOfAnAcquisitionIsNotLost() {
        retained();
        LeaseHandle lease = acquiring();
        LeaseLoop conductor = lease.loop();
        client.engine().execute(lease::cancel);
        client.engine().execute(() -> assertTrue(conductor.grant(lease)));
        world.runMs(1);
        assertEquals(LeaseState.RELEASED, lease.state());
        assertEquals(RetainedLease.FREE, entry.state());
    }

    /** The event loop ends the lock while a caller is between its steps, and then the caller has no lock. */
    @Test
    void aGrantThatIsNotCompleteDoesNotCount() throws Exception {
        retained();
        long before = client.redlock().counters().localGrantCount();
        VarHandle word = MethodHandles.privateLookupIn(RetainedLease.class, MethodHandles.lookup())
                .findVarHandle(RetainedLease.class, "word", long.class);
        word.setVolatile(entry, (entry.grantCount() + 1 << 3) + RetainedLease.GRANTING);
        client.engine().execute(() -> client.engine().engine().retainedLocks().onNodeLost());
        world.runMs(5);
        assertEquals(RetainedLease.ENDED, entry.state());
        assertEquals(before, client.redlock().counters().localGrantCount());
    }

    /** A second thread cancels the first use, while the event loop is about to look at it and the next use begins. */
    @Test
    void aCancellationOfAnEarlierUseEndsNoLaterOne() {
        retained();
        LeaseHandle lease = acquired();
        lease.cancelledUse = lease.useCount();
        assertTrue(lease.loop().retainAgain(lease));
        LockKey next = engine.key("next");
        Conductor conductor = engine.conductorOf(next);
        LeaseLoop racing = (LeaseLoop) Proxy.newProxyInstance(LeaseLoop.class.getClassLoader(),
                new Class<?>[]{LeaseLoop.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("grant")) {
                        lease.startUse(conductor);
                        conductor.execute(lease, RequestMailbox.CANCEL);
                        return false;
                    }
                    return method.invoke(conductor, arguments);
                });
        lease.start(racing, next, lease.spec, lease.times, 0, null);
        world.runMs(5);
        assertEquals(LeaseState.HELD, lease.state());
    }

    /** A request of an earlier use of the handle must not end a later one. */
    @Test
    void aLateRequestOfAnEarlierUseEndsNoLaterOne() {
        retained();
        LeaseHandle lease = engine.newLease();
        engine.acquire(lease, key, retaining(), 0, null);
        assertTrue(lease.isHeld());
        client.engine().execute(() -> {
            entry.execute(lease, RequestMailbox.RELEASE);
            entry.execute(lease, RequestMailbox.CANCEL);
        });
        world.runMs(1);
        assertTrue(lease.isHeld());
    }

    @Test
    void aSecondReleaseBetweenTheStepsOfTheFirstOneGetsItsOutcome() {
        assertSecondReleaseWaits(false);
    }

    /** If it did not wait for the last store, that store would undo the next use of the handle. */
    @Test
    void aSecondReleaseWaitsForTheLastStoreOfTheFirstOne() {
        assertSecondReleaseWaits(true);
    }

    private void assertSecondReleaseWaits(boolean isOutcomeStored) {
        retained();
        LeaseHandle lease = acquired();
        assertEquals(lease, entry.take(lease));
        entry.open();
        assertTrue(lease.startReturn());
        if (isOutcomeStored) {
            LeaseHandle.RELEASE_OUTCOME.setRelease(lease, ReleaseOutcome.RETAINED);
        }
        AtomicReference<ReleaseOutcome> second = new AtomicReference<>();
        AtomicReference<ReleaseOutcome> before = new AtomicReference<>();
        lease.releaseCallback = (released, outcome) -> second.set(outcome);
        client.engine().execute(() -> {
            entry.execute(lease, RequestMailbox.RELEASE);
            before.set(second.get());
            lease.endReturn();
        });
        world.runMs(1);
        assertEquals(null, before.get());
        assertEquals(ReleaseOutcome.RETAINED, second.get());
    }

    private static Claim claim() {
        return new Claim(null, null, Majority.of(3), new byte[0], 3);
    }

    /** The caller returns the lock between two steps of the event loop: its outcome comes in a moment. */
    @Test
    @Timeout(60)
    void aReleaseThatMeetsAReturnDoesNotSayThatTheLeaseHasExpired() throws InterruptedException {
        retained();
        AtomicReference<LeaseHandle> shared = new AtomicReference<>();
        AtomicReference<LeaseHandle> executed = new AtomicReference<>();
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicBoolean isExpired = new AtomicBoolean();
        NanoClock clock = world::nowNs;
        LeaseLoop loop = (LeaseLoop) Proxy.newProxyInstance(LeaseLoop.class.getClassLoader(),
                new Class<?>[]{LeaseLoop.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("execute") && arguments[0] instanceof LeaseHandle lease) {
                        isExpired.compareAndSet(false, lease.releaseOutcome == null);
                    }
                    return method.getName().equals("clock") ? clock : null;
                });
        RetainedLease raced = RetainedLease.create(client.engine().engine().retainedLocks(), loop, acquiring(),
                claim());
        raced.validUntilNs = world.nowNs() + TTL.toNanos();
        raced.grantUntilNs = raced.validUntilNs;
        raced.open();
        Thread loopThread = new Thread(() -> {
            while (!isOver.get()) {
                LeaseHandle lease = shared.get();
                if (lease != null && lease != executed.get()) {
                    raced.execute(lease, RequestMailbox.RELEASE);
                    executed.set(lease);
                }
            }
        });
        loopThread.start();
        long endNs = System.nanoTime() + ROUNDS_NS;
        for (int i = 0; !isExpired.get() && System.nanoTime() < endNs; i++) {
            LeaseHandle lease = acquiring();
            lease.releaseCallback = (released, outcome) -> {
            };
            assertTrue(raced.grant(lease));
            lease.completeGrant();
            shared.set(lease);
            for (int spins = i % 64; spins > 0; spins--) {
                Thread.onSpinWait();
            }
            raced.retainAgain(lease);
            while (executed.get() != lease) {
                Thread.onSpinWait();
            }
        }
        isOver.set(true);
        loopThread.join();
        assertFalse(isExpired.get());
    }

    /** The clock is read between the word and its change: then the lock gets another holder, and a shorter validity. */
    @Test
    void aGrantUsesTheTimesOfTheStateThatItHasRead() {
        retained();
        AtomicReference<Runnable> atClock = new AtomicReference<>(() -> {
        });
        NanoClock clock = () -> {
            atClock.getAndSet(() -> {
            }).run();
            return world.nowNs();
        };
        RetainedLease raced = raced(clock);
        LeaseHandle other = acquiring();
        atClock.set(() -> {
            assertTrue(raced.grant(other));
            assertEquals(other, raced.take(other));
            raced.validUntilNs -= TTL.toNanos() / 2;
            raced.open();
        });
        assertFalse(raced.grant(acquiring()), "until a time that it read before");
        LeaseHandle next = acquiring();
        assertTrue(raced.grant(next));
        assertEquals(raced.validUntilNs, next.validUntilNs);
    }

    /** A lock that is free, of no event loop. */
    private RetainedLease raced(NanoClock clock) {
        LeaseLoop loop = (LeaseLoop) Proxy.newProxyInstance(LeaseLoop.class.getClassLoader(),
                new Class<?>[]{LeaseLoop.class}, (proxy, method, arguments) -> clock);
        RetainedLease raced = RetainedLease.create(null, loop, acquiring(), claim());
        raced.validUntilNs = world.nowNs() + TTL.toNanos();
        raced.grantUntilNs = raced.validUntilNs;
        raced.open();
        return raced;
    }

    /** Its thread may pause between two readings of the clock. */
    @Test
    void aGrantIsValidUntilAnAbsoluteTime() {
        retained();
        AtomicLong pausedNs = new AtomicLong();
        RetainedLease raced = raced(() -> world.nowNs() + pausedNs.getAndAdd(1_000_000));
        LeaseHandle lease = acquiring();
        assertTrue(raced.grant(lease));
        assertEquals(raced.validUntilNs, lease.validUntilNs);
    }

    /** The clock is read between the word and its change. */
    @Test
    void aLockThatEndsBetweenTheStepsOfACallerHasNoLaterHolder() {
        retained();
        AtomicReference<Runnable> atClock = new AtomicReference<>(() -> {
        });
        NanoClock clock = () -> {
            atClock.get().run();
            return world.nowNs();
        };
        RetainedLease free = raced(clock);
        atClock.set(free::end);
        assertFalse(free.grant(acquiring()));
        assertEquals(RetainedLease.ENDED, free.state());

        atClock.set(() -> {
        });
        RetainedLease held = raced(clock);
        LeaseHandle holder = acquiring();
        assertTrue(held.grant(holder));
        holder.completeGrant();
        atClock.set(held::end);
        assertFalse(held.retainAgain(holder), "its claim is released");
        assertEquals(RetainedLease.ENDED, held.state());
    }

    /** The event loop ends a lock that a caller takes and returns: both see the same last step of the caller. */
    @Test
    @Timeout(60)
    void anEndBetweenTheStepsOfACallerComesBeforeOrAfterEach() throws InterruptedException {
        retained();
        AtomicReference<RetainedLease> shared = new AtomicReference<>();
        AtomicInteger before = new AtomicInteger();
        AtomicBoolean isOver = new AtomicBoolean();
        Thread loopThread = new Thread(() -> {
            RetainedLease last = null;
            for (int i = 0; !isOver.get();) {
                RetainedLease next = shared.get();
                if (next != last) {
                    last = next;
                    for (int spins = ++i % 64; spins > 0; spins--) {
                        Thread.onSpinWait();
                    }
                    before.set(next.end());
                }
            }
        });
        loopThread.start();
        LeaseHandle lease = acquiring();
        String wrong = "";
        for (int i = 0; wrong.isEmpty() && i < RACES; i++) {
            RetainedLease raced = raced(world::nowNs);
            before.set(NOT_ENDED);
            shared.set(raced);
            wrong = race(raced, lease, before);
        }
        isOver.set(true);
        loopThread.join();
        assertEquals("", wrong);
    }

    private static String race(RetainedLease raced, LeaseHandle lease, AtomicInteger before) {
        boolean isHeld;
        do {
            lease.setState(LeaseState.ACQUIRING);
            boolean hasEnded = before.get() != NOT_ENDED;
            isHeld = raced.grant(lease);
            if (isHeld && hasEnded) {
                return "granted after the end";
            }
            lease.completeGrant();
        } while (isHeld && raced.retainAgain(lease));
        while (before.get() == NOT_ENDED) {
            Thread.onSpinWait();
        }
        // Then the holder has the claim; otherwise the nodes get its release.
        boolean isGivenToHolder = before.get() >= RetainedLease.HELD;
        return isGivenToHolder == isHeld ? "" : "held " + isHeld + ", ended in state " + before.get();
    }

    private LeaseHandle acquiring() {
        LeaseHandle lease = engine.newLease();
        lease.key = key;
        lease.spec = retaining();
        lease.times = engine.config.terms().timesOf(lease.spec);
        lease.startUse(engine.conductorOf(key));
        lease.setState(LeaseState.ACQUIRING);
        return lease;
    }

    /** The event loop delivers a local grant while its blocked caller takes and returns the lock. */
    @Test
    @Timeout(60)
    void aReleasedLeaseStaysReleasedWhileItsGrantIsDelivered() throws InterruptedException {
        AtomicReference<LeaseHandle> shared = new AtomicReference<>();
        AtomicReference<LeaseHandle> delivered = new AtomicReference<>();
        AtomicBoolean isOver = new AtomicBoolean();
        Thread loop = new Thread(() -> {
            while (!isOver.get()) {
                LeaseHandle lease = shared.get();
                if (lease != null && lease != delivered.get()) {
                    lease.deliver();
                    delivered.set(lease);
                }
            }
        });
        loop.start();
        long endNs = System.nanoTime() + ROUNDS_NS;
        LeaseState last = LeaseState.RELEASED;
        while (last == LeaseState.RELEASED && System.nanoTime() < endNs) {
            LeaseHandle lease = new LeaseHandle(null);
            lease.kind = AcquireOutcome.Kind.ACQUIRED;
            lease.setState(LeaseState.ACQUIRING);
            shared.set(lease);
            while (lease.state == LeaseState.ACQUIRING) {
                Thread.onSpinWait();
            }
            assertTrue(lease.startReturn());
            lease.endReturn();
            while (delivered.get() != lease) {
                Thread.onSpinWait();
            }
            last = lease.storedState();
        }
        isOver.set(true);
        loop.join();
        assertEquals(LeaseState.RELEASED, last);
    }

    /** A second thread has read HELD in {@code holdAtLeast()} before the first one released. */
    @Test
    void aHoldThatComesWhileAReleaseWaitsForAnswersChangesNothing() {
        client = slowWorld(3);
        engine = client.engine().engine().lockEngine();
        key = engine.key("beta");
        LeaseHandle other = acquired();
        key = engine.key("orders");
        node(2).delay(() -> 20_000_000);
        LeaseHandle lease = acquired();
        AtomicReference<ReleaseOutcome> outcome = new AtomicReference<>();
        lease.release((released, reported) -> outcome.set(reported));
        world.runUntilNs(world.nowNs() + 50_000);
        assertEquals(LeaseState.RELEASING, lease.state());
        lease.holdUntilNs = world.nowNs() + TTL.toNanos() / 2;
        lease.submit(RequestMailbox.HOLD);
        lease.submit(RequestMailbox.RELEASE);
        world.runMs(100);
        assertEquals(ReleaseOutcome.RETAINED, outcome.get());
        assertTrue(other.isHeld());
        assertEquals(2, client.engine().engine().heldCount());
    }

    @Test
    void aPeakOfRetainedLocksLeavesNoMemoryBehind() {
        world(3);
        client = client();
        engine = client.engine().engine().lockEngine();
        LeaseHandle lease = engine.newLease();
        for (int i = 0; i < 5_000; i++) {
            key = engine.key("orders/" + i);
            engine.acquire(lease, key, retaining(), 0, null);
            world.settle();
            lease.release((released, outcome) -> {
            });
            world.settle();
        }
        RetainedLocks room = (RetainedLocks) engine.conductorOf(key).keeper.retention;
        assertTrue(room.byName.capacity() > WaitQueues.TRIM_CAPACITY_MIN);
        world.runMs(TTL.toMillis() + 10_000);
        assertEquals(0, room.count);
        assertEquals(WaitQueues.TRIM_CAPACITY_MIN, room.byName.capacity());
    }
}
