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
 * @param nodes             addresses in configured order
 * @param majority          the nodes whose votes win
 * @param nodeOptions       options of each connection
 * @param terms             rules for leases
 * @param limits            bounds for each event loop
 * @param loops             event loops
 * @param isThrifty         attempts ask a quorum of nodes first
 * @param commandMode       scripts, or cheaper commands where nodes have them
 * @param retryPolicy       delays between attempts, for acquisitions without a policy of their own
 * @param keyPrefix         prefix of every key
 * @param resourceLengthMax bytes of a resource name with its prefix, in UTF-8
 * @param defaultWaitNs     wait budget of calls without one
 * @param closeTimeoutNs    timeout of {@code close()}
 * @param spinNs            time that a blocking call spins before it parks
 * @param nameInValues      name of the client in the values of its locks; null for none
 * @param telemetry         options of the flight recorder
 * @threading               immutable
 */
public record ClientConfig(List<VoterAddress> nodes, Majority majority, NodeOptions nodeOptions, LeaseTerms terms,
        Limits limits,
        LoopOptions loops, boolean isThrifty, CommandMode commandMode, RetryPolicy retryPolicy, String keyPrefix,
        int resourceLengthMax, long defaultWaitNs, long closeTimeoutNs, long spinNs, String nameInValues,
        TelemetryOptions telemetry) {

    /**
     * Copies the list of addresses, so that the configuration is immutable.
     */
    public ClientConfig {
        nodes = List.copyOf(nodes);
    }

    /** Returns whether a voter is a cluster. */
    boolean hasClusters() {
        return nodes.stream().anyMatch(VoterAddress::isCluster);
    }
}
