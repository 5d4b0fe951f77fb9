package dev.redlock.spring;

import dev.redlock.api.LeaseState;

/**
 * The lease of a {@link Locked} method was lost before the method ended. Its effects may overlap with those of the next
 * holder.
 *
 * @threading any thread
 */
public final class LeaseLostException extends IllegalStateException {

    private static final long serialVersionUID = 1;

    private final LeaseState state;

    LeaseLostException(String message, LeaseState state, Throwable cause) {
        super(message, cause);
        this.state = state;
    }

    /** @return the state of the lease: expired, lost, or released because the client was closed */
    public LeaseState state() {
        return state;
    }
}
