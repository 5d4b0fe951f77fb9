/** Locks for coroutines: they suspend instead of blocking, and a cancelled coroutine leaves no lock behind. */
@file:JvmName("RedlockCoroutines")

package dev.redlock.kotlin

import dev.redlock.AcquireOptions
import dev.redlock.Redlock
import dev.redlock.ResourceKey
import dev.redlock.api.AcquireOutcome
import dev.redlock.api.Lease
import dev.redlock.api.LeaseState
import dev.redlock.api.ReleaseOutcome
import java.util.concurrent.CompletionStage
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.nanoseconds
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.future.await
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.coroutines.withContext

/**
 * Acquires a lock, and suspends while it waits: up to [AcquireOptions.waitUpTo] or else the client's default wait.
 *
 * If the coroutine is cancelled before this function returns, the lock is released. Once it has returned, the caller
 * releases the lock with [awaitRelease]; [withLock] does both. `Redlock.acquire` is the blocking call.
 *
 * @param resource the name to lock
 * @param options how
 * @return the outcome
 * @throws IllegalArgumentException if the resource is empty or too long, or the ttl out of range
 */
public suspend fun Redlock.awaitAcquire(resource: String, options: AcquireOptions): AcquireOutcome =
    acquireAsync(resource, options).awaitOutcome()

/** Acquires a lock as the function for a name does; the key comes from [Redlock.key] or [Redlock.keyOfAll]. */
public suspend fun Redlock.awaitAcquire(key: ResourceKey, options: AcquireOptions): AcquireOutcome =
    acquireAsync(key, options).awaitOutcome()

/**
 * Runs [block] while the lock is held. Releases the lock when the block returns, throws or is cancelled, and waits for
 * the release also in a cancelled coroutine: at most one node timeout. It does not wait for a release that the block
 * itself has started and that is still in progress.
 *
 * The block is not stopped when the lease is lost. It checks [Lease.isHeld] before steps that matter.
 *
 * @param resource the name to lock
 * @param options how
 * @return the value of the block
 * @throws dev.redlock.api.LockNotAcquiredException if the lock was not acquired; the message has the outcome and the
 *   advice
 * @throws IllegalArgumentException if the resource is empty or too long, or the ttl out of range
 */
public suspend fun <T> Redlock.withLock(
    resource: String,
    options: AcquireOptions,
    block: suspend (Lease) -> T,
): T = awaitAcquire(resource, options).lease().releasedAfter(block)

/** Runs [block] as [withLock] does, but returns null if the lock was not acquired. */
public suspend fun <T : Any> Redlock.withLockOrNull(
    resource: String,
    options: AcquireOptions,
    block: suspend (Lease) -> T,
): T? {
    val outcome = awaitAcquire(resource, options)
    return if (outcome.isAcquired) outcome.lease().releasedAfter(block) else null
}

/**
 * Releases the lock and suspends until a quorum has answered, at most one node timeout. A cancelled coroutine releases
 * the lock too, and waits for the answer.
 *
 * @return the outcome
 */
public suspend fun Lease.awaitRelease(): ReleaseOutcome = withContext(NonCancellable) { releaseAsync().await() }

/**
 * The states of the lease: the present one first, then each change, up to the first final one. It is a cold flow without
 * a listener: each collector reads the state at the interval and at the end of the validity, and a cancelled one stops.
 * Collectors get the latest state: changes within one interval, or while they are busy, are one change.
 *
 * A change shows up to one interval late. [Lease.isHeld] is always exact. A reused lease may end and be held again
 * within one interval, which does not show.
 *
 * @param interval time between two reads, each of some volatile fields
 * @throws IllegalArgumentException if the interval is not positive
 */
public fun Lease.states(interval: Duration = 100.milliseconds): Flow<LeaseState> {
    require(interval.isPositive()) { "interval $interval is not positive: take some milliseconds" }
    return flow {
        var last: LeaseState? = null
        while (last?.isFinal != true) {
            val now = state()
            if (now != last) {
                emit(now)
                last = now
            }
            if (!now.isFinal) {
                delay(timeToNextRead(interval))
            }
        }
    }
}

private fun Lease.timeToNextRead(interval: Duration): Duration {
    val validNs = remainingValidityNs()
    return if (validNs > 0) minOf(interval, validNs.nanoseconds) else interval
}

private suspend fun <T> Lease.releasedAfter(block: suspend (Lease) -> T): T =
    try {
        block(this)
    } finally {
        withContext(NonCancellable) { startRelease()?.await() }
    }

/** Returns null if the block has started a release itself: that one goes on, and nothing of the block is lost. */
private fun Lease.startRelease(): CompletionStage<ReleaseOutcome>? =
    try {
        releaseAsync()
    } catch (started: IllegalStateException) {
        null
    }

/**
 * The outcome of an acquisition. The coroutine may be cancelled after the stage has completed and before the coroutine
 * runs again: `CompletionStage.await` then drops the lease, and the continuation of this function releases it.
 */
private suspend fun CompletionStage<AcquireOutcome>.awaitOutcome(): AcquireOutcome =
    suspendCancellableCoroutine { continuation ->
        whenComplete { outcome, failure ->
            if (failure == null) {
                continuation.resume(outcome) { _, dropped, _ -> dropped.release() }
            } else {
                continuation.resumeWith(Result.failure(failure))
            }
        }
        continuation.invokeOnCancellation { toCompletableFuture().cancel(false) }
    }

private fun AcquireOutcome.release() {
    if (isAcquired) {
        lease().releaseAsync()
    }
}
