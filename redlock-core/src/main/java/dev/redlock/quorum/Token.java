package dev.redlock.quorum;

/**
 * Twenty random bytes that prove ownership of the keys of one claim. Two longs and an int, so that a token needs no
 * array. It is a secret: {@link #toString} never shows it.
 *
 * @threading caller-confined
 */
public final class Token {

    /** Length of a token on the wire, bytes. */
    public static final int LENGTH = 20;

    private long high;
    private long middle;
    private int low;

    /** A token of zeros, to be filled by {@link TokenStream#next} or {@link #copyOf}. */
    public Token() {
        // all zero
    }

    /**
     * Sets all twenty bytes.
     *
     * @param newHigh   bytes 0 to 7, big-endian
     * @param newMiddle bytes 8 to 15
     * @param newLow    bytes 16 to 19
     */
    public void set(long newHigh, long newMiddle, int newLow) {
        high = newHigh;
        middle = newMiddle;
        low = newLow;
    }

    /**
     * Copies another token.
     *
     * @param other the source
     * @return this
     */
    public Token copyOf(Token other) {
        set(other.high, other.middle, other.low);
        return this;
    }

    /** @return bytes 0 to 7, big-endian */
    public long high() {
        return high;
    }

    /** @return bytes 8 to 15, big-endian */
    public long middle() {
        return middle;
    }

    /** @return bytes 16 to 19, big-endian */
    public int low() {
        return low;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Token other && high == other.high && middle == other.middle && low == other.low;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(high ^ middle) ^ low;
    }

    @Override
    public String toString() {
        return "Token{not shown}";
    }
}
