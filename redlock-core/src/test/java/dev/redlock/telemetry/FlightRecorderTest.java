package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The flight recorder: its text, its reports, its limits, and dumps at any time. */
class FlightRecorderTest extends VirtualTest {

    private static List<String> lines(VirtualWorld.Client client) {
        return client.redlock().flightRecord().lines().toList();
    }

    private static void assertLine(List<String> lines, String regex) {
        assertTrue(lines.stream().anyMatch(line -> line.matches(" +-?\\d+\\.\\d{3} ms  " + regex)),
                () -> "no line " + regex + " in\n" + String.join("\n", lines));
    }

    private static void assertOrder(List<String> lines, String... parts) {
        int next = 0;
        for (String line : lines) {
            next += next < parts.length && line.contains(parts[next]) ? 1 : 0;
        }
        String missing = next < parts.length ? parts[next] : "";
        assertEquals(parts.length, next, () -> "no \"" + missing + "\" in its place in\n" + String.join("\n", lines));
    }

    /** Every request and reply takes 100 us. */
    private VirtualWorld.Client slowLinks(RedlockContext context) {
        eachNode(node -> node.delay(() -> 100_000));
        VirtualWorld.Client client = client(context);
        world.runMs(1_100);
        return client;
    }

    private VirtualWorld.Client slowLinks() {
        world = new VirtualWorld(3);
        return slowLinks(context());
    }

    @Test
    void aLockIsAStoryWithTimes() {
        VirtualWorld.Client client = slowLinks();
        release(lease(client));
        world.runMs(500);
        List<String> lines = lines(client);
        assertTrue(lines.get(0).matches("event loop 0: \\d+ events, 0 earlier ones overwritten; times are before now"),
                lines.get(0));
        assertOrder(lines, "orders #1  attempt, asks node-0:1, node-1:1, node-2:1", "orders #1  node-",
                "orders #1  node-",
                "orders #1  acquired after 0.200 ms, valid for 98", "orders #1  release starts",
                "orders #1  release ended after 0.200 ms: RELEASED");
        assertLine(lines, "orders #1  node-2:1 granted after 0\\.200 ms");
        assertTrue(lines.contains("    -500.000 ms  orders #1  release ended after 0.200 ms: RELEASED"),
                lines::toString);
        assertLine(lines, "node-0:1  HANDSHAKING -> QUARANTINED");
        assertLine(lines, "node-0:1  QUARANTINED -> READY");
    }

    @Test
    void aRefusedAttemptHasItsVotesAndErrors() {
        VirtualWorld.Client client = slowLinks();
        Lease holder = lease(client);
        VirtualWorld.Client other = client();
        node(0).redis().failNext("SET", "OOM command not allowed", 1);
        node(2).crash();
        world.runMs(5);
        acquire(other, options());
        world.runMs(1);
        List<String> lines = lines(other);
        assertLine(lines, "orders #1  node-0:1 failed after 0\\.200 ms: OOM");
        assertLine(lines, "orders #1  node-1:1 refused after 0\\.200 ms");
        assertLine(lines, "orders #1  node-2:1 failed after 0\\.000 ms: not connected");
        assertLine(lines, "orders #1  attempt failed after 0\\.200 ms: (CONTENDED|NO_QUORUM)");
        assertLine(lines, "orders  not acquired after 0\\.\\d+ ms: (CONTENDED|NO_QUORUM)");
        assertLine(lines, "node-2:1  READY -> WAITING: the server closed the connection");
        release(holder);
    }

