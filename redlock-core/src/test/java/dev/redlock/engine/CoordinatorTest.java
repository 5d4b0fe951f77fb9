package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.key.LockKey;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CoordinatorTest extends VirtualTest {

    private static final int KEYS = 10_000;
    private static final long MS = 1_000_000;

    private static int firstOf(String resource, int[] identityHashes) {
        int keyHash = new LockKey(KeyText.ofResource("", resource, 512)).hashCode();
        int first = 0;
        for (int i = 1; i < identityHashes.length; i++) {
            if (Coordinator.weightOf(keyHash, identityHashes[i]) > Coordinator.weightOf(keyHash,
                    identityHashes[first])) {
                first = i;
            }
        }
        return first;
    }

    @Test
    void resourcesWithSimilarNamesAreSpreadOverTheNodes() {
        long seed = new Random().nextLong();
        int[] identities = new Random(seed).ints(5).toArray();
        int[] counts = new int[identities.length];
        for (int i = 0; i < KEYS; i++) {
            counts[firstOf("orders/" + i, identities)]++;
        }
        for (int count : counts) {
            assertTrue(count > KEYS / 5 * 8 / 10 && count < KEYS / 5 * 12 / 10,
                    () -> "seed " + seed + ": " + java.util.Arrays.toString(counts));
        }
    }

    @Test
    void aMissingNodeChangesTheCoordinatorOfItsOwnResourcesOnly() {
        int[] all = new Random(7).ints(5).toArray();
        int[] four = java.util.Arrays.copyOf(all, 4);
        for (int i = 0; i < KEYS; i++) {
            int before = firstOf("orders/" + i, all);
            if (before != 4) {
                assertEquals(before, firstOf("orders/" + i, four));
            }
        }
    }

    /** Clients of all versions must choose the same node. These are published values of the hash. */
    @Test
    void weightsAreThoseOfMurmurHash3() {
        assertEquals(0x514E28B7, Coordinator.weightOf(0, 1));
        assertEquals(0x81F16F39, Coordinator.weightOf(0, 0xFFFFFFFF));
        assertEquals(0x514E28B7, Coordinator.weightOf(1, 0x9E3779B9 ^ 1));
    }

    /** Otherwise a thrifty attempt asks one node more. The hashes of two servers may be equal. */
    @Test
    void theCoordinatorIsOneOfTheFirstVoters() {
        world = new VirtualWorld(3);
        List<String> equalHashes = List.of("AaAa", "AaBB", "BBBB");
        for (int i = 0; i < 3; i++) {
            node(i).redis().runId(equalHashes.get(i));
        }
        TestEngine engine = client().engine().engine();
        LockKey key = new LockKey(KeyText.ofResource("", "orders", 512));
        assertEquals(0, engine.newCoordinator().of(key));
        assertEquals(0b011, engine.thriftyQuorum().of(key));
    }

    /** Returns a coordinator of nodes whose last clock samples took 40 ms. */
    private Coordinator slowCoordinator() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 20 * MS));
        world.runMs(3_000);
        return client.engine().engine().newCoordinator();
    }

    /** A clock sample is rare, and may be much longer than an attempt. */
    @Test
    void theGraceFollowsTheShortestRefusalsWhichRiseSlowly() {
        Coordinator coordinator = slowCoordinator();
        assertEquals(120 * MS, coordinator.graceNs(0), "three round trips of a clock sample");
        coordinator.onRefused(0, 8 * MS);
        assertEquals(24 * MS, coordinator.graceNs(0), "three times the first refusal");
        coordinator.onRefused(0, 16 * MS);
        assertEquals(27 * MS, coordinator.graceNs(0), "an eighth of the way to a longer one");
        coordinator.onRefused(0, 4 * MS);
        assertEquals(12 * MS, coordinator.graceNs(0), "a shorter one at once");
        assertEquals(120 * MS, coordinator.graceNs(1), "another node");
    }

    @Test
    void anAttemptWaitsForTheCoordinatorForHalfOfItsTimeAtMost() {
        Coordinator coordinator = slowCoordinator();
        assertEquals(25 * MS, coordinator.timeoutNs(0, 50 * MS));
        assertEquals(120 * MS, coordinator.timeoutNs(0, 1_000 * MS));
    }
}
