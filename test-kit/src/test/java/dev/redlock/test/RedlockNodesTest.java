package dev.redlock.test;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** The kit beyond what real servers can do: moved time, nodes at once, wrong use. */
@Timeout(60)
class RedlockNodesTest {

    private static final Duration MINUTE = Duration.ofMinutes(1);
    /** A busy machine takes longer than the default. */
    private static final Duration SECOND = Duration.ofSeconds(1);

    private final RedlockNodes nodes = RedlockNodes.start(3);

    @AfterEach
    void close() {
        nodes.close();
    }

    @Test
    void freshNodesVoteAtOnceForClientsOfTheirOwnToo() throws InterruptedException {
        try (Redlock redlock = Redlock.connect(nodes.addresses())) {
            assertTrue(redlock.tryAcquire("orders", MINUTE, MINUTE).isAcquired());
        }
        try (RedlockNodes single = RedlockNodes.start(1)) {
            assertTrue(single.connect().tryAcquire("orders", MINUTE).isAcquired(), "also a single one");
        }
    }

    /** Else a test cannot show what its application does. */
    @Test
    void theChoiceOfAContextForTheCloseOfLeasesStays() throws InterruptedException {
        Duration tooLong = Duration.ofSeconds(20);
        Redlock redlock = nodes.connect(new RedlockContext().nodeTimeout(tooLong).closeWaits(false));
        Lease lease = redlock.tryAcquire("orders", MINUTE).lease();
        for (int i = 0; i < 3; i++) {
            nodes.pause(i);
        }
        lease.close();
        assertEquals(LeaseState.RELEASING, lease.state(), "the close has not waited");
        for (int i = 0; i < 3; i++) {
            nodes.resume(i);
        }
        Redlock other = nodes.connect(new RedlockContext().nodeTimeout(tooLong));
        Lease waitedFor = other.tryAcquire("orders", MINUTE, MINUTE).lease();
        waitedFor.close();
        assertEquals(LeaseState.RELEASED, waitedFor.state(), "without a choice");
    }

    @Test
    void timeMovesForBothSidesAndJumpsForNone() throws InterruptedException {
        Redlock redlock = nodes.connect();
        for (int i = 0; i < 5; i++) {
            Lease lease = redlock.tryAcquire("orders", MINUTE).lease();
            nodes.advance(Duration.ofSeconds(30));
            assertTrue(lease.isHeld() && lease.remainingValidity().toSeconds() < 30, lease::toString);
            assertEquals(AcquireOutcome.Kind.CONTENDED, redlock.tryAcquire("orders", MINUTE).kind());
            nodes.advance(Duration.ofSeconds(30));
            assertFalse(lease.isHeld());
        }
        assertTrue(redlock.nodes()
                .stream()
                .allMatch(node -> node.clockJumpCount() == 0
                        && node.disconnectCount() == 0 && node.state() == NodeState.READY),
                () -> redlock.nodes().toString());
    }

    @Test
    void aNodeRestartsManyTimesAtItsAddress() throws InterruptedException {
        Redlock redlock = nodes.connect(nodes.context().restartGuard(RestartGuardMode.OFF));
        String[] before = nodes.addresses();
        for (int i = 0; i < 50; i++) {
            NodeStatus node = redlock.nodes().get(i % 3);
            long disconnects = node.disconnectCount();
            nodes.restart(i % 3);
            KitContract.await(() -> {
                nodes.advance(Duration.ofMillis(20));
                return node.disconnectCount() > disconnects && node.state() == NodeState.READY;
            });
        }
        assertArrayEquals(before, nodes.addresses());
        assertTrue(redlock.tryAcquire("orders", MINUTE).isAcquired());
    }

