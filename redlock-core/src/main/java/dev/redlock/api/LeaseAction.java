package dev.redlock.api;

/**
 * A {@link LeaseTask} that may throw anything. Kotlin needs it, which cannot infer what a lambda throws.
 *
 * @threading caller-confined: called on the thread that called {@code tryRun}
 */
@FunctionalInterface
public interface LeaseAction {

    /**
     * Runs the task.
     *
     * @param lease the lease of the lock; {@code tryRun} releases it afterwards
     * @throws Exception any failure
     */
    void run(Lease lease) throws Exception;
}
