package dev.redlock.loadtest.nodes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NodeAddressTest {
    @Test
    void plainFormHasNoCredentials() {
        NodeAddress address = NodeAddress.parse(" example.org:7001 ");
        assertEquals("example.org", address.host());
        assertEquals(7001, address.port());
        assertEquals("example.org:7001", address.uri());
        assertTrue(address.user().isEmpty() && address.password().isEmpty());
    }

    @Test
    void fullFormKeepsCredentialsOutOfSight() {
        NodeAddress address = NodeAddress.parse("redis://ann:p%40ss+word@127.0.0.1:7001");
        assertEquals("ann", address.user().orElseThrow());
        assertEquals("p@ss+word", address.password().orElseThrow());
        assertEquals("redis://ann:p%40ss+word@127.0.0.1:7001", address.uri());
        assertEquals("127.0.0.1:7001", address.toString());
    }

    @Test
    void passwordAloneHasNoUser() {
        NodeAddress address = NodeAddress.parse("redis://:secret@127.0.0.1:7001");
        assertTrue(address.user().isEmpty());
        assertEquals("secret", address.password().orElseThrow());
    }

    @Test
    void socketFileHasNeitherHostNorPort() {
        NodeAddress address = NodeAddress.parse("unix:///tmp/redis.sock");
        assertTrue(address.isUnixSocket());
        assertEquals("/tmp/redis.sock", address.path());
        assertEquals("unix:///tmp/redis.sock", address.uri());
        assertEquals("unix:///tmp/redis.sock", address.toString());
        assertEquals(address, NodeAddress.parse("unix:///tmp/redis.sock"));
        assertFalse(address.equals(NodeAddress.parse("unix:///tmp/other.sock")));
    }

    @Test
    void credentialsMoveToAnotherPlace() {
        NodeAddress proxy = NodeAddress.of("127.0.0.1", 9000);
        assertEquals("redis://ann:p%40ss@127.0.0.1:9000",
                NodeAddress.parse("redis://ann:p%40ss@host:7001").at(proxy).uri());
        assertEquals("127.0.0.1:9000", NodeAddress.parse("host:7001").at(proxy).uri());
    }

    @Test
    void bracketsGoRoundIpv6() {
        assertEquals("::1", NodeAddress.parse("[::1]:7001").host());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "host", "host:", ":7001", "host:0", "host:65536", "host:70a1", "host:7001/0",
        "http://host:7001", "redis://user@host:7001", "a b:7001", "unix://", "unix://relative"})
    void malformedAddressIsRefusedWithTheRule(String text) {
        IllegalArgumentException error = assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse(text));
        assertTrue(error.getMessage().contains("expected host:port"), error.getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"redis://ann:topsecret@host", "redis://ann:topsecret@host:x", "ann:topsecret@ho st:1",
        "redis://ann:topsecret", "redis://:topsecret", "ann:topsecret", "redis://topsecret",
        "redis://ann:top@topsecret@h",
        "redis://ann:topsecret/@h:1", "redis://ann:to#topsecret@h:1", "redis://topsecret@h:1", "topsecret@h:1",
        "topsecret://@h:1", "unix://ann:topsecret@run", "redis://ann:@topsecret", "redis://ann:%topsecret@h:1"})
    void refusalNeverRepeatsThePassword(String text) {
        IllegalArgumentException error = assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse(text));
        assertFalse(error.getMessage().contains("topsecret"), error.getMessage());
        assertFalse(String.valueOf(error.getCause()).contains("topsecret"));
    }
}
