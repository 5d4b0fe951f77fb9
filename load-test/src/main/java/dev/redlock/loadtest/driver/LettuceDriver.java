package dev.redlock.loadtest.driver;

import java.io.IOException;
import java.util.Set;

/**
 * A hand-written quorum lock over Lettuce: one connection for each node, requests to all nodes at once, decided at the
 * majority, rolled back on failure. Lettuce itself has no lock.
 *
 * @threading any thread
 */
public final class LettuceDriver implements LockDriver {
    private final boolean isBatched;
    private final boolean isAcquiredByScript;

    /**
     * A driver in one of two ways to send. It acquires by plain {@code SET}.
     *
     * @param isBatched false for the library's asynchronous commands as its guide shows them, with its command
     *                  timeouts; true for the fastest use: one event loop for all connections, one write for each node
     *                  and turn of the loop, no future for each command, and one timer for all
     */
    public LettuceDriver(boolean isBatched) {
        this(isBatched, false);
    }

    private LettuceDriver(boolean isBatched, boolean isAcquiredByScript) {
        this.isBatched = isBatched;
        this.isAcquiredByScript = isAcquiredByScript;
    }

    /**
     * Tuned, and acquiring by the script of {@code redlock-core}: command for command what {@code redlock-scripts-each}
     * asks of the nodes.
     *
     * @return the driver {@code lettuce-scripts}
     */
    public static LettuceDriver withScripts() {
        return new LettuceDriver(true, true);
    }

    @Override
    public String name() {
        if (isAcquiredByScript) {
            return "lettuce-scripts";
        }
        return isBatched ? "lettuce-batched" : "lettuce";
    }

    @Override
    public String version() {
        return LibraryVersion.of("Lettuce", "io.lettuce", "lettuce-core");
    }

    @Override
    public String summary() {
        return "a parallel quorum lock written by hand over Lettuce, "
                + (isBatched ? "tuned: manual flush, one event loop" : "its asynchronous commands as they come")
                + (isAcquiredByScript ? "; acquires by script" : "");
    }

    @Override
    public Set<DriverOption> options() {
        return Set.of(DriverOption.TLS);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException, InterruptedException {
        return LettuceSession.open(spec, isBatched ? new LettuceBatches() : new LettuceFutures(), isAcquiredByScript);
    }
}
