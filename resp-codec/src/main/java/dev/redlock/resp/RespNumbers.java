package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;

/**
 * Validates and decodes the numbers of complete lines, byte by byte. Methods take a line as the absolute indices
 * {@code [from, to)} of a borrowed buffer, with the CR at {@code to}. An error for a missing digit therefore names the
 * byte in its place, the CR if the line is too short.
 *
 * @threading any thread; one buffer by one thread at a time
 */
final class RespNumbers {
    /** A double represents every number of up to 15 digits exactly, because 10^15 is below 2^53. */
    private static final int EXACT_DIGITS_MAX = 15;
    private static final int EXACT_EXPONENT_MAX = 22;
    /** The powers of ten that a double represents exactly, from 10^0 to 10^22. */
    private static final double[] EXACT_POWERS = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
        1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    /** Larger exponents are cut to this one: it is far outside the range of a double and fits in an int. */
    private static final int EXPONENT_CAP = 100_000;

    private RespNumbers() {
    }

    /**
     * Validates the form {@code [+-]digits}.
     *
     * @return the index of the first byte that violates it, or -1 if the line is valid
     */
    static int indexOfNonInteger(ByteBuf buf, int from, int to) {
        int first = from < to && isSign(buf.getByte(from)) ? from + 1 : from;
        int end = endOfDigits(buf, first, to);
        return end == to && end > first ? -1 : end;
    }

    /** The index after the run of digits that starts at {@code from}. */
    static int endOfDigits(ByteBuf buf, int from, int to) {
        int index = from;
        while (index < to && isDigit(buf.getByte(index))) {
            index++;
        }
        return index;
    }

    /**
     * Validates that an integer of valid form fits in a signed 64-bit number.
     *
     * @return the index of the first digit that overflows, or -1 if the integer fits
     */
    static int indexOfOverflow(ByteBuf buf, int from, int to) {
        boolean negative = buf.getByte(from) == '-';
        long value = 0;
        for (int index = isSign(buf.getByte(from)) ? from + 1 : from; index < to; index++) {
            int digit = buf.getByte(index) - '0';
            // The sum is negative, because Long.MIN_VALUE has no positive counterpart.
            if (value < (Long.MIN_VALUE + digit) / 10) {
                return index;
            }
            value = value * 10 - digit;
        }
        return value == Long.MIN_VALUE && !negative ? to - 1 : -1;
    }

    /** Decodes an integer of valid form and range. */
    static long parseInteger(ByteBuf buf, int from, int to) {
        byte first = buf.getByte(from);
        long value = 0;
        for (int index = isSign(first) ? from + 1 : from; index < to; index++) {
            value = value * 10 - (buf.getByte(index) - '0');
        }
        return first == '-' ? value : -value;
    }

    /** Decodes digits of valid form; returns {@code cap + 1} for a number above {@code cap}. */
    static long parseDigitsCapped(ByteBuf buf, int from, int to, long cap) {
        long value = 0;
        for (int index = from; index < to && value <= cap; index++) {
            value = value * 10 + buf.getByte(index) - '0';
        }
        return Math.min(value, cap + 1);
    }

    /**
     * Validates the form {@code [+-]digits[.digits][e[+-]digits]}, {@code inf}, {@code -inf} or {@code nan}.
     *
     * @return the index of the first byte that violates it, or -1 if the line is valid
     */
    static int indexOfNonDouble(ByteBuf buf, int from, int to) {
        if (isWord(buf, from, to, "inf") || isWord(buf, from, to, "-inf") || isWord(buf, from, to, "nan")) {
            return -1;
        }
        int first = from < to && isSign(buf.getByte(from)) ? from + 1 : from;
        int end = endOfDigits(buf, first, to);
        if (end == first) {
            return end;
        }
        return indexOfNonFraction(buf, end, to);
    }

    private static int indexOfNonFraction(ByteBuf buf, int from, int to) {
        if (from == to || buf.getByte(from) != '.') {
            return indexOfNonExponent(buf, from, to);
        }
        int end = endOfDigits(buf, from + 1, to);
        return end == from + 1 ? end : indexOfNonExponent(buf, end, to);
    }

    private static int indexOfNonExponent(ByteBuf buf, int from, int to) {
        if (from == to) {
            return -1;
        }
        return (buf.getByte(from) | 0x20) == 'e' ? indexOfNonInteger(buf, from + 1, to) : from;
    }

    /** Decodes a double of valid form; allocates only for the numbers named at {@link RespVisitor#onDouble}. */
    static double parseDouble(ByteBuf buf, int from, int to) {
        byte last = buf.getByte(to - 1);
        if (last == 'f') {
            return buf.getByte(from) == '-' ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
        }
        if (last == 'n') {
            return Double.NaN;
        }
        return parseDecimal(buf, from, to);
    }

    /**
     * Multiplies or divides an exact integer by an exact power of ten. One operation on exact operands rounds once, so
     * the result is correct. Source: W. D. Clinger, "How to Read Floating Point Numbers Accurately", 1990.
     */
    private static double parseDecimal(ByteBuf buf, int from, int to) {
        int first = isSign(buf.getByte(from)) ? from + 1 : from;
        int pointIndex = endOfDigits(buf, first, to);
        int fractionFrom = pointIndex < to && buf.getByte(pointIndex) == '.' ? pointIndex + 1 : pointIndex;
        int fractionTo = endOfDigits(buf, fractionFrom, to);
        int exponent = parseExponent(buf, fractionTo, to) - (fractionTo - fractionFrom);
        int digits = pointIndex - first + fractionTo - fractionFrom;
        if (digits > EXACT_DIGITS_MAX || exponent < -EXACT_EXPONENT_MAX || exponent > EXACT_EXPONENT_MAX) {
            return Double.parseDouble(buf.toString(from, to - from, StandardCharsets.US_ASCII));
        }
        long wholeDigits = appendDigits(0, buf, first, pointIndex);
        double whole = appendDigits(wholeDigits, buf, fractionFrom, fractionTo);
        double value = exponent < 0 ? whole / EXACT_POWERS[-exponent] : whole * EXACT_POWERS[exponent];
        return buf.getByte(from) == '-' ? -value : value;
    }

    private static int parseExponent(ByteBuf buf, int from, int to) {
        if (from == to) {
            return 0;
        }
        byte sign = buf.getByte(from + 1);
        int value = (int) parseDigitsCapped(buf, isSign(sign) ? from + 2 : from + 1, to, EXPONENT_CAP);
        return sign == '-' ? -value : value;
    }

    private static long appendDigits(long leading, ByteBuf buf, int from, int to) {
        long value = leading;
        for (int index = from; index < to; index++) {
            value = value * 10 + buf.getByte(index) - '0';
        }
        return value;
    }

    private static boolean isWord(ByteBuf buf, int from, int to, String word) {
        if (to - from != word.length()) {
            return false;
        }
        int index = 0;
        while (index < word.length() && buf.getByte(from + index) == word.charAt(index)) {
            index++;
        }
        return index == word.length();
    }

    private static boolean isSign(byte value) {
        return value == '+' || value == '-';
    }

    private static boolean isDigit(byte value) {
        return value >= '0' && value <= '9';
    }
}
