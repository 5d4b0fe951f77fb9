package dev.redlock;

import dev.redlock.quorum.Majority;
import dev.redlock.quorum.Quorum;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.SentinelAddress;
import dev.redlock.transport.VoterAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * The addresses of a {@link RedlockContext}: a list of nodes, and the list that replaces it.
 *
 * @threading caller-confined
 */
final class NodeList {

    final List<VoterAddress> present = new ArrayList<>();
    /** Empty without a change of the list. */
    final List<VoterAddress> next = new ArrayList<>();

    static void addAll(String[] addresses, List<VoterAddress> list) {
        Objects.requireNonNull(addresses, "node addresses are null");
        List<String> joined = SentinelAddress.joined(Arrays.asList(addresses));
        for (int i = 0; i < joined.size(); i++) {
            VoterAddress address = parse(joined, i);
            checkNotGiven(address, list);
            list.add(address);
        }
        checkCount(list.size());
    }

    private static void checkCount(int count) {
        if (count > Quorum.NODES_MAX) {
            throw new IllegalArgumentException(count + " nodes are too many: at most " + Quorum.NODES_MAX);
        }
    }

    private static void checkNotGiven(VoterAddress address, List<VoterAddress> list) {
        for (VoterAddress given : list) {
            if (!given.isSameVoter(address)) {
                continue;
            }
            NodeAddress server = address.servers()
                    .stream()
                    .filter(given.servers()::contains)
                    .findFirst()
                    .orElseThrow();
            throw new IllegalArgumentException(address instanceof SentinelAddress group
                    ? "node address " + address + " is given twice: Sentinel " + server + " and the primary "
                            + group.name() + " are also in " + given + ", and one primary has one vote; write all"
                            + " Sentinels of a primary into one address"
                    : "node address " + server
                            + " is given twice: one server has one vote, so each node must be a server of its own");
        }
    }

    /** The nodes of both lists, each once, those of the present list first. */
    List<VoterAddress> all() {
        List<VoterAddress> all = new ArrayList<>(present);
        for (VoterAddress added : next) {
            if (indexOf(added, present) < 0) {
                all.add(added);
            }
        }
        return all;
    }

    Majority majority() {
        if (next.isEmpty()) {
            return Majority.of(present.size());
        }
        List<VoterAddress> all = all();
        checkCount(all.size());
        long nextMask = 0;
        for (VoterAddress added : next) {
            nextMask |= 1L << indexOf(added, all);
        }
        return Majority.ofBoth(Quorum.allOf(present.size()), nextMask);
    }

    /** The place of a node that has a server of an address; -1 if there is none. */
    private static int indexOf(VoterAddress address, List<VoterAddress> list) {
        for (int i = 0; i < list.size(); i++) {
            if (list.get(i).isSameVoter(address)) {
                checkSame(list.get(i), address);
                return i;
            }
        }
        return -1;
    }

    /** The node has one connection, so TLS or a password of one list alone would be lost. */
    private static void checkSame(VoterAddress node, VoterAddress other) {
        String difference = node.isCluster() != other.isCluster()
                ? "is a cluster"
                : node.isTls() != other.isTls()
                        ? "has TLS"
                        : node.isSameLogin(other) ? null : "has this user and password";
        if (difference != null) {
            throw new IllegalArgumentException("node " + other + " " + difference + " in one of nodes and nextNodes"
                    + " only: write it in the same way in both");
        }
    }

    /** An error shows little of an address, because it may contain a password; so it has the address's number. */
    private static VoterAddress parse(List<String> addresses, int index) {
        try {
            return VoterAddress.parse(addresses.get(index));
        } catch (IllegalArgumentException e) {
            if (addresses.size() == 1) {
                throw e;
            }
            throw new IllegalArgumentException(
                    "address " + (index + 1) + " of " + addresses.size() + ": " + e.getMessage(), e);
        }
    }
}
