package dev.redlock.engine;

import dev.redlock.api.Lease;
import dev.redlock.engine.key.LockKey;
import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The permits that threads have taken through a client's semaphore views.
 *
 * @threading any thread
 */
public final class PermitHolds {

    /** The leases of one thread. Only this thread changes them. */
    private final ConcurrentHashMap<Owner, ArrayDeque<Lease>> leases = new ConcurrentHashMap<>();

    /**
     * The permits of one thread.
     *
     * @threading immutable
     */
    private record Owner(LockKey key, Thread thread) {
    }

    /** Adds a permit of the calling thread. If this throws, the permit is released: nobody would have it. */
    public void add(LockKey key, Lease lease) {
        boolean isAdded = false;
        try {
            leases.computeIfAbsent(new Owner(key, Thread.currentThread()), owner -> new ArrayDeque<>()).push(lease);
            isAdded = true;
        } finally {
            if (!isAdded) {
                lease.close();
            }
        }
    }

    /**
     * The permit that the calling thread has taken last.
     *
     * @return the permit; null if the thread has none
     */
    public Lease last(LockKey key) {
        ArrayDeque<Lease> own = leases.get(new Owner(key, Thread.currentThread()));
        return own == null ? null : own.peek();
    }

    /**
     * Removes the permit that the calling thread has taken last.
     *
     * @return the permit; null if the thread has none
     */
    public Lease removeLast(LockKey key) {
        Owner owner = new Owner(key, Thread.currentThread());
        ArrayDeque<Lease> own = leases.get(owner);
        if (own == null) {
            return null;
        }
        Lease last = own.pop();
        if (own.isEmpty()) {
            leases.remove(owner);
        }
        return last;
    }
}
