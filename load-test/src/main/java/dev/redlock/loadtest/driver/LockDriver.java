package dev.redlock.loadtest.driver;

import dev.redlock.api.TransportKind;
import dev.redlock.loadtest.consensus.ConsensusService;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * One lock client that the rig can drive.
 *
 * @threading any thread
 */
public interface LockDriver {
    /**
     * Its name for the user.
     *
     * @return lower case, such as {@code redlock}
     */
    String name();

    /**
     * The library and its release.
     *
     * @return such as {@code Lettuce 7.7.0.RELEASE}
     */
    String version();

    /** A summary for the help text and the report. */
    String summary();

    /** Whether it locks over a majority of the nodes, or over the first node alone. */
    default boolean isQuorum() {
        return true;
    }

    /**
     * The service whose servers it locks on.
     *
     * @return empty for Redis or Valkey
     */
    default Optional<ConsensusService> service() {
        return Optional.empty();
    }

    /**
     * The quarantine after the start of a node that may have held locks before.
     *
     * @return zero unless it has a restart guard
     */
    default Duration restartGuard() {
        return Duration.ZERO;
    }

    /**
     * Connects to all nodes; returns when a majority is ready.
     *
     * @param isFresh whether the nodes cannot have held locks before, so that no restart guard is needed
     * @throws IOException          if no majority can be reached
     * @throws InterruptedException if the wait for the nodes is interrupted
     */
    default LockSession open(List<NodeAddress> nodes, boolean isFresh) throws IOException, InterruptedException {
        return open(SessionSpec.of(nodes, isFresh));
    }

    /**
     * Connects with options; returns when a majority is ready.
     *
     * @param spec the nodes and the options, which {@link #options()} names
     * @throws IOException          if no majority can be reached
     * @throws InterruptedException if the wait for the nodes is interrupted
     */
    LockSession open(SessionSpec spec) throws IOException, InterruptedException;

    /**
     * Why it cannot run with options on this machine.
     *
     * @param hasUnixSockets whether nodes have Unix socket addresses
     * @param isThrifty      whether the user asks for thrifty quorums
     * @return empty if it can run
     */
    default Optional<String> refusal(TransportKind transport, boolean hasUnixSockets, boolean isThrifty,
            int nodeCount) {
        return Optional.empty();
    }

    /**
     * The options that it supports.
     *
     * @return none unless overridden
     */
    default Set<DriverOption> options() {
        return Set.of();
    }
}
