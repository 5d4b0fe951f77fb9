package dev.redlock.resp;

/**
 * The fifteen types of the wire, each with the byte that announces it.
 *
 * @threading immutable
 */
public enum RespType {
    /** {@code +OK\r\n}: a line of text without CR or LF. */
    SIMPLE_STRING('+', Form.LINE),
    /** {@code -ERR message\r\n}: a line of text without CR or LF that reports a failure. */
    SIMPLE_ERROR('-', Form.LINE),
    /** {@code :42\r\n}: a signed 64-bit integer. */
    INTEGER(':', Form.LINE),
    /** {@code $5\r\nhello\r\n}: bytes with their length in front; {@code $-1\r\n} is the RESP2 null. */
    BULK_STRING('$', Form.BODY),
    /** {@code *2\r\n...}: a sequence of values; {@code *-1\r\n} is the RESP2 null. */
    ARRAY('*', Form.AGGREGATE),
    /** {@code _\r\n}: no value (RESP3). */
    NULL('_', Form.LINE),
    /** {@code #t\r\n} or {@code #f\r\n}. */
    BOOLEAN('#', Form.LINE),
    /** {@code ,1.5e3\r\n}, {@code ,inf\r\n}, {@code ,-inf\r\n}, {@code ,nan\r\n}. */
    DOUBLE(',', Form.LINE),
    /** {@code (123...\r\n}: an integer of any size, handed on as its digits. */
    BIG_NUMBER('(', Form.LINE),
    /** {@code !5\r\nERR x\r\n}: an error whose text may hold any byte. */
    BULK_ERROR('!', Form.BODY),
    /** {@code =8\r\ntxt:text\r\n}: a bulk string with a three-byte format before a colon. */
    VERBATIM_STRING('=', Form.BODY),
    /** {@code %1\r\n<key><value>}: pairs. */
    MAP('%', Form.AGGREGATE),
    /** {@code |1\r\n<key><value>}: pairs that describe the value after them and count as no value themselves. */
    ATTRIBUTE('|', Form.AGGREGATE),
    /** {@code ~2\r\n...}: values without order. */
    SET('~', Form.AGGREGATE),
    /** {@code >2\r\n...}: a message that answers no request; only at the top level. */
    PUSH('>', Form.AGGREGATE);

    /** How many values one wire byte can announce. */
    private static final int MARKERS = 256;
    private static final RespType[] BY_MARKER = byMarker();

    private final byte marker;
    private final Form form;

    RespType(char marker, Form form) {
        this.marker = (byte) marker;
        this.form = form;
    }

    /**
     * The byte that announces this type.
     *
     * @return an ASCII byte
     */
    public byte marker() {
        return marker;
    }

    /**
     * Whether values of this type hold other values.
     *
     * @return true for array, map, attribute, set and push
     */
    public boolean isAggregate() {
        return form == Form.AGGREGATE;
    }

    /**
     * Whether values of this type are a length line and that many bytes.
     *
     * @return true for bulk string, bulk error and verbatim string
     */
    public boolean isBody() {
        return form == Form.BODY;
    }

    /**
     * Whether elements come as key and value, two for each one counted on the wire.
     *
     * @return true for map and attribute
     */
    public boolean isPairs() {
        return this == MAP || this == ATTRIBUTE;
    }

    /**
     * Whether RESP2 writes its null in this type, as the length or count {@code -1}.
     *
     * @return true for bulk string and array
     */
    public boolean hasResp2Null() {
        return this == BULK_STRING || this == ARRAY;
    }

    /**
     * The type that a wire byte announces.
     *
     * @param marker any byte; only its low eight bits count
     * @return the type, or null if no type has this marker
     */
    public static RespType ofMarker(int marker) {
        return BY_MARKER[marker & 0xFF];
    }

    private static RespType[] byMarker() {
        RespType[] table = new RespType[MARKERS];
        for (RespType type : values()) {
            table[type.marker] = type;
        }
        return table;
    }

    /**
     * The three shapes a value has on the wire.
     *
     * @threading immutable
     */
    private enum Form {
        LINE, BODY, AGGREGATE
    }
}
