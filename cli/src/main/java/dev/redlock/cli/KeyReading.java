package dev.redlock.cli;

import dev.redlock.engine.LockValue;

/**
 * What one node has under the name of a lock.
 *
 * @param value     the value; null if there is no key, or one that is no lock
 * @param ttlMs     remaining time, milliseconds; {@link #NO_EXPIRY} if the key never expires
 * @param fence     the fencing counter; null if there is none
 * @param problem   why the key cannot be a lock or cannot be read; null if neither
 * @param mayBeRetained whether the client may retain the lock: nobody has it then
 * @threading immutable
 */
record KeyReading(LockValue value, long ttlMs, String fence, String problem, boolean mayBeRetained) {

    static final long NO_EXPIRY = -1;

    /** No lock: no key, or one with a problem. */
    static KeyReading ofOther(long ttlMs, String fence, String problem) {
        return new KeyReading(null, ttlMs, fence, problem, false);
    }

    /** Whether the node has a key that an acquire would meet. */
    boolean isTaken() {
        return value != null || problem != null;
    }

    boolean isForever() {
        return value != null && ttlMs == NO_EXPIRY;
    }
}
