package dev.redlock.sim;

/** Where a fake node gets its time from and puts what happens later: virtual or real. */
public interface Timeline {

    /** @return nanoseconds since an arbitrary moment */
    long nowNs();

    /**
     * Runs something later, on the nodes' thread. What is due at the same time runs in the order of the calls.
     *
     * @param delayNs from now, not negative
     * @param task    what to run
     */
    void after(long delayNs, Runnable task);
}
