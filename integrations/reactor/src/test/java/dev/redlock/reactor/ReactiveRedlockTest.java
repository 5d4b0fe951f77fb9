package dev.redlock.reactor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.TwoClients;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** Publishers that lock on three real servers. The build runs it with Reactor 3.7 and 3.8. */
@Timeout(60)
class ReactiveRedlockTest {

    private static final int CANCELLATIONS = 500;
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final AcquireOptions LONG = AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce();
    private static final AcquireOptions WAITING = LONG.waitUpTo(Duration.ofSeconds(60));

    private static TwoClients clients;
    private static Redlock redlock;
    private static ReactiveRedlock locks;

    private String name;
    private long releasedBefore;

    @BeforeAll
    static void connect() {
        clients = new TwoClients();
        redlock = clients.one;
        locks = new ReactiveRedlock(redlock);
    }

    @AfterAll
    static void close() {
        clients.close();
    }

    @BeforeEach
    void nameOfTheTest(TestInfo test) {
        name = test.getTestMethod().orElseThrow().getName();
        releasedBefore = releasedCount();
    }

    @AfterEach
    void nothingIsHeldOrWaits() throws InterruptedException {
        awaitUntil("no lock is held", () -> redlock.counters().heldCount() == 0);
        awaitUntil("no acquisition waits", () -> redlock.counters().waitingCount() == 0);
        awaitUntil("no keys", () -> keys().isEmpty());
    }

    @Test
    void thisIsTheExpectedReactor() {
        String jar = Mono.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        assertTrue(jar.contains("/reactor-core-" + System.getProperty("reactor.expected", "3.7.")), jar);
    }

    // ---- acquire ----------------------------------------------------------------------------------------------------

    @Test
    void theSubscriberOwnsTheLease() {
        Lease lease = locks.acquire(name, LONG).block(LIMIT);
        assertTrue(lease.isHeld());
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        Lease ofSet = locks.acquire(redlock.keyOfAll(List.of("a", "b")), LONG).block(LIMIT);
        assertEquals(Set.of("a", "b"), Set.copyOf(ofSet.resources()));
        ofSet.release();
    }

    @Test
    void nothingIsAcquiredBeforeTheRequest() {
        List<Publisher<?>> publishers = List.of(locks.acquire(name, LONG).doOnNext(Lease::release),
                withLock(lease -> Mono.just(1)), withLockMany(lease -> Mono.just(1)));
        for (Publisher<?> publisher : publishers) {
            long before = redlock.counters().acquiredCount();
            StepVerifier.create(publisher, 0)
                    .expectSubscription()
                    .then(() -> assertNothingSince(before))
                    .thenRequest(1)
                    .expectNextCount(1)
                    .expectComplete()
                    .verify(LIMIT);
            assertEquals(before + 1, redlock.counters().acquiredCount());
        }
    }

    private static void assertNothingSince(long acquiredCount) {
        assertEquals(0, redlock.counters().waitingCount());
        assertEquals(acquiredCount, redlock.counters().acquiredCount());
    }

    @Test
    void aSubscriptionThatIsCancelledBeforeItsRequestStaysSilent() {
        for (Publisher<?> publisher : List.of(locks.acquire(name, LONG), withLock(lease -> Mono.just(1)),
                withLockMany(lease -> Mono.just(1)))) {
            long before = redlock.counters().acquiredCount();
            publisher.subscribe(new BaseSubscriber<Object>() {
                @Override
                protected void hookOnSubscribe(Subscription subscription) {
                    subscription.cancel();
                    subscription.request(1);
                }
            });
            assertNothingSince(before);
        }
    }

