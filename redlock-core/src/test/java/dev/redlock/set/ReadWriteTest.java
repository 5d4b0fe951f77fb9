package dev.redlock.set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The failures of read-write locks that other libraries document. */
class ReadWriteTest extends VirtualTest {

    private static final Duration SHORT = Duration.ofSeconds(2);

    private static AcquireOptions reading(Duration ttl) {
        return AcquireOptions.ofTtl(ttl).forReading().tryOnce();
    }

    private static AcquireOptions writing() {
        return AcquireOptions.ofTtl(TTL).forWriting();
    }

    /** The entry of a reader that dies expires, although other readers renew theirs. */
    @Test
    void aDeadReaderDoesNotLiveOnInTheRenewalsOfOthers() {
        VirtualWorld.Client dead = world(3);
        Lease living = acquired(acquire(client(), reading(SHORT)));
        acquired(acquire(dead, reading(SHORT)));
        dead.pause();
        for (int i = 0; i < 5; i++) {
            world.runMs(1_000);
            assertEquals(ExtendOutcome.EXTENDED, extend(living, SHORT));
        }
        assertEquals(ReleaseOutcome.RELEASED, release(living));
        acquired(acquire(client(), writing().tryOnce()));
    }

    /** The key expires with the dead reader, also if the other one had a later expiry. */
    @Test
    void aReleaseShortensTheExpiryOfTheKey() {
        VirtualWorld.Client dead = world(3);
        Lease longer = acquired(acquire(client(), reading(TTL)));
        acquired(acquire(dead, reading(SHORT)));
        dead.pause();
        release(longer);
        assertEquals(3, keyCount());
        world.runMs(SHORT.toMillis() + 1);
        assertEquals(0, keyCount(), "free for the plain command of a first attempt");
    }

    /** Readers come all the time, and each stays beyond the arrival of the next one. */
    @Test
    void aWriterGetsTheLockAlthoughReadersKeepComing() {
        world(3);
        List<VirtualWorld.Client> readers = List.of(client(), client(), client());
        VirtualWorld.Client writer = client();
        List<Lease> held = new ArrayList<>();
        int granted = 0;
        CompletableFuture<AcquireOutcome> waiting = null;
        for (int i = 0; i < 40 && (waiting == null || !waiting.isDone()); i++) {
            AcquireOutcome outcome = acquire(readers.get(i % 3), reading(TTL));
            if (outcome.isAcquired()) {
                held.add(outcome.lease());
                granted++;
            }
            if (i == 5) {
                waiting = acquireAsync(writer, writing().waitUpTo(Duration.ofSeconds(60)));
            }
            world.runMs(100);
            if (held.size() > 2 || waiting != null && !held.isEmpty()) {
                release(held.remove(0));
            }
        }
        assertTrue(granted >= 6 && granted <= 7, "readers before the writer, and one on its heels: " + granted);
        Lease written = acquired(get(waiting));
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(readers.get(0), reading(TTL)).kind());
        release(written);
        acquired(acquire(readers.get(0), reading(TTL)));
    }

    /** A writer whose ttl is shorter than the leases of the readers renews its reservation. */
    @Test
    void theReservationLastsForAsLongAsTheWriterWaits() {
        theReservationLasts(AcquireOptions.ofTtl(SHORT).forWriting());
    }

    /** Neither the policy nor a push starts an attempt while the writer waits: only the renewal does. */
    @Test
    void theReservationLastsAlthoughTheRetryPolicyWaitsForLonger() {
        theReservationLasts(AcquireOptions.ofTtl(SHORT)
                .forWriting()
                .retryPolicy((attempts, reason, ttl, random) -> Duration.ofHours(1).toNanos()));
    }

    private void theReservationLasts(AcquireOptions writing) {
        VirtualWorld.Client reader = world(3);
        Lease read = acquired(acquire(reader, reading(Duration.ofSeconds(30))));
        VirtualWorld.Client writer = client();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(writer, writing.waitUpTo(Duration.ofSeconds(60)));
        world.runMs(100);
        for (int i = 0; i < 10; i++) {
            assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(reader, reading(SHORT)).kind(), "after " + i + " s");
            world.runMs(1_000);
        }
        assertEquals(0, writer.redlock().counters().hedgedAttemptCount(), "no node was late");
        release(read);
        acquired(get(waiting));
    }

    @Test
    void readersComeInAgainAsSoonAsAWriterGivesUp() {
        VirtualWorld.Client reader = world(3);
        acquired(acquire(reader, reading(TTL)));
        AcquireOutcome outcome = acquire(client(), writing().waitUpTo(Duration.ofMillis(300)));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        world.runMs(5);
        acquired(acquire(reader, reading(TTL)));
    }

    @Test
    void theReservationOfADeadWriterExpires() {
        VirtualWorld.Client reader = world(3);
        acquired(acquire(reader, reading(Duration.ofSeconds(30))));
        VirtualWorld.Client writer = client();
        acquireAsync(writer, AcquireOptions.ofTtl(SHORT).forWriting().waitUpTo(Duration.ofSeconds(60)));
        world.runMs(100);
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(reader, reading(TTL)).kind());
        writer.kill();
        world.runMs(SHORT.toMillis());
        acquired(acquire(reader, reading(TTL)));
    }

    @Test
    void aWriterThatDoesNotWaitKeepsNobodyAway() {
        VirtualWorld.Client reader = world(3);
        acquired(acquire(reader, reading(TTL)));
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client(), writing().tryOnce()).kind());
        acquired(acquire(reader, reading(TTL)));
    }

    @Test
    void readersOfOneClientDoNotWaitForEachOther() {
        VirtualWorld.Client client = world(3);
        Lease written = acquired(acquire(client, writing().tryOnce()));
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            waiting.add(acquireAsync(client, AcquireOptions.ofTtl(TTL).forReading().waitUpTo(TTL)));
        }
        world.runMs(100);
        release(written);
        for (CompletableFuture<AcquireOutcome> each : waiting) {
            assertTrue(acquired(get(each)).isHeld());
        }
    }

    @Test
    void aWriterOfTheSameClientIsWokenByTheLastReader() {
        for (CommandMode mode : List.of(CommandMode.AUTO, CommandMode.SCRIPTS)) {
            world = new VirtualWorld(3);
            VirtualWorld.Client client = client(context().commands(mode));
            List<Lease> read = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                read.add(acquired(acquire(client, reading(TTL))));
            }
            CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, writing().waitUpTo(TTL));
            world.runMs(100);
            read.forEach(this::release);
            world.runMs(20);
            assertTrue(waiting.isDone(), "woken, not by its backstop");
            assertFalse(read.get(0).isHeld());
            nothingIsLeft();
            world = null;
        }
    }
}
