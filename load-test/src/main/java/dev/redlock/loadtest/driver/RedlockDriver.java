package dev.redlock.loadtest.driver;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RestartGuardMode;
import dev.redlock.loadtest.nodes.NodeAddress;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * This project's locks, in their callback form with reused objects.
 *
 * @threading any thread
 */
public final class RedlockDriver implements LockDriver {
    /** Long, so that a slow answer shows in the table as what it is, and not as a failed acquire. */
    private static final Duration NODE_TIMEOUT = Duration.ofSeconds(2);

    /** No options. */
    public RedlockDriver() {
        // Nothing to configure.
    }

    @Override
    public String name() {
        return "redlock";
    }

    @Override
    public Set<DriverOption> options() {
        return EnumSet.allOf(DriverOption.class);
    }

    @Override
    public String version() {
        String version = Redlock.class.getPackage().getImplementationVersion();
        return "redlock " + (version == null ? "(not from a jar)" : version);
    }

    @Override
    public LockSession open(List<NodeAddress> nodes, boolean isFresh) {
        return open(SessionSpec.of(nodes, isFresh));
    }

    @Override
    public LockSession open(SessionSpec spec) {
        String[] addresses = spec.nodes().stream().map(NodeAddress::uri).toArray(String[]::new);
        RedlockContext context = new RedlockContext().nodes(addresses)
                .nodeTimeout(NODE_TIMEOUT)
                .transport(spec.transport())
                .eventLoops(spec.eventLoops())
                .idlePolicy(spec.idlePolicy());
        if (spec.isFresh()) {
            context.restartGuard(RestartGuardMode.OFF);
        }
        return new RedlockSession(Redlock.connect(context));
    }
}
