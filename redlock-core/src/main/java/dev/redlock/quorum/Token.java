package dev.redlock.quorum;

import java.nio.charset.StandardCharsets;

/**
 * Twenty random bytes that prove ownership of the keys of one claim. Two longs and an int, so that a token needs no
 * array. It is a secret: {@link #toString} never shows it.
 *
 * <p>The value of a key is the token, followed by the label of the client if it has one. Nodes compare the whole value.
 *
 * @threading caller-confined
 */
public final class Token {

    /** Length of a token on the wire, bytes. */
    public static final int LENGTH = 20;

    /** The longest name in a label, bytes. */
    public static final int NAME_LENGTH_MAX = 64;
    /** The longest label, bytes. */
    public static final int LABEL_LENGTH_MAX = 1 + NAME_LENGTH_MAX;

    private static final byte[] NO_LABEL = {};

    private final byte[] label;
    private long high;
    private long middle;
    private int low;

    /** A token of zeros without a label, to be filled by {@link TokenStream#next}. */
    public Token() {
        this(NO_LABEL);
    }

    /**
     * A token of zeros, to be filled by {@link TokenStream#next}.
     *
     * @param label from {@link #labelOf}; borrowed for good, since it never changes
     */
    public Token(byte[] label) {
        this.label = label;
    }

    /**
     * The bytes that follow the token in the value of a key: {@code @name}. An at sign is in no base64, hex or UUID, so
     * a value of another client rarely looks like one with a name.
     *
     * @param name printable ASCII, at most {@link #NAME_LENGTH_MAX} characters; null for no label
     * @return the label, empty if there is no name
     */
    public static byte[] labelOf(String name) {
        return name == null ? NO_LABEL : ("@" + name).getBytes(StandardCharsets.US_ASCII);
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
     * Sets all twenty bytes to those of another token.
     *
     * @param other the other token
     */
    public void set(Token other) {
        set(other.high, other.middle, other.low);
    }

    /** @return a token with the same bytes and label */
    public Token copy() {
        Token copy = new Token(label);
        copy.set(high, middle, low);
        return copy;
    }

    /** @return the bytes that follow the token in the value of a key; borrowed, not to be changed */
    public byte[] label() {
        return label;
    }

    /** @return length of the value of a key, bytes */
    public int valueLength() {
        return LENGTH + label.length;
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
