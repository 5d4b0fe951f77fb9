package dev.redlock.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

/**
 * The clock is read per lock, and not for each node. One reading for each turn would save 3 % of the loop's CPU, but a
 * pause in the middle of a turn would time out operations that have just started.
 */
class ClockReadsTest extends VirtualTest {

    private static final int LOCKS = 64;
    /** The alarm of the timers and the batch buffer read the clock once per turn. */
    private static final int READS_OF_TURNS_MAX = 8;

    private final int[] reads = {0};

    @Test
    void aLockAndItsReleaseReadTheClockThreeTimes() {
        world = new VirtualWorld(5);
        // The flight recorder reads the clock once more for each read of a socket.
        VirtualWorld.Client client = client(context().flightRecorderEvents(0));
        cycles(client);
        client.clockListener(() -> reads[0]++);
        List<Lease> leases = acquire(client);
        assertReads(2 * LOCKS, "when the attempt starts and when it is won");
        release(leases);
        assertReads(3 * LOCKS, "when the release starts");
    }

    @Test
    void theFlightRecorderReadsTheClockOncePerReadOfASocket() {
        VirtualWorld.Client client = world(5);
        cycles(client);
        client.clockListener(() -> reads[0]++);
        List<Lease> leases = acquire(client);
        assertReads(2 * LOCKS + 5, "one more for each node");
        release(leases);
        assertReads(3 * LOCKS + 5 + 1, "one more for the node whose replies decide the releases");
    }

    private void assertReads(int expected, String when) {
        assertTrue(reads[0] >= expected && reads[0] <= expected + READS_OF_TURNS_MAX, () -> when + ": " + reads[0]);
    }

    private void cycles(VirtualWorld.Client client) {
        release(acquire(client));
    }

    private List<Lease> acquire(VirtualWorld.Client client) {
        return all(i -> client.redlock().acquireAsync("orders/" + i, options())).stream()
                .map(VirtualTest::acquired)
                .toList();
    }

    private void release(List<Lease> leases) {
        all(i -> leases.get(i).releaseAsync()).forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, outcome));
    }

    /** Starts all operations in one turn and awaits them. */
    private <T> List<T> all(IntFunction<CompletionStage<T>> operation) {
        List<CompletionStage<T>> stages = new ArrayList<>();
        for (int i = 0; i < LOCKS; i++) {
            stages.add(operation.apply(i));
        }
        return stages.stream().map(this::get).toList();
    }
}
