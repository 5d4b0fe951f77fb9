package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.KeyText;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A server cannot execute releases for a while: it gets them as soon as it can, long before the keys expire. */
class RejectedReleaseTest extends VirtualTest {

    private static final int ALWAYS = Integer.MAX_VALUE;
    private static final Duration LONG = Duration.ofSeconds(60);
    /** The longest delay between two probes, or between two connections. */
    private static final long RECOVERED_MS = 1_100;
    private static final long OUTAGE_MS = 8_000;
    private static final int BATCH_LENGTH = 5;
    private static final String AHEAD = "1887437000000000";
    private static final String BUSY = "BUSY Redis is busy running a script.";
    private static final List<String> TEMPORARY = List.of(BUSY,
            "LOADING Redis is loading the dataset in memory",
            "OOM command not allowed when used memory > 'maxmemory'.",
            "READONLY You can't write against a read only replica.",
            "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
            "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
            "NOREPLICAS Not enough good replicas to write.",
            "TRYAGAIN Multiple keys request during rehashing of slot",
            "CLUSTERDOWN Hash slot not served",
            "ERR Error running script (call to f_3): @user_script:6: @user_script: 6: -MISCONF x");
    private static final List<String> RELEASES = List.of("release", "release_many", "release_fenced",
            "release_many_fenced", "release_set", "release_fenced_set", "release_read", "release_write",
            "release_fenced_write", "DELEX", "DELIFEQ");

    /** Each leaves a key of an ended attempt on node 2, whose releases fail. */
    private enum Form {
        PLAIN {
            @Override
            void run(RejectedReleaseTest test) {
                test.release(test.held("orders", AcquireOptions.ofTtl(LONG)));
            }
        },
        CONDITIONAL_COMMAND {
            @Override
            FakeRedis.Kind kind() {
                return FakeRedis.Kind.VALKEY_9;
            }

            @Override
            void run(RejectedReleaseTest test) {
                PLAIN.run(test);
            }
        },
        BATCH {
            @Override
            void run(RejectedReleaseTest test) {
                test.releaseTogether(AcquireOptions.ofTtl(LONG));
            }
        },
        FENCED {
            @Override
            void run(RejectedReleaseTest test) {
                test.setCounterAhead("orders");
                test.release(test.held("orders", AcquireOptions.ofTtl(LONG).fenced()));
            }
        },
        FENCED_BATCH {
            @Override
            void run(RejectedReleaseTest test) {
                for (int i = 0; i < BATCH_LENGTH; i++) {
                    test.setCounterAhead("orders/" + i);
                }
                test.releaseTogether(AcquireOptions.ofTtl(LONG).fenced());
            }
        },
        SET {
            @Override
            void run(RejectedReleaseTest test) {
                test.release(test.heldSet(AcquireOptions.ofTtl(LONG)));
            }
        },
        FENCED_SET {
            @Override
            void run(RejectedReleaseTest test) {
                test.release(test.heldSet(AcquireOptions.ofTtl(LONG).fenced()));
            }
        },
        READER {
            @Override
            void run(RejectedReleaseTest test) {
                test.release(test.held("orders", AcquireOptions.ofTtl(LONG).forReading()));
            }
        },
        WRITER {
            @Override
            void run(RejectedReleaseTest test) {
                test.release(test.held("orders", AcquireOptions.ofTtl(LONG).forWriting()));
            }
        },
        FENCED_WRITER {
            @Override
            void run(RejectedReleaseTest test) {
                test.release(test.held("orders", AcquireOptions.ofTtl(LONG).forWriting().fenced()));
            }
        },
        PERMIT {
            @Override
            void run(RejectedReleaseTest test) {
                test.release(test.held("orders", AcquireOptions.ofTtl(LONG).forPermitOf(3)));
            }
        },
        ROLLBACK {
            @Override
            void run(RejectedReleaseTest test) {
                test.node(0).redis().set("orders", "foreign", -1);
                test.node(1).redis().set("orders", "foreign", -1);
                test.reject();
                assertEquals(AcquireOutcome.Kind.CONTENDED,
                        test.acquire(test.client, AcquireOptions.ofTtl(LONG).tryOnce()).kind());
            }
        },
        RETAINED {
            @Override
            void run(RejectedReleaseTest test) {
                Lease lease = test.held("orders", AcquireOptions.ofTtl(LONG).retain(Duration.ofSeconds(1)));
                assertEquals(ReleaseOutcome.RETAINED, test.release(lease));
                test.world.runMs(1_100);
            }
        },
        FLUSHED_SCRIPT {
            @Override
            void run(RejectedReleaseTest test) {
                Lease lease = test.held("orders", AcquireOptions.ofTtl(LONG));
                test.node(2).redis().clearErrors();
                test.node(2).redis().flushScripts();
                test.node(2).redis().failNext("EVAL", test.error, ALWAYS);
                test.release(lease);
            }
        };

        FakeRedis.Kind kind() {
            return FakeRedis.Kind.REDIS_7;
        }

        abstract void run(RejectedReleaseTest test);
    }

    private VirtualWorld.Client client;
    private String error = BUSY;

