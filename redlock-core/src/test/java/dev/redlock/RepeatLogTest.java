package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
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
    private static final String ADVICE = " cannot get the lock and tries again: a limit of this client is reached: shed"
            + " load, or raise the limit named in RedlockContext (autoExtendedLeasesMax or waitersMax)";

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

    private static void fail(RepeatLog repeats, VirtualWorld.Client client, AcquireOutcome outcome) {
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        repeats.onFailed(outcome, client.redlock().engine.nowNs());
    }

    /** The usual state of a candidate is none to log. */
    @Test
    void aKeyThatNeverExpiresIsLoggedAndALockIsNot() {
        VirtualWorld.Client client = world(3);
        VirtualWorld.Client other = client();
        RepeatLog repeats = new RepeatLog("the candidate", client.redlock().engine.key("orders"), Long.MAX_VALUE);
        AcquireOptions waiting = AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofSeconds(1));
        try (LogLines log = new LogLines()) {
            Lease held = acquired(acquire(other, OPTIONS));
            fail(repeats, client, acquire(client, waiting));
            assertEquals(List.of(), log.with("cannot get the lock"));
            release(held);
            eachNode(node -> node.redis().set("orders", "foreign", -1));
            AcquireOutcome foreign = acquire(client, waiting);
            fail(repeats, client, foreign);
            fail(repeats, client, foreign);
            List<String> lines = log.with(Level.WARNING, "the candidate for \"orders\" cannot get the lock");
            assertEquals(1, lines.size(), lines::toString);
            assertTrue(lines.get(0).contains("never expires"), lines.get(0));
            repeats.onAcquired();
            fail(repeats, client, foreign);
            assertEquals(2, log.with("cannot get the lock").size(), "again after a success");
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
