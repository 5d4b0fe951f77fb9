package org.example

import dev.redlock.AcquireOptions
import dev.redlock.Redlock
import dev.redlock.RedlockContext
import dev.redlock.api.AcquireOutcome
import dev.redlock.api.Lease
import dev.redlock.kotlin.withLock
import dev.redlock.sim.SocketNodes
import java.io.IOException
import java.nio.file.Files
import java.nio.file.Path
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import kotlin.concurrent.withLock
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** What a user writes first, as Kotlin infers it: that this file compiles is half of the test. */
class FirstHourTest {

    companion object {
        private val nodes = SocketNodes(3)
        // A busy machine delays replies.
        private val redlock = Redlock.connect(
            RedlockContext().nodes(*nodes.addresses())
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(5))
        )
        private val once = AcquireOptions.ofTtl(Duration.ofSeconds(30)).autoExtend()

        @AfterAll
        @JvmStatic
        fun close() {
            redlock.close()
            nodes.close()
        }
    }

    private var runs = 0

    private fun work(): Int = ++runs

    /** The value of the lambda is of no use to the task. */
    @Test
    fun theLineOfThePageRunsTheTask() {
        redlock.tryRun("jobs/report", once) { lease -> work() }

        assertEquals(1, runs)
        val line = "redlock.tryRun(\"jobs/report\", once) { lease -> work() }"
        assertTrue(Files.readString(Path.of("../../docs/guides/acquiring.md")).contains("Kotlin: `$line`"))
    }

    @Test
    fun tryRunTakesALambdaWithoutAValue() {
        val outcome = redlock.tryRun("jobs/unit", once) { }
        assertTrue(outcome.isAcquired)
        redlock.tryRun("jobs/unit", once) {
            assertTrue(it.isHeld)
            if (it.isHeld) {
                work()
            }
        }
        assertEquals(1, runs)
    }

    @Test
    fun tryRunPassesOnWhatTheTaskThrows() {
        assertThrows(IOException::class.java) { redlock.tryRun("jobs/broken", once) { throw IOException() } }
        val task: (Lease) -> Unit = { work() }
        assertTrue(redlock.tryRun("jobs/broken", once, task).isAcquired)
    }

    @Test
    fun acquireGivesALeaseThatUseCloses() {
        val lease = redlock.acquire("orders/42", Duration.ofSeconds(10)).lease()
        lease.use {
            assertTrue(it.isHeld)
            val other = redlock.tryAcquire("orders/42", Duration.ofSeconds(10))
            assertEquals(AcquireOutcome.Kind.CONTENDED, other.kind())
        }
        assertFalse(lease.isHeld)
    }

    @Test
    fun stagesAndCallbacksTakeLambdas() {
        val released = CompletableFuture<String>()
        redlock.acquireAsync("orders/43", once).thenAccept { outcome ->
            if (outcome.isAcquired) {
                outcome.lease().release { lease, result -> released.complete("${lease.resource()} $result") }
            }
        }
        assertEquals("orders/43 RELEASED", released.get(10, TimeUnit.SECONDS))
        val acquired = CompletableFuture<AcquireOutcome>()
        redlock.acquire(redlock.key("orders/43"), once.listener { _, _ -> work() }, redlock.newLease()) { outcome ->
            acquired.complete(outcome)
        }
        assertTrue(acquired.get(10, TimeUnit.SECONDS).isAcquired)
    }

    @Test
    fun aCoroutineLocksWithoutBlocking() = runBlocking {
        val value = redlock.withLock("orders/45", once) { lease ->
            yield()
            assertTrue(lease.isHeld)
            work()
        }
        assertEquals(1, value)
    }

    @Test
    fun aLockOfTheJdkHasTheExtensionsOfKotlin() {
        assertEquals(1, redlock.asLock("orders/44", once).withLock { work() })
    }
}
