package dev.redlock.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockLock;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.KeyText;
import dev.redlock.testing.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The behaviour of sets of resources, as {@link LockContract} has that of plain locks. */
public abstract class SetContract extends ReadWriteContract {

    private static final AcquireOptions ONCE = AcquireOptions.ofTtl(LONG).tryOnce();
    private static final String RESERVATION = ":redlock:reservation";
    private static final AcquireOptions WAITING = AcquireOptions.ofTtl(LONG).waitUpTo(LONG);

    /** Names with one hash tag, as voters that are clusters need them. */
    private List<String> names(int count) {
        return IntStream.range(0, count).mapToObj(i -> resource + "/{set}/" + i).toList();
    }

    /** A node that loads the script first may not get the keys: the round is decided without it. */
    private void awaitKeyCount(String key, int count) {
        Await.until(() -> keyCount(key) + " keys of " + key + " instead of " + count, () -> keyCount(key) >= count);
    }

    private void awaitNone(List<String> keys) {
        for (String key : keys) {
            Await.until(() -> keyCount(key) + " keys of " + key + " are left", () -> keyCount(key) == 0);
        }
    }

    @Test
    void aSetHasOneTokenOnEachOfItsKeys() throws InterruptedException {
        for (int count : new int[]{2, 8, 64}) {
            List<String> names = names(count);
            Lease lease = acquired(client().acquireAll(names, ONCE));
            for (String name : names) {
                awaitKeyCount(name, quorum());
                assertEquals(tokensOf(names.get(0)), tokensOf(name), "one token");
                for (int i = 0; i < voterCount(); i++) {
                    long ttlMs = node(i).pttl(name);
                    assertTrue(ttlMs == -2 || ttlMs > 0 && ttlMs <= LONG.toMillis(), "ttl on node " + i + ": " + ttlMs);
                }
            }
            assertEquals(Set.copyOf(names), Set.copyOf(lease.resources()));
            assertEquals(ReleaseOutcome.RELEASED, lease.release(), "a quorum deleted all keys");
            awaitNone(names);
        }
    }

    @Test
    void aSetIsRefusedIfOneOfItsResourcesIsHeld() throws InterruptedException {
        List<String> names = names(5);
        Redlock client = client();
        for (String held : names) {
            Lease lease = acquired(client.tryAcquire(held, LONG));
            for (Redlock other : List.of(client, client())) {
                AcquireOutcome outcome = other.tryAcquireAll(names, ONCE);
                assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
                long ttlMs = outcome.shortestRemainingTtlMs();
                // Without the report, some nodes have a script that says it anyway.
                assertTrue(ttlMs > 0 && ttlMs <= LONG.toMillis() || !isRemainingTtlReported() && ttlMs == -1,
                        outcome::toString);
            }
            // A node that does not have the plain lock may have granted the set, which is rolled back.
            awaitNone(names.stream().filter(name -> !name.equals(held)).toList());
            lease.release();
            awaitNone(names);
        }
    }

    @Test
    void aSetExcludesPlainLocksOfItsResourcesAndOverlappingSets() throws InterruptedException {
        List<String> names = names(4);
        Lease lease = acquired(client().acquireAll(names.subList(0, 3), ONCE));
        Redlock other = client();
        for (String name : names.subList(0, 3)) {
            assertEquals(AcquireOutcome.Kind.CONTENDED, other.tryAcquire(name, LONG).kind(), name);
        }
        assertEquals(AcquireOutcome.Kind.CONTENDED, other.tryAcquireAll(names.subList(2, 4), ONCE).kind(), "overlap");
        acquired(other.tryAcquire(names.get(3), LONG)).release();
        lease.release();
        awaitNone(names);
        acquired(other.tryAcquireAll(names.subList(2, 4), ONCE)).release();
    }

    @Test
    void theOrderOfTheResourcesDoesNotMatter() throws InterruptedException {
        List<String> names = names(3);
        List<String> reversed = new ArrayList<>(names);
        Collections.reverse(reversed);
        Redlock client = client();
        assertEquals(client.keyOfAll(names), client.keyOfAll(reversed), "one key");
        acquired(client.acquireAll(reversed, ONCE)).release();
        assertEquals(client.key(resource), client.keyOfAll(List.of(resource)), "a set of one is a plain lock");
    }

