package dev.redlock.resp;

/**
 * Upper bounds for the input of a {@link RespParser}. Input above a limit is a {@link RespProtocolException} that names
 * the limit, and the connection must close. The limits protect memory and the parser's stack; no limit reserves memory.
 * <pre>{@code
 * RespLimits limits = RespLimits.defaults().bulkLengthMax(64 * 1024).depthMax(4);
 * }</pre>
 *
 * @threading immutable
 */
public final class RespLimits {
    /** Default of {@link #lineLengthMax()}, 64 KiB: the limit of a Redis server for a line; any error text fits. */
    public static final int LINE_LENGTH_MAX_DEFAULT = 64 * 1024;
    /** Default of {@link #bulkLengthMax()}, 512 MiB: the server's default for {@code proto-max-bulk-len}. */
    public static final int BULK_LENGTH_MAX_DEFAULT = 512 * 1024 * 1024;
    /** Default of {@link #elementCountMax()}, 2^20: the limit of Redis 6.0 for one request. */
    public static final int ELEMENT_COUNT_MAX_DEFAULT = 1024 * 1024;
    /** Default of {@link #depthMax()}: far above the reply of any built-in command. */
    public static final int DEPTH_MAX_DEFAULT = 64;
    /** Default of {@link #replyBytesMax()}, 1 GiB: twice the default of {@link #bulkLengthMax()}. */
    public static final long REPLY_BYTES_MAX_DEFAULT = 1024L * 1024 * 1024;

    /** The lowest {@link #lineLengthMax()}: fits the longest integer (20 bytes) and the first word of an error. */
    public static final int LINE_LENGTH_MAX_LOWER_BOUND = 32;
    /** The lowest {@link #replyBytesMax()}: fits a line of the lowest {@link #lineLengthMax()}, marker and CRLF. */
    public static final long REPLY_BYTES_MAX_LOWER_BOUND = 64;
    /** The highest {@link #elementCountMax()}, 2^30: the parser counts elements in an int. */
    public static final int ELEMENT_COUNT_MAX_UPPER_BOUND = 1 << 30;
    /** The highest {@link #depthMax()}: the parser's stack takes eight to twelve bytes for each level. */
    public static final int DEPTH_MAX_UPPER_BOUND = 1 << 16;

    private static final RespLimits DEFAULTS = new RespLimits(LINE_LENGTH_MAX_DEFAULT, BULK_LENGTH_MAX_DEFAULT,
            ELEMENT_COUNT_MAX_DEFAULT, DEPTH_MAX_DEFAULT, REPLY_BYTES_MAX_DEFAULT);

    private final int lineLengthMax;
    private final int bulkLengthMax;
    private final int elementCountMax;
    private final int depthMax;
    private final long replyBytesMax;

    private RespLimits(int lineLengthMax, int bulkLengthMax, int elementCountMax, int depthMax, long replyBytesMax) {
        this.lineLengthMax = lineLengthMax;
        this.bulkLengthMax = bulkLengthMax;
        this.elementCountMax = elementCountMax;
        this.depthMax = depthMax;
        this.replyBytesMax = replyBytesMax;
    }

    /**
     * The limits for a general client of a trusted server.
     *
     * @return the {@code ..._DEFAULT} values of this class
     */
    public static RespLimits defaults() {
        return DEFAULTS;
    }

    /**
     * The longest line, counted between its marker and its CRLF.
     *
     * @return bytes
     */
    public int lineLengthMax() {
        return lineLengthMax;
    }

    /**
     * The longest bulk string, bulk error or verbatim string. The length is the one on the wire, which includes a
     * verbatim string's format and colon.
     *
     * @return bytes
     */
    public int bulkLengthMax() {
        return bulkLengthMax;
    }

    /**
     * The highest element count of one aggregate. A pair of a map or attribute counts as two elements.
     *
     * @return elements
     */
    public int elementCountMax() {
        return elementCountMax;
    }

    /**
     * The deepest nesting of aggregates. An array of integers has depth 1.
     *
     * @return levels
     */
    public int depthMax() {
        return depthMax;
    }

    /**
     * The longest top-level reply or push, counted from its first marker to its last CRLF, attributes included.
     *
     * @return bytes
     */
    public long replyBytesMax() {
        return replyBytesMax;
    }

    /**
     * A copy of these limits with another {@link #lineLengthMax()}.
     *
     * @param bytes at least {@value #LINE_LENGTH_MAX_LOWER_BOUND}
     * @return the copy
     * @throws IllegalArgumentException if the value is out of range
     */
    public RespLimits lineLengthMax(int bytes) {
        requireInRange("lineLengthMax", bytes, LINE_LENGTH_MAX_LOWER_BOUND, Integer.MAX_VALUE - 64);
        return new RespLimits(bytes, bulkLengthMax, elementCountMax, depthMax, replyBytesMax);
    }

    /**
     * A copy of these limits with another {@link #bulkLengthMax()}.
     *
     * @param bytes at least 0
     * @return the copy
     * @throws IllegalArgumentException if the value is out of range
     */
    public RespLimits bulkLengthMax(int bytes) {
        requireInRange("bulkLengthMax", bytes, 0, Integer.MAX_VALUE - 64);
        return new RespLimits(lineLengthMax, bytes, elementCountMax, depthMax, replyBytesMax);
    }

    /**
     * A copy of these limits with another {@link #elementCountMax()}.
     *
     * @param elements 0 to {@value #ELEMENT_COUNT_MAX_UPPER_BOUND}
     * @return the copy
     * @throws IllegalArgumentException if the value is out of range
     */
    public RespLimits elementCountMax(int elements) {
        requireInRange("elementCountMax", elements, 0, ELEMENT_COUNT_MAX_UPPER_BOUND);
        return new RespLimits(lineLengthMax, bulkLengthMax, elements, depthMax, replyBytesMax);
    }

    /**
     * A copy of these limits with another {@link #depthMax()}.
     *
     * @param levels 0 (no aggregates) to {@value #DEPTH_MAX_UPPER_BOUND}
     * @return the copy
     * @throws IllegalArgumentException if the value is out of range
     */
    public RespLimits depthMax(int levels) {
        requireInRange("depthMax", levels, 0, DEPTH_MAX_UPPER_BOUND);
        return new RespLimits(lineLengthMax, bulkLengthMax, elementCountMax, levels, replyBytesMax);
    }

    /**
     * A copy of these limits with another {@link #replyBytesMax()}.
     *
     * @param bytes at least {@value #REPLY_BYTES_MAX_LOWER_BOUND}
     * @return the copy
     * @throws IllegalArgumentException if the value is out of range
     */
    public RespLimits replyBytesMax(long bytes) {
        requireInRange("replyBytesMax", bytes, REPLY_BYTES_MAX_LOWER_BOUND, Long.MAX_VALUE);
        return new RespLimits(lineLengthMax, bulkLengthMax, elementCountMax, depthMax, bytes);
    }

    private static void requireInRange(String name, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " is " + value + "; it must be " + min + " to " + max);
        }
    }

    @Override
    public String toString() {
        return "RespLimits[lineLengthMax=" + lineLengthMax + ", bulkLengthMax=" + bulkLengthMax + ", elementCountMax="
                + elementCountMax + ", depthMax=" + depthMax + ", replyBytesMax=" + replyBytesMax + "]";
    }
}
