package dev.redlock.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NodeAddressTest {

    private static final String FORMS = "; write host:port, redis://[user:password@]host[:port] or unix:///path";

    @ParameterizedTest
    @CsvSource({"localhost:6379, localhost, 6379, localhost:6379", "10.0.0.1:1, 10.0.0.1, 1, 10.0.0.1:1",
        "a.b-c.example:65535, a.b-c.example, 65535, a.b-c.example:65535", "[::1]:6380, ::1, 6380, [::1]:6380",
        "redis://localhost, localhost, 6379, localhost:6379", "redis://localhost:7000, localhost, 7000, localhost:7000",
        "redis://localhost:7000/, localhost, 7000, localhost:7000",
        "redis://localhost:7000/0, localhost, 7000, localhost:7000", "redis://[fe80::1]:7, fe80::1, 7, [fe80::1]:7"})
    void readsTcpAddresses(String text, String host, int port, String shown) {
        NodeAddress address = NodeAddress.parse(text);
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
        NodeAddress address = NodeAddress.parse("unix:///run/redis/redis.sock");
        assertTrue(address.isUnixSocket());
        assertEquals("/run/redis/redis.sock", address.path());
        assertNull(address.host());
        assertEquals(0, address.port());
        assertEquals("unix:///run/redis/redis.sock", address.toString());
    }

    @ParameterizedTest
    @CsvSource({"redis://:secret@h:1, , secret", "redis://ann:secret@h:1, ann, secret",
        "redis://ann:s%40x:y@h:1, ann, s@x:y", "redis://a%3Ann:secret@h:1, a:nn, secret",
        "redis://a%3Ann:s%3Ax%25+y@h:1, a:nn, s:x%+y", "redis://%C3%A9:%F0%9F%94%92@h:1, \u00e9, \ud83d\udd12",
        "redis://\u00e9:\u20ac@h:1, \u00e9, \u20ac", "redis://%3A:secret@h:1, :, secret",
        "redis://ann:@h:1, ann, ''"})
    void readsUserAndPassword(String text, String user, String password) {
        NodeAddress address = NodeAddress.parse(text);
        assertEquals(user, address.user());
        assertEquals(password, address.password());
        assertEquals("h:1", address.toString());
    }

    /** The second column is what a message shows of the address: nothing that could be part of a password. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "''                     | ''            | host or port is missing",
        "localhost              | localhost     | host or port is missing",
        ":6379                  | ...           | host or port is missing",
        "localhost:             | localhost...  | port must be a number from 1 to 65535",
        "localhost:0            | localhost...  | port must be a number from 1 to 65535",
        "localhost:65536        | localhost...  | port must be a number from 1 to 65535",
        "localhost:-1           | localhost...  | port must be a number from 1 to 65535",
        "localhost:+1           | localhost...  | port must be a number from 1 to 65535",
        "localhost:x            | localhost...  | port must be a number from 1 to 65535",
        "localhost:123456       | localhost...  | port must be a number from 1 to 65535",
        "localhost:\u0663            | localhost...  | port must be a number from 1 to 65535",
        "::1:6379               | ...           | an IPv6 address needs brackets",
        "[]:6379                | ...           | host is missing or has a blank, a slash or a control character",
        "'a b:6379'             | a...          | host is missing or has a blank, a slash or a control character",
        "a/b:6379               | a...          | host is missing or has a blank, a slash or a control character",
        "' :6379'               | ...           | host is missing or has a blank, a slash or a control character",
        "http://h:1             | http://...    | scheme http is unknown",
        "rediss://h:1           | rediss://...  | scheme rediss is unknown",
        "a:b://h:1              | a...          | its scheme is unknown",
        "abc://h:1              | abc...        | its scheme is unknown",
        "abc://ann:secret@h:1   | ...           | its scheme is unknown",
        "redis://               | redis://...   | it is not a URI",
        "redis://h:1/1          | redis://...   | nothing may follow the port; locks are in database 0",
        "redis://h:1/0?x=y      | redis://...   | nothing may follow the port; locks are in database 0",
        "redis://h:1#x          | redis://...   | nothing may follow the port; locks are in database 0",
        "redis://h:0            | redis://...   | port must be a number from 1 to 65535",
        "redis://h:70000        | redis://...   | port must be a number from 1 to 65535",
        "redis:///path          | redis://...   | host or port is missing or malformed",
        "redis://local_host:1   | redis://...   | host or port is missing or malformed",
        "'redis://a b:1'        | redis://...   | it is not a URI",
        "unix:                  | unix...       | a unix address needs an absolute path",
        "unix://                | unix://...    | a unix address needs an absolute path",
        "unix:///               | unix://...    | a unix address needs an absolute path",
        "unix://run/redis.sock  | unix://...    | a unix address needs an absolute path",
        "unix:/run/redis.sock   | unix...       | a unix address needs an absolute path",
        "ann:secret@localhost:6379       | ...          | user and password need the redis:// form",
        "secret@localhost:6379           | ...          | user and password need the redis:// form",
        "redis://secret@localhost:6379   | redis://...  | write user and password as user:password@ or :password@",
        "redis://:secret@localhost:0     | redis://...  | port must be a number from 1 to 65535",
        "redis://:secret@localhost:1/7   | redis://...  | nothing may follow the port; locks are in database 0",
        "redis://:sec ret@localhost:1    | redis://...  | it is not a URI",
        "redis://ann:secret@             | redis://...  | host or port is missing or malformed",
        "redis://ann:secret              | redis://...  | host or port is missing or malformed",
        "redis://ann:sec%FFret@h:1       | redis://...  | user or password is not UTF-8",
        "ann:secret                      | ann...       | port must be a number from 1 to 65535",
        "http://ann:secret@localhost:1   | http://...   | scheme http is unknown"})
    void refusesWhatIsMalformed(String text, String shown, String rule) {
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse(text));
        assertEquals("node address \"" + shown + "\" is malformed: " + rule + FORMS, e.getMessage());
        assertNull(e.getCause(), "its message would repeat the text");
    }

    /** A line break or an escape sequence in a host or a path would stand in each log line about the node. */
    @ParameterizedTest
    @ValueSource(strings = {"\n", "\u001b", "\u007f", "\u0085", "\u2028", "\u2029", "\u202e", "\u2066", "\ud800"})
    void refusesWhatCannotBeShown(String text) {
        assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse("a" + text + "b:1"));
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                () -> NodeAddress.parse("unix:///a" + text + "b"));
        assertEquals("node address \"unix://...\" is malformed: path has a control character" + FORMS, e.getMessage());
    }

    @Test
    void refusesWhatIsTooLong() {
        assertEquals(255, NodeAddress.parse("h".repeat(255) + ":1").host().length());
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                () -> NodeAddress.parse("h".repeat(256) + ":1"));
        assertEquals(
                "node address \"" + "h".repeat(64) + "...\" is malformed: host is longer than 255 characters" + FORMS,
                e.getMessage());
        assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse("unix:///" + "p".repeat(255)));
        assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse("h".repeat(12_000_000) + ":1"));
    }

    /** Where a password may stand: the star. */
    private static final String[] AROUND = {"redis://ann:*@h:1", "redis://:*@h:1", "redis://*@h:1", "redis://ann:*@h",
        "redis://ann:*@[::1]:1", "redis://ann:*@h:0", "redis://ann:*@h:x", "redis://ann:*@h:1/7", "redis://ann:*@h o:1",
        "redis://ann:*@h_o:1", "redis://ann:*@", "redis://ann:*@:1", "rediss://ann:*@h:1", "unix://ann:*@/run/r.sock",
        "redis:ann:*@h:1", "redis:/ann:*@h:1", "redis//ann:*@h:1", "ann:*@h:1", "*@h:1", ":*@h:1", "ann:*@h",
        "redis://ann:*", "redis://:*", "redis:ann:*", "ann:*", ":*", "unix:ann:*", "http://ann:*"};
    private static final String[] PIECES = {"", "", "a", "@", ":", "/", "#", "?", "%", "%3A", "%40", "%FF", "[", "]",
        " ",
        "\\", "\"", "\n", "\u00e9", "://", "1", "&", "+"};

    /**
     * A password that is meant to be escaped and is not may hold any of the characters that split an address, and what
     * belongs around it may be missing.
     */
    @Property(tries = 5_000)
    void aPasswordIsNeverRepeated(@ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        String template = AROUND[random.nextInt(AROUND.length)];
        boolean hasHost = template.contains("@");
        StringBuilder secret = new StringBuilder();
        for (int i = random.nextInt(1, 9); i > 0; i--) {
            String piece = PIECES[random.nextInt(PIECES.length)];
            // Without a host behind it, what follows an @ cannot be told from a host.
            secret.append(hasHost || !piece.equals("@") ? piece : ":").append("QZqz".charAt(random.nextInt(4)));
        }
        String text = template.replace("*", secret);
        try {
            assertNoSecret(NodeAddress.parse(text).toString(), text);
        } catch (IllegalArgumentException e) {
            assertNoSecret(e.toString(), text);
            assertNull(e.getCause(), text);
        }
    }

    private static void assertNoSecret(String shown, String text) {
        assertTrue(shown.chars().noneMatch(c -> "QZqz".indexOf(c) >= 0), text + " was shown: " + shown);
    }

    @Test
    void nullNamesTheForms() {
        assertEquals("node address is null" + FORMS.replace(';', ':'),
                assertThrows(NullPointerException.class, () -> NodeAddress.parse(null)).getMessage());
    }

    @Test
    void isEqualByPlaceWhoeverWeAreThere() {
        NodeAddress address = NodeAddress.parse("LocalHost:1");
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
