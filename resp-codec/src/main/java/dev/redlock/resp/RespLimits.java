package dev.redlock.resp;

/**
 * What a parser accepts at most. A peer that sends more is refused with the limit's name, and the connection is done.
 * Limits guard memory and the stack; none of them reserves anything.
 * <pre>{@code
 * RespLimits limits = RespLimits.defaults().bulkLengthMax(64 * 1024).depthMax(4);
 * }</pre>
 *
 * @threading immutable
 */
public final class RespLimits {
    /** Default of {@link #lineLengthMax()}: what a Redis server itself takes as a line; any error text fits. */
    public static final int LINE_LENGTH_MAX_DEFAULT = 64 * 1024;
    /** Default of {@link #bulkLengthMax()}: the default of Redis' own {@code proto-max-bulk-len}. */
    public static final int BULK_LENGTH_MAX_DEFAULT = 512 * 1024 * 1024;
    /** Default of {@link #elementCountMax()}: the most elements Redis takes in one request, and a large range reply. */
    public static final int ELEMENT_COUNT_MAX_DEFAULT = 1024 * 1024;
    /** Default of {@link #depthMax()}: far above any built-in command; scripts that nest deeper are mistakes. */
    public static final int DEPTH_MAX_DEFAULT = 64;
    /** Default of {@link #replyBytesMax()}: one bulk string at its default limit with as much again around it. */
    public static final long REPLY_BYTES_MAX_DEFAULT = 1024L * 1024 * 1024;

    /** The least line limit: the longest integer line has 20 bytes, and a word of an error should fit. */
    public static final int LINE_LENGTH_MAX_LEAST = 32;
    /** The least reply limit: one short line with its marker and CRLF always fits. */
    public static final long REPLY_BYTES_MAX_LEAST = 64;
    /** The largest element limit: a count of pairs, doubled, is compared with it as a long. */
    public static final int ELEMENT_COUNT_MAX_MOST = 1 << 30;
    /** The largest depth a limit may allow: the stack takes five bytes for each level. */
    public static final int DEPTH_MAX_MOST = 1 << 16;

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
     * The limits that suit a general client of a trusted server.
     *
     * @return the defaults named by the constants of this class
     */
    public static RespLimits defaults() {
        return DEFAULTS;
    }

    /**
     * The most bytes of a line between its marker and its CRLF.
     *
     * @return bytes
     */
    public int lineLengthMax() {
        return lineLengthMax;
    }

    /**
     * The most bytes of a bulk string, bulk error or verbatim string, as the wire counts them (a verbatim string's
     * format and colon included).
     *
     * @return bytes
     */
    public int bulkLengthMax() {
        return bulkLengthMax;
    }

    /**
     * The most elements of one aggregate; a pair of a map or attribute is two elements.
     *
     * @return elements
     */
    public int elementCountMax() {
        return elementCountMax;
    }

    /**
     * The most aggregates inside one another; an array of integers has depth 1.
     *
     * @return levels
     */
    public int depthMax() {
        return depthMax;
    }

    /**
     * The most bytes from the first marker of a top-level reply or push, its attributes included, to its last CRLF.
     *
     * @return bytes
     */
    public long replyBytesMax() {
        return replyBytesMax;
    }

    /**
     * These limits with another {@link #lineLengthMax()}.
     *
     * @param bytes at least {@value #LINE_LENGTH_MAX_LEAST}
     * @return the new limits
     */
    public RespLimits lineLengthMax(int bytes) {
        inRange("lineLengthMax", bytes, LINE_LENGTH_MAX_LEAST, Integer.MAX_VALUE - 64);
        return new RespLimits(bytes, bulkLengthMax, elementCountMax, depthMax, replyBytesMax);
    }

    /**
     * These limits with another {@link #bulkLengthMax()}.
     *
     * @param bytes at least 0
     * @return the new limits
     */
    public RespLimits bulkLengthMax(int bytes) {
        inRange("bulkLengthMax", bytes, 0, Integer.MAX_VALUE - 64);
        return new RespLimits(lineLengthMax, bytes, elementCountMax, depthMax, replyBytesMax);
    }

    /**
     * These limits with another {@link #elementCountMax()}.
     *
     * @param elements 0 to {@value #ELEMENT_COUNT_MAX_MOST}
     * @return the new limits
     */
    public RespLimits elementCountMax(int elements) {
        inRange("elementCountMax", elements, 0, ELEMENT_COUNT_MAX_MOST);
        return new RespLimits(lineLengthMax, bulkLengthMax, elements, depthMax, replyBytesMax);
    }

    /**
     * These limits with another {@link #depthMax()}.
     *
     * @param levels 0 (no aggregates) to {@value #DEPTH_MAX_MOST}
     * @return the new limits
     */
    public RespLimits depthMax(int levels) {
        inRange("depthMax", levels, 0, DEPTH_MAX_MOST);
        return new RespLimits(lineLengthMax, bulkLengthMax, elementCountMax, levels, replyBytesMax);
    }

    /**
     * These limits with another {@link #replyBytesMax()}.
     *
     * @param bytes at least {@value #REPLY_BYTES_MAX_LEAST}
     * @return the new limits
     */
    public RespLimits replyBytesMax(long bytes) {
        inRange("replyBytesMax", bytes, REPLY_BYTES_MAX_LEAST, Long.MAX_VALUE);
        return new RespLimits(lineLengthMax, bulkLengthMax, elementCountMax, depthMax, bytes);
    }

    private static void inRange(String name, long value, long least, long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(name + " is " + value + "; it must be " + least + " to " + most);
        }
    }

    @Override
    public String toString() {
        return "RespLimits[lineLengthMax=" + lineLengthMax + ", bulkLengthMax=" + bulkLengthMax + ", elementCountMax="
                + elementCountMax + ", depthMax=" + depthMax + ", replyBytesMax=" + replyBytesMax + "]";
    }
}