    @Test
    void anotherCommandIsAnError() throws IOException {
        int port = Integer.parseInt(nodes.addresses()[0].split(":")[1]);
        try (Socket socket = new Socket("127.0.0.1", port);
                BufferedReader in = new BufferedReader(
                        new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))) {
            socket.setSoTimeout(20_000);
            for (String command : new String[]{"*2\r\n$4\r\nINCR\r\n$1\r\nx\r\n",
                "*4\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n1\r\n$1\r\nx\r\n"}) {
                socket.getOutputStream().write(command.getBytes(StandardCharsets.UTF_8));
                assertTrue(in.readLine().startsWith("-ERR "), command);
            }
        }
    }

    @Test
    void wrongUseIsNamed() {
        assertThrows(IllegalArgumentException.class, () -> RedlockNodes.start(0));
        assertThrows(IllegalArgumentException.class, () -> nodes.advance(Duration.ofMillis(-1)));
        assertThrows(IndexOutOfBoundsException.class, () -> nodes.fail(3));
        nodes.close();
        nodes.close();
    }

    @Test
    void closedNodesAreNamed() {
        RedlockContext context = nodes.context();
        nodes.close();
        for (Executable call : List.<Executable>of(nodes::context, nodes::connect, () -> nodes.connect(context),
                () -> nodes.connect(new RedlockContext()), () -> nodes.fail(0), () -> nodes.pause(0),
                () -> nodes.resume(0), () -> nodes.restart(0), () -> nodes.expire("orders"),
                () -> nodes.advance(MINUTE), () -> nodes.advance(Duration.ZERO))) {
            IllegalStateException e = assertThrows(IllegalStateException.class, call);
            assertEquals("the nodes " + Arrays.toString(nodes.addresses())
                    + " are closed: start others with RedlockNodes.start", e.getMessage());
        }
        assertEquals(3, nodes.count());
        assertEquals("RedlockNodes" + Arrays.toString(nodes.addresses()), nodes.toString());
    }

    @Test
    void aContextOfTheApplicationGetsTheNodesAndTheirClock() throws InterruptedException {
        Redlock redlock = nodes.connect(new RedlockContext().maxTtl(Duration.ofMinutes(2)).nodeTimeout(SECOND));
        assertEquals(3, redlock.nodes().size());
        Lease lease = redlock.tryAcquire("orders", Duration.ofMinutes(2)).lease();
        nodes.advance(Duration.ofMinutes(2));
        assertFalse(lease.isHeld());
        assertEquals(0, redlock.nodes().get(0).clockJumpCount());
        nodes.connect(nodes.context());
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                () -> nodes.connect(new RedlockContext().nodes("redis.example.org:6379")));
        assertTrue(e.getMessage().startsWith("the context has nodes of its own: leave nodes(...) out"), e::getMessage);
    }

    @Test
    void aLockExpiresByTheNameThatItsClientUses() throws InterruptedException {
        Redlock redlock = nodes.connect(nodes.context().keyPrefix("app:"));
        Lease lease = redlock.tryAcquire("orders", MINUTE).lease();
        assertTrue(redlock.tryAcquire("jobs", MINUTE).isAcquired());
        assertEquals(AcquireOutcome.Kind.CONTENDED, nodes.connect(nodes.context().keyPrefix("app:"))
                .tryAcquire("orders", MINUTE)
                .kind());
        assertTrue(nodes.expire("orders"));
        assertTrue(redlock.tryAcquire("orders", MINUTE).isAcquired(), "no key is left of " + lease);
        assertTrue(nodes.expire("app:orders"), "the name of the key too");
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> nodes.expire("order"));
        assertEquals("no node has a key of \"order\": give the name of a lock that is held; held are [app:jobs],"
                + " with the key prefixes of their clients", e.getMessage());
    }

    @Test
    void aLockOfAClientThatTheKitDoesNotKnowExpiresByItsKey() throws InterruptedException {
        try (Redlock redlock = Redlock.connect(
                new RedlockContext().nodes(nodes.addresses()).nodeTimeout(SECOND).keyPrefix("app:"))) {
            assertTrue(redlock.tryAcquire("orders", MINUTE).isAcquired());
            IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> nodes.expire("orders"));
            assertTrue(e.getMessage().contains("held are [app:orders], with the key prefixes"), e::getMessage);
            assertTrue(nodes.expire("app:orders"));
            e = assertThrows(IllegalArgumentException.class, () -> nodes.expire("app:orders"));
            assertTrue(e.getMessage().endsWith("; no lock is held"), e::getMessage);
        }
    }
}