    @Test
    void anErrorSaysWhyTheLockIsMissing() {
        Lease held = clients.other.acquireAsync(name, LONG).toCompletableFuture().join().lease();
        for (Publisher<?> publisher : List.of(locks.acquire(name, LONG), withLock(lease -> Mono.just(1)),
                withLockMany(lease -> Mono.just(1)))) {
            StepVerifier.create(publisher).expectErrorSatisfies(thrown -> {
                LockNotAcquiredException missed = assertInstanceOf(LockNotAcquiredException.class, thrown);
                assertEquals(AcquireOutcome.Kind.CONTENDED, missed.kind());
                assertTrue(missed.getMessage().contains(name), missed::getMessage);
            }).verify(LIMIT);
        }
        held.release();
    }

    @Test
    void wrongArgumentsAreSignals() {
        for (Publisher<?> publisher : List.of(locks.acquire("", LONG), locks.withLock("", LONG, lease -> Mono.empty()),
                locks.acquire(name, AcquireOptions.ofTtl(Duration.ofDays(400))))) {
            StepVerifier.create(publisher).expectError(IllegalArgumentException.class).verify(LIMIT);
        }
        assertThrows(NullPointerException.class, () -> locks.acquire(name, null));
        assertThrows(NullPointerException.class, () -> locks.withLock(name, LONG, null));
    }

    @Test
    void aCancellationEndsTheWait() throws InterruptedException {
        Lease held = clients.other.acquireAsync(name, LONG).toCompletableFuture().join().lease();
        for (Publisher<?> publisher : List.of(locks.acquire(name, WAITING),
                locks.withLock(name, WAITING, lease -> Mono.error(new AssertionError("it runs"))))) {
            BaseSubscriber<Object> subscriber = new BaseSubscriber<>() {
            };
            publisher.subscribe(subscriber);
            awaitUntil("it waits", () -> redlock.counters().waitingCount() == 1);
            subscriber.cancel();
            awaitUntil("it does not wait", () -> redlock.counters().waitingCount() == 0);
        }
        assertTrue(held.isHeld());
        held.release();
    }

    // ---- withLock ---------------------------------------------------------------------------------------------------

    @Test
    void theValueComesAfterTheRelease() {
        AtomicReference<Lease> used = new AtomicReference<>();
        Mono<String> shipped = locks.withLock(name, LONG, lease -> {
            used.set(lease);
            return Mono.fromCallable(() -> {
                assertTrue(lease.isHeld());
                assertFalse(isFree());
                return "shipped";
            });
        });
        assertEquals("shipped", shipped.doOnNext(value -> {
            assertEquals(LeaseState.RELEASED, used.get().state());
            assertTrue(isFree());
        }).block(LIMIT));
        assertReleased(1);
        assertEquals("shipped", shipped.block(LIMIT));
        assertReleased(2);
    }

    @Test
    void anEmptyPublisherReleasesToo() {
        StepVerifier.create(locks.withLock(redlock.key(name), LONG, lease -> Mono.empty())).verifyComplete();
        assertReleased(1);
    }

    @Test
    void elementsPassAsTheSubscriberRequests() {
        AtomicLong requested = new AtomicLong();
        AtomicReference<Lease> used = new AtomicReference<>();
        Flux<Integer> numbers = locks.withLockMany(redlock.key(name), LONG, lease -> {
            used.set(lease);
            return Flux.range(1, 5).doOnRequest(requested::addAndGet);
        });
        StepVerifier.create(numbers, 0)
                .thenRequest(2)
                .expectNext(1, 2)
                .then(() -> {
                    assertEquals(2, requested.get());
                    assertTrue(used.get().isHeld());
                })
                .thenRequest(3)
                .expectNext(3, 4, 5)
                .expectComplete()
                .verify(LIMIT);
        assertReleased(1);
    }

    @Test
    void anErrorComesAfterTheRelease() {
        StepVerifier.create(withLock(lease -> Mono.error(new IOException("late"))).onErrorMap(thrown -> {
            assertTrue(isFree());
            return thrown;
        })).expectErrorMessage("late").verify(LIMIT);
        assertReleased(1);
    }

