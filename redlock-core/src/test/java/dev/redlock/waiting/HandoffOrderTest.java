package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A caller that comes back at once, and a client that the nodes wake: how long the first one precedes. */
class HandoffOrderTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    private static final long NS_PER_MS = 1_000_000;

    private VirtualWorld.Client owner;
    private VirtualWorld.Client other;
    private boolean isEnded;

    private void connect(long linkNs) {
        owner = world(3);
        eachNode(node -> node.delay(() -> linkNs));
        other = client();
        world.runMs(1_500);
    }

    /** Acquires again and again. */
    private void loop(VirtualWorld.Client client, long holdNs, long thinkNs, Runnable onRelease) {
        if (isEnded) {
            return;
        }
        acquireAsync(client, options().waitUpTo(WAIT)).thenAccept(outcome -> world.after(holdNs, () -> {
            if (!outcome.isAcquired()) {
                return;
            }
            onRelease.run();
            outcome.lease().releaseAsync();
            if (thinkNs == 0) {
                loop(client, holdNs, thinkNs, onRelease);
            } else {
                world.after(thinkNs, () -> loop(client, holdNs, thinkNs, onRelease));
            }
        }));
    }

    @AfterEach
    void endLoops() {
        isEnded = true;
        if (world != null) {
            world.runMs(100);
        }
    }

    /** The woken client runs later than the pause of the owner lasts. */
    private void delayOther(long delayNs) {
        other.pause();
        world.after(delayNs, other::resume);
    }

    /** Returns the longest of some waits, milliseconds. */
    private long longestWaitMs(int count) {
        long longest = 0;
        for (int i = 0; i < count; i++) {
            long startMs = nowMs();
            var waiting = acquireAsync(other, options().waitUpTo(WAIT));
            world.await("the lock", 60_000, waiting::isDone);
            longest = Math.max(longest, nowMs() - startMs);
            acquired(waiting.join()).releaseAsync();
            world.runMs(1);
        }
        return longest;
    }

    /** The owner has met nobody yet. It asks the coordinator at an interval of 20 pauses, and pauses after 100. */
    @Test
    void anOwnerThatHasMetNobodyFindsTheFirstWaiter() {
        connect(2_500_000);
        loop(owner, 30 * NS_PER_MS, 0, () -> {
        });
        world.runMs(100);
        long waitMs = longestWaitMs(1);
        assertTrue(waitMs <= 600, () -> "waited for " + waitMs + " ms");
    }

    @Test
    void aWokenClientThatRunsLateGetsTheLockAfterTheStreak() {
        connect(100_000);
        loop(owner, 2 * NS_PER_MS, 0, () -> delayOther(1_500_000));
        world.runMs(50);
        longestWaitMs(1);
        long waitMs = longestWaitMs(20);
        assertTrue(waitMs <= 30, () -> "waited for " + waitMs + " ms");
    }

    /** Its way to the nodes is much longer than that of the owner, whose pauses double until it comes. */
    @Test
    void aFarClientGetsTheLockAfterSomeStreaks() {
        connect(100_000);
        loop(owner, 2 * NS_PER_MS, 0, () -> delayOther(8_000_000));
        world.runMs(50);
        long waitMs = longestWaitMs(5);
        assertTrue(waitMs <= 600, () -> "waited for " + waitMs + " ms");
    }

    /** The pause of the owner's own work is as long as a pause, so its streak ends; it must not forget the others. */
    @Test
    void aCallerThatComesBackSoonDoesNotPrecedeForever() {
        connect(100_000);
        loop(owner, 2 * NS_PER_MS, 1_200_000, () -> delayOther(1_500_000));
        world.runMs(50);
        long waitMs = longestWaitMs(20);
        assertTrue(waitMs <= 60, () -> "waited for " + waitMs + " ms");
    }
}
