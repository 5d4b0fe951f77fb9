package dev.redlock.loadtest.driver;

import dev.redlock.CommandMode;
import dev.redlock.IdlePolicy;
import dev.redlock.TransportKind;
import dev.redlock.loadtest.nodes.NodeAddress;
import java.util.List;
import java.util.OptionalInt;

/**
 * How to connect a client. What differs from {@link #of} was checked against {@link LockDriver#options()}.
 *
 * @param nodes      the nodes to lock over
 * @param isFresh    whether the nodes are known to have held no lock before, so that no restart guard is needed
 * @param transport  which transport carries the bytes
 * @param eventLoops how many event loops it runs
 * @param idlePolicy what an event loop does when idle
 * @param commands   how it puts locks to the nodes
 * @param handOvers  how many times in a row its waiters hand a lock on among themselves, 0 without a bound; empty for
 *                   what it does by itself
 * @threading immutable
 */
public record SessionSpec(List<NodeAddress> nodes, boolean isFresh, TransportKind transport, int eventLoops,
        IdlePolicy idlePolicy, CommandMode commands, OptionalInt handOvers) {
    /** Copies the list. */
    public SessionSpec {
        nodes = List.copyOf(nodes);
    }

    /**
     * Nothing but the nodes.
     *
     * @param nodes   the nodes to lock over
     * @param isFresh whether they are known to have held no lock before
     * @return the defaults
     */
    public static SessionSpec of(List<NodeAddress> nodes, boolean isFresh) {
        return new SessionSpec(nodes, isFresh, TransportKind.AUTO, 1, IdlePolicy.BLOCK, CommandMode.AUTO,
                OptionalInt.empty());
    }
}
