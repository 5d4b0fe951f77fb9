package dev.redlock.resp;

/**
 * The rules of the wire that a peer can break, each with the sentence that an error quotes.
 *
 * @threading immutable
 */
public enum RespRule {
    /** The first byte of a value names no type. */
    MARKER("a value starts with one of + - : $ * _ # , ( ! = % | ~ >"),
    /** A streamed string or aggregate; see the codec page for why these are refused. */
    STREAMED("streamed strings and aggregates (a length of ?, the markers ; and .) are refused: no server sends them"),
    /** On the request side, something that is no command. */
    REQUEST("a request is an array of bulk strings; inline commands are refused"),
    /** A CR that does not end the line. */
    CR_LF("a CR is followed by a LF"),
    /** A LF that no CR announces. */
    BARE_LF("a line holds no LF of its own"),
    /** The form of an integer. */
    INTEGER_FORM("an integer is an optional sign and one or more ASCII digits"),
    /** The range of an integer. */
    INTEGER_RANGE("an integer is within -2^63 and 2^63-1"),
    /** The form of a length or count. */
    LENGTH_FORM("a length or count is one or more ASCII digits, or -1 as the null of a bulk string or array"),
    /** The form of the null. */
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
    /** A push inside another value. */
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
     * The rule in words.
     *
     * @return one sentence without a full stop
     */
    public String sentence() {
        return sentence;
    }
}