    @Test
    void functionsThatThrowOrReturnNullReleaseTheLock() {
        StepVerifier.create(withLock(lease -> {
            throw new IllegalArgumentException("thrown");
        })).expectErrorMessage("thrown").verify(LIMIT);
        assertReleased(1);
        StepVerifier.create(withLockMany(lease -> {
            throw new AssertionError("error");
        })).expectErrorMessage("error").verify(LIMIT);
        assertReleased(2);
        StepVerifier.create(withLock(lease -> null))
                .expectErrorMessage("the function returned null instead of a publisher")
                .verify(LIMIT);
        assertReleased(3);
    }

    @Test
    void operatorsThatThrowReleaseTheLock() {
        StepVerifier.create(withLockMany(lease -> Flux.range(1, 5)).map(number -> {
            throw new IllegalArgumentException("below");
        })).expectErrorMessage("below").verify(LIMIT);
        awaitReleased(1);
    }

    @Test
    void aCancellationReleasesOnce() {
        StepVerifier.create(withLockMany(lease -> Flux.range(1, 5)).take(1)).expectNext(1).verifyComplete();
        awaitReleased(1);
        AtomicBoolean isCancelled = new AtomicBoolean();
        StepVerifier.create(withLockMany(
                lease -> Flux.concat(Mono.just(1), Mono.never()).doOnCancel(() -> isCancelled.set(true))))
                .expectNext(1)
                .thenCancel()
                .verify(LIMIT);
        awaitReleased(2);
        assertTrue(isCancelled.get());
    }

    @Test
    void theFunctionMayReleaseEarlier() {
        assertEquals(1, locks.withLock(name, LONG, lease -> Mono.fromCallable(() -> {
            lease.release();
            return 1;
        })).block(LIMIT));
        assertReleased(1);
        assertEquals(2, locks.withLock(name, LONG, lease -> {
            lease.releaseAsync();
            return Mono.just(2);
        }).block(LIMIT));
        awaitReleased(2);
    }

    /** Each subscription has a lease of its own, and waits for the other ones. */
    @Test
    void subscriptionsExcludeEachOther() {
        int[] count = new int[1];
        AtomicInteger inside = new AtomicInteger();
        Function<Lease, Mono<Integer>> increment = lease -> Mono.fromCallable(() -> {
            assertEquals(1, inside.incrementAndGet());
            return count[0];
        }).publishOn(Schedulers.parallel()).map(before -> {
            count[0] = before + 1;
            inside.decrementAndGet();
            return before;
        });
        Mono<Integer> one = locks.withLock(name, WAITING, increment);
        Mono<Integer> other = new ReactiveRedlock(clients.other).withLock(name, WAITING, increment);
        StepVerifier.create(Flux.range(0, 80).flatMap(i -> i % 2 == 0 ? one : other, 80))
                .expectNextCount(80)
                .expectComplete()
                .verify(Duration.ofSeconds(50));
        assertEquals(80, count[0]);
    }

    @Test
    void theContextOfTheSubscriberPasses() {
        Mono<Object> user = withLock(lease -> Mono.deferContextual(context -> Mono.just(context.get("user"))));
        Flux<Object> users = withLockMany(
                lease -> Flux.deferContextual(context -> Flux.just(context.<Object>get("user"))));
        StepVerifier.create(user.contextWrite(context -> context.put("user", "ann")))
                .expectNext("ann")
                .verifyComplete();
        StepVerifier.create(users.contextWrite(context -> context.put("user", "bob")))
                .expectNext("bob")
                .verifyComplete();
        StepVerifier.create(locks.acquire(name, LONG)
                .flatMap(lease -> Mono.deferContextual(context -> {
                    lease.release();
                    return Mono.just((String) context.get("user"));
                }))
                .contextWrite(context -> context.put("user", "cat"))).expectNext("cat").verifyComplete();
    }

