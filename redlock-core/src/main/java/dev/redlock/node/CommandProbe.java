package dev.redlock.node;

import dev.redlock.node.send.ServerCapabilities;
import dev.redlock.resp.RespValue;

/**
 * The replies to the commands that {@link Handshake} runs on keys that do not exist, and what they show. Null stands
 * for no reply.
 *
 * @threading event-loop-confined
 */
final class CommandProbe {

    /** {@code SET key value XX PX 1}. */
    RespValue setReply;
    /** {@code MSETEX 1 key value XX PX 1}. */
    RespValue setAllReply;
    /** {@code DELEX key IFEQ value}. */
    RespValue delexReply;
    /** {@code DELIFEQ key value}. */
    RespValue delIfEqualReply;
    /** {@code SET key value IFEQ value PX 1}. */
    RespValue setIfEqualReply;

    /** Why the client cannot take locks; null if it can. */
    String problem() {
        RightsProbe.Denial denial = RightsProbe.Denial.of(setReply);
        return denial == RightsProbe.Denial.COMMAND || denial == RightsProbe.Denial.UNKNOWN
                ? RightsProbe.problemOf("SET", denial, RightsProbe.USE)
                : null;
    }

    ServerCapabilities capabilities() {
        return ServerCapabilities.of(releaseReply(delexReply), releaseReply(delIfEqualReply), setIfEqualReply,
                setAllReply);
    }

    /** A user who may set a key but not delete it needs the script; its probe shows whether that is possible. */
    private RespValue releaseReply(RespValue reply) {
        boolean isDeleteForbidden = RightsProbe.Denial.of(reply) == RightsProbe.Denial.KEY
                && RightsProbe.Denial.of(setReply) != RightsProbe.Denial.KEY;
        return isDeleteForbidden ? null : reply;
    }
}
