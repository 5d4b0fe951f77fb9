package dev.redlock.resp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Random;
import net.jqwik.api.AfterFailureMode;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;

/** Random values, damaged input and random tokens. jqwik prints the seed of every property, passed or failed. */
class RespPropertyTest {
    private static final String CONTENT = "012-+:$*\r\n tx,e";

    @Property(tries = 1000, afterFailure = AfterFailureMode.SAMPLE_FIRST)
    void readsWrittenValues(@ForAll("values") List<RespValue> values, @ForAll long splitSeed) {
        byte[] wire = wire(values);
        assertEquals(new OracleReader.Outcome(values, false), OracleReader.read(wire, RespLimits.defaults()));
        OracleComparison.check(wire, RespLimits.defaults(), new Random(splitSeed));
    }

    @Property(tries = 200)
    void deliversTheSameEventsForEverySplit(@ForAll("values") List<RespValue> values) {
        byte[] wire = wire(values);
        List<String> whole = events(wire, wire.length, Integer.MAX_VALUE);
        for (int split = 0; split < wire.length; split++) {
            assertEquals(whole, events(wire, split, Integer.MAX_VALUE));
            assertEquals(whole, events(wire, split, 0));
        }
    }

    @Property(tries = 5000)
    void agreesWithOracleOnDamagedInput(@ForAll("values") List<RespValue> values, @ForAll long seed) {
        byte[] wire = wire(values);
        Random random = new Random(seed);
        for (int i = random.nextInt(3); i >= 0 && wire.length > 0; i--) {
            wire[random.nextInt(wire.length)] = (byte) CONTENT.charAt(random.nextInt(CONTENT.length()));
        }
        OracleComparison.check(wire, random.nextBoolean() ? OracleComparison.TIGHT : RespLimits.defaults(), random);
    }

    @Property(tries = 5000)
    void agreesWithOracleOnRandomTokens(@ForAll("randomTokens") String input, @ForAll long splitSeed) {
        OracleComparison.check(Wire.bytes(input), OracleComparison.TIGHT, new Random(splitSeed));
    }

    @Property(tries = 5000)
    void readsDoublesAsTheJdkDoes(@ForAll("doubleTexts") String text) {
        List<RespValue> values = RespValueReader.readAll(Wire.buf("," + text + "\r\n"), RespLimits.defaults());
        assertEquals(List.of(RespValue.number(Double.parseDouble(text))), values);
    }

    @Property(tries = 5000)
    void readsAndWritesIntegersAsTheJdkDoes(@ForAll long value) {
        for (long shifted = value;; shifted >>= 3) {
            assertEquals(List.of("integer " + shifted, "reply end"), Wire.events(":" + shifted + "\r\n"));
            // With bytes after it, the parser reads the integer in words; at the end of the input, byte by byte.
            assertEquals("integer " + shifted, Wire.events(":" + shifted + "\r\n+a longer line\r\n").get(0));
            ByteBuf out = Unpooled.buffer();
            RespWriter.integer(out, shifted);
            assertEquals(":" + shifted + "\r\n", Wire.text(out));
            if (shifted == 0 || shifted == -1) {
                return;
            }
        }
    }

    private static byte[] wire(List<RespValue> values) {
        ByteBuf out = Unpooled.buffer();
        values.forEach(value -> value.writeTo(out));
        return ByteBufUtil.getBytes(out);
    }

    private static List<String> events(byte[] wire, int split, int piecesAbove) {
        EventLog log = new EventLog(piecesAbove);
        RespParser parser = RespParser.forReplies(RespLimits.defaults());
        ByteBuf in = Unpooled.buffer().writeBytes(wire, 0, split);
        parser.parse(in, log);
        in.discardReadBytes().writeBytes(wire, split, wire.length - split);
        parser.parse(in, log);
        return log.events();
    }

    @Provide
    Arbitrary<String> doubleTexts() {
        Arbitrary<String> digits = Arbitraries.strings().numeric().ofMinLength(1).ofMaxLength(20);
        Arbitrary<String> sign = Arbitraries.of("", "+", "-");
        Arbitrary<String> fraction = digits.map(text -> "." + text)
                .injectDuplicates(0.1)
                .optional()
                .map(o -> o.orElse(""));
        Arbitrary<String> exponent = Combinators.combine(Arbitraries.of("", "e", "E"), sign, Arbitraries.integers()
                .between(0, 330)).as((e, s, n) -> e.isEmpty() ? "" : e + s + n);
        return Combinators.combine(sign, digits, fraction, exponent).as((s, d, f, e) -> s + d + f + e);
    }

