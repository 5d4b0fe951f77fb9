package dev.redlock.loadtest.cycle;

import dev.redlock.loadtest.driver.LockHandle;
import dev.redlock.loadtest.driver.LockListener;

/**
 * One lock, acquired and released repeatedly.
 *
 * @threading caller-confined between a call and its outcome; the rest is event-loop-confined
 */
final class BareLane implements LockHandle {

    final int index;
    final BareCommand acquire;
    final BareCommand release;
    LockListener listener;
    /** The cycle's token. */
    long high;
    long middle;
    int low;
    /** The current round of votes; replies of earlier rounds are ignored. */
    int epoch;
    boolean isReleasing;
    /** The release in flight undoes an acquire without a majority. */
    boolean isRollback;
    int goodCount;
    int badCount;

    private final BareLoop loop;

    BareLane(BareLoop loop, int index, BareCommand acquire, BareCommand release) {
        this.loop = loop;
        this.index = index;
        this.acquire = acquire;
        this.release = release;
    }

    @Override
    public void acquire() {
        isReleasing = false;
        loop.submit(this);
    }

    @Override
    public void release() {
        isReleasing = true;
        loop.submit(this);
    }
}
