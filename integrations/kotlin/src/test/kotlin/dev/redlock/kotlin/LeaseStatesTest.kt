package dev.redlock.kotlin

import dev.redlock.AcquireOptions
import dev.redlock.api.Lease
import dev.redlock.api.LeaseState
import dev.redlock.api.ReleaseOutcome
import dev.redlock.trial.nodes.TwoClients
import java.time.Duration
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.nanoseconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.BeforeAll
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

/** The states of a lease as a flow: of leases on three real servers, and of one whose states the test sets. */
@Timeout(60)
class LeaseStatesTest {

    companion object {
        private val options = AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce()
        private lateinit var clients: TwoClients

        @BeforeAll
        @JvmStatic
        fun connect() {
            clients = TwoClients()
        }

        @AfterAll
        @JvmStatic
        fun close() {
            clients.close()
        }
    }

    /** A lease whose state is that of the script, and counts the reads. */
    private class ScriptedLease(lease: Lease) : Lease by lease {

        val reads = AtomicInteger()

        @Volatile
        var now = LeaseState.HELD

        @Volatile
        var validNs = 0L

        override fun state(): LeaseState {
            reads.incrementAndGet()
            return now
        }

        override fun remainingValidityNs(): Long = validNs
    }

    private fun scripted() = ScriptedLease(clients.one.newLease())

    private suspend fun acquired(name: String, how: AcquireOptions = options) =
        clients.one.awaitAcquire(name, how).lease()

    @Test
    fun aReleaseEndsTheFlow() = runBlocking(Dispatchers.Default) {
        val lease = acquired("states/1")
        val isHeld = CompletableDeferred<Unit>()
        val states = async { lease.states(1.milliseconds).onEach { isHeld.complete(Unit) }.toList() }
        isHeld.await()
        assertEquals(ReleaseOutcome.RELEASED, lease.awaitRelease())
        assertEquals(listOf(LeaseState.HELD, LeaseState.RELEASED), states.await() - LeaseState.RELEASING)
        assertEquals(listOf(LeaseState.RELEASED), lease.states().toList())
    }

    @Test
    fun aLossEndsTheFlow() = runBlocking(Dispatchers.Default) {
        val lease = acquired("states/2", options.watchLoss())
        val states = lease.states().onEach { state ->
            if (state == LeaseState.HELD) {
                clients.nodes.nodes().forEach { it.call("DEL", "states/2") }
            }
        }.toList()
        assertEquals(listOf(LeaseState.HELD, LeaseState.LOST), states)
    }

    /** Whatever the interval is, the flow reads at the end of the validity. */
    @Test
    fun theEndOfTheValidityEndsTheFlow() = runBlocking {
        val lease = acquired("states/3", AcquireOptions.ofTtl(Duration.ofMillis(300)))
        assertEquals(listOf(LeaseState.HELD, LeaseState.EXPIRED), lease.states(1.hours).toList())
    }

    @Test
    fun aFlowIsCold() = runBlocking {
        val lease = scripted()
        val states = lease.states(1.milliseconds)
        yield()
        assertEquals(0, lease.reads.get())
        lease.now = LeaseState.LOST
        assertEquals(listOf(LeaseState.LOST), states.toList())
        assertEquals(listOf(LeaseState.LOST), states.toList())
        assertEquals(2, lease.reads.get())
    }

    @Test
    fun everyStateShowsOnceInItsOrder() = runBlocking(Dispatchers.Default) {
        val lease = scripted()
        lease.now = LeaseState.IDLE
        val next = mapOf(
            LeaseState.IDLE to LeaseState.ACQUIRING,
            LeaseState.ACQUIRING to LeaseState.HELD,
            LeaseState.HELD to LeaseState.RELEASING,
            LeaseState.RELEASING to LeaseState.RELEASED,
        )
        val states = lease.states(1.milliseconds).onEach { state -> next[state]?.let { lease.now = it } }.toList()
        assertEquals(next.keys + LeaseState.RELEASED, states.toCollection(LinkedHashSet()))
        assertEquals(5, states.size)
    }

    /** Unchanged states do not show, and neither do those that pass while the collector is busy. */
    @Test
    fun aBusyCollectorGetsTheLatestState() = runBlocking(Dispatchers.Default) {
        val lease = scripted()
        val isBusy = CompletableDeferred<Unit>()
        val isReady = CompletableDeferred<Unit>()
        val states = async {
            lease.states(1.milliseconds).onEach {
                isBusy.complete(Unit)
                isReady.await()
            }.toList()
        }
        isBusy.await()
        lease.now = LeaseState.RELEASING
        lease.now = LeaseState.RELEASED
        isReady.complete(Unit)
        assertEquals(listOf(LeaseState.HELD, LeaseState.RELEASED), states.await())
    }

    @Test
    fun aCancelledCollectorReadsNoMore() = runBlocking(Dispatchers.Default) {
        val lease = scripted()
        val seen = ConcurrentLinkedQueue<LeaseState>()
        val job = launch(start = CoroutineStart.UNDISPATCHED) { lease.states(1.milliseconds).collect(seen::add) }
        val other = scripted()
        while (lease.reads.get() < 3) {
            yield()
        }
        job.cancelAndJoin()
        val reads = lease.reads.get()
        val ending = async { other.states(1.milliseconds).toList() }
        while (other.reads.get() < 20) {
            yield()
        }
        other.now = LeaseState.EXPIRED
        ending.await()
        assertEquals(reads, lease.reads.get())
        assertEquals(listOf(LeaseState.HELD), seen.toList())
    }

    @Test
    fun theFirstStateIsEnoughForSome() = runBlocking {
        val lease = scripted()
        assertEquals(LeaseState.HELD, lease.states(1.hours).first())
        assertEquals(1, lease.reads.get())
    }

    @Test
    fun anIntervalThatIsNotPositiveIsRejected() {
        val thrown = assertThrows(IllegalArgumentException::class.java) { scripted().states(0.nanoseconds) }
        assertEquals("interval 0s is not positive: take some milliseconds", thrown.message)
    }

    @Test
    fun theLinesOfThePageRun() = runBlocking(Dispatchers.Default) {
        val shown = ConcurrentLinkedQueue<LeaseState>()
        fun show(state: LeaseState) {
            shown.add(state)
        }

        clients.one.withLock("states/4", options) { lease ->
            val job = launch { lease.states().collect { state -> show(state) } }
            while (shown.isEmpty()) {
                yield()
            }
            job.cancelAndJoin()
        }
        assertEquals(listOf(LeaseState.HELD), shown.toList())
    }
}