    @Provide
    Arbitrary<String> randomTokens() {
        return Arbitraries.of("\r\n", "\r", "\n", "+", "-", ":", "$", "*", "_", "#", ",", "(", "!", "=", "%", "|", "~",
                ">", ";", ".", "?", "0", "1", "2", "3", "4", "5", "12", "41", "101", "-1", "t", "f", "txt:", "inf",
                "nan", "e", "OK", "\u00ff", "\u0000", ":1\r\n", "$2\r\nab\r\n", "*1\r\n", "|1\r\n",
                "9223372036854775808")
                .list()
                .ofMaxSize(30)
                .map(parts -> String.join("", parts));
    }

    @Provide
    Arbitrary<List<RespValue>> values() {
        Arbitrary<RespValue> top = Arbitraries.frequencyOf(Tuple.of(9, value(3)),
                Tuple.of(1, value(2).list()
                        .ofMaxSize(4)
                        .map(list -> RespValue.aggregate(RespType.PUSH, list))));
        return top.list().ofMaxSize(8);
    }

    private Arbitrary<RespValue> value(int depth) {
        Arbitrary<RespValue> plain = depth == 0 ? scalar() : Arbitraries.oneOf(scalar(), scalar(), aggregate(depth));
        if (depth == 0) {
            return plain;
        }
        Arbitrary<RespValue> described = Combinators.combine(plain, pairs(RespType.ATTRIBUTE, 0))
                .as(RespValue::withAttribute);
        return Arbitraries.frequencyOf(Tuple.of(9, plain), Tuple.of(1, described));
    }

    private Arbitrary<RespValue> aggregate(int depth) {
        Arbitrary<RespValue> list = Combinators.combine(Arbitraries.of(RespType.ARRAY, RespType.SET),
                value(depth - 1).list().ofMaxSize(5)).as(RespValue::aggregate);
        return Arbitraries.oneOf(list, pairs(RespType.MAP, depth - 1));
    }

    private Arbitrary<RespValue> pairs(RespType type, int depth) {
        return value(depth).list()
                .ofMaxSize(6)
                .map(list -> RespValue.aggregate(type, list.subList(0, list.size() / 2 * 2)));
    }

    private Arbitrary<RespValue> scalar() {
        Arbitrary<byte[]> bytes = Arbitraries.oneOf(Arbitraries.bytes().array(byte[].class).ofMaxSize(80),
                Arbitraries.of(CONTENT.split("")).list().ofMaxSize(20).map(list -> Wire.bytes(String.join("", list))));
        Arbitrary<String> line = Arbitraries.strings().withCharRange(' ', '~').ofMaxLength(30);
        Arbitrary<String> digits = Arbitraries.strings().numeric().ofMinLength(1).ofMaxLength(30);
        return Arbitraries.oneOf(Arbitraries.longs().map(RespValue::integer),
                Arbitraries.integers().between(-120_000, 120_000).map(RespValue::integer),
                line.map(text -> RespValue.text(RespType.SIMPLE_STRING, text)),
                line.map(text -> RespValue.text(RespType.SIMPLE_ERROR, text)),
                Arbitraries.doubles().map(RespValue::number),
                Arbitraries.of(Double.NaN, Double.NEGATIVE_INFINITY, -0.0, Double.MIN_VALUE).map(RespValue::number),
                Arbitraries.of(true, false).map(RespValue::bool),
                Arbitraries.of(RespType.NULL, RespType.BULK_STRING, RespType.ARRAY).map(RespValue::nullOf),
                digits.map(text -> RespValue.text(RespType.BIG_NUMBER, "-" + text)),
                bytes.map(b -> RespValue.bytes(RespType.BULK_STRING, b)),
                bytes.map(b -> RespValue.bytes(RespType.BULK_ERROR, b)),
                bytes.map(b -> RespValue.verbatim("txt", b)));
    }
}
