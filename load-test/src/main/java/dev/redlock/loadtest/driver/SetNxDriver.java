package dev.redlock.loadtest.driver;

import dev.redlock.loadtest.nodes.NodeAddress;
import java.io.IOException;
import java.util.List;

/**
 * The floor of the protocol: the published single-node pattern over one pipelined socket, and nothing else. No quorum,
 * no timeouts, no reconnects; it uses the first node only.
 *
 * @threading any thread
 */
public final class SetNxDriver implements LockDriver {
    /** No options. */
    public SetNxDriver() {
        // Nothing to configure.
    }

    @Override
    public String name() {
        return "set-nx";
    }

    @Override
    public LockSession open(List<NodeAddress> nodes, boolean isFresh) throws IOException {
        return SetNxSession.open(nodes.get(0));
    }
}
