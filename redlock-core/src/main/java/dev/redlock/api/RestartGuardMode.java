package dev.redlock.api;

/**
 * The rule for nodes that may have lost their keys in a restart. A node in quarantine does not vote until its process
 * has been up for longer than the longest ttl, so that every lock that it may have lost has expired.
 *
 * @threading immutable
 */
public enum RestartGuardMode {
    /**
     * The default: a node that was just started is in quarantine, unless it belongs to a fresh group: nodes
     * that this client meets for the first time, all of them connected, young and without any key. They vote at once.
     * The client writes a mark on each node before it votes, from which clients that come later recognize it.
     *
     * <p>This is as safe as {@link #UPTIME} while fewer than a quorum of nodes lose their keys within a ttl, as the
     * algorithm assumes. If all nodes lose all keys at about the same time, a client that connects then does not wait.
     * A single configured node that was just started is guarded as by {@code UPTIME}.
     *
     * <p>A server that was promoted from a replica does not vote either until its predecessor's locks have expired,
     * unless it has the mark of a client that has waited for that.
     */
    FRESH_GROUP,
    /**
     * The strict rule: every node that was just started is in quarantine, also if all nodes are new. It reads no marks,
     * so each client waits when it meets a promoted server.
     */
    UPTIME,
    /**
     * No guard, also after the promotion of a server that is no member of a cluster. For nodes that lose nothing
     * ({@code appendfsync always}), and for tests.
     *
     * <p>In a cluster, servers that have restarted vote at once. The silence of slots with a new owner and of promoted
     * masters remains: a client cannot distinguish the kinds of change, and replicas lack writes that masters have on
     * disk.
     */
    OFF
}
