package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import dev.redlock.time.DeadlineTimer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A timer whose handler throws must not stop the others: every deadline of the client depends on them. */
class ConductorTimersTest extends VirtualTest {

    private static final long MS = 1_000_000;

    private final List<String> fired = new ArrayList<>();

    private void startTimers(VirtualWorld.Client client) {
        TestEngine conductor = client.engine().engine();
        long nowNs = world.nowNs();
        conductor.startTimer(new DeadlineTimer(at -> {
            throw new IllegalStateException("a bug in a handler");
        }), nowNs + 100 * MS);
        for (int afterMs : new int[]{100, 101, 250, 2_000}) {
            conductor.startTimer(new DeadlineTimer(at -> fired.add(afterMs + " at " + (at - nowNs) / MS)),
                    nowNs + afterMs * MS);
        }
    }

    @Test
    void aTimerThatThrowsDoesNotDelayOthers() {
        VirtualWorld.Client client = world(3);
        client.engine().execute(() -> startTimers(client));
        quietly(() -> world.runMs(3_000));
        assertEquals(List.of("100 at 100", "101 at 101", "250 at 250", "2000 at 2000"), fired);
    }

    /** After a pause of the process, all timers are due in one poll; the one that throws must not skip the others. */
    @Test
    void aTimerThatThrowsDoesNotStopOthersOfTheSamePoll() {
        VirtualWorld.Client client = world(3);
        client.engine().execute(() -> startTimers(client));
        world.runMs(1);
        client.pause();
        world.runMs(999);
        client.resume();
        quietly(() -> world.runMs(1));
        assertEquals(List.of("100 at 1000", "101 at 1000", "250 at 1000"), fired);
        world.runMs(1_000);
        assertEquals("2000 at 2000", fired.get(3));
    }

    /** The effect on users: a node timeout, a wait budget and the end of a validity are due together with the bug. */
    @Test
    void aTimerThatThrowsDoesNotDelayLocks() {
        VirtualWorld.Client client = world(3);
        Lease lease = acquired(get(client.redlock().acquireAsync("other", options())));
        eachNode(node -> node.redis().set("orders", "foreign", -1));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client,
                options().waitUpTo(Duration.ofMillis(500)));
        client.engine().execute(() -> startTimers(client));
        world.runMs(1);
        client.pause();
        world.runMs(9_950);
        client.resume();
        quietly(() -> world.runMs(60));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, waiting.getNow(null).kind(), "the wait budget is over");
        assertEquals(LeaseState.EXPIRED, lease.state(), "the validity is over");
    }
}
