package dev.redlock.api;

/**
 * The outcome of a task under a lock: that of the acquisition, and the value of the task if it has run.
 *
 * @param acquired the outcome of the acquisition; {@code acquired().lease().state()} is {@link LeaseState#RELEASED} if
 *                 the lock was held to the end of the task
 * @param value    the value of the task; null if it has not run
 * @param <T>      the type of the value
 * @threading immutable
 */
public record RunOutcome<T>(AcquireOutcome acquired, T value) {

    /** @return true if the lock was acquired, and so the task has run */
    public boolean hasRun() {
        return acquired.isAcquired();
    }

    /**
     * The value of the task.
     *
     * @throws LockNotAcquiredException if the lock was not acquired; the message has the outcome and the advice
     */
    @Override
    public T value() {
        acquired.lease();
        return value;
    }
}
