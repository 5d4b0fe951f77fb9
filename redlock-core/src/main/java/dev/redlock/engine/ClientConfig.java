package dev.redlock.engine;

import dev.redlock.api.CommandMode;
import dev.redlock.api.RetryPolicy;
import dev.redlock.node.NodeOptions;
import dev.redlock.quorum.Majority;
import dev.redlock.transport.VoterAddress;
import java.util.List;

/**
 * The configuration of a client, validated and complete.
 *
 * @param nodes    the nodes
 * @param names    the names of keys and values
 * @param terms    rules for leases
 * @param attempts how locks are acquired
 * @param limits   bounds for each event loop
 * @param loops    event loops
 * @threading      immutable
 */
public record ClientConfig(Nodes nodes, Names names, LeaseTerms terms, Attempts attempts, Limits limits,
        LoopOptions loops) {

    /**
     * The nodes of a client.
     *
     * @param addresses in configured order
     * @param majority  the nodes whose votes win
     * @param options   options of each connection
     * @threading       immutable
     */
    public record Nodes(List<VoterAddress> addresses, Majority majority, NodeOptions options) {

        /** Copies the list of addresses, so that the configuration is immutable. */
        public Nodes {
            addresses = List.copyOf(addresses);
        }

        /** Returns whether a voter is a cluster. */
        boolean hasClusters() {
            return addresses.stream().anyMatch(VoterAddress::isCluster);
        }
    }

    /**
     * The names of keys and values.
     *
     * @param keyPrefix         prefix of every key
     * @param resourceLengthMax bytes of a resource name with its prefix, in UTF-8
     * @param nameInValues      name of the client in the values of its locks; null for none
     * @threading               immutable
     */
    public record Names(String keyPrefix, int resourceLengthMax, String nameInValues) {
    }

    /**
     * How locks are acquired.
     *
     * @param isThrifty     attempts ask a quorum of nodes first
     * @param commandMode   scripts, or cheaper commands where nodes have them
     * @param retryPolicy   delays between attempts, for acquisitions without a policy of their own
     * @param defaultWaitNs wait budget of calls without one
     * @param spinNs        time that a blocking call spins before it parks
     * @threading           immutable
     */
    public record Attempts(boolean isThrifty, CommandMode commandMode, RetryPolicy retryPolicy, long defaultWaitNs,
            long spinNs) {
    }
}
