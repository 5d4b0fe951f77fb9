package dev.redlock.loadtest.driver;

import java.io.IOException;
import java.util.Set;

/**
 * The lower bound of the protocol: the published single-node pattern over one pipelined socket. It has no quorum, no
 * timeouts and no reconnects, and uses the first node only.
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
    public Set<DriverOption> options() {
        return Set.of(DriverOption.TLS);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException {
        return SetNxSession.open(spec.preferredNodes().get(0), spec.files());
    }
}
