package dev.redlock.resp;

/**
 * The peer broke a rule of the protocol or passed a limit. The stream cannot be trusted from here on: close the
 * connection and treat every reply still awaited as unknown.
 *
 * @threading immutable
 */
public final class RespProtocolException extends RuntimeException {
    /** What {@link #byteSeen()} answers where no single byte is to blame, for example at a limit. */
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
        return new RespProtocolException(rule, "saw " + inWords(byteSeen) + " in " + state, byteSeen & 0xFF, offset);
    }

    static RespProtocolException ofDetail(RespRule rule, String state, String detail, long offset) {
        return new RespProtocolException(rule, detail + " in " + state, NO_BYTE, offset);
    }

    /** A byte as {@code 0x41 'A'}, without the letter where it has none. */
    static String inWords(int byteSeen) {
        int value = byteSeen & 0xFF;
        String hex = "0x" + Character.forDigit(value >> 4, 16) + Character.forDigit(value & 15, 16);
        return value > ' ' && value < 0x7F ? hex + " '" + (char) value + "'" : hex;
    }

    /**
     * The rule that was broken.
     *
     * @return never null
     */
    public RespRule rule() {
        return rule;
    }

    /**
     * The byte that broke it.
     *
     * @return 0 to 255, or {@link #NO_BYTE}
     */
    public int byteSeen() {
        return byteSeen;
    }

    /**
     * Where it was broken, counted in bytes from the first byte the parser was ever given.
     *
     * @return bytes, from 0
     */
    public long offset() {
        return offset;
    }
}