    /** Blocking calls of the client throw on its event loop. */
    @Test
    void signalsMayBlock() {
        StepVerifier.create(withLockMany(lease -> {
            assertFalse(isFree());
            return Flux.just(1).doOnNext(value -> assertFalse(isFree()));
        }).concatWith(Mono.fromRunnable(() -> assertTrue(isFree())))).expectNext(1).verifyComplete();
        StepVerifier.create(locks.acquire(name, LONG).map(Lease::release))
                .expectNext(ReleaseOutcome.RELEASED)
                .verifyComplete();
    }

    // ---- loss -------------------------------------------------------------------------------------------------------

    @Test
    void aLostLeaseCancelsThePublisher() {
        AtomicBoolean isCancelled = new AtomicBoolean();
        Flux<Integer> endless = locks.withLockMany(name, LONG.watchLoss(),
                lease -> Flux.concat(Mono.just(1), Mono.<Integer>never()).doOnCancel(() -> isCancelled.set(true)));
        StepVerifier.create(endless)
                .expectNext(1)
                .then(() -> clients.nodes.nodes().forEach(node -> node.call("DEL", name)))
                .expectErrorSatisfies(thrown -> assertLost(thrown, LeaseState.LOST))
                .verify(LIMIT);
        assertTrue(isCancelled.get());
    }

    @Test
    void anExpiredLeaseCancelsThePublisher() {
        AcquireOptions brief = AcquireOptions.ofTtl(Duration.ofMillis(300));
        StepVerifier.create(locks.withLock(name, brief, lease -> Mono.never()))
                .expectErrorSatisfies(thrown -> assertLost(thrown, LeaseState.EXPIRED))
                .verify(LIMIT);
    }

    /** The publisher ends before the listener is called, which runs on another thread. */
    @Test
    void aPublisherThatEndsWithoutItsLockFails() {
        AcquireOptions brief = AcquireOptions.ofTtl(Duration.ofMillis(300));
        StepVerifier.create(locks.withLock(name, brief, lease -> Mono.fromCallable(() -> {
            while (lease.isHeld()) {
                Thread.onSpinWait();
            }
            return 1;
        }))).expectErrorSatisfies(thrown -> assertLost(thrown, LeaseState.EXPIRED)).verify(LIMIT);
    }

    /** The client hears of it when it releases the lock. */
    @Test
    void aReleaseThatFindsTheLockLostFails() {
        StepVerifier.create(withLock(lease -> Mono.fromCallable(() -> {
            deleteKeys();
            return 1;
        }))).expectErrorSatisfies(thrown -> assertLost(thrown, LeaseState.LOST)).verify(LIMIT);
        StepVerifier.create(withLockMany(lease -> Flux.just(1, 2).doOnComplete(this::deleteKeys)))
                .expectNext(1, 2)
                .expectErrorSatisfies(thrown -> assertLost(thrown, LeaseState.LOST))
                .verify(LIMIT);
        StepVerifier.create(withLock(lease -> Mono.error(() -> {
            deleteKeys();
            return new IOException("of the work");
        }))).expectErrorMessage("of the work").verify(LIMIT);
    }

    private void deleteKeys() {
        clients.nodes.nodes().forEach(node -> node.call("DEL", name));
    }

    @Test
    void automaticExtensionsKeepTheLock() {
        AcquireOptions extended = AcquireOptions.ofTtl(Duration.ofMillis(300)).autoExtend();
        long before = redlock.counters().extendedCount();
        Sinks.One<Integer> end = Sinks.one();
        StepVerifier.create(locks.withLock(name, extended, lease -> end.asMono()))
                .then(() -> {
                    awaitUntil("4 extensions", () -> redlock.counters().extendedCount() >= before + 4);
                    end.tryEmitValue(1);
                })
                .expectNext(1)
                .expectComplete()
                .verify(LIMIT);
    }

