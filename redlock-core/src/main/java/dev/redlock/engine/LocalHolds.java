package dev.redlock.engine;

import dev.redlock.api.Lease;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The holds of a client's lock views: one for each resource that a thread holds or waits for. Views of one resource
 * share it, so that a thread re-enters a lock through any of them.
 *
 * @threading any thread
 */
public final class LocalHolds {

    private final ConcurrentHashMap<LockKey, Hold> holds = new ConcurrentHashMap<>();

    /**
     * The hold of one resource: a thread takes the distributed lock inside its first hold of the local lock.
     *
     * @threading any thread
     */
    public static final class Hold {
        private final ReentrantLock lock = new ReentrantLock(true);
        private volatile Lease lease;
        /** Calls that hold the lock or wait for it. Guarded by the map's entry. */
        private int useCount;

        /** @return the local lock */
        public ReentrantLock lock() {
            return lock;
        }

        /** @return the lease of the thread that holds the lock; null if none does */
        public Lease lease() {
            return lease;
        }

        /**
         * Stores the lease. Called by the thread that holds the local lock.
         *
         * @param newLease the lease, or null
         */
        public void lease(Lease newLease) {
            lease = newLease;
        }
    }

    /**
     * Enters the hold of a resource; each call needs one of {@link #leave}.
     *
     * @param key the resource
     * @return its hold
     */
    public Hold enter(LockKey key) {
        return holds.compute(key, (k, existing) -> {
            Hold hold = existing == null ? new Hold() : existing;
            hold.useCount++;
            return hold;
        });
    }

    /**
     * Leaves the hold of a resource; the last call removes it.
     *
     * @param key the resource
     */
    public void leave(LockKey key) {
        holds.computeIfPresent(key, (k, hold) -> --hold.useCount == 0 ? null : hold);
    }

    /**
     * The hold of a resource.
     *
     * @param key the resource
     * @return its hold; null if no thread holds the lock or waits for it
     */
    public Hold get(LockKey key) {
        return holds.get(key);
    }
}
