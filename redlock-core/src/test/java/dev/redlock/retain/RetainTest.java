package dev.redlock.retain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.ResourceKey;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.RetentionEnd;
import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.LeaseHandle;
import dev.redlock.engine.key.LockKey;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Locks that the client retains after their release, for its own next acquisition. */
class RetainTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    private static final String QUEUE = KeyText.counterName("orders") + ":queue";
    private static final String TRACE = KeyText.counterName("orders") + ":trace";
    /** A third of the ttl, less the clock allowance. */
    private static final long GRANT_MS_MAX = 3_300;
    private static final long CYCLE_NS = 1_000;
    private static final int CYCLES_MAX = 10_000;
    private static final long BUDGET_NS = 2_000_000;
    /** Some turns of the event loop. */
    private static final int OTHERS_CYCLES_MAX = 200;

    private VirtualWorld.Client client;
    private VirtualWorld.Client other;

    private static AcquireOptions retaining() {
        return options().retain(TTL);
    }

    /** Two clients over nodes with slow links; the first one holds the lock. */
    private Lease held(int nodeCount) {
        client = slowWorld(nodeCount);
        other = client();
        return acquired(acquire(client, retaining()));
    }

    /** The first client retains the lock. */
    private void retained(int nodeCount) {
        assertEquals(ReleaseOutcome.RETAINED, release(held(nodeCount)));
    }

    private Lease local() {
        return acquired(acquire(client, retaining()));
    }

    private CompletableFuture<AcquireOutcome> waiter() {
        return acquireAsync(other, options().waitUpTo(WAIT));
    }

    private int commands() {
        return (int) client.redlock().counters().commandCount();
    }

    private long ended(String cause) {
        return client.engine().engine().retentionEnds(cause);
    }

    private void assertStates() {
        assertEquals(List.of(), client.engine().engine().stateViolations(List.of()));
    }

    // ---- local grants -----------------------------------------------------------------------------------------------

    @Test
    void theNextAcquisitionNeedsNoNode() {
        retained(3);
        assertEquals(3, keyCount());
        int before = commands();
        for (int i = 0; i < 100; i++) {
            Lease lease = local();
            assertTrue(lease.isHeld());
            assertStates();
            assertEquals(ReleaseOutcome.RETAINED, release(lease));
            assertFalse(lease.isHeld());
            assertEquals(LeaseState.RELEASED, lease.state());
        }
        assertEquals(before, commands());
        assertEquals(100, client.redlock().counters().localGrantCount());
        assertEquals(1, client.redlock().counters().retainedCount());
    }

    @Test
    void aCallerWithoutACallbackGetsItInItsCall() {
        retained(3);
        Lease lease = client.redlock().newLease();
        LockKey key = TestClient.engineOf(client.redlock()).key("orders");
        for (int i = 0; i < 10; i++) {
            TestClient.engineOf(client.redlock())
                    .acquire((LeaseHandle) lease, key, TestClient.specOf(retaining()), 0, null);
            assertTrue(lease.isHeld());
            lease.close();
            assertEquals(LeaseState.RELEASED, lease.state());
        }
        assertEquals(10, client.redlock().counters().localGrantCount());
    }

    @Test
    void theFirstLocalLeaseIsNotTheLockOfASecondOne() {
        retained(3);
        Lease first = local();
        assertEquals(ReleaseOutcome.RETAINED, release(first));
        Lease second = local();
        assertEquals(ReleaseOutcome.RETAINED, release(first), "the outcome of its own release");
        assertEquals(ExtendOutcome.NOT_HELD, extend(first, TTL));
        assertTrue(second.isHeld());
        assertFalse(first.isHeld());
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, retaining()).kind(), "one holder at a time");
    }

    /** A local lease ends with the lease on the nodes, at one absolute time. */
    @Test
    void aLocalLeaseEndsWithTheLeaseOnTheNodes() {
        Lease first = held(3);
        long endNs = world.nowNs() + first.remainingValidityNs();
        release(first);
        world.runMs(2_000);
        Lease second = local();
        assertEquals(endNs, world.nowNs() + second.remainingValidityNs());
        world.runUntilNs(endNs - 1);
        assertTrue(second.isHeld());
        assertEquals(3, keyCount());
        world.runUntilNs(endNs);
        assertFalse(second.isHeld());
        world.runMs(5);
        assertEquals(LeaseState.EXPIRED, second.state());
        assertEquals(ReleaseOutcome.EXPIRED, release(second));
        assertEquals(0, keyCount());
    }

    @Test
    void aLocalWaiterGetsTheLockUntilTheEndOfTheLeaseOnTheNodes() {
        retained(3);
        Lease first = local();
        long endNs = world.nowNs() + first.remainingValidityNs();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, retaining().waitUpTo(WAIT));
        world.runMs(2_000);
        assertEquals(ReleaseOutcome.RETAINED, release(first));
        assertEquals(endNs, world.nowNs() + acquired(get(waiting)).remainingValidityNs());
    }

    @Test
    void aLocalGrantNeedsTwoThirdsOfTheValidity() {
        retained(3);
        world.runMs(GRANT_MS_MAX - 100);
        release(local());
        assertEquals(3, keyCount());
        world.runMs(200);
        assertEquals(0, keyCount(), "nobody can have it, so it is released");
        assertEquals(1, ended("EXPIRED"));
        Lease next = local();
        assertTrue(next.remainingValidityNs() > Duration.ofSeconds(9).toNanos(), "from the nodes");
    }

    @Test
    void theOptionLimitsTheTime() {
        client = slowWorld(3);
        AcquireOptions options = options().retain(Duration.ofSeconds(1));
        assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, options))));
        for (int i = 0; i < 9; i++) {
            world.runMs(100);
            release(acquired(acquire(client, options)));
        }
        assertEquals(3, keyCount());
        world.runMs(120);
        assertEquals(0, keyCount(), "local grants do not extend it");
    }

    @Test
    void anExtensionDoesNotRestartTheTimeOfTheOption() {
        client = slowWorld(3);
        AcquireOptions options = options().retain(Duration.ofSeconds(1));
        release(acquired(acquire(client, options)));
        world.runMs(900);
        Lease lease = acquired(acquire(client, options));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertEquals(ReleaseOutcome.RETAINED, release(lease));
        assertEquals(3, keyCount());
        world.runMs(120);
        assertEquals(0, keyCount());
        assertEquals(1, ended("EXPIRED"));
    }

    @Test
    void aLocalGrantHasTheLeastValidityOfItsOptions() {
        retained(3);
        world.runMs(2_000);
        Duration least = Duration.ofSeconds(9);
        Lease lease = acquired(acquire(client, retaining().minValidity(least)));
        assertTrue(lease.remainingValidityNs() > least.toNanos(), "from the nodes");
    }

    @Test
    void theGrantOfALocalWaiterHasTheLeastValidityOfItsOptions() {
        retained(3);
        Lease first = local();
        Duration least = Duration.ofSeconds(9);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, retaining().minValidity(least).waitUpTo(WAIT));
        world.runMs(2_000);
        release(first);
        assertTrue(acquired(get(waiting)).remainingValidityNs() > least.toNanos(), "from the nodes");
    }

    @Test
    void anotherTtlThanThatOfTheLeaseGoesToTheNodes() {
        client = slowWorld(3);
        Duration time = Duration.ofSeconds(1);
        assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, options().retain(time)))));
        AcquireOptions shorter = AcquireOptions.ofTtl(TTL.dividedBy(2)).retain(time).tryOnce();
        Lease lease = acquired(acquire(client, shorter));
        assertTrue(lease.remainingValidityNs() < Duration.ofSeconds(5).toNanos());
        assertEquals(0, client.redlock().counters().localGrantCount());
    }

    /** It would retain the lock for longer than its options allow, or shorter. */
    @Test
    void anotherRetentionThanThatOfTheLeaseGoesToTheNodes() {
        retained(3);
        AcquireOptions shorter = options().retain(Duration.ofMillis(300));
        for (int i = 0; i < 4; i++) {
            assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, shorter))));
            world.runMs(60);
        }
        assertEquals(3, client.redlock().counters().localGrantCount());
        world.runMs(100);
        assertEquals(0, keyCount());
        assertEquals(1, ended("EXPIRED"));
    }

    // ---- other acquisitions of this client --------------------------------------------------------------------------

    private void assertTakenAtOnce(UnaryOperator<AcquireOptions> change) {
        retained(3);
        acquired(acquire(client, change.apply(options())));
        assertEquals(1, ended("WANTED_LOCALLY"));
        assertStates();
    }

    @Test
    void aPlainAcquisitionOfThisClientGetsTheLock() {
        assertTakenAtOnce(options -> options);
    }

    @Test
    void aWriterOfThisClientGetsTheLock() {
        assertTakenAtOnce(AcquireOptions::forWriting);
    }

    @Test
    void aReaderOfThisClientGetsTheLock() {
        assertTakenAtOnce(AcquireOptions::forReading);
    }

    @Test
    void aSetOfThisClientGetsTheLock() {
        retained(3);
        acquired(get(client.redlock().acquireAllAsync(List.of("orders", "zebra"), options())));
    }

    @Test
    void aLocalHolderKeepsTheLockFromOtherAcquisitionsOfThisClient() {
        retained(3);
        Lease holder = local();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(WAIT));
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, retaining().waitUpTo(WAIT));
        world.runMs(200);
        assertTrue(holder.isHeld());
        assertFalse(waiting.isDone() || second.isDone());
        assertStates();
        long tookUs = handoffUs(holder, waiting);
        assertTrue(tookUs < 2_000, () -> tookUs + " us");
        handoffUs(waiting.join().lease(), second);
        assertEquals(ReleaseOutcome.RETAINED, release(second.join().lease()), "nobody waits any more");
    }

    @Test
    void anExtensionMakesALocalLeaseOneLikeAnyOther() {
        retained(3);
        Lease lease = local();
        world.runMs(1_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertTrue(lease.remainingValidityNs() > Duration.ofMillis(9_800).toNanos());
        assertStates();
        assertEquals(ReleaseOutcome.RETAINED, release(lease), "all nodes have extended it");
    }

    /** Rule 3: a local lease is valid for its ttl at most, and others wait no longer than that after a crash. */
    @Test
    void aLeaseWithAnotherTtlThanItsOptionsIsNotRetained() {
        retained(3);
        for (Duration ttl : List.of(TTL.multipliedBy(3), TTL.dividedBy(2))) {
            Lease lease = acquired(acquire(client, retaining()));
            assertEquals(ExtendOutcome.EXTENDED, extend(lease, ttl));
            assertEquals(ReleaseOutcome.RELEASED, release(lease), "ttl " + ttl);
            assertEquals(0, keyCount());
        }
    }

    @Test
    void aLocalLeaseCanHoldItsLockForLonger() {
        retained(3);
        Lease lease = local();
        lease.holdAtLeast(Duration.ofSeconds(5));
        assertEquals(ReleaseOutcome.KEPT, release(lease));
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind());
        assertStates();
    }

    // ---- other clients ----------------------------------------------------------------------------------------------

    /** One attempt that is refused leaves a trace. */
    @Test
    void anotherClientGetsTheLockAfterOneRefusedAttempt() {
        retained(3);
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind());
        world.runMs(1);
        assertEquals(0, keyCount());
        assertEquals(1, ended("REVOKED"));
        acquired(acquire(other, options()));
    }

    @Test
    void eachKindOfAttemptOfAnotherClientLeavesATrace() {
        List<UnaryOperator<AcquireOptions>> kinds = List.of(AcquireOptions::forReading, AcquireOptions::forWriting,
                AcquireOptions::fenced);
        client = slowWorld(3);
        other = client();
        for (UnaryOperator<AcquireOptions> kind : kinds) {
            world.runMs(1_000);
            String resource = "orders" + kinds.indexOf(kind);
            release(acquired(get(client.redlock().acquireAsync(resource, retaining()))));
            get(other.redlock().acquireAsync(resource, kind.apply(options())));
            world.runMs(1);
            acquired(get(other.redlock().acquireAsync(resource, kind.apply(options()))));
        }
        release(acquired(get(client.redlock().acquireAsync("beta", retaining()))));
        get(other.redlock().acquireAllAsync(List.of("alpha", "beta"), options()));
        world.runMs(1);
        acquired(get(other.redlock().acquireAllAsync(List.of("alpha", "beta"), options())));
        assertEquals(4, ended("REVOKED"));
    }

    /** A client that polls leaves a trace too. */
    @Test
    void aClientWithoutPushesLeavesATrace() {
        retained(3);
        VirtualWorld.Client polling = client(context().wakeUpKeysMax(0));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(polling, options().waitUpTo(WAIT));
        world.await("the lock", 100, waiting::isDone);
        acquired(waiting.join());
    }

    @Test
    void aWaiterGetsAFreeLockSoon() {
        retained(3);
        long startNs = world.nowNs();
        CompletableFuture<AcquireOutcome> waiting = waiter();
        world.await("the lock", 100, waiting::isDone);
        acquired(waiting.join());
        long tookUs = (world.nowNs() - startNs) / 1_000;
        assertTrue(tookUs < 2_000, () -> tookUs + " us");
        assertEquals(0, other.redlock().counters().backstopCount());
    }

    /** Rules 1 and 12. */
    @Test
    void afterARevocationTheHolderFinishesAndNoOtherLocalCallerGetsTheLock() {
        retained(3);
        Lease holder = local();
        CompletableFuture<AcquireOutcome> waiting = waiter();
        world.runMs(100);
        assertTrue(holder.isHeld());
        assertEquals(3, keyCount());
        assertEquals(1, ended("REVOKED"));
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, retaining()).kind());
        world.runMs(100);
        CompletableFuture<ReleaseOutcome> released = holder.releaseAsync().toCompletableFuture();
        world.await("handoff", 10, waiting::isDone);
        acquired(waiting.join());
        assertEquals(ReleaseOutcome.RELEASED, get(released));
    }

    /** The client has no right to enter the queue: no node pushes its refusals. */
    @Test
    void aWaiterWithoutAPlaceLeavesTraces() {
        for (int nodeCount : new int[]{1, 3}) {
            client = slowWorld(nodeCount);
            other = client();
            for (int i = 0; i < nodeCount; i++) {
                node(i).redis().denyQueue();
            }
            assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, retaining()))));
            long startNs = world.nowNs();
            CompletableFuture<AcquireOutcome> waiting = waiter();
            world.await("the lock", 5_000, waiting::isDone);
            acquired(waiting.join());
            assertTrue(world.nowNs() - startNs < 20_000_000, () -> (world.nowNs() - startNs) / 1_000 + " us");
            release(waiting.join().lease());
            nothingIsLeft();
        }
    }

    /** No node could say that nobody waits. */
    @Test
    void aForeignKeyInPlaceOfTheQueuePreventsRetention() {
        client = slowWorld(3);
        node(1).redis().set(QUEUE, "none", 600_000);
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(acquire(client, retaining()))));
    }

    /** Its keys are gone, so no caller may get it locally any more. */
    @Test
    void aLockThatSomebodyBreaksIsNotRetained() throws InterruptedException {
        for (boolean isOwn : new boolean[]{false, true}) {
            retained(3);
            Redlock breaking = (isOwn ? client : other).redlock();
            BlockedCall<ReleaseOutcome> broken = new BlockedCall<>(
                    () -> breaking.breakLock("orders", breaking.inspect("orders").heldBy()));
            Await.until("broken", () -> {
                world.runMs(1);
                return broken.isDone();
            });
            assertEquals(ReleaseOutcome.RELEASED, broken.result());
            world.runMs(5);
            Lease next = acquired(acquire(other, options()));
            assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, retaining()).kind());
            release(next);
            nothingIsLeft();
        }
    }

    /** Sets, readers and writers of the same client get no retained lock, so none is passed on beside them. */
    @Test
    void noLockIsRetainedBesideAWaiterOfAnotherKind() {
        client = slowWorld(3);
        other = client();
        Lease alpha = acquired(get(other.redlock().acquireAsync("alpha", options())));
        CompletableFuture<AcquireOutcome> set = client.redlock()
                .acquireAllAsync(List.of("alpha", "orders"), options().waitUpTo(WAIT))
                .toCompletableFuture();
        world.runMs(100);
        Lease first = acquired(acquire(client, retaining()));
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, retaining().waitUpTo(WAIT));
        world.runMs(50);
        release(first);
        world.await("the second", 1_000, second::isDone);
        release(acquired(second.join()));
        assertEquals(0, client.redlock().counters().retainedCount());
        long startNs = world.nowNs();
        release(alpha);
        world.await("the set", 10_000, set::isDone);
        assertTrue(world.nowNs() - startNs < 20_000_000, () -> (world.nowNs() - startNs) / 1_000 + " us");
    }

    /** Two clients use many locks in turn: most releases are none that another client has to wait for. */
    @Test
    void thePausesOfManyLocksGrow() {
        retained(3);
        int lockCount = 1_000;
        int retainedCount = 0;
        for (int round = 0; round < 8; round++) {
            for (int i = 0; i < lockCount; i++) {
                Lease lease = acquired(get(client.redlock().acquireAsync("many/" + i, retaining())));
                retainedCount += release(lease) == ReleaseOutcome.RETAINED ? 1 : 0;
            }
            for (int i = 0; i < lockCount; i++) {
                release(acquired(get(other.redlock().acquireAsync("many/" + i, options().waitUpTo(WAIT)))));
            }
        }
        assertTrue(retainedCount < 3.3 * lockCount, retainedCount + " of rounds 0, 2 and 5");
    }

    /** The length of the queue counts, because the waiter entered before anybody watched it. */
    @Test
    void aLockWithAWaiterIsNotRetained() {
        Lease lease = held(3);
        CompletableFuture<AcquireOutcome> waiting = waiter();
        world.runMs(300);
        long tookUs = handoffUs(lease, waiting);
        assertTrue(tookUs < 2_000, () -> tookUs + " us");
        assertEquals(ReleaseOutcome.RELEASED, get(lease.releaseAsync()));
    }

    /** Its own entry is none of another client. */
    @Test
    void aLockAfterAWaitIsRetained() {
        client = slowWorld(3);
        other = client();
        Lease foreign = acquired(acquire(other, options()));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, retaining().waitUpTo(WAIT));
        world.runMs(20);
        handoffUs(foreign, waiting);
        world.runMs(1);
        assertEquals(ReleaseOutcome.RETAINED, release(waiting.join().lease()));
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind());
        world.runMs(1);
        acquired(acquire(other, options()));
    }

    /** Entries count on all nodes: the waiter has the coordinator that its own nodes choose. */
    @Test
    void anEntryInTheQueueOfAnyNodePreventsRetention() {
        for (int i = 0; i < 3; i++) {
            client = slowWorld(3);
            node(i).redis().enterQueue(QUEUE, "waiter");
            assertEquals(ReleaseOutcome.RELEASED, release(acquired(acquire(client, retaining()))), "node " + i);
            nothingIsLeft();
        }
    }

    /** A registration for a key that is missing, and stays missing, would never end. */
    @Test
    void noRegistrationOutlivesTheTraces() {
        client = slowWorld(3);
        for (int i = 0; i < 100; i++) {
            release(acquired(get(client.redlock().acquireAsync("many/" + i, retaining()))));
        }
        eachNode(node -> assertTrue(node.redis().trackedKeys().size() >= 100, "precondition"));
        world.runMs(120_000);
        eachNode(node -> assertEquals(List.of(), node.redis().trackedKeys()));
    }

    /** A node that pushes the traces does not report whether their client waits in the queue: the client asks. */
    @Test
    void thePauseIsThatOfAWaiterAlthoughTheTracesAreWatched() {
        client = slowWorld(3);
        other = client();
        for (int i = 0; i < 4; i++) {
            assertEquals(ReleaseOutcome.RETAINED, release(local()));
            release(local());
            release(local());
            Lease theirs = acquired(get(waiter()));
            world.runMs(1);
            release(theirs);
            assertEquals(ReleaseOutcome.RELEASED, release(local()), "the pause of one release");
        }
    }

    private static void change(FakeNode node, String key) {
        if (key.equals(QUEUE)) {
            node.redis().enterQueue(QUEUE, "waiter");
        } else {
            node.redis().set(key, "changed", 60_000);
        }
    }

    /** Rules 8 and 9: each node pushes from the moment of its answer on, also while others have not answered. */
    @Test
    void aChangeOfTheQueueOrTracesOnAnyNodeEndsTheRetention() {
        for (String key : List.of(QUEUE, TRACE)) {
            for (int i = 0; i < 3; i++) {
                retained(3);
                assertEquals(node(i).redis().get("orders"), node(i).redis().get(TRACE));
                change(node(i), key);
                world.runMs(1);
                assertEquals(0, keyCount(), key + " of node " + i);
                nothingIsLeft();
            }
        }
    }

    @Test
    void aPushBeforeTheLastAnswerCounts() {
        client = slowWorld(3);
        other = client();
        node(2).delay(() -> 20_000_000);
        Lease lease = acquired(acquire(client, retaining()));
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        world.runMs(5);
        assertFalse(released.isDone());
        assertEquals(2, keyCount(), "the acquire is on its way to the third node");
        assertStates();
        CompletableFuture<AcquireOutcome> waiting = waiter();
        world.await("the lock", 50, waiting::isDone);
        acquired(waiting.join());
        assertEquals(ReleaseOutcome.RELEASED, get(released));
    }

    @Test
    void aPushBeforeTheQuorumHasAnsweredCounts() {
        for (String key : List.of(QUEUE, TRACE)) {
            for (int i = 0; i < 3; i++) {
                client = slowWorld(3);
                FakeNode first = node(i);
                eachNode(node -> node.delay(() -> node == first ? LINK_NS : 20_000_000));
                CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, retaining());
                world.runMs(1);
                change(first, key);
                world.runMs(1);
                assertFalse(acquiring.isDone());
                Lease lease = acquired(get(acquiring));
                world.runMs(50);
                assertEquals(ReleaseOutcome.RELEASED, release(lease), key + " of node " + i);
                nothingIsLeft();
            }
        }
    }

    @Test
    void afterARevocationTheKeyIsNotRetainedForAGrowingNumberOfReleases() {
        retained(3);
        List<Integer> pauses = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            get(acquireAsync(other, options()));
            world.runMs(10);
            int releases = 0;
            while (release(local()) == ReleaseOutcome.RELEASED) {
                releases++;
                world.runMs(1);
            }
            pauses.add(releases);
        }
        assertEquals(List.of(1, 2, 4, 8, 16), pauses);
        for (int i = 0; i < 16; i++) {
            release(local());
        }
        release(acquired(get(waiter())));
        world.runMs(10);
        assertEquals(ReleaseOutcome.RELEASED, release(local()));
        assertEquals(ReleaseOutcome.RETAINED, release(local()), "the retention before was of use");
    }

    /** A scheduled job, for example. Its attempts must not find the lock retained each time. */
    @Test
    void aClientThatTriesOnceGetsALockThatIsFreeMostly() {
        client = slowWorld(3);
        other = client();
        int wins = 0;
        for (int i = 0; i < 500; i++) {
            if (i % 10 == 0) {
                AcquireOutcome outcome = acquire(other, options());
                wins += outcome.isAcquired() ? 1 : 0;
                if (outcome.isAcquired()) {
                    release(outcome.lease());
                }
            }
            release(local());
            world.runMs(1);
        }
        assertTrue(wins >= 40, wins + " of 50");
    }

    /** Another client wants the lock while its first holder has it: this client has not kept it longer. */
    @Test
    void thePauseDoesNotGrowForALockThatWasNeverRetained() {
        client = slowWorld(3);
        other = client();
        for (int i = 0; i < 6; i++) {
            Lease lease = local();
            assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind());
            world.runMs(1);
            assertEquals(ReleaseOutcome.RELEASED, release(lease));
        }
        assertEquals(ReleaseOutcome.RETAINED, release(local()));
    }

    @Test
    void aClientThatNeverRetainsAnythingSendsNoTrace() {
        retained(3);
        VirtualWorld.Client mute = client(context().retainedLeasesMax(0));
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(mute, options()).kind());
        world.runMs(100);
        assertEquals(3, keyCount());
        eachNode(node -> assertEquals(0, node.redis().commandCount("PEXPIRE trace")));
    }

    /** Nobody but a waiter in the queue shows in its length: the others leave a trace while the lock is held. */
    @Test
    void aWaiterOfAnyKindGetsALockWhoseHolderWouldRetainIt() {
        List<UnaryOperator<AcquireOptions>> kinds = List.of(options -> options, AcquireOptions::forWriting,
                AcquireOptions::forReading, AcquireOptions::fenced);
        for (UnaryOperator<AcquireOptions> kind : kinds) {
            Lease lease = held(3);
            CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, kind.apply(options().waitUpTo(WAIT)));
            world.runMs(120);
            long tookUs = handoffUs(lease, waiting);
            assertTrue(tookUs < 2_000, () -> kinds.indexOf(kind) + ": " + tookUs + " us");
            nothingIsLeft();
        }
    }

    @Test
    void aSetThatWaitsGetsALockWhoseHolderWouldRetainIt() {
        Lease lease = held(3);
        CompletableFuture<AcquireOutcome> waiting = other.redlock()
                .acquireAllAsync(List.of("alpha", "orders"), options().waitUpTo(WAIT))
                .toCompletableFuture();
        world.runMs(120);
        long tookUs = handoffUs(lease, waiting);
        assertTrue(tookUs < 2_000, () -> tookUs + " us");
    }

    /** The queue says that nobody waits: the holder has dropped the first waiter, which hung beside a free lock. */
    @Test
    void aWaiterThatWasPassedGetsALockWhoseHolderWouldRetainIt() {
        client = slowWorld(3);
        other = client();
        VirtualWorld.Client passer = client();
        Lease first = acquired(acquire(client, options()));
        CompletableFuture<AcquireOutcome> passed = waiter();
        world.runMs(20);
        CompletableFuture<AcquireOutcome> passing = acquireAsync(passer, retaining().waitUpTo(WAIT));
        world.runMs(150);
        other.pause();
        first.releaseAsync();
        world.await("the second waiter", 200, passing::isDone);
        eachNode(node -> assertEquals(0, node.redis().entryCount(QUEUE)));
        other.resume();
        world.runMs(20);
        long tookUs = handoffUs(passing.join().lease(), passed);
        assertTrue(tookUs < 2_000, () -> tookUs + " us");
    }

    /** A waiter whose budget is shorter than a round trip enters no queue. */
    @Test
    void anAttemptWithAShortBudgetLeavesATrace() {
        for (long budgetNs : new long[]{1, 50_000, 150_000, 250_000, 500_000, 1_500_000}) {
            retained(3);
            AcquireOptions brief = options().waitUpTo(Duration.ofNanos(budgetNs));
            if (!acquire(other, brief).isAcquired()) {
                world.runMs(1);
                acquired(acquire(other, brief));
            }
            nothingIsLeft();
        }
    }

    private void assertTraces(String who) {
        eachNode(node -> assertEquals(1, node.redis().commandCount("PEXPIRE trace"), who));
    }

    /** Each of these is refused once before its coordinator may give it a place. */
    @Test
    void theFirstRefusalOfAWaiterThatGetsNoPlaceNextLeavesATrace() {
        retained(3);
        acquireAsync(client(context().wakeUpKeysMax(0)), options().waitUpTo(WAIT));
        world.runUntilNs(world.nowNs() + 3 * LINK_NS);
        assertTraces("polls");
        nothingIsLeft();

        retained(3);
        acquired(get(client.redlock().acquireAsync("beta", options())));
        other = client(context().wakeUpKeysMax(1));
        other.redlock().acquireAsync("beta", options().waitUpTo(WAIT));
        world.runMs(10);
        eachNode(node -> assertEquals(0, node.redis().commandCount("PEXPIRE trace")));
        waiter();
        world.runUntilNs(world.nowNs() + 3 * LINK_NS);
        assertTraces("no further key can wake it");
        nothingIsLeft();

        retained(3);
        other = client(context().inFlightMax(1));
        acquireAsync(other, options().waitUpTo(WAIT));
        other.redlock().acquireAsync("beta", options().waitUpTo(WAIT));
        world.runUntilNs(world.nowNs() + 3 * LINK_NS);
        assertTraces("another acquisition is before its next attempt");
        nothingIsLeft();

        retained(3);
        waiter();
        waiter();
        world.runUntilNs(world.nowNs() + 3 * LINK_NS);
        assertTraces("its next attempt is behind that of another acquisition");
        nothingIsLeft();

        retained(3);
        eachNode(node -> node.redis().failNext("CLIENT TRACKING", "NOPERM no", Integer.MAX_VALUE));
        other = client();
        waiter();
        world.runUntilNs(world.nowNs() + 3 * LINK_NS);
        assertTraces("no coordinator pushes");
    }

    /** The other nodes refuse, and have no entry of it. */
    @Test
    void aWaiterWhoseCoordinatorHasGrantedLeavesATrace() {
        for (int i = 0; i < 3; i++) {
            retained(3);
            node(i).redis().delete("orders");
            CompletableFuture<AcquireOutcome> waiting = waiter();
            world.await("the lock beside node " + i, 100, waiting::isDone);
            acquired(waiting.join());
            nothingIsLeft();
        }
    }

    @Test
    void tryRunLeavesATrace() throws InterruptedException {
        retained(3);
        BlockedCall<AcquireOutcome> call = new BlockedCall<>(
                () -> other.redlock().tryRun("orders", options(), lease -> {
                })).awaitBlocked();
        world.runMs(1);
        assertEquals(AcquireOutcome.Kind.CONTENDED, call.result().kind());
        assertTraces("tryRun");
        acquired(acquire(other, options()));
    }

    /** The coordinator may have granted, and one of the others may not be reached. */
    @Test
    void eachNodeThatRefusesGetsATrace() {
        retained(3);
        acquire(other, options());
        eachNode(node -> assertEquals(1, node.redis().commandCount("PEXPIRE trace")));
    }

    /** Traces must not keep the entries of those who have given up. */
    @Test
    void theEntryOfACrashedWaiterExpiresBesideAPoller() {
        world = new VirtualWorld(3);
        client = client(context().maxTtl(Duration.ofMinutes(10)));
        other = client();
        VirtualWorld.Client poller = client();
        acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofMinutes(10)).tryOnce()));
        waiter();
        world.runMs(50);
        other.kill();
        int entries = 0;
        for (int i = 0; i < 3; i++) {
            entries += node(i).redis().entryCount(QUEUE);
        }
        assertEquals(1, entries);
        for (int i = 0; i < 4; i++) {
            world.runMs(20_000);
            acquire(poller, options());
        }
        eachNode(node -> assertEquals(null, node.redis().get(QUEUE)));
    }

    /** The keys that the nodes watch last as long as the lock. */
    @Test
    void aLongLockIsRetainedUntilItsTime() {
        world = new VirtualWorld(3);
        client = client(context().maxTtl(Duration.ofMinutes(10)));
        AcquireOptions mine = AcquireOptions.ofTtl(Duration.ofMinutes(10)).tryOnce().retain(Duration.ofMinutes(10));
        release(acquired(acquire(client, mine)));
        for (int i = 0; i < 19; i++) {
            world.runMs(10_000);
            assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, mine))));
        }
        assertEquals(19, client.redlock().counters().localGrantCount());
        assertEquals(0, client.redlock().counters().retentionEndCount(RetentionEnd.REVOKED),
                "there is no other client");
        world.runMs(10_000);
        assertEquals(1, ended("EXPIRED"));
    }

    /** A node does not push what its own connection changes. */
    @Test
    void aRefusedAttemptOfThisClientEndsTheRetention() {
        retained(3);
        Lease holder = local();
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, options()).kind());
        assertEquals(1, ended("WANTED_LOCALLY"));
        CompletableFuture<AcquireOutcome> waiting = waiter();
        world.runMs(100);
        long tookUs = handoffUs(holder, waiting);
        assertTrue(tookUs < 2_000, () -> tookUs + " us");
    }

    // ---- callers of this client that meet a local holder ------------------------------------------------------------

    @Test
    void aCallerThatMeetsALocalHolderGetsTheLockFromIt() {
        retained(3);
        Lease first = local();
        int before = commands();
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            waiting.add(acquireAsync(client, retaining().waitUpTo(WAIT)));
            world.runMs(10);
        }
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, retaining()).kind());
        Lease holder = first;
        for (CompletableFuture<AcquireOutcome> next : waiting) {
            assertFalse(next.isDone());
            assertStates();
            assertEquals(ReleaseOutcome.RETAINED, release(holder));
            holder = acquired(get(next));
            assertTrue(holder.isHeld());
        }
        assertEquals(ReleaseOutcome.RETAINED, release(holder));
        assertEquals(before, commands());
        assertEquals(4, client.redlock().counters().localGrantCount());
        assertStates();
    }

    /** From the first lease on, which comes from the nodes. */
    @Test
    void aCallerThatMeetsTheFirstHolderGetsTheLockFromIt() {
        Lease first = held(3);
        world.runMs(1);
        int before = commands();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, retaining().waitUpTo(WAIT));
        world.runMs(100);
        assertEquals(ReleaseOutcome.RETAINED, release(first));
        release(acquired(get(waiting)));
        assertEquals(before, commands());
    }

    /** Two attempts at once would refuse each other, and neither would get the lock to be retained. */
    @Test
    void aCallerThatMeetsTheFirstAttemptFollowsIt() {
        client = slowWorld(3);
        CompletableFuture<AcquireOutcome> first = acquireAsync(client, retaining().waitUpTo(WAIT));
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, retaining().waitUpTo(WAIT));
        Lease lease = acquired(get(first));
        world.runMs(10);
        int before = commands();
        assertFalse(second.isDone());
        assertEquals(ReleaseOutcome.RETAINED, release(lease));
        assertEquals(ReleaseOutcome.RETAINED, release(acquired(get(second))));
        assertEquals(before, commands());
        assertEquals(1, client.redlock().counters().localGrantCount());
        assertStates();
    }

    /** Its attempt asks the coordinator first; another acquisition of this client comes before it asks the others. */
    @Test
    void aReleaseDoesNotWaitForAnswersThatNobodyHasAskedFor() {
        for (int offsetUs = 0; offsetUs < 1_500; offsetUs += 50) {
            client = slowWorld(3);
            other = client();
            Lease foreign = acquired(acquire(other, options()));
            CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, retaining().waitUpTo(WAIT));
            world.runMs(50);
            foreign.releaseAsync();
            world.runUntilNs(world.nowNs() + offsetUs * 1_000L);
            acquireAsync(client, options().waitUpTo(WAIT));
            Lease lease = acquired(get(waiting));
            long startNs = world.nowNs();
            release(lease);
            long tookUs = (world.nowNs() - startNs) / 1_000;
            assertTrue(tookUs < 2_000, offsetUs + ": " + tookUs + " us");
            nothingIsLeft();
        }
    }

    @Test
    void aLocalWaiterThatGivesUpLeavesTheLockFree() {
        retained(3);
        Lease holder = local();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, retaining().waitUpTo(Duration.ofMillis(50)));
        world.runMs(60);
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, get(waiting).kind());
        assertEquals(ReleaseOutcome.RETAINED, release(holder));
        assertEquals(ReleaseOutcome.RETAINED, release(local()));
        assertStates();
    }

    /** The waiter of another client goes before those of this one. */
    @Test
    void afterARevocationLocalWaitersGoToTheNodes() {
        retained(3);
        Lease holder = local();
        CompletableFuture<AcquireOutcome> local = acquireAsync(client, retaining().waitUpTo(WAIT));
        CompletableFuture<AcquireOutcome> waiting = waiter();
        world.runMs(20);
        assertEquals(ReleaseOutcome.RELEASED, release(holder));
        world.await("both", 100, () -> waiting.isDone() || local.isDone());
        release(acquired(waiting.isDone() ? waiting.join() : local.join()));
        world.await("both", 1_000, () -> waiting.isDone() && local.isDone());
    }

    @Test
    void closeEndsLocalWaiters() {
        retained(3);
        local();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, retaining().waitUpTo(WAIT));
        world.runMs(10);
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.await("close", 1_000, report::isDone);
        assertEquals(AcquireOutcome.Kind.CLOSED, get(waiting).kind());
    }

    /** Callbacks that need no node must not keep the event loop from its sockets and timers. */
    @Test
    void aChainOfLocalCallbacksLeavesTheOthersTheirTurns() {
        retained(3);
        acquired(get(other.redlock().acquireAsync("taken", options())));
        Chain chain = new Chain();
        client.call(chain::next);
        world.await("the last cycle", 10_000, () -> chain.isOver);
        Map<String, Integer> expected = Map.of("ACQUIRED", (int) (2 * LINK_NS / CYCLE_NS), "TIMED_OUT",
                (int) (BUDGET_NS / CYCLE_NS));
        assertEquals(expected.keySet(), chain.cyclesUntil.keySet(), "within " + CYCLES_MAX + " local cycles");
        chain.cyclesUntil.forEach((outcome, count) -> assertTrue(count <= expected.get(outcome) + OTHERS_CYCLES_MAX,
                () -> outcome + " after " + count + " local cycles"));
        assertEquals(chain.cycles, client.redlock().counters().localGrantCount());
    }

    /** Each callback starts the next step. A cycle takes time, in which the rest of the world continues. */
    private final class Chain {
        private final Lease lease = client.redlock().newLease();
        private final ResourceKey key = client.redlock().key("orders");
        private final Map<String, Integer> cyclesUntil = new TreeMap<>();
        private int cycles;
        private boolean isOver;

        void next() {
            client.redlock().acquire(key, retaining(), lease, outcome -> outcome.lease().release((released, result) -> {
                assertEquals(ReleaseOutcome.RETAINED, result);
                client.stall(CYCLE_NS);
                if (cycles == 0) {
                    count(client.redlock().acquireAsync("beta", options()));
                    count(client.redlock().acquireAsync("taken", options().waitUpTo(Duration.ofNanos(BUDGET_NS))));
                }
                cycles++;
                isOver = cycles == CYCLES_MAX || cyclesUntil.size() == 2;
                if (!isOver) {
                    next();
                }
            }));
        }

        private void count(CompletionStage<AcquireOutcome> others) {
            others.thenAccept(outcome -> cyclesUntil.put(outcome.kind().name(), cycles));
        }
    }

    // ---- nodes ------------------------------------------------------------------------------------------------------

    @Test
    void aLockWithoutTheVoteOfOneNodeIsNotRetained() {
        client = slowWorld(3);
        node(1).redis().set("orders", "another", 5_000);
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(acquire(client, retaining()))));
        node(1).redis().delete("orders");
        assertEquals(ReleaseOutcome.RETAINED, release(local()));
    }

    /** One node has not acknowledged the extension. */
    @Test
    void aLockThatOneNodeHasNotExtendedIsNotRetained() {
        Lease lease = held(3);
        node(1).redis().failNext("extend", "ERR no", 1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    /** Rules 5 and 7: a repaired key is no vote. */
    @Test
    void aLockThatOneNodeHasRepairedIsNotRetained() {
        Lease lease = held(3);
        world.runMs(1);
        node(1).redis().delete("orders");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertEquals(3, keyCount());
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    @Test
    void aLockWhoseExtensionIsInProgressIsNotRetained() {
        Lease lease = held(3);
        world.runMs(1);
        CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        assertEquals(ExtendOutcome.NOT_HELD, get(extended));
        assertEquals(0, keyCount());
    }

    /** Another thread extends the lease at the same time. */
    @Test
    void anExtensionWhileTheReleaseWaitsForAnswersEndsTheRetention() {
        for (long ms : new long[]{TTL.toMillis() - 500, TTL.toMillis()}) {
            client = slowWorld(3);
            node(2).delay(() -> 20_000_000);
            Lease lease = acquired(acquire(client, retaining()));
            CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
            world.runMs(1);
            assertFalse(released.isDone());
            lease.extendAsync(Duration.ofMillis(ms));
            assertEquals(ReleaseOutcome.RELEASED, get(released), ms + " ms");
            nothingIsLeft();
        }
    }

    @Test
    void aLockIsNotRetainedWhileANodeIsDown() {
        client = slowWorld(3);
        node(0).crash();
        world.runMs(100);
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(acquire(client, retaining()))));
    }

    @Test
    void aLockIsNotRetainedIfANodePushesNothing() {
        client = slowWorld(3);
        node(0).redis().onlyResp2();
        node(0).breakConnections();
        world.runMs(1_000);
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(acquire(client, retaining()))));
    }

    @Test
    void anErrorInsteadOfTheTicketsEndsTheRetention() {
        for (String command : List.of("GET", "SET")) {
            for (int count = 1; count <= 2; count++) {
                client = slowWorld(3);
                world.runMs(10);
                node(1).redis().failNext(command, "NOPERM no", count);
                assertEquals(ReleaseOutcome.RELEASED, release(acquired(acquire(client, retaining()))));
                nothingIsLeft();
            }
        }
    }

    @Test
    void aNodeThatAnswersTooLateEndsTheRetention() {
        client = slowWorld(3);
        node(1).delay(() -> 60_000_000);
        Lease lease = acquired(acquire(client, retaining()));
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        world.runMs(NODE_TIMEOUT_MS + 2);
        assertEquals(ReleaseOutcome.RELEASED, get(released));
    }

    @Test
    void aLostConnectionEndsTheRetention() {
        assertEndedBy(node -> node.breakConnections());
    }

    @Test
    void aLostConnectionEndsEachRetention() {
        client = slowWorld(3);
        for (int i = 0; i < 10; i++) {
            release(acquired(get(client.redlock().acquireAsync("orders/" + i, retaining()))));
        }
        assertEquals(10, client.redlock().counters().retainedCount());
        node(1).breakConnections();
        world.runMs(1);
        assertEquals(10, ended("NODE_LOST"));
        assertEquals(java.util.Set.of(), node(0).redis().keys());
    }

    /** Registering again would not be enough. */
    @Test
    void aConnectionThatIsLostBeforeTheReleasePreventsRetention() {
        Lease lease = held(3);
        node(1).breakConnections();
        world.runMs(1_000);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, retaining());
        node(2).breakConnections();
        world.runMs(1_000);
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(get(acquiring))));
        assertEquals(ReleaseOutcome.RETAINED, release(local()));
    }

    /** All configured nodes have to grant it, not those that vote now. */
    @Test
    void aLockIsNotRetainedWhileANodeIsInQuarantine() {
        world = new VirtualWorld(3);
        client = client(context().restartGuard(RestartGuardMode.UPTIME));
        node(0).crash();
        node(0).restart(false);
        world.runMs(2_000);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state());
        assertEquals(ReleaseOutcome.RELEASED, release(local()));
    }

    @Test
    void aRestartOfANodeEndsTheRetention() {
        assertEndedBy(node -> {
            node.crash();
            node.restart(true);
        });
    }

    @Test
    void aFlushOfANodeEndsTheRetention() {
        assertEndedBy(node -> node.redis().flushAll());
    }

    @Test
    void aJumpOfAClockEndsTheRetention() {
        assertEndedBy(node -> {
            node.redis().clockJump(20_000);
            world.runMs(1_000);
        });
    }

    private void assertEndedBy(java.util.function.Consumer<FakeNode> event) {
        retained(3);
        event.accept(node(1));
        world.runMs(1_100);
        assertEquals(1, ended("NODE_LOST"));
        assertEquals(0, keyCount());
        assertStates();
        acquired(acquire(other, options()));
    }

    @Test
    void aLocalHolderLearnsOfTheLossOfItsLock() {
        List<String> events = new ArrayList<>();
        client = slowWorld(3);
        AcquireOptions options = retaining().listener(new LeaseListener() {
            @Override
            public void onLost(Lease lease, LeaseState state) {
                events.add(state + " " + lease.isHeld());
            }
        });
        release(acquired(acquire(client, options)));
        Lease lease = acquired(acquire(client, options));
        node(0).redis().flushAll();
        world.runMs(10);
        assertTrue(lease.isHeld(), "two nodes have the key");
        node(1).redis().flushAll();
        world.runMs(10);
        assertEquals(List.of("LOST false"), events);
        assertEquals(LeaseState.LOST, lease.state());
        assertEquals(ReleaseOutcome.EXPIRED, release(lease));
    }

    @Test
    void aLocalHolderLearnsThatItsOnlyNodeHasLostTheKey() {
        client = slowWorld(1);
        AcquireOptions options = retaining().watchLoss();
        release(acquired(acquire(client, options)));
        Lease lease = acquired(acquire(client, options));
        assertEquals(1, client.redlock().counters().localGrantCount());
        node(0).redis().delete("orders");
        world.runMs(1);
        assertEquals(LeaseState.LOST, lease.state());
        assertFalse(lease.isHeld());
    }

    @Test
    void betweenHoldersTheListenerIsSilent() {
        List<String> events = new ArrayList<>();
        client = slowWorld(3);
        AcquireOptions options = retaining().watchLoss().listener(new LeaseListener() {
            @Override
            public void onLost(Lease lease, LeaseState state) {
                events.add(state + " " + lease.isHeld());
            }
        });
        release(acquired(acquire(client, options)));
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        world.runMs(10);
        assertEquals(List.of(), events);
        assertEquals(0, client.redlock().counters().retainedCount(), "its loss was watched");
        assertEquals(0, client.redlock().counters().lostCount());
        release(acquired(acquire(client, options)));
        Lease lease = acquired(acquire(client, options));
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        world.runMs(10);
        assertEquals(List.of("LOST false"), events);
        assertFalse(lease.isHeld());
    }

    /** Rule 7: one more lost key would give the lock to two holders. */
    @Test
    void aWatchedLockThatOneNodeHasLostIsReleased() {
        client = slowWorld(3);
        AcquireOptions options = retaining().watchLoss();
        release(acquired(acquire(client, options)));
        node(0).redis().delete("orders");
        world.runMs(10);
        assertEquals(1, ended("NODE_LOST"));
        assertEquals(0, keyCount());
        Lease next = acquired(acquire(client, options));
        assertEquals(0, client.redlock().counters().localGrantCount());
        release(next);
        Lease holder = acquired(acquire(client, options));
        assertEquals(1, client.redlock().counters().localGrantCount());
        node(1).redis().delete("orders");
        world.runMs(10);
        assertTrue(holder.isHeld(), "two nodes have the key");
        assertEquals(ReleaseOutcome.RELEASED, release(holder));
        assertStates();
    }

    // ---- limits and the end -----------------------------------------------------------------------------------------

    @Test
    void aFurtherLockEndsTheOldest() {
        world = new VirtualWorld(3);
        client = client(context().retainedLeasesMax(2));
        for (String resource : List.of("a", "b", "c")) {
            release(acquired(get(client.redlock().acquireAsync(resource, retaining()))));
        }
        world.runMs(1);
        assertEquals(null, node(0).redis().get("a"));
        assertEquals(2, client.redlock().counters().retainedCount());
        assertEquals(1, ended("LIMIT"));
    }

    @Test
    void closeReleasesFreeAndHeldLocks() {
        retained(3);
        Lease held = acquired(get(client.redlock().acquireAsync("second", retaining())));
        release(held);
        held = acquired(get(client.redlock().acquireAsync("second", retaining())));
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.await("close", 1_000, report::isDone);
        assertEquals(2, report.join().releasedCount());
        assertTrue(report.join().isClean());
        assertEquals(LeaseState.RELEASED, held.state());
        eachNode(node -> assertEquals(java.util.Set.of(), node.redis().keys()));
        assertEquals(AcquireOutcome.Kind.CLOSED, acquire(client, retaining()).kind());
    }

    @Test
    void closeDuringTheQuestionReleases() {
        Lease lease = held(3);
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.await("close", 1_000, report::isDone);
        assertEquals(1, report.join().releasedCount());
        assertEquals(ReleaseOutcome.RELEASED, get(released));
    }

    /** A node without room for the release delays it. */
    @Test
    void aLeaseThatEndsWhileItsReleaseWaitsForTheCloseCompletesTheRelease() {
        world = new VirtualWorld(3);
        client = client(context().nodeBackPressure(16, 4096));
        world.runMs(2_000);
        node(0).pause();
        Duration ttl = Duration.ofSeconds(1);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(ttl).tryOnce().retain(ttl)));
        for (int i = 0; i < 20; i++) {
            acquired(get(client.redlock().acquireAsync("other/" + i, options())));
        }
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(10));
        world.runMs(900);
        assertEquals(LeaseState.RELEASING, lease.state(), "its release waits for a node");
        world.runMs(200);
        assertEquals(LeaseState.EXPIRED, lease.state());
        assertEquals(ReleaseOutcome.EXPIRED, get(released));
        world.await("close", 10_000, report::isDone);
        node(0).resume();
    }

    /** A node without room for the releases delays them. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aFreeLockThatEndsWhileItsReleaseWaitsForTheCloseIsNoLoss(boolean isLost) {
        world = new VirtualWorld(3);
        client = client(context().nodeBackPressure(16, 4096));
        world.runMs(2_000);
        Duration ttl = isLost ? TTL : Duration.ofSeconds(1);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(ttl).tryOnce().retain(ttl)));
        assertEquals(ReleaseOutcome.RETAINED, release(lease));
        node(0).pause();
        AcquireOptions longer = AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce();
        for (int i = 0; i < 20; i++) {
            acquired(get(client.redlock().acquireAsync("other/" + i, longer)));
        }
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(10));
        world.runMs(100);
        assertEquals(21, client.redlock().counters().heldCount(), "the releases wait for a node");
        if (isLost) {
            node(1).crash();
            node(2).crash();
            node(1).restart(false);
            node(2).restart(false);
        }
        world.await("close", 10_000, report::isDone);
        assertFalse(report.join().unreleased().contains("orders"), report::toString);
        assertEquals(isLost ? 20 : 0, client.redlock().counters().lostCount());
        assertEquals(0, client.redlock().counters().expiredCount());
        node(0).resume();
    }

    /** The price: nobody held the lock. */
    @Test
    void aCrashCostsTheOthersTheTtl() {
        retained(3);
        world.runMs(1_000);
        client.pause();
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind());
        CompletableFuture<AcquireOutcome> waiting = waiter();
        world.runMs(8_800);
        assertFalse(waiting.isDone());
        world.runMs(400);
        acquired(get(waiting));
    }

    @Test
    void aPausedClientGrantsNothingAfterItsTime() {
        retained(3);
        client.pause();
        world.runMs(GRANT_MS_MAX + 100);
        client.resume();
        Lease lease = local();
        assertTrue(lease.remainingValidityNs() > Duration.ofSeconds(9).toNanos(), "from the nodes");
    }

    /** Its event loop gets the release before its timers. */
    @Test
    void aPausedClientGrantsAWaiterNothingAfterItsTime() {
        retained(3);
        Lease holder = local();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, retaining().waitUpTo(WAIT));
        world.runMs(10);
        client.pause();
        client.call(holder::close);
        world.runMs(GRANT_MS_MAX + 100);
        client.resume();
        assertTrue(acquired(get(waiting)).remainingValidityNs() > Duration.ofSeconds(9).toNanos(), "from the nodes");
    }

    @Test
    void aLeaseThatExpiredInAPauseIsNotReportedAsRetained() throws InterruptedException {
        retained(3);
        Lease lease = local();
        client.pause();
        world.runMs(TTL.toMillis() + 100);
        BlockedCall<ReleaseOutcome> released = new BlockedCall<>(lease::release).awaitBlocked();
        client.resume();
        world.runMs(100);
        assertEquals(ReleaseOutcome.EXPIRED, released.result());
    }

    /** Its budget ends before it could ask for a place. */
    @Test
    void aWaiterWithAShortBudgetLeavesATrace() {
        retained(3);
        acquire(other, options().waitUpTo(Duration.ofNanos(LINK_NS)));
        world.runMs(1);
        acquired(acquire(other, options()));
    }

    @Test
    void anInterruptedCallerGivesALocalLockBack() {
        retained(3);
        Lease lease = client.redlock().newLease();
        client.redlock().acquire(client.redlock().key("orders"), retaining(), lease, outcome -> {
        });
        world.runMs(1);
        assertTrue(lease.isHeld());
        assertEquals(ReleaseOutcome.RETAINED, release(lease));
    }

    @Test
    void optionsThatExcludeIt() {
        client = world(3);
        for (UnaryOperator<AcquireOptions> other : List.<UnaryOperator<AcquireOptions>>of(AcquireOptions::fenced,
                AcquireOptions::autoExtend, AcquireOptions::forReading, AcquireOptions::forWriting,
                options -> options.forPermitOf(2), options -> options.holdAtLeast(Duration.ofSeconds(1)))) {
            assertRefused(client, other.apply(retaining()));
        }
        assertThrows(IllegalArgumentException.class,
                () -> client.redlock().acquireAllAsync(List.of("a", "b"), retaining()));
        assertThrows(IllegalArgumentException.class, () -> options().retain(TTL.plusMillis(1)));
        assertRefused(client(context().thriftyQuorums(true)), retaining());
        assertRefused(client(context().wakeUpKeysMax(0)), retaining());
        assertRefused(client(context().retainedLeasesMax(0)), retaining());
    }

    private void assertRefused(VirtualWorld.Client by, AcquireOptions options) {
        String message = assertThrows(IllegalArgumentException.class, () -> acquireAsync(by, options)).getMessage();
        assertTrue(message.contains("retain()"), message);
    }

    // ---- faults of nodes --------------------------------------------------------------------------------------------

    private long longestReleaseUs(int count) {
        long longestNs = 0;
        for (int i = 0; i < count; i++) {
            Lease lease = local();
            world.runMs(2);
            long startNs = world.nowNs();
            release(lease);
            longestNs = Math.max(longestNs, world.nowNs() - startNs);
        }
        return longestNs / 1_000;
    }

    /** The first release finds out that it hangs. */
    @Test
    void aNodeThatHangsStallsOneReleaseAtMost() {
        client = slowWorld(3);
        node(2).pause();
        longestReleaseUs(1);
        assertTrue(longestReleaseUs(50) < 1_000);
        assertTrue(client.redlock().counters().retainedCount() == 0);
        node(2).resume();
        world.runMs(3_000);
        release(local());
        world.runMs(1);
        assertEquals(1, client.redlock().counters().retainedCount(), "it has answered");
    }

    /** It answers after the node timeout, which no other command waits for. */
    @Test
    void aNodeThatIsTooSlowStallsFewReleases() {
        client = slowWorld(3);
        node(2).delay(() -> (NODE_TIMEOUT_MS + 10) * 1_000_000 / 2);
        int stalled = 0;
        for (int i = 0; i < 100; i++) {
            stalled += longestReleaseUs(1) > 1_000 ? 1 : 0;
            world.runMs(150);
        }
        assertTrue(stalled <= 5, stalled + " of 100 releases in 15 s");
        world.runMs(120_000);
        assertTrue(longestReleaseUs(1) > 1_000);
        world.runMs(1_000);
        assertTrue(longestReleaseUs(1) > 1_000, "the last one was long ago");
    }

    /** Many releases wait for its answers at once. */
    @Test
    void aNodeThatIsTooSlowForAMomentPausesForASecond() {
        client = slowWorld(3);
        node(2).delay(() -> (NODE_TIMEOUT_MS + 10) * 1_000_000 / 2);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            leases.add(acquired(get(client.redlock().acquireAsync("orders/" + i, retaining()))));
        }
        leases.forEach(Lease::releaseAsync);
        world.runMs(2 * NODE_TIMEOUT_MS);
        node(2).delay(() -> 100_000);
        world.runMs(1_000);
        release(local());
        world.runMs(1);
        assertEquals(1, client.redlock().counters().retainedCount());
    }

    @Test
    void aNodeThatRefusesCostsTheReleaseNothing() {
        client = slowWorld(3);
        node(2).redis().set("orders", "foreign", 600_000);
        assertTrue(longestReleaseUs(10) < 300);
    }

    // ---- counters ---------------------------------------------------------------------------------------------------

    @Test
    void theCountOfLocalGrantsNeverGoesDown() {
        retained(3);
        for (int i = 0; i < 10; i++) {
            release(local());
        }
        Lease lease = local();
        assertEquals(11, client.redlock().counters().localGrantCount());
        extend(lease, TTL);
        assertEquals(11, client.redlock().counters().localGrantCount(), "its holder has a lease like any other");
        release(lease);
        release(local());
        assertEquals(12, client.redlock().counters().localGrantCount());
        client.redlock().close();
        assertEquals(12, client.redlock().counters().localGrantCount());
    }
}