    private void assertLost(Throwable thrown, LeaseState state) {
        ReactiveRedlock.LeaseLostException lost = assertInstanceOf(ReactiveRedlock.LeaseLostException.class, thrown);
        assertEquals(state, lost.state());
        assertTrue(lost.getMessage().startsWith("the lease of \"" + name + "\" was " + state), lost::getMessage);
    }

    // ---- cancellations at random moments ----------------------------------------------------------------------------

    @Test
    void cancelledAcquisitionsLeaveNoLock() {
        AtomicInteger count = new AtomicInteger();
        cancelMany(() -> locks.acquire(name, WAITING), () -> new BaseSubscriber<Object>() {
            @Override
            protected void hookOnNext(Object lease) {
                count.getAndIncrement();
                ((Lease) lease).close();
            }
        });
        assertTrue(count.get() > 0 && count.get() < CANCELLATIONS, count + " of " + CANCELLATIONS + " acquired");
    }

    /** {@code publishOn} drops the lease: why {@code acquire} is not enough. */
    @Test
    void aLeaseThatAnOperatorDropsLeaks() {
        try (Redlock leaking = Redlock.connect(clients.context())) {
            Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
            BaseSubscriber<Lease> subscriber = new BaseSubscriber<>() {
            };
            new ReactiveRedlock(leaking).acquire(name, LONG)
                    .publishOn(Schedulers.fromExecutor(tasks::add))
                    .doOnDiscard(Lease.class, Lease::close)
                    .subscribe(subscriber);
            awaitUntil("the lease waits for its thread", () -> !tasks.isEmpty());
            subscriber.cancel();
            tasks.forEach(Runnable::run);
            assertEquals(1, leaking.counters().heldCount());
        }
    }

    @Test
    void cancelledPublishersLeaveNoLock() {
        AtomicInteger started = new AtomicInteger();
        cancelMany(() -> locks.withLock(name, WAITING, lease -> {
            started.getAndIncrement();
            return Mono.never();
        }));
        assertTrue(started.get() > 0, "no cancellation came during a publisher");
    }

    @Test
    void cancelledPublishersThatEndLeaveNoLock() {
        cancelMany(() -> withLockMany(lease -> Flux.range(0, 3)));
    }

    @Test
    void cancelledThreadsLeaveNoLock() {
        cancelMany(() -> locks.withLockMany(name, WAITING, lease -> Flux.just(1).publishOn(Schedulers.parallel()))
                .subscribeOn(Schedulers.parallel())
                .publishOn(Schedulers.boundedElastic()));
    }

    @Test
    void cancelledWaitsBehindOtherClientsLeaveNoLock() throws InterruptedException {
        AtomicBoolean isOver = new AtomicBoolean();
        BaseSubscriber<Object> rival = new BaseSubscriber<>() {
        };
        new ReactiveRedlock(clients.other).withLock(name, WAITING, lease -> Mono.just(1))
                .repeat(() -> !isOver.get())
                .subscribe(rival);
        cancelMany(() -> locks.withLock(name, WAITING, lease -> Mono.just(1)));
        isOver.set(true);
        awaitUntil("the rival ends", rival::isDisposed);
    }

    private void cancelMany(Supplier<? extends Publisher<?>> source) {
        cancelMany(source, () -> new BaseSubscriber<Object>() {
        });
    }

    /** Cancels each subscription after a random time of up to some acquisitions. */
    private void cancelMany(Supplier<? extends Publisher<?>> source,
            Supplier<BaseSubscriber<Object>> subscribers) {
        long seed = System.nanoTime();
        System.out.println(name + ": seed " + seed);
        Random random = new Random(seed);
        long latestNs = Math.min(10_000_000, Math.max(1_000_000, 3 * cycleNs()));
        for (int i = 0; i < CANCELLATIONS; i++) {
            BaseSubscriber<Object> subscriber = subscribers.get();
            source.get().subscribe(subscriber);
            long endNs = System.nanoTime() + (long) (random.nextDouble() * latestNs);
            while (endNs - System.nanoTime() > 0) {
                Thread.onSpinWait();
            }
            subscriber.cancel();
        }
    }

