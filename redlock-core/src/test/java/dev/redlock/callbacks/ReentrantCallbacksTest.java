package dev.redlock.callbacks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendCallback;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Callbacks re-enter the client at the worst moment, for the same lock. */
class ReentrantCallbacksTest extends VirtualTest {

    private static final ReleaseCallback NOBODY_LISTENS = (lease, outcome) -> {
    };

    private VirtualWorld.Client client;

    private Lease held(String resource) {
        return acquired(get(client.redlock().acquireAsync(resource, options())));
    }

    private void onLoop(Runnable task) {
        List<RuntimeException> thrown = new ArrayList<>();
        client.engine().execute(() -> {
            try {
                task.run();
            } catch (RuntimeException e) {
                thrown.add(e);
            }
        });
        world.settle();
        assertEquals(List.of(), thrown, "thrown to the caller");
    }

    /** One node is up; the other two are disconnected, so that a release fails as soon as it is written. */
    private void twoOfThreeGo() {
        node(1).crash();
        node(2).crash();
        world.runMs(5);
    }

    @Test
    void aRetryPolicyMayCancelItsAcquisition() {
        client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 60_000));
        Lease lease = client.redlock().newLease();
        List<AcquireOutcome.Kind> outcomes = new ArrayList<>();
        client.redlock()
                .acquire(client.redlock().key("orders"), options().waitUpTo(Duration.ofMillis(500))
                        .retryPolicy((attempts, reason, ttl, random) -> {
                            lease.close();
                            return Long.MAX_VALUE;
                        }), lease, outcome -> outcomes.add(outcome.kind()));
        world.runMs(1_000);
        assertEquals(List.of(AcquireOutcome.Kind.CANCELLED), outcomes);
        eachNode(node -> node.delay(() -> 10_000_000));
        CompletableFuture<AcquireOutcome> next = client.redlock()
                .acquireAsync("others", options())
                .toCompletableFuture();
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(get(next))));
    }

    /** The release of the reader starts the timer of the waiter, which the delay of the policy replaced. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRetryPolicyMayWakeItsAcquisition(boolean isWriter) {
        client = world(3);
        Lease reader = acquired(get(client.redlock().acquireAsync("orders", options().forReading())));
        long startMs = nowMs();
        AcquireOptions options = isWriter ? options().forWriting() : options();
        CompletableFuture<AcquireOutcome> waiting = client.redlock()
                .acquireAsync("orders", options.waitUpTo(Duration.ofSeconds(60))
                        .retryPolicy((attempts, reason, ttl, random) -> {
                            reader.releaseAsync();
                            return 5_000_000_000L;
                        }))
                .toCompletableFuture();
        world.await("the lock", 10_000, waiting::isDone);
        acquired(waiting.join());
        assertTrue(nowMs() - startMs <= 20, () -> "after " + (nowMs() - startMs) + " ms");
    }

    @Test
    void aRetryPolicyMayCancelItsAcquisitionAndStartAnother() {
        client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 60_000));
        Lease lease = client.redlock().newLease();
        List<String> outcomes = new ArrayList<>();
        client.redlock()
                .acquire(client.redlock().key("orders"), options().waitUpTo(Duration.ofMillis(500))
                        .retryPolicy((attempts, reason, ttl, random) -> {
                            lease.close();
                            return Long.MAX_VALUE;
                        }), lease, outcome -> {
                            outcomes.add("first " + outcome.kind());
                            eachNode(node -> node.delay(() -> 10_000_000));
                            client.redlock()
                                    .acquire(client.redlock().key("others"),
                                            options().waitUpTo(Duration.ofSeconds(30)), lease,
                                            another -> outcomes.add("second " + another.kind()));
                        });
        world.runMs(1_000);
        assertEquals(List.of("first CANCELLED", "second ACQUIRED"), outcomes);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    /** Then the policy's delay is not that of the new acquisition, which waits behind another one. */
    @Test
    void anAcquisitionThatARetryPolicyStartsAgainKeepsItsBudget() {
        client = pollingWorld(3);
        eachNode(node -> node.redis().set("orders", "foreign", 60_000));
        List<CompletableFuture<AcquireOutcome>> again = new ArrayList<>();
        Lease lease = client.redlock().newLease();
        client.redlock()
                .acquire(client.redlock().key("orders"), options().waitUpTo(Duration.ofSeconds(10))
                        .retryPolicy((attempts, reason, ttl, random) -> {
                            lease.close();
                            again.add(acquireAsync(client, options().waitUpTo(Duration.ofMillis(200))));
                            return 20_000_000;
                        }), lease, outcome -> assertEquals(AcquireOutcome.Kind.CANCELLED, outcome.kind()));
        acquireAsync(client, options().waitUpTo(Duration.ofSeconds(10)));
        world.runMs(199);
        assertEquals(1, again.size());
        assertFalse(again.get(0).isDone());
        world.runMs(1);
        assertTrue(again.get(0).isDone(), "its own timer ends it");
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, again.get(0).join().kind());
    }

    /** The attempt after the release is in flight when the wait budget ends: it ends with that attempt. */
    @Test
    void aRetryPolicyMayReleaseTheLockThatItWaitsFor() {
        client = pollingWorld(3);
        Lease holder = held("orders");
        eachNode(node -> node.delay(() -> 5_000_000));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(Duration.ofMillis(15))
                .retryPolicy((attempts, reason, ttl, random) -> {
                    holder.release(NOBODY_LISTENS);
                    return Long.MAX_VALUE;
                }));
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(get(waiting))));
        world.runMs(20);
        assertEquals(0, keyCount());
    }

    /** The queue calls the policy for the length of its pause, if no node wakes waiters. */
    @Test
    void aRetryPolicyMayCancelItsAcquisitionDuringAHandoff() {
        world = new VirtualWorld(3);
        client = client(context().localHandoffsMax(1).wakeUpKeysMax(0));
        Lease holder = held("orders");
        AcquireOptions waiting = options().waitUpTo(Duration.ofSeconds(5));
        CompletableFuture<AcquireOutcome> first = acquireAsync(client, waiting);
        Lease second = client.redlock().newLease();
        List<AcquireOutcome.Kind> received = new ArrayList<>();
        client.redlock()
                .acquire(client.redlock().key("orders"), waiting.retryPolicy((attempts, reason, ttl, random) -> {
                    second.close();
                    return Long.MAX_VALUE;
                }), second, outcome -> received.add(outcome.kind()));
        CompletableFuture<AcquireOutcome> third = acquireAsync(client, waiting.waitUpTo(Duration.ofSeconds(20)));
        world.runMs(10);
        release(holder);
        Lease next = acquired(get(first));
        world.runMs(100);
        release(next);
        assertEquals(List.of(AcquireOutcome.Kind.CANCELLED), received);
        Lease last = acquired(get(third));
        world.runMs(6_000);
        assertTrue(last.isHeld(), "no other waiter affects it");
        assertEquals(ReleaseOutcome.RELEASED, release(last));
        assertEquals(LeaseState.NOT_ACQUIRED, second.state());
    }

    /** Otherwise the node would execute the acquire after the release that undoes it. */
    @Test
    void anAcquisitionMayBeCancelledWhileItsCommandIsWritten() {
        world = new VirtualWorld(3);
        client = client(context().releaseBatchMax(2));
        Lease holder = held("orders");
        Lease other = held("others");
        Lease next = client.redlock().newLease();
        List<String> received = new ArrayList<>();
        twoOfThreeGo();
        onLoop(() -> {
            holder.release((lease, outcome) -> {
                received.add("release " + outcome);
                next.close();
                other.release(NOBODY_LISTENS);
            });
            client.redlock()
                    .acquire(client.redlock().key("orders"), options(), next,
                            outcome -> received.add("acquire " + outcome.kind()));
        });
        world.runMs(100);
        assertNull(key(0), "no node has the key");
        assertEquals(2, received.size(), received::toString);
    }

    /** A rollback fills a batch of releases, and the callback of another release cancels the same acquisition. */
    @Test
    void anAcquisitionMayBeCancelledDuringItsRollback() {
        world = new VirtualWorld(3);
        client = client(context().releaseBatchMax(2));
        Lease holder = held("orders");
        Lease next = client.redlock().newLease();
        List<String> received = new ArrayList<>();
        twoOfThreeGo();
        onLoop(() -> {
            holder.release((lease, outcome) -> {
                received.add("release " + outcome);
                next.close();
            });
            client.redlock()
                    .acquire(client.redlock().key("others"), options().waitUpTo(Duration.ofSeconds(1)), next,
                            outcome -> received.add("acquire " + outcome.kind()));
        });
        world.runMs(2_000);
        assertEquals(List.of("release UNKNOWN", "acquire CANCELLED"), received);
    }

    /** In this order, because the callback of a release may reuse the lease. */
    @Test
    void anExtensionThatAReleaseEndsCompletesBeforeTheRelease() {
        world = new VirtualWorld(3);
        client = client(context().releaseBatchMax(1).nodeBackPressure(16, 4096));
        Lease lease = client.redlock().newLease();
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, AcquireOutcome::isAcquired);
        world.runMs(1);
        assertTrue(lease.isHeld());
        eachNode(node -> node.pause());
        List<String> received = new ArrayList<>();
        onLoop(() -> {
            lease.extend(5_000, (extended, outcome) -> received.add("extend " + outcome));
            for (int i = 0; i < 20; i++) {
                client.redlock().acquireAsync("others/" + i, options());
            }
        });
        onLoop(() -> lease.release((released, outcome) -> {
            received.add("release " + outcome);
            client.redlock()
                    .acquire(client.redlock().key("next"), options(), lease,
                            again -> received.add("acquire " + again.kind()));
        }));
        assertEquals(List.of("extend NOT_HELD", "release UNKNOWN", "acquire NO_QUORUM"), received);
        eachNode(node -> node.resume());
        world.runMs(100);
    }

    /** Thousands of leases expired while the process was paused; each callback releases the next one. */
    @Test
    void aLongChainOfReleaseCallbacksNeedsNoDeepStack() {
        world = new VirtualWorld(1);
        client = client(context().autoExtendedLeasesMax(0));
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            leases.add(client.redlock().newLease());
            client.redlock()
                    .acquire(client.redlock().key("orders"), options().autoExtend(), leases.get(i),
                            outcome -> assertEquals(AcquireOutcome.Kind.OVERLOADED, outcome.kind()));
        }
        world.settle();
        int[] released = new int[1];
        ReleaseCallback[] next = new ReleaseCallback[1];
        next[0] = (lease, outcome) -> {
            if (++released[0] < leases.size()) {
                leases.get(released[0]).release(next[0]);
            }
        };
        onLoop(() -> leases.get(0).release(next[0]));
        assertEquals(leases.size(), released[0], "each of them");
    }

    /** The same with extensions, while no node is reachable. */
    @Test
    void aLongChainOfExtendCallbacksNeedsNoDeepStack() {
        client = world(1);
        Lease lease = held("orders");
        node(0).crash();
        world.runMs(5);
        int[] tries = new int[1];
        ExtendCallback[] again = new ExtendCallback[1];
        again[0] = (extended, outcome) -> {
            assertEquals(ExtendOutcome.NOT_EXTENDED, outcome);
            if (++tries[0] < 10_000) {
                lease.extend(10_000, again[0]);
            }
        };
        onLoop(() -> lease.extend(10_000, again[0]));
        assertEquals(10_000, tries[0]);
        assertTrue(lease.isHeld());
    }

    /** A request on the event loop is sent immediately, before the tasks that are queued already. */
    @Test
    void callsOnTheEventLoopRunImmediately() {
        VirtualWorld.Client client = world(3);
        java.util.List<Integer> underWay = new java.util.ArrayList<>();
        client.engine().execute(() -> {
            client.redlock().acquireAsync("stage", options());
            underWay.add(client.engine().claimsOut());
            client.redlock()
                    .acquire(client.redlock().key("callback"), options(), client.redlock().newLease(),
                            outcome -> {
                                // The outcome does not matter here.
                            });
            underWay.add(client.engine().claimsOut());
        });
        world.runMs(5);
        assertEquals(java.util.List.of(1, 2), underWay, "attempts in flight inside the call");
    }

    @Test
    void callbacksNeverRunInsideTheirCall() {
        VirtualWorld.Client client = world(1);
        node(0).crash();
        world.runMs(1);
        List<String> order = new ArrayList<>();
        client.redlock()
                .acquire(client.redlock().key("orders"), options(), client.redlock().newLease(),
                        outcome -> order.add("callback"));
        order.add("returned");
        world.settle();
        assertNotEquals(0, order.size(), "callbacks ran");
        assertEquals(List.of("returned", "callback"), order, "order");
    }
}
