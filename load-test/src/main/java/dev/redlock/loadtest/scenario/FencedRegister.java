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

    /** Compares and writes in one step; false if a later holder has written, and the value is unchanged. */
    public synchronized boolean write(long fence, String newValue) {
        if (fence < highestFence) {
            return false;
        }
        highestFence = fence;
        value = newValue;
        return true;
    }

    /** Null before the first write. */
    public synchronized String value() {
        return value;
    }
}
