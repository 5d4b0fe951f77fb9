package dev.redlock.api;

/**
 * A task that runs while its lock is held; see
 * {@link dev.redlock.Redlock#tryRun(String, dev.redlock.AcquireOptions, LeaseTask) Redlock.tryRun}.
 *
 * @param <X> what it throws
 * @threading caller-confined: called on the thread that called {@code tryRun}
 */
@FunctionalInterface
public interface LeaseTask<X extends Exception> extends LeaseAction {

    /**
     * Runs the task.
     *
     * @param lease the lease of the lock; {@code tryRun} releases it afterwards
     * @throws X any failure
     */
    @Override
    void run(Lease lease) throws X;
}
