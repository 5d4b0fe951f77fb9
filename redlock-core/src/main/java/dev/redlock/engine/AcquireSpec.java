package dev.redlock.engine;

import dev.redlock.api.LeaseListener;
import dev.redlock.api.RetryPolicy;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.LockKind;

/**
 * The options of one acquisition, as the engine reads them.
 *
 * @threading immutable once its maker has passed it on, through a final field if threads share it
 */
public final class AcquireSpec {

    /** Selects the value of the client's configuration. */
    public static final long UNSET = -1;

    /** Time to live of the keys. */
    public final long ttlMs;
    /** Wait budget; 0 for one attempt, {@link #UNSET} for that of the call. */
    public long waitNs = UNSET;
    /** Validity that a success must have left; {@link #UNSET} for the client's. */
    public long minValidityNs = UNSET;
    /** Delays between attempts; null for the client's. */
    public RetryPolicy retryPolicy;
    /** Notified of the lease's extensions and loss; null for none. */
    public LeaseListener listener;
    /** Automatic extensions at most; 0 for none. */
    public int extensionCountMax;
    /** Time from the acquisition after which no automatic extension starts. */
    public long holdNsMax = UNSET;
    /** Time from the acquisition before which the client sends no release. */
    public long holdNsMin;
    /** Time from its first release for which the client may retain the lock; 0 for none. */
    public long retainNsMax;
    /** Whether the lease gets a fencing token. */
    public boolean isFenced;
    /** Whether the nodes report changes of the lease's keys. */
    public boolean isLossWatched;
    /** The kind of lock: PLAIN, also for sets, READ, WRITE or PERMIT. */
    public LockKind kind = LockKind.PLAIN;
    /** Permits of the semaphore; 0 for another kind. */
    public int permitCount;
    /** What telemetry counts the acquisition for; null for nothing of its own. */
    public String group;

    /** For the client that has used these options last; null if none has. Any thread may compute it again. */
    LeaseTimes times;

    /** The defaults: no wait budget, automatic extension or fencing token. */
    public AcquireSpec(long ttlMs) {
        this.ttlMs = ttlMs;
    }

    /** @return a copy, for its maker to change */
    public AcquireSpec copy() {
        AcquireSpec copy = new AcquireSpec(ttlMs);
        copy.waitNs = waitNs;
        copy.minValidityNs = minValidityNs;
        copy.retryPolicy = retryPolicy;
        copy.listener = listener;
        copy.extensionCountMax = extensionCountMax;
        copy.holdNsMax = holdNsMax;
        copy.holdNsMin = holdNsMin;
        copy.retainNsMax = retainNsMax;
        copy.isFenced = isFenced;
        copy.isLossWatched = isLossWatched;
        copy.kind = kind;
        copy.permitCount = permitCount;
        copy.group = group;
        return copy;
    }

    /** Sets what telemetry counts the acquisition for; null for nothing of its own. */
    public void setGroup(String name) {
        group = name;
    }

    /**
     * The wait budget.
     *
     * @param defaultNs nanoseconds where the options have none
     */
    public long waitNsOr(long defaultNs) {
        return waitNs == UNSET ? defaultNs : waitNs;
    }

    /** Returns the kind as text after the other options; empty for plain locks. */
    String kindText() {
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
     * @throws IllegalArgumentException if the options are not for plain locks
     */
    public void checkPlain(String view, String instead) {
        if (kind != LockKind.PLAIN) {
            throw new IllegalArgumentException(view + " was called with options" + kindText().substring(1) + ": "
                    + instead);
        }
    }

    /**
     * Rejects options for a retained lock, which a view does not have.
     *
     * @throws IllegalArgumentException if they are
     */
    public void checkNotRetained(String view) {
        if (retainNsMax > 0) {
            throw new IllegalArgumentException(view + " was called with options with retain(), which is for plain"
                    + " locks: leave retain() out");
        }
    }

    /**
     * Rejects options that contradict each other or the resources.
     *
     * @param key the plain key of the resource, or that of a set
     * @throws IllegalArgumentException if they do
     */
    public void check(LockKey key) {
        if (kind != LockKind.PLAIN && key.kind != LockKind.PLAIN) {
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

    @Override
    public String toString() {
        return "ttlMs=" + ttlMs + ", waitNs=" + (waitNs == UNSET ? "default" : waitNs) + ", extensionCountMax="
                + extensionCountMax + (holdNsMin > 0 ? ", holdNsMin=" + holdNsMin : "")
                + (retainNsMax > 0 ? ", retainNsMax=" + retainNsMax : "") + (isFenced ? ", fenced" : "")
                + (isLossWatched ? ", watchLoss" : "") + kindText() + (group == null ? "" : ", group=" + group);
    }
}