    @Test
    void extensionAndExpiryAreOfAllKeys() throws InterruptedException {
        List<String> names = names(8);
        Lease lease = acquired(client().acquireAll(names, AcquireOptions.ofTtl(Duration.ofSeconds(5)).tryOnce()));
        for (String name : names) {
            awaitKeyCount(name, quorum());
        }
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(LONG));
        int renewed = 0;
        for (int i = 0; i < voterCount(); i++) {
            int index = i;
            renewed += names.stream().allMatch(name -> node(index).pttl(name) > 10_000) ? 1 : 0;
        }
        assertTrue(renewed >= quorum(), "all keys on a quorum: " + renewed);
        lease.release();
    }

    @Test
    void aLostKeyOfAQuorumLosesTheSet() throws InterruptedException {
        List<String> names = names(3);
        Lease lease = acquired(client().acquireAll(names, ONCE));
        for (String name : names) {
            awaitKeyCount(name, quorum());
        }
        for (int i = 0; i < voterCount(); i++) {
            node(i).delete(names.get(1));
            node(i).setIfAbsent(names.get(1), "foreign", 20_000);
        }
        assertEquals(ExtendOutcome.LOST, lease.extend(LONG));
        for (String name : List.of(names.get(0), names.get(2))) {
            Await.until(() -> "the rest is released: " + keyCount(name), () -> keyCount(name) == 0);
        }
        assertEquals(Set.of("foreign"), tokensOf(names.get(1)), "and the foreign key stays");
        deleteEverywhere(names.get(1));
    }

    @Test
    void aMissingKeyIsSetAgainAndDoesNotCount() throws InterruptedException {
        List<String> names = names(3);
        Lease lease = acquired(client().acquireAll(names, ONCE));
        for (String name : names) {
            awaitKeyCount(name, quorum());
        }
        deleteEverywhere(names.get(2));
        assertEquals(ExtendOutcome.LOST, lease.extend(LONG));
        awaitNone(names);
    }

    @Test
    void waitersForOverlappingSetsAndPlainLocksAreWoken() throws InterruptedException {
        List<String> names = names(3);
        Redlock client = client();
        for (Redlock waiter : List.of(client, client())) {
            Lease set = acquired(client.acquireAll(names.subList(0, 2), ONCE));
            CompletableFuture<AcquireOutcome> overlapping = waiter.acquireAllAsync(names.subList(1, 3), WAITING)
                    .toCompletableFuture();
            Await.until("refused once", () -> waiter.counters().contendedAttemptCount() > 0);
            set.release();
            acquired(overlapping.join()).release();
            Lease plain = acquired(client.acquire(names.get(2), WAITING));
            CompletableFuture<AcquireOutcome> behindPlain = waiter.acquireAllAsync(names, WAITING)
                    .toCompletableFuture();
            plain.release();
            Lease all = acquired(behindPlain.join());
            CompletableFuture<AcquireOutcome> behindSet = waiter.acquireAsync(names.get(0), WAITING)
                    .toCompletableFuture();
            all.release();
            acquired(behindSet.join()).release();
        }
    }

    @Test
    void theCallbackFormAcceptsSets() throws InterruptedException {
        Redlock client = client();
        ResourceKey key = client.keyOfAll(names(4));
        Lease lease = client.newLease();
        for (int i = 0; i < 3; i++) {
            CountDownLatch isDecided = new CountDownLatch(1);
            client.acquire(key, WAITING, lease, outcome -> isDecided.countDown());
            assertTrue(isDecided.await(30, TimeUnit.SECONDS), "the callback runs");
            assertTrue(lease.isHeld(), lease::toString);
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
        }
        acquired(client.acquire(key, WAITING)).release();
        acquired(client.tryAcquire(key, ONCE)).release();
        acquired(client.acquireAsync(key, WAITING).toCompletableFuture().join()).release();
    }

    @Test
    void theViewLocksAllResources() throws Exception {
        List<String> names = names(3);
        Redlock client = client();
        RedlockLock view = client.asLockOfAll(names, AcquireOptions.ofTtl(LONG));
        view.lock();
        assertTrue(view.tryLock(), "again");
        for (String name : names) {
            assertEquals(AcquireOutcome.Kind.CONTENDED, client().tryAcquire(name, LONG).kind(), name);
        }
        assertEquals(Set.copyOf(names), Set.copyOf(view.lease().resources()));
        assertFalse(CompletableFuture.supplyAsync(() -> client.asLockOfAll(names, ONCE).tryLock()).get());
        view.unlock();
        view.unlock();
        awaitNone(names);
        assertThrows(IllegalMonitorStateException.class, view::unlock);
        assertRejected("0 resources are out of range", () -> client.asLockOfAll(List.of(), ONCE));
        for (AcquireOptions other : List.of(ONCE.forReading(), ONCE.forWriting(), ONCE.forPermitOf(4))) {
            assertRejected("asLockOfAll was called with options for ", () -> client.asLockOfAll(names, other));
            assertRejected("asLockOfAll was called with options for ",
                    () -> client.asLockOfAll(names.subList(0, 1), other));
        }
        assertThrows(NullPointerException.class, () -> client.asLockOfAll(names, null));
    }

    @Test
    void oneFencingTokenIsGreaterThanThoseOfEachResource() throws InterruptedException {
        List<String> names = names(3);
        Redlock client = client();
        AcquireOptions fenced = WAITING.fenced();
        long last = 0;
        for (List<String> set : List.of(names.subList(0, 2), names, names.subList(1, 3), names)) {
            Lease lease = acquired(client.acquireAll(set, fenced));
            assertTrue(lease.fencingToken() > last, last + " before " + lease);
            last = lease.fencingToken();
            lease.release();
        }
        for (String name : names) {
            Lease lease = acquired(client.acquire(name, fenced));
            assertTrue(lease.fencingToken() > last, last + " before " + lease);
            lease.release();
        }
        long highest = 0;
        for (int i = 0; i < 3; i++) {
            Lease lease = acquired(client().acquire(names.get(0), fenced));
            highest = lease.fencingToken();
            lease.release();
        }
        Lease lease = acquired(client().acquireAll(names, fenced));
        assertTrue(lease.fencingToken() > highest, highest + " before " + lease);
        lease.release();
        names.forEach(name -> deleteEverywhere(KeyText.counterName(name)));
    }

    @Test
    void overlappingSetsNeverHaveTwoHolders() throws InterruptedException {
        List<Redlock> both = List.of(client(), client());
        List<String> names = names(4);
        AtomicInteger[] holders = IntStream.range(0, 4)
                .mapToObj(i -> new AtomicInteger())
                .toArray(AtomicInteger[]::new);
        AtomicInteger overlaps = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int first = i;
            threads.add(new Thread(() -> dine(both.get(first % 2), names, holders, overlaps, first)));
            threads.get(i).start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, overlaps.get(), "two holders at the same time");
        assertEquals(0, Arrays.stream(holders).mapToInt(AtomicInteger::get).sum(), "all released");
    }

    private static void dine(Redlock client, List<String> names, AtomicInteger[] holders, AtomicInteger overlaps,
            int first) {
        int second = (first + 1) % names.size();
        try {
            for (int cycle = 0; cycle < 10; cycle++) {
                try (Lease lease = acquired(client.acquireAll(List.of(names.get(first), names.get(second)), WAITING))) {
                    overlaps.addAndGet(holders[first].incrementAndGet() + holders[second].incrementAndGet() == 2
                            && lease.isHeld() ? 0 : 1);
                    Thread.yield();
                    holders[first].decrementAndGet();
                    holders[second].decrementAndGet();
                }
            }
        } catch (InterruptedException e) {
            throw new AssertionError("no interrupt is expected", e);
        }
    }

    @Test
    void badSetsAreRejectedBeforeAnyCommand() {
        Redlock client = client();
        assertRejected("0 resources are out of range: a set has 1 to 64", () -> client.keyOfAll(List.of()));
        assertRejected("65 resources are out of range: a set has 1 to 64", () -> client.keyOfAll(names(65)));
        assertRejected("resource \"" + resource + "\" is in the set twice: give each resource once",
                () -> client.acquireAll(List.of(resource, resource), ONCE));
        assertRejected("resource \"\" is empty", () -> client.tryAcquireAll(List.of(resource, ""), ONCE));
        assertThrows(NullPointerException.class, () -> client.acquireAll(null, ONCE));
        assertThrows(NullPointerException.class, () -> client.acquireAll(Arrays.asList(resource, null), ONCE));
        assertThrows(NullPointerException.class, () -> client.acquireAll(names(2), null));
        names(65).forEach(name -> assertEquals(0, keyCount(name), "nothing was sent"));
        assertFalse(client.nodes().isEmpty());
    }

    private static void assertRejected(String message, org.junit.jupiter.api.function.Executable call) {
        String text = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(text.startsWith(message), text);
    }

    /** Clients that use native commands only leave none. */
    @Test
    void aSetThatWaitsLeavesItsReservationUntilItsGrant() throws Exception {
        List<String> names = names(3);
        for (int i = 0; i < voterCount(); i++) {
            node(i).setIfAbsent(names.get(1), "foreign", 60_000);
        }
        CompletableFuture<AcquireOutcome> waiting = client().acquireAllAsync(names, WAITING).toCompletableFuture();
        if (isRemainingTtlReported()) {
            awaitKeyCount(names.get(0) + RESERVATION, 1);
            awaitKeyCount(names.get(2) + RESERVATION, 1);
        }
        deleteEverywhere(names.get(1));
        acquired(waiting.get(LONG.toMillis(), TimeUnit.MILLISECONDS)).release();
        awaitNone(names.stream().map(name -> name + RESERVATION).toList());
        awaitNone(names);
    }

    @Test
    void aForeignKeyWithTheNameOfAReservationStaysAndDelaysNobodyForLong() throws Exception {
        List<String> names = names(2);
        String foreign = names.get(0) + RESERVATION;
        for (int i = 0; i < voterCount(); i++) {
            node(i).setIfAbsent(foreign, "foreign", 60_000);
        }
        Lease held = acquired(client().acquireAll(names, ONCE));
        Redlock other = client();
        CompletableFuture<AcquireOutcome> waiting = other.acquireAllAsync(names, WAITING).toCompletableFuture();
        Await.until(() -> "the waiter is not refused", () -> other.counters().contendedAttemptCount() > 1);
        held.release();
        acquired(waiting.get(LONG.toMillis(), TimeUnit.MILLISECONDS)).release();
        assertEquals(Set.of("foreign"), tokensOf(foreign));
        deleteEverywhere(foreign);
        awaitNone(names);
    }
}
