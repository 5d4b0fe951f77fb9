package org.example

import dev.redlock.Redlock
import dev.redlock.api.AcquireOutcome
import dev.redlock.api.Lease
import dev.redlock.api.LockNotAcquiredException
import dev.redlock.sim.SocketNodes
import dev.redlock.spring.Locked
import java.time.Duration
import java.util.concurrent.CopyOnWriteArrayList
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.springframework.beans.factory.BeanCreationException
import org.springframework.boot.SpringApplication
import org.springframework.boot.autoconfigure.EnableAutoConfiguration
import org.springframework.context.annotation.Bean

@EnableAutoConfiguration
open class SuspendApplication {
    @Bean
    open fun suspending(redlock: Redlock) = Suspending(redlock)
}

/** Open, as the plugin kotlin-spring makes a `@Service`. */
open class Suspending(private val redlock: Redlock) {

    /** A client has no reentrant locks, so its own second acquisition is refused. */
    private fun isFree(id: String) = redlock.tryAcquire("orders/$id", TTL).run {
        if (isAcquired) lease().release()
        isAcquired
    }

    open fun isFreeNow(id: String) = isFree(id)

    @Locked(name = "orders", key = "#id")
    open suspend fun ship(id: String): String {
        yield()
        return if (isFree(id)) "free" else "held"
    }

    @Locked(name = "orders", key = "#id", fenced = true)
    open suspend fun fenced(id: String, lease: Lease?): Long {
        yield()
        return lease!!.fencingToken()
    }

    @Locked(name = "orders", key = "#id")
    open suspend fun never(id: String, running: CompletableDeferred<Unit>) {
        running.complete(Unit)
        awaitCancellation()
    }

    @Locked(name = "orders", key = "#id")
    open suspend fun fails(id: String): String {
        yield()
        throw NoSuchElementException(id)
    }

    @Locked(name = "orders", key = "#id", waitUpTo = "0")
    open suspend fun once(id: String): Int = id.length

    @Locked(name = "orders", key = "#id", waitUpTo = "0", fallback = "busy")
    open suspend fun withFallback(id: String): String = id

    open suspend fun busy(id: String, outcome: AcquireOutcome): String {
        yield()
        return "$id ${outcome.kind()}"
    }

    @Locked(name = "orders", key = "#id", skipIfHeld = true)
    open suspend fun job(id: String, runs: MutableList<String>) {
        yield()
        runs += id
    }

    @Locked(name = "orders", key = "#id")
    open fun stream(id: String): Flow<String> = flow {
        repeat(2) { emit(if (isFree(id)) "free" else "held") }
    }

    companion object {
        val TTL: Duration = Duration.ofSeconds(20)
    }
}

open class ReturnsDeferred {
    @Locked("orders")
    open fun ship(): Deferred<String> = CompletableDeferred("shipped")
}

open class ReturnsCompletableDeferred {
    @Locked("orders")
    open fun ship(): CompletableDeferred<String> = CompletableDeferred("shipped")
}

open class SuspendsForDeferred {
    @Locked("orders")
    open suspend fun ship(): Deferred<String> = CompletableDeferred("shipped")
}

open class SuspendsForFlows {
    @Locked("orders")
    open suspend fun ship(): List<Flow<String>> = listOf()
}

open class ReturnsSequence {
    @Locked("orders")
    open fun ship(): Sequence<String> = sequenceOf("shipped")
}

/** Methods with `@Locked` that suspend: Spring shows them to the lock as publishers. */
class LockedSuspendTest {

    companion object {
        private val nodes = SocketNodes(3)
        private val arguments = arrayOf(
            "--redlock.nodes=${nodes.addresses().joinToString(",")}",
            "--redlock.connect-timeout=20s", "--redlock.node-timeout=1s", "--redlock.default-wait=20s"
        )
        private val application = SpringApplication.run(SuspendApplication::class.java, *arguments)
        private val bean = application.getBean(Suspending::class.java)
        private val redlock = application.getBean(Redlock::class.java)

        @AfterAll
        @JvmStatic
        fun close() {
            application.close()
            nodes.close()
        }
    }

    private fun <T> run(block: suspend () -> T): T = runBlocking(Dispatchers.Default) { withTimeout(60_000) { block() } }

    @Test
    fun theLockIsHeldUntilTheFunctionReturnsOrThrows() {
        assertEquals("held", run { bean.ship("1") })
        assertTrue(bean.isFreeNow("1"))
        assertThrows(NoSuchElementException::class.java) { run { bean.fails("1") } }
        assertTrue(bean.isFreeNow("1"))
    }

    @Test
    fun aParameterGetsTheLease() {
        assertTrue(run { bean.fenced("2", null) } < run { bean.fenced("2", null) })
    }

    @Test
    fun aCancelledCoroutineLeavesNoLock() = run {
        val running = CompletableDeferred<Unit>()
        runBlocking(Dispatchers.Default) {
            val job = launch { bean.never("3", running) }
            running.await()
            assertFalse(bean.isFreeNow("3"))
            job.cancelAndJoin()
        }
        assertEquals("held", bean.ship("3"))
    }

    @Test
    fun aHeldLockIsAnExceptionAFallbackOrASkip() {
        val runs = CopyOnWriteArrayList<String>()
        redlock.tryAcquire("orders/4", Suspending.TTL).lease().use {
            assertThrows(LockNotAcquiredException::class.java) { run { bean.once("4") } }
            assertEquals("4 CONTENDED", run { bean.withFallback("4") })
            run { bean.job("4", runs) }
            assertTrue(runs.isEmpty())
        }
        assertEquals(1, run { bean.once("4") })
        assertEquals("4", run { bean.withFallback("4") })
        run { bean.job("4", runs) }
        assertEquals(listOf("4"), runs)
    }

    @Test
    fun aFlowHoldsTheLockWhileItIsCollected() {
        val flow = bean.stream("5")
        assertTrue(bean.isFreeNow("5"))
        assertEquals(listOf("held", "held"), run { flow.toList() })
        assertTrue(bean.isFreeNow("5"))
    }

    @Test
    fun workThatOutlivesItsMethodIsAnErrorAtStartup() {
        for (type in listOf(
            ReturnsDeferred::class, ReturnsCompletableDeferred::class, SuspendsForDeferred::class,
            SuspendsForFlows::class, ReturnsSequence::class
        )) {
            val thrown = assertThrows(BeanCreationException::class.java) {
                SpringApplication.run(arrayOf(SuspendApplication::class.java, type.java), arguments).close()
            }
            assertTrue(thrown.cause!!.message!!.contains("whose work may continue"), "$type: $thrown")
        }
    }
}
