package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The events for JDK Flight Recorder: their fields, thresholds, and that they are off by default. */
@Tag("jdk")
class JfrEventsTest extends VirtualTest {

    private static final List<String> NAMES = List.of("Acquire", "Release", "LeaseLost", "NodeState", "Wakeup",
            "RetentionEnded");

    @TempDir
    private Path folder;

    /** Starts a recording of all events of redlock that last for a threshold. */
    private static Recording record(Duration threshold) {
        Recording recording = new Recording();
        NAMES.forEach(name -> recording.enable("dev.redlock." + name).withThreshold(threshold));
        recording.start();
        return recording;
    }

    private List<RecordedEvent> stop(Recording recording, String name) {
        try (recording) {
            recording.stop();
            Path file = folder.resolve(name + ".jfr");
            recording.dump(file);
            return RecordingFile.readAllEvents(file)
                    .stream()
                    .filter(event -> event.getEventType().getName().equals("dev.redlock." + name))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private RecordedEvent only(Recording recording, String name) {
        List<RecordedEvent> events = stop(recording, name);
        assertEquals(1, events.size(), events::toString);
        return events.get(0);
    }

    @Test
    void anAcquireHasItsOutcomeAndVotes() {
        VirtualWorld.Client client = world(3);
        node(2).crash();
        world.runMs(10);
        Recording recording = record(Duration.ZERO);
        Lease lease = lease(client);
        RecordedEvent event = only(recording, "Acquire");
        assertEquals("orders", event.getString("resource"));
        assertEquals("ACQUIRED", event.getString("outcome"));
        assertNull(event.getString("lastReason"));
        assertEquals(1, event.getInt("attempts"));
        assertEquals(2, event.getInt("granted"));
        assertEquals(1, event.getInt("failed"));
        assertFalse(event.getBoolean("fenced"));
        assertEquals(Duration.ofMillis(validityMs(TTL.toMillis())), event.getDuration("validity"));
        assertFalse(event.toString().contains(TestEngine.valueOf(lease)), event::toString);
        release(lease);
    }

    @Test
    void aFailedAcquireHasItsReason() {
        VirtualWorld.Client client = world(3);
        lease(client);
        VirtualWorld.Client other = client(context().wakeUpKeysMax(0));
        Recording recording = record(Duration.ZERO);
        acquire(other, options().waitUpTo(Duration.ofMillis(200)));
        RecordedEvent event = only(recording, "Acquire");
        assertEquals("TIMED_OUT", event.getString("outcome"));
        assertEquals("CONTENDED", event.getString("lastReason"));
        assertTrue(event.getInt("attempts") > 1, event::toString);
        assertTrue(event.getInt("refused") >= 2, event::toString);
    }

    @Test
    void anAcquireOfAPermitWithoutAnAttemptIsAnEvent() {
        VirtualWorld.Client client = world(3);
        Lease held = acquired(acquire(client, options().forPermitOf(1)));
        Recording recording = record(Duration.ZERO);
        acquire(client, options().forPermitOf(1));
        assertEquals("CONTENDED", only(recording, "Acquire").getString("outcome"));
        release(held);
    }

    @Test
    void aRejectedAcquireIsAnEventToo() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().autoExtendedLeasesMax(0));
        Recording recording = record(Duration.ZERO);
        acquire(client, options().autoExtend());
        assertEquals("OVERLOADED", only(recording, "Acquire").getString("outcome"));
    }

