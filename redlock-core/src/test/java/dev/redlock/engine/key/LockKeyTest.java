package dev.redlock.engine.key;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.RedlockContext;
import dev.redlock.node.send.LockKind;
import dev.redlock.testing.Refusal;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LockKeyTest {

    private static LockKey key(String prefix, String resource, int lengthBytesMax) {
        return new LockKey(KeyText.ofResource(prefix, resource, lengthBytesMax));
    }

    private static String bulk(LockKey key) {
        return new String(key.bulk, StandardCharsets.UTF_8);
    }

    @Test
    void keyAndCounterAreBulkStrings() {
        LockKey key = key("", "orders/42", 512);
        assertEquals("$9\r\norders/42\r\n", bulk(key));
        assertEquals("$35\r\norders/42:redlock:fence:{orders/42}\r\n",
                new String(key.counterBulk, StandardCharsets.UTF_8));
        assertEquals("orders/42", key.resource());
        assertEquals("orders/42", key.toString());
    }

    @Test
    void prefixIsPartOfTheKeyButNotOfTheResource() {
        LockKey key = key("app:", "x", 512);
        assertEquals("$5\r\napp:x\r\n", bulk(key));
        assertEquals("x", key.resource());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "order:redlock:fence | ''", "order:redlock:fence:{order} | ''", "{order}:redlock:fence | ''",
        ":redlock:fence | ''", "a:redlock:fences | ''", ":fence | order:redlock", "fence:{order} | order:redlock:"})
    void keysWithTheCounterMarkAreRejected(String resource, String prefix) {
        Refusal.ofArgument("resource \"" + resource + "\" contains \":redlock:fence\" with its prefix, which only names"
                + " of fencing counters may: choose another name", () -> key(prefix, resource, 512));
    }

    @Test
    void keysAndPrefixesWithTheMarkOfAReservationAreRejected() {
        Refusal.ofArgument(
                "resource \"a:redlock:reservation\" contains \":redlock:reservation\" with its prefix, which only"
                        + " names of reservations may: choose another name",
                () -> key("", "a:redlock:reservation", 512));
        Refusal.ofArgument("key prefix \"a:redlock:reservation\" contains \":redlock:reservation\", which only names of"
                + " reservations may: choose another prefix",
                () -> new RedlockContext().keyPrefix("a:redlock:reservation"));
    }

    @Test
    void keysAndPrefixesWithTheMarkOfAPermitAreRejected() {
        Refusal.ofArgument("resource \"a:redlock:permit:{a}:0\" contains \":redlock:permit\" with its prefix, which"
                + " only names of permits may: choose another name",
                () -> key("", "a:redlock:permit:{a}:0", 512));
        Refusal.ofArgument("key prefix \"a:redlock:permit\" contains \":redlock:permit\", which only names of permits"
                + " may: choose another prefix", () -> new RedlockContext().keyPrefix("a:redlock:permit"));
    }

    @Test
    void prefixesWithTheCounterMarkAreRejected() {
        Refusal.ofArgument("key prefix \"a:redlock:fence:\" contains \":redlock:fence\", which only names of fencing"
                + " counters may: choose another prefix", () -> new RedlockContext().keyPrefix("a:redlock:fence:"));
    }

    @Test
    void lengthIsInUtf8Bytes() {
        assertEquals("$2\r\n\u00e9\r\n", bulk(key("", "\u00e9", 2)));
        assertEquals("$4\r\n\ud83d\udd12\r\n", bulk(key("", "\ud83d\udd12", 4)));
        Refusal.ofArgument("resource \"\u00e9\" is 2 bytes long with its prefix: at most 1 are allowed"
                + " (RedlockContext.resourceLengthMax)", () -> key("", "\u00e9", 1));
    }

    @Test
    void lengthLimitIsInclusive() {
        assertEquals("r".repeat(512), key("", "r".repeat(512), 512).resource());
        Refusal.ofArgument("resource \"" + "r".repeat(32) + "... (481 more characters)\" is 513 bytes long with its"
                + " prefix: at most 512 are allowed (RedlockContext.resourceLengthMax)",
                () -> key("", "r".repeat(513), 512));
        assertEquals("r".repeat(510), key("p:", "r".repeat(510), 512).resource());
        Refusal.ofArgument("resource \"" + "r".repeat(32) + "... (479 more characters)\" is 513 bytes long with its"
                + " prefix: at most 512 are allowed (RedlockContext.resourceLengthMax)",
                () -> key("p:", "r".repeat(511), 512));
    }

    @Test
    void emptyNamesAreRejected() {
        Refusal.ofArgument("resource \"\" is empty: give the name of the resource to lock",
                () -> key("", "", 512));
        Refusal.ofArgument("resource \"\" is empty: give the name of the resource to lock",
                () -> key("p", "", 512));
        Refusal.ofNull("resource is null: give the name of the resource to lock", () -> key("", null, 512));
    }

    /** The encoder of Java replaces each by a question mark, so that different names would share a lock. */
    @ParameterizedTest
    @CsvSource(delimiter = '|',
            value = {"a\ud83d | 1", "\udd12b | 0", "\ud83d\ud83d\udd12 | 0", "\ud83d\udd12\udd12 | 2",
                "ab\ud83dc | 2"})
    void unpairedSurrogatesAreRejected(String resource, int index) {
        Refusal.ofArgument("resource has an unpaired surrogate at index " + index
                + ", which UTF-8 cannot encode: use complete characters", () -> key("", resource, 512));
        Refusal.ofArgument("key prefix has an unpaired surrogate at index " + index
                + ", which UTF-8 cannot encode: use complete characters",
                () -> new RedlockContext().keyPrefix(resource));
    }

    @Test
    void namesWithProtocolBytesAreEncodedAsData() {
        assertEquals("$6\r\na\r\n$1\n\r\n", bulk(key("", "a\r\n$1\n", 512)));
    }

    private static List<String> names(int count) {
        return IntStream.range(0, count).mapToObj(i -> "r" + i).toList();
    }

    @Test
    void aSetHasOneTo64Resources() {
        assertEquals(64, SetKey.of("", names(64), 512).resourceCount);
        Refusal.ofArgument("65 resources are out of range: a set has 1 to 64; lock one name for several resources",
                () -> SetKey.of("", names(65), 512));
        Refusal.ofArgument("0 resources are out of range: a set has 1 to 64; lock at least one",
                () -> SetKey.of("", List.of(), 512));
    }

    @Test
    void theOrderOfTheNamesOfASetDoesNotMatter() {
        LockKey set = SetKey.of("", List.of("c", "a", "b"), 512);
        assertEquals(List.of("a", "b", "c"), set.resources());
        assertEquals(SetKey.of("", List.of("b", "c", "a"), 512), set);
    }

    @Test
    void aResourceIsInASetOnce() {
        for (List<String> names : List.of(List.of("a", "a"), List.of("a", "b", "a"), List.of("b", "a", "c", "a"))) {
            Refusal.ofArgument("resource \"a\" is in the set twice: give each resource once",
                    () -> SetKey.of("", names, 512));
        }
        assertEquals(key("", "a", 512), SetKey.of("", List.of("a"), 512), "one resource is a plain key");
    }

    private static PermitKey semaphore(String resource, int permitCount) {
        return (PermitKey) key("", resource, 512).as(LockKind.PERMIT, permitCount);
    }

    @Test
    void aKeyKeepsItsSemaphoreUntilItIsUsedWithAnotherNumberOfPermits() {
        LockKey plain = key("", "orders", 512);
        LockKey three = plain.as(LockKind.PERMIT, 3);
        assertSame(three, plain.as(LockKind.PERMIT, 3));
        assertEquals(4, ((PermitKey) plain.as(LockKind.PERMIT, 4)).permitCount());
        assertEquals(three, plain.as(LockKind.PERMIT, 3));
    }

    @Test
    void aSemaphoreIncludesItselfAndItsPermits() {
        LockKey three = semaphore("orders", 3);
        PermitKey four = semaphore("orders", 4);
        for (int i = 0; i < 3; i++) {
            assertTrue(three.includes(four.permitKey(i)), "semaphores of one name share their permits");
        }
        assertTrue(three.includes(three));
        assertTrue(three.includes(semaphore("orders", 3)));
        assertFalse(three.includes(four.permitKey(3)), "it has no such permit");
        assertFalse(three.includes(semaphore("invoices", 3).permitKey(1)));
        assertFalse(three.includes(key("", "orders", 512)), "the plain lock of its name is another lock");
    }

    @Test
    void anotherLockIncludesItselfOnly() {
        LockKey plain = key("", "orders", 512);
        assertTrue(plain.includes(key("", "orders", 512)));
        assertFalse(plain.includes(key("", "invoices", 512)));
        assertFalse(plain.includes(semaphore("orders", 3).permitKey(0)));
    }

    @Test
    void theNumberOfAPermitIsTheEndOfItsName() {
        PermitKey semaphore = semaphore("orders", PermitKey.PERMITS_MAX);
        for (int number : new int[]{0, 9, 10, 99, 100, 255}) {
            ByteBuf name = Unpooled.copiedBuffer("$" + semaphore.permitKey(number).resource(), StandardCharsets.UTF_8);
            assertEquals(number, PermitKey.permitNumberOf(name, 1, name.readableBytes() - 1));
        }
    }

    @ParameterizedTest
    @CsvSource({"orders:redlock:reservation, 6", "a:redlock:reservation, 1", "orders, 6", "o, 1",
        // Another name that ends as a reservation does, but for its first character.
        "orders/redlock:reservation, 26",
        // The mark alone is the reservation of no resource.
        ":redlock:reservation, 20", "redlock:reservation, 19"})
    void theNameOfAReservationContainsThatOfItsResource(String name, int lengthBytes) {
        ByteBuf pushed = Unpooled.copiedBuffer("$" + name, StandardCharsets.UTF_8);
        assertEquals(lengthBytes, ResourcesKey.resourceLengthOf(pushed, 1, name.length()));
    }

    /** Redis takes the text between the first brace and the next closing one as the tag, unless it is empty. */
    @Test
    void aSemaphoreInAClusterNeedsAHashTagIfItsNameHasABrace() {
        for (String resource : List.of("orders", "{a}", "x{a}y", "{a}{}")) {
            semaphore(resource, 2).checkSlots(false);
        }
        for (String resource : List.of("{}", "a{}", "{", "}", "}a", "{a", "{}{a}", "}{")) {
            PermitKey semaphore = semaphore(resource, 2);
            Refusal.ofArgument("resource \"" + resource + "\" has a brace but no hash tag, so its permits are in"
                    + " different slots of a cluster: remove the brace, or write a complete {tag}",
                    () -> semaphore.checkSlots(false));
        }
    }

    @Test
    void keysWithEqualBytesAreEqual() {
        LockKey key = key("a", "bc", 512);
        assertEquals(key, key("ab", "c", 512));
        assertEquals(key.hashCode(), key("ab", "c", 512).hashCode());
        assertNotEquals(key, key("a", "bd", 512));
        assertFalse(key.equals(null));
    }
}
