package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;

/**
 * The number forms of the wire, decoded from a line whose end is known. Every method takes the line as {@code [from,
 * to)} with the CR at {@code to}, so that "a digit is missing" is blamed on the byte that stands in its place.
 *
 * @threading immutable
 */
final class RespNumbers {
    /** Digits of a decimal number that a double holds exactly, with room to spare: 10^15 is below 2^53. */
    private static final int EXACT_DIGITS_MAX = 15;
    /** The powers of ten that a double holds exactly; one operation with such a power rounds once, hence correctly. */
    private static final double[] EXACT_POWERS = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
        1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    /** Where exponents stop being added up: far beyond the range of a double, far within an int. */
    private static final int EXPONENT_CAP = 100_000;

    private RespNumbers() {
    }

    /**
     * Finds what is wrong with the form "optional sign, one or more digits".
     *
     * @return the index of the first wrong byte, or -1
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
     * Finds the digit with which an integer of correct form leaves the signed 64 bits.
     *
     * @return its index, or -1 if the number fits
     */
    static int indexOfOverflow(ByteBuf buf, int from, int to) {
        boolean negative = buf.getByte(from) == '-';
        long value = 0;
        for (int index = isSign(buf.getByte(from)) ? from + 1 : from; index < to; index++) {
            int digit = buf.getByte(index) - '0';
            // Counted downwards, because there is one more negative number than positive ones.
            if (value < (Long.MIN_VALUE + digit) / 10) {
                return index;
            }
            value = value * 10 - digit;
        }
        return value == Long.MIN_VALUE && !negative ? to - 1 : -1;
    }

    /** An integer whose form and range were checked. */
    static long integer(ByteBuf buf, int from, int to) {
        byte first = buf.getByte(from);
        long value = 0;
        for (int index = isSign(first) ? from + 1 : from; index < to; index++) {
            value = value * 10 - (buf.getByte(index) - '0');
        }
        return first == '-' ? value : -value;
    }

    /** Digits whose form was checked; what passes {@code cap} counts as {@code cap + 1}. */
    static long cappedDigits(ByteBuf buf, int from, int to, long cap) {
        long value = 0;
        for (int index = from; index < to && value <= cap; index++) {
            value = value * 10 + buf.getByte(index) - '0';
        }
        return Math.min(value, cap + 1);
    }

    /**
     * Finds what is wrong with the form {@code [+-]digits[.digits][e[+-]digits]}, or {@code inf}, {@code -inf},
     * {@code nan}.
     *
     * @return the index of the first wrong byte, or -1
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

    /** A double whose form was checked. Allocates only where {@link #exactDouble} cannot do it. */
    static double decimal(ByteBuf buf, int from, int to) {
        byte last = buf.getByte(to - 1);
        if (last == 'f') {
            return buf.getByte(from) == '-' ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
        }
        if (last == 'n') {
            return Double.NaN;
        }
        return exactDouble(buf, from, to);
    }

    private static double exactDouble(ByteBuf buf, int from, int to) {
        int first = isSign(buf.getByte(from)) ? from + 1 : from;
        int pointIndex = endOfDigits(buf, first, to);
        int fractionFrom = pointIndex < to && buf.getByte(pointIndex) == '.' ? pointIndex + 1 : pointIndex;
        int fractionTo = endOfDigits(buf, fractionFrom, to);
        int exponent = exponent(buf, fractionTo, to) - (fractionTo - fractionFrom);
        int digits = pointIndex - first + fractionTo - fractionFrom;
        if (digits > EXACT_DIGITS_MAX || exponent < -22 || exponent > 22) {
            return Double.parseDouble(buf.toString(from, to - from, StandardCharsets.US_ASCII));
        }
        double whole = plainDigits(buf, fractionFrom, fractionTo, plainDigits(buf, first, pointIndex, 0));
        double value = exponent < 0 ? whole / EXACT_POWERS[-exponent] : whole * EXACT_POWERS[exponent];
        return buf.getByte(from) == '-' ? -value : value;
    }

    private static int exponent(ByteBuf buf, int from, int to) {
        if (from == to) {
            return 0;
        }
        byte sign = buf.getByte(from + 1);
        int value = (int) cappedDigits(buf, isSign(sign) ? from + 2 : from + 1, to, EXPONENT_CAP);
        return sign == '-' ? -value : value;
    }

    private static long plainDigits(ByteBuf buf, int from, int to, long before) {
        long value = before;
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
