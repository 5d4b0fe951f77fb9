package dev.redlock.sim;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Records when each clock jumped ahead, and which client could detect it: an ideal clock watch over the TIME replies
 * that reached each client. While no client can detect that a node has expired keys too early, two leases may overlap
 * on the grants of that node. As soon as one of the two clients can detect it, an overlap is a violation.
 *
 * <p>One client is enough. If the holder detects the jump, a quorum of other nodes confirms its lease, or the lease is
 * lost. If the newcomer detects it, a quorum of other nodes has granted its lock. In both cases the two quorums share a
 * node that did not jump.
 */
final class SimClocks {

    /** Forward jumps are longer; the sum of all clock errors between two samples is shorter. */
    private static final long SEEN_MS = 30_000;
    private static final long NOT_SEEN = Long.MIN_VALUE;

    private final Map<String, Sight[]> sights = new HashMap<>();
    /** When the machine of a client was resumed; {@link Long#MAX_VALUE} while it is suspended. */
    private final Map<String, Long> resumedNs = new HashMap<>();
    private final List<Jump> jumps = new ArrayList<>();
    private final Node[] nodes;
    private final long neededUptimeNs;
    private final long maxTtlNs;
    private final boolean isFreshGroupTrusted;

    /** An event of a node. */
    private static final class Node {
        private long steppedMs;
        private long emptiedNs = Long.MIN_VALUE;
        private long jumpedNs = Long.MIN_VALUE;
        private boolean isUptimeWrong;
    }

    private record Jump(int node, long atNs) {
    }

    /** The view of one client of the clock of one node. */
    private static final class Sight {
        private long steppedMs;
        /** The process whose clock it was. */
        private String process;
        /** When the last TIME was executed that the client has read. */
        private long executedNs;
        private long knownUntilNs = Long.MIN_VALUE;
        private final List<Detection> detections = new ArrayList<>();
        /** When it may have detected the step that the next reply shows; {@link #NOT_SEEN} if it cannot have. */
        private long maybeDetectedNs = NOT_SEEN;
        /**
         * The node was empty and young, but reported a long uptime, and the client had no reply of the process before
         * within the longest ttl; or so many nodes were empty and young that it could take them for new ones.
         */
        private boolean isDeceived;
        private long deceivedNs;
        /** When the node was emptied whose uptime it had to believe. */
        private long believedNs = Long.MIN_VALUE;

        private boolean isStep(long newSteppedMs) {
            return Math.abs(newSteppedMs - steppedMs) > SEEN_MS;
        }

        /** Returns when it has detected a jump like another one, of the same length and about the same time. */
        private OptionalLong detectedNs(Detection like, long withinNs) {
            return detections.stream()
                    .filter(each -> each.jumpMs == like.jumpMs && Math.abs(each.atNs - like.atNs) < withinNs)
                    .mapToLong(Detection::atNs)
                    .max();
        }
    }

    /** A client has seen that a clock had jumped. */
    private record Detection(long jumpMs, long atNs) {
    }

    SimClocks(int nodeCount, long maxTtlMs, boolean isFreshGroupTrusted) {
        this.isFreshGroupTrusted = isFreshGroupTrusted;
        nodes = new Node[nodeCount];
        for (int i = 0; i < nodeCount; i++) {
            nodes[i] = new Node();
        }
        maxTtlNs = maxTtlMs * 1_000_000;
        neededUptimeNs = (maxTtlMs + maxTtlMs / 100 + 1_002) * 1_000_000;
    }

    void onStep(int node, long ms, long nowNs) {
        nodes[node].steppedMs += ms;
        if (ms > 0) {
            nodes[node].jumpedNs = nowNs;
            jumps.add(new Jump(node, nowNs));
        }
    }

    void onSuspended(String client) {
        resumedNs.put(client, Long.MAX_VALUE);
    }

    void onResumed(String client, long nowNs) {
        resumedNs.replace(client, Long.MAX_VALUE, nowNs);
    }

