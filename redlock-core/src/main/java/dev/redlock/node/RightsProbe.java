package dev.redlock.node;

import dev.redlock.node.send.ScriptSources;
import dev.redlock.resp.RespValue;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Finds the commands of locks that the user may not run, or that the server does not have under their names. A script
 * runs each of them on a key that no lock has, and that does not exist, so it changes nothing. It has no {@code KEYS}:
 * a server of a cluster runs it for a key of another one too, and a user whose key pattern excludes the key learns the
 * rights to commands nevertheless.
 *
 * <p>{@code ACL DRYRUN} is not used. It needs a right that the users of a lock do not have, exists from Redis 7 on, and
 * does not see that {@code rename-command} has taken a command from the scripts. {@code COMMAND} ignores the rights.
 *
 * <p>A server checks names and rights before it checks its state, so the result is right also on a server that is out
 * of memory or cannot persist. Other errors prove nothing.
 *
 * @threading immutable
 */
final class RightsProbe {

    /** {@code EVALSHA sha 0 key}: the reply has the failed commands, each with its error. */
    static final byte[] SOURCE = ScriptSources.ascii("""
            local failed = {}
            local function run(command, ...)
              local reply = redis.pcall(command, ...)
              if type(reply) == 'table' and reply.err then
                failed[#failed + 1] = command .. ' ' .. reply.err
              end
            end
            local key = ARGV[1]
            run('TIME')
            run('SET', key, key, 'XX', 'PX', 1)
            run('GET', key)
            run('MGET', key)
            run('DEL', key)
            run('PTTL', key)
            run('PEXPIRE', key, 1)
            run('PEXPIREAT', key, 1)
            run('ZADD', key, 'XX', 1, key)
            run('ZREM', key, key)
            run('ZREMRANGEBYSCORE', key, 1, 1)
            run('ZRANGE', key, 0, 0)
            run('ZSCORE', key, key)
            run('ZCARD', key)
            run('PUBLISH', 'redlock:wake:', key)
            return failed
            """);
    static final String SHA = ScriptSources.sha1Hex(SOURCE);

    /** The commands of the scripts that extend and release a lock, alone or in a batch. */
    private static final List<String> OF_LOCKS = List.of("SET", "GET", "MGET", "DEL", "PTTL", "PEXPIRE");
    private static final List<String> OF_READERS = List.of("TIME", "PEXPIREAT", "ZADD", "ZREM", "ZREMRANGEBYSCORE",
            "ZRANGE", "ZSCORE", "ZCARD");
    static final String USE = "which a lock needs";
    /** Part of the error of a server whose scripts must not write after they have read the clock. */
    private static final String CLOCK_FORBIDDEN = "non deterministic commands";

    /**
     * Why a command fails.
     *
     * @threading immutable
     */
    enum Denial {
        /** The error proves nothing about rights. */
        NONE,
        /** The user may not run the command. */
        COMMAND,
        /** The user may not run the command on this key. */
        KEY,
        /** The server has no command of this name. */
        UNKNOWN;

        /** The kind of an error, of a command or of one in a script. */
        static Denial of(String error) {
            String text = error.toLowerCase(Locale.ROOT);
            if (text.contains("permissions to access") || text.contains("can't access")) {
                return KEY;
            }
            if (text.startsWith("noperm") || text.contains("permissions to run")
                    || text.contains("can't run this command")) {
                return COMMAND;
            }
            return text.contains("unknown") && text.contains("command") ? UNKNOWN : NONE;
        }

        /** The kind of a reply; null and replies without an error are {@link #NONE}. */
        static Denial of(RespValue reply) {
            return reply != null && reply.isError() ? of(reply.asText()) : NONE;
        }
    }

    private final Map<String, Denial> denials = new HashMap<>();
    private final Denial callDenial;
    private boolean isClockForbidden;

    /** The result of the script. */
    RightsProbe(RespValue reply) {
        callDenial = Denial.of(reply);
        if (reply.isError() || !reply.type().isAggregate() || reply.isNull()) {
            return;
        }
        for (RespValue element : reply.elements()) {
            String failed = ServerReply.textOf(element);
            int blank = failed.indexOf(' ');
            if (blank > 0) {
                denials.put(failed.substring(0, blank), Denial.of(failed.substring(blank + 1)));
            }
            isClockForbidden |= failed.contains(CLOCK_FORBIDDEN);
        }
    }

    /** Why the server cannot be used; null if it can. A lock that it cannot release is one that it must not grant. */
    String problem() {
        if (callDenial == Denial.COMMAND || callDenial == Denial.UNKNOWN) {
            return problemOf("EVALSHA", callDenial, USE);
        }
        return isClockForbidden
                ? "a script of this server cannot write after it has read the clock, as on Redis before version 5, and"
                        + " readers and fencing tokens need that: use Redis 6.2 or newer, or Valkey"
                : missing(OF_LOCKS, USE);
    }

    /** Why the server grants no lock to a reader or writer; null if it does. */
    String readWriteProblem() {
        return missing(OF_READERS, "which readers and writers need");
    }

    /** Why a waiting client gets no messages from this server; null if it does. */
    String messageProblem() {
        return denials.getOrDefault("PUBLISH", Denial.NONE) == Denial.NONE
                ? null
                : "PUBLISH failed; waiting clients are woken all at once: allow +subscribe +publish and"
                        + " &redlock:wake:*";
    }

    /** A user who may not even set the key has another key pattern, which this key cannot test. */
    private String missing(List<String> commands, String use) {
        boolean isKeyTested = denials.get("SET") != Denial.KEY;
        for (String command : commands) {
            Denial denial = denials.getOrDefault(command, Denial.NONE);
            if (denial != Denial.NONE && (denial != Denial.KEY || isKeyTested)) {
                return problemOf(command, denial, use);
            }
        }
        return null;
    }

    /** The problem that a denied command is, with its remedy. */
    static String problemOf(String command, Denial denial, String use) {
        String right = command.toLowerCase(Locale.ROOT).replace(' ', '|');
        return switch (denial) {
            case COMMAND -> "the user may not run " + command + ", " + use + ": allow it with ACL SETUSER USER +"
                    + right;
            case UNKNOWN -> "the server has no command " + command + ", " + use
                    + ": remove \"rename-command " + command.split(" ")[0] + "\" from its configuration";
            case KEY -> "the user may set keys, but may not run " + command + " on them, " + use
                    + ": give it the key pattern with ~, not with %W~";
            case NONE -> command + " failed";
        };
    }
}
