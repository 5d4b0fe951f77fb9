package dev.redlock.trial.nodes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.redlock.transport.NodeAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NodeUrisTest {
    @ParameterizedTest
    @CsvSource({"example.org:7001, example.org:7001", "redis://example.org:7001, example.org:7001",
        "[::1]:7001, [::1]:7001", "unix:///tmp/redis.sock, unix:///tmp/redis.sock",
        "redis://ann:p%40ss+word@127.0.0.1:7001, redis://ann:p%40ss%2Bword@127.0.0.1:7001",
        "redis://ann:two%20words@h:1, redis://ann:two%20words@h:1",
        "redis://:secret@127.0.0.1:7001, redis://:secret@127.0.0.1:7001", "rediss://h:1, rediss://h:1",
        "rediss://ann:p%40ss@h:1, rediss://ann:p%40ss@h:1"})
    void uriKeepsPlaceAndCredentials(String text, String uri) {
        NodeAddress address = NodeAddress.parse(text);
        assertEquals(uri, NodeUris.of(address));
        NodeAddress again = NodeAddress.parse(uri);
        assertEquals(address, again);
        assertEquals(address.user(), again.user());
        assertEquals(address.password(), again.password());
    }

    @Test
    void credentialsMoveToAnotherPlace() {
        NodeAddress proxy = NodeAddress.parse("127.0.0.1:9000");
        NodeAddress moved = NodeUris.at(NodeAddress.parse("redis://ann:p%40ss@host:7001"), proxy);
        assertEquals(proxy, moved);
        assertEquals("redis://ann:p%40ss@127.0.0.1:9000", NodeUris.of(moved));
        assertEquals("rediss://127.0.0.1:9000",
                NodeUris.of(NodeUris.at(NodeAddress.parse("rediss://host:7001"), proxy)));
        assertEquals("127.0.0.1:9000", NodeUris.of(NodeUris.at(NodeAddress.parse("host:7001"), proxy)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"redis://ann:topsecret@host:x", "ann:topsecret@ho st:1", "redis://ann:topsecret",
        "redis://:topsecret", "ann:topsecret", "redis://ann:top@topsecret@h", "redis://ann:topsecret/@h:1",
        "redis://ann:to#topsecret@h:1", "redis://topsecret@h:1", "topsecret@h:1", "topsecret://@h:1",
        "unix://ann:topsecret@run", "redis://ann:%topsecret@h:1"})
    void rejectedAddressNeverShowsThePassword(String text) {
        IllegalArgumentException error = assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse(text));
        assertFalse(error.getMessage().contains("topsecret"), error.getMessage());
        assertFalse(String.valueOf(error.getCause()).contains("topsecret"));
    }
}
