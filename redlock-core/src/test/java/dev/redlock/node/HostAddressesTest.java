package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.transport.NodeAddress;
import io.netty.channel.local.LocalAddress;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class HostAddressesTest {

    private static final NodeAddress NODE = NodeAddress.parse("redis.example:6379");
    private static final long MS = 1_000_000;
    private static final SocketAddress A = new LocalAddress("a");
    private static final SocketAddress B = new LocalAddress("b");
    private static final SocketAddress C = new LocalAddress("c");
    private static final List<SocketAddress> ALL = List.of(A, B, C);

    private final HostAddresses addresses = new HostAddresses(NODE, 1_000 * MS);

    /** The order of a try in which each address fails. */
    private List<SocketAddress> failAll(List<SocketAddress> found) {
        addresses.start(found, 0);
        List<SocketAddress> order = new ArrayList<>();
        for (SocketAddress next = addresses.next(); next != null; next = addresses.next()) {
            order.add(next);
            addresses.onFailure("refused: " + next, false);
        }
        return order;
    }

    private void connectTo(SocketAddress wanted) {
        addresses.start(ALL, 0);
        for (SocketAddress next = addresses.next(); !next.equals(wanted); next = addresses.next()) {
            addresses.onFailure("refused", false);
        }
        addresses.onHandshake();
        addresses.onEnd();
    }

    @Test
    void theResolversOrderCountsUntilAnAddressWorks() {
        assertEquals(ALL, failAll(ALL));
        assertEquals(ALL, failAll(ALL), "the oldest failure first");
        assertEquals(ALL, failAll(List.of(C, B, A)), "whatever the resolver's order is now");
    }

    @Test
    void theLastGoodAddressIsFirstAndAFailedOneLast() {
        connectTo(B);
        assertEquals(List.of(B, A, C), failAll(ALL));
        connectTo(C);
        addresses.start(ALL, 0);
        assertEquals(C, addresses.next());
        addresses.onEnd();
        assertTrue(addresses.hasUntried());
        assertEquals(List.of(A, B, C), failAll(ALL), "its server failed in the handshake");
        assertFalse(addresses.hasUntried());
    }

    @Test
    void aConnectionThatEndsAfterItsHandshakeIsNoFailureOfItsAddress() {
        connectTo(B);
        connectTo(B);
        assertTrue(addresses.hasUntried());
        assertEquals(List.of(B, A, C), failAll(ALL));
    }

    @Test
    void anAddressThatIsGoneIsForgotten() {
        failAll(ALL);
        failAll(List.of(A));
        assertEquals(List.of(B, A), failAll(List.of(A, B)), "B counts as new");
        connectTo(C);
        assertEquals(List.of(A, B), failAll(List.of(A, B)));
    }

    @Test
    void theTimeThatIsLeftIsShared() {
        addresses.start(ALL, 5 * MS);
        addresses.next();
        assertEquals(5 * MS + 1_000 * MS / 3, addresses.deadlineNs(5 * MS));
        addresses.onFailure("refused", false);
        addresses.next();
        assertEquals(506 * MS, addresses.deadlineNs(7 * MS), 1 * MS);
        addresses.onFailure("refused", false);
        addresses.next();
        assertEquals(1_005 * MS, addresses.deadlineNs(9 * MS));
    }

    @Test
    void aShareIsNeverTooShortForADistantNodeNorLongerThanTheTimeout() {
        addresses.start(IntStream.range(0, 100).mapToObj(i -> new LocalAddress("n" + i)).toList(), 0);
        int count = 0;
        for (long nowNs = 0; addresses.next() != null; nowNs = addresses.deadlineNs(nowNs)) {
            count++;
            assertEquals(nowNs + HostAddresses.SHARE_NS_MIN, addresses.deadlineNs(nowNs));
        }
        assertEquals(HostAddresses.TRIED_MAX, count);
        HostAddresses hasty = new HostAddresses(NODE, 20 * MS);
        hasty.start(ALL, 0);
        hasty.next();
        assertEquals(20 * MS, hasty.deadlineNs(0));
    }

    @Test
    void theTextsNameTheAddressesWithoutTheirPorts() throws UnknownHostException {
        SocketAddress four = new InetSocketAddress(
                InetAddress.getByAddress("redis.example", new byte[]{10, 0, 0, 1}), 6379);
        SocketAddress six = new InetSocketAddress(InetAddress.getByName("fd00::1"), 6379);
        addresses.start(List.of(four, six), 0);
        assertEquals(four, addresses.next());
        addresses.onFailure("connection failed: Connection refused: redis.example/10.0.0.1:6379", true);
        addresses.next();
        assertEquals(" (at fd00:0:0:0:0:0:0:1, one of the 2 addresses of redis.example)", addresses.place());
        assertEquals("10.0.0.1: connection failed: Connection refused; connected to fd00:0:0:0:0:0:0:1, one of the 2"
                + " addresses of redis.example", addresses.skipped());
        addresses.onFailure("connection failed: no answer in 500 ms: " + six, false);
        assertEquals("none of the 2 addresses of redis.example can be used: 10.0.0.1: connection failed: Connection"
                + " refused; fd00:0:0:0:0:0:0:1: connection failed: no answer in 500 ms", addresses.failure());
        assertFalse(addresses.areAllRejected());
        assertEquals("", addresses.place());
    }

    @Test
    void oneAddressHasTheTextThatItAlwaysHad() {
        addresses.start(List.of(A), 0);
        addresses.next();
        assertEquals("", addresses.place());
        assertNull(addresses.skipped());
        addresses.onFailure("refused: local:a", true);
        assertEquals("refused: local:a", addresses.failure());
        assertTrue(addresses.areAllRejected());
    }

    @Test
    void anotherProcessAtAnotherAddressIsAmbiguousWhileBothAreAddressesOfTheName() {
        connectTo(A);
        addresses.start(ALL, 0);
        addresses.next();
        assertNull(addresses.ambiguity(), "a restart");
        addresses.onFailure("refused", false);
        addresses.next();
        assertTrue(addresses.ambiguity().contains("local:b is another process than the one at local:a"));
        addresses.start(List.of(B), 0);
        addresses.next();
        assertNull(addresses.ambiguity(), "the name has moved");
    }
}
