package dev.redlock.loadtest.scenario;

/**
 * The smallest protected resource that checks fencing tokens: one value, and the highest token that has written it. A
 * write with a lower token comes from somebody whose lock has passed on, and is refused. Equal tokens are one holder's,
 * who may write more than once.
 *
 * @threading any thread
 */
public final class FencedRegister {
    private long highestFence;
    private String value;

    /** A register that nobody has written yet. */
    public FencedRegister() {
        // The fields hold the beginning.
    }

    /**
     * Compares and writes in one step.
     *
     * @param fence   the writer's fencing token, above 0
     * @param newValue what to write
     * @return false if a later holder has been here; nothing is changed then
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
