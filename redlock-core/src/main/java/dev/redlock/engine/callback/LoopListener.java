package dev.redlock.engine.callback;

import dev.redlock.api.LeaseListener;

/**
 * A listener of the client itself. It hears of a loss on the event loop, and passes functions of the user to the
 * {@link CallbackExecutor}.
 *
 * @threading event-loop-confined
 */
public interface LoopListener extends LeaseListener {
}
