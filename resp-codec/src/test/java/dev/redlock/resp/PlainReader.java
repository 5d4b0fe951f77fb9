package dev.redlock.resp;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The oracle: the protocol page read aloud, with strings, regular expressions, recursion and the whole input at hand.
 * Shares no code with the parser and cares for nothing but being right.
 */
public final class PlainReader {
    private static final Pattern INTEGER = Pattern.compile("[+-]?[0-9]+");
    private static final Pattern LENGTH = Pattern.compile("[0-9]+");
    private static final Pattern DOUBLE = Pattern.compile("inf|-inf|nan|[+-]?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
    private static final BigInteger LONG_MAX = BigInteger.valueOf(Long.MAX_VALUE);
    private static final BigInteger LONG_MIN = BigInteger.valueOf(Long.MIN_VALUE);

    private final String wire;
    private final RespLimits limits;
    private int at;

    private PlainReader(String wire, RespLimits limits) {
        this.wire = wire;
        this.limits = limits;
    }

    /** What an input means: its complete values, and whether it is refused after them. */
    public record Outcome(List<RespValue> values, boolean isRefused) {
    }

    public static Outcome read(byte[] bytes, RespLimits limits) {
        PlainReader reader = new PlainReader(new String(bytes, StandardCharsets.ISO_8859_1), limits);
        List<RespValue> values = new ArrayList<>();
        try {
            while (reader.at < reader.wire.length()) {
                values.add(reader.value(0));
            }
            return new Outcome(values, false);
        } catch (Incomplete e) {
            return new Outcome(values, false);
        } catch (Refused e) {
            return new Outcome(values, true);
        }
    }

    private RespValue value(int depth) {
        RespValue attribute = null;
        while (peek() == '|') {
            at++;
            attribute = aggregate(RespType.ATTRIBUTE, depth);
        }
        char marker = peek();
        at++;
        RespValue value = switch (marker) {
            case '+' -> line(RespType.SIMPLE_STRING);
            case '-' -> line(RespType.SIMPLE_ERROR);
            case ':' -> integer();
            case '_' -> exactly("", RespValue.nullOf(RespType.NULL));
            case '#' -> bool();
            case ',' -> number();
            case '(' -> bigNumber();
            case '$' -> body(RespType.BULK_STRING);
            case '!' -> body(RespType.BULK_ERROR);
            case '=' -> body(RespType.VERBATIM_STRING);
            case '*' -> aggregate(RespType.ARRAY, depth);
            case '%' -> aggregate(RespType.MAP, depth);
            case '~' -> aggregate(RespType.SET, depth);
            case '>' -> push(depth);
            default -> throw new Refused();
        };
        return attribute == null ? value : value.withAttribute(attribute);
    }

    private char peek() {
        if (at == wire.length()) {
            throw new Incomplete();
        }
        return wire.charAt(at);
    }

    private String line() {
        int cr = wire.indexOf('\r', at);
        int length = (cr < 0 ? wire.length() : cr) - at;
        refuseIf(length > limits.lineLengthMax());
        if (cr < 0 || cr + 1 == wire.length()) {
            throw new Incomplete();
        }
        refuseIf(wire.charAt(cr + 1) != '\n');
        String line = wire.substring(at, cr);
        at = cr + 2;
        return line;
    }

    private RespValue line(RespType type) {
        String text = line();
        refuseIf(text.indexOf('\n') >= 0);
        return RespValue.bytes(type, text.getBytes(StandardCharsets.ISO_8859_1));
    }

    private RespValue integer() {
        String text = line();
        refuseIf(!INTEGER.matcher(text).matches());
        BigInteger value = new BigInteger(text);
        refuseIf(value.compareTo(LONG_MAX) > 0 || value.compareTo(LONG_MIN) < 0);
        return RespValue.integer(value.longValueExact());
    }

    private RespValue bool() {
        String text = line();
        refuseIf(!text.equals("t") && !text.equals("f"));
        return RespValue.bool(text.equals("t"));
    }

    private RespValue number() {
        String text = line();
        refuseIf(!DOUBLE.matcher(text).matches());
        return RespValue.number(switch (text) {
            case "inf" -> Double.POSITIVE_INFINITY;
            case "-inf" -> Double.NEGATIVE_INFINITY;
            case "nan" -> Double.NaN;
            default -> Double.parseDouble(text);
        });
    }

    private RespValue bigNumber() {
        String text = line();
        refuseIf(!INTEGER.matcher(text).matches());
        return RespValue.text(RespType.BIG_NUMBER, text);
    }

    private RespValue exactly(String text, RespValue value) {
        refuseIf(!line().equals(text));
        return value;
    }

    /** A length or count, or null for the -1 of RESP2. */
    private BigInteger length(RespType type) {
        String text = line();
        if (text.equals("-1") && (type == RespType.BULK_STRING || type == RespType.ARRAY)) {
            return null;
        }
        refuseIf(!LENGTH.matcher(text).matches());
        return new BigInteger(text);
    }

    private RespValue body(RespType type) {
        BigInteger length = length(type);
        if (length == null) {
            return RespValue.nullOf(type);
        }
        refuseIf(length.compareTo(BigInteger.valueOf(limits.bulkLengthMax())) > 0);
        int end = at + length.intValueExact();
        if (type == RespType.VERBATIM_STRING) {
            refuseIf(length.intValueExact() < 4);
            need(at + 4);
            refuseIf(wire.charAt(at + 3) != ':');
        }
        need(end + 2);
        refuseIf(!wire.startsWith("\r\n", end));
        String content = wire.substring(at, end);
        at = end + 2;
        return type == RespType.VERBATIM_STRING
                ? RespValue.verbatim(content.substring(0, 3), latin(content.substring(4)))
                : RespValue.bytes(type, latin(content));
    }

    private static byte[] latin(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private RespValue push(int depth) {
        refuseIf(depth > 0);
        return aggregate(RespType.PUSH, depth);
    }

    private RespValue aggregate(RespType type, int depth) {
        BigInteger count = length(type);
        if (count == null) {
            return RespValue.nullOf(type);
        }
        BigInteger elements = type.isPairs() ? count.shiftLeft(1) : count;
        refuseIf(elements.compareTo(BigInteger.valueOf(limits.elementCountMax())) > 0);
        refuseIf(depth == limits.depthMax());
        List<RespValue> list = new ArrayList<>();
        for (int i = 0; i < elements.intValueExact(); i++) {
            list.add(value(depth + 1));
        }
        return RespValue.aggregate(type, list);
    }

    private void need(int end) {
        if (end > wire.length()) {
            throw new Incomplete();
        }
    }

    private static void refuseIf(boolean isBroken) {
        if (isBroken) {
            throw new Refused();
        }
    }

    private static final class Incomplete extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;
    }
}
