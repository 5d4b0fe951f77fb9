package dev.redlock;

import dev.redlock.engine.ClientLoops;
import dev.redlock.engine.LockEngine;
import dev.redlock.transport.IoTransport;
import java.util.List;

/**
 * A client whose event loops are the product's own, over given transports: for runs in which no bytes leave the
 * process. It is in this package because a client over a given engine is not part of the public API.
 *
 * @threading any thread
 */
public final class LoopClient implements AutoCloseable {

    private final Redlock redlock;

    /**
     * Starts an event loop for each transport and connects to every node on each of them.
     *
     * @param context    the configuration; concluded by this call. Its number of loops does not matter
     * @param transports one for each event loop
     */
    public LoopClient(RedlockContext context, List<? extends IoTransport> transports) {
        LockEngine engine = new LockEngine(ClientLoops.onOwnLoops(context.conclude(), transports, "given"));
        engine.connect();
        redlock = new Redlock(engine);
    }

    /** @return the client; closed with this */
    public Redlock redlock() {
        return redlock;
    }

    /** Closes the client and ends its event loops. */
    @Override
    public void close() {
        redlock.close();
    }
}
