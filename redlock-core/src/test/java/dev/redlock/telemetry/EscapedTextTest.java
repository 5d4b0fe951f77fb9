package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.RedlockLock;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.Lease;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Text of servers and users in logs, problems, messages and toString: one short line each, without control characters.
 */
class EscapedTextTest extends VirtualTest {

    /** A fake log line, a terminal escape sequence, and right-to-left text. */
    private static final String EVIL = "WORD\nINFO: all is well\r\u001b[2J\u009b31m\u202e\u2028\u2029\u0000";
    private static final int SHOWN_MAX = 1_600;

    private static final Logger LOG = Logger.getLogger("dev.redlock");
    private final List<String> lines = new ArrayList<>();
    private Level level;
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            lines.add(new SimpleFormatter().formatMessage(record));
        }

        @Override
        public void flush() {
            // Nothing is buffered.
        }

        @Override
        public void close() {
            // There is nothing to close.
        }
    };

    @BeforeEach
    void listen() {
        level = LOG.getLevel();
        LOG.setLevel(Level.ALL);
        LOG.setUseParentHandlers(false);
        LOG.addHandler(handler);
    }

    @AfterEach
    void stopListening() {
        LOG.removeHandler(handler);
        LOG.setUseParentHandlers(true);
        LOG.setLevel(level);
    }

    private static void assertFitForPeople(String text) {
        assertNotNull(text);
        assertTrue(text.length() <= SHOWN_MAX, text.length() + " characters: " + text);
        text.codePoints().forEach(c -> assertFalse(switch (Character.getType(c)) {
            case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE ->
                true;
            default -> false;
        }, "U+" + Integer.toHexString(c) + " in " + text));
    }

    private static void assertMessageFit(Throwable thrown) {
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            assertFitForPeople(cause.getMessage());
        }
    }

    private static RespValue error(String text) {
        return RespValue.text(RespType.BULK_ERROR, text);
    }

    // ---- text of servers --------------------------------------------------------------------------------------------

    /** For any reply to the handshake, the reported problem is one short line. */
    @ParameterizedTest
    @ValueSource(strings = {"HELLO", "INFO server", "INFO replication", "TIME", "SCRIPT"})
    void aServerErrorIsLoggedOnOneShortLine(String command) {
        for (String code : new String[]{"", "LOADING", "BUSY", "NOAUTH"}) {
            for (String evil : new String[]{EVIL, EVIL + " " + EVIL, EVIL + "x".repeat(900_000)}) {
                assertShown(command, error(code + evil));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"HELLO", "INFO server", "INFO replication", "TIME", "SCRIPT", "CLIENT"})
    void aNestedReplyIsLoggedOnOneShortLine(String command) {
        List<RespValue> wide = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            wide.add(RespValue.bulk(EVIL + "x".repeat(3_000)));
        }
        assertShown(command, RespValue.aggregate(RespType.ARRAY, wide));
        assertShown(command, RespValue.bulk(EVIL + "x".repeat(900_000)));
        assertShown(command, RespValue.bulk("x".repeat(1_100_000)));
        assertShown(command, RespValue.array(RespValue.bulk(EVIL), RespValue.bulk(EVIL)));
    }

    @Test
    void aRoleIsLoggedOnOneShortLine() {
        for (String role : new String[]{"slave\n" + EVIL.replace("\r", ""), "r".repeat(900_000)}) {
            String problem = assertShown("INFO replication", RespValue.bulk("role:" + role + "\r\n"));
            assertTrue(problem.startsWith("the server's role is "), problem);
        }
    }

    private String assertShown(String command, RespValue answer) {
        world = new VirtualWorld(1);
        lines.clear();
        node(0).redis().answer(command, answer);
        VirtualWorld.Client client = client();
        assertAllShown(client);
        node(0).breakConnections();
        world.runMs(10);
        assertAllShown(client);
        String problem = status(client, 0).problem();
        world.end();
        return problem;
    }

    private void assertAllShown(VirtualWorld.Client client) {
        NodeStatus status = status(client, 0);
        if (status.problem() != null) {
            assertFitForPeople(status.problem());
        }
        assertFitForPeople(status.toString());
        assertFitForPeople(client.redlock().toString());
        lines.forEach(EscapedTextTest::assertFitForPeople);
    }

    /** Replies that are no RESP, and replies that no lock command returns. */
    @ParameterizedTest
    @ValueSource(strings = {"\u001b[2J\n", "+x\ny\r\n", ":1\u001b\r\n", "$99999999\r\n", "-ERR \u001b[2J\r\n",
        "*2\r\n$1\r\n\u0007\r\n$1\r\n\n\r\n", ":\u009b\r\n"})
    void aMalformedReplyIsLoggedOnOneShortLine(String bytes) {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.pause());
        acquireAsync(client, options());
        world.settle();
        node(0).sendRaw(bytes);
        world.settle();
        assertAllShown(client);
        eachNode(node -> node.resume());
        world.runMs(1_000);
    }

    /** The client reports an error of a lock command as a known kind, without the text of the server. */
    @Test
    void errorsOfLockCommandsAreReportedByTheirKind() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().answer("SET", error(EVIL + "x".repeat(900_000))));
        AcquireOutcome outcome = acquire(client, options());
        assertFitForPeople(outcome.toString());
        assertFitForPeople(outcome.voteText(0));
        assertAllShown(client);
    }

    // ---- text of users ----------------------------------------------------------------------------------------------

    @Test
    void aResourceIsPrintedOnOneShortLine() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        for (String resource : new String[]{EVIL, EVIL + "x".repeat(470)}) {
            ResourceKey key = client.redlock().key(resource);
            assertEquals(resource, key.resource(), "the name itself");
            assertFitForPeople(key.toString());
            Lease lease = acquired(get(client.redlock().acquireAsync(key, options())));
            assertEquals(resource, lease.resource(), "the name itself");
            assertFitForPeople(lease.toString());
            assertMessageFit(assertThrows(IllegalStateException.class, lease::fencingToken));
            AcquireOutcome refused = get(client.redlock().acquireAsync(key, options()));
            assertFitForPeople(refused.toString());
            assertMessageFit(assertThrows(IllegalStateException.class, refused::lease));
            assertMessageFit(assertThrows(IllegalStateException.class,
                    () -> client.redlock().acquire(key, options(), lease, outcome -> {
                    })));
            RedlockLock lock = client.redlock().asLock(resource, options());
            assertFitForPeople(lock.toString());
            assertMessageFit(assertThrows(IllegalMonitorStateException.class, lock::lease));
            release(lease);
            // Not on this thread, which runs the event loop.
            assertMessageFit(CompletableFuture.supplyAsync(() -> {
                Thread.currentThread().interrupt();
                return assertThrows(InterruptedException.class, () -> client.redlock().acquire(resource, TTL));
            }).join());
        }
    }

    @Test
    void aThreadNameIsPrintedOnOneShortLine() {
        RedlockLock lock = world(3).redlock().asLock("orders", options());
        Thread thread = Thread.currentThread();
        String name = thread.getName();
        thread.setName(EVIL + "x".repeat(12_000_000));
        try {
            assertMessageFit(assertThrows(IllegalMonitorStateException.class, lock::unlock));
        } finally {
            thread.setName(name);
        }
    }

    @Test
    void errorsForTooLongValuesAreOneShortLine() {
        VirtualWorld.Client client = world(3);
        String huge = EVIL + "x".repeat(12_000_000);
        assertMessageFit(assertThrows(IllegalArgumentException.class, () -> client.redlock().key(huge)));
        assertMessageFit(assertThrows(IllegalArgumentException.class,
                () -> client.redlock().acquireAsync(huge, options())));
        assertMessageFit(assertThrows(IllegalArgumentException.class, () -> new RedlockContext().clientName(huge)));
        assertMessageFit(assertThrows(IllegalArgumentException.class, () -> new RedlockContext().nodes(huge)));
        assertMessageFit(assertThrows(IllegalArgumentException.class, () -> new RedlockContext().nodes(huge + ":1")));
        assertMessageFit(assertThrows(IllegalArgumentException.class,
                () -> new RedlockContext().nodes("redis://a:" + huge + "@h")));
        assertMessageFit(assertThrows(IllegalArgumentException.class,
                () -> new RedlockContext().nodes("unix:///" + huge)));
    }

    /** The report has the names themselves, for programs; the log has them escaped, once. */
    @Test
    void unreleasedResourcesAreLoggedOnOneShortLine() {
        VirtualWorld.Client client = world(3);
        List<String> resources = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            resources.add(EVIL + i);
            acquired(get(client.redlock().acquireAsync(EVIL + i, options())));
        }
        eachNode(node -> node.pause());
        client.redlock().close();
        client.redlock().close();
        world.runMs(10_000);
        client.redlock().close();
        assertEquals(1, lines.stream().filter(line -> line.startsWith("closed without")).count(), lines::toString);
        CompletableFuture<CloseReport> closed = client.engine().close(Duration.ZERO);
        world.runMs(1);
        CloseReport report = closed.join();
        assertTrue(report.unreleased().containsAll(resources), "the names themselves");
        assertTrue(lines.get(lines.size() - 1).contains("... (20 more)"), lines.get(lines.size() - 1));
        for (String text : List.of(lines.get(lines.size() - 1), report.toString())) {
            assertTrue(text.length() < 20 * 200, text.length() + " characters");
            assertFalse(text.chars().anyMatch(c -> c < ' ' || c == 0x9b || c == 0x202e || c == 0x2028), text);
        }
    }
}
