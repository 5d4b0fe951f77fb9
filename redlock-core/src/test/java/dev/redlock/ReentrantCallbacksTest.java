package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What users hand in may call the client back, at the worst moment and about the very thing that is going on. */
class ReentrantCallbacksTest extends VirtualTest {

    private static final ReleaseCallback NOBODY_LISTENS = (lease, outcome) -> {
    };

    private VirtualWorld.Client client;

    private Lease held(final String resource) {
        return acquired(get(client.redlock().acquireAsync(resource, options())));
    }

    private void onLoop(final Runnable task) {
        final List<RuntimeException> thrown = new ArrayList<>();
        client.engine().execute(() -> {
            try {
                task.run();
            } catch (final RuntimeException e) {
                thrown.add(e);
            }
        });
        world.settle();
        assertEquals(List.of(), thrown, "thrown at the caller");
    }

    /** One node answers; the other two are gone, so that a release fails as soon as it is written. */
    private void twoOfThreeGo() {
        node(1).crash();
        node(2).crash();
        world.runMs(5);
    }

    @Test
    void aRetryPolicyThatCancelsItsAcquisition() {
        client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 60_000));
        final Lease lease = client.redlock().newLease();
        final List<AcquireOutcome.Kind> outcomes = new ArrayList<>();
        client.redlock()
                .acquire(client.redlock().key("orders"), options().waitUpTo(Duration.ofMillis(500))
                        .retryPolicy((attempts, reason, ttl, random) -> {
                            lease.close();
                            return Long.MAX_VALUE;
                        }), lease, outcome -> outcomes.add(outcome.kind()));
        world.runMs(1_000);
        assertEquals(List.of(AcquireOutcome.Kind.CANCELLED), outcomes);
        eachNode(node -> node.delay(() -> 10_000_000));
        final CompletableFuture<AcquireOutcome> next = client.redlock()
                .acquireAsync("others", options())
                .toCompletableFuture();
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(get(next))));
    }

    @Test
    void aRetryPolicyThatCancelsItsAcquisitionAndBeginsAnother() {
        client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 60_000));
        final Lease lease = client.redlock().newLease();
        final List<String> outcomes = new ArrayList<>();
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

    /** The attempt that the release sets off is under way when the budget ends: it is waited for, and has an end. */
    @Test
    void aRetryPolicyThatReleasesTheLockThatItWaitsFor() {
        client = world(3);
        final Lease holder = held("orders");
        eachNode(node -> node.delay(() -> 5_000_000));
        final CompletableFuture<AcquireOutcome> waiting = begin(client, options().waitUpTo(Duration.ofMillis(15))
                .retryPolicy((attempts, reason, ttl, random) -> {
                    holder.release(NOBODY_LISTENS);
                    return Long.MAX_VALUE;
                }));
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(get(waiting))));
        world.runMs(20);
        assertEquals(0, keyCount());
    }

    /** It is asked how long the line shall stand back for other clients. */
    @Test
    void aRetryPolicyThatCancelsItsAcquisitionWhenTheTurnIsHandedToIt() {
        world = new VirtualWorld(3);
        client = client(context().localHandoffsMax(1));
        final Lease holder = held("orders");
        final AcquireOptions waiting = options().waitUpTo(Duration.ofSeconds(5));
        final CompletableFuture<AcquireOutcome> first = begin(client, waiting);
        final Lease second = client.redlock().newLease();
        final List<AcquireOutcome.Kind> told = new ArrayList<>();
        client.redlock()
                .acquire(client.redlock().key("orders"), waiting.retryPolicy((attempts, reason, ttl, random) -> {
                    second.close();
                    return Long.MAX_VALUE;
                }), second, outcome -> told.add(outcome.kind()));
        final CompletableFuture<AcquireOutcome> third = begin(client, waiting.waitUpTo(Duration.ofSeconds(20)));
        world.runMs(10);
        release(holder);
        final Lease next = acquired(get(first));
        world.runMs(100);
        release(next);
        assertEquals(List.of(AcquireOutcome.Kind.CANCELLED), told);
        final Lease last = acquired(get(third));
        world.runMs(6_000);
        assertTrue(last.isHeld(), "nobody else's turn disturbs it");
        assertEquals(ReleaseOutcome.RELEASED, release(last));
        assertEquals(LeaseState.NOT_ACQUIRED, second.state());
    }

    /** Otherwise the node would execute the acquire behind the release that undoes it. */
    @Test
    void anAcquisitionIsCancelledWhileItsCommandIsWritten() {
        world = new VirtualWorld(3);
        client = client(context().releaseBatchMax(2));
        final Lease holder = held("orders");
        final Lease other = held("others");
        final Lease next = client.redlock().newLease();
        final List<String> told = new ArrayList<>();
        twoOfThreeGo();
        onLoop(() -> {
            holder.release((lease, outcome) -> {
                told.add("release " + outcome);
                next.close();
                other.release(NOBODY_LISTENS);
            });
            client.redlock()
                    .acquire(client.redlock().key("orders"), options(), next,
                            outcome -> told.add("acquire " + outcome.kind()));
        });
        world.runMs(100);
        assertNull(key(0), "nobody holds it");
        assertEquals(2, told.size(), told::toString);
    }

    /** A roll-back fills a batch of releases, and who is told of another one of them cancels what is rolled back. */
    @Test
    void anAcquisitionIsCancelledWhileItIsRolledBack() {
        world = new VirtualWorld(3);
        client = client(context().releaseBatchMax(2));
        final Lease holder = held("orders");
        final Lease next = client.redlock().newLease();
        final List<String> told = new ArrayList<>();
        twoOfThreeGo();
        onLoop(() -> {
            holder.release((lease, outcome) -> {
                told.add("release " + outcome);
                next.close();
            });
            client.redlock()
                    .acquire(client.redlock().key("others"), options().waitUpTo(Duration.ofSeconds(1)), next,
                            outcome -> told.add("acquire " + outcome.kind()));
        });
        world.runMs(2_000);
        assertEquals(List.of("release UNKNOWN", "acquire CANCELLED"), told);
    }

    /** In whatever order the two end: a reusable lease may be used again from the callback of its release. */
    @Test
    void theExtensionThatAReleaseEndsIsToldBeforeTheRelease() {
        world = new VirtualWorld(3);
        client = client(context().releaseBatchMax(1).nodeBackPressure(16, 4096));
        final Lease lease = client.redlock().newLease();
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, AcquireOutcome::isAcquired);
        world.runMs(1);
        assertTrue(lease.isHeld());
        eachNode(node -> node.pause());
        final List<String> told = new ArrayList<>();
        onLoop(() -> {
            lease.extend(5_000, (extended, outcome) -> told.add("extend " + outcome));
            for (int i = 0; i < 20; i++) {
                client.redlock().acquireAsync("others/" + i, options());
            }
        });
        onLoop(() -> lease.release((released, outcome) -> {
            told.add("release " + outcome);
            client.redlock()
                    .acquire(client.redlock().key("next"), options(), lease,
                            again -> told.add("acquire " + again.kind()));
        }));
        assertEquals(List.of("extend NOT_HELD", "release UNKNOWN", "acquire NO_QUORUM"), told);
        eachNode(node -> node.resume());
        world.runMs(100);
    }

    /** Thousands of leases that have ended while the process was paused, each given back when the one before is. */
    @Test
    void aLongChainOfReleases() {
        world = new VirtualWorld(1);
        client = client(context().autoExtendedLeasesMax(0));
        final List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            leases.add(client.redlock().newLease());
            client.redlock()
                    .acquire(client.redlock().key("orders"), options().autoExtend(), leases.get(i),
                            outcome -> assertEquals(AcquireOutcome.Kind.OVERLOADED, outcome.kind()));
        }
        world.settle();
        final int[] released = new int[1];
        final ReleaseCallback[] next = new ReleaseCallback[1];
        next[0] = (lease, outcome) -> {
            if (++released[0] < leases.size()) {
                leases.get(released[0]).release(next[0]);
            }
        };
        onLoop(() -> leases.get(0).release(next[0]));
        assertEquals(leases.size(), released[0], "each of them");
    }

    /** The same with extensions, at a time when no node can be reached. */
    @Test
    void aLongChainOfExtensions() {
        client = world(1);
        final Lease lease = held("orders");
        node(0).crash();
        world.runMs(5);
        final int[] tries = new int[1];
        final ExtendCallback[] again = new ExtendCallback[1];
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
}
