package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

class DoorkeeperTest {

    private static final int KEYS = 10_000;

    private static int firstOf(String resource, int[] identityHashes) {
        int keyHash = LockKey.of("", resource, 512).hashCode();
        int first = 0;
        for (int i = 1; i < identityHashes.length; i++) {
            if (Doorkeeper.weightOf(keyHash, identityHashes[i]) > Doorkeeper.weightOf(keyHash,
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
    void aMissingNodeChangesTheDoorkeeperOfItsOwnResourcesOnly() {
        int[] all = new Random(7).ints(5).toArray();
        int[] four = java.util.Arrays.copyOf(all, 4);
        for (int i = 0; i < KEYS; i++) {
            int before = firstOf("orders/" + i, all);
            if (before != 4) {
                assertEquals(before, firstOf("orders/" + i, four));
            }
        }
    }
}
