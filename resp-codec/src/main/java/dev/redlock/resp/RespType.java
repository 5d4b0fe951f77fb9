package dev.redlock.resp;

/**
 * The fifteen types of RESP2 and RESP3, each with its marker, the first byte of a value on the wire.
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
    /** {@code $5\r\nhello\r\n}: bytes after their length; {@code $-1\r\n} is a null of RESP2. */
    BULK_STRING('$', Form.BODY),
    /** {@code *2\r\n...}: a sequence of values; {@code *-1\r\n} is a null of RESP2. */
    ARRAY('*', Form.AGGREGATE),
    /** {@code _\r\n}: the null of RESP3. */
    NULL('_', Form.LINE),
    /** {@code #t\r\n} or {@code #f\r\n}: true or false. */
    BOOLEAN('#', Form.LINE),
    /** {@code ,1.5e3\r\n}, {@code ,inf\r\n}, {@code ,-inf\r\n}, {@code ,nan\r\n}: a 64-bit floating point number. */
    DOUBLE(',', Form.LINE),
    /** {@code (123...\r\n}: an integer of any size, delivered as its digits. */
    BIG_NUMBER('(', Form.LINE),
    /** {@code !5\r\nERR x\r\n}: an error whose text may contain any byte. */
    BULK_ERROR('!', Form.BODY),
    /** {@code =8\r\ntxt:text\r\n}: bytes after a format of three bytes and a colon. */
    VERBATIM_STRING('=', Form.BODY),
    /** {@code %1\r\n<key><value>}: pairs of key and value. */
    MAP('%', Form.AGGREGATE),
    /** {@code |1\r\n<key><value>}: pairs that describe the next value; not a value of its own. */
    ATTRIBUTE('|', Form.AGGREGATE),
    /** {@code ~2\r\n...}: a collection of values without order. */
    SET('~', Form.AGGREGATE),
    /** {@code >2\r\n...}: a message that is not a reply; only at the top level. */
    PUSH('>', Form.AGGREGATE);

    private static final int BYTE_VALUES = 256;
    private static final RespType[] BY_MARKER = byMarker();

    private final byte marker;
    private final Form form;

    RespType(char marker, Form form) {
        this.marker = (byte) marker;
        this.form = form;
    }

    /**
     * The first byte of a value of this type.
     *
     * @return an ASCII character
     */
    public byte marker() {
        return marker;
    }

    /**
     * Whether values of this type contain other values.
     *
     * @return true for array, map, attribute, set and push
     */
    public boolean isAggregate() {
        return form == Form.AGGREGATE;
    }

    /**
     * Whether values of this type are a length line and that number of bytes.
     *
     * @return true for bulk string, bulk error and verbatim string
     */
    public boolean isBody() {
        return form == Form.BODY;
    }

    /**
     * Whether the elements are pairs of key and value. The count on the wire is the number of pairs.
     *
     * @return true for map and attribute
     */
    public boolean isPairs() {
        return this == MAP || this == ATTRIBUTE;
    }

    /**
     * Whether RESP2 has a null of this type, with the length or count {@code -1}.
     *
     * @return true for bulk string and array
     */
    public boolean hasResp2Null() {
        return this == BULK_STRING || this == ARRAY;
    }

    /**
     * The type with a marker. Allocates nothing.
     *
     * @param marker any byte; only the low eight bits are used
     * @return the type, or null if no type has this marker
     */
    public static RespType ofMarker(int marker) {
        return BY_MARKER[marker & 0xFF];
    }

    private static RespType[] byMarker() {
        RespType[] table = new RespType[BYTE_VALUES];
        for (RespType type : values()) {
            table[type.marker] = type;
        }
        return table;
    }

    /**
     * The form of a value on the wire: one line, a length line and a body, or a count line and elements.
     *
     * @threading immutable
     */
    private enum Form {
        LINE, BODY, AGGREGATE
    }
}
