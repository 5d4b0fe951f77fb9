package dev.redlock.loadtest.driver;

import dev.redlock.loadtest.nodes.NodeAddress;
import java.io.IOException;
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

    /**
     * Which client it is, for the report.
     *
     * @return product and version
     */
    default String version() {
        return name();
    }
}
