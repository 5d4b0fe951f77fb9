package dev.redlock.retain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A clock that throws during the release of a retained lock: everybody gets an outcome, and the lock gets free. */
class RetainFailuresTest extends VirtualTest {

    private VirtualWorld.Client client;
    private int reads;
    private int failing;

    private static AcquireOptions retaining() {
        return options().retain(TTL);
    }

    private CompletableFuture<AcquireOutcome> acquire(Lease lease, String resource, AcquireOptions options) {
        CompletableFuture<AcquireOutcome> future = new CompletableFuture<>();
        client.redlock().acquire(client.redlock().key(resource), options, lease, future::complete);
        return future;
    }

    private static boolean isReadByRequest() {
        List<String> frames = StackWalker.getInstance()
                .walk(all -> all.map(frame -> frame.getClassName() + ".").toList());
        return frames.stream()
                .noneMatch(frame -> frame.contains(".DirectBuffers.") || frame.contains(".LoopTelemetry."))
                && frames.stream()
                        .anyMatch(frame -> frame.contains(".RequestMailbox.") || frame.contains(".RetainedLocks."));
    }

    private void throwAtRead(int read) {
        reads = 0;
        failing = read;
    }

    /** Returns whether the release has read the clock so often. */
    private boolean isThrown(String story, int read) {
        client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease lease = client.redlock().newLease();
        throwAtRead(-1);
        client.clockListener(() -> {
            if (isReadByRequest() && reads++ == failing) {
                throw new IllegalStateException("thrown by the test");
            }
        });
        if (story.contains("prepared")) {
            node(2).delay(() -> 20_000_000);
        }
        acquired(get(acquire(lease, "orders", retaining())));
        if (story.contains("local")) {
            world.runMs(10);
            assertEquals(ReleaseOutcome.RETAINED, release(lease));
            acquired(get(acquire(lease, "orders", retaining())));
        }
        CompletableFuture<AcquireOutcome> waiting = story.contains("waiter")
                ? acquire(client.redlock().newLease(), "orders", retaining().waitUpTo(TTL))
                : null;
        world.runMs(5);
        throwAtRead(read);
        get(lease.releaseAsync());
        boolean isThrown = reads > read;
        throwAtRead(-1);
        acquired(get(acquire(lease, "beta", options())));
        world.runMs(500);
        assertTrue(lease.isHeld(), "a later use of the handle");
        release(lease);
        if (waiting != null) {
            release(acquired(get(waiting)));
        }
        // A release that the nodes have not got follows with the next ping.
        world.runMs(5_000);
        if (!super.acquire(other, options()).isAcquired()) {
            world.runMs(50);
            acquired(super.acquire(other, options()));
        }
        world.runMs(1_000);
        assertTrue(client.engine().engine().isIdle(), "nothing is retained or watched");
        client.clockListener(() -> {
        });
        return isThrown;
    }

    @ParameterizedTest
    @ValueSource(strings = {"plain", "prepared", "local", "local, waiter", "plain, waiter", "prepared, waiter"})
    void aThrowDuringARelease(String story) {
        List<Boolean> thrown = new ArrayList<>();
        do {
            quietly(() -> thrown.add(isThrown(story, thrown.size())));
            clearRecordedExceptions();
            nothingIsLeft();
        } while (thrown.get(thrown.size() - 1));
        assertTrue(thrown.size() > 1, "the release reads the clock");
    }

    /** Returns whether the end of the retained locks has read the clock so often. */
    private boolean isThrownByFlush(int read) {
        client = slowWorld(3);
        release(acquired(get(acquire(client.redlock().newLease(), "orders", retaining()))));
        release(acquired(get(acquire(client.redlock().newLease(), "beta", retaining()))));
        Lease plain = acquired(get(acquire(client.redlock().newLease(), "gamma", options())));
        assertEquals(2, client.redlock().counters().retainedCount());
        throwAtRead(read);
        client.clockListener(() -> {
            boolean isEnd = StackWalker.getInstance()
                    .walk(all -> all.anyMatch(frame -> frame.getClassName().endsWith(".RetainedLocks")));
            if (isEnd && reads++ == failing) {
                throw new IllegalStateException("thrown by the test");
            }
        });
        node(0).redis().flushAll();
        world.runMs(5);
        client.clockListener(() -> {
        });
        assertEquals(0, client.redlock().counters().retainedCount());
        node(1).redis().flushAll();
        world.runMs(5);
        assertFalse(plain.isHeld(), "two of three nodes have lost it");
        return reads > read;
    }

    @Test
    void aThrowWhileAFlushEndsRetainedLocks() {
        List<Boolean> thrown = new ArrayList<>();
        do {
            quietly(() -> thrown.add(isThrownByFlush(thrown.size())));
            clearRecordedExceptions();
            nothingIsLeft();
        } while (thrown.get(thrown.size() - 1));
        assertTrue(thrown.size() > 1, "the end reads the clock");
    }
}
