package dev.redlock.node.send;

import static java.util.Map.entry;

import dev.redlock.resp.SafeText;
import java.util.Map;

/**
 * The meaning of each error of a server, and the fix. The handshake, the problem of a node, the log, the outcome of an
 * acquire and {@code redlock.jar} take their texts from here.
 *
 * @threading immutable
 */
public final class ErrorAdvice {

    /** Characters of a server's word that are shown. */
    private static final int CODE_LENGTH_MAX = 64;
    private static final String COMMAND_FIX = "allow the command";
    private static final String SEE_PROBLEM = "NodeStatus.problem() has the reason";
    private static final String UNKNOWN = "the log of the server, or the manual of a proxy in front of it, explains the"
            + " error";

    /** By the first word of the error. */
    private static final Map<String, String> BY_CODE = Map.ofEntries(
            entry("LOADING", "the server is loading its data; wait until it has loaded them"),
            entry("BUSY", "a script or a function blocks the server; end it with SCRIPT KILL or FUNCTION KILL"),
            entry("OOM", "the server has reached maxmemory; raise it, or delete keys"),
            entry("READONLY", "the server is a replica; promote it, or let the address lead to a master"),
            entry("MASTERDOWN",
                    "the server is a replica without its master; promote it, or let the address lead to a master"),
            entry("MISCONF", "the server cannot save its data, so it rejects writes; its log has the reason, such as a"
                    + " full disk"),
            entry("NOREPLICAS", "the server has fewer replicas than min-replicas-to-write; connect them, or lower the"
                    + " setting"),
            entry("NOPERM", "the user may not run the command, or not on this key; allow both with ACL SETUSER"),
            entry("NOAUTH", "the server requires a password; add user and password to the node's address or set"
                    + " RedlockContext.credentials"),
            entry("WRONGPASS", "the server rejects the user or the password; correct them"),
            entry("DENIED", "the server is in protected mode; set a password on the server, or change its"
                    + " configuration"),
            entry("MOVED", "another server of a cluster has the key; if the address of the node lacks redis-cluster://,"
                    + " add it"),
            entry("ASK", "a cluster is moving the key to another server; if the address of the node lacks"
                    + " redis-cluster://, add it"),
            entry("TRYAGAIN", "the cluster is moving the keys to another server; wait until it has moved them"),
            entry("CROSSSLOT", "the keys have different slots of the cluster; give their names the same part in braces,"
                    + " as in {orders}/1"),
            entry("CLUSTERDOWN", "the cluster does not serve the slot of the key; CLUSTER INFO and CLUSTER NODES show"
                    + " what is missing"),
            entry("WRONGTYPE", "the key has another type than a lock; delete it if no other program uses it, or choose"
                    + " another name or RedlockContext.keyPrefix"),
            entry("FENCE", "the fencing counter is no count or has reached its limit, so another program has written"
                    + " its key; choose another name for the resource"),
            entry("NOSCRIPT", "the server has lost its scripts; the client sends them again"),
            entry("ERR", "the server rejects the command; if it is renamed or disabled, allow it"));

    private ErrorAdvice() {
    }

    /** The first word of an error. The rest is left out, since it may repeat the command with its password. */
    public static String codeOf(String error) {
        int blank = error.indexOf(' ');
        return SafeText.of(blank < 0 ? error : error.substring(0, blank), CODE_LENGTH_MAX);
    }

    /** @return a sentence about the error whose first word is the code */
    public static String of(String code) {
        return BY_CODE.getOrDefault(code, UNKNOWN);
    }

    /** @return a sentence about a vote that failed */
    public static String of(VoteFailure failure) {
        return switch (failure) {
            case NONE -> "nothing has to be done";
            case NOT_CONNECTED, CONNECTION_LOST -> SEE_PROBLEM;
            case QUARANTINED -> "wait until the quarantine ends; " + SEE_PROBLEM;
            case SLOT_MOVED -> "wait until the cluster votes for the slot again";
            case BACK_PRESSURE -> "the node answers too slowly for so many locks; lock less at once, or raise"
                    + " RedlockContext.nodeBackPressure";
            case SILENT -> "the node or the network is too slow; compare NodeStatus.roundTripNs() with"
                    + " RedlockContext.nodeTimeout";
            case CLOCK_JUMPED -> "repair the time service of the node";
            case PROMOTED -> "promote no replica while locks are held";
            case KEYS_LOST -> "do not flush or restart nodes while locks are held";
            case FENCE_OUT_OF_RANGE -> "another program has written the counter of the resource; choose another name"
                    + " for the resource";
            default -> of(failure.text());
        };
    }

    /** The code and a sentence about it, where a command that the client needs has failed. */
    public static String ofCommand(String code, String use) {
        boolean isForbidden = code.equals("NOPERM") || !BY_CODE.containsKey(code) || code.equals("ERR");
        return code + "; " + (isForbidden ? COMMAND_FIX + use : of(code));
    }
}
