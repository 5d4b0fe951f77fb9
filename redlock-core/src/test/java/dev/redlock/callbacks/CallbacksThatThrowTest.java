package dev.redlock.callbacks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Callbacks run on the event loop; whatever they throw or return, the client continues. */
class CallbacksThatThrowTest extends VirtualTest {

    private static RuntimeException bug() {
        return new IllegalStateException("a bug in a callback, thrown by a test");
    }

    /** Other languages than Java do not declare checked exceptions. */
    @SuppressWarnings("unchecked")
    private static <E extends Exception> void throwChecked() throws E {
        throw (E) new IOException("a checked exception of a callback, thrown by a test");
    }

    private static IOException checked() {
        return new IOException("a checked exception of a callback, thrown by a test");
    }

    /** Runs a test whose callbacks throw. The log has one line for each, with its source. */
    private static void assertLogs(List<String> sources, Throwable thrown, Runnable test) {
        assertEquals(
                sources.stream().map(source -> "the " + source + " threw; the client continues " + thrown).toList(),
                exceptionsLoggedBy(test), "exceptions in the log");
    }

    private void assertTheClientStillWorks(VirtualWorld.Client client) {
        world.runMs(5);
        assertEquals(0, keyCount(), "nothing is left");
        assertEquals(ReleaseOutcome.RELEASED, release(lease(client)), "the next one");
    }