    /**
     * Returns whether a client that was suspended during its lease has not read a clock since then of those on which
     * the lease may rest.
     */
    boolean isSuspendUnseen(String client, long sinceNs, IntPredicate isGranted) {
        long atNs = resumedNs.getOrDefault(client, Long.MIN_VALUE);
        if (atNs < sinceNs) {
            return false;
        }
        Sight[] all = sights.get(client);
        return IntStream.range(0, nodes.length)
                .filter(isGranted)
                .anyMatch(i -> all == null || all[i] == null || all[i].executedNs < atNs);
    }

    void onEmptied(int node, long nowNs, boolean isUptimeWrong) {
        nodes[node].emptiedNs = nowNs;
        nodes[node].isUptimeWrong = isUptimeWrong;
    }

    /** @return the time of the last forward step of a node's clock */
    long jumpedNs(int node) {
        return nodes[node].jumpedNs;
    }

    long steppedMs(int node) {
        return nodes[node].steppedMs;
    }

    /**
     * A client has read a TIME reply of a node. If the process of a lone node is another one, and its clock is behind,
     * the client takes it for that of another machine, which says nothing of the clock before.
     */
    void onTimeReply(String client, int index, String process, long executedNs, long steppedMs, long nowNs) {
        Sight[] all = sights.computeIfAbsent(client, any -> new Sight[nodes.length]);
        Sight sight = all[index];
        if (sight == null) {
            all[index] = firstSight(nodes[index], executedNs, steppedMs);
        } else {
            boolean isOther = nodes.length == 1 && !process.equals(sight.process) && steppedMs < sight.steppedMs;
            if (sight.isStep(steppedMs)) {
                sight.knownUntilNs = isOther ? sight.knownUntilNs : executedNs;
                sight.detections.add(new Detection(steppedMs - sight.steppedMs,
                        sight.maybeDetectedNs == NOT_SEEN ? nowNs : sight.maybeDetectedNs));
            }
            sight.maybeDetectedNs = NOT_SEEN;
            sight.steppedMs = steppedMs;
            Node node = nodes[index];
            if (sight.executedNs < node.emptiedNs
                    && isUptimeBelieved(node, executedNs) && executedNs - sight.executedNs >= maxTtlNs) {
                sight.isDeceived = true;
                sight.believedNs = node.emptiedNs;
                sight.deceivedNs = node.emptiedNs;
            }
        }
        all[index].executedNs = executedNs;
        all[index].process = process;
    }

    /** Returns whether a node reports the uptime of an old process although it has lost its keys. */
    private boolean isUptimeBelieved(Node node, long executedNs) {
        return isUptimeWrong(node) && executedNs - node.emptiedNs < neededUptimeNs;
    }

    private static boolean isUptimeWrong(Node node) {
        return node.emptiedNs != Long.MIN_VALUE && (node.isUptimeWrong || node.jumpedNs >= node.emptiedNs);
    }

    /** A client without memory has read a TIME reply, or has closed the connection instead. */
    void onDoubtfulTimeReply(String client, int index, long steppedMs, long nowNs) {
        Sight[] all = sights.get(client);
        Sight sight = all == null ? null : all[index];
        if (sight != null && sight.isStep(steppedMs) && sight.maybeDetectedNs == NOT_SEEN) {
            sight.maybeDetectedNs = nowNs;
        }
    }

    private Sight firstSight(Node node, long executedNs, long steppedMs) {
        Sight sight = new Sight();
        sight.steppedMs = steppedMs;
        sight.isDeceived = isUptimeBelieved(node, executedNs);
        sight.believedNs = sight.isDeceived ? node.emptiedNs : Long.MIN_VALUE;
        sight.deceivedNs = node.emptiedNs;
        // A lone node is no group.
        if (isFreshGroupTrusted && nodes.length > 1 && isQuorumEmptied(executedNs)) {
            sight.isDeceived = true;
            sight.deceivedNs = Arrays.stream(nodes).mapToLong(each -> each.emptiedNs).max().getAsLong();
        }
        return sight;
    }

