package dev.redlock.resp;

import io.netty.buffer.ByteBuf;

/**
 * Lines such as {@code :1\r\n} or {@code $16\r\n}, read from one eight-byte word instead of byte by byte: a marker,
 * one to five digits, CR, LF. What does not fit this picture is not refused here; the slow path judges it.
 * <p>
 * Why: one bounds check and a handful of arithmetic steps replace a search for the CR and a loop over the digits. The
 * figures are in {@code docs/internals/codec.md}.
 * <p>
 * Words are little-endian: the marker is the low byte, so the first digit is the next byte up.
 *
 * @threading immutable
 */
final class ShortNumberLine {
    /** Bytes of one word. */
    static final int WORD_BYTES = 8;
    /** What {@link #decode} answers for a line it cannot read. */
    static final int NOT_SHORT = -1;

    /** Twice {@code :0\r\n}, and which of its bits are fixed: all but the low bits of the digits. */
    private static final long TWO_LINES = 0x0A0D303A0A0D303AL;
    private static final long TWO_LINES_MASK = 0xFFFFF0FFFFFFF0FFL;
    private static final long[] POWERS = {1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000};
    private static final long EACH_BYTE = 0x0101010101010101L;
    private static final long HIGH_BITS = 0x8080808080808080L;
    private static final long CRS = 0x0D0D0D0D0D0D0D0DL;
    private static final long ZEROS = 0x3030303030303030L;
    private static final long HIGH_NIBBLES = 0xF0F0F0F0F0F0F0F0L;
    private static final long LOW_NIBBLES = 0x0F0F0F0F0F0F0F0FL;
    private static final long SIXES = 0x0606060606060606L;
    private static final long THREES = 0x3333333333333333L;

    private ShortNumberLine() {
    }

    /**
     * Whether the word is two lines such as {@code :1\r\n:0\r\n}.
     *
     * @param word eight bytes of wire
     * @return true if both digits may be taken from the low four bits of bytes 1 and 5
     */
    static boolean isTwoDigitLines(long word) {
        // Six more than a digit sets no bit of the high nibble; six more than ':' to '?' does.
        long carried = word + 0x0000060000000600L;
        return (word & TWO_LINES_MASK) == TWO_LINES && (carried & TWO_LINES_MASK) == TWO_LINES;
    }

    /**
     * How many digits stand before the next CRLF, for runs of up to fifteen: counters and negative numbers.
     *
     * @param buf  borrowed
     * @param from index of the first digit
     * @param end  where the readable bytes end
     * @return 1 to 15, or 0 if this is not such a run or too near the end to be read in words
     */
    static int longDigits(ByteBuf buf, int from, int end) {
        int left = end - from - WORD_BYTES;
        if (left < 0) {
            return 0;
        }
        long word = buf.getLongLE(from);
        int digits = crIndex(word);
        if (digits == WORD_BYTES) {
            if (left < WORD_BYTES || !isEightDigits(word)) {
                return 0;
            }
            long next = buf.getLongLE(from + WORD_BYTES);
            int more = crIndex(next);
            return more < WORD_BYTES - 1 && isDigits(next, more) && isLf(next, more) ? digits + more : 0;
        }
        return digits > 0 && digits < WORD_BYTES - 1 && isDigits(word, digits) && isLf(word, digits) ? digits : 0;
    }

    /**
     * The value of a run that {@link #longDigits} has measured.
     *
     * @param buf    borrowed
     * @param from   index of the first digit
     * @param digits what it answered
     * @return below 10^15
     */
    static long longNumber(ByteBuf buf, int from, int digits) {
        long word = buf.getLongLE(from);
        if (digits < WORD_BYTES) {
            return eightDigits(padded(word, digits));
        }
        int more = digits - WORD_BYTES;
        long high = eightDigits(word);
        return more == 0 ? high : high * POWERS[more] + eightDigits(padded(buf.getLongLE(from + WORD_BYTES), more));
    }

    private static boolean isDigits(long word, int digits) {
        return digits == 0 || isEightDigits(padded(word, digits));
    }

    private static boolean isLf(long word, int crIndex) {
        return (word >>> (crIndex * 8 + 8) & 0xFF) == '\n';
    }

    /** The first digits of a word (1 to 7) moved to its top, with zeros in front: eight digits in all. */
    private static long padded(long word, int digits) {
        int digitBits = digits * 8;
        return word << 64 - digitBits | ZEROS >>> digitBits;
    }

    /**
     * Where the first CR of the word is.
     *
     * @param word eight bytes of wire
     * @return 0 to 7, or 8 if there is none
     */
    static int crIndex(long word) {
        long difference = word ^ CRS;
        // The lowest byte that is zero in "difference" gets its high bit set; bytes above it may lie.
        long zeroBytes = (difference - EACH_BYTE) & ~difference & HIGH_BITS;
        return Long.numberOfTrailingZeros(zeroBytes) >>> 3;
    }

    /**
     * The number between the marker and the CR.
     *
     * @param word    eight bytes of wire
     * @param crIndex {@link #crIndex} of it
     * @return 0 to 99999, or {@link #NOT_SHORT}
     */
    static int decode(long word, int crIndex) {
        if (crIndex < 2 || crIndex > 6 || !isLf(word, crIndex)) {
            return NOT_SHORT;
        }
        long digits = padded(word >>> 8, crIndex - 1);
        return isEightDigits(digits) ? eightDigits(digits) : NOT_SHORT;
    }

    private static boolean isEightDigits(long word) {
        return (word & HIGH_NIBBLES | (word + SIXES & HIGH_NIBBLES) >>> 4) == THREES;
    }

    /** Adds up eight digits in three multiplications: neighbours to pairs, pairs to fours, fours to eight. */
    private static int eightDigits(long word) {
        long value = word & LOW_NIBBLES;
        value = value * 10 + (value >>> 8);
        long upper = (value & 0x000000FF000000FFL) * 0x000F424000000064L;
        long lower = (value >>> 16 & 0x000000FF000000FFL) * 0x0000271000000001L;
        return (int) (upper + lower >>> 32);
    }
}
