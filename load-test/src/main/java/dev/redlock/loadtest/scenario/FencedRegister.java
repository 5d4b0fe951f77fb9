package dev.redlock.loadtest.scenario;

/**
 * The smallest resource that checks fencing tokens: one value, and the highest token of its writers. It rejects a write
 * with a lower token, because its writer no longer holds the lock. A holder may write more than once with the same
 * token.
 *
 * @threading any thread
 */
public final class FencedRegister {
    private long highestFence;
    private String value;

    /**
     * Compares and writes in one step.
     *
     * @param fence   the writer's fencing token, above 0
     * @return false if a later holder has written; then the value is unchanged
     */
    public synchronized boolean write(long fence, String newValue) {
        if (fence < highestFence) {
            return false;
        }
        highestFence = fence;
        value = newValue;
        return true;
    }

    /**
     * The value.
     *
     * @return null before the first write
     */
    public synchronized String value() {
        return value;
    }
}