    /** It has no attempt, so there is no time to measure. */
    @Test
    void anAcquisitionBeyondTheLimitOfAttemptsEndsAtOnce() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = slowLinks(context().inFlightMax(1));
        CompletableFuture<AcquireOutcome> first = acquireAsync(client, options());
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, options());
        acquired(get(first));
        assertEquals(AcquireOutcome.Kind.OVERLOADED, get(second).kind());
        assertLine(lines(client), "orders  not acquired after 0\\.000 ms: OVERLOADED");
    }

    /** Returns the time of an event before now, in microseconds. */
    private static long timeUs(String line) {
        return Math.round(Double.parseDouble(line.substring(0, line.indexOf(" ms"))) * 1_000);
    }

    /** Each reading of the clock takes a microsecond, so an event with the time of another one is visible. */
    @Test
    void eachEventHasATimeOfItsOwn() {
        world = new VirtualWorld(5);
        VirtualWorld.Client client = slowLinks(context().thriftyQuorums(true));
        VirtualWorld.Client other = client();
        world.runMs(3_000);
        int earlier = lines(client).size();
        client.clockListener(() -> client.stall(1_000));
        Lease unanswered = lease(client);
        extend(unanswered, Duration.ofSeconds(20));
        eachNode(FakeNode::pause);
        assertEquals(ReleaseOutcome.UNKNOWN, release(unanswered));
        acquire(client, options());
        eachNode(FakeNode::resume);
        world.runMs(1_000);
        Lease deleted = lease(client);
        eachNode(node -> node.redis().delete("orders"));
        assertEquals(ReleaseOutcome.EXPIRED, release(deleted));
        Lease holder = lease(other);
        node(1).pushInvalidation(client::isNamed, "nobody");
        world.runMs(1);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(TTL));
        world.runMs(8_000);
        release(holder);
        acquired(get(waiting));
        eachNode(node -> node.redis().clockJump(3_600_000));
        world.runMs(2_000);
        List<String> lines = lines(client);
        assertOrder(lines, "acquired", "extension by", "extension ended", "release starts", "UNKNOWN", "also asks",
                "no answer", "attempt failed", "not acquired", "did not hold", "EXPIRED", "wakes nobody",
                "no push came", "wakes the first waiter", "is no holder any more", "the lease is LOST");
        for (int i = earlier + 1; i < lines.size(); i++) {
            String both = lines.get(i - 1) + "\n" + lines.get(i);
            assertTrue(timeUs(lines.get(i - 1)) < timeUs(lines.get(i)), both);
        }
    }

    /** A record is not worth the failure of a lock. */
    @Test
    void anEventWhoseClockThrowsHasTheTimeOfTheOneBefore() {
        VirtualWorld.Client client = slowLinks();
        Lease lease = lease(client);
        world.runMs(10);
        client.clockListener(() -> {
            boolean isForRecord = StackWalker.getInstance()
                    .walk(frames -> frames.anyMatch(frame -> frame.getClassName().endsWith(".LoopTelemetry")));
            if (isForRecord) {
                throw new IllegalStateException("on purpose");
            }
        });
        node(1).pushInvalidation(client::isNamed, "nobody");
        world.runMs(10);
        client.clockListener(() -> {
        });
        List<String> lines = lines(client);
        String last = lines.get(lines.size() - 1);
        assertTrue(last.contains("a push of node-1:1 wakes nobody"), last);
        assertEquals(timeUs(lines.get(lines.size() - 2)), timeUs(last));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    @Test
    void aSilentNodeIsNamedAtTheTimeout() {
        VirtualWorld.Client client = slowLinks();
        node(0).pause();
        node(1).pause();
        acquire(client, options());
        assertLine(lines(client), "orders #1  no answer within the node timeout from node-0:1, node-1:1");
        node(0).resume();
        node(1).resume();
        world.runMs(10);
        assertLine(lines(client), "orders #1  node-0:1 granted after \\d\\d\\.\\d{3} ms");
    }

    @Test
    void aNodeWhoseReplyIsLostHasAnUnknownVote() {
        VirtualWorld.Client client = slowLinks();
        eachNode(FakeNode::pause);
        CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, options());
        world.runMs(5);
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(acquiring).kind());
        List<String> lines = lines(client);
        assertLine(lines, "orders #1  node-0:1 has an unknown vote after 5\\.\\d{3} ms: connection lost .*");
        assertLine(lines, "orders #1  attempt failed after 5\\.\\d{3} ms: NO_QUORUM");
    }

    @Test
    void aPushForNobodyIsShownWithoutName() {
        VirtualWorld.Client client = slowLinks();
        node(1).pushInvalidation(client::isNamed, "nobody");
        world.runMs(3);
        assertLine(lines(client), "a lock without waiters  a push of node-1:1 wakes nobody");
    }

    @Test
    void waitingShowsPushesAndBackstops() {
        VirtualWorld.Client client = slowLinks();
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().waitUpTo(Duration.ofSeconds(60)));
        world.runMs(8_000);
        release(holder);
        release(acquired(get(waiting)));
        List<String> lines = lines(other);
        assertOrder(lines, "attempt failed", "orders  no push came: the first waiter tries again",
                "orders  a push of node-",
                "acquired after", "release ended");
        assertLine(lines, "orders  a push of node-\\d:1 wakes the first waiter");
    }

    @Test
    void extensionsAndLossesAreShown() {
        VirtualWorld.Client client = slowLinks();
        world.runMs(3_000);
        Lease lease = lease(client);
        extend(lease, Duration.ofSeconds(20));
        node(0).redis().clockJump(3_600_000);
        node(1).redis().clockJump(3_600_000);
        world.runMs(2_000);
        assertEquals(LeaseState.LOST, lease.state());
        assertOrder(lines(client), "orders #1  extension by 20000 ms starts", "orders #1  extension ended: EXTENDED",
                "is no holder any more: the clock of a node jumped",
                "is no holder any more: the clock of a node jumped",
                "orders #1  the lease is LOST after");
        assertLine(lines(client), "orders #1  the lease is LOST after 1?\\d{1,3}\\.\\d{3} ms");
    }

    @Test
    void aNodeThatWasNoHolderIsNotDropped() {
        VirtualWorld.Client client = slowLinks();
        world.runMs(3_000);
        node(2).redis().set("orders", "foreign", 60_000);
        Lease lease = lease(client);
        node(2).redis().clockJump(3_600_000);
        world.runMs(2_000);
        assertEquals(LeaseState.HELD, lease.state());
        List<String> lines = lines(client);
        assertOrder(lines, "orders #1  node-2:1 refused", "node-2:1  READY -> QUARANTINED");
        assertTrue(lines.stream().noneMatch(line -> line.contains("is no holder any more")),
                () -> String.join("\n", lines));
    }

    /** The lock is released twice: for its holder, and on the nodes. */
    @Test
    void aKeptLockIsShown() {
        VirtualWorld.Client client = slowLinks();
        Lease lease = acquired(acquire(client, options().holdAtLeast(Duration.ofSeconds(1))));
        assertEquals(ReleaseOutcome.KEPT, release(lease));
        assertOrder(lines(client), "orders #1  acquired", "orders #1  release starts",
                "orders #1  release ended after 0.000 ms: KEPT");
        world.runMs(1_100);
        assertOrder(lines(client), "release ended after 0.000 ms: KEPT", "orders #1  release starts",
                "orders #1  release ended after 0.200 ms: RELEASED");
    }

    @Test
    void aRecordHasNoTokens() {
        VirtualWorld.Client client = slowLinks();
        Lease lease = lease(client);
        String token = TestEngine.valueOf(lease);
        release(lease);
        assertFalse(client.redlock().flightRecord().contains(token));
    }

    /** Names are escaped, so that one event stays one line. */
    @Test
    void aHostileNameStaysInItsLine() {
        VirtualWorld.Client client = slowLinks();
        get(client.redlock().acquireAsync("a\nb\u001b[31m", options()));
        assertTrue(lines(client).stream().anyMatch(line -> line.contains("a\\nb\\u001b[31m #1  attempt")),
                client.redlock()::flightRecord);
    }

    @Test
    void theRingIsBoundedAndOldNamesAreMarked() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = slowLinks(context().flightRecorderEvents(8));
        for (int i = 0; i < 20; i++) {
            release(lease(client));
        }
        List<String> lines = lines(client);
        assertEquals(1 + 7, lines.size(), lines::toString);
        assertTrue(lines.get(0).matches("event loop 0: 7 events, \\d\\d\\d earlier ones overwritten; .*"),
                lines.get(0));
        assertLine(lines, "orders #20  release ended after 0\\.200 ms: RELEASED");
    }

    /** A ring of keys with long names could fill the heap. */
    @Test
    void longNamesAreNotKept() {
        VirtualWorld.Client client = slowLinks();
        String name = "n".repeat(129);
        release(acquired(get(client.redlock().acquireAsync(name, options()))));
        release(acquired(get(client.redlock().acquireAsync(name.substring(1), options()))));
        List<String> lines = lines(client);
        assertFalse(lines.toString().contains(name), "the name of 129 bytes");
        assertLine(lines, "\\(a name of more than 128 bytes\\) #1  attempt, asks .*");
        assertLine(lines, name.substring(1) + " #2  attempt, asks .*");
    }

    @Test
    void itCanBeSwitchedOff() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().flightRecorderEvents(0)
                .slowAcquireThreshold(Duration.ZERO)
                .flightRecordListener(text -> {
                    throw new AssertionError(text);
                }));
        release(lease(client));
        assertEquals("", client.redlock().flightRecord());
    }

    @Test
    void aRecordCanBeTakenOnTheLoopAndAfterTheClose() {
        VirtualWorld.Client client = slowLinks();
        List<String> inCallback = new ArrayList<>();
        Lease lease = client.redlock().newLease();
        client.redlock()
                .acquire(client.redlock().key("orders"), options(), lease,
                        outcome -> inCallback.add(client.redlock().flightRecord()));
        world.runMs(10);
        assertTrue(inCallback.get(0).contains("orders #1  acquired"), inCallback::toString);
        CompletableFuture<CloseReport> closed = client.engine().close(Duration.ofMillis(100));
        world.settle();
        assertTrue(client.redlock().flightRecord().contains("orders #1  release starts"), "during the close");
        get(closed);
        assertLine(lines(client), "orders #1  release ended after 0\\.200 ms: RELEASED");
        assertLine(lines(client), "node-0:1  DRAINING -> CLOSED");
    }

    // ---- reports ----------------------------------------------------------------------------------------------------

    private final List<String> reports = new ArrayList<>();

    @Test
    void aSlowAcquireIsReportedWithItsLockOnly() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = slowLinks(
                context().slowAcquireThreshold(Duration.ofMillis(20)).flightRecordListener(reports::add));
        release(acquired(get(client.redlock().acquireAsync("fast", options()))));
        assertEquals(List.of(), reports);
        eachNode(node -> node.delay(() -> 15_000_000));
        release(lease(client));
        assertEquals(1, reports.size(), reports::toString);
        String report = reports.get(0);
        assertTrue(report.startsWith(
                "flight record of orders: an acquisition took 30 ms and ended as ACQUIRED\n"), report);
        assertTrue(report.contains("orders #2  node-0:1 granted after 30.000 ms"), report);
        assertTrue(report.contains("node-0:1  QUARANTINED -> READY"), report);
        assertFalse(report.contains("fast"), report);
    }

    @Test
    void aTimedOutAcquireIsSlowToo() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = slowLinks(
                context().slowAcquireThreshold(Duration.ofMillis(150)).flightRecordListener(reports::add));
        lease(client);
        acquire(client, options().waitUpTo(Duration.ofMillis(200)));
        assertEquals(1, reports.size(), reports::toString);
        assertTrue(reports.get(0).contains("took 200 ms and ended as TIMED_OUT"), reports::toString);
    }

    @Test
    void reportsAreAtMostOnePerSecond() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = slowLinks(
                context().slowAcquireThreshold(Duration.ZERO).flightRecordListener(reports::add));
        for (int i = 0; i < 10; i++) {
            release(lease(client));
        }
        assertEquals(1, reports.size());
        world.runMs(1_000);
        release(lease(client));
        assertEquals(2, reports.size());
        assertTrue(reports.get(1).contains("; 9 reports were left out before this one\n"), reports.get(1));
    }

    /** A slow acquisition a moment before does not hide a loss. */
    @Test
    void aLossIsReportedBesideASlowAcquisition() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = slowLinks(
                context().slowAcquireThreshold(Duration.ZERO).flightRecordListener(reports::add));
        world.runMs(3_000);
        Lease lost = acquired(get(client.redlock().acquireAsync("lost", options()).toCompletableFuture()));
        eachNode(node -> node.redis().clockJump(3_600_000));
        world.await("lost", 2_000, () -> {
            AcquireOutcome slow = get(client.redlock().acquireAsync("slow", options()).toCompletableFuture());
            if (slow.isAcquired()) {
                release(slow.lease());
            }
            return lost.state() == LeaseState.LOST;
        });
        world.runMs(1_500);
        assertTrue(reports.stream().anyMatch(report -> report.startsWith("flight record of lost: a lease is lost")),
                reports::toString);
    }

    @Test
    void lossesThatAreLeftOutFollowInOneLine() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = slowLinks(context().flightRecordListener(reports::add));
        world.runMs(3_000);
        for (String resource : List.of("a", "b", "c")) {
            acquired(get(client.redlock().acquireAsync(resource, options()).toCompletableFuture()));
        }
        eachNode(node -> node.redis().clockJump(3_600_000));
        world.await("a report", 2_000, () -> !reports.isEmpty());
        world.runMs(500);
        assertEquals(1, reports.size(), reports::toString);
        world.runMs(2_000);
        assertEquals(2, reports.size(), reports::toString);
        assertTrue(reports.get(1)
                .matches("flight record: 2 more leases were lost within a second; the last one is of"
                        + " [abc]: .*clock.*\n"),
                reports.get(1));
    }

    /** Each acquisition takes 200 us. */
    @Test
    void theThresholdIsSlowAndAReportIsDueAfterASecond() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = slowLinks(
                context().slowAcquireThreshold(Duration.ofNanos(200_000)).flightRecordListener(reports::add));
        long startNs = world.nowNs();
        release(lease(client));
        assertEquals(1, reports.size());
        world.runUntilNs(startNs + 999_000_000);
        release(lease(client));
        assertEquals(1, reports.size());
        world.runUntilNs(startNs + 1_000_000_000);
        release(lease(client));
        assertEquals(2, reports.size());
    }

    @Test
    void aLostLeaseIsLoggedByDefault() {
        VirtualWorld.Client client = slowLinks();
        world.runMs(3_000);
        Lease lease = lease(client);
        try (LogLines log = new LogLines()) {
            eachNode(node -> node.redis().clockJump(3_600_000));
            world.runMs(2_000);
            assertEquals(LeaseState.LOST, lease.state());
            List<String> lines = log.with("flight record of orders");
            assertEquals(1, lines.size(), lines::toString);
            assertTrue(lines.get(0).contains("a lease is lost, the clock of a node jumped\n"), lines::toString);
            assertTrue(lines.get(0).contains("orders #1  the lease is LOST after"), lines::toString);
        }
    }

    /** Many attempts of others, and a node that comes and goes, hide neither the lease nor the nodes. */
    @Test
    void aReportHasAtMostFortyLinesOfEvents() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = slowLinks(
                context().flightRecordListener(reports::add).flightRecorderEvents(1 << 14));
        world.runMs(3_000);
        for (int i = 0; i < 30; i++) {
            node(2).crash();
            world.runMs(500);
            node(2).restart(true);
            world.runMs(500);
        }
        Lease lease = lease(client);
        for (int i = 0; i < 300; i++) {
            acquire(client, options());
        }
        eachNode(node -> node.redis().clockJump(3_600_000));
        world.runMs(2_000);
        assertEquals(LeaseState.LOST, lease.state());
        assertEquals(1, reports.size(), reports::toString);
        List<String> lines = reports.get(0).lines().toList();
        assertEquals(2 + 40, lines.size(), reports.get(0));
        assertTrue(lines.get(1)
                .matches("40 of the \\d{4} events of this lock and of the nodes among the last \\d{4}; "
                        + "Redlock.flightRecord\\(\\) returns all"),
                lines.get(1));
        assertOrder(lines, "orders #1  attempt, asks", "orders #1  node-1:1 granted after 0.200 ms",
                "orders #1  acquired after 0.200 ms", "is no holder any more", "orders #1  the lease is LOST after");
        assertTrue(lines.stream().filter(line -> line.contains("  node-") && line.contains(" -> ")).count() >= 8,
                reports.get(0));
    }

    /** The event loop writes a report, while the ring may have 2^20 events. */
    @Test
    void aReportReadsTheLastEventsOfALargeRing() {
        world = new VirtualWorld(3);
        int eventCount = 1 << 14;
        VirtualWorld.Client client = slowLinks(
                context().flightRecordListener(reports::add).flightRecorderEvents(eventCount));
        world.runMs(3_000);
        Lease lease = lease(client);
        for (int i = 0; i < eventCount / 4; i++) {
            acquire(client, options());
        }
        assertEquals(eventCount, lines(client).size(), "the user gets all events, after one line");
        eachNode(node -> node.redis().clockJump(3_600_000));
        world.await("the report", 2_000, () -> !reports.isEmpty());
        assertEquals(LeaseState.LOST, lease.state());
        List<String> report = reports.get(0).lines().toList();
        assertTrue(report.get(1)
                .matches("40 of the \\d{4} events of this lock and of the nodes among the last 4096; .*"),
                report.get(1));
        assertOrder(report, "is no holder any more", "orders #1  the lease is LOST after");
    }

    /** The state is complete before the listener runs, so it may throw and use the client. */
    @Test
    void aHostileListenerHarmsNothing() {
        world = new VirtualWorld(3);
        List<AcquireOutcome.Kind> inner = new ArrayList<>();
        VirtualWorld.Client[] client = new VirtualWorld.Client[1];
        client[0] = slowLinks(context().slowAcquireThreshold(Duration.ZERO).flightRecordListener(text -> {
            client[0].redlock().acquireAsync("inner", options()).thenAccept(outcome -> inner.add(outcome.kind()));
            throw new IllegalStateException("from the listener");
        }));
        try (LogLines log = new LogLines()) {
            release(lease(client[0]));
            world.runMs(10);
            assertEquals(1, log.with("the flight record listener threw; the client continues").size());
        }
        assertEquals(List.of(AcquireOutcome.Kind.ACQUIRED), inner);
        clearRecordedExceptions();
    }
}
