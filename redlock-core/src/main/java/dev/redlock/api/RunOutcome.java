package dev.redlock.api;

/**
 * The outcome of a task under a lock: that of the acquisition, and the value of the task if it has run. The value does
 * not prove that the lock was held to the end of the task. The release does, and the lease has its outcome:
 * <ul>
 * <li>{@code acquired().lease().release()} returns it, and waits for it after a blocking call;
 * <li>{@code acquired().lease().releaseAsync()} completes with it, which is done at once after {@code runAsync}.
 * </ul>
 *
 * <p>It is {@link ReleaseOutcome#EXPIRED} if the lock was lost before, and {@link ReleaseOutcome#RELEASED} if it was
 * held to the end. The state of the lease shows only a loss that the client noticed during the task.
 *
 * @param acquired the outcome of the acquisition
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
