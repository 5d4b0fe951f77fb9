package dev.redlock.engine;

import dev.redlock.api.Lease;
import dev.redlock.engine.key.LockKey;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The holds of a client's lock views: one for each resource that threads hold or wait for. Views of one resource share
 * it, so that a thread re-enters a lock through any of them.
 *
 * @threading any thread
 */
public final class LocalHolds {

    /** Resources per thread whose lost holds it may still unlock. A thread may never do so. */
    private static final int LOST_MAX = 64;

    private final ConcurrentHashMap<LockKey, Hold> holds = new ConcurrentHashMap<>();
    /** The number of holds that {@link #endLost} has ended. */
    private final ThreadLocal<Map<LockKey, Integer>> lostCounts = ThreadLocal.withInitial(LinkedHashMap::new);

    /**
     * The hold of one resource: a thread takes the distributed lock inside its first hold of the local lock.
     *
     * @threading any thread
     */
    public static final class Hold {
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock(true);
        private final Map<Thread, Lease> leases = new ConcurrentHashMap<>(1);
        /** Calls that hold the lock or wait for it. Guarded by the map's entry. */
        private int useCount;

        /** @return the local lock; that of an exclusive view is its write lock */
        public ReentrantReadWriteLock lock() {
            return lock;
        }

        /** @return the lease of the calling thread; null if it has none */
        public Lease lease() {
            return leases.get(Thread.currentThread());
        }

        /** Stores the lease of the calling thread. If this throws, the lease is released: nobody would have it. */
        public void keep(Lease lease) {
            boolean isKept = false;
            try {
                leases.put(Thread.currentThread(), lease);
                isKept = true;
            } finally {
                if (!isKept) {
                    lease.close();
                }
            }
        }

        /** @return the lease of the calling thread, which it has no longer */
        public Lease take() {
            return leases.remove(Thread.currentThread());
        }

        private String threadOf(Lease lease) {
            for (Map.Entry<Thread, Lease> one : leases.entrySet()) {
                Thread thread = one.getKey();
                if (one.getValue() == lease) {
                    return thread.getName();
                }
            }
            return null;
        }

        /** @return the number of times that the calling thread has locked, for reading or writing */
        public int holdCount() {
            return lock.getReadHoldCount() + lock.getWriteHoldCount();
        }
    }

    /** Enters the hold of a resource; each call needs one of {@link #leave}. */
    public Hold enter(LockKey key) {
        return holds.compute(key, (k, existing) -> {
            Hold hold = existing == null ? new Hold() : existing;
            hold.useCount++;
            return hold;
        });
    }

    /** Leaves the hold of a resource; the last call removes it. */
    public void leave(LockKey key) {
        holds.computeIfPresent(key, (k, hold) -> --hold.useCount == 0 ? null : hold);
    }

    /** @return the hold of a resource; null if no thread holds the lock or waits for it */
    public Hold get(LockKey key) {
        return holds.get(key);
    }

    /** @return the name of the thread that holds a resource with this lease; null for none */
    String threadOf(LockKey key, Lease lease) {
        Hold hold = holds.get(key);
        return hold == null ? null : hold.threadOf(lease);
    }

    /**
     * Ends all holds of the calling thread but the last one, because their lease was lost.
     *
     * @param last the local lock that the thread has taken last, which it still holds once
     */
    public void endLost(LockKey key, Hold hold, Lock last) {
        hold.take().close();
        Map<LockKey, Integer> counts = lostCounts.get();
        for (; hold.holdCount() > 1; leave(key)) {
            boolean isReadFirst = hold.lock.getReadHoldCount() > (last == hold.lock.readLock() ? 1 : 0);
            (isReadFirst ? hold.lock.readLock() : hold.lock.writeLock()).unlock();
            counts.merge(key, 1, Integer::sum);
        }
        if (counts.size() > LOST_MAX) {
            counts.remove(counts.keySet().iterator().next());
        }
    }

    /** Unlocks a hold that was lost, and returns whether the calling thread had one. */
    public boolean unlockLost(LockKey key) {
        boolean isLost = lostCounts.get().containsKey(key);
        lostCounts.get().computeIfPresent(key, (k, count) -> count == 1 ? null : count - 1);
        return isLost;
    }
}
