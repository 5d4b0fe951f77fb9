package dev.redlock.loadtest.driver;

import dev.redlock.loadtest.nodes.NodeAddress;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * One lock client that the rig can drive.
 *
 * @threading any thread
 */
public interface LockDriver {
    /**
     * How the user names it.
     *
     * @return lower case, such as {@code redlock}
     */
    String name();

    /**
     * Which release of which library it drives.
     *
     * @return such as {@code Lettuce 7.7.0.RELEASE}
     */
    String version();

    /**
     * What it does with the nodes, for the help text and the report.
     *
     * @return a few words
     */
    String summary();

    /**
     * Whether it locks over a majority of the nodes, or over the first node alone.
     *
     * @return false for a lock of one node
     */
    default boolean isQuorum() {
        return true;
    }

    /**
     * How long after its start a node that is not known to be fresh is kept from voting.
     *
     * @return zero unless it has a restart guard
     */
    default Duration restartGuard() {
        return Duration.ZERO;
    }

    /**
     * Connects to all nodes; returns when a majority is ready.
     *
     * @param nodes   the nodes to lock over
     * @param isFresh whether the nodes are known to have held no lock before, so that no restart guard is needed
     * @return an open session
     * @throws IOException          if no majority can be reached
     * @throws InterruptedException if the wait for the nodes is interrupted
     */
    LockSession open(List<NodeAddress> nodes, boolean isFresh) throws IOException, InterruptedException;

    /**
     * Connects as asked; returns when a majority is ready.
     *
     * @param spec how; holds nothing that {@link #options()} does not name
     * @return an open session
     * @throws IOException          if no majority can be reached
     * @throws InterruptedException if the wait for the nodes is interrupted
     */
    default LockSession open(SessionSpec spec) throws IOException, InterruptedException {
        return open(spec.nodes(), spec.isFresh());
    }

    /**
     * What it can be told.
     *
     * @return none unless overridden
     */
    default Set<DriverOption> options() {
        return Set.of();
    }
}
