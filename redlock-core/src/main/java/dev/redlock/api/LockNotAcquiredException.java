package dev.redlock.api;

import java.util.Objects;

/**
 * A caller asked for the lease, or for the value of a task, of a lock that was not acquired. The message has the
 * outcome, its reason and the advice.
 *
 * @threading any thread
 */
public final class LockNotAcquiredException extends IllegalStateException {

    private static final long serialVersionUID = 1;

    private final AcquireOutcome.Kind kind;
    private final transient AcquireOutcome outcome;

    /**
     * For an acquisition that has ended.
     *
     * @param message with the name of the lock, and without its token
     * @param outcome any but {@link AcquireOutcome.Kind#ACQUIRED}
     */
    public LockNotAcquiredException(String message, AcquireOutcome outcome) {
        super(message);
        this.outcome = Objects.requireNonNull(outcome, "outcome is null: give that of the acquisition");
        this.kind = outcome.kind();
    }

    /** @return the kind of outcome when this exception was created */
    public AcquireOutcome.Kind kind() {
        return kind;
    }

    /**
     * The outcome of the acquisition.
     *
     * @return the outcome; that of the last acquisition if its lease handle was used again; null after deserialization
     */
    public AcquireOutcome outcome() {
        return outcome;
    }
}
