package dev.redlock.resp;

/**
 * The rules and limits that a peer can violate, each with the sentence that a {@link RespProtocolException} quotes.
 *
 * @threading immutable
 */
public enum RespRule {
    /** The first byte of a value is the marker of a type. */
    MARKER("a value starts with one of + - : $ * _ # , ( ! = % | ~ >"),
    /** No streamed strings or aggregates; {@code docs/internals/codec.md} gives the reason. */
    STREAMED("streamed strings and aggregates (a length of ?, the markers ; and .) are rejected: no server sends them"),
    /** The form of a request. */
    REQUEST("a request is an array of bulk strings; inline commands are rejected"),
    /** A CR ends its line. */
    CR_LF("a CR is followed by an LF"),
    /** A line contains no LF before its CRLF. */
    BARE_LF("a line contains no LF before its CRLF"),
    /** The form of an integer. */
    INTEGER_FORM("an integer is an optional sign and one or more ASCII digits"),
    /** The range of an integer. */
    INTEGER_RANGE("an integer is between -2^63 and 2^63-1"),
    /** The form of a length or count. */
    LENGTH_FORM("a length or count is one or more ASCII digits, or -1 for a null bulk string or null array"),
    /** The form of a null. */
    NULL_FORM("a null is the marker _ alone"),
    /** The form of a boolean. */
    BOOLEAN_FORM("a boolean is t or f"),
    /** The form of a double. */
    DOUBLE_FORM("a double is [+-]digits[.digits][e[+-]digits], inf, -inf or nan"),
    /** The form of a big number. */
    BIG_NUMBER_FORM("a big number is an optional sign and one or more ASCII digits"),
    /** The first bytes of a verbatim string. */
    VERBATIM_FORM("a verbatim string starts with three bytes of format and a colon"),
    /** The end of a bulk string, bulk error or verbatim string. */
    BODY_END("a body is followed by CRLF"),
    /** A push is a top-level value. */
    PUSH_INSIDE("a push is never inside another value"),
    /** {@link RespLimits#lineLengthMax()}. */
    LINE_LENGTH_MAX("a line is no longer than lineLengthMax"),
    /** {@link RespLimits#bulkLengthMax()}. */
    BULK_LENGTH_MAX("a body is no longer than bulkLengthMax"),
    /** {@link RespLimits#elementCountMax()}. */
    ELEMENT_COUNT_MAX("an aggregate has no more elements than elementCountMax"),
    /** {@link RespLimits#depthMax()}. */
    DEPTH_MAX("aggregates nest no deeper than depthMax"),
    /** {@link RespLimits#replyBytesMax()}. */
    REPLY_BYTES_MAX("a reply is no longer than replyBytesMax");

    private final String sentence;

    RespRule(String sentence) {
        this.sentence = sentence;
    }

    /**
     * The rule as text.
     *
     * @return one sentence without a period
     */
    public String sentence() {
        return sentence;
    }
}
