package dev.redlock.resp;

/**
 * Reports that a peer violated a rule of the protocol or a limit. The rest of the stream cannot be matched to requests:
 * close the connection, and treat the outcome of every pending request as unknown. The message contains the rule, the
 * parser's state and the offset, and quotes at most one byte of the peer.
 *
 * @threading immutable
 */
public final class RespProtocolException extends RuntimeException {
    /** The result of {@link #byteSeen()} for a limit, which no single byte violates. */
    public static final int NO_BYTE = -1;

    private static final long serialVersionUID = 1;

    private final RespRule rule;
    private final int byteSeen;
    private final long offset;

    RespProtocolException(RespRule rule, String detail, int byteSeen, long offset) {
        super(rule.sentence() + "; " + detail + " at offset " + offset);
        this.rule = rule;
        this.byteSeen = byteSeen;
        this.offset = offset;
    }

    static RespProtocolException ofByte(RespRule rule, String state, int byteSeen, long offset) {
        return new RespProtocolException(rule, "saw " + format(byteSeen) + " in " + state, byteSeen & 0xFF, offset);
    }

    static RespProtocolException ofDetail(RespRule rule, String state, String detail, long offset) {
        return new RespProtocolException(rule, detail + " in " + state, NO_BYTE, offset);
    }

    /** Formats a byte as {@code 0x41 'A'}, or as {@code 0x0d} if it is not a printable ASCII character. */
    static String format(int byteSeen) {
        int value = byteSeen & 0xFF;
        String hex = "0x" + Character.forDigit(value >> 4, 16) + Character.forDigit(value & 15, 16);
        return value > ' ' && value < 0x7F ? hex + " '" + (char) value + "'" : hex;
    }

    /**
     * The rule that the peer violated.
     *
     * @return never null
     */
    public RespRule rule() {
        return rule;
    }

    /**
     * The byte that violated the rule.
     *
     * @return 0 to 255, or {@link #NO_BYTE}
     */
    public int byteSeen() {
        return byteSeen;
    }

    /**
     * The position of the violation in the stream.
     *
     * @return bytes consumed by the parser before it, from 0
     */
    public long offset() {
        return offset;
    }
}
