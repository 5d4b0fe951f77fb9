package dev.redlock;

import dev.redlock.quorum.SeedSource;
import dev.redlock.quorum.TokenStream;
import dev.redlock.time.NanoClock;
import dev.redlock.transport.IoTransport;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A client whose event loops are the product's own in everything but the transport, which is given: for runs in which
 * no bytes leave the process. It stands in this package because what it puts together is hidden in it.
 *
 * @threading any thread
 */
public final class LoopClient implements AutoCloseable {

    private final List<LoopThread> threads = new ArrayList<>();
    private final Redlock redlock;

    /**
     * Starts an event loop for each transport and begins to connect to every node on each of them.
     *
     * @param context    the configuration; concluded by this call. How many loops it asks for does not matter
     * @param transports one for each event loop
     */
    public LoopClient(final RedlockContext context, final List<? extends IoTransport> transports) {
        context.conclude();
        final SecureRandom random = new SecureRandom();
        final Conductor[] conductors = new Conductor[transports.size()];
        for (int i = 0; i < conductors.length; i++) {
            final IoTransport transport = transports.get(i);
            final LoopThread thread = LoopThread.start(transport.newIoHandlerFactory(), context.idlePolicy(),
                    "redlock-" + i);
            threads.add(thread);
            conductors[i] = new Conductor(context, thread.loop(), transport, NanoClock.system(),
                    new TokenStream(SeedSource.system(), System::currentTimeMillis, NanoClock.system().nanoTime()),
                    new SplittableRandom(random.nextLong()));
        }
        redlock = new Redlock(context, conductors);
        for (final Conductor conductor : conductors) {
            conductor.open();
        }
    }

    /** @return the client; closed with this */
    public Redlock redlock() {
        return redlock;
    }

    /** Closes the client and ends its event loops. */
    @Override
    public void close() {
        redlock.close();
        threads.forEach(LoopThread::shutDown);
    }
}
