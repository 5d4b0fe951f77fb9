package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A clock that throws while leases end without their holder, as any statement may in a heap without memory: nothing
 * reports the cause again, so each lease has to end in spite of it, once, and its listener hears of it.
 */
class LossFailuresTest extends VirtualTest {

    private static final long LONG_JUMP_MS = TTL.toMillis() + 1_000;

    private final List<LeaseState> heard = new ArrayList<>();
    private int reads;

    private Lease held(VirtualWorld.Client client, String resource, boolean isToBeKept) {
        var options = options().listener((lease, state) -> heard.add(state));
        return acquired(get(client.redlock()
                .acquireAsync(resource, isToBeKept ? options.holdAtLeast(Duration.ofSeconds(2)) : options)));
    }

    private static boolean isReadByLoss() {
        return StackWalker.getInstance()
                .walk(all -> all.anyMatch(frame -> frame.getClassName().endsWith(".LeaseLoss")
                        || frame.getClassName().endsWith(".ShortenedLeases")));
    }

    private void cause(String story) {
        if (story.contains("short jump")) {
            node(0).redis().clockJump(1_000);
        } else if (story.contains("jump")) {
            node(0).redis().clockJump(LONG_JUMP_MS);
        } else if (story.contains("flush")) {
            node(0).redis().flushAll();
        } else {
            // They cannot be extended.
            eachNode(node -> node.pause());
        }
    }

    /** Returns whether the clock was read so often. */
    private boolean isThrown(String story, int read) {
        heard.clear();
        reads = 0;
        VirtualWorld.Client client = world(3);
        // The leases need both of the other nodes.
        node(2).crash();
        world.runMs(50);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            leases.add(held(client, "orders/" + i, story.contains("kept")));
        }
        long validUntilNs = world.nowNs() + leases.get(0).remainingValidity().toNanos();
        client.clockListener(() -> {
            if (isReadByLoss() && reads++ == read) {
                throw new OutOfMemoryError("thrown by a test");
            }
        });
        cause(story);
        if (story.contains("jump") || story.contains("flush")) {
            world.runMs(1_500);
            boolean mayBeHeld = story.contains("short jump");
            for (Lease lease : leases) {
                boolean isShorter = world.nowNs() + lease.remainingValidity().toNanos() < validUntilNs - 900_000_000L;
                assertTrue(!lease.isHeld() || mayBeHeld && isShorter, "the node may grant it to another client");
            }
        }
        world.runMs(2 * TTL.toMillis());
        client.clockListener(() -> {
        });
        eachNode(node -> node.resume());
        node(2).restart(true);
        world.runMs(2 * TTL.toMillis() + 10_000);
        for (Lease lease : leases) {
            assertFalse(lease.isHeld());
        }
        assertEquals(leases.size(), heard.size(), "losses that were heard of");
        assertEquals(0, client.redlock().counters().heldCount(), "held");
        assertEquals(0, client.engine().claimsOut(), "claims");
        return reads > read;
    }

    @ParameterizedTest
    @ValueSource(strings = {"short jump", "jump", "flush", "flush, kept", "jump, kept", "expiry", "expiry, kept"})
    void aThrowWhileLeasesEnd(String story) {
        List<Boolean> thrown = new ArrayList<>();
        do {
            quietly(() -> thrown.add(isThrown(story, thrown.size())));
            clearRecordedExceptions();
            nothingIsLeft();
        } while (thrown.get(thrown.size() - 1));
        assertTrue(thrown.size() > 1, "their end reads the clock");
    }
}
