package dev.redlock.resp;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The oracle: a reader of whole inputs with strings, regular expressions and recursion, as simple as the protocol page.
 * It shares no code with the parser, and neither speed nor memory matters.
 */
public final class OracleReader {
    private static final Pattern INTEGER = Pattern.compile("[+-]?[0-9]+");
    private static final Pattern LENGTH = Pattern.compile("[0-9]+");
    private static final Pattern DOUBLE = Pattern.compile("inf|-inf|nan|[+-]?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
    private static final BigInteger LONG_MAX = BigInteger.valueOf(Long.MAX_VALUE);
    private static final BigInteger LONG_MIN = BigInteger.valueOf(Long.MIN_VALUE);

    private final String wire;
    private final RespLimits limits;
    private int index;

    private OracleReader(String wire, RespLimits limits) {
        this.wire = wire;
        this.limits = limits;
    }

    /** The complete values of an input, and whether the input is rejected after them. */
    public record Outcome(List<RespValue> values, boolean isRejected) {
    }

    public static Outcome read(byte[] bytes, RespLimits limits) {
        OracleReader reader = new OracleReader(new String(bytes, StandardCharsets.ISO_8859_1), limits);
        List<RespValue> values = new ArrayList<>();
        try {
            while (reader.index < reader.wire.length()) {
                values.add(reader.value(0));
            }
            return new Outcome(values, false);
        } catch (Incomplete e) {
            return new Outcome(values, false);
        } catch (Rejected e) {
            return new Outcome(values, true);
        }
    }

    private RespValue value(int depth) {
        RespValue attribute = null;
        while (peek() == '|') {
            index++;
            attribute = aggregate(RespType.ATTRIBUTE, depth);
        }
        char marker = peek();
        index++;
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
            default -> throw new Rejected();
        };
        return attribute == null ? value : value.withAttribute(attribute);
    }

    private char peek() {
        if (index == wire.length()) {
            throw new Incomplete();
        }
        return wire.charAt(index);
    }

    private String line() {
        int cr = wire.indexOf('\r', index);
        int length = (cr < 0 ? wire.length() : cr) - index;
        rejectIf(length > limits.lineLengthMax());
        if (cr < 0 || cr + 1 == wire.length()) {
            throw new Incomplete();
        }
        rejectIf(wire.charAt(cr + 1) != '\n');
        String line = wire.substring(index, cr);
        index = cr + 2;
        return line;
    }

    private RespValue line(RespType type) {
        String text = line();
        rejectIf(text.indexOf('\n') >= 0);
        return RespValue.bytes(type, text.getBytes(StandardCharsets.ISO_8859_1));
    }

    private RespValue integer() {
        String text = line();
        rejectIf(!INTEGER.matcher(text).matches());
        BigInteger value = new BigInteger(text);
        rejectIf(value.compareTo(LONG_MAX) > 0 || value.compareTo(LONG_MIN) < 0);
        return RespValue.integer(value.longValueExact());
    }

    private RespValue bool() {
        String text = line();
        rejectIf(!text.equals("t") && !text.equals("f"));
        return RespValue.bool(text.equals("t"));
    }

    private RespValue number() {
        String text = line();
        rejectIf(!DOUBLE.matcher(text).matches());
        return RespValue.number(switch (text) {
            case "inf" -> Double.POSITIVE_INFINITY;
            case "-inf" -> Double.NEGATIVE_INFINITY;
            case "nan" -> Double.NaN;
            default -> Double.parseDouble(text);
        });
    }

    private RespValue bigNumber() {
        String text = line();
        rejectIf(!INTEGER.matcher(text).matches());
        return RespValue.text(RespType.BIG_NUMBER, text);
    }

    private RespValue exactly(String text, RespValue value) {
        rejectIf(!line().equals(text));
        return value;
    }

    /** Returns a length or count, or null for the -1 of a RESP2 null. */
    private BigInteger length(RespType type) {
        String text = line();
        if (text.equals("-1") && (type == RespType.BULK_STRING || type == RespType.ARRAY)) {
            return null;
        }
        rejectIf(!LENGTH.matcher(text).matches());
        return new BigInteger(text);
    }

    private RespValue body(RespType type) {
        BigInteger length = length(type);
        if (length == null) {
            return RespValue.nullOf(type);
        }
        rejectIf(length.compareTo(BigInteger.valueOf(limits.bulkLengthMax())) > 0);
        int end = index + length.intValueExact();
        if (type == RespType.VERBATIM_STRING) {
            rejectIf(length.intValueExact() < 4);
            requireAvailable(index + 4);
            rejectIf(wire.charAt(index + 3) != ':');
        }
        requireAvailable(end + 2);
        rejectIf(!wire.startsWith("\r\n", end));
        String content = wire.substring(index, end);
        index = end + 2;
        return type == RespType.VERBATIM_STRING
                ? RespValue.verbatim(content.substring(0, 3), latin1(content.substring(4)))
                : RespValue.bytes(type, latin1(content));
    }

    private static byte[] latin1(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private RespValue push(int depth) {
        rejectIf(depth > 0);
        return aggregate(RespType.PUSH, depth);
    }

    private RespValue aggregate(RespType type, int depth) {
        BigInteger count = length(type);
        if (count == null) {
            return RespValue.nullOf(type);
        }
        BigInteger elements = type.isPairs() ? count.shiftLeft(1) : count;
        rejectIf(elements.compareTo(BigInteger.valueOf(limits.elementCountMax())) > 0);
        rejectIf(depth == limits.depthMax());
        List<RespValue> list = new ArrayList<>();
        for (int i = 0; i < elements.intValueExact(); i++) {
            list.add(value(depth + 1));
        }
        return RespValue.aggregate(type, list);
    }

    private void requireAvailable(int end) {
        if (end > wire.length()) {
            throw new Incomplete();
        }
    }

    private static void rejectIf(boolean isViolated) {
        if (isViolated) {
            throw new Rejected();
        }
    }

    private static final class Incomplete extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private static final class Rejected extends RuntimeException {
        private static final long serialVersionUID = 1;
    }
}
