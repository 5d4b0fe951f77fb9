package dev.redlock.node;

import dev.redlock.resp.RespValue;
import java.util.List;

/**
 * The reply to {@code TIME}: an array of seconds and microseconds since the epoch.
 *
 * @threading immutable
 */
final class TimeReply {

    private static final long INVALID = -1;
    private static final long US_PER_S = 1_000_000;
    /** Nanoseconds since the epoch fit a long up to this second, in April 2262. */
    private static final long SECONDS_MAX = Long.MAX_VALUE / 1_000_000_000;

    private TimeReply() {
    }

    /** Microseconds since the epoch; -1 if the reply is invalid, or out of range. */
    static long microsecondsOf(RespValue reply) {
        if (!reply.type().isAggregate() || reply.isNull()) {
            return INVALID;
        }
        List<RespValue> parts = reply.elements();
        if (parts.size() != 2) {
            return INVALID;
        }
        try {
            long seconds = Long.parseLong(parts.get(0).asText());
            long microseconds = Long.parseLong(parts.get(1).asText());
            boolean isInRange = seconds >= 0 && seconds < SECONDS_MAX
                    && microseconds >= 0 && microseconds < US_PER_S;
            return isInRange ? seconds * US_PER_S + microseconds : INVALID;
        } catch (NumberFormatException | IllegalStateException e) {
            return INVALID;
        }
    }

    /** The problem that an invalid reply is. */
    static String problemOf(RespValue reply) {
        return "TIME failed: " + (reply.isError() ? Handshake.codeOf(reply.asText()) : "reply of type " + reply.type())
                + "; allow the command, or turn the clock watch off";
    }
}
