package dev.redlock.kotlin

import dev.redlock.AcquireOptions
import dev.redlock.Redlock
import dev.redlock.RedlockContext
import dev.redlock.api.AcquireOutcome
import dev.redlock.api.LockNotAcquiredException
import dev.redlock.api.ReleaseOutcome
import dev.redlock.api.RestartGuardMode
import dev.redlock.trial.nodes.RedisNodes
import dev.redlock.trial.nodes.RequiredNodes
import dev.redlock.trial.nodes.Source
import java.io.IOException
import java.nio.file.Files
import java.nio.file.Path
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.future.await
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeAll
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

/** Coroutines that lock on three real servers, and that are cancelled at random moments. */
@Timeout(60)
class CoroutinesTest {

    companion object {
        private const val CANCELLATIONS = 500
        private val options = AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce()
        private lateinit var nodes: RedisNodes
        private lateinit var redlock: Redlock

        @BeforeAll
        @JvmStatic
        fun connect() {
            nodes = RequiredNodes.start(Source.PATH, 3)
            redlock = connected()
        }

        @AfterAll
        @JvmStatic
        fun close() {
            redlock.close()
            nodes.close()
        }

        private fun connected(): Redlock = Redlock.connect(
            RedlockContext().nodes(*nodes.addresses()).keyPrefix("test/").restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5))
        )
    }

    private val random = Random(1)

    @AfterEach
    fun allLocksAreReleased() {
        awaitUntil("no locks") { held().isEmpty() }
    }

    @Test
    fun withLockReturnsTheValueAndReleases() = runBlocking {
        val value = redlock.withLock("orders/42", options) { lease ->
            assertTrue(lease.isHeld)
            assertEquals(AcquireOutcome.Kind.CONTENDED, redlock.awaitAcquire("orders/42", options).kind())
            assertNull(redlock.withLockOrNull("orders/42", options) { 1 })
            yield()
            "shipped"
        }
        assertEquals("shipped", value)
        assertEquals(1, redlock.withLockOrNull("orders/42", options) { 1 })
    }

    @Test
    fun withLockReleasesAfterAnExceptionAndPassesItOn() {
        assertThrows(IOException::class.java) {
            runBlocking { redlock.withLock("orders/43", options) { throw IOException() } }
        }
    }

    /** The nodes do not answer, so the release of the block is in progress when the block ends. */
    @Test
    fun aBlockMayStartTheReleaseItself() = connected().use { redlock ->
        fun <T> withRelease(block: () -> T): Result<T> = runBlocking {
            runCatching {
                redlock.withLock("orders/47", options) { lease ->
                    (0..1).forEach { nodes.node(it).pause() }
                    lease.releaseAsync()
                    block()
                }
            }
        }.also { (0..1).forEach { nodes.node(it).resume() } }

        assertEquals(42, withRelease { 42 }.getOrThrow())
        assertEquals("of the block", withRelease<Unit> { throw IOException("of the block") }.exceptionOrNull()?.message)
    }

    @Test
    fun withLockSaysWhyTheLockIsMissing() = runBlocking {
        redlock.withLock("orders/44", options) {
            val missed = runCatching { redlock.withLock("orders/44", options) { } }.exceptionOrNull()
            assertTrue(missed is LockNotAcquiredException && missed.message!!.contains("CONTENDED"), missed.toString())
        }
    }

    @Test
    fun argumentsThatAreWrongThrow() {
        assertThrows(IllegalArgumentException::class.java) { runBlocking { redlock.awaitAcquire("", options) } }
    }

    @Test
    fun aKeyIsAcquiredAndReleasedByHand() = runBlocking {
        val lease = redlock.awaitAcquire(redlock.keyOfAll(listOf("a", "b")), options).lease()
        assertTrue(lease.isHeld)
        assertEquals(ReleaseOutcome.RELEASED, lease.awaitRelease())
        assertFalse(lease.isHeld)
    }

    /** The block suspends and goes on in another thread, so the lock of a thread would not do. */
    @Test
    fun coroutinesExcludeEachOther() = runBlocking(Dispatchers.Default) {
        var count = 0
        val inside = AtomicInteger()
        val waiting = options.waitUpTo(Duration.ofSeconds(20))
        List(40) {
            async {
                redlock.withLock("counter", waiting) {
                    assertEquals(1, inside.incrementAndGet())
                    val before = count
                    yield()
                    count = before + 1
                    inside.decrementAndGet()
                }
            }
        }.awaitAll()
        assertEquals(40, count)
    }

    @Test
    fun aReleaseWaitsInACancelledCoroutine() = runBlocking {
        val acquired = CompletableDeferred<Unit>()
        var outcome: ReleaseOutcome? = null
        val job = launch {
            val lease = redlock.awaitAcquire("orders/45", options).lease()
            acquired.complete(Unit)
            try {
                awaitCancellation()
            } finally {
                outcome = lease.awaitRelease()
            }
        }
        acquired.await()
        job.cancelAndJoin()
        assertEquals(ReleaseOutcome.RELEASED, outcome)
    }

    @Test
    fun cancelledAcquisitionsLeaveNoLock() {
        val before = redlock.counters().acquiredCount()
        cancelMany(null) { name -> redlock.awaitAcquire(name, options).lease().awaitRelease() }
        assertTrue(redlock.counters().acquiredCount() > before, "every cancellation came before its lock")
    }

    @Test
    fun cancelledBlocksLeaveNoLock() {
        val started = AtomicInteger()
        cancelMany(Dispatchers.Default) { name ->
            redlock.withLock(name, options) {
                started.incrementAndGet()
                awaitCancellation()
            }
        }
        assertTrue(started.get() > 0, "no cancellation came during a block")
    }

    @Test
    fun cancelledContextsLeaveNoLock() {
        cancelMany(null) { name ->
            withContext(Dispatchers.IO) {
                redlock.withLock(name, options) { } // right
            }
        }
    }

    /** `await` drops the value of a task, which owned its lock: there is nothing to leak. */
    @Test
    fun cancelledStagesOfRunAsyncLeaveNoLock() {
        val before = redlock.counters().acquiredCount()
        cancelMany(null) { name ->
            redlock.runAsync(name, options) { lease -> CompletableFuture.supplyAsync { lease.resource() } }.await()
        }
        assertTrue(redlock.counters().acquiredCount() > before, "every cancellation came before its lock")
    }

    /** `withContext` drops the outcome: why a function that returns a lock is not enough. */
    @Test
    fun anOutcomeThatLeavesItsContextLeaks() {
        connected().use { redlock ->
            cancelMany(null) { name ->
                val outcome = withContext(Dispatchers.IO) {
                    redlock.acquireAsync(name, options).await() // wrong: leaks
                }
                outcome.lease().awaitRelease()
            }
            assertLeaked("withContext { acquireAsync(..).await() }")
        }
    }

    /** `await` drops the lease: why `awaitAcquire` is not the `await` of a stage. */
    @Test
    fun aLeaseOfADependentStageLeaks() {
        connected().use { redlock ->
            cancelMany(null) { name ->
                redlock.acquireAsync(name, options).thenApply { it.lease() }.await().awaitRelease()
            }
            assertLeaked("acquireAsync(..).thenApply { it.lease() }.await()")
        }
    }

    private fun assertLeaked(call: String) {
        val leaked = held().size
        println("$leaked of $CANCELLATIONS cancellations left a lock with $call")
        assertTrue(leaked > 0, call)
    }

    @Test
    fun theLinesOfThePageRun() = runBlocking {
        var shipped = 0
        suspend fun ship(order: Int) {
            yield()
            shipped = order
        }

        val options = AcquireOptions.ofTtl(Duration.ofSeconds(10)).autoExtend()

        redlock.withLock("orders/42", options) { lease ->
            ship(42)
        }

        assertEquals(42, shipped)
        val source = listOf("CoroutinesTest.kt", "LeaseStatesTest.kt")
            .joinToString { Files.readString(Path.of("src/test/kotlin/dev/redlock/kotlin").resolve(it)) }
        val blocks = Regex("```kotlin\n(.*?)```", RegexOption.DOT_MATCHES_ALL)
            .findAll(Files.readString(Path.of("README.md"))).map { it.groupValues[1] }.toList()
        assertEquals(4, blocks.size)
        blocks.forEach { assertTrue(words(source).contains(words(it)), it) }
    }

    private fun words(text: String): String = text.replace(Regex("\\s+"), " ").trim()

    /**
     * Starts coroutines one after another and cancels each after a random time. Without a dispatcher they share this
     * thread, which is busy meanwhile: an acquisition completes, and its coroutine is cancelled before it runs again.
     */
    private fun cancelMany(dispatcher: CoroutineDispatcher?, work: suspend (String) -> Unit) = runBlocking {
        val scope = if (dispatcher == null) this else CoroutineScope(dispatcher + Job())
        val latestNs = (5 * acquisitionNs()).coerceIn(2_000_000L, 10_000_000L)
        repeat(CANCELLATIONS) { i ->
            val job = scope.launch(start = CoroutineStart.UNDISPATCHED) { work("cancelled/$i") }
            val endNs = System.nanoTime() + random.nextLong(latestNs)
            while (System.nanoTime() < endNs) {
                Thread.onSpinWait()
            }
            job.cancelAndJoin()
        }
    }

    /** The mean time of an acquisition on this machine now. */
    private suspend fun acquisitionNs(): Long {
        val startNs = System.nanoTime()
        repeat(50) { redlock.withLock("orders/46", options) { } }
        return (System.nanoTime() - startNs) / 100
    }

    /** The keys of the locks that at least one node has, without those that count waiters. */
    private fun held(): Set<String> =
        nodes.nodes().flatMap { node -> (node.call("KEYS", "test/*") as List<*>).map(Any?::toString) }
            .filterNot { it.contains(":redlock:") }.toSet()

    private fun awaitUntil(what: String, isMet: () -> Boolean) {
        val deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10)
        while (!isMet()) {
            assertTrue(System.nanoTime() - deadlineNs < 0) { "not within 10 s: $what: ${held()}" }
            CountDownLatch(1).await(5, TimeUnit.MILLISECONDS)
        }
    }
}
