package dev.redlock.resp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Malformed input is rejected with an exact message, whether it arrives whole or byte by byte. */
class HostileInputTest {
    private static final RespLimits LIMITS = RespLimits.defaults();

    @ParameterizedTest(name = "{0}")
    @MethodSource("rows")
    void rejectsWithExactMessage(String row, String message) {
        String wire = wire(row);
        assertEquals(message, rejection(RespParser.forReplies(LIMITS), wire, wire.length()).getMessage());
        assertEquals(message, rejection(RespParser.forReplies(LIMITS), wire, 1).getMessage());
    }

    static Stream<Arguments> rows() throws IOException {
        try (InputStream in = HostileInputTest.class.getResourceAsStream("hostile.txt")) {
            String table = new String(in.readAllBytes(), StandardCharsets.US_ASCII);
            return table.lines()
                    .filter(line -> !line.startsWith("#"))
                    .map(line -> Arguments.of((Object[]) line.split(" => ")));
        }
    }

    private static String wire(String row) {
        String escapes = Pattern.compile("\\\\x(..)")
                .matcher(row)
                .replaceAll(hex -> String.valueOf((char) Integer.parseInt(hex.group(1), 16)));
        return escapes.replace("^", "\r\n").replace("\\r", "\r").replace("\\n", "\n") + "\r\n";
    }

    @Test
    void rejectsArraysNestedTooDeep() {
        String wire = "*1\r\n".repeat(RespLimits.DEPTH_MAX_DEFAULT + 1);
        assertEquals("aggregates nest no deeper than depthMax; an aggregate at depth 65 with a limit of 64 in VALUE at "
                + "offset 256", rejection(RespParser.forReplies(LIMITS), wire, wire.length()).getMessage());
    }

    @Test
    void rejectsLengthLineWithoutEnd() {
        String wire = "$" + "1".repeat(RespLimits.LINE_LENGTH_MAX_DEFAULT + 1);
        assertEquals("a line is no longer than lineLengthMax; a line without CR in its first 65537 bytes in VALUE at "
                + "offset 0", rejection(RespParser.forReplies(LIMITS), wire, wire.length()).getMessage());
    }

    @ParameterizedTest
    @CsvSource({"PING, 0x50 'P', 0", "$4, 0x24 '$', 0", "*1^:1, 0x3a ':', 4", "*1^*0, 0x2a '*', 4",
        "*-1, 0x2d '-', 1", "*1^$-1, 0x2d '-', 5", "|1, 0x7c '|', 0"})
    void rejectsRequestsOtherThanArraysOfBulkStrings(String row, String seen, int offset) {
        String wire = row.replace("^", "\r\n") + "\r\n";
        RespProtocolException e = rejection(RespParser.forRequests(LIMITS), wire, 1);
        assertEquals(RespRule.REQUEST, e.rule());
        assertTrue(e.getMessage()
                .startsWith(
                        "a request is an array of bulk strings; inline commands are rejected; saw " + seen),
                e.getMessage());
        assertEquals(offset, e.offset());
    }

    @Test
    void deliversNothingAfterFailure() {
        EventLog log = new EventLog();
        RespParser parser = RespParser.forReplies(LIMITS);
        assertThrows(RespProtocolException.class, () -> parser.parse(Wire.buf(":1\r\n:12345x\r\n:2\r\n"), log));
        assertThrows(RespProtocolException.class, () -> parser.parse(Wire.buf(":3\r\n"), log));
        assertEquals(List.of("integer 1", "reply end"), log.events());
    }

    private static RespProtocolException rejection(RespParser parser, String wire, int step) {
        ByteBuf in = Unpooled.buffer();
        return assertThrows(RespProtocolException.class, () -> {
            for (int from = 0; from < wire.length(); from += step) {
                in.discardReadBytes()
                        .writeBytes(Wire.bytes(wire.substring(from, Math.min(wire.length(), from + step))));
                parser.parse(in, new EventLog());
            }
        });
    }
}
