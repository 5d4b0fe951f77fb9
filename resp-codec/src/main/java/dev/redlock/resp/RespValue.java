package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * A RESP value as an immutable tree, for handshakes, tools and tests. Equal trees have the same wire form, whatever the
 * spelling of the numbers and lengths that they were read from ({@code :+1} equals {@code :1}).
 *
 * @threading immutable
 */
public final class RespValue {
    private static final byte[] NO_BYTES = {};
    /** {@link #toString()} omits further elements once its text is longer than this many characters. */
    private static final int TREE_TEXT_LENGTH_MAX = 400;

    private final RespType type;
    private final boolean isNull;
    /** An integer, a boolean as 0 or 1, the bits of a double, or the format of a verbatim string. */
    private final long bits;
    private final byte[] bytes;
    private final List<RespValue> elements;
    /** The attribute before this value, or null. */
    private final RespValue attribute;

    private RespValue(RespType type, boolean isNull, long bits, byte[] bytes, List<RespValue> elements,
            RespValue attribute) {
        this.type = type;
        this.isNull = isNull;
        this.bits = bits;
        this.bytes = bytes;
        this.elements = elements;
        this.attribute = attribute;
    }

    /**
     * An integer.
     *
     * @param value any
     * @return the value
     */
    public static RespValue integer(long value) {
        return new RespValue(RespType.INTEGER, false, value, NO_BYTES, List.of(), null);
    }

    /**
     * A boolean.
     *
     * @param value any
     * @return the value
     */
    public static RespValue bool(boolean value) {
        return new RespValue(RespType.BOOLEAN, false, value ? 1 : 0, NO_BYTES, List.of(), null);
    }

    /**
     * A double.
     *
     * @param value any; every NaN becomes {@link Double#NaN}
     * @return the value
     */
    public static RespValue number(double value) {
        return new RespValue(RespType.DOUBLE, false, Double.doubleToLongBits(value), NO_BYTES, List.of(), null);
    }

    /**
     * A null in one of its three forms.
     *
     * @param type null, bulk string or array
     * @return the value
     * @throws IllegalArgumentException if the type has no null
     */
    public static RespValue nullOf(RespType type) {
        if (type != RespType.NULL && !type.hasResp2Null()) {
            throw new IllegalArgumentException("there is no null of type " + type + "; use NULL, BULK_STRING or ARRAY");
        }
        return new RespValue(type, true, 0, NO_BYTES, List.of(), null);
    }

