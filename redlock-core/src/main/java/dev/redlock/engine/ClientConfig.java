package dev.redlock.engine;

import dev.redlock.api.CommandMode;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.RetryPolicy;
import dev.redlock.api.TransportKind;
import dev.redlock.engine.callback.CallbackExecutor;
import dev.redlock.engine.watch.TelemetryOptions;
import dev.redlock.node.NodeOptions;
import dev.redlock.quorum.Majority;
import dev.redlock.transport.VoterAddress;
import io.netty.channel.EventLoop;
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
        Loops loops) {

    /**
     * The nodes of a client.
     *
     * @param majority  the nodes whose votes win
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
     * @param closeWaits    the close of a lease waits for its release
     * @threading           immutable
     */
    public record Attempts(boolean isThrifty, CommandMode commandMode, RetryPolicy retryPolicy, long defaultWaitNs,
            long spinNs, boolean closeWaits) {
    }

    /**
     * The limits of each event loop.
     *
     * @param inFlightMax           attempts in flight
     * @param waitersMax            acquisitions that wait in a queue of this process
     * @param localHandoffsMax      handoffs among local waiters before a pause; 0 for no limit
     * @param autoExtendedLeasesMax leases with automatic extension
     * @param wakeUpKeysMax         resources whose waiters register for pushes; 0 for none
     * @param retainedLeasesMax     locks that stay after their release; 0 for none
     * @threading                   immutable
     */
    public record Limits(int inFlightMax, int waitersMax, int localHandoffsMax, int autoExtendedLeasesMax,
            int wakeUpKeysMax, int retainedLeasesMax) {
    }

    /**
     * The options of a client's event loops.
     *
     * @param given          the given loops; empty if the client runs its own
     * @param own            the loops that the client runs itself
     * @param closeTimeoutNs timeout of {@code close()}
     * @param callbacks      runs the functions of the user that may take time
     * @param telemetry      options of the flight recorder
     * @threading            immutable
     */
    public record Loops(List<EventLoop> given, OwnLoops own, long closeTimeoutNs, CallbackExecutor callbacks,
            TelemetryOptions telemetry) {

        /** Returns the number of loops. */
        int count() {
            return given.isEmpty() ? own.count() : given.size();
        }
    }

    /**
     * The options of event loops that the client runs itself.
     *
     * @param count      number of loops
     * @param idlePolicy what a loop without work does
     * @param transport  their transport
     * @threading        immutable
     */
    public record OwnLoops(int count, IdlePolicy idlePolicy, TransportKind transport) {
    }
}
