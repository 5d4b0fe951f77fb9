/**
 * Distributed locks over N independent Redis or Valkey masters: the public API.
 *
 * <p>Reading order: {@link dev.redlock.Redlock} is the client and {@link dev.redlock.RedlockContext} its configuration.
 * {@link dev.redlock.AcquireOptions} describes one acquisition, {@link dev.redlock.api.AcquireOutcome} its result, and
 * {@link dev.redlock.api.Lease} the lock that is held. {@link dev.redlock.RedlockLock} is a lease behind
 * {@link java.util.concurrent.locks.Lock}. {@link dev.redlock.NodeStatus}, {@link dev.redlock.RedlockCounters},
 * {@link dev.redlock.NodeCounters}, {@link dev.redlock.AcquireTimes} and {@link dev.redlock.LockGroup} are for
 * monitoring. The other types are enums and callbacks of these.
 *
 * <p>A time is a {@link java.time.Duration}. Figures, callbacks and calls that allocate nothing have a number instead,
 * whose name ends with its unit: {@code Ns} or {@code Ms}.
 */
package dev.redlock;