    /**
     * A simple string, simple error, big number, bulk string or bulk error.
     *
     * @param type one of these types
     * @param text the content, encoded as UTF-8
     * @return the value
     * @throws IllegalArgumentException if the type is another one, if a simple string or simple error contains a CR or
     *                                  LF, or if a big number is not an optional sign and digits
     */
    public static RespValue text(RespType type, String text) {
        return bytes(type, text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * A simple string, simple error, big number, bulk string or bulk error.
     *
     * @param type  one of these types
     * @param bytes the content, copied
     * @return the value
     * @throws IllegalArgumentException if the type is another one, if a simple string or simple error contains a CR or
     *                                  LF, or if a big number is not an optional sign and digits
     */
    public static RespValue bytes(RespType type, byte[] bytes) {
        if (isLineOfBytes(type)) {
            RespWriter.requireLine(type, new String(bytes, StandardCharsets.ISO_8859_1));
        }
        return ofBytes(type, bytes.clone());
    }

    /**
     * A bulk string.
     *
     * @param text the content, encoded as UTF-8
     * @return the value
     */
    public static RespValue bulk(String text) {
        return text(RespType.BULK_STRING, text);
    }

    /**
     * A verbatim string.
     *
     * @param format three characters of one byte each, such as {@code txt}
     * @param bytes  the content, copied
     * @return the value
     * @throws IllegalArgumentException if the format has another length or a character above U+00FF
     */
    public static RespValue verbatim(String format, byte[] bytes) {
        return ofVerbatim(format(format), bytes.clone());
    }

    /**
     * An aggregate.
     *
     * @param type     array, map, attribute, set or push
     * @param elements copied; keys and values in turn for a map or attribute
     * @return the value
     * @throws IllegalArgumentException if the type is no aggregate, or a map or attribute lacks the last value
     */
    public static RespValue aggregate(RespType type, List<RespValue> elements) {
        if (!type.isAggregate() || type.isPairs() && elements.size() % 2 != 0) {
            throw new IllegalArgumentException(
                    elements.size() + " elements do not form a value of type " + type);
        }
        return new RespValue(type, false, 0, NO_BYTES, List.copyOf(elements), null);
    }

    /**
     * An array.
     *
     * @param elements in order, copied
     * @return the value
     */
    public static RespValue array(RespValue... elements) {
        return aggregate(RespType.ARRAY, List.of(elements));
    }

    /** Creates a value that owns the array from now on. */
    static RespValue ofBytes(RespType type, byte[] bytes) {
        if (!isLineOfBytes(type) && type != RespType.BULK_STRING && type != RespType.BULK_ERROR) {
            throw new IllegalArgumentException(type + " is not a string, error or big number");
        }
        return new RespValue(type, false, 0, bytes, List.of(), null);
    }

    /** Creates a value that owns the array from now on. */
    static RespValue ofVerbatim(int format, byte[] bytes) {
        return new RespValue(RespType.VERBATIM_STRING, false, format, bytes, List.of(), null);
    }

    /**
     * A copy of this value with an attribute before it.
     *
     * @param attribute of type {@link RespType#ATTRIBUTE}
     * @return the copy
     * @throws IllegalStateException if the parameter is no attribute, or this value is one
     */
    public RespValue withAttribute(RespValue attribute) {
        attribute.require(attribute.type == RespType.ATTRIBUTE, "an attribute");
        require(type != RespType.ATTRIBUTE, "a value");
        return new RespValue(type, isNull, bits, bytes, elements, attribute);
    }

    /**
     * The type on the wire.
     *
     * @return never null
     */
    public RespType type() {
        return type;
    }

    /**
     * Whether this is a null in any of its three forms.
     *
     * @return true for {@code _}, {@code $-1} and {@code *-1}
     */
    public boolean isNull() {
        return isNull;
    }

    /**
     * Whether this is a simple error or bulk error.
     *
     * @return true for an error
     */
    public boolean isError() {
        return type == RespType.SIMPLE_ERROR || type == RespType.BULK_ERROR;
    }

    /**
     * The integer.
     *
     * @return its value
     * @throws IllegalStateException if this is of another type
     */
    public long asLong() {
        require(type == RespType.INTEGER, "an integer");
        return bits;
    }

    /**
     * The boolean.
     *
     * @return its value
     * @throws IllegalStateException if this is of another type
     */
    public boolean asBoolean() {
        require(type == RespType.BOOLEAN, "a boolean");
        return bits != 0;
    }

    /**
     * The double.
     *
     * @return its value
     * @throws IllegalStateException if this is of another type
     */
    public double asDouble() {
        require(type == RespType.DOUBLE, "a double");
        return Double.longBitsToDouble(bits);
    }

    /**
     * The content of a string, error or big number, read as UTF-8.
     *
     * @return a new string
     * @throws IllegalStateException if this is null or of another type
     */
    public String asText() {
        requireBytes();
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /**
     * The content of a string, error or big number.
     *
     * @return a copy
     * @throws IllegalStateException if this is null or of another type
     */
    public byte[] asBytes() {
        requireBytes();
        return bytes.clone();
    }

    /**
     * The format of a verbatim string.
     *
     * @return three characters, such as {@code txt}
     * @throws IllegalStateException if this is of another type
     */
    public String format() {
        require(type == RespType.VERBATIM_STRING, "a verbatim string");
        return formatText((int) bits);
    }

    /**
     * The elements of an aggregate; keys and values in turn for a map or attribute.
     *
     * @return an immutable list
     * @throws IllegalStateException if this is null or of another type
     */
    public List<RespValue> elements() {
        require(type.isAggregate() && !isNull, "an aggregate");
        return elements;
    }

    /**
     * The value of a key in a map or attribute, or in a RESP2 array that lists keys and values in turn.
     *
     * @param key the text of a key
     * @return the value of the first such key, or null if there is none
     * @throws IllegalStateException if this is null or no aggregate
     */
    public RespValue find(String key) {
        List<RespValue> list = elements();
        for (int i = 0; i + 1 < list.size(); i += 2) {
            if (list.get(i).isText(key)) {
                return list.get(i + 1);
            }
        }
        return null;
    }

    /**
     * The attribute before this value.
     *
     * @return the attribute, or null
     */
    public RespValue attribute() {
        return attribute;
    }

    /**
     * Writes this value in wire form, after its attribute if it has one.
     *
     * @param out borrowed; written at its writer index, grows as needed
     */
    public void writeTo(ByteBuf out) {
        if (attribute != null) {
            attribute.writeTo(out);
        }
        if (isNull) {
            writeNull(out);
        } else if (type.isAggregate()) {
            RespWriter.aggregateHeader(out, type, type.isPairs() ? elements.size() / 2 : elements.size());
            elements.forEach(element -> element.writeTo(out));
        } else {
            writeScalar(out);
        }
    }

    private void writeNull(ByteBuf out) {
        switch (type) {
            case BULK_STRING -> RespWriter.nullBulkString(out);
            case ARRAY -> RespWriter.nullArray(out);
            default -> RespWriter.nullValue(out);
        }
    }

    private void writeScalar(ByteBuf out) {
        switch (type) {
            case INTEGER -> RespWriter.integer(out, bits);
            case BOOLEAN -> RespWriter.booleanValue(out, bits != 0);
            case DOUBLE -> RespWriter.doubleValue(out, Double.longBitsToDouble(bits));
            case BULK_STRING -> RespWriter.bulkString(out, bytes);
            case BULK_ERROR -> RespWriter.bulkError(out, bytes);
            case VERBATIM_STRING -> RespWriter.verbatimString(out, (int) bits, bytes);
            default -> RespWriter.line(out, type, bytes);
        }
    }

    /**
     * Decodes the format of a verbatim string, as {@link RespVisitor#onVerbatimString} reports it.
     *
     * @param format three bytes, the first in bits 16 to 23
     * @return three characters, one for each byte
     */
    public static String formatText(int format) {
        return "" + (char) (format >> 16 & 0xFF) + (char) (format >> 8 & 0xFF) + (char) (format & 0xFF);
    }

    /**
     * Encodes the format of a verbatim string, for {@link RespWriter#verbatimString}.
     *
     * @param format three characters of one byte each
     * @return three bytes, the first in bits 16 to 23
     * @throws IllegalArgumentException if the format has another length or a character above U+00FF
     */
    public static int format(String format) {
        if (format.length() != 3 || format.chars().anyMatch(c -> c > 0xFF)) {
            throw new IllegalArgumentException(
                    "format is \"" + SafeText.of(format) + "\"; it must be three characters up to U+00FF");
        }
        return format.charAt(0) << 16 | format.charAt(1) << 8 | format.charAt(2);
    }

    private boolean isText(String text) {
        return hasBytes() && asText().equals(text);
    }

    private void requireBytes() {
        require(hasBytes(), "a string, error or big number");
    }

    private boolean hasBytes() {
        return !isNull && (type.isBody() || isLineOfBytes(type));
    }

    private static boolean isLineOfBytes(RespType type) {
        return type == RespType.SIMPLE_STRING || type == RespType.SIMPLE_ERROR || type == RespType.BIG_NUMBER;
    }

    private void require(boolean condition, String expected) {
        if (!condition) {
            throw new IllegalStateException("expected " + expected + ", got " + this);
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RespValue that && type == that.type && isNull == that.isNull && bits == that.bits
                && Arrays.equals(bytes, that.bytes) && elements.equals(that.elements)
                && Objects.equals(attribute, that.attribute);
    }

    @Override
    public int hashCode() {
        return Objects.hash(type, isNull, bits, Arrays.hashCode(bytes), elements, attribute);
    }

    /**
     * The type and the content, for error messages and tests. {@link SafeText} escapes the content and cuts long texts;
     * large trees are cut too.
     */
    @Override
    public String toString() {
        StringBuilder out = new StringBuilder();
        append(out);
        return out.toString();
    }

    private void append(StringBuilder out) {
        if (attribute != null) {
            attribute.append(out);
            out.append(' ');
        }
        out.append(type);
        if (isNull) {
            out.append(type == RespType.NULL ? "" : "(null)");
        } else if (type.isAggregate()) {
            appendElements(out);
        } else {
            out.append('(').append(scalarText()).append(')');
        }
    }

    private void appendElements(StringBuilder out) {
        out.append('[');
        for (int i = 0; i < elements.size(); i++) {
            out.append(i == 0 ? "" : ", ");
            if (out.length() > TREE_TEXT_LENGTH_MAX) {
                out.append("... (").append(elements.size() - i).append(" more)");
                break;
            }
            elements.get(i).append(out);
        }
        out.append(']');
    }

    private String scalarText() {
        return switch (type) {
            case INTEGER -> Long.toString(bits);
            case BOOLEAN -> Boolean.toString(bits != 0);
            case DOUBLE -> Double.toString(Double.longBitsToDouble(bits));
            default -> SafeText.of(bytes, SafeText.LENGTH_MAX);
        };
    }
}
