package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.redlock.RedlockContext;
import dev.redlock.Refusal;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LockKeyTest {

    private static String bulk(LockKey key) {
        return new String(key.bulk(), StandardCharsets.UTF_8);
    }

    @Test
    void keyAndCounterAreBulkStrings() {
        LockKey key = LockKey.of("", "orders/42", 512);
        assertEquals("$9\r\norders/42\r\n", bulk(key));
        assertEquals("$35\r\norders/42:redlock:fence:{orders/42}\r\n",
                new String(key.counterBulk(), StandardCharsets.UTF_8));
        assertEquals("orders/42", key.resource());
        assertEquals("orders/42", key.toString());
    }

    @Test
    void prefixIsPartOfTheKeyButNotOfTheResource() {
        LockKey key = LockKey.of("app:", "x", 512);
        assertEquals("$5\r\napp:x\r\n", bulk(key));
        assertEquals("x", key.resource());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "order:redlock:fence | ''", "order:redlock:fence:{order} | ''", "{order}:redlock:fence | ''",
        ":redlock:fence | ''", "a:redlock:fences | ''", ":fence | order:redlock", "fence:{order} | order:redlock:"})
    void keysWithTheCounterMarkAreRejected(String resource, String prefix) {
        Refusal.ofArgument("resource \"" + resource + "\" contains \":redlock:fence\" with its prefix, which only names"
                + " of fencing counters may: choose another name", () -> LockKey.of(prefix, resource, 512));
    }

    @Test
    void keysAndPrefixesWithTheMarkOfAnIntentionAreRejected() {
        Refusal.ofArgument(
                "resource \"a:redlock:intention\" contains \":redlock:intention\" with its prefix, which only"
                        + " names of intentions may: choose another name",
                () -> LockKey.of("", "a:redlock:intention", 512));
        Refusal.ofArgument("key prefix \"a:redlock:intention\" contains \":redlock:intention\", which only names of"
                + " intentions may: choose another prefix",
                () -> new RedlockContext().keyPrefix("a:redlock:intention"));
    }

    @Test
    void prefixesWithTheCounterMarkAreRejected() {
        Refusal.ofArgument("key prefix \"a:redlock:fence:\" contains \":redlock:fence\", which only names of fencing"
                + " counters may: choose another prefix", () -> new RedlockContext().keyPrefix("a:redlock:fence:"));
    }

    @Test
    void lengthIsInUtf8Bytes() {
        assertEquals("$2\r\n\u00e9\r\n", bulk(LockKey.of("", "\u00e9", 2)));
        assertEquals("$4\r\n\ud83d\udd12\r\n", bulk(LockKey.of("", "\ud83d\udd12", 4)));
        Refusal.ofArgument("resource \"\u00e9\" is 2 bytes long with its prefix: at most 1 are allowed"
                + " (RedlockContext.resourceLengthMax)", () -> LockKey.of("", "\u00e9", 1));
    }

    @Test
    void lengthLimitIsInclusive() {
        assertEquals("r".repeat(512), LockKey.of("", "r".repeat(512), 512).resource());
        Refusal.ofArgument("resource \"" + "r".repeat(32) + "... (481 more characters)\" is 513 bytes long with its"
                + " prefix: at most 512 are allowed (RedlockContext.resourceLengthMax)",
                () -> LockKey.of("", "r".repeat(513), 512));
        assertEquals("r".repeat(510), LockKey.of("p:", "r".repeat(510), 512).resource());
        Refusal.ofArgument("resource \"" + "r".repeat(32) + "... (479 more characters)\" is 513 bytes long with its"
                + " prefix: at most 512 are allowed (RedlockContext.resourceLengthMax)",
                () -> LockKey.of("p:", "r".repeat(511), 512));
    }

    @Test
    void emptyNamesAreRejected() {
        Refusal.ofArgument("resource \"\" is empty: give the name of the resource to lock",
                () -> LockKey.of("", "", 512));
        Refusal.ofArgument("resource \"\" is empty: give the name of the resource to lock",
                () -> LockKey.of("p", "", 512));
        Refusal.ofNull("resource is null: give the name of the resource to lock", () -> LockKey.of("", null, 512));
    }

    /** The encoder of Java replaces each by a question mark, so that different names would share a lock. */
    @ParameterizedTest
    @CsvSource(delimiter = '|',
            value = {"a\ud83d | 1", "\udd12b | 0", "\ud83d\ud83d\udd12 | 0", "\ud83d\udd12\udd12 | 2",
                "ab\ud83dc | 2"})
    void unpairedSurrogatesAreRejected(String resource, int index) {
        Refusal.ofArgument("resource has an unpaired surrogate at index " + index
                + ", which UTF-8 cannot encode: use complete characters", () -> LockKey.of("", resource, 512));
        Refusal.ofArgument("key prefix has an unpaired surrogate at index " + index
                + ", which UTF-8 cannot encode: use complete characters",
                () -> new RedlockContext().keyPrefix(resource));
    }

    @Test
    void namesWithProtocolBytesAreEncodedAsData() {
        assertEquals("$6\r\na\r\n$1\n\r\n", bulk(LockKey.of("", "a\r\n$1\n", 512)));
    }

    @Test
    void keysWithEqualBytesAreEqual() {
        LockKey key = LockKey.of("a", "bc", 512);
        assertEquals(key, LockKey.of("ab", "c", 512));
        assertEquals(key.hashCode(), LockKey.of("ab", "c", 512).hashCode());
        assertNotEquals(key, LockKey.of("a", "bd", 512));
        assertFalse(key.equals(null));
    }
}
