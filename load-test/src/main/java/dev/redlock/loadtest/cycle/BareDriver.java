package dev.redlock.loadtest.cycle;

import dev.redlock.loadtest.driver.DriverOption;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.SessionSpec;
import java.io.IOException;
import java.util.Set;

/**
 * The loop over bare sockets as a driver: the least that a lock costs a Java client, to tell what a client adds from
 * what the machine does. It acquires by plain {@code SET} and releases by the script.
 *
 * @threading immutable
 */
public final class BareDriver implements LockDriver {
    /** Its name in results. */
    public static final String NAME = "bare-sockets";
    /** The prefix of the names of its threads. */
    public static final String LOOP_THREADS = BareLoop.THREAD_NAME;

    private static final int HANDLES_MAX = 4_096;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String version() {
        return "sockets of the JDK";
    }

    @Override
    public Set<DriverOption> options() {
        return Set.of();
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException {
        String[] addresses = spec.nodes().stream().map(Object::toString).toArray(String[]::new);
        return new BareLoop(addresses, HANDLES_MAX, spec.idlePolicy(), true);
    }
}
