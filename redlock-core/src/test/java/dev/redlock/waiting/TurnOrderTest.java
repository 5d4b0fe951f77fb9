package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Many clients wait for one lock in the order of their arrival: how long each waits. */
class TurnOrderTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    private static final int CLIENTS = 8;
    private static final long NS_PER_MS = 1_000_000;

    private long linkNs;
    private long longestMs;
    private boolean isEnded;

    @AfterEach
    void endLoops() {
        isEnded = true;
        if (world != null) {
            world.runMs(200);
        }
    }

    /** Acquires again and again, and holds each lease for one millisecond. */
    private void loop(VirtualWorld.Client client) {
        if (isEnded) {
            return;
        }
        long startMs = nowMs();
        acquireAsync(client, options().waitUpTo(WAIT)).thenAccept(outcome -> {
            longestMs = Math.max(longestMs, nowMs() - startMs);
            if (outcome.isAcquired()) {
                world.after(NS_PER_MS, () -> {
                    outcome.lease().releaseAsync();
                    loop(client);
                });
            }
        });
    }

    /** The first round trip of a process may be much longer than the others, so it says nothing about a turn. */
    @Test
    void aSlowConnectDoesNotMakeClientsMissTheirTurns() {
        List<VirtualWorld.Client> clients = new ArrayList<>();
        clients.add(world(3));
        linkNs = 1_500_000;
        eachNode(node -> node.delay(() -> linkNs));
        while (clients.size() < CLIENTS) {
            clients.add(client());
        }
        world.runMs(20);
        linkNs = 50_000;
        clients.forEach(this::loop);
        world.runMs(200);
        longestMs = 0;
        world.runMs(600);
        long waitMs = longestMs;
        assertTrue(waitMs <= 100, () -> "waited for " + waitMs + " ms; a round of eight clients takes 50 ms");
    }
}