    /** The mean time of a lock on this machine now. */
    private long cycleNs() {
        long startNs = System.nanoTime();
        for (int i = 0; i < 20; i++) {
            locks.withLock("cycle", WAITING, lease -> Mono.just(1)).block(LIMIT);
        }
        return (System.nanoTime() - startNs) / 20;
    }

    // ---- the page ---------------------------------------------------------------------------------------------------

    private Mono<String> shipped(ReactiveRedlock locks, AcquireOptions options) {
        Mono<String> shipped = locks.withLock("orders/42", options, lease -> ship(42));
        return shipped;
    }

    private Mono<Lease> acquired(ReactiveRedlock locks, AcquireOptions options) {
        Mono<Lease> acquired = locks.acquire("orders/42", options);
        return acquired;
    }

    private Mono<String> ship(int order) {
        return Mono.just("shipped " + order);
    }

    /** The code blocks of a page. */
    private record Page(String text) {
        static Page of(String name) throws IOException {
            return new Page(Files.readString(Path.of("..", "..").resolve(name)));
        }

        String block(String language, String part) {
            return Arrays.stream(text.split("```" + language + "\n"))
                    .skip(1)
                    .map(block -> block.substring(0, block.indexOf("```")))
                    .filter(block -> block.contains(part))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Test
    void theLinesOfThePageRun() throws IOException {
        assertEquals("shipped 42", shipped(locks, LONG).block(LIMIT));
        acquired(locks, LONG).block(LIMIT).release();
        String own = Files.readString(Path.of("src/test/java", getClass().getName().replace('.', '/') + ".java"));
        for (String part : List.of("withLock", "acquire(")) {
            String shown = Page.of("integrations/reactor/README.md").block("java", part);
            assertTrue(own.contains(shown.indent(8)), shown);
        }
    }

    // ---- helpers ----------------------------------------------------------------------------------------------------

    private <T> Mono<T> withLock(Function<? super Lease, ? extends Mono<? extends T>> function) {
        return locks.withLock(name, LONG, function);
    }

    private <T> Flux<T> withLockMany(Function<? super Lease, ? extends Publisher<? extends T>> function) {
        return locks.withLockMany(name, LONG, function);
    }

    /** It waits for its own release: the next caller must not meet it. */
    private boolean isFree() {
        try {
            AcquireOutcome outcome = clients.other.tryAcquire(name, LONG);
            if (outcome.isAcquired()) {
                outcome.lease().release();
            }
            return outcome.isAcquired();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private long releasedCount() {
        return redlock.counters().releaseCount(ReleaseOutcome.RELEASED);
    }

    private void assertReleased(int count) {
        assertEquals(count, releasedCount() - releasedBefore);
    }

    private void awaitReleased(int count) {
        awaitUntil(count + " releases", () -> releasedCount() - releasedBefore >= count);
        assertReleased(count);
    }

    /** The keys of locks that a node has, without those that order waiters. */
    private static Set<String> keys() {
        return clients.nodes.nodes()
                .stream()
                .map(ReactiveRedlockTest::keys)
                .flatMap(Collection::stream)
                .filter(key -> !key.contains(":redlock:"))
                .collect(Collectors.toSet());
    }

    private static List<String> keys(RedisNode node) {
        return ((List<?>) node.call("KEYS", "*")).stream().map(Object::toString).toList();
    }

    private static void awaitUntil(String what, BooleanSupplier isMet) {
        long deadlineNs = System.nanoTime() + LIMIT.toNanos();
        while (!isMet.getAsBoolean()) {
            assertTrue(deadlineNs - System.nanoTime() > 0, () -> "not within 20 s: " + what + ", keys " + keys());
            try {
                new CountDownLatch(1).await(2, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
