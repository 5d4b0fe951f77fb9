package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** A table in which several keys share one place. */
class KeyPlacesTest {

    private static LockKey key(int number) {
        return LockKey.of("", "key/" + number, 100);
    }

    @Test
    void anElementIsFoundByAnEqualKeyUntilItIsRemoved() {
        KeyPlaces<String> places = new KeyPlaces<>();
        String element = "element";
        assertNull(places.get(key(1)));
        assertTrue(places.tryPut(key(1), element));
        assertSame(element, places.get(key(1)));
        assertFalse(places.tryPut(key(1), "other"), "in use");
        places.remove(key(1), "other");
        assertSame(element, places.get(key(1)), "another element is not removed");
        places.remove(key(1), element);
        assertNull(places.get(key(1)));
        assertTrue(places.tryPut(key(1), "other"));
    }

    /** It finds what a map would find, except what it has refused. */
    @Test
    void itAgreesWithAMapWhereverItHasAPlace() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        KeyPlaces<Object> places = new KeyPlaces<>();
        Map<LockKey, Object> map = new HashMap<>();
        int refused = 0;
        for (int i = 0; i < 100_000; i++) {
            LockKey key = key(random.nextInt(2_000));
            Object known = map.get(key);
            assertSame(known, places.get(key), () -> "seed " + seed);
            if (known != null) {
                places.remove(key, known);
                map.remove(key);
            } else if (places.tryPut(key, key)) {
                map.put(key, key);
            } else {
                refused++;
                assertNull(places.get(key), () -> "seed " + seed);
            }
        }
        assertTrue(refused > 0, "keys share places");
        map.forEach((key, element) -> assertEquals(element, places.get(key)));
    }
}
