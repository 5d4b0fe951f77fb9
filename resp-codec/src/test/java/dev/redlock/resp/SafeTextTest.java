package dev.redlock.resp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SafeTextTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|',
            value = {"0a|\\n", "0d|\\r", "09|\\t", "00|\\u0000", "1b|\\u001b", "7f|\\u007f", "85|\\u0085",
                "9b|\\u009b", "ad|\\u00ad", "200b|\\u200b", "200f|\\u200f", "2028|\\u2028", "2029|\\u2029",
                "202a|\\u202a",
                "202e|\\u202e", "2066|\\u2066", "2069|\\u2069", "feff|\\ufeff", "d83d|\\ud83d", "dd12|\\udd12",
                "e0041|\\udb40\\udc41"})
    void escapesInvisibleCharacters(String codePoint, String escape) {
        String text = "a" + Character.toString(Integer.parseInt(codePoint, 16)) + "b";
        assertEquals("a" + escape + "b", SafeText.of(text));
    }

    @Test
    void keepsOtherCharacters() {
        String text = "orders/42 \"{0}\" \\ \u00e9\u4e2d\ud83d\udd12 \u0645";
        assertSame(text, SafeText.of(text));
        assertEquals("null", SafeText.of(null));
        assertEquals("", SafeText.of(""));
    }

    @Test
    void cutsLongText() {
        assertEquals("x".repeat(200), SafeText.of("x".repeat(200)));
        assertEquals("x".repeat(200) + "... (1 more characters)", SafeText.of("x".repeat(201)));
        assertEquals("\\n".repeat(200) + "... (12000000 more characters)", SafeText.of("\n".repeat(12_000_200)));
        assertEquals("... (3 more characters)", SafeText.of("abc", 0));
    }

    @Test
    void doesNotCutSurrogatePairs() {
        assertEquals("a... (3 more characters)", SafeText.of("a\ud83d\udd12b", 2));
        assertEquals("a\ud83d\udd12... (1 more characters)", SafeText.of("a\ud83d\udd12b", 3));
    }

    @Test
    void decodesOnlyTheShownBytes() {
        byte[] bytes = new byte[12_000_000];
        bytes[1] = '\n';
        String shown = SafeText.of(bytes, 10);
        assertEquals("\\u0000\\n" + "\\u0000".repeat(8) + "... (12000000 bytes)", shown);
        assertEquals("\u00e9\\n", SafeText.of("\u00e9\n".getBytes(StandardCharsets.UTF_8), 2));
        assertEquals("\ud83d\udd12".repeat(5),
                SafeText.of("\ud83d\udd12".repeat(5).getBytes(StandardCharsets.UTF_8), 10));
    }

    @Property
    void returnsOneLineWithoutControlCharacters(@ForAll String text, @ForAll List<Integer> units) {
        StringBuilder any = new StringBuilder(text);
        units.forEach(unit -> any.append((char) (int) unit));
        String shown = SafeText.of(any);
        assertTrue(shown.length() <= 6 * SafeText.LENGTH_MAX + 40, shown);
        shown.codePoints().forEach(c -> assertTrue(switch (Character.getType(c)) {
            case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE ->
                false;
            default -> true;
        }, shown));
    }

    /** A hostile server sends a wide and deep tree of long texts. */
    @Test
    void cutsLargeTreesOfValues() {
        List<RespValue> wide = new ArrayList<>();
        for (int i = 0; i < 4_096; i++) {
            wide.add(RespValue.bulk("x".repeat(1_000) + "\u001b[2J\n"));
        }
        RespValue tree = RespValue.aggregate(RespType.ARRAY, wide);
        for (int i = 0; i < 60; i++) {
            tree = RespValue.array(tree, tree)
                    .withAttribute(RespValue.aggregate(RespType.ATTRIBUTE, List.of(tree, tree)));
        }
        String shown = tree.toString();
        assertTrue(shown.length() < 2_000, shown.length() + " characters");
        assertTrue(shown.chars().noneMatch(c -> c < ' '), shown);
    }

    @Test
    void showsSmallTreesWhole() {
        RespValue tree = RespValue.array(RespValue.integer(1), RespValue.bulk("a\nb"),
                RespValue.array(RespValue.bool(true), RespValue.nullOf(RespType.NULL)), RespValue.number(1.5),
                RespValue.nullOf(RespType.ARRAY), RespValue.array());
        assertEquals(
                "ARRAY[INTEGER(1), BULK_STRING(a\\nb), ARRAY[BOOLEAN(true), NULL], DOUBLE(1.5), ARRAY(null), ARRAY[]]",
                tree.toString());
        assertEquals("ATTRIBUTE[BULK_STRING(k), INTEGER(2)] INTEGER(1)", RespValue.integer(1)
                .withAttribute(
                        RespValue.aggregate(RespType.ATTRIBUTE, List.of(RespValue.bulk("k"), RespValue.integer(2))))
                .toString());
    }

    @Test
    void typeErrorShowsTheEscapedValue() {
        RespValue value = RespValue.bulk("a\u001b" + "x".repeat(12_000_000));
        String message = assertThrows(IllegalStateException.class, value::asLong)
                .getMessage();
        assertEquals("expected an integer, got BULK_STRING(a\\u001b" + "x".repeat(198) + "... (12000002 bytes))",
                message);
    }
}
