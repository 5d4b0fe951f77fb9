package dev.redlock.resp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RespParserTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"+OK|simple string OK", "+|simple string ", "-ERR no|simple error ERR no",
        ":0|integer 0", ":+7|integer 7", ":-0|integer 0", ":007|integer 7", ":99999|integer 99999",
        ":100000|integer 100000", ":-29987|integer -29987", ":9223372036854775807|integer 9223372036854775807",
        ":-9223372036854775808|integer -9223372036854775808",
        ":+0000000000000000000000009223372036854775807|integer 9223372036854775807", "_|null NULL",
        "$-1|null BULK_STRING", "*-1|null ARRAY", "#t|boolean true", "#f|boolean false", ",10|double 10.0",
        ",-1.5|double -1.5", ",+1.5e3|double 1500.0", ",1E-2|double 0.01", ",-0|double -0.0", ",inf|double Infinity",
        ",-inf|double -Infinity", ",nan|double NaN", ",3.1415926535897932384626|double 3.141592653589793",
        ",1e400|double Infinity", ",1e-400|double 0.0", ",4.9e-324|double 4.9E-324",
        "(-3492890328409238509324850943850943825024385|big number -3492890328409238509324850943850943825024385",
        "(0|big number 0"})
    void readsEveryLineType(String line, String event) {
        String expected = event.endsWith("string") ? event + " " : event;
        assertEquals(List.of(expected, "reply end"), Wire.events(line + "\r\n"));
    }

    @Test
    void readsBulkStringsErrorsAndVerbatimStrings() {
        assertEquals(List.of("BULK_STRING he\r\nlo", "reply end"), Wire.events("$6\r\nhe\r\nlo\r\n"));
        assertEquals(List.of("BULK_STRING ", "reply end"), Wire.events("$0\r\n\r\n"));
        assertEquals(List.of("BULK_ERROR ERR x", "reply end"), Wire.events("!5\r\nERR x\r\n"));
        assertEquals(List.of("VERBATIM_STRING txt Some", "reply end"), Wire.events("=8\r\ntxt:Some\r\n"));
        assertEquals(List.of("VERBATIM_STRING mkd ", "reply end"), Wire.events("=4\r\nmkd:\r\n"));
    }

    @Test
    void deliversShortRepliesInOneCallEach() {
        List<String> seen = new ArrayList<>();
        RespVisitor visitor = new RespVisitor() {
            @Override
            public void onInteger(long value) {
                throw new AssertionError("onInteger " + value);
            }

            @Override
            public void onSimpleError(ByteBuf buf, int index, int length) {
                throw new AssertionError("onSimpleError");
            }

            @Override
            public void onReplyEnd() {
                throw new AssertionError("onReplyEnd");
            }

            @Override
            public void onIntegerReply(long value) {
                seen.add(":" + value);
            }

            @Override
            public void onOkReply(ByteBuf buf, int index) {
                seen.add("+" + buf.toString(index, 2, StandardCharsets.US_ASCII));
            }
        };
        ByteBuf in = Unpooled.copiedBuffer("+OK\r\n:1\r\n+OK\r\n:0\r\n:9\r\n:-12\r\n:123456789\r\n+OK\r\n:7\r\n"
                + ":12345678\r\n:123456789012345\r\n:9007199254740991\r\n:-9007199254740991\r\n",
                StandardCharsets.US_ASCII);
        RespParser.forReplies(RespLimits.defaults()).parse(in, visitor);
        assertEquals(List.of("+OK", ":1", "+OK", ":0", ":9", ":-12", ":123456789", "+OK", ":7", ":12345678",
                ":123456789012345", ":9007199254740991", ":-9007199254740991"), seen);
        assertFalse(in.isReadable());
    }

    /** The bytes after the digit 9 differ from a digit in the bits that its value has. */
    @ParameterizedTest
    @CsvSource({":;", "::", ":?"})
    void rejectsByteAfterNineInAShortReply(String line) {
        assertThrows(RespProtocolException.class, () -> Wire.events(line + "\r\n+OK\r\n"));
        assertThrows(RespProtocolException.class, () -> Wire.events("+OK\r\n" + line + "\r\n"));
    }

    @Test
    void readsNestedAggregates() {
        assertEquals(
                List.of("start ARRAY 3", "start MAP 2", "integer 1", "start SET 0", "end SET", "end MAP",
                        "start ARRAY 0", "end ARRAY", "null NULL", "end ARRAY", "reply end"),
                Wire.events("*3\r\n%1\r\n:1\r\n~0\r\n*0\r\n_\r\n"));
    }

    @Test
    void doesNotCountAttributesAsElements() {
        assertEquals(
                List.of("start ATTRIBUTE 2", "simple string ttl", "integer 5", "end ATTRIBUTE", "start ARRAY 2",
                        "start ATTRIBUTE 0", "end ATTRIBUTE", "integer 1", "start ATTRIBUTE 0", "end ATTRIBUTE",
                        "start ATTRIBUTE 0", "end ATTRIBUTE", "integer 2", "end ARRAY", "reply end"),
                Wire.events("|1\r\n+ttl\r\n:5\r\n*2\r\n|0\r\n:1\r\n|0\r\n|0\r\n:2\r\n"));
    }

    @Test
    void endsPushesWithPushEnd() {
        assertEquals(List.of("integer 1", "reply end", "start PUSH 1", "simple string invalidate", "end PUSH",
                "push end", "start PUSH 0", "end PUSH", "push end", "integer 2", "reply end"),
                Wire.events(":1\r\n>1\r\n+invalidate\r\n>0\r\n:2\r\n"));
    }

    @Test
    void readsRunsOfShortIntegersAtEveryLength() {
        StringBuilder wire = new StringBuilder();
        for (int value = 0; value < 200_000; value = value * 3 / 2 + 1) {
            wire.append(':').append(value).append("\r\n");
            long total = wire.chars().filter(c -> c == ':').count();
            List<String> events = Wire.events(wire.toString());
            assertEquals(total * 2, events.size());
            assertEquals("integer " + value, events.get(events.size() - 2));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-"})
    void readsIntegersOfEveryLength(String sign) {
        String digits = "1234567890123456789";
        for (int length = 1; length <= digits.length(); length++) {
            String number = sign + digits.substring(0, length);
            for (String next : List.of("", ":1\r\n", "+OK\r\n:123456789012\r\n")) {
                assertEquals("integer " + number, Wire.events(":" + number + "\r\n" + next).get(0));
            }
        }
    }

    @Test
    void rejectsEachOtherByteInALongInteger() {
        String line = ":1234567890123456\r\n";
        for (int i = 1; i < line.length(); i++) {
            String damaged = line.substring(0, i) + ':' + line.substring(i + 1);
            assertThrows(RespProtocolException.class, () -> Wire.events(damaged + "+OK\r\n"), damaged);
        }
    }

    @Test
    void deliversTheSameEventsForEverySplit() {
        String wire = ":1\r\n$5\r\nhello\r\n*2\r\n:12345\r\n=7\r\ntxt:abc\r\n|1\r\n+k\r\n"
                + ",1.5\r\n:-7\r\n>1\r\n_\r\n#t\r\n";
        List<String> whole = Wire.events(wire);
        for (int split = 0; split <= wire.length(); split++) {
            assertEquals(whole, eventsInTwo(wire, split, Integer.MAX_VALUE), "split at " + split);
            assertEquals(whole, eventsInTwo(wire, split, 0), "split in pieces at " + split);
        }
    }

    private static List<String> eventsInTwo(String wire, int split, int piecesAbove) {
        EventLog log = new EventLog(piecesAbove);
        RespParser parser = RespParser.forReplies(RespLimits.defaults());
        ByteBuf in = Unpooled.buffer().writeBytes(Wire.bytes(wire.substring(0, split)));
        parser.parse(in, log);
        in.discardReadBytes().writeBytes(Wire.bytes(wire.substring(split)));
        parser.parse(in, log);
        assertFalse(in.isReadable());
        assertTrue(parser.isBetweenReplies());
        assertEquals(wire.length(), parser.offset());
        return log.events();
    }

    @Test
    void consumesPiecesOfBodiesAtOnce() {
        RespParser parser = RespParser.forReplies(RespLimits.defaults());
        EventLog log = new EventLog(0);
        for (String part : List.of("$6\r\n", "he", "l", "lo!", "\r\n")) {
            ByteBuf in = Wire.buf(part);
            parser.parse(in, log);
            assertFalse(in.isReadable(), part);
        }
        assertEquals(List.of("BULK_STRING hello!", "reply end"), log.events());
        assertEquals(3, log.pieceCount());
    }

    @Test
    void rethrowsTheFirstFailure() {
        RespParser parser = RespParser.forReplies(RespLimits.defaults());
        EventLog log = new EventLog();
        RespProtocolException first = assertThrows(RespProtocolException.class,
                () -> parser.parse(Wire.buf(":1\r\n:x\r\n:2\r\n"), log));
        assertSame(first, assertThrows(RespProtocolException.class, () -> parser.parse(Wire.buf(":3\r\n"), log)));
        assertTrue(parser.hasFailed());
        assertFalse(parser.isBetweenReplies());
        assertEquals(List.of("integer 1", "reply end"), log.events());
        assertEquals(RespRule.INTEGER_FORM, first.rule());
        assertEquals('x', first.byteSeen());
        assertEquals(5, first.offset());
    }

    @Test
    void failsAfterTheVisitorThrows() {
        RespParser parser = RespParser.forReplies(RespLimits.defaults());
        RespVisitor throwing = new RespVisitor() {
            @Override
            public void onInteger(long value) {
                throw new IllegalArgumentException("no");
            }

            @Override
            public void onSimpleError(ByteBuf buf, int index, int length) {
            }

            @Override
            public void onReplyEnd() {
            }
        };
        assertThrows(IllegalArgumentException.class, () -> parser.parse(Wire.buf(":1\r\n:2\r\n"), throwing));
        assertThrows(IllegalStateException.class, () -> parser.parse(Wire.buf(":3\r\n"), new EventLog()));
    }

    @Test
    void readsNestingUpToTheDefaultDepth() {
        int depth = RespLimits.DEPTH_MAX_DEFAULT;
        String wire = "*1\r\n".repeat(depth) + ":1\r\n";
        List<String> events = Wire.events(wire);
        assertEquals(depth * 2 + 2, events.size());
        assertTrue(IntStream.range(0, depth).allMatch(i -> events.get(i).equals("start ARRAY 1")));
    }

    @Test
    void readsRequests() {
        EventLog log = new EventLog();
        RespParser parser = RespParser.forRequests(RespLimits.defaults());
        parser.parse(Wire.buf("*1\r\n$4\r\nPING\r\n*0\r\n"), log);
        assertEquals(List.of("start ARRAY 1", "BULK_STRING PING", "end ARRAY", "reply end", "start ARRAY 0",
                "end ARRAY", "reply end"), log.events());
    }
}
