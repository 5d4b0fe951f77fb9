package dev.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.RespValue;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The plain connection of the program, with a server that does what a test says. */
@Timeout(60)
class AdminClientTest {

    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(50);

    private ServerSocket listening;
    private String address;
    private Socket server;

    @BeforeEach
    void listen() throws IOException {
        listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        address = "127.0.0.1:" + listening.getLocalPort();
    }

    @AfterEach
    void end() throws IOException {
        if (server != null) {
            server.close();
        }
        listening.close();
    }

    private AdminClient connect(Duration timeout) throws IOException {
        AdminClient client = AdminClient.connect(NodeAddress.parse(address), timeout);
        server = listening.accept();
        return client;
    }

    private void reply(String text) throws IOException {
        server.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    @Test
    void repliesOfAllTypesAndPushes() throws IOException {
        try (AdminClient client = connect(LONG)) {
            reply("+OK\r\n>2\r\n+invalidate\r\n_\r\n:7\r\n$2\r\na\n\r\n*2\r\n:1\r\n$-1\r\n-ERR no\r\n");
            List<RespValue> replies = client.sendAll(Collections.nCopies(5, List.of(new byte[]{'A'})));
            assertEquals("OK", replies.get(0).asText());
            assertEquals(7, replies.get(1).asLong());
            assertEquals("a\n", replies.get(2).asText());
            assertEquals(2, replies.get(3).elements().size());
            assertTrue(replies.get(4).isError());
        }
        byte[] sent = server.getInputStream().readAllBytes();
        assertEquals("*1\r\n$1\r\nA\r\n".repeat(5), new String(sent, StandardCharsets.ISO_8859_1));
    }

    /** A reply that comes too late is not that of the next command. */
    @Test
    void aLateReplyIsDropped() throws IOException {
        try (AdminClient client = connect(SHORT)) {
            IOException late = assertThrows(IOException.class, () -> client.call("A"));
            assertEquals("no answer within 50 ms", late.getMessage());
            reply("+of A\r\n");
            assertThrows(IOException.class, () -> client.call("B"));
            reply("+of B\r\n+of C\r\n");
            assertEquals("of C", client.call("C"));
        }
    }

    @Test
    void anEndOfTheConnectionHasAReason() throws IOException {
        try (AdminClient client = connect(LONG)) {
            server.close();
            IOException lost = assertThrows(IOException.class, () -> client.call("A"));
            assertEquals("the connection to /" + address + " is closed: if this is the TLS port of the node, write"
                    + " rediss://" + address, lost.getMessage());
        }
        try (AdminClient client = connect(LONG)) {
            reply("+OK\r\n");
            client.call("A");
            reply("what?\r\n");
            IOException lost = assertThrows(IOException.class, () -> client.call("A"));
            assertEquals("the connection to /" + address + " is closed", lost.getMessage());
            assertThrows(IOException.class, () -> client.call("A"));
        }
    }

    @Test
    void aRefusedConnectionHasAReason() throws IOException {
        listening.close();
        IOException refused = assertThrows(IOException.class,
                () -> AdminClient.connect(NodeAddress.parse(address), LONG));
        assertEquals("cannot connect to " + address + ": Connection refused", refused.getMessage());
    }

    @Test
    void anUnknownHostHasAReasonAndAFix() {
        // RFC 6761: names under .invalid never exist.
        IOException unknown = assertThrows(IOException.class,
                () -> AdminClient.connect(NodeAddress.parse("no-such-host.invalid:1"), LONG));
        assertEquals("cannot connect to no-such-host.invalid:1: host name look-up failed: unknown host"
                + " no-such-host.invalid; check the address and the DNS", unknown.getMessage());
    }

    /** A node that reads nothing does not hold up a client that sends more than the buffers of the sockets. */
    @Test
    void theAddressesOfANameAreTriedInTurn() throws IOException {
        List<SocketAddress> places = List.of(new InetSocketAddress("127.0.0.1", 1), listening.getLocalSocketAddress());
        NodeAddress node = NodeAddress.parse("node.example:1");
        AdminClient.firstOf(places, place -> PlainConnection.open(node, place, 1_000)).close();
        IOException none = assertThrows(IOException.class, () -> AdminClient.firstOf(places, place -> {
            throw new IOException("no way to " + place);
        }));
        assertEquals("no way to " + places.get(0) + "; no way to " + places.get(1), none.getMessage());
    }

    @Test
    void aNodeThatReadsNothingTimesOut() throws IOException {
        List<byte[]> command = List.of(new byte[8_000]);
        try (AdminClient client = connect(SHORT)) {
            assertThrows(IOException.class, () -> client.sendAll(Collections.nCopies(5_000, command)));
        }
    }
}
