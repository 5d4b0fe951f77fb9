package dev.redlock.api;

/**
 * A task with a value, which runs while its lock is held.
 *
 * @param <T> the type of its value
 * @param <X> what it throws
 * @threading caller-confined: called on the thread that called {@code call} or {@code tryCall}
 */
@FunctionalInterface
public interface LeaseFunction<T, X extends Exception> {

    /**
     * Runs the task.
     *
     * @param lease the lease of the lock; the client releases it afterwards
     * @return the value; may be null
     * @throws X any failure
     */
    T apply(Lease lease) throws X;
}
