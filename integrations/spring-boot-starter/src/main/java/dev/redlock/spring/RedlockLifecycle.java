package dev.redlock.spring;

import dev.redlock.Redlock;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;

/**
 * Releases the locks when the application closes: after web servers, listeners and schedulers have stopped, and before
 * any bean is destroyed. Schedulers with {@code await-termination} stop later. A context that only stops or pauses may
 * start again, so its client stays open.
 *
 * @threading any thread
 */
final class RedlockLifecycle implements SmartLifecycle {

    private final Redlock redlock;
    private final ConfigurableApplicationContext application;
    private volatile boolean isRunning;

    RedlockLifecycle(Redlock redlock, ConfigurableApplicationContext application) {
        this.redlock = redlock;
        this.application = application;
    }

    @Override
    public void start() {
        isRunning = true;
    }

    @Override
    public void stop() {
        isRunning = false;
        if (application.isClosed()) {
            redlock.close();
        }
    }

    @Override
    public boolean isRunning() {
        return isRunning;
    }

    /** The lowest phase stops last. */
    @Override
    public int getPhase() {
        return Integer.MIN_VALUE;
    }
}