    /** Returns whether more nodes have lost their keys than the algorithm tolerates within a ttl. */
    private boolean isQuorumEmptied(long nowNs) {
        long count = Arrays.stream(nodes)
                .filter(node -> node.emptiedNs != Long.MIN_VALUE && nowNs - node.emptiedNs < neededUptimeNs)
                .count();
        return count > nodes.length / 2;
    }

    /**
     * Returns whether no client could avoid the overlap of two leases that are valid now. If all clocks have made one
     * step, the newcomer takes it for a suspend of its own machine. Only the holder can avoid the overlap then.
     */
    boolean isExcused(String one, long oneSinceNs, String other, long otherSinceNs) {
        boolean isOneFirst = oneSinceNs <= otherSinceNs;
        String holder = isOneFirst ? one : other;
        String newcomer = isOneFirst ? other : one;
        long newcomerSinceNs = Math.max(oneSinceNs, otherSinceNs);
        for (Jump jump : jumps) {
            if (jump.atNs >= Math.min(oneSinceNs, otherSinceNs) && !couldKnow(holder, jump)
                    && (!couldKnow(newcomer, jump) || tookForSuspend(newcomer, jump, newcomerSinceNs))) {
                return true;
            }
        }
        return isDeceived(one, otherSinceNs) && !couldKnowUptime(other)
                || isDeceived(other, oneSinceNs) && !couldKnowUptime(one);
    }

    /**
     * Returns whether a client could know that others believe a wrong uptime of a lone node, because it has read the
     * jump that made it wrong. A lease that outlives the process before relies on the wait of the others.
     */
    private boolean couldKnowUptime(String client) {
        Node lone = nodes[0];
        return nodes.length == 1 && !lone.isUptimeWrong && lone.jumpedNs >= lone.emptiedNs
                && couldKnow(client, new Jump(0, lone.jumpedNs));
    }

    private boolean tookForSuspend(String client, Jump jump, long beforeNs) {
        Sight[] all = sights.get(client);
        return all[jump.node].detections.stream()
                .filter(each -> each.atNs >= jump.atNs)
                .findFirst()
                .filter(each -> isBeforeCommon(all, each, beforeNs))
                .isPresent();
    }

    /** Returns whether a client had to believe the wrong uptime of a node that had lost its keys. */
    boolean isDeceivedBy(String client, int node) {
        Sight[] all = sights.get(client);
        Sight sight = all == null ? null : all[node];
        Node emptied = nodes[node];
        return isUptimeWrong(emptied) && (sight == null || sight.believedNs == emptied.emptiedNs);
    }

    private boolean couldKnow(String client, Jump jump) {
        Sight[] all = sights.get(client);
        return all != null && all[jump.node] != null && all[jump.node].knownUntilNs >= jump.atNs;
    }

    /**
     * Returns whether a client has detected a clock jump of a node, so that grants from before its quarantine has ended
     * do not count. If the time of the detection is in doubt, the quarantine may have ended. If all clocks have jumped
     * alike, the client takes it for a suspend of its own, and the quarantine is short.
     */
    boolean isRevoked(String client, int node, long grantedNs) {
        Sight[] all = sights.get(client);
        Sight sight = all == null ? null : all[node];
        return sight != null && sight.detections.stream()
                .anyMatch(each -> grantedNs - each.atNs < maxTtlNs && !isBeforeCommon(all, each, grantedNs));
    }

    /** Returns whether all clocks have jumped as one of them did, before a grant. */
    private boolean isBeforeCommon(Sight[] all, Detection one, long grantedNs) {
        return nodes.length > 1 && Arrays.stream(all)
                .allMatch(each -> each != null && each.detectedNs(one, maxTtlNs).orElse(Long.MAX_VALUE) < grantedNs);
    }

    /**
     * Returns whether the client first connected to a node that had lost the other's key and reported a long uptime.
     */
    private boolean isDeceived(String client, long otherSinceNs) {
        Sight[] all = sights.get(client);
        if (all != null) {
            for (Sight sight : all) {
                if (sight != null && sight.isDeceived && otherSinceNs <= sight.deceivedNs) {
                    return true;
                }
            }
        }
        return false;
    }
}