    @Test
    void aReleaseHasItsOutcomeAndVotes() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        node(0).redis().delete("orders");
        Recording recording = record(Duration.ZERO);
        release(lease);
        RecordedEvent event = only(recording, "Release");
        assertEquals("orders", event.getString("resource"));
        assertEquals("RELEASED", event.getString("outcome"));
        assertEquals(2, event.getInt("deleted"));
        assertEquals(1, event.getInt("notHeld"));
    }

    /** The release for the holder asks no node; that of the kept lock does. */
    @Test
    void aReleaseThatKeepsTheLockIsAnEventOfItsOwn() {
        VirtualWorld.Client client = world(3);
        Recording recording = record(Duration.ZERO);
        Lease lease = acquired(acquire(client, options().holdAtLeast(Duration.ofSeconds(1))));
        assertEquals(ReleaseOutcome.KEPT, release(lease));
        world.runMs(1_100);
        List<RecordedEvent> events = stop(recording, "Release");
        assertEquals(List.of("KEPT", "RELEASED"), events.stream().map(event -> event.getString("outcome")).toList());
        for (RecordedEvent event : events) {
            assertEquals("orders", event.getString("resource"));
            assertEquals(0, event.getInt("notHeld") + event.getInt("failed") + event.getInt("unknown"));
        }
        assertEquals(0, events.get(0).getInt("deleted"));
        assertTrue(events.get(1).getInt("deleted") >= 2, events::toString);
    }

    /** A local release is no event: it costs less than one. */
    @Test
    void aRetainedLockHasARelease() {
        VirtualWorld.Client client = world(3);
        Recording recording = record(Duration.ZERO);
        for (int i = 0; i < 3; i++) {
            assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, options().retain(TTL)))));
        }
        RecordedEvent event = only(recording, "Release");
        assertEquals("orders", event.getString("resource"));
        assertEquals("RETAINED", event.getString("outcome"));
    }

    @Test
    void theEndOfARetentionHasItsCauseAndLocalGrants() {
        VirtualWorld.Client client = world(3);
        VirtualWorld.Client other = client();
        for (int i = 0; i < 3; i++) {
            release(acquired(acquire(client, options().retain(TTL))));
        }
        Recording recording = record(Duration.ZERO);
        acquire(other, options());
        world.runMs(5);
        RecordedEvent event = only(recording, "RetentionEnded");
        assertEquals("orders", event.getString("resource"));
        assertEquals("REVOKED", event.getString("cause"));
        assertEquals(2, event.getLong("localGrants"));
    }

    @Test
    void theEndOfARetentionWithTheClientHasItsCause() {
        VirtualWorld.Client client = world(3);
        release(acquired(acquire(client, options().retain(TTL))));
        Recording recording = record(Duration.ZERO);
        client.engine().close(Duration.ofMillis(100));
        world.runMs(5);
        assertEquals("CLOSED", only(recording, "RetentionEnded").getString("cause"));
    }

    @Test
    void theEndOfARetentionWithItsLockHasItsCause() {
        VirtualWorld.Client client = world(1);
        release(acquired(acquire(client, options().retain(TTL).watchLoss())));
        Recording recording = record(Duration.ZERO);
        node(0).redis().delete("orders");
        world.runMs(5);
        assertEquals("NODE_LOST", only(recording, "RetentionEnded").getString("cause"));
    }

    @Test
    void aLostLeaseHasItsNodeAndReason() {
        VirtualWorld.Client client = world(3);
        world.runMs(3_000);
        Lease lease = lease(client);
        Recording recording = record(Duration.ZERO);
        node(0).redis().clockJump(3_600_000);
        node(1).redis().clockJump(3_600_000);
        world.runMs(2_000);
        assertEquals(LeaseState.LOST, lease.state());
        RecordedEvent event = only(recording, "LeaseLost");
        assertEquals("orders", event.getString("resource"));
        assertEquals("LOST", event.getString("state"));
        assertEquals("the clock of a node jumped", event.getString("reason"));
        assertTrue(List.of("node-0:1", "node-1:1").contains(event.getString("node")), event::toString);
        Duration held = event.getDuration("heldFor");
        assertTrue(held.compareTo(Duration.ZERO) > 0 && held.compareTo(Duration.ofSeconds(2)) < 0, event::toString);
    }

    @Test
    void anExpiredLeaseIsReported() {
        VirtualWorld.Client client = world(3);
        lease(client);
        Recording recording = record(Duration.ZERO);
        world.runMs(TTL.toMillis());
        RecordedEvent event = only(recording, "LeaseLost");
        assertEquals("EXPIRED", event.getString("state"));
        assertEquals("the validity ended", event.getString("reason"));
        assertNull(event.getString("node"));
    }

    @Test
    void aNodeHasItsStatesAndProblem() {
        world(3);
        Recording recording = record(Duration.ZERO);
        node(1).crash();
        world.runMs(5);
        RecordedEvent event = stop(recording, "NodeState").get(0);
        assertEquals("node-1:1", event.getString("node"));
        assertEquals("READY", event.getString("oldState"));
        assertEquals("WAITING", event.getString("newState"));
        assertEquals("the server closed the connection", event.getString("reason"));
    }

    @Test
    void aPushNamesItsNodeAndResource() {
        VirtualWorld.Client client = world(3);
        VirtualWorld.Client other = client();
        Lease lease = lease(client);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().waitUpTo(Duration.ofSeconds(60)));
        world.runMs(20);
        Recording recording = record(Duration.ZERO);
        release(lease);
        acquired(get(waiting));
        List<RecordedEvent> events = stop(recording, "Wakeup");
        RecordedEvent woken = events.stream()
                .filter(e -> e.getString("kind").equals("WOKEN"))
                .findFirst()
                .orElseThrow();
        assertEquals("orders", woken.getString("resource"));
        assertTrue(woken.getString("node").startsWith("node-"), woken::toString);
    }

    @Test
    void aPushThatWakesNobodyIsSpurious() {
        VirtualWorld.Client client = world(3);
        Recording recording = record(Duration.ZERO);
        node(1).pushInvalidation(client::isNamed, "nobody");
        world.runMs(1);
        RecordedEvent event = only(recording, "Wakeup");
        assertEquals("SPURIOUS", event.getString("kind"));
        assertEquals("node-1:1", event.getString("node"));
        assertNull(event.getString("resource"));
    }

    @Test
    void aMissingPushIsABackstop() {
        VirtualWorld.Client client = world(3);
        VirtualWorld.Client other = client();
        lease(client);
        acquireAsync(other, options().waitUpTo(Duration.ofSeconds(60)));
        Recording recording = record(Duration.ZERO);
        world.runMs(8_000);
        List<RecordedEvent> events = stop(recording, "Wakeup");
        assertEquals("BACKSTOP", events.get(0).getString("kind"), events::toString);
        assertNull(events.get(0).getString("node"));
    }

    @Test
    void aShorterDurationThanTheThresholdIsNoEvent() {
        VirtualWorld.Client client = world(3);
        Recording acquires = record(Duration.ofHours(1));
        release(lease(client));
        assertEquals(List.of(), stop(acquires, "Acquire"));
        Recording releases = record(Duration.ofHours(1));
        release(lease(client));
        assertEquals(List.of(), stop(releases, "Release"));
    }

    /** An object that timed an earlier acquisition must not time this one. */
    @Test
    void anAcquireThatStartedBeforeTheRecordingIsNoEvent() {
        VirtualWorld.Client client = world(3);
        Recording earlier = record(Duration.ZERO);
        release(lease(client));
        earlier.close();
        CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, options());
        Recording recording = record(Duration.ZERO);
        release(acquired(get(acquiring)));
        assertEquals(List.of(), stop(recording, "Acquire"));
    }

    /** The flight recorder of the client and the meters need the same times, and may be off. */
    @Test
    void eventsNeedNoFlightRecorder() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().flightRecorderEvents(0));
        Recording acquires = record(Duration.ZERO);
        Recording releases = record(Duration.ZERO);
        release(lease(client));
        List<RecordedEvent> acquired = stop(acquires, "Acquire");
        List<RecordedEvent> released = stop(releases, "Release");
        assertEquals(List.of("ACQUIRED"), acquired.stream().map(event -> event.getString("outcome")).toList());
        assertEquals(List.of("RELEASED"), released.stream().map(event -> event.getString("outcome")).toList());
    }

    @Test
    void theEventsAreOffByDefault() {
        VirtualWorld.Client client = world(3);
        Recording recording = new Recording();
        recording.start();
        release(lease(client));
        world.runMs(10);
        assertEquals(List.of(), stop(recording, "Acquire"));
        List<String> registered = FlightRecorder.getFlightRecorder()
                .getEventTypes()
                .stream()
                .filter(type -> type.getName().startsWith("dev.redlock."))
                .map(type -> type.getName().substring("dev.redlock.".length()))
                // Tests that load changed classes register the events of each copy.
                .distinct()
                .sorted()
                .toList();
        assertEquals(NAMES.stream().sorted().toList(), registered);
    }
}