    private void start(FakeRedis.Kind kind) {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().kind(kind));
        client = client(context().commands(CommandMode.AUTO));
    }

    private void reject() {
        RELEASES.forEach(command -> node(2).redis().failNext(command, error, ALWAYS));
    }

    /** The counter of node 0 is ahead of the others, so that releases have to raise them. */
    private void setCounterAhead(String resource) {
        node(0).redis().set(KeyText.counterName(resource), AHEAD, -1);
    }

    private Lease held(String resource, AcquireOptions options) {
        Lease lease = acquired(get(client.redlock().acquireAsync(resource, options.tryOnce())));
        world.runMs(10);
        reject();
        return lease;
    }

    private Lease heldSet(AcquireOptions options) {
        Lease lease = acquired(get(client.redlock().acquireAllAsync(List.of("a", "b"), options.tryOnce())));
        world.runMs(10);
        reject();
        return lease;
    }

    private void releaseTogether(AcquireOptions options) {
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < BATCH_LENGTH; i++) {
            leases.add(held("orders/" + i, options));
        }
        client.engine().execute(() -> leases.forEach(Lease::releaseAsync));
        world.settle();
    }

    private int keysLeft() {
        return node(2).redis().keys().size();
    }

    /** The client connects again, and its handshake loads the scripts. */
    private static boolean hasNewConnection(String error) {
        return error.startsWith("LOADING") || error.startsWith("READONLY") || error.startsWith("MASTERDOWN");
    }

    static Stream<Arguments> errorsAndForms() {
        return TEMPORARY.stream()
                .flatMap(error -> Stream.of(Form.values())
                        .filter(form -> form != Form.FLUSHED_SCRIPT || !hasNewConnection(error))
                        .map(form -> Arguments.of(error, form)));
    }

    @ParameterizedTest
    @MethodSource("errorsAndForms")
    void theKeyIsDeletedSoonAfterTheServerRecovers(String newError, Form form) {
        error = newError;
        start(form.kind());
        form.run(this);
        world.runMs(OUTAGE_MS);
        assertNotEquals(0, keysLeft(), "precondition: the key is there");
        assertTrue(status(client, 2).undeliveredReleaseCount() <= keysLeft(), () -> "kept once: " + status(client, 2));
        node(2).redis().clearErrors();
        world.runMs(RECOVERED_MS);
        assertEquals(0, keysLeft(), () -> "keys long before their expiry: " + node(2).redis().keys());
        NodeStatus status = status(client, 2);
        assertEquals(0, status.undeliveredReleaseCount() + status.undeliveredReleaseDroppedCount()
                + status.undeliveredReleaseRefusedCount(), status::toString);
    }

    /** The server gets as many commands as for one release, and all others as soon as it has executed one. */
    @Test
    void oneReleaseShowsThatTheServerHasRecovered() {
        start(FakeRedis.Kind.REDIS_7);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            leases.add(held("orders/" + i, AcquireOptions.ofTtl(LONG)));
        }
        leases.forEach(Lease::releaseAsync);
        world.runMs(2_000);
        assertEquals(300, status(client, 2).undeliveredReleaseCount());
        long before = status(client, 2).errorCount();
        world.runMs(10_000);
        long probes = status(client, 2).errorCount() - before;
        assertTrue(probes >= 10 && probes <= 25, probes + " in ten seconds");
        node(2).redis().clearErrors();
        world.await("the first key is deleted", RECOVERED_MS, () -> keysLeft() < 300);
        world.settle();
        assertEquals(0, keysLeft(), "all others follow at once");
        assertEquals(300, status(client, 2).undeliveredReleaseDeliveredCount());
    }

    /** A key that has expired is no proof that the server writes again. */
    @Test
    void theServerIsProbedAgainAfterAReleaseWithoutAKey() {
        start(FakeRedis.Kind.REDIS_7);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            leases.add(held("orders/" + i, AcquireOptions.ofTtl(LONG)));
        }
        leases.forEach(Lease::releaseAsync);
        world.runMs(2_000);
        node(2).redis().clearErrors();
        for (String key : List.copyOf(node(2).redis().keys())) {
            node(2).redis().delete(key);
        }
        world.runMs(RECOVERED_MS);
        assertEquals(0, status(client, 2).undeliveredReleaseCount());
        assertEquals(5, status(client, 2).undeliveredReleaseDeliveredCount());
    }

    /** After the longest ttl every key has expired. */
    @Test
    void aReleaseIsForgottenWhenItsKeyHasExpired() {
        start(FakeRedis.Kind.REDIS_7);
        release(held("orders", AcquireOptions.ofTtl(LONG)));
        world.runMs(59_000);
        assertEquals(1, status(client, 2).undeliveredReleaseCount(), "precondition: the key is there");
        world.runMs(6_000);
        assertEquals(0, status(client, 2).undeliveredReleaseCount());
        assertEquals(0, status(client, 2).undeliveredReleaseDroppedCount()
                + status(client, 2).undeliveredReleaseRefusedCount(), "it is nothing to act on");
        long errors = status(client, 2).errorCount();
        world.runMs(10_000);
        assertEquals(errors, status(client, 2).errorCount(), "it is not sent any more");
    }

    @Test
    void theLimitCountsTheReleasesThatItDrops() {
        world = new VirtualWorld(3);
        client = client(context().undeliveredReleasesMax(3));
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            leases.add(held("orders/" + i, AcquireOptions.ofTtl(LONG)));
        }
        leases.forEach(Lease::releaseAsync);
        world.runMs(5_000);
        assertEquals(3, status(client, 2).undeliveredReleaseCount());
        assertEquals(2, status(client, 2).undeliveredReleaseDroppedCount());
        node(2).redis().clearErrors();
        world.runMs(RECOVERED_MS);
        assertEquals(2, keysLeft(), "those of the dropped ones");
    }

    /** No waiting mends these: the release is counted, and not sent again. */
    @ParameterizedTest
    @ValueSource(strings = {"NOPERM this user has no permissions to run the 'evalsha' command",
        "ERR unknown command 'EVALSHA'", "NOAUTH Authentication required.", "QUOTA of the provider is used up"})
    void aReleaseIsNotRepeatedAfterAnErrorThatLasts(String newError) {
        error = newError;
        start(FakeRedis.Kind.REDIS_7);
        Lease lease = held("orders", AcquireOptions.ofTtl(LONG).fenced());
        release(lease);
        world.runMs(10_000);
        NodeStatus status = status(client, 2);
        assertEquals(1, status.undeliveredReleaseRefusedCount(), status::toString);
        assertEquals(2, status.errorCount(), "the release, and the one that was kept");
        assertEquals(0, status.undeliveredReleaseCount());
    }

    /** A probe whose connection is lost, or whose slot has moved, must not stop the others. */
    @Test
    void theNextConnectionGetsAllReleases() {
        start(FakeRedis.Kind.REDIS_7);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            leases.add(held("orders/" + i, AcquireOptions.ofTtl(LONG)));
        }
        leases.forEach(Lease::releaseAsync);
        world.runMs(5_000);
        for (int i = 0; i < 20; i++) {
            node(2).delay(() -> 30_000_000);
            world.runMs(137);
            node(2).breakConnections();
            node(2).delay(() -> 0);
            world.await("back", 5_000, () -> status(client, 2).state() == NodeState.READY);
            world.runMs(100);
        }
        assertEquals(5, status(client, 2).undeliveredReleaseCount());
        node(2).redis().clearErrors();
        world.runMs(RECOVERED_MS);
        assertEquals(0, keysLeft());
    }

    // ---- late releases ----------------------------------------------------------------------------------------------

    /** The kept release has the token of the first holder, and no counter. */
    @ParameterizedTest
    @ValueSource(strings = {"fenced", "permit", "plain", "set"})
    void aLateReleaseDoesNotTouchTheNextHolder(String kind) {
        start(FakeRedis.Kind.REDIS_7);
        AcquireOptions options = switch (kind) {
            case "fenced" -> AcquireOptions.ofTtl(TTL).fenced();
            case "permit" -> AcquireOptions.ofTtl(TTL).forPermitOf(1);
            default -> AcquireOptions.ofTtl(TTL);
        };
        Lease first = kind.equals("set") ? heldSet(options) : held("orders", options);
        release(first);
        world.runMs(TTL.toMillis() + 10);
        assertEquals(0, keysLeft(), "precondition: the key has expired");
        assertEquals(1, status(client, 2).undeliveredReleaseCount(), "and the release is still kept");
        VirtualWorld.Client other = client();
        Lease second = acquired(get(kind.equals("set")
                ? other.redlock().acquireAllAsync(List.of("a", "b"), options.tryOnce())
                : other.redlock().acquireAsync("orders", options.tryOnce())));
        world.runMs(10);
        List<String> keys = List.copyOf(node(2).redis().keys());
        long counter = node(2).redis().counter("orders");
        node(2).redis().clearErrors();
        world.runMs(RECOVERED_MS);
        assertEquals(0, status(client, 2).undeliveredReleaseCount(), "it was sent");
        assertEquals(keys, List.copyOf(node(2).redis().keys()));
        assertEquals(counter, node(2).redis().counter("orders"));
        assertTrue(second.isHeld());
        assertEquals(ReleaseOutcome.RELEASED, release(second));
    }

    /** Counters that a late release does not raise stay apart: the next holder's token is higher nevertheless. */
    @Test
    void fencingTokensGrowAlthoughTheLateReleaseRaisesNoCounter() {
        start(FakeRedis.Kind.REDIS_7);
        long before = 0;
        for (int i = 0; i < 20; i++) {
            node(i % 3).redis().clearErrors();
            Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofSeconds(1)).fenced().tryOnce()));
            assertTrue(lease.fencingToken() > before, lease + " after " + before);
            before = lease.fencingToken();
            node((i + 1) % 3).redis().failNext("release_fenced", BUSY, ALWAYS);
            node((i + 1) % 3).redis().failNext("release", BUSY, ALWAYS);
            release(lease);
            world.runMs(1_500);
        }
        assertNull(key(0));
    }
}
