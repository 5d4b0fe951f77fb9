package dev.redlock.sim;

/** The clock and the scheduler of a fake node, in virtual or real time. */
public interface Timeline {

    /** @return nanoseconds since an arbitrary moment */
    long nowNs();

    /**
     * Runs a task later, on the nodes' thread. Tasks that are due at the same time run in the order of the calls.
     *
     * @param delayNs from now, not negative
     * @param task    what to run
     */
    void after(long delayNs, Runnable task);
}
