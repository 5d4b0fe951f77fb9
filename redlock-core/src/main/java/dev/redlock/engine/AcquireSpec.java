package dev.redlock.engine;

import dev.redlock.api.LeaseListener;
import dev.redlock.api.RetryPolicy;
import dev.redlock.node.LockKind;

/**
 * The options of one acquisition, as the engine reads them.
 *
 * @param ttlMs             time to live of the keys
 * @param waitNs            wait budget; 0 for one attempt, {@link #UNSET} for that of the call
 * @param minValidityNs     validity that a success must have left; {@link #UNSET} for the client's
 * @param retryPolicy       delays between attempts; null for the client's
 * @param listener          notified of the lease's extensions and loss; null for none
 * @param extensionCountMax automatic extensions at most; 0 for none
 * @param holdNsMax         time from the acquisition after which no automatic extension starts
 * @param isFenced          whether the lease gets a fencing token
 * @param isLossWatched     whether the nodes report changes of the lease's keys
 * @param holdNsMin         time from the acquisition before which the client sends no release
 * @param kind              the kind of lock: PLAIN, also for sets, READ, WRITE or PERMIT
 * @param permitCount       permits of the semaphore; 0 for another kind
 * @threading               immutable
 */
public record AcquireSpec(long ttlMs, long waitNs, long minValidityNs, RetryPolicy retryPolicy, LeaseListener listener,
        int extensionCountMax, long holdNsMax, boolean isFenced, boolean isLossWatched, long holdNsMin, LockKind kind,
        int permitCount) {

    /** Selects the value of the client's configuration. */
    public static final long UNSET = -1;

    /**
     * The defaults: no wait budget, automatic extension or fencing token.
     *
     * @param  ttlMs milliseconds
     * @return       the defaults
     */
    public static AcquireSpec ofTtl(long ttlMs) {
        return new AcquireSpec(ttlMs, UNSET, UNSET, null, null, 0, UNSET, false, false, 0, LockKind.PLAIN, 0);
    }

    /**
     * The wait budget.
     *
     * @param defaultNs nanoseconds where the options have none
     * @return nanoseconds
     */
    public long waitNsOr(long defaultNs) {
        return waitNs == UNSET ? defaultNs : waitNs;
    }

    /**
     * A copy with another wait budget.
     *
     * @param newWaitNs nanoseconds
     * @return the copy
     */
    public AcquireSpec withWaitNs(long newWaitNs) {
        return new AcquireSpec(ttlMs, newWaitNs, minValidityNs, retryPolicy, listener, extensionCountMax, holdNsMax,
                isFenced, isLossWatched, holdNsMin, kind, permitCount);
    }

    /**
     * A copy with another minimum validity.
     *
     * @param newMinValidityNs nanoseconds
     * @return the copy
     */
    public AcquireSpec withMinValidityNs(long newMinValidityNs) {
        return new AcquireSpec(ttlMs, waitNs, newMinValidityNs, retryPolicy, listener, extensionCountMax, holdNsMax,
                isFenced, isLossWatched, holdNsMin, kind, permitCount);
    }

    /**
     * A copy with another retry policy.
     *
     * @param newRetryPolicy the policy
     * @return the copy
     */
    public AcquireSpec withRetryPolicy(RetryPolicy newRetryPolicy) {
        return new AcquireSpec(ttlMs, waitNs, minValidityNs, newRetryPolicy, listener, extensionCountMax, holdNsMax,
                isFenced, isLossWatched, holdNsMin, kind, permitCount);
    }

    /**
     * A copy with another listener.
     *
     * @param newListener the listener
     * @return the copy
     */
    public AcquireSpec withListener(LeaseListener newListener) {
        return new AcquireSpec(ttlMs, waitNs, minValidityNs, retryPolicy, newListener, extensionCountMax, holdNsMax,
                isFenced, isLossWatched, holdNsMin, kind, permitCount);
    }

    /**
     * A copy with another limit of automatic extensions.
     *
     * @param countMax automatic extensions at most
     * @param newHoldNsMax nanoseconds after which none starts
     * @return the copy
     */
    public AcquireSpec withExtensions(int countMax, long newHoldNsMax) {
        return new AcquireSpec(ttlMs, waitNs, minValidityNs, retryPolicy, listener, countMax, newHoldNsMax, isFenced,
                isLossWatched, holdNsMin, kind, permitCount);
    }

    /**
     * A copy that asks for a fencing token.
     *
     * @return the copy
     */
    public AcquireSpec withFence() {
        return new AcquireSpec(ttlMs, waitNs, minValidityNs, retryPolicy, listener, extensionCountMax, holdNsMax, true,
                isLossWatched, holdNsMin, kind, permitCount);
    }

    /**
     * A copy whose lease learns of changes of its keys.
     *
     * @return the copy
     */
    public AcquireSpec withLossWatch() {
        return new AcquireSpec(ttlMs, waitNs, minValidityNs, retryPolicy, listener, extensionCountMax, holdNsMax,
                isFenced, true, holdNsMin, kind, permitCount);
    }

    /**
     * A copy whose lock stays for a time.
     *
     * @param newHoldNsMin nanoseconds from the acquisition before which the client sends no release
     * @return the copy
     */
    public AcquireSpec withHoldNsMin(long newHoldNsMin) {
        return new AcquireSpec(ttlMs, waitNs, minValidityNs, retryPolicy, listener, extensionCountMax, holdNsMax,
                isFenced, isLossWatched, newHoldNsMin, kind, permitCount);
    }

    /**
     * A copy that locks for reading.
     *
     * @return the copy
     */
    public AcquireSpec forReading() {
        return withKind(LockKind.READ);
    }

    /**
     * A copy that locks for writing.
     *
     * @return the copy
     */
    public AcquireSpec forWriting() {
        return withKind(LockKind.WRITE);
    }

    /**
     * A copy that locks for reading, without the options that only writers have.
     *
     * @return the copy
     */
    public AcquireSpec forReader() {
        return new AcquireSpec(ttlMs, waitNs, minValidityNs, retryPolicy, listener, extensionCountMax, holdNsMax, false,
                false, holdNsMin, LockKind.READ, 0);
    }

    /**
     * A copy that takes a permit of a semaphore.
     *
     * @param newPermitCount permits of the semaphore
     * @return the copy
     */
    public AcquireSpec forPermitOf(int newPermitCount) {
        return new AcquireSpec(ttlMs, waitNs, minValidityNs, retryPolicy, listener, extensionCountMax, holdNsMax,
                isFenced, isLossWatched, holdNsMin, LockKind.PERMIT, newPermitCount);
    }

    private AcquireSpec withKind(LockKind newKind) {
        return new AcquireSpec(ttlMs, waitNs, minValidityNs, retryPolicy, listener, extensionCountMax, holdNsMax,
                isFenced, isLossWatched, holdNsMin, newKind, 0);
    }

    /** @return the kind as text after the other options; empty for plain locks */
    public String kindText() {
        return switch (kind) {
            case READ -> ", for reading";
            case WRITE -> ", for writing";
            case PERMIT -> ", for a permit of " + permitCount;
            case PLAIN, SET -> "";
        };
    }

    /**
     * Rejects options for a kind of lock that a view does not have.
     *
     * @param view    the method that creates it
     * @param instead what to do
     * @throws IllegalArgumentException if the options are not for plain locks
     */
    public void checkPlain(String view, String instead) {
        if (kind != LockKind.PLAIN) {
            throw new IllegalArgumentException(view + " was called with options" + kindText().substring(1) + ": "
                    + instead);
        }
    }

    /**
     * Rejects options that contradict each other or the resources.
     *
     * @param key the plain key of the resource, or that of a set
     * @throws IllegalArgumentException if they do
     */
    public void check(LockKey key) {
        if (kind != LockKind.PLAIN && key.kind() != LockKind.PLAIN) {
            throw new IllegalArgumentException("resources " + key + " are a set, which cannot be locked for reading or"
                    + " writing and is no semaphore: use options without forReading(), forWriting() and"
                    + " forPermitOf(), or one resource");
        }
        if (kind == LockKind.READ && (isFenced || isLossWatched)) {
            throw new IllegalArgumentException("options for reading have " + (isFenced ? "fenced()" : "watchLoss()")
                    + ", which only writers and plain locks have: leave it out");
        }
        if (kind == LockKind.PERMIT && isFenced) {
            throw new IllegalArgumentException("options for a permit have fenced(), which orders the holders of one"
                    + " lock, and a semaphore has several at once: leave it out");
        }
    }
}
