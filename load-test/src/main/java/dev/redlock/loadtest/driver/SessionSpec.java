package dev.redlock.loadtest.driver;

import dev.redlock.api.CommandMode;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.TransportKind;
import dev.redlock.cli.ClientTls;
import dev.redlock.transport.NodeAddress;
import java.util.List;
import java.util.OptionalInt;

/**
 * The options of a client. Every value that differs from {@link #of} is among {@link LockDriver#options()}.
 *
 * @param isFresh    whether the nodes cannot have held locks before, so that no restart guard is needed
 * @param handoffs  the number of handoffs in a row between its own waiters, 0 without a bound; empty for its default
 * @param tls        the same nodes with TLS; null if they have none
 * @param voters     the addresses of the clusters or Sentinels that the nodes belong to, for a client that takes them;
 *                   empty if the nodes are single masters
 * @threading immutable
 */
public record SessionSpec(List<NodeAddress> nodes, boolean isFresh, TransportKind transport, int eventLoops,
        IdlePolicy idlePolicy, CommandMode commands, OptionalInt handoffs, boolean isThrifty, Tls tls,
        List<String> voters) {
    /** The nodes, and defaults for the rest. */
    public static SessionSpec of(List<NodeAddress> nodes, boolean isFresh) {
        return new SessionSpec(nodes, isFresh, TransportKind.AUTO, 1, IdlePolicy.BLOCK, CommandMode.AUTO,
                OptionalInt.empty(), false, null, List.of());
    }

    /** The addresses with TLS, if there are any, or the others. */
    List<NodeAddress> preferredNodes() {
        return tls == null ? nodes : tls.nodes();
    }

    ClientTls files() {
        return tls == null ? ClientTls.DEFAULTS : tls.files();
    }

    /**
     * The options of a client with TLS.
     *
     * @threading immutable
     */
    public record Tls(List<NodeAddress> nodes, ClientTls files) {
    }
}
