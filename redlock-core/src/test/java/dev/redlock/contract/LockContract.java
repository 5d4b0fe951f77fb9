package dev.redlock.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockLock;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseAction;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.LockInspection;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RunOutcome;
import dev.redlock.engine.key.KeyText;
import dev.redlock.testing.Await;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The behaviour of a lock on any set of at least three nodes, through the public API and through the keys that other
 * clients see. A subclass provides the nodes; they must have no keys {@code contract/...}, or {@link #deleteEverywhere}
 * empties them between tests.
 */
public abstract class LockContract extends SetContract {

    // ---- acquire ----------------------------------------------------------------------------------------------------

    @Test
    void acquireSetsOneTokenWithExpiryAndReleaseDeletesIt() throws InterruptedException {
        Lease lease = acquired(client().tryAcquire(resource, LONG));
        assertTrue(lease.isHeld(), "held after it was acquired: " + lease);
        assertTrue(lease.remainingValidityNs() < LONG.toNanos() && lease.remainingValidityNs() > 0,
                "validity is below the ttl: " + lease.remainingValidityNs());
        awaitKeys();
        Set<String> tokens = tokensOf(resource);
        assertEquals(1, tokens.size(), "one token on all nodes");
        assertEquals(20 + label().length(), tokens.iterator().next().length(), "bytes of a token");
        assertEquals(label(), tokens.iterator().next().substring(20), "the name after the token");
        for (int i = 0; i < voterCount(); i++) {
            if (node(i).get(resource) != null) {
                long ttlMs = node(i).pttl(resource);
                assertTrue(ttlMs > 0 && ttlMs <= LONG.toMillis(), "ttl on node " + i + " is " + ttlMs);
            }
        }
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), "a quorum deleted it");
        assertEquals(LeaseState.RELEASED, lease.state(), "state after release");
        assertFalse(lease.isHeld(), "not held after release");
        awaitNoKey();
    }

    @Test
    void eachAttemptHasItsOwnToken() throws InterruptedException {
        Redlock client = client();
        Set<String> tokens = new HashSet<>();
        for (int i = 0; i < 5; i++) {
            Lease lease = acquired(client.tryAcquire(resource, LONG));
            awaitKeys();
            tokens.addAll(tokensOf(resource));
            lease.release();
            awaitNoKey();
        }
        assertEquals(5, tokens.size(), "five attempts, five tokens");
    }

    @Test
    void aHeldLockIsContendedForEveryOtherCaller() throws InterruptedException {
        Redlock holder = client();
        Lease lease = acquired(holder.tryAcquire(resource, LONG));
        awaitKeys();
        String token = tokensOf(resource).iterator().next();
        for (Redlock other : List.of(holder, client())) {
            AcquireOutcome outcome = other.tryAcquire(resource, LONG);
            assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
            assertTrue(outcome.refusedCount() >= quorum() - (voterCount() + 1) % 2, outcome::toString);
            assertTrue(isRemainingTtlReported()
                    ? outcome.shortestRemainingTtlMs() > 0 && outcome.shortestRemainingTtlMs() <= LONG.toMillis()
                    : outcome.shortestRemainingTtlMs() == -1, outcome::toString);
            assertThrows(IllegalStateException.class, outcome::lease, "there is no lease");
        }
        assertEquals(Set.of(token), tokensOf(resource), "the rollback of the others left the holder's key");
        assertTrue(lease.isHeld(), "the holder still holds");
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), "the holder's release");
    }

    @Test
    void aLockByThePublishedPatternExcludesThisClient() throws InterruptedException {
        Redlock client = client();
        for (int i = 0; i < quorum(); i++) {
            assertTrue(node(i).setIfAbsent(resource, "foreign", 20_000), "foreign SET NX on node " + i);
        }
        AcquireOutcome outcome = client.tryAcquire(resource, LONG);
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
        Await.until("the rollback deleted the keys of this client and left the foreign ones",
                () -> tokensOf(resource).equals(Set.of("foreign")));
        deleteEverywhere(resource);
        acquired(client.tryAcquire(resource, LONG)).release();
    }

    @Test
    void aLockOfThisClientExcludesThePublishedPattern() throws InterruptedException {
        Lease lease = acquired(client().tryAcquire(resource, LONG));
        awaitKeys();
        int refusedCount = 0;
        for (int i = 0; i < voterCount(); i++) {
            if (node(i).setIfAbsent(resource, "foreign", 20_000)) {
                node(i).delete(resource);
            } else {
                refusedCount++;
            }
        }
        assertTrue(refusedCount >= lockedCount(), "foreign SET NX refused by " + refusedCount);
        lease.release();
        awaitNoKey();
        assertTrue(node(0).setIfAbsent(resource, "foreign", 20_000), "free after the release");
    }

    @Test
    void aForeignKeyOnAMinorityNeitherBlocksNorChanges() throws InterruptedException {
        Redlock client = client();
        assertTrue(node(0).setIfAbsent(resource, "foreign", 20_000), "foreign SET NX");
        Lease lease = acquired(client.tryAcquire(resource, LONG));
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), "a quorum deleted the key of this client");
        Await.until("only the foreign key is left", () -> tokensOf(resource).equals(Set.of("foreign")));
    }

    @Test
    void aForeignKeyWithoutExpiryIsReported() throws InterruptedException {
        Redlock client = client();
        for (int i = 0; i < voterCount(); i++) {
            assertTrue(node(i).setIfAbsent(resource, "without expiry", -1), "foreign SET NX on node " + i);
        }
        AcquireOutcome outcome = client.tryAcquire(resource, LONG);
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
        assertEquals(isRemainingTtlReported() ? Long.MAX_VALUE : -1, outcome.shortestRemainingTtlMs(),
                outcome::toString);
    }

    @Test
    void aForeignKeyOfAnotherTypeIsNamed() throws InterruptedException {
        Redlock client = client();
        for (int i = 0; i < voterCount(); i++) {
            node(i).setHash(resource, 3_600_000);
        }
        AcquireOptions options = AcquireOptions.ofTtl(LONG).tryOnce();
        for (AcquireOptions kind : List.of(options, options.fenced(), options.forReading(), options.forWriting())) {
            AcquireOutcome outcome = client.acquire(resource, kind);
            assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
            assertTrue(outcome.advice()
                    .contains(outcome.shortestRemainingTtlMs() < 0
                            ? "look at the key with TYPE"
                            : "\"" + resource + "\" has the type hash, and a lock has the type string"),
                    outcome::advice);
        }
    }

    @Test
    void namesInAnyAlphabetAreKeysWithoutChange() throws InterruptedException {
        String name = resource + "/\u00e4\u4e16\u754c \r\n$3";
        Lease lease = acquired(client().tryAcquire(name, LONG));
        String key = new String(name.getBytes(java.nio.charset.StandardCharsets.UTF_8),
                java.nio.charset.StandardCharsets.ISO_8859_1);
        Await.until("the key has its UTF-8 name", () -> keyCount(key) >= quorum());
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), "released under the same name");
    }

    @Test
    void thePrefixPrecedesTheKey() throws InterruptedException {
        Lease lease = acquired(client(context().keyPrefix("contract-prefix:")).tryAcquire(resource, LONG));
        Await.until("the key has the prefix", () -> keyCount("contract-prefix:" + resource) >= quorum());
        assertEquals(0, keyCount(resource), "no key without the prefix");
        assertEquals(resource, lease.resource(), "the caller sees the name without the prefix");
        lease.release();
    }

    @Test
    void aNameInTheValueIsPartOfWhatIsCompared() throws InterruptedException {
        Redlock named = client(context().clientName("orders-1").nameInValues(true));
        for (AcquireOptions options : List.of(AcquireOptions.ofTtl(LONG), AcquireOptions.ofTtl(LONG).fenced())) {
            Lease lease = acquired(named.tryAcquire(resource, options));
            // A fenced acquire by native commands loads its script first: a node may get it after the decision.
            Await.until("a quorum has the key", () -> keyCount(resource) >= quorum());
            String value = tokensOf(resource).iterator().next();
            assertEquals("@orders-1", value.substring(20), "the name after the token");
            assertEquals(AcquireOutcome.Kind.CONTENDED, client().tryAcquire(resource, LONG).kind(), "without a name");
            assertEquals(ExtendOutcome.EXTENDED, lease.extend(LONG), "the whole value is compared");
            assertEquals(ReleaseOutcome.RELEASED, lease.release(), "the whole value is compared");
            awaitNoKey();
        }
        Lease lease = acquired(named.tryAcquire(resource, LONG));
        awaitKeys();
        deleteEverywhere(resource);
        for (int i = 0; i < voterCount(); i++) {
            node(i).setIfAbsent(resource, "a token of 20 bytes.@orders-1", 20_000);
        }
        assertEquals(ExtendOutcome.LOST, lease.extend(LONG), "the same name with another token");
        assertEquals(1, tokensOf(resource).size(), "and its keys stay");
        assertEquals(voterCount(), keyCount(resource), "on all nodes");
    }

    @Test
    void noPrintedTextShowsTheToken() throws InterruptedException {
        Redlock client = client();
        AcquireOutcome outcome = client.tryAcquire(resource, LONG);
        awaitKeys();
        String token = tokensOf(resource).iterator().next();
        String hex = token.chars().mapToObj(c -> String.format("%02x", c)).reduce("", String::concat);
        for (Object printed : List.of(outcome, outcome.lease(), client, client.nodes(), client.counters())) {
            String text = printed.toString();
            assertFalse(text.contains(token) || text.toLowerCase(java.util.Locale.ROOT).contains(hex.substring(0, 8)),
                    "shows the token: " + text);
        }
    }

    // ---- waiting ----------------------------------------------------------------------------------------------------

    @Test
    void aWaiterOfAnotherClientAcquiresAfterTheRelease() throws InterruptedException {
        Lease lease = acquired(client().tryAcquire(resource, LONG));
        Redlock other = client();
        CompletableFuture<AcquireOutcome> waiting = other
                .acquireAsync(resource, AcquireOptions.ofTtl(LONG).waitUpTo(LONG))
                .toCompletableFuture();
        Await.until("the waiter has been refused once", () -> other.counters().contendedAttemptCount() > 0);
        assertFalse(waiting.isDone(), "it waits");
        lease.release();
        acquired(waiting.join()).release();
    }

    @Test
    void waitersOfOneClientAreServedInOrder() throws InterruptedException {
        Redlock client = client();
        Lease lease = acquired(client.tryAcquire(resource, LONG));
        List<Integer> served = Collections.synchronizedList(new ArrayList<>());
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int place = i;
            all.add(client.acquireAsync(resource, AcquireOptions.ofTtl(LONG).waitUpTo(LONG))
                    .thenCompose(outcome -> {
                        served.add(outcome.isAcquired() ? place : -1);
                        return outcome.lease().releaseAsync();
                    })
                    .toCompletableFuture());
        }
        lease.release();
        CompletableFuture.allOf(all.toArray(new CompletableFuture<?>[0])).join();
        assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7), served, "first come, first served");
    }

    @Test
    void aWaitBudgetEndsAsTimedOut() throws InterruptedException {
        Redlock client = client();
        Lease lease = acquired(client.tryAcquire(resource, LONG));
        long startNs = System.nanoTime();
        AcquireOutcome outcome = client().tryAcquire(resource, LONG, Duration.ofMillis(60));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.lastReason(), outcome::toString);
        assertTrue(outcome.attemptCount() >= 1, outcome::toString);
        assertTrue(System.nanoTime() - startNs >= 60_000_000, "it did not give up early");
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, client.tryAcquire(resource, LONG, Duration.ofMillis(20)).kind(),
                "also for a waiter of the same client");
        assertEquals(1, tokensOf(resource).size(), "only the holder's key exists");
        lease.release();
    }

    @Test
    void threadsNeverHoldTheLockAtTheSameTime() throws InterruptedException {
        List<Redlock> both = List.of(client(), client());
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger overlaps = new AtomicInteger();
        AtomicInteger grants = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Redlock client = both.get(i % 2);
            Thread thread = new Thread(() -> runCycles(client, inside, overlaps, grants));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, overlaps.get(), "two holders at the same time");
        assertEquals(40, grants.get(), "every worker got the lock each time");
        awaitNoKey();
    }

    private void runCycles(Redlock client, AtomicInteger inside, AtomicInteger overlaps,
            AtomicInteger grants) {
        try {
            for (int cycle = 0; cycle < 10; cycle++) {
                try (Lease lease = client.tryAcquire(resource, LONG, Duration.ofSeconds(30)).lease()) {
                    overlaps.addAndGet(inside.incrementAndGet() == 1 && lease.isHeld() ? 0 : 1);
                    grants.incrementAndGet();
                    Thread.yield();
                    inside.decrementAndGet();
                }
            }
        } catch (InterruptedException e) {
            throw new AssertionError("no interrupt is expected", e);
        }
    }

    // ---- release ----------------------------------------------------------------------------------------------------

    @Test
    void releasingTwiceIsNotAnError() throws InterruptedException {
        Lease lease = acquired(client().tryAcquire(resource, LONG));
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), "first");
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), "the second release returns the outcome of the first");
        lease.close();
        assertEquals(LeaseState.RELEASED, lease.state(), "and again");
    }

    @Test
    void releaseDoesNotDeleteAnotherHoldersKey() throws InterruptedException {
        Lease lease = acquired(client().tryAcquire(resource, LONG));
        awaitKeys();
        deleteEverywhere(resource);
        for (int i = 0; i < voterCount(); i++) {
            node(i).setIfAbsent(resource, "next holder", 20_000);
        }
        assertEquals(ReleaseOutcome.EXPIRED, lease.release(), "the key of this client was gone");
        assertEquals(Set.of("next holder"), tokensOf(resource), "the key of the next holder is unchanged");
    }

    @Test
    void closeDoesNotThrowIfTheLockIsGone() throws InterruptedException {
        Lease lease = acquired(client().tryAcquire(resource, LONG));
        awaitKeys();
        deleteEverywhere(resource);
        lease.close();
        lease.close();
        Await.until("closed", () -> lease.state() == LeaseState.RELEASED);
    }

    /** The release and the next attempt take the same connections, in order. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCallerThatHasClosedFindsTheLockFree(boolean isFenced) throws InterruptedException {
        Redlock client = client();
        AcquireOptions options = AcquireOptions.ofTtl(LONG).tryOnce();
        options = isFenced ? options.fenced() : options;
        for (int i = 0; i < 200; i++) {
            Lease lease = acquired(client.acquire(resource, options));
            lease.close();
            assertFalse(lease.isHeld(), "not held after close");
            assertTrue(Set.of(LeaseState.RELEASING, LeaseState.RELEASED).contains(lease.state()), lease::toString);
            if (i % 10 == 0) {
                assertEquals(ReleaseOutcome.RELEASED, lease.release(), "release() waits for the outcome");
            }
        }
        awaitNoKey();
    }

    @Test
    void aClosedLeaseIsUsedAgainAtOnce() throws InterruptedException {
        Redlock client = client();
        Lease lease = client.newLease();
        AcquireOptions options = AcquireOptions.ofTtl(LONG).tryOnce();
        for (int i = 0; i < 100; i++) {
            CompletableFuture<AcquireOutcome> outcome = new CompletableFuture<>();
            client.acquire(client.key(resource), options, lease, outcome::complete);
            acquired(outcome.join());
            assertTrue(lease.isHeld(), "held in its next use");
            lease.close();
        }
        awaitNoKey();
    }

    @Test
    void withTheOptionACloseWaitsForTheRelease() throws InterruptedException {
        Redlock client = client(context().closeWaits(true));
        for (int i = 0; i < 20; i++) {
            Lease lease = acquired(client.tryAcquire(resource, LONG));
            lease.close();
            assertEquals(LeaseState.RELEASED, lease.state());
        }
    }

    @Test
    void theCloseOfTheClientWaitsForReleasesOnTheWay() throws InterruptedException {
        Redlock client = client();
        for (int i = 0; i < 50; i++) {
            acquired(client.tryAcquire(resource + "/" + i, LONG)).close();
        }
        CloseReport report = client.closeWithin(LONG);
        assertTrue(report.isClean(), report::toString);
        for (int i = 0; i < 50; i++) {
            int left = 0;
            for (int node = 0; node < voterCount(); node++) {
                left += node(node).get(resource + "/" + i) == null ? 0 : 1;
            }
            assertTrue(left <= voterCount() - quorum(), "a quorum has executed the release, " + left + " have not");
        }
    }

    // ---- extend and expiry ------------------------------------------------------------------------------------------

    @Test
    void extendRenewsTheExpiryOnTheNodes() throws InterruptedException {
        Lease lease = acquired(client().tryAcquire(resource, Duration.ofSeconds(15)));
        awaitKeys();
        long before = lease.remainingValidityNs();
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(Duration.ofSeconds(50)), lease::toString);
        assertTrue(lease.remainingValidityNs() > before + TimeUnit.SECONDS.toNanos(20), "validity grew: " + lease);
        Await.until("every node has the new expiry", () -> node(voterCount() - 1).pttl(resource) > 20_000);
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), "release after extension");
        awaitNoKey();
    }

    @Test
    void extendCanShorten() throws InterruptedException {
        Lease lease = acquired(client().tryAcquire(resource, Duration.ofSeconds(50)));
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(Duration.ofSeconds(10)), lease::toString);
        assertTrue(lease.remainingValidityNs() <= TimeUnit.SECONDS.toNanos(10), "validity shrank: " + lease);
        lease.release();
    }

    @Test
    void extendSetsAMissingKeyOfAMinorityAgain() throws InterruptedException {
        Lease lease = acquired(client().tryAcquire(resource, LONG));
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(LONG), lease::toString);
        awaitKeys(voterCount());
        Set<String> tokens = tokensOf(resource);
        node(0).delete(resource);
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(LONG), lease::toString);
        awaitKeys(voterCount());
        assertEquals(tokens, tokensOf(resource), "the same token on all nodes again");
        lease.release();
        awaitNoKey();
    }

    @Test
    void extendDoesNotCountKeysThatItSetAgain() throws InterruptedException {
        AtomicReference<LeaseState> received = new AtomicReference<>();
        Redlock client = client();
        Lease lease = acquired(client.acquire(client.key(resource),
                AcquireOptions.ofTtl(LONG).tryOnce().listener((lost, state) -> received.set(state))));
        awaitKeys();
        deleteEverywhere(resource);
        assertEquals(ExtendOutcome.LOST, lease.extend(LONG), lease::toString);
        assertEquals(LeaseState.LOST, lease.state(), "lost");
        Await.until("the listener is notified", () -> received.get() != null);
        assertEquals(LeaseState.LOST, received.get(), "state that the listener receives");
        assertEquals(ExtendOutcome.EXPIRED, lease.extend(LONG), "a lost lease cannot be extended");
        awaitNoKey();
    }

    @Test
    void aLeaseThatIsNotReleasedExpires() throws InterruptedException {
        CompletableFuture<LeaseState> received = new CompletableFuture<>();
        Redlock client = client();
        Lease lease = acquired(client.acquire(client.key(resource), AcquireOptions.ofTtl(Duration.ofMillis(300))
                .waitUpTo(LONG)
                .listener((lost, state) -> received.complete(state))));
        assertEquals(LeaseState.EXPIRED, received.join(), "the listener is notified");
        assertEquals(LeaseState.EXPIRED, lease.state(), "state");
        assertFalse(lease.isHeld(), "not held");
        assertEquals(ReleaseOutcome.EXPIRED, lease.release(), "a release afterwards does not throw");
        awaitNoKey();
        acquired(client().tryAcquire(resource, LONG)).release();
    }

    @Test
    void autoExtensionKeepsTheLockWithinItsLimit() throws InterruptedException {
        CompletableFuture<LeaseState> lost = new CompletableFuture<>();
        AtomicInteger extensions = new AtomicInteger();
        LeaseListener listener = new LeaseListener() {
            @Override
            public void onLost(Lease lease, LeaseState state) {
                lost.complete(state);
            }

            @Override
            public void onExtended(Lease lease, int extensionCount) {
                extensions.set(extensionCount);
            }
        };
        Redlock client = client();
        acquired(client.acquire(client.key(resource), AcquireOptions.ofTtl(Duration.ofMillis(600))
                .waitUpTo(LONG)
                .listener(listener)
                .autoExtend(2, Duration.ofMinutes(1))));
        assertEquals(LeaseState.EXPIRED, lost.join(), "it ends finally");
        assertEquals(2, extensions.get(), "extended up to the limit");
        awaitNoKey();
    }

    // ---- forms ------------------------------------------------------------------------------------------------------

    @Test
    void theCallbackFormReusesOneLease() {
        Redlock client = client();
        Lease lease = client.newLease();
        ResourceKey key = client.key(resource);
        AcquireOptions options = AcquireOptions.ofTtl(LONG).tryOnce();
        AtomicInteger rounds = new AtomicInteger();
        CompletableFuture<Integer> done = new CompletableFuture<>();
        ReleaseCallback[] released = new ReleaseCallback[1];
        AcquireCallback acquired = outcome -> {
            assertSame(lease, outcome.lease(), "the given lease");
            lease.release(released[0]);
        };
        released[0] = (given, outcome) -> {
            if (outcome != ReleaseOutcome.RELEASED || rounds.incrementAndGet() == 20) {
                done.complete(rounds.get());
            } else {
                client.acquire(key, options, lease, acquired);
            }
        };
        client.acquire(key, options, lease, acquired);
        assertEquals(20, done.join(), "rounds with one lease");
    }

    @Test
    void aLeaseInUseIsRejected() throws InterruptedException {
        Redlock client = client();
        Lease lease = acquired(client.tryAcquire(resource, LONG));
        assertThrows(IllegalStateException.class, () -> client.acquire(client.key(resource),
                AcquireOptions.ofTtl(LONG).tryOnce(), lease, outcome -> {
                }), "the lease is held");
        assertThrows(IllegalArgumentException.class, () -> client().acquire(client.key(resource),
                AcquireOptions.ofTtl(LONG).tryOnce(), lease, outcome -> {
                }), "the lease is another client's");
        lease.release();
    }

    @Test
    void blockingCallsOnTheEventLoopThrow() {
        Redlock client = client();
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        client.acquire(client.key(resource), AcquireOptions.ofTtl(LONG).tryOnce(), client.newLease(), outcome -> {
            try {
                client.tryAcquire(resource, LONG);
                thrown.complete(null);
            } catch (IllegalStateException | InterruptedException e) {
                thrown.complete(e);
            }
            outcome.lease().close();
        });
        Throwable refusal = thrown.join();
        assertNotNull(refusal, "a blocking call on the loop must throw");
        assertEquals(IllegalStateException.class, refusal.getClass(), "exception of the call");
        awaitNoKey();
    }

    @Test
    void cancellingTheFutureLeavesNoKey() throws InterruptedException {
        Redlock client = client();
        Lease lease = acquired(client.tryAcquire(resource, LONG));
        Redlock other = client();
        CompletableFuture<AcquireOutcome> waiting = other
                .acquireAsync(resource, AcquireOptions.ofTtl(LONG).waitUpTo(LONG))
                .toCompletableFuture();
        Await.until("the waiter has been refused once", () -> other.counters().contendedAttemptCount() > 0);
        waiting.cancel(true);
        Await.until("the cancellation is counted",
                () -> other.counters().outcomeCount(AcquireOutcome.Kind.CANCELLED) == 1);
        lease.release();
        awaitNoKey();
        CompletableFuture<AcquireOutcome> atOnce = other
                .acquireAsync(resource, AcquireOptions.ofTtl(LONG).tryOnce())
                .toCompletableFuture();
        assertTrue(atOnce.cancel(true), "whether the acquisition has ended or not");
        awaitNoKeyForGood(other);
    }

    /** Cancellations at all moments around the completion: a lock is taken or released, never both or none. */
    @Test
    void aRaceOfCancellationAndCompletionLeavesNoKey() throws InterruptedException {
        Redlock client = client();
        AcquireOptions options = AcquireOptions.ofTtl(LONG).tryOnce().autoExtend();
        for (int i = 0; i < 300; i++) {
            CompletableFuture<AcquireOutcome> future = client.acquireAsync(resource, options).toCompletableFuture();
            CompletableFuture<Boolean> taken = new CompletableFuture<>();
            CompletableFuture<Void> reader = i % 3 == 0
                    ? future.thenAcceptAsync(outcome -> taken.complete(outcome.isAcquired()))
                    : future.thenAccept(outcome -> taken.complete(outcome.isAcquired()));
            for (int left = i % 100 * 20; left > 0 && !future.isDone(); left--) {
                Thread.onSpinWait();
            }
            boolean isCancelled = (i % 2 == 0 ? future : reader).cancel(true);
            if (!future.isCancelled()) {
                assertTrue(taken.join(), () -> "not cancelled, so its reader has it; " + isCancelled);
                future.join().lease().close();
            } else {
                assertFalse(taken.getNow(false), "its reader has it, so it is not cancelled");
            }
        }
        awaitNoKeyForGood(client);
    }

    /** The rollback of a cancelled acquisition follows a later lock on the same connections. */
    private void awaitNoKeyForGood(Redlock client) throws InterruptedException {
        acquired(client.tryAcquire(resource + "/later", LONG)).release();
        awaitNoKey();
    }

    @Test
    void anInterruptRollsBack() throws InterruptedException {
        Redlock holder = client();
        Lease lease = acquired(holder.tryAcquire(resource, LONG));
        Redlock other = client();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            try {
                other.tryAcquire(resource, LONG, LONG);
            } catch (InterruptedException e) {
                thrown.set(e);
            }
        });
        waiter.start();
        Await.until("the waiter has been refused once", () -> other.counters().contendedAttemptCount() > 0);
        waiter.interrupt();
        waiter.join();
        assertNotNull(thrown.get(), "the interrupt arrives");
        lease.release();
        awaitNoKeyForGood(other);
    }

    // ---- closing and bad input --------------------------------------------------------------------------------------

    // ---- fencing ----------------------------------------------------------------------------------------------------

    private static final AcquireOptions FENCED = AcquireOptions.ofTtl(LONG).fenced().waitUpTo(LONG);

    private String counter() {
        return KeyText.counterName(resource);
    }

    /** Grants once by each form of the API; returns the fencing tokens. */
    private List<Long> fencedByEachForm(Redlock client) throws InterruptedException {
        List<Long> tokens = new ArrayList<>();
        java.util.function.Consumer<AcquireOutcome> take = outcome -> {
            tokens.add(acquired(outcome).fencingToken());
            outcome.lease().releaseAsync().toCompletableFuture().join();
        };
        take.accept(client.acquire(client.key(resource), FENCED));
        take.accept(client.acquireAsync(resource, FENCED).toCompletableFuture().join());
        CountDownLatch isDecided = new CountDownLatch(1);
        Lease reusable = client.newLease();
        AtomicReference<AcquireOutcome> byCallback = new AtomicReference<>();
        client.acquire(client.key(resource), FENCED, reusable, outcome -> {
            byCallback.set(outcome);
            isDecided.countDown();
        });
        assertTrue(isDecided.await(30, TimeUnit.SECONDS), "the callback runs");
        take.accept(byCallback.get());
        RedlockLock view = client.asLock(resource, FENCED);
        view.lock();
        tokens.add(view.lease().fencingToken());
        view.unlock();
        return tokens;
    }

    @Test
    void fencingTokensGrowInEveryApiFormAndAcrossClients() throws InterruptedException {
        List<Long> tokens = new ArrayList<>(fencedByEachForm(client()));
        tokens.addAll(fencedByEachForm(client()));
        for (int i = 0; i < tokens.size(); i++) {
            assertTrue(tokens.get(i) > (i == 0 ? 0 : tokens.get(i - 1)), "positive and increasing: " + tokens);
        }
    }

    @Test
    void fencingTokenOfAPlainLeaseThrowsWithItsName() throws InterruptedException {
        Lease lease = acquired(client().tryAcquire(resource, LONG));
        String message = assertThrows(IllegalStateException.class, lease::fencingToken).getMessage();
        assertTrue(message.contains(resource) && message.contains("fenced"), message);
        lease.release();
    }

    @Test
    void differentCountersAreRaisedAndAgreeAfterTheRelease() throws InterruptedException {
        Redlock client = client();
        for (int i = 0; i < voterCount(); i++) {
            assertTrue(node(i).setIfAbsent(counter(), Integer.toString(1_000 * (i + 1)), 60_000), "counter " + i);
        }
        Lease lease = acquired(client.acquire(client.key(resource), FENCED));
        long fencingToken = lease.fencingToken();
        assertTrue(fencingToken % 1_000 == 1 && fencingToken > 1_000 * (quorum() - 1), "an incremented counter: "
                + fencingToken);
        assertEquals(1, client.counters().raisedCount(), "it took a second round trip");
        assertEquals(ReleaseOutcome.RELEASED, lease.release(), "released");
        Await.until("all counters of the lock agree", () -> {
            int agreeingCount = 0;
            for (int i = 0; i < voterCount(); i++) {
                agreeingCount += Long.toString(fencingToken).equals(node(i).get(counter())) ? 1 : 0;
            }
            return agreeingCount >= lockedCount();
        });
        Lease next = acquired(client.acquire(client.key(resource), FENCED));
        assertEquals(fencingToken + 1, next.fencingToken(), "the next one");
        assertEquals(1, client.counters().raisedCount(), "and that took one round trip");
        next.release();
        int dayCount = 0;
        for (int i = 0; i < voterCount(); i++) {
            dayCount += node(i).pttl(counter()) > 80_000_000 ? 1 : 0;
            node(i).delete(counter());
        }
        assertTrue(dayCount >= lockedCount(), "counters that stay for a day: " + dayCount);
    }

    /** If users choose names, the holder of one lock must not break another one. */
    @Test
    void noLockKeyIsACounterKey() throws InterruptedException {
        Redlock client = client();
        String alike = resource + ":redlock:fence";
        for (String name : List.of(alike, counter(), "{" + resource + "}:redlock:fence")) {
            assertThrows(IllegalArgumentException.class, () -> client.tryAcquire(name, LONG), name);
        }
        for (int i = 0; i < voterCount(); i++) {
            assertTrue(node(i).setIfAbsent(alike, "another client's lock by the published pattern", 60_000),
                    "node " + i);
        }
        try {
            Lease first = acquired(client.acquire(client.key(resource), FENCED));
            long fencingToken = first.fencingToken();
            assertEquals(ReleaseOutcome.RELEASED, first.release(), "released");
            Lease second = acquired(client.acquire(client.key(resource), FENCED));
            assertTrue(second.fencingToken() > fencingToken, "incremented");
            assertEquals(ReleaseOutcome.RELEASED, second.release(), "released");
            for (int i = 0; i < voterCount(); i++) {
                assertEquals("another client's lock by the published pattern", node(i).get(alike), "node " + i);
            }
        } finally {
            deleteEverywhere(alike);
            deleteEverywhere(counter());
        }
    }

    /** One counter is ahead of the clocks: the others make the tokens, and are not raised. */
    @Test
    void oneCounterOutOfRangeDoesNotPreventGrants() throws InterruptedException {
        Redlock client = client();
        assertTrue(node(0).setIfAbsent(counter(), "9007199254740989", 60_000), "the last numbers");
        long before = 0;
        for (int i = 0; i < 6; i++) {
            Lease lease = acquired(client.acquire(client.key(resource), FENCED));
            assertTrue(lease.fencingToken() > before && lease.fencingToken() < 1L << 52, lease::toString);
            before = lease.fencingToken();
            assertEquals(ReleaseOutcome.RELEASED, lease.release(), "released");
        }
        for (int i = 1; i < voterCount(); i++) {
            String counter = node(i).get(counter());
            assertTrue(counter == null || Long.parseLong(counter) < 1L << 52, "node " + i + " was raised");
        }
        deleteEverywhere(counter());
    }

    /** Integers of Lua are exact up to 2^53 - 1; the last of them is granted, and nothing after it. */
    @Test
    void aCounterAtItsMaximumGrantsNothing() throws InterruptedException {
        Redlock client = client();
        for (int i = 0; i < voterCount(); i++) {
            assertTrue(node(i).setIfAbsent(counter(), "9007199254740990", 60_000), "counter " + i);
        }
        AcquireOptions once = AcquireOptions.ofTtl(LONG).tryOnce().fenced();
        Lease last = acquired(client.acquire(client.key(resource), once));
        assertEquals((1L << 53) - 1, last.fencingToken(), "the largest exact integer");
        assertEquals(ReleaseOutcome.RELEASED, last.release(), "released");
        AcquireOutcome outcome = client.acquire(client.key(resource), once);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertTrue(outcome.toString().contains("FENCE"), outcome::toString);
        awaitNoKey();
        for (int i = 0; i < voterCount(); i++) {
            int index = i;
            // The last node may still be executing the acquire when the others have decided.
            Await.until("counter " + i, () -> "9007199254740991".equals(node(index).get(counter())));
            node(i).delete(counter());
        }
    }

    /** Values that only a person or another program can have written. */
    @ParameterizedTest
    @ValueSource(strings = {"-5", "many"})
    void aCounterThatIsNoCountGrantsNothingAndHasItsReason(String value) throws InterruptedException {
        Redlock client = client();
        for (int i = 0; i < voterCount(); i++) {
            assertTrue(node(i).setIfAbsent(counter(), value, 60_000), "counter " + i);
        }
        AcquireOutcome outcome = client.acquire(client.key(resource),
                AcquireOptions.ofTtl(LONG).tryOnce().fenced());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertTrue(outcome.toString().contains("failed: FENCE"), outcome::toString);
        awaitNoKeyForGood(client);
        for (int i = 0; i < voterCount(); i++) {
            assertEquals(value, node(i).get(counter()), "counter " + i);
            node(i).delete(counter());
        }
    }

    /** A stage has the threads of every stage: its own, or that of the code that adds a function late. */
    @Test
    void functionsOfAStageRunOffTheEventLoopOrWhereTheyAreAddedLate() throws InterruptedException {
        Redlock holder = client();
        Lease lease = acquired(holder.tryAcquire(resource, LONG));
        Redlock client = client();
        CompletableFuture<Boolean> isOffLoop = client
                .acquireAsync(resource, AcquireOptions.ofTtl(LONG).waitUpTo(LONG))
                .thenApply(outcome -> {
                    // Blocking calls are rejected on the loop only.
                    outcome.lease().release();
                    return true;
                })
                .toCompletableFuture();
        Await.until("the waiter has been refused once", () -> client.counters().contendedAttemptCount() > 0);
        lease.release();
        assertTrue(isOffLoop.join());
        CompletableFuture<AcquireOutcome> complete = client
                .acquireAsync(resource + "/late", AcquireOptions.ofTtl(LONG))
                .toCompletableFuture();
        acquired(complete.join());
        assertEquals(Thread.currentThread(), complete.thenApply(outcome -> Thread.currentThread()).join());
        acquired(complete.join()).release();
    }

    // ---- jobs -------------------------------------------------------------------------------------------------------

    @Test
    void aJobRunsOnOneOfTwoClientsAndKeepsItsLock() throws InterruptedException {
        Redlock[] instances = {client(), client()};
        AcquireOptions once = AcquireOptions.ofTtl(LONG).autoExtend().holdAtLeast(Duration.ofMillis(400));
        List<String> runs = Collections.synchronizedList(new ArrayList<>());
        long startNs = System.nanoTime();
        for (Redlock instance : instances) {
            AcquireOutcome outcome = instance.tryRun(resource, once, lease -> {
                assertTrue(lease.isHeld(), "held while the job runs");
                runs.add(lease.resource());
            });
            assertEquals(runs.size() == 1 && instance == instances[0], outcome.isAcquired(), outcome::toString);
        }
        assertEquals(List.of(resource), runs, "one of two");
        AcquireOutcome again = instances[1].tryRun(resource, once.waitUpTo(LONG), lease -> runs.add("again"));
        assertTrue(again.isAcquired(), again::toString);
        assertTrue(System.nanoTime() - startNs >= 400_000_000, "not before its time");
        IllegalStateException thrown = assertThrows(IllegalStateException.class,
                () -> instances[0].tryRun(resource + "/2", once, lease -> {
                    throw new IllegalStateException("the job failed");
                }));
        assertEquals("the job failed", thrown.getMessage());
        assertFalse(instances[1].tryRun(resource + "/2", once, lease -> runs.add("failed")).isAcquired(),
                "a job that throws keeps its lock too");
        assertEquals(List.of(resource, "again"), runs);
        assertThrows(NullPointerException.class, () -> instances[0].tryRun(resource, once, null));
        LeaseAction action = lease -> {
            throw new IOException("of any kind");
        };
        assertThrows(IOException.class, () -> instances[0].tryRun(resource + "/3", once, action));
    }

    @Test
    void tasksReturnValuesAndWaitForTheirLock() throws Exception {
        Redlock client = client();
        AcquireOptions options = AcquireOptions.ofTtl(LONG);
        RunOutcome<Integer> outcome = client.call(resource, options, lease -> {
            assertTrue(lease.isHeld(), "held while the task runs");
            RunOutcome<String> refused = client.tryCall(resource, options, inner -> "never");
            assertFalse(refused.hasRun());
            assertEquals(AcquireOutcome.Kind.CONTENDED, refused.acquired().kind());
            assertThrows(IllegalStateException.class, refused::value);
            return 42;
        });
        assertEquals(42, outcome.value());
        Lease ended = outcome.acquired().lease();
        assertFalse(ended.isHeld(), "not held after the task");
        Await.until("released", () -> ended.state() == LeaseState.RELEASED);
        assertEquals("free", client.tryCall(resource, options, lease -> "free").value());
        assertThrows(IOException.class, () -> client.call(resource, options, lease -> {
            throw new IOException("the task failed");
        }));
        Lease holder = acquired(client.tryAcquire(resource, LONG));
        CompletableFuture<AcquireOutcome> waiting = CompletableFuture.supplyAsync(() -> {
            try {
                return client.run(resource, options, lease -> assertTrue(lease.isHeld()));
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        Await.until("it waits", () -> client.counters().waitingCount() > 0);
        holder.release();
        assertTrue(waiting.join().isAcquired());
        assertThrows(NullPointerException.class, () -> client.call(resource, options, null));
        awaitNoKey();
    }

    @Test
    void tasksThatMustRunThrowWithoutTheirLock() throws Exception {
        Redlock client = client();
        AcquireOptions options = AcquireOptions.ofTtl(LONG);
        List<String> runs = new ArrayList<>();
        client.runOrThrow(resource, options, lease -> runs.add("run"));
        assertEquals("held", client.callOrThrow(resource, options, lease -> lease.isHeld() ? "held" : "not held"));
        Throwable failure = new Throwable("of any kind");
        assertSame(failure, assertThrows(Throwable.class, () -> client.callOrThrow(resource, options, lease -> {
            throw failure;
        })));
        assertThrows(IOException.class, () -> client.runOrThrow(resource, options, lease -> {
            throw new IOException("the task failed");
        }));
        awaitNoKey();
        Lease holder = acquired(client.tryAcquire(resource, LONG));
        LockNotAcquiredException thrown = assertThrows(LockNotAcquiredException.class,
                () -> client.runOrThrow(resource, options.tryOnce(), lease -> runs.add("never")));
        assertEquals(AcquireOutcome.Kind.CONTENDED, thrown.kind());
        assertEquals(AcquireOutcome.Kind.CONTENDED, thrown.outcome().kind());
        assertTrue(thrown.getMessage().contains("CONTENDED"), thrown::getMessage);
        assertThrows(LockNotAcquiredException.class,
                () -> client.callOrThrow(resource, options.tryOnce(), lease -> runs.add("never")));
        CompletionException later = assertThrows(CompletionException.class, () -> client
                .runOrThrowAsync(resource, options.tryOnce(), lease -> CompletableFuture.completedFuture("never"))
                .toCompletableFuture()
                .join());
        assertInstanceOf(LockNotAcquiredException.class, later.getCause());
        assertTrue(holder.isHeld(), "not released by the others");
        holder.release();
        assertEquals("done", client
                .runOrThrowAsync(resource, options, lease -> CompletableFuture.completedFuture("done"))
                .toCompletableFuture()
                .join());
        assertEquals(List.of("run"), runs);
        assertThrows(NullPointerException.class, () -> client.callOrThrow(resource, options, null));
        assertThrows(NullPointerException.class, () -> client.runOrThrow(resource, options, null));
        awaitNoKey();
    }

    @Test
    void anAsynchronousTaskOwnsItsLock() {
        Redlock client = client();
        CompletableFuture<String> task = new CompletableFuture<>();
        CompletableFuture<RunOutcome<String>> result = client
                .runAsync(resource, AcquireOptions.ofTtl(LONG), lease -> task)
                .toCompletableFuture();
        awaitKeys();
        task.complete("done");
        assertEquals("done", result.join().value());
        assertEquals(LeaseState.RELEASED, result.join().acquired().lease().state());
        awaitNoKey();
    }

    // ---- inspecting -------------------------------------------------------------------------------------------------

    private static List<LockInspection.Kind> kinds(LockInspection inspection) {
        return inspection.nodes().stream().map(LockInspection.Entry::kind).distinct().toList();
    }

    @Test
    void inspectionShowsTheHolderAndNeverTheToken() throws InterruptedException {
        Redlock client = client();
        LockInspection free = client.inspect(resource);
        assertEquals(List.of(LockInspection.Kind.FREE), kinds(free));
        assertEquals(voterCount(), free.nodes().size());
        assertNull(free.heldBy());
        Lease lease = acquired(client.tryAcquire(resource, LONG));
        awaitKeys();
        String token = tokensOf(resource).iterator().next();
        LockInspection held = client.inspect(resource);
        List<LockInspection.Entry> holders = held.nodes()
                .stream()
                .filter(entry -> entry.kind() == LockInspection.Kind.EXCLUSIVE)
                .toList();
        assertTrue(holders.size() > voterCount() / 2, held::toString);
        for (LockInspection.Entry entry : holders) {
            assertEquals(held.heldBy(), entry.id(), "a quorum has it");
            assertTrue(entry.id().matches("[0-9a-f]{8}"), entry.id());
            assertEquals(label().isEmpty() ? null : label().substring(1), entry.clientName());
            assertTrue(entry.remainingTtlMs() > 0 && entry.remainingTtlMs() <= LONG.toMillis(), entry::toString);
            assertNull(entry.problem());
        }
        String tokenDigits = HexFormat.of().formatHex(token.getBytes(StandardCharsets.ISO_8859_1));
        assertFalse(tokenDigits.contains(held.heldBy()), "the id is no part of the token");
        lease.release();
        Lease reader = acquired(client.tryAcquire(resource, AcquireOptions.ofTtl(LONG).forReading()));
        LockInspection read = client.inspect(resource);
        assertTrue(kinds(read).contains(LockInspection.Kind.READERS), read::toString);
        assertNull(read.heldBy());
        reader.release();
    }

    @Test
    void breakingDeletesTheValueWithTheIdOnly() throws InterruptedException {
        Redlock client = client();
        Lease lease = acquired(client.tryAcquire(resource, LONG));
        awaitKeys();
        String id = client().inspect(resource).heldBy();
        assertEquals(ReleaseOutcome.EXPIRED, client().breakLock(resource, "00000000"), "nobody has that value");
        assertEquals(ReleaseOutcome.EXPIRED, client().breakLock(resource + "/2", id), "another lock");
        assertEquals(1, tokensOf(resource).size(), "it stays");
        assertEquals(ReleaseOutcome.RELEASED, client().breakLock(resource, id));
        awaitNoKey();
        assertEquals(ExtendOutcome.LOST, lease.extend(LONG), "how the holder finds out");
        awaitNoKey();
        Lease next = acquired(client.tryAcquire(resource, LONG));
        awaitKeys();
        assertEquals(ReleaseOutcome.EXPIRED, client().breakLock(resource, id), "the lock of the next holder stays");
        assertEquals(ReleaseOutcome.RELEASED, next.release());
        assertThrows(NullPointerException.class, () -> client.breakLock(resource, null));
        assertThrows(IllegalArgumentException.class, () -> client.inspect(""));
    }

    @Test
    void inspectionBlocksSoItIsRefusedOnTheLoopAndEndsByAnInterrupt() throws InterruptedException {
        Redlock client = client();
        CompletableFuture<Class<?>> thrown = new CompletableFuture<>();
        client.acquire(client.key(resource), AcquireOptions.ofTtl(LONG), client.newLease(), outcome -> {
            outcome.lease().close();
            thrown.complete(assertThrows(Exception.class, () -> client.inspect(resource)).getClass());
        });
        assertEquals(IllegalStateException.class, thrown.join());
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> client.inspect(resource));
        assertFalse(Thread.interrupted());
        client.close();
        LockInspection closed = client.inspect(resource);
        assertEquals(List.of(LockInspection.Kind.UNKNOWN), kinds(closed));
        assertEquals(ReleaseOutcome.UNKNOWN, client.breakLock(resource, "00000000"));
    }

    @Test
    void closingTheClientReleasesItsLocks() throws InterruptedException {
        Redlock client = client();
        Lease lease = acquired(client.tryAcquire(resource, LONG));
        awaitKeys();
        CompletableFuture<AcquireOutcome> waiting = client
                .acquireAsync(resource, AcquireOptions.ofTtl(LONG).waitUpTo(LONG))
                .toCompletableFuture();
        CloseReport report = client.closeWithin(Duration.ofSeconds(10));
        assertTrue(report.isClean(), report::toString);
        assertEquals(1, report.releasedCount(), report::toString);
        assertEquals(LeaseState.RELEASED, lease.state(), "the lease is released");
        assertEquals(AcquireOutcome.Kind.CLOSED, waiting.join().kind(), "the waiter gets its outcome");
        assertEquals(AcquireOutcome.Kind.CLOSED, client.tryAcquire(resource, LONG).kind(), "nothing after close");
        assertEquals(report, client.closeWithin(Duration.ofSeconds(10)), "closing twice");
        awaitNoKey();
    }

    @Test
    void badInputIsRejectedBeforeAnyCommand() {
        Redlock client = client();
        assertThrows(IllegalArgumentException.class, () -> client.tryAcquire("", LONG), "empty resource");
        assertThrows(IllegalArgumentException.class, () -> client.tryAcquire("r".repeat(513), LONG), "too long");
        assertThrows(IllegalArgumentException.class, () -> client.tryAcquire(resource, Duration.ofMillis(2)), "ttl");
        assertThrows(IllegalArgumentException.class, () -> client.tryAcquire(resource, Duration.ofHours(1)), "ttl");
        assertThrows(IllegalArgumentException.class,
                () -> client.tryAcquire(resource, LONG, Duration.ofMillis(-1)), "negative wait");
        assertNotEquals(0, client.nodes().size(), "the client continues");
        for (int i = 0; i < voterCount(); i++) {
            assertNull(node(i).get(resource), "nothing was sent");
        }
    }

    @Test
    void countersCountOutcomes() throws InterruptedException {
        Redlock client = client();
        Lease lease = acquired(client.tryAcquire(resource, LONG));
        client.tryAcquire(resource, LONG);
        lease.release();
        assertEquals(1, client.counters().acquiredCount(), "acquired");
        assertEquals(1, client.counters().contendedAttemptCount(), "contended");
        assertEquals(1, client.counters().rolledBackCount(), "rolled back");
        assertEquals(1, client.counters().releaseCount(ReleaseOutcome.RELEASED), "released");
    }

    @Test
    void fiftyParallelLocksAreIndependent() throws InterruptedException {
        Redlock client = client();
        CountDownLatch all = new CountDownLatch(50);
        for (int i = 0; i < 50; i++) {
            client.acquireAsync(resource + "/" + i, AcquireOptions.ofTtl(LONG).tryOnce()).thenAccept(outcome -> {
                if (outcome.isAcquired()) {
                    outcome.lease().release((lease, released) -> all.countDown());
                }
            });
        }
        assertTrue(all.await(60, TimeUnit.SECONDS), "fifty locks in parallel, " + all.getCount() + " missing");
    }

    /** The next instance gets the lock of each kind after its time, long before the ttl of a client that has closed. */
    @Test
    void aClosedClientKeepsTheLocksOfItsJobsForTheirTimeOnly() throws InterruptedException {
        AcquireOptions job = AcquireOptions.ofTtl(LONG).autoExtend().holdAtLeast(Duration.ofMillis(300));
        AcquireOptions next = AcquireOptions.ofTtl(LONG).waitUpTo(Duration.ofSeconds(8));
        String name = "{" + resource + "}";
        List<String> set = List.of(name + "/set/1", name + "/set/2");
        Redlock client = client();
        assertEquals(ReleaseOutcome.KEPT, acquired(client.acquire(resource, job)).release());
        assertEquals(ReleaseOutcome.KEPT, acquired(client.acquire(name + "/fenced", job.fenced())).release());
        assertEquals(ReleaseOutcome.KEPT, acquired(client.acquire(name + "/read", job.forReading())).release());
        assertEquals(ReleaseOutcome.KEPT, acquired(client.acquire(name + "/permit", job.forPermitOf(1))).release());
        assertEquals(ReleaseOutcome.KEPT, acquired(client.acquireAll(set, job)).release());
        client.close();
        Redlock other = client();
        acquired(other.acquire(resource, next)).release();
        acquired(other.acquire(name + "/fenced", next.fenced())).release();
        acquired(other.acquire(name + "/read", next.forWriting())).release();
        acquired(other.acquire(name + "/permit", next.forPermitOf(1))).release();
        acquired(other.acquireAll(set, next)).release();
    }
}
