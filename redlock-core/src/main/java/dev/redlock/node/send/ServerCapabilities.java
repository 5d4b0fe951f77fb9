package dev.redlock.node.send;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import java.util.Set;

/**
 * The conditional commands that a node has, and what it lacks. All nodes run the scripts.
 *
 * @param releaseEncoding  the encoding of a release
 * @param extendEncoding   the encoding of an extension
 * @param setEncoding      the encoding of an acquire of a set whose refusal need not contain the remaining ttl
 * @param pushes           what the node pushes
 * @param readWriteProblem why the node must not grant a lock to a reader or writer; null if it may
 * @param evictionProblem  why the node may evict locks; null if it does not
 * @threading immutable
 */
public record ServerCapabilities(CommandEncoding releaseEncoding, CommandEncoding extendEncoding,
        CommandEncoding setEncoding, Pushes pushes, String readWriteProblem, String evictionProblem) {

    /**
     * What a node pushes.
     *
     * @param wakeUpProblem  why it does not push changes of keys; null if it does
     * @param hasChannel     whether the connection has subscribed to the channel of its event loop
     * @param channelProblem why the subscription failed; null if it did not, and if the client did not try
     * @threading immutable
     */
    public record Pushes(String wakeUpProblem, boolean hasChannel, String channelProblem) {

        /** Changes of keys only. */
        static final Pushes OF_KEYS = new Pushes(null, false, null);
    }

    /** Only scripts. */
    static final ServerCapabilities SCRIPTS = new ServerCapabilities(CommandEncoding.SCRIPT, CommandEncoding.SCRIPT,
            CommandEncoding.SCRIPT, Pushes.OF_KEYS, null, null);

    /**
     * Errors of a command that the node has and the user may run, but that fails now or on this key. A server checks
     * them after the command's name and the user's permissions.
     */
    private static final Set<String> KNOWN_BUT_FAILED = Set.of("OOM", "MISCONF", "NOREPLICAS", "READONLY", "MASTERDOWN",
            "WRONGTYPE", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN");
    /** Part of the error about a forbidden key. The error about a forbidden command has "to run" instead. */
    private static final String KEY_FORBIDDEN = "permissions to access";

    /**
     * The commands that a node has, by its replies to them. Versions are unreliable: forks and proxies report the
     * version that they are compatible with. {@code COMMAND} may be forbidden, and ignores the user's permissions.
     *
     * @param delex      the reply to {@code DELEX key IFEQ value} on a missing key; null if there was none
     * @param delIfEqual the reply to {@code DELIFEQ key value}; null if there was none
     * @param setIfEqual the reply to {@code SET key value IFEQ value PX 1}; null if there was none
     * @param setAll     the reply to {@code MSETEX 1 key value XX PX 1} on a missing key; null if there was none
     */
    public static ServerCapabilities of(RespValue delex, RespValue delIfEqual, RespValue setIfEqual, RespValue setAll) {
        CommandEncoding release = isNoOperation(delex)
                ? CommandEncoding.DELEX
                : isNoOperation(delIfEqual) ? CommandEncoding.DELIFEQ : CommandEncoding.SCRIPT;
        return new ServerCapabilities(release,
                isSetIfEqual(setIfEqual, release) ? CommandEncoding.SET_IFEQ : CommandEncoding.SCRIPT,
                isNoOperation(setAll) ? CommandEncoding.MSETEX : CommandEncoding.SCRIPT, Pushes.OF_KEYS, null, null);
    }

    /** Only 0 is right. A 1 would mean that the server changed a missing key, or one with another value. */
    private static boolean isNoOperation(RespValue reply) {
        if (reply == null) {
            return false;
        }
        return reply.isError()
                ? isKnownButFailed(reply.asText())
                : reply.type() == RespType.INTEGER && reply.asLong() == 0;
    }

    /**
     * Whether SET has IFEQ. A server that ignores unknown arguments sets the key and replies OK. An error that precedes
     * the check of the arguments is inconclusive; then a conditional delete implies IFEQ.
     */
    private static boolean isSetIfEqual(RespValue reply, CommandEncoding release) {
        if (reply == null) {
            return false;
        }
        if (reply.isError()) {
            return isKnownButFailed(reply.asText()) && release != CommandEncoding.SCRIPT;
        }
        return reply.isNull();
    }

    private static boolean isKnownButFailed(String error) {
        String code = ErrorAdvice.codeOf(error);
        return KNOWN_BUT_FAILED.contains(code) || code.equals("NOPERM") && error.contains(KEY_FORBIDDEN);
    }

    /** The encoding of a release, an extension or an acquire: a command of the node, or the script. */
    CommandEncoding nativeOf(CommandKind kind) {
        return kind == CommandKind.RELEASE
                ? releaseEncoding
                : kind == CommandKind.EXTEND ? extendEncoding : setEncoding;
    }

    /** Whether plain locks need a script on this node. */
    public boolean areScriptsNeeded() {
        return releaseEncoding == CommandEncoding.SCRIPT || extendEncoding == CommandEncoding.SCRIPT;
    }

    /** The capabilities without a command that the node has rejected. */
    ServerCapabilities without(CommandEncoding encoding) {
        return new ServerCapabilities(releaseEncoding == encoding ? CommandEncoding.SCRIPT : releaseEncoding,
                extendEncoding == encoding ? CommandEncoding.SCRIPT : extendEncoding,
                setEncoding == encoding ? CommandEncoding.SCRIPT : setEncoding, pushes, readWriteProblem,
                evictionProblem);
    }

    /** The capabilities with a reason why the node does not push changes of keys. */
    public ServerCapabilities withWakeUpProblem(String problem) {
        return withPushes(new Pushes(problem, pushes.hasChannel, pushes.channelProblem));
    }

    /** The capabilities with other pushes. */
    public ServerCapabilities withPushes(Pushes newPushes) {
        return new ServerCapabilities(releaseEncoding, extendEncoding, setEncoding, newPushes, readWriteProblem,
                evictionProblem);
    }

    /** The capabilities with what the node lacks; each null for nothing. */
    public ServerCapabilities withProblems(String readWrite, String eviction) {
        return new ServerCapabilities(releaseEncoding, extendEncoding, setEncoding, pushes, readWrite, eviction);
    }

    /** Why the node does not push changes of keys; null if it does. */
    public String wakeUpProblem() {
        return pushes.wakeUpProblem;
    }

    /** Why the node does not wake waiters, or not one by one; null if it does. */
    public String pushProblem() {
        return pushes.wakeUpProblem == null ? pushes.channelProblem : pushes.wakeUpProblem;
    }

    /** Whether the node must not get an acquire, because the user has no right to a command of its release. */
    boolean isForbidden(LockKind lock, CommandKind kind) {
        return kind.isAcquire && readWriteProblem != null && lock.hasReaders;
    }
}
