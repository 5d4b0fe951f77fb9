package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.key.KeyText;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** Acquisitions that are repeated without an end log once why they fail, because no caller gets their outcomes. */
class RepeatLogTest extends VirtualTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(TTL).autoExtend();
    private static final Duration TWO_DAYS = Duration.ofDays(2);
    private static final AcquireOptions UNLIMITED = OPTIONS.waitUpTo(TWO_DAYS);
    private static final String ADVICE = " cannot get the lock and tries again: a limit of this client is reached: shed"
            + " load, or raise the limit named in RedlockContext (autoExtendedLeasesMax or waitersMax)";
    private static final String LINE = "an acquisition without a time limit of \"orders\" cannot get the lock and tries"
            + " again: ";

    /** A client whose only lease with automatic extension is in use. */
    private VirtualWorld.Client fullClient(String resource, List<Lease> held) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().autoExtendedLeasesMax(1));
        held.add(acquired(get(client.redlock().acquireAsync(resource, OPTIONS))));
        return client;
    }

    private void awaitReal(String what, BooleanSupplier condition) {
        Await.until(what, () -> {
            world.runMs(10);
            return condition.getAsBoolean();
        });
    }

    @Test
    void aCandidateLogsEachReasonOnce() {
        List<Lease> held = new ArrayList<>();
        VirtualWorld.Client client = fullClient("other", held);
        List<Long> terms = new ArrayList<>();
        try (LogLines log = new LogLines()) {
            client.redlock().elect("orders\n", OPTIONS, term -> terms.add(term.fencingToken()));
            world.runMs(10_000);
            assertEquals(List.of("the candidate for \"orders\\n\"" + ADVICE),
                    log.with(Level.WARNING, "cannot get the lock"));
            release(held.get(0));
            world.await("it leads", 2_000, () -> terms.size() == 1);
            assertEquals(1, log.with("cannot get the lock").size());
        }
    }

    private void setForeignKeys(String key) {
        eachNode(node -> node.redis().set(key, "foreign", -1));
    }

    private static void assertOneLine(LogLines log, String reason) {
        List<String> lines = log.with(Level.WARNING, LINE);
        assertEquals(1, lines.size(), lines::toString);
        assertEquals(1, log.with("cannot get the lock").size());
        assertTrue(lines.get(0).contains(reason), lines.get(0));
    }

    @Test
    void aCandidateLogsAKeyThatNeverExpires() {
        VirtualWorld.Client client = world(3);
        setForeignKeys("orders");
        List<Long> terms = new ArrayList<>();
        try (LogLines log = new LogLines()) {
            client.redlock().elect("orders", OPTIONS, term -> terms.add(term.fencingToken()));
            world.runMs(60_000);
            assertOneLine(log, "never expires");
            eachNode(node -> node.redis().delete("orders"));
            world.await("it leads", 2_000, () -> terms.size() == 1);
            assertOneLine(log, "never expires");
        }
    }

    /** A log of thousands of lines at once helps nobody. */
    @Test
    void manyCandidatesLogAFewLines() {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            for (int i = 0; i < 20; i++) {
                setForeignKeys("orders/" + i);
                client.redlock().elect("orders/" + i, OPTIONS, term -> {
                });
            }
            world.runMs(60_000);
            assertEquals(16, log.with(Level.WARNING, "never expires").size());
            assertEquals(1, log.with("4 more acquisitions without a time limit cannot get their locks").size());
        }
    }

    /** Another client has the lock, or a problem has ended at the next look. */
    @Test
    void aLockAndAShortProblemAreNotLogged() {
        VirtualWorld.Client client = world(3);
        acquired(acquire(client(), OPTIONS));
        try (LogLines log = new LogLines()) {
            client.redlock().elect("orders", OPTIONS, term -> {
            });
            world.runMs(25_000);
            setForeignKeys("orders");
            world.runMs(9_900);
            eachNode(node -> node.redis().delete("orders"));
            world.runMs(60_000);
            assertEquals(List.of(), log.with("cannot get the lock"));
        }
    }

    @Test
    void aCandidateLogsACounterThatIsNoNumber() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders:redlock:fence:{orders}", "many", -1));
        try (LogLines log = new LogLines()) {
            client.redlock().elect("orders", OPTIONS, term -> {
            });
            world.runMs(60_000);
            assertOneLine(log, "FENCE");
        }
    }

    @Test
    void aCandidateLogsATtlThatIsTooShortForTheNodes() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofMillis(25)));
        eachNode(node -> node.delay(() -> 4_000_000));
        try (LogLines log = new LogLines()) {
            client.redlock().elect("orders", AcquireOptions.ofTtl(Duration.ofMillis(30)), term -> {
            });
            world.runMs(60_000);
            assertOneLine(log, "the nodes answer too slowly for this ttl");
        }
    }

    /** The client logs an outage once, not for each lock. */
    @Test
    void anOutageIsNotLoggedForEachLock() {
        VirtualWorld.Client client = world(3);
        node(0).crash();
        node(1).crash();
        try (LogLines log = new LogLines()) {
            client.redlock().elect("orders", OPTIONS, term -> {
            });
            world.runMs(60_000);
            assertEquals(1, log.with(Level.WARNING, "no quorum votes").size());
            assertEquals(List.of(), log.with("cannot get the lock"));
        }
    }

    private void assertBlockedLogs(String key, Runnable wait) throws InterruptedException {
        setForeignKeys(key);
        try (LogLines log = new LogLines()) {
            BlockedCall<Void> waiting = new BlockedCall<>(() -> {
                wait.run();
                return null;
            });
            awaitReal("it logs", () -> !log.with(Level.WARNING, LINE).isEmpty());
            world.runMs(60_000);
            assertOneLine(log, "never expires");
            eachNode(node -> node.redis().delete(key));
            awaitReal("it has the lock", waiting::isDone);
            waiting.result();
        }
    }

    @Test
    void aThreadInLockLogsAKeyThatNeverExpires() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        assertBlockedLogs("orders", client.redlock().asLock("orders", OPTIONS)::lock);
    }

    @Test
    void aThreadInAcquireLogsAKeyThatNeverExpires() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        assertBlockedLogs(KeyText.permitName("orders", 0),
                client.redlock().asSemaphore("orders", 1, OPTIONS)::acquireUninterruptibly);
    }

    /** One handle waits for a lock, releases it as soon as it has it, and waits for another one. */
    private void reuseHandle(List<AcquireOutcome> outcomes) {
        Redlock redlock = world(3).redlock();
        setForeignKeys("first");
        setForeignKeys("second");
        Lease handle = redlock.newLease();
        redlock.acquire(redlock.key("first"), UNLIMITED, handle, first -> first.lease()
                .release((lease, released) -> redlock.acquire(redlock.key("second"), UNLIMITED, handle,
                        outcomes::add)));
    }

    @Test
    void eachUseOfAHandleLogsItsReason() {
        List<AcquireOutcome> outcomes = new ArrayList<>();
        try (LogLines log = new LogLines()) {
            reuseHandle(outcomes);
            world.runMs(22_000);
            assertEquals(1, log.with(Level.WARNING, "\"first\" cannot get the lock").size());
            eachNode(node -> node.redis().delete("first"));
            world.runMs(60_000);
            assertEquals(1, log.with(Level.WARNING, "\"second\" cannot get the lock").size());
            assertEquals(2, log.with("cannot get the lock").size());
            assertEquals(List.of(), outcomes);
        }
    }

    /** Each use has the reason at one look. */
    @Test
    void twoUsesOfAHandleThatAreShortAreNotLogged() {
        List<AcquireOutcome> outcomes = new ArrayList<>();
        try (LogLines log = new LogLines()) {
            reuseHandle(outcomes);
            world.runMs(15_000);
            eachNode(node -> node.redis().delete("first"));
            world.runMs(10_000);
            eachNode(node -> node.redis().delete("second"));
            world.await("it has the second lock", 2_000, () -> !outcomes.isEmpty());
            acquired(outcomes.get(0));
            assertEquals(List.of(), log.with("cannot get the lock"));
        }
    }

    /** The nodes were silent for the first attempts of both; then one has the lock, and the other makes no attempt. */
    @Test
    void aWaiterBehindALeaseOfItsClientDoesNotLogItsOwnLastReason() {
        VirtualWorld.Client client = world(3);
        List<AcquireOutcome> outcomes = new ArrayList<>();
        try (LogLines log = new LogLines()) {
            eachNode(FakeNode::pause);
            AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(60)).autoExtend().waitUpTo(TWO_DAYS);
            for (int i = 0; i < 2; i++) {
                acquireAsync(client, options).thenAccept(outcomes::add);
            }
            world.runMs(1_000);
            eachNode(FakeNode::resume);
            world.await("one has the lock", 2_000, () -> !outcomes.isEmpty());
            world.runMs(40_000);
            assertEquals(List.of(), log.with("cannot get the lock"));
            release(acquired(outcomes.get(0)));
            world.await("the other has the lock", 2_000, () -> outcomes.size() == 2);
            acquired(outcomes.get(1));
        }
    }

    private void assertThreadLogs(Lease held, String resource, Runnable wait) throws InterruptedException {
        try (LogLines log = new LogLines()) {
            BlockedCall<Void> waiting = new BlockedCall<>(() -> {
                wait.run();
                return null;
            });
            awaitReal("it logs", () -> !log.with(Level.WARNING, "cannot get the lock").isEmpty());
            release(held);
            awaitReal("it has the lock", waiting::isDone);
            waiting.result();
            assertEquals(List.of("a thread that waits without a time limit for \"" + resource + "\"" + ADVICE),
                    log.with("cannot get the lock"));
        }
    }

    @Test
    void aThreadInLockLogsAnOverloadThatLasts() throws InterruptedException {
        List<Lease> held = new ArrayList<>();
        VirtualWorld.Client client = fullClient("other", held);
        assertThreadLogs(held.get(0), "orders", client.redlock().asLock("orders", OPTIONS)::lock);
    }

    @Test
    void aThreadInAcquireLogsAnOverloadThatLasts() throws InterruptedException {
        List<Lease> held = new ArrayList<>();
        VirtualWorld.Client client = fullClient("other", held);
        RedlockSemaphore permits = client.redlock().asSemaphore("permits", 1, OPTIONS);
        assertThreadLogs(held.get(0), "permits", permits::acquireUninterruptibly);
    }
}
