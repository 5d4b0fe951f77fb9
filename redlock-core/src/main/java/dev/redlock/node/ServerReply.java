package dev.redlock.node;

import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.SafeText;
import java.util.List;

/**
 * Reads the replies to commands of the client itself.
 *
 * @threading immutable
 */
final class ServerReply {

    /** Characters of a server's word that are shown. */
    static final int SHOWN_LENGTH_MAX = 64;
    private static final String LINE_END = "\r\n";
    private static final long INVALID = -1;
    private static final long US_PER_S = 1_000_000;
    /** Nanoseconds since the epoch fit a long up to this second, in April 2262. */
    private static final long SECONDS_MAX = Long.MAX_VALUE / 1_000_000_000;

    private ServerReply() {
    }

    /** The kind of a reply that is an error; NONE if it is none. */
    static VoteFailure failureOf(RespValue reply) {
        return reply.isError() ? VoteFailure.ofCode(ErrorAdvice.codeOf(reply.asText())) : VoteFailure.NONE;
    }

    /** A field of INFO; null if it is missing. */
    static String field(String info, String name) {
        String label = name + ":";
        int end;
        for (int start = 0; start < info.length(); start = end + LINE_END.length()) {
            end = info.indexOf(LINE_END, start);
            end = end < 0 ? info.length() : end;
            if (info.startsWith(label, start)) {
                return info.substring(start + label.length(), end);
            }
        }
        return null;
    }

    /** The problem that the role of a server is, unless it is a master. */
    static String problemOfRole(String role, boolean isNamedBySentinels) {
        return "the server's role is " + SafeText.of(role, SHOWN_LENGTH_MAX) + (isNamedBySentinels
                ? ": a node must be a master, so the client asks the Sentinels again"
                : ": a node must be an independent master, configure the address of one");
    }

    /** The text of a string; empty for anything else. */
    static String textOf(RespValue value) {
        try {
            return value.asText();
        } catch (IllegalStateException e) {
            return "";
        }
    }

    /** {@code TIME}: microseconds since the epoch; -1 if the reply is invalid, or out of range. */
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

    /** The problem that an invalid reply to {@code TIME} is. */
    static String problemOf(RespValue reply) {
        if (RightsProbe.Denial.of(reply) == RightsProbe.Denial.UNKNOWN) {
            return RightsProbe.problemOf("TIME", RightsProbe.Denial.UNKNOWN, "which the clock watch needs");
        }
        String use = ", or turn the clock watch off";
        return "TIME failed: " + (reply.isError()
                ? ErrorAdvice.ofCommand(ErrorAdvice.codeOf(reply.asText()), use)
                : "reply of type " + reply.type() + "; allow the command" + use);
    }
}
