package dev.redlock.resp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every limit accepts input of length N and rejects N + 1, whether it arrives whole or byte by byte. */
class RespLimitsTest {
    private static final RespLimits DEFAULTS = RespLimits.defaults();

    private static void assertAccepts(RespLimits limits, String wire) {
        for (int step : new int[]{wire.length(), 1}) {
            EventLog log = new EventLog();
            ByteBuf in = Unpooled.buffer();
            RespParser parser = RespParser.forReplies(limits);
            for (int from = 0; from < wire.length(); from += step) {
                in.discardReadBytes()
                        .writeBytes(Wire.bytes(wire.substring(from, Math.min(wire.length(), from + step))));
                parser.parse(in, log);
            }
            assertEquals("reply end", log.events().get(log.events().size() - 1));
        }
    }

    private static void assertRejects(RespLimits limits, String wire, RespRule rule) {
        RespProtocolException e = assertThrows(RespProtocolException.class, () -> assertAccepts(limits, wire));
        assertEquals(rule, e.rule());
        assertEquals(RespProtocolException.NO_BYTE, e.byteSeen());
    }

    @ParameterizedTest
    @ValueSource(ints = {32, 33, 100, 4096, 65536})
    void limitsLineLength(int max) {
        RespLimits limits = DEFAULTS.lineLengthMax(max);
        for (String marker : new String[]{"+", "-"}) {
            assertAccepts(limits, marker + "x".repeat(max) + "\r\n");
            assertRejects(limits, marker + "x".repeat(max + 1) + "\r\n", RespRule.LINE_LENGTH_MAX);
        }
        for (String marker : new String[]{":", "(", ","}) {
            assertAccepts(limits, marker + "0".repeat(max) + "\r\n");
            assertRejects(limits, marker + "0".repeat(max + 1) + "\r\n", RespRule.LINE_LENGTH_MAX);
        }
        assertAccepts(limits, "*" + "0".repeat(max) + "\r\n");
        assertRejects(limits, "*" + "0".repeat(max + 1) + "\r\n", RespRule.LINE_LENGTH_MAX);
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 5, 9, 10, 99_999, 100_000})
    void limitsBulkLength(int max) {
        RespLimits limits = DEFAULTS.bulkLengthMax(max);
        String content = "txt:" + "x".repeat(max - 4);
        for (String marker : new String[]{"$", "!", "="}) {
            assertAccepts(limits, marker + max + "\r\n" + content + "\r\n");
            assertRejects(limits, marker + (max + 1) + "\r\n", RespRule.BULK_LENGTH_MAX);
        }
        assertRejects(DEFAULTS.bulkLengthMax(0), "$1\r\n", RespRule.BULK_LENGTH_MAX);
        assertAccepts(DEFAULTS.bulkLengthMax(0), "$0\r\n\r\n");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2, 8, 9, 10, 1000})
    void limitsElementCount(int max) {
        RespLimits limits = DEFAULTS.elementCountMax(max);
        for (String marker : new String[]{"*", "~"}) {
            assertAccepts(limits, marker + max + "\r\n" + ":1\r\n".repeat(max));
            assertRejects(limits, marker + (max + 1) + "\r\n", RespRule.ELEMENT_COUNT_MAX);
        }
        assertAccepts(limits, "%" + max / 2 + "\r\n" + "_\r\n".repeat(max / 2 * 2));
        assertRejects(limits, "%" + (max / 2 + 1) + "\r\n", RespRule.ELEMENT_COUNT_MAX);
        assertRejects(limits, "|" + (max / 2 + 1) + "\r\n", RespRule.ELEMENT_COUNT_MAX);
        assertRejects(limits, ">" + (max + 1) + "\r\n", RespRule.ELEMENT_COUNT_MAX);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 9, 17, 64, 1000})
    void limitsDepth(int max) {
        RespLimits limits = DEFAULTS.depthMax(max);
        assertAccepts(limits, "*1\r\n".repeat(max) + ":1\r\n");
        assertAccepts(limits, "~1\r\n".repeat(max) + "_\r\n");
        assertRejects(limits, "*1\r\n".repeat(max) + "*0\r\n", RespRule.DEPTH_MAX);
        assertRejects(limits, "*1\r\n".repeat(max) + "|0\r\n", RespRule.DEPTH_MAX);
    }

    @ParameterizedTest
    @ValueSource(ints = {64, 65, 1000})
    void limitsReplyBytes(int max) {
        RespLimits limits = DEFAULTS.replyBytesMax(max);
        String line = "+" + "x".repeat(max - 3) + "\r\n";
        assertEquals(max, line.length());
        assertAccepts(limits, line);
        assertRejects(limits, line.replace("+", "+x"), RespRule.REPLY_BYTES_MAX);
        int body = max - "$00\r\n\r\n".length() - (max > 999 ? 1 : 0);
        assertAccepts(limits, "$" + body + "\r\n" + "x".repeat(body) + "\r\n");
        assertRejects(limits, "$" + (body + 1) + "\r\n", RespRule.REPLY_BYTES_MAX);
        String nested = "|1\r\n+k\r\n:1\r\n*2\r\n:1\r\n";
        assertAccepts(limits, nested + "+" + "x".repeat(max - nested.length() - 3) + "\r\n");
        assertRejects(limits, nested + "+" + "x".repeat(max - nested.length() - 2) + "\r\n", RespRule.REPLY_BYTES_MAX);
    }

    @Test
    void countsReplyBytesForEachReplySeparately() {
        assertAccepts(DEFAULTS.replyBytesMax(64), ("*2\r\n:1\r\n+" + "x".repeat(50) + "\r\n").repeat(10));
        assertAccepts(DEFAULTS.replyBytesMax(64), ":1\r\n".repeat(1000));
    }

    @Test
    void rejectsLimitsOutOfRange() {
        assertEquals("lineLengthMax is 31; it must be 32 to 2147483583",
                assertThrows(IllegalArgumentException.class, () -> DEFAULTS.lineLengthMax(31)).getMessage());
        assertEquals("bulkLengthMax is -1; it must be 0 to 2147483583",
                assertThrows(IllegalArgumentException.class, () -> DEFAULTS.bulkLengthMax(-1)).getMessage());
        assertEquals("elementCountMax is 1073741825; it must be 0 to 1073741824",
                assertThrows(IllegalArgumentException.class, () -> DEFAULTS.elementCountMax((1 << 30) + 1))
                        .getMessage());
        assertEquals("depthMax is 65537; it must be 0 to 65536",
                assertThrows(IllegalArgumentException.class, () -> DEFAULTS.depthMax(65537)).getMessage());
        assertEquals("replyBytesMax is 63; it must be 64 to 9223372036854775807",
                assertThrows(IllegalArgumentException.class, () -> DEFAULTS.replyBytesMax(63)).getMessage());
    }

    @Test
    void reservesNoMemoryForAnnouncedLengths() {
        RespLimits highest = DEFAULTS.bulkLengthMax(Integer.MAX_VALUE - 64)
                .elementCountMax(1 << 30)
                .depthMax(RespLimits.DEPTH_MAX_UPPER_BOUND)
                .replyBytesMax(Long.MAX_VALUE);
        // Forty lists with the announced capacity of a billion elements each would exceed any heap.
        String wire = "*1073741824\r\n".repeat(40) + "$2147483583\r\nab";
        RespValueReader reader = new RespValueReader(value -> {
            throw new AssertionError(value);
        });
        RespParser parser = RespParser.forReplies(highest);
        parser.parse(Wire.buf(wire), reader);
        assertEquals(wire.length(), parser.offset());
    }
}
