package dev.redlock.resp;

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
        if (crIndex < 2 || crIndex > 6 || (word >>> (crIndex * 8 + 8) & 0xFF) != '\n') {
            return NOT_SHORT;
        }
        int digitBits = crIndex * 8 - 8;
        // The digits move to the top of the word and zeros are put in front of them, eight digits in all.
        long digits = word >>> 8 << 64 - digitBits | ZEROS >>> digitBits;
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
