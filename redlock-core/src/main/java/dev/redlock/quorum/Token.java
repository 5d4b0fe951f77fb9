package dev.redlock.quorum;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Twenty random bytes that prove ownership of the keys of one claim. It is a secret: {@link #toString} never shows it.
 *
 * <p>The value of a key is the token, followed by the label of the client if it has one. Nodes compare the whole value.
 * It is kept as it is sent, so that a command copies it.
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
    /** {@code $20} and the line end: the length of a value has two digits. */
    static final int START = 5;
    private static final byte[] CRLF = {'\r', '\n'};

    /** The value of a key as a bulk string, {@code $20} or more; borrowed, not to be changed. */
    public final byte[] bulk;

    /** A token of zeros without a label, to be filled by {@link TokenStream#next}. */
    public Token() {
        this(NO_LABEL);
    }

    /**
     * A token of zeros, to be filled by {@link TokenStream#next}.
     *
     * @param label from {@link #labelOf}; copied
     */
    public Token(byte[] label) {
        int length = LENGTH + label.length;
        bulk = new byte[START + length + CRLF.length];
        bulk[0] = '$';
        bulk[1] = (byte) ('0' + length / 10);
        bulk[2] = (byte) ('0' + length % 10);
        System.arraycopy(CRLF, 0, bulk, START - CRLF.length, CRLF.length);
        System.arraycopy(label, 0, bulk, START + LENGTH, label.length);
        System.arraycopy(CRLF, 0, bulk, START + length, CRLF.length);
    }

    private Token(Token source) {
        bulk = source.bulk.clone();
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
     * Sets all twenty bytes to those of another token.
     *
     * @param other the other token
     */
    public void set(Token other) {
        System.arraycopy(other.bulk, START, bulk, START, LENGTH);
    }

    /** @return a token with the same bytes and label */
    public Token copy() {
        return new Token(this);
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Token other && Arrays.equals(bulk, other.bulk);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bulk);
    }

    @Override
    public String toString() {
        return "Token{not shown}";
    }
}
