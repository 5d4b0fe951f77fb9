package dev.redlock.spring;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import java.lang.reflect.Method;
import java.time.Duration;

/**
 * A method with a valid {@link Locked}.
 *
 * @param method       of the class of the bean
 * @param where        names it in messages
 * @param name         the resource, or its first part
 * @param key          the expression of the second part; empty for none
 * @param ttl          that of the options
 * @param options      without a listener
 * @param result       how the lock follows the result
 * @param onLoss       the reaction to a loss
 * @param leaseIndex   the parameter that gets the lease; -1 for none
 * @param isSkipped    whether a held lock skips the method
 * @param fallback     the method for an acquisition that failed; null for none
 * @param outcomeIndex the parameter of the fallback that gets the outcome; -1 for none
 * @threading immutable
 */
record LockedMethod(Method method, String where, String name, String key, Duration ttl, AcquireOptions options,
        LockedResult result, Locked.OnLoss onLoss, int leaseIndex, boolean isSkipped, Method fallback,
        int outcomeIndex) {

    /**
     * Checks the name and the ttl against the limits of the client.
     *
     * @throws InvalidLockedException if each call would fail with an IllegalArgumentException
     */
    void check(Redlock client) {
        try {
            client.asLock(name, AcquireOptions.ofTtl(ttl));
        } catch (IllegalArgumentException e) {
            throw new InvalidLockedException(where, e.getMessage(),
                    "correct the annotation or redlock.locked.ttl, or raise redlock.max-ttl", e);
        }
    }

    /** Returns the arguments of a call, the lease among them. */
    Object[] withLease(Object[] arguments, Lease lease) {
        if (leaseIndex >= 0) {
            arguments[leaseIndex] = lease;
        }
        return arguments;
    }

    /**
     * A failure if the lease was lost. A method that has the lease may have released it.
     *
     * @param lease not yet released by the interceptor
     * @return null if it was not lost, or if that is to be ignored
     */
    LeaseLostException lossOf(Lease lease) {
        LeaseState state = lease.state();
        boolean isLost = state == LeaseState.EXPIRED || state == LeaseState.LOST
                || leaseIndex < 0 && state != LeaseState.HELD;
        return isLost && onLoss != Locked.OnLoss.IGNORE ? lossOf(lease, state, null) : null;
    }

    LeaseLostException lossOf(Lease lease, LeaseState state, Throwable cause) {
        return new LeaseLostException("the lease of " + lease.resource() + " is " + state + " before "
                + where + " has ended, so another holder may have had the lock: check the effects of the method,"
                + " protect them with fencing tokens, or use a longer ttl or holdAtMost", state, cause);
    }
}
