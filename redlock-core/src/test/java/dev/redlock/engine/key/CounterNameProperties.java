package dev.redlock.engine.key;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** Keys of fencing counters: no lock's key is one, each belongs to one lock, and to the cluster slot of its lock. */
class CounterNameProperties {

    /** Parts of names that resemble counters, hash tags and each other. */
    private static final String[] PIECES = {"a", "b", "{", "}", "{}", "{a}", ":", "redlock", "fence", ":redlock",
        ":fence", ":redlock:fence", ":redlock:fence:", ":{", "\u00e9", "\ud83d\udd12", "\r\n"};

    private static String name(Random random, int piecesMin) {
        StringBuilder name = new StringBuilder();
        for (int i = piecesMin + random.nextInt(5); i > 0; i--) {
            name.append(PIECES[random.nextInt(PIECES.length)]);
        }
        return name.toString();
    }

    private static String text(byte[] bulk) {
        String text = new String(bulk, StandardCharsets.UTF_8);
        return text.substring(text.indexOf('\n') + 1, text.length() - 2);
    }

    /** Keys that a client accepts, with any prefix, and their counters. */
    private static Map<String, String> counters(Random random) {
        Map<String, String> counters = new HashMap<>();
        for (int i = 0; i < 300; i++) {
            String prefix = name(random, 0);
            String resource = name(random, 1);
            try {
                LockKey key = new LockKey(KeyText.ofResource(prefix, resource, 512));
                String other = counters.put(text(key.bulk), text(key.counterBulk));
                assertTrue(other == null || other.equals(text(key.counterBulk)),
                        "the counter depends on the complete key only");
            } catch (IllegalArgumentException e) {
                assertTrue((prefix + resource).contains(":redlock:fence"), e::getMessage);
            }
        }
        return counters;
    }

    @Property
    void noLockKeyIsACounterKeyAndCounterKeysAreUnique(@ForAll long seed) {
        Map<String, String> counters = counters(new Random(seed));
        Map<String, String> owners = new HashMap<>();
        counters.forEach((key, counter) -> {
            assertTrue(!counters.containsKey(counter), () -> counter + " is the counter of " + key + " and a lock");
            String other = owners.put(counter, key);
            assertEquals(null, other, () -> counter + " is the counter of " + key + " too");
            assertTrue(counter.startsWith(key), () -> counter + " is outside the key pattern of " + key);
        });
    }

    @Property
    void aCounterIsInTheClusterSlotOfItsLock(@ForAll long seed) {
        counters(new Random(seed)).forEach((key, counter) -> {
            if (!key.contains("{") && !key.contains("}") || !hashed(key).equals(key)) {
                assertEquals(slot(key), slot(counter), () -> key + " and " + counter);
            }
        });
    }

    /** The only exception: a key with a brace but without a hash tag. */
    @Example
    void aKeyWithABraceButNoTagMayHaveItsCounterInAnotherSlot() {
        for (String key : List.of("a{b", "a}b", "{}", "a{}{b}", "}{")) {
            assertEquals(key, hashed(key), "no tag");
            assertNotEquals(slot(key), slot(KeyText.counterName(key)), key);
        }
    }

    @Example
    void slotsMatchTheClusterSpecification() {
        assertEquals(0x31C3, slot("123456789"));
        assertEquals("user1000", hashed("{user1000}.following"));
        assertEquals("foo{}{bar}", hashed("foo{}{bar}"));
        assertEquals("{bar", hashed("foo{{bar}}zap"));
        assertEquals("bar", hashed("foo{bar}{zap}"));
        assertEquals(12_182, slot("foo"));
        assertEquals(slot("{user1000}.following"), slot("{user1000}.followers"));
    }

    @Example
    void generatedNamesCoverAllKinds() {
        List<String> keys = new ArrayList<>(counters(new Random(1)).keySet());
        assertTrue(keys.stream().anyMatch(key -> !key.contains("{") && !key.contains("}")), "no brace");
        assertTrue(keys.stream().anyMatch(key -> !hashed(key).equals(key)), "a tag");
        assertTrue(keys.stream().anyMatch(key -> key.contains("{") && hashed(key).equals(key)), "a brace and no tag");
        assertTrue(keys.size() > 100, keys::toString);
    }

    /** Returns the hashed part of a key: the text in the first braces, or the whole key if that is empty. */
    private static String hashed(String key) {
        int open = key.indexOf('{');
        int close = open < 0 ? -1 : key.indexOf('}', open + 1);
        return close > open + 1 ? key.substring(open + 1, close) : key;
    }

    /** CRC16 with the polynomial 0x1021, starting from 0, modulo 16384. */
    private static int slot(String key) {
        int crc = 0;
        for (byte b : hashed(key).getBytes(StandardCharsets.UTF_8)) {
            crc ^= (b & 0xFF) << 8;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
            }
            crc &= 0xFFFF;
        }
        return crc % 16_384;
    }
}
