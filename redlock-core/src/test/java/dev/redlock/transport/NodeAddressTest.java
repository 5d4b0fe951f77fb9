package dev.redlock.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NodeAddressTest {

    private static final String FORMS = "; write host:port, redis://[user:password@]host[:port] or unix:///path";

    @ParameterizedTest
    @CsvSource({"localhost:6379, localhost, 6379, localhost:6379", "10.0.0.1:1, 10.0.0.1, 1, 10.0.0.1:1",
        "a.b-c.example:65535, a.b-c.example, 65535, a.b-c.example:65535", "[::1]:6380, ::1, 6380, [::1]:6380",
        "redis://localhost, localhost, 6379, localhost:6379", "redis://localhost:7000, localhost, 7000, localhost:7000",
        "redis://localhost:7000/, localhost, 7000, localhost:7000",
        "redis://localhost:7000/0, localhost, 7000, localhost:7000", "redis://[fe80::1]:7, fe80::1, 7, [fe80::1]:7"})
    void readsTcpAddresses(final String text, final String host, final int port, final String shown) {
        final NodeAddress address = NodeAddress.parse(text);
        assertEquals(host, address.host());
        assertEquals(port, address.port());
        assertEquals(shown, address.toString());
        assertNull(address.path());
        assertNull(address.user());
        assertNull(address.password());
        assertFalse(address.isUnixSocket());
        assertEquals(address, NodeAddress.parse(address.toString()), "what it shows can be read again");
    }

    @Test
    void readsUnixSockets() {
        final NodeAddress address = NodeAddress.parse("unix:///run/redis/redis.sock");
        assertTrue(address.isUnixSocket());
        assertEquals("/run/redis/redis.sock", address.path());
        assertNull(address.host());
        assertEquals(0, address.port());
        assertEquals("unix:///run/redis/redis.sock", address.toString());
    }

    @ParameterizedTest
    @CsvSource({"redis://:secret@h:1, , secret", "redis://ann:secret@h:1, ann, secret",
        "redis://ann:s%40x:y@h:1, ann, s@x:y",
        "redis://ann:@h:1, ann, ''"})
    void readsUserAndPassword(final String text, final String user, final String password) {
        final NodeAddress address = NodeAddress.parse(text);
        assertEquals(user, address.user());
        assertEquals(password, address.password());
        assertEquals("h:1", address.toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "''                     | host or port is missing",
        "localhost              | host or port is missing",
        ":6379                  | host or port is missing",
        "localhost:             | port must be a number from 1 to 65535",
        "localhost:0            | port must be a number from 1 to 65535",
        "localhost:65536        | port must be a number from 1 to 65535",
        "localhost:-1           | port must be a number from 1 to 65535",
        "localhost:+1           | port must be a number from 1 to 65535",
        "localhost:x            | port must be a number from 1 to 65535",
        "localhost:123456       | port must be a number from 1 to 65535",
        "localhost:٣            | port must be a number from 1 to 65535",
        "::1:6379               | an IPv6 address stands in brackets",
        "[]:6379                | host is missing or has a blank or a slash",
        "'a b:6379'             | host is missing or has a blank or a slash",
        "a/b:6379               | host is missing or has a blank or a slash",
        "' :6379'               | host is missing or has a blank or a slash",
        "http://h:1             | scheme http is unknown",
        "rediss://h:1           | scheme rediss is unknown",
        "redis://               | it is no URI",
        "redis://h:1/1          | nothing may follow the port; locks live in database 0",
        "redis://h:1/0?x=y      | nothing may follow the port; locks live in database 0",
        "redis://h:1#x          | nothing may follow the port; locks live in database 0",
        "redis://h:0            | port must be a number from 1 to 65535",
        "redis://h:70000        | port must be a number from 1 to 65535",
        "redis:///path          | host is missing",
        "'redis://a b:1'        | it is no URI",
        "unix:                  | a unix address needs an absolute path",
        "unix://                | a unix address needs an absolute path",
        "unix:///               | a unix address needs an absolute path",
        "unix://run/redis.sock  | a unix address needs an absolute path",
        "unix:/run/redis.sock   | a unix address needs an absolute path"})
    void refusesWhatIsMalformed(final String text, final String rule) {
        final IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse(text));
        assertEquals("node address \"" + text + "\" is malformed: " + rule + FORMS, e.getMessage());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "ann:secret@localhost:6379       | user and password need the redis:// form",
        "secret@localhost:6379           | user and password need the redis:// form",
        "redis://secret@localhost:6379   | user and password are written user:password@ or :password@",
        "redis://:secret@localhost:0     | port must be a number from 1 to 65535",
        "redis://:secret@localhost:1/7   | nothing may follow the port; locks live in database 0",
        "redis://:sec ret@localhost:1    | it is no URI",
        "redis://ann:secret@local_host:1 | host is missing",
        "redis://ann:secret@             | host is missing",
        "http://ann:secret@localhost:1   | scheme http is unknown"})
    void aPasswordIsNeverRepeated(final String text, final String rule) {
        final IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse(text));
        assertEquals("node address \"...@" + text.substring(text.lastIndexOf('@') + 1) + "\" is malformed: " + rule
                + FORMS, e.getMessage());
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            assertFalse(cause.getMessage().contains("sec"), cause.getMessage());
        }
    }

    /** A password that is meant to be escaped and is not may hold any of the characters that split an address. */
    @ParameterizedTest
    @CsvSource({"redis://:secret#@h:1", "redis://:sec/ret@h:1", "redis://:sec?ret@h:1", "redis://:sec[ret@h:1",
        "redis://:sec%ret@h:1", "redis://:sec@ret@h:1"})
    void notEvenWhenItIsNotEscaped(final String text) {
        final IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse(text));
        assertFalse(e.getMessage().contains("sec"), e.getMessage());
    }

    @Test
    void nullNamesTheForms() {
        assertEquals("node address is null" + FORMS.replace(';', ':'),
                assertThrows(NullPointerException.class, () -> NodeAddress.parse(null)).getMessage());
    }

    @Test
    void isEqualByPlaceWhoeverWeAreThere() {
        final NodeAddress address = NodeAddress.parse("LocalHost:1");
        assertEquals(address, NodeAddress.parse("localhost:1"));
        assertEquals(address.hashCode(), NodeAddress.parse("localhost:1").hashCode());
        assertEquals(address, NodeAddress.parse("redis://ann:secret@localhost:1"));
        assertNotEquals(address, NodeAddress.parse("localhost:2"));
        assertNotEquals(address, NodeAddress.parse("otherhost:1"));
        assertNotEquals(address, NodeAddress.parse("unix:///localhost"));
        assertNotEquals(NodeAddress.parse("unix:///a"), NodeAddress.parse("unix:///b"));
        assertEquals(NodeAddress.parse("unix:///a"), NodeAddress.parse("unix:///a"));
        assertEquals(NodeAddress.parse("unix:///a").hashCode(), NodeAddress.parse("unix:///a").hashCode());
        assertFalse(address.equals(null));
    }
}
