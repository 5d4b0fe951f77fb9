package dev.redlock.loadtest.driver;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RestartGuardMode;
import dev.redlock.loadtest.nodes.NodeAddress;
import java.time.Duration;
import java.util.List;

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
    public LockSession open(List<NodeAddress> nodes, boolean isFresh) {
        String[] addresses = nodes.stream().map(NodeAddress::uri).toArray(String[]::new);
        RedlockContext context = new RedlockContext().nodes(addresses).nodeTimeout(NODE_TIMEOUT);
        if (isFresh) {
            context.restartGuard(RestartGuardMode.OFF);
        }
        return new RedlockSession(Redlock.connect(context));
    }
}
