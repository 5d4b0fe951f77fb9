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
    public String version() {
        return "the published pattern over a JDK socket";
    }

    @Override
    public String summary() {
        return "the single-node pattern on the first node: the floor of the protocol";
    }

    @Override
    public boolean isQuorum() {
        return false;
    }

    @Override
    public LockSession open(List<NodeAddress> nodes, boolean isFresh) throws IOException {
        return SetNxSession.open(nodes.get(0));
    }
}
