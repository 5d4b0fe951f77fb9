package dev.redlock.api;

/**
 * A task with a value, which runs while its lock is held and may throw anything, such as the call of a method that an
 * aspect wraps.
 *
 * @param <T> the type of its value
 * @param <X> what it throws
 * @threading caller-confined: called on the thread that called {@code callOrThrow}
 */
@FunctionalInterface
public interface LeaseCall<T, X extends Throwable> {

    /**
     * Runs the task.
     *
     * @param lease the lease of the lock; the client releases it afterwards
     * @return the value; may be null
     * @throws X any failure
     */
    T call(Lease lease) throws X;
}