    @Test
    void anAcquireCallbackThatThrowsChangesNothing() {
        VirtualWorld.Client client = world(3);
        Lease lease = client.redlock().newLease();
        assertLogs(List.of("acquire callback"), bug(), () -> {
            client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
                throw bug();
            });
            world.runMs(1);
        });
        assertTrue(lease.isHeld(), "the lock is held");
        release(lease);
        assertTheClientStillWorks(client);
    }

    @Test
    void anAcquireCallbackThatThrowsAfterAnImmediateFailureChangesNothing() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().autoExtendedLeasesMax(0));
        Lease lease = client.redlock().newLease();
        AssertionError error = new AssertionError("an error, thrown by a test");
        assertLogs(List.of("acquire callback"), error, () -> {
            client.redlock().acquire(client.redlock().key("orders"), options().autoExtend(), lease, outcome -> {
                throw error;
            });
            world.runMs(1);
        });
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state(), "overloaded");
        assertTheClientStillWorks(client);
    }

    @Test
    void aReleaseCallbackThatThrowsChangesNothing() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        assertLogs(List.of("release callback"), bug(), () -> {
            lease.release((released, outcome) -> {
                throw bug();
            });
            world.runMs(1);
        });
        assertEquals(LeaseState.RELEASED, lease.state(), "released");
        assertTheClientStillWorks(client);
    }

    @Test
    void anExtendCallbackThatThrowsChangesNothing() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        assertLogs(List.of("extend callback"), bug(), () -> {
            lease.extend(20_000, (extended, outcome) -> {
                throw bug();
            });
            world.runMs(1);
        });
        assertTrue(lease.remainingValidityNs() > 10_000_000_000L, "extended: " + lease);
        world.runMs(20_000);
        assertEquals(LeaseState.EXPIRED, lease.state(), "and expires on time");
        assertTheClientStillWorks(client);
    }

    @Test
    void aListenerThatThrowsChangesNothing() {
        VirtualWorld.Client client = world(3);
        LeaseListener listener = new LeaseListener() {
            @Override
            public void onLost(Lease lease, LeaseState state) {
                throw bug();
            }

            @Override
            public void onExtended(Lease lease, int extensionCount) {
                throw bug();
            }
        };
        Lease lease = acquired(acquire(client, options().autoExtend(2, Duration.ofHours(1)).listener(listener)));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client,
                options().waitUpTo(Duration.ofMinutes(1)));
        // Two extensions and the end.
        assertLogs(List.of("lease listener", "lease listener", "lease listener"), bug(), () -> world.runMs(18_000));
        assertEquals(2, client.redlock().counters().extendedCount(), "extended up to the limit");
        assertEquals(LeaseState.EXPIRED, lease.state(), "then expired");
        release(acquired(get(waiting)));
        assertTheClientStillWorks(client);
    }

    @Test
    void acquireAndReleaseCallbacksMayThrowCheckedExceptions() {
        VirtualWorld.Client client = world(3);
        Lease lease = client.redlock().newLease();
        assertLogs(List.of("acquire callback", "extend callback", "release callback"), checked(), () -> {
            client.redlock()
                    .acquire(client.redlock().key("orders"), options(), lease,
                            outcome -> CallbacksThatThrowTest.<RuntimeException>throwChecked());
            world.runMs(1);
            lease.extend(20_000, (extended, outcome) -> CallbacksThatThrowTest.<RuntimeException>throwChecked());
            world.runMs(1);
            lease.release((released, outcome) -> CallbacksThatThrowTest.<RuntimeException>throwChecked());
            world.runMs(1);
        });
        assertEquals(LeaseState.RELEASED, lease.state(), "released");
        assertTheClientStillWorks(client);
    }

    /** The listener of one lease must not keep the others from being told that a node has lost all keys. */
    @Test
    void aListenerThatThrowsACheckedExceptionHidesNoOtherLoss() {
        VirtualWorld.Client client = world(3);
        LeaseListener listener = new LeaseListener() {
            @Override
            public void onLost(Lease lease, LeaseState state) {
                CallbacksThatThrowTest.<RuntimeException>throwChecked();
            }
        };
        Lease first = acquired(
                get(client.redlock().acquireAsync("first", options().listener(listener)).toCompletableFuture()));
        Lease second = acquired(
                get(client.redlock().acquireAsync("second", options().listener(listener)).toCompletableFuture()));
        assertLogs(List.of("lease listener", "lease listener"), checked(), () -> {
            eachNode(node -> node.redis().flushAll());
            world.runMs(5_000);
        });
        assertEquals(LeaseState.LOST, first.state());
        assertEquals(LeaseState.LOST, second.state());
    }

    /** The callbacks run in the timers of their acquisitions, on which those of all others depend. */
    @Test
    void timersFireAfterACallbackThatThrowsACheckedException() {
        VirtualWorld.Client client = pollingWorld(3);
        eachNode(node -> node.redis().set("orders", "foreign", 60_000));
        Lease lease = client.redlock().newLease();
        CompletableFuture<AcquireOutcome> later = acquireAsync(client, options().waitUpTo(Duration.ofMillis(900)));
        assertLogs(List.of("acquire callback"), checked(), () -> {
            client.redlock()
                    .acquire(client.redlock().key("orders"), options().waitUpTo(Duration.ofMillis(300)), lease,
                            outcome -> CallbacksThatThrowTest.<RuntimeException>throwChecked());
            world.runMs(1_000);
        });
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state());
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, get(later).kind());
    }

    @Test
    void aRetryPolicyMayThrowACheckedException() {
        VirtualWorld.Client client = pollingWorld(3);
        eachNode(node -> node.redis().set("orders", "foreign", 200));
        CompletableFuture<AcquireOutcome> outcome = new CompletableFuture<>();
        exceptionsLoggedBy(() -> {
            acquireAsync(client,
                    options().waitUpTo(Duration.ofSeconds(2)).retryPolicy((attempts, reason, ttl, random) -> {
                        CallbacksThatThrowTest.<RuntimeException>throwChecked();
                        return 0;
                    })).thenAccept(outcome::complete);
            world.runMs(1_000);
        });
        release(acquired(get(outcome)));
        assertTheClientStillWorks(client);
    }

    /** A negative delay counts as zero, and a delay beyond the wait budget as the rest of the budget. */
    @ParameterizedTest
    @CsvSource({"-1, ACQUIRED", "-9223372036854775808, ACQUIRED", "0, ACQUIRED", "9223372036854775807, TIMED_OUT"})
    void retryDelaysOutOfRangeAreClamped(long delayNs, AcquireOutcome.Kind kind) {
        VirtualWorld.Client client = pollingWorld(3);
        eachNode(node -> node.redis().set("orders", "foreign", 20));
        eachNode(node -> node.delay(() -> 1_000_000));
        AcquireOutcome outcome = acquire(client, options().waitUpTo(Duration.ofMillis(500))
                .retryPolicy((attempts, reason, ttl, random) -> delayNs));
        assertEquals(kind, outcome.kind(), outcome::toString);
        eachNode(node -> node.redis().delete("orders"));
        assertTheClientStillWorks(client);
    }
}
