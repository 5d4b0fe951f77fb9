package dev.redlock.engine.key;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class KeyedMapTest {

    /** What the map is for: one entry of a queue, a search or a lease. */
    private static final class Entry extends KeyedMap.Keyed {
    }

    private final KeyedMap<Entry> map = new KeyedMap<>();

    private static LockKey key(int number) {
        return new LockKey(KeyText.ofResource("", "r" + number, 100));
    }

    private static Entry queue(int number) {
        Entry queue = new Entry();
        queue.key = key(number);
        return queue;
    }

    @Test
    void findsWhatWasAddedByAnEqualKey() {
        assertNull(map.get(key(1)));
        Entry queue = queue(1);
        map.add(queue);
        assertSame(queue, map.get(key(1)));
        assertNull(map.get(key(2)));
        map.remove(queue);
        assertNull(map.get(key(1)));
        assertNull(queue.nextInBucket, "a pooled queue keeps no other alive");
    }

    @Property(tries = 200)
    void doesWhatAMapOfTheJdkDoes(@ForAll @Size(max = 300) List<@IntRange(max = 60) Integer> numbers) {
        Map<LockKey, Entry> model = new HashMap<>();
        for (int number : numbers) {
            Entry present = map.get(key(number));
            assertSame(model.get(key(number)), present);
            if (present == null) {
                Entry added = queue(number);
                map.add(added);
                model.put(added.key, added);
            } else {
                map.remove(present);
                model.remove(present.key);
            }
            map.trim(16);
            assertEquals(model.size(), map.size());
        }
        model.forEach((key, queue) -> assertSame(queue, map.get(key)));
        model.values().forEach(map::remove);
        assertEquals(0, map.size());
    }

    @Test
    void growsWithItsQueuesAndShrinksWhenTheyAreGone() {
        List<Entry> queues = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            queues.add(queue(i));
            map.add(queues.get(i));
        }
        assertEquals(1024, map.capacity());
        map.trim(16);
        assertEquals(1024, map.capacity(), "it is in use");
        queues.forEach(map::remove);
        for (int i = 0; i < 10; i++) {
            map.trim(64);
        }
        assertEquals(64, map.capacity());
    }

    @Test
    void aTableOfWhichAnEighthIsUsedKeepsItsCapacity() {
        List<Entry> queues = IntStream.range(0, 33).mapToObj(KeyedMapTest::queue).toList();
        queues.forEach(map::add);
        assertEquals(64, map.capacity());
        queues.subList(8, 33).forEach(map::remove);
        map.trim(16);
        assertEquals(64, map.capacity(), "8 of 64 are used");
        map.remove(queues.get(0));
        map.trim(16);
        assertEquals(32, map.capacity());
    }

    @Test
    void passesEachEntryOnce() {
        List<Entry> queues = IntStream.range(0, 100).mapToObj(KeyedMapTest::queue).toList();
        queues.forEach(map::add);
        map.remove(queues.get(0));
        List<Entry> passed = new ArrayList<>();
        map.forEach(passed::add);
        assertEquals(99, passed.size());
        assertEquals(Set.copyOf(queues.subList(1, 100)), Set.copyOf(passed));
    }

    /** Names that differ in their last digits must not share a few buckets. */
    @Test
    void similarNamesSpread() {
        int pairs = 0;
        for (int i = 0; i < 1024; i++) {
            Entry queue = queue(i);
            map.add(queue);
        }
        for (int i = 0; i < 1024; i++) {
            for (KeyedMap.Keyed next = map.get(key(i)).nextInBucket; next != null; next = next.nextInBucket) {
                pairs++;
            }
        }
        // 1024 random entries in 1024 buckets have 512 pairs.
        assertTrue(pairs < 1024, pairs + " pairs share a bucket");
    }
}
