package dev.redlock.api;

import java.util.List;

/**
 * The keys that the nodes have under the name of a lock, for people who look for its holder. It is out of date when it
 * is read, so it gives no right to the resource.
 *
 * @param nodes  the answers of the nodes, in configured order
 * @param heldBy the id of the value that a quorum of nodes has, or a quorum of either of two lists; null if no value
 *               has a quorum
 * @threading immutable
 */
public record LockInspection(List<Entry> nodes, String heldBy) {

    /**
     * The kind of a node's key.
     *
     * @threading immutable
     */
    public enum Kind {
        /** There is no key. */
        FREE,
        /** A plain lock, also of a set, or a writer. */
        EXCLUSIVE,
        /** Readers, or a writer that waits for them. */
        READERS,
        /** A key that no lock has: another program has set it. */
        FOREIGN,
        /** The node did not answer. */
        UNKNOWN
    }

    /**
     * The answer of one node.
     *
     * @param kind           the kind of its key
     * @param remainingTtlMs milliseconds until the key expires; -1 if it never does, -2 if there is no key
     * @param id             the id of the value of an exclusive lock: eight hexadecimal digits, from which nobody can
     *                       derive a random value; else null
     * @param clientName     the name in the value, if its client writes one; else null
     * @param problem        why the kind is unknown, a phrase; else null
     * @threading immutable
     */
    public record Entry(Kind kind, long remainingTtlMs, String id, String clientName, String problem) {
    }
}
