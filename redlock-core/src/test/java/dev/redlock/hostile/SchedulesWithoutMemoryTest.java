package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.VirtualTest;
import io.netty.buffer.PooledByteBufAllocator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** The event loop has no memory for a task with a delay: an alarm of the timers, or the next turn. */
class SchedulesWithoutMemoryTest extends VirtualTest {

    private final List<LeaseState> losses = new CopyOnWriteArrayList<>();
    private VirtualWorld.Client client;

    /** Returns the exceptions in the log. */
    private List<String> runWithoutMemory(long ms) {
        return exceptionsLoggedBy(() -> {
            client.refuseSchedules(true);
            world.runMs(ms);
            client.refuseSchedules(false);
        });
    }

    /** Nothing else starts a timer: the client is idle, and its nodes send nothing. */
    @Test
    void aLeaseIsExtendedAfterwards() {
        client = world(3);
        Lease lease = acquired(acquire(client, options().autoExtend().listener((lost, state) -> losses.add(state))));
        world.runMs(1_337);
        assertEquals(1, runWithoutMemory(5_000).size());
        world.runMs(3_600_000);
        assertTrue(lease.isHeld());
        assertEquals(List.of(), losses);
        assertEquals(3, keyCount());
    }

    /** The first tasks with a delay are those of the start. */
    @Test
    void aLeaseIsExtendedAfterAStartWithoutMemory() {
        world = new VirtualWorld(3);
        client = world.newUnconnectedClient("client", context(), 1, PooledByteBufAllocator.DEFAULT);
        client.engine().open();
        runWithoutMemory(1_000);
        world.runMs(3_000);
        Lease lease = acquired(acquire(client, options().autoExtend().listener((lost, state) -> losses.add(state))));
        world.runMs(1_337);
        runWithoutMemory(5_000);
        world.runMs(60_000);
        assertTrue(lease.isHeld());
        assertEquals(List.of(), losses);
        release(lease);
        client.engine().close(Duration.ofMillis(100));
    }

    @Test
    void aListenerHearsOfALossInTheMeantime() {
        client = world(3);
        acquired(acquire(client, options().listener((lost, state) -> losses.add(state))));
        runWithoutMemory(TTL.toMillis());
        Await.until("heard", () -> losses.equals(List.of(LeaseState.EXPIRED)));
    }

    /** A release with a callback, of a lease that has ended, is one for the next turn. */
    @Test
    void aRequestForTheNextTurnRunsAfterAPoll() {
        client = world(3);
        Lease lease = lease(client);
        release(lease);
        List<ReleaseOutcome> outcomes = new ArrayList<>();
        client.call(() -> lease.release((released, first) -> {
            outcomes.add(first);
            client.refuseSchedules(true);
            released.release((again, second) -> outcomes.add(second));
        }));
        assertEquals(List.of(ReleaseOutcome.RELEASED), outcomes);
        runWithoutMemory(2_000);
        assertEquals(List.of(ReleaseOutcome.RELEASED, ReleaseOutcome.RELEASED), outcomes);
    }
}
