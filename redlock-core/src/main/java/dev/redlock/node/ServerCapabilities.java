package dev.redlock.node;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import java.util.Set;

/**
 * Which conditional commands a node has, beside the scripts that all of them run.
 *
 * @param releaseEncoding how it is asked to release
 * @param extendEncoding  how it is asked to extend
 * @threading immutable
 */
record ServerCapabilities(CommandEncoding releaseEncoding, CommandEncoding extendEncoding) {

    /** Scripts alone. */
    static final ServerCapabilities SCRIPTS = new ServerCapabilities(CommandEncoding.SCRIPT, CommandEncoding.SCRIPT);

    /**
     * Errors of a command that the node knows and lets this user run, and cannot execute now or on this key. A server
     * looks for them after the name of the command and the rights of the user.
     */
    private static final Set<String> KNOWN_BUT_FAILED = Set.of("OOM", "MISCONF", "NOREPLICAS", "READONLY", "MASTERDOWN",
            "WRONGTYPE");
    /** In the error about a key that the user may not use; that about a command says "to run". */
    private static final String KEY_FORBIDDEN = "permissions to access";

    /**
     * The commands that a node has. Only the answers to the commands themselves decide: versions lie, since forks and
     * proxies report the one they are compatible with, and a list of commands may be forbidden or not be the user's.
     *
     * @param delex      the answer to {@code DELEX key IFEQ value} on a key that is missing; null if there was none
     * @param delIfEqual the answer to {@code DELIFEQ key value}; null if there was none
     * @param setIfEqual the answer to {@code SET key value IFEQ value PX 1}; null if there was none
     */
    static ServerCapabilities of(final RespValue delex, final RespValue delIfEqual, final RespValue setIfEqual) {
        final CommandEncoding release = isDelete(delex)
                ? CommandEncoding.DELEX
                : isDelete(delIfEqual) ? CommandEncoding.DELIFEQ : CommandEncoding.SCRIPT;
        return new ServerCapabilities(release,
                isSetIfEqual(setIfEqual, release) ? CommandEncoding.SET_IFEQ : CommandEncoding.SCRIPT);
    }

    /** A 1 would say that it deleted a key whose value was another one, or that there was none to delete. */
    private static boolean isDelete(final RespValue reply) {
        if (reply == null) {
            return false;
        }
        return reply.isError()
                ? isKnownButFailed(reply.asText())
                : reply.type() == RespType.INTEGER && reply.asLong() == 0;
    }

    /**
     * Whether SET has IFEQ. A server that takes no notice of words it does not know has set the key, and said OK.
     * Errors that come before the words are looked at say nothing: each server with a conditional delete has this too.
     */
    private static boolean isSetIfEqual(final RespValue reply, final CommandEncoding release) {
        if (reply == null) {
            return false;
        }
        if (reply.isError()) {
            return isKnownButFailed(reply.asText()) && release != CommandEncoding.SCRIPT;
        }
        return reply.isNull();
    }

    private static boolean isKnownButFailed(final String error) {
        final String code = Handshake.codeOf(error);
        return KNOWN_BUT_FAILED.contains(code) || code.equals("NOPERM") && error.contains(KEY_FORBIDDEN);
    }

    /** What is left when a node refuses a command that it seemed to have. */
    ServerCapabilities without(final CommandEncoding encoding) {
        return new ServerCapabilities(releaseEncoding == encoding ? CommandEncoding.SCRIPT : releaseEncoding,
                extendEncoding == encoding ? CommandEncoding.SCRIPT : extendEncoding);
    }
}
