package dev.redlock.resp;

import io.netty.buffer.ByteBuf;

/**
 * Decodes short integers eight bytes at a time, the fast path of {@link RespParser} for lines such as {@code :1\r\n}
 * and {@code $16\r\n}. The technique is SWAR, "SIMD within a register": arithmetic on a {@code long} treats each of its
 * bytes as a lane. It replaces the search for the CR and the loop over the digits; {@code docs/internals/codec.md} has
 * the figures. These methods never reject input: a line that they cannot decode takes the byte-by-byte path, which
 * validates it.
 * <p>
 * A word is eight bytes of wire in little-endian order, so its lowest byte is the first on the wire.
 *
 * @threading any thread; one buffer by one thread at a time
 */
final class SwarIntegers {
    /** Bytes of one word. */
    static final int WORD_BYTES = 8;
    /** The result of {@link #parseShortLine} for a line that takes the byte-by-byte path. */
    static final int NOT_SHORT = -1;

    /** The word {@code :0\r\n:0\r\n}. */
    private static final long TWO_REPLIES = 0x0A0D303A0A0D303AL;
    /** Every bit of {@link #TWO_REPLIES} but the low four bits of the two digits, which hold their values. */
    private static final long TWO_REPLIES_MASK = 0xFFFFF0FFFFFFF0FFL;
    private static final long SIX_ON_BOTH_DIGITS = 0x0000060000000600L;
    private static final long[] POWERS = {1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000};
    private static final int CRLF_BYTES = 2;
    private static final short CRLF = '\n' << 8 | '\r';
    private static final long EACH_BYTE = 0x0101010101010101L;
    private static final long HIGH_BITS = 0x8080808080808080L;
    private static final long CRS = 0x0D0D0D0D0D0D0D0DL;
    private static final long ZEROS = 0x3030303030303030L;
    private static final long HIGH_NIBBLES = 0xF0F0F0F0F0F0F0F0L;
    private static final long LOW_NIBBLES = 0x0F0F0F0F0F0F0F0FL;
    private static final long SIXES = 0x0606060606060606L;
    private static final long THREES = 0x3333333333333333L;

    private SwarIntegers() {
    }

    /**
     * Whether a word is two integers of one digit each, such as {@code :1\r\n:0\r\n}.
     *
     * @param word eight bytes of wire
     * @return true if the low four bits of bytes 1 and 5 are the two values
     */
    static boolean isTwoOneDigitIntegers(long word) {
        // Bytes 0x30 to 0x3F pass the mask. Adding six carries into the high nibble for 0x3A to 0x3F only.
        long carried = word + SIX_ON_BOTH_DIGITS;
        return (word & TWO_REPLIES_MASK) == TWO_REPLIES && (carried & TWO_REPLIES_MASK) == TWO_REPLIES;
    }

    /**
     * The index of the first CR in a word. Source: Hacker's Delight, 2nd edition, section 6-1, "Find First 0-Byte",
     * applied to the difference from eight CRs.
     *
     * @param word eight bytes of wire
     * @return 0 to 7, or 8 if there is none
     */
    static int crIndex(long word) {
        long difference = word ^ CRS;
        // Only the lowest bit set is reliable: a borrow can set bits in the bytes above the first zero.
        long zeroBytes = (difference - EACH_BYTE) & ~difference & HIGH_BITS;
        return Long.numberOfTrailingZeros(zeroBytes) >>> 3;
    }

    /**
     * Decodes the number between the marker and the CRLF of a line of one to five digits.
     *
     * @param word    the first eight bytes of the line
     * @param crIndex {@link #crIndex} of the word
     * @return 0 to 99999, or {@link #NOT_SHORT}
     */
    static int parseShortLine(long word, int crIndex) {
        if (crIndex < 2 || crIndex > 6 || !isLfAfterCr(word, crIndex)) {
            return NOT_SHORT;
        }
        long digits = padded(word >>> 8, crIndex - 1);
        return isEightDigits(digits) ? parseEightDigits(digits) : NOT_SHORT;
    }

    /**
     * Counts the digits before the next CRLF. The words must lie within the readable bytes, so the last digits of a
     * read may take the byte-by-byte path.
     *
     * @param buf  borrowed
     * @param from index of the first digit
     * @param end  end of the readable bytes, exclusive
     * @return 1 to 16, or 0 if the digits take the byte-by-byte path
     */
    static int digitCount(ByteBuf buf, int from, int end) {
        int digits = 0;
        int more = WORD_BYTES;
        while (more == WORD_BYTES && digits <= WORD_BYTES && end - from - digits >= WORD_BYTES) {
            long word = buf.getLongLE(from + digits);
            more = crIndex(word);
            if (!isDigits(word, more)) {
                return 0;
            }
            digits += more;
        }
        boolean isLine = end - from - digits >= CRLF_BYTES && buf.getShortLE(from + digits) == CRLF;
        return isLine ? digits : 0;
    }

    /**
     * Decodes the digits that {@link #digitCount} counted.
     *
     * @param buf        borrowed
     * @param from       index of the first digit
     * @param digitCount 1 to 16
     * @return 0 to 10^16 - 1
     */
    static long parseDigits(ByteBuf buf, int from, int digitCount) {
        long word = buf.getLongLE(from);
        if (digitCount < WORD_BYTES) {
            return parseEightDigits(padded(word, digitCount));
        }
        long high = parseEightDigits(word);
        int more = digitCount - WORD_BYTES;
        return more == 0
                ? high
                : high * POWERS[more] + parseEightDigits(padded(buf.getLongLE(from + WORD_BYTES), more));
    }

    private static boolean isDigits(long word, int digitCount) {
        return digitCount == 0 || isEightDigits(digitCount == WORD_BYTES ? word : padded(word, digitCount));
    }

    private static boolean isLfAfterCr(long word, int crIndex) {
        return (word >>> (crIndex * 8 + 8) & 0xFF) == '\n';
    }

    /** Pads the first 1 to 8 digits of a word to eight, with zeros before them; zeros over digits change none. */
    private static long padded(long word, int digitCount) {
        int digitBits = digitCount * 8;
        return word << 64 - digitBits | ZEROS >>> digitBits;
    }

    /** Whether all bytes are ASCII digits. Source: {@code is_made_of_eight_digits_fast} of simdjson. */
    private static boolean isEightDigits(long word) {
        return (word & HIGH_NIBBLES | (word + SIXES & HIGH_NIBBLES) >>> 4) == THREES;
    }

    /**
     * Decodes eight ASCII digits: combines neighbours to pairs, and the four pairs to one number. Source:
     * {@code parse_eight_digits_unrolled} of fast_float.
     */
    private static int parseEightDigits(long word) {
        long value = word & LOW_NIBBLES;
        value = value * 10 + (value >>> 8);
        // The factors are 100 + (1_000_000 << 32) and 1 + (10_000 << 32); the result is in the upper half of the sum.
        long upper = (value & 0x000000FF000000FFL) * 0x000F424000000064L;
        long lower = (value >>> 16 & 0x000000FF000000FFL) * 0x0000271000000001L;
        return (int) (upper + lower >>> 32);
    }
}
