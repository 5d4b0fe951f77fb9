package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;

/**
 * Writes RESP2 and RESP3 values at the writer index of a buffer.
 * <ul>
 * <li>Buffers are borrowed. They grow as needed, which may allocate; the methods themselves allocate nothing on the
 * heap, unless their Javadoc states it.
 * <li>A number is stored in words of eight bytes, so a buffer that cannot grow needs 48 writable bytes for it. The
 * bytes after the new writer index are undefined.
 * <li>A command is {@link #arrayHeader} and one bulk string for each of its words. A pipeline is several commands in
 * one buffer. {@link RespCommand} encodes constant words once.
 * </ul>
 *
 * @threading any thread; one buffer by one thread at a time
 */
public final class RespWriter {
    private static final byte ARRAY_MARKER = '*';
    private static final byte BULK_STRING_MARKER = '$';
    private static final int CR_LF = 0x0D0A;
    private static final int CRLF_BYTES = 2;
    /** The longest integer line is 23 bytes: marker, sign, 19 digits and CRLF. The rest is room for word stores. */
    private static final int NUMBER_LINE_BYTES_MAX = 40;
    private static final int WORD_DIGITS = 8;
    /** 10^8: a word stores eight digits. */
    private static final long WORD_MODULUS = 100_000_000;
    private static final byte[] LONG_MIN_DIGITS = "9223372036854775808".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] RESP2_NULL_BULK = "$-1\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] RESP2_NULL_ARRAY = "*-1\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final long ZERO_DIGITS = 0x3030303030303030L;

    private RespWriter() {
    }

    /**
     * The count line of an array or a command, {@code *3\r\n}. The caller writes the elements or words after it.
     *
     * @param out   borrowed
     * @param count elements, at least 0
     * @throws IllegalArgumentException if the count is negative; nothing is written then
     */
    public static void arrayHeader(ByteBuf out, int count) {
        if (count < 0) {
            throw new IllegalArgumentException("count is " + count + "; it must be at least 0");
        }
        numberLine(out, ARRAY_MARKER, count);
    }

    /**
     * The count line of an aggregate. The caller writes the elements after it.
     *
     * @param out   borrowed
     * @param type  array, map, attribute, set or push
     * @param count elements, or pairs for a map or attribute; at least 0
     * @throws IllegalArgumentException if the type is no aggregate or the count is negative; nothing is written then
     */
    public static void aggregateHeader(ByteBuf out, RespType type, int count) {
        if (!type.isAggregate() || count < 0) {
            throw new IllegalArgumentException(
                    "type is " + type + " and count is " + count + "; it must be an aggregate and at least 0");
        }
        numberLine(out, type.marker(), count);
    }

    /**
     * A bulk string from an array, {@code $5\r\nhello\r\n}.
     *
     * @param out   borrowed
     * @param bytes copied
     */
    public static void bulkString(ByteBuf out, byte[] bytes) {
        body(out, RespType.BULK_STRING, bytes, 0, bytes.length);
    }

    /**
     * A bulk string from a range of an array.
     *
     * @param out    borrowed
     * @param bytes  copied
     * @param offset index of the first byte
     * @param length bytes
     */
    public static void bulkString(ByteBuf out, byte[] bytes, int offset, int length) {
        body(out, RespType.BULK_STRING, bytes, offset, length);
    }

    /**
     * A bulk string from a range of another buffer.
     *
     * @param out    borrowed
     * @param buf    borrowed, copied; its indices do not change
     * @param index  absolute index of the first byte
     * @param length bytes
     */
    public static void bulkString(ByteBuf out, ByteBuf buf, int index, int length) {
        numberLine(out, RespType.BULK_STRING.marker(), length);
        out.writeBytes(buf, index, length);
        out.writeShort(CR_LF);
    }

    /**
     * A bulk string from text.
     *
     * @param out  borrowed
     * @param text encoded as UTF-8, directly into the buffer
     */
    public static void bulkString(ByteBuf out, CharSequence text) {
        numberLine(out, RespType.BULK_STRING.marker(), ByteBufUtil.utf8Bytes(text));
        ByteBufUtil.writeUtf8(out, text);
        out.writeShort(CR_LF);
    }

    /**
     * A bulk string from an integer, {@code $5\r\n30000\r\n}, for example an argument of a command.
     *
     * @param out   borrowed
     * @param value any
     */
    public static void bulkInteger(ByteBuf out, long value) {
        int length = integerLength(value);
        out.ensureWritable(NUMBER_LINE_BYTES_MAX + WORD_DIGITS);
        numberLine(out, BULK_STRING_MARKER, length);
        digits(out, value);
        out.writeShort(CR_LF);
    }

    /**
     * The null bulk string of RESP2, {@code $-1\r\n}.
     *
     * @param out borrowed
     */
    public static void nullBulkString(ByteBuf out) {
        out.writeBytes(RESP2_NULL_BULK);
    }

    /**
     * The null array of RESP2, {@code *-1\r\n}.
     *
     * @param out borrowed
     */
    public static void nullArray(ByteBuf out) {
        out.writeBytes(RESP2_NULL_ARRAY);
    }

    /**
     * The null of RESP3, {@code _\r\n}.
     *
     * @param out borrowed
     */
    public static void nullValue(ByteBuf out) {
        out.writeByte(RespType.NULL.marker());
        out.writeShort(CR_LF);
    }

    /**
     * An integer, {@code :42\r\n}.
     *
     * @param out   borrowed
     * @param value any
     */
    public static void integer(ByteBuf out, long value) {
        numberLine(out, RespType.INTEGER.marker(), value);
    }

    /**
     * A boolean, {@code #t\r\n} or {@code #f\r\n}.
     *
     * @param out   borrowed
     * @param value true for {@code t}
     */
    public static void booleanValue(ByteBuf out, boolean value) {
        out.writeByte(RespType.BOOLEAN.marker());
        out.writeByte(value ? 't' : 'f');
        out.writeShort(CR_LF);
    }

    /**
     * A double, {@code ,1.5\r\n}. Allocates a string.
     *
     * @param out   borrowed
     * @param value any; every NaN becomes {@code nan}
     */
    public static void doubleValue(ByteBuf out, double value) {
        out.writeByte(RespType.DOUBLE.marker());
        out.writeCharSequence(doubleText(value), StandardCharsets.US_ASCII);
        out.writeShort(CR_LF);
    }

    /**
     * A simple string or simple error.
     *
     * @param out  borrowed
     * @param type {@link RespType#SIMPLE_STRING} or {@link RespType#SIMPLE_ERROR}
     * @param text without CR and LF, encoded as UTF-8
     * @throws IllegalArgumentException if the type is another one or the text contains a CR or LF; nothing is written
     *                                  then
     */
    public static void textLine(ByteBuf out, RespType type, CharSequence text) {
        if (type != RespType.SIMPLE_STRING && type != RespType.SIMPLE_ERROR) {
            throw new IllegalArgumentException("type is " + type + "; it must be SIMPLE_STRING or SIMPLE_ERROR");
        }
        requireOneLine(text);
        out.writeByte(type.marker());
        ByteBufUtil.writeUtf8(out, text);
        out.writeShort(CR_LF);
    }

    /**
     * A big number, {@code (123\r\n}.
     *
     * @param out    borrowed
     * @param digits an optional sign and one or more ASCII digits
     * @throws IllegalArgumentException if the text has another form; nothing is written then
     */
    public static void bigNumber(ByteBuf out, CharSequence digits) {
        requireInteger(digits);
        out.writeByte(RespType.BIG_NUMBER.marker());
        ByteBufUtil.writeAscii(out, digits);
        out.writeShort(CR_LF);
    }

    /**
     * A bulk error, {@code !5\r\nERR x\r\n}.
     *
     * @param out   borrowed
     * @param bytes copied
     */
    public static void bulkError(ByteBuf out, byte[] bytes) {
        body(out, RespType.BULK_ERROR, bytes, 0, bytes.length);
    }

    /**
     * A verbatim string, {@code =8\r\ntxt:text\r\n}.
     *
     * @param out    borrowed
     * @param format three bytes, the first in bits 16 to 23; see {@link RespValue#format(String)}
     * @param bytes  the content after the format and colon, copied
     */
    public static void verbatimString(ByteBuf out, int format, byte[] bytes) {
        numberLine(out, RespType.VERBATIM_STRING.marker(), bytes.length + 4L);
        out.writeMedium(format);
        out.writeByte(':');
        out.writeBytes(bytes);
        out.writeShort(CR_LF);
    }

    /**
     * The length of an integer in decimal.
     *
     * @param value any
     * @return characters, 1 to 20, a minus sign included
     */
    public static int integerLength(long value) {
        int length = value < 0 ? 2 : 1;
        // Negative, because Long.MIN_VALUE has no positive counterpart.
        for (long rest = value < 0 ? value : -value; rest <= -10; rest /= 10) {
            length++;
        }
        return length;
    }

    /** Writes a line without validating its content. */
    static void line(ByteBuf out, RespType type, byte[] content) {
        out.writeByte(type.marker());
        out.writeBytes(content);
        out.writeShort(CR_LF);
    }

    static String doubleText(double value) {
        if (Double.isNaN(value)) {
            return "nan";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "inf" : "-inf";
        }
        return Double.toString(value);
    }

    private static void body(ByteBuf out, RespType type, byte[] bytes, int offset, int length) {
        numberLine(out, type.marker(), length);
        out.writeBytes(bytes, offset, length);
        out.writeShort(CR_LF);
    }

    private static void numberLine(ByteBuf out, byte marker, long value) {
        out.ensureWritable(NUMBER_LINE_BYTES_MAX);
        if (value >= 0 && value <= 9) {
            // One store for the four bytes: marker, digit, CR, LF.
            out.writeIntLE(marker | (int) value + '0' << 8 | 0x0A0D << 16);
            return;
        }
        out.writeByte(marker);
        digits(out, value);
        out.writeShort(CR_LF);
    }

    /** Writes a number in decimal. The caller has ensured {@link #NUMBER_LINE_BYTES_MAX} writable bytes. */
    private static void digits(ByteBuf out, long value) {
        if (value >= 0 && value < WORD_MODULUS) {
            leadingWord(out, (int) value);
        } else if (value == Long.MIN_VALUE) {
            out.writeByte('-');
            out.writeBytes(LONG_MIN_DIGITS);
        } else if (value < 0) {
            out.writeByte('-');
            positiveDigits(out, -value);
        } else {
            positiveDigits(out, value);
        }
    }

    private static void positiveDigits(ByteBuf out, long value) {
        if (value < WORD_MODULUS) {
            leadingWord(out, (int) value);
        } else {
            positiveDigits(out, value / WORD_MODULUS);
            paddedWord(out, (int) (value % WORD_MODULUS));
        }
    }

    /** Writes one to eight digits with one store of eight bytes; the bytes after the digits are undefined. */
    private static void leadingWord(ByteBuf out, int value) {
        long word = 0;
        int length = 0;
        int rest = value;
        do {
            word = word << 8 | '0' + rest % 10;
            rest /= 10;
            length++;
        } while (rest != 0);
        int index = out.writerIndex();
        out.setLongLE(index, word);
        out.writerIndex(index + length);
    }

    /** Writes exactly eight digits, with leading zeros. */
    private static void paddedWord(ByteBuf out, int value) {
        long word = ZERO_DIGITS;
        int rest = value;
        for (int shift = 56; rest != 0; shift -= 8) {
            word += (long) (rest % 10) << shift;
            rest /= 10;
        }
        out.writeLongLE(word);
    }

    static void requireLine(RespType type, CharSequence content) {
        if (type == RespType.BIG_NUMBER) {
            requireInteger(content);
        } else {
            requireOneLine(content);
        }
    }

    private static void requireOneLine(CharSequence text) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) == '\r' || text.charAt(i) == '\n') {
                throw new IllegalArgumentException(
                        "the text has a CR or LF at index " + i + "; a simple string or error is one line");
            }
        }
    }

    private static void requireInteger(CharSequence digits) {
        int from = digits.length() > 0 && (digits.charAt(0) == '-' || digits.charAt(0) == '+') ? 1 : 0;
        boolean isInteger = digits.length() > from;
        for (int i = from; i < digits.length(); i++) {
            isInteger &= digits.charAt(i) >= '0' && digits.charAt(i) <= '9';
        }
        if (!isInteger) {
            throw new IllegalArgumentException(
                    RespRule.BIG_NUMBER_FORM.sentence() + "; got \"" + SafeText.of(digits) + "\"");
        }
    }
}
