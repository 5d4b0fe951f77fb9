package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Automatic extensions of many leases: when they are sent, and that none is late. */
class RenewalsTest extends VirtualTest {

    private static final Duration LONG = Duration.ofSeconds(30);
    private static final int PARTS = 100;
    private static final int PART_MS = 100;

    private final int[] extensions = new int[3 * PARTS];
    private final List<LeaseState> losses = new ArrayList<>();
    private long startNs;

    private final LeaseListener listener = new LeaseListener() {
        @Override
        public void onLost(Lease lease, LeaseState state) {
            losses.add(state);
        }

        @Override
        public void onExtended(Lease lease, int extensionCount) {
            extensions[(int) ((world.nowNs() - startNs) / 1_000_000 / PART_MS)]++;
        }
    };

    /** Acquires all of them in one turn of the loop. */
    private List<Lease> hold(VirtualWorld.Client client, int count) {
        return hold(client, count, AcquireOptions.ofTtl(LONG).autoExtend());
    }

    private List<Lease> hold(VirtualWorld.Client client, int count, AcquireOptions extended) {
        AcquireOptions options = extended.tryOnce().listener(listener);
        List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        client.engine().execute(() -> {
            for (int i = 0; i < count; i++) {
                outcomes.add(client.redlock().acquireAsync("orders/" + i, options).toCompletableFuture());
            }
        });
        world.settle();
        startNs = world.nowNs();
        return outcomes.stream().map(outcome -> acquired(get(outcome))).toList();
    }

    private static int sum(int[] counts, int from, int to) {
        return Arrays.stream(counts, from, to).sum();
    }

    @Test
    void leasesAcquiredTogetherAreNotExtendedTogether() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = hold(client, 2_000);
        world.runMs(29_990);
        assertEquals(List.of(), losses);
        leases.forEach(lease -> assertTrue(lease.remainingValidityNs() > 19_000_000_000L, lease::toString));
        int first = sum(extensions, 0, PARTS);
        assertTrue(first > 1_900 && first < 2_300, () -> "each lease about once in an interval: " + first);
        for (int interval = 0; interval < 3; interval++) {
            int[] counts = Arrays.copyOfRange(extensions, interval * PARTS, (interval + 1) * PARTS);
            int most = Arrays.stream(counts).max().orElseThrow();
            assertTrue(most < 100, () -> "of 2000 in one part: " + Arrays.toString(counts));
        }
    }

    /** Also the last ones before the longest hold are spread. */
    @Test
    void leasesThatEndTogetherAreNotExtendedTogether() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = hold(client, 2_000, AcquireOptions.ofTtl(LONG).autoExtend(Duration.ofSeconds(25)));
        world.runMs(29_000);
        leases.forEach(lease -> assertTrue(lease.remainingValidityNs() > 24_000_000_000L, lease::toString));
        int most = Arrays.stream(extensions).max().orElseThrow();
        assertTrue(most < 400, () -> "of 2000 in one part: " + Arrays.toString(extensions));
        assertEquals(0, sum(extensions, 5 * PARTS / 2, extensions.length), "after the longest hold");
    }

    @Test
    void aPauseOfTheProcessDoesNotLeaveBursts() {
        VirtualWorld.Client client = world(3);
        hold(client, 2_000);
        world.runMs(5_000);
        client.pause();
        world.runMs(5_000);
        client.resume();
        world.runMs(10);
        int burst = extensions[PARTS];
        assertTrue(burst > 700, () -> "precondition, half of the leases are due: " + burst);
        world.runMs(19_900);
        assertEquals(List.of(), losses);
        int[] last = Arrays.copyOfRange(extensions, 2 * PARTS, 3 * PARTS);
        int most = Arrays.stream(last).max().orElseThrow();
        assertTrue(most < burst / 5, () -> Arrays.toString(extensions));
    }

    @Test
    void oneLeaseIsExtendedAfterAThirdOfItsTtl() {
        VirtualWorld.Client client = world(3);
        hold(client, 1);
        world.runMs(9_999);
        assertEquals(0, sum(extensions, 0, extensions.length));
        world.runMs(10);
        assertEquals(1, sum(extensions, 0, extensions.length));
    }

    /** An early extension by the ttl must not shorten what the caller has extended. */
    @Test
    void leasesThatTheirCallersHaveExtendedAreNotShortened() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = hold(client, 500);
        leases.forEach(lease -> lease.extendAsync(Duration.ofSeconds(60)));
        world.runMs(10);
        long[] untilNs = leases.stream().mapToLong(lease -> world.nowNs() + lease.remainingValidityNs()).toArray();
        for (int step = 0; step < 25; step++) {
            world.runMs(1_000);
            for (int i = 0; i < untilNs.length; i++) {
                long nowUntilNs = world.nowNs() + leases.get(i).remainingValidityNs();
                long before = untilNs[i];
                assertTrue(nowUntilNs >= before, () -> "shortened by " + (before - nowUntilNs) + " ns");
            }
        }
    }
}
