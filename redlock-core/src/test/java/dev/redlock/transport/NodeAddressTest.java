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

    private static final String FORMS = "write host:port, redis://[user:password@]host[:port],"
            + " rediss:// for TLS, or unix:///path";

    @ParameterizedTest
    @CsvSource({"localhost:6379, localhost, 6379, localhost:6379", "10.0.0.1:1, 10.0.0.1, 1, 10.0.0.1:1",
        "a.b-c.example:65535, a.b-c.example, 65535, a.b-c.example:65535", "[::1]:6380, ::1, 6380, [::1]:6380",
        "redis://localhost, localhost, 6379, localhost:6379", "redis://localhost:7000, localhost, 7000, localhost:7000",
        "redis://localhost:7000/, localhost, 7000, localhost:7000",
        "redis://localhost:7000/0, localhost, 7000, localhost:7000",
        "redis://local_host:7000, local_host, 7000, local_host:7000",
        "redis://[fe80::1]:7, fe80::1, 7, [fe80::1]:7"})
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

    @ParameterizedTest
    @CsvSource({"rediss://localhost, localhost, 6379, , , rediss://localhost:6379",
        "rediss://ann:s%40x@redis-1:7000/0, redis-1, 7000, ann, s@x, rediss://redis-1:7000",
        "rediss://:secret@[::1], ::1, 6379, , secret, rediss://[::1]:6379"})
    void readsAddressesWithTls(String text, String host, int port, String user, String password, String shown) {
        NodeAddress address = NodeAddress.parse(text);
        assertTrue(address.isTls());
        assertEquals(host, address.host());
        assertEquals(port, address.port());
        assertEquals(user, address.user());
        assertEquals(password, address.password());
        assertEquals(shown, address.toString());
        assertTrue(NodeAddress.parse(address.toString()).isTls(), "what it shows can be read again");
        assertEquals(NodeAddress.parse(text.replace("rediss:", "redis:")), address, "one server, with TLS or without");
        assertFalse(NodeAddress.parse(text.replace("rediss:", "redis:")).isTls());
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
        "redis://ann:@h:1, ann, ''", "'redis://ann:a,b;c@h:1', ann, 'a,b;c'"})
    void readsUserAndPassword(String text, String user, String password) {
        NodeAddress address = NodeAddress.parse(text);
        assertEquals(user, address.user());
        assertEquals(password, address.password());
        assertEquals("h:1", address.toString());
    }

    /** The second column is the shown part of the address: nothing that could be part of a password. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "''                     | ''            | it is empty | FORMS",
        "' '                    | ''            | it is empty | FORMS",
        "' h:1'                 | h:1           | it begins or ends with a blank or a line break | remove it",
        "'h:1\n'                | h:1           | it begins or ends with a blank or a line break | remove it",
        "localhost              | localhost     | the port is missing | "
                + "write localhost:6379 if the node has the default port",
        "[::1]                  | ...           | the port is missing | FORMS",
        ":6379                  | ...           | the host is missing | FORMS",
        "localhost:             | localhost...  | PORT | FORMS",
        "localhost:0            | localhost:0   | PORT | FORMS",
        "localhost:65536        | localhost:65536 | PORT | FORMS",
        "localhost:-1           | localhost...  | PORT | FORMS",
        "localhost:+1           | localhost...  | PORT | FORMS",
        "localhost:x            | localhost...  | PORT | FORMS",
        "localhost:123456       | localhost...  | PORT | FORMS",
        "localhost:\u0663            | localhost...  | PORT | FORMS",
        "ann:secret             | ann...        | PORT | FORMS",
        "::1:6379               | ::1:6379      | an IPv6 address needs brackets | write [::1]:6379",
        "fe80::1                | fe80::1       | an IPv6 address needs brackets | write [::1]:6379",
        "1:2:3:4:5:6:7:8:6379   | 1...          | an IPv6 address needs brackets | write [::1]:6379",
        "redis://fe80::1:6379   | redis://...   | an IPv6 address needs brackets | write [::1]:6379",
        "h1:1:h2:2              | h1...         | it has more than one colon | FORMS",
        "[]:6379                | ...           | brackets contain an IPv6 address | write [::1]:6379 or host:port",
        "[h]:6379               | ...           | brackets contain an IPv6 address | write [::1]:6379 or host:port",
        "[::1]6379              | ...           | only a colon and the port may follow the brackets | write [::1]:6379",
        "[::1:6379              | ...           | it has more than one colon | FORMS",
        "a*b:6379               | a...          | HOST | FORMS",
        "a/b:6379               | a...          | TAIL | REMOVE",
        "h:1/0                  | h:1/0         | TAIL | REMOVE",
        "http://h:1             | http://h:1    | scheme http is unknown | FORMS",
        "http://ann:secret@localhost:1   | http://...@localhost:1   | scheme http is unknown | FORMS",
        "redis-sentinel://h:1/x | redis-sentinel://... | it names Sentinels where one server is expected | FORMS",
        "valkey://h:1           | valkey://h:1  | scheme valkey is unknown | write redis:// instead",
        "valkeys://:secret@h    | valkeys://...@h | scheme valkeys is unknown | write rediss:// instead",
        "REDIS://:secret@h      | redis://...@h | its scheme is not in lower case | write redis://",
        "REDISS://:secret@h     | rediss://...@h | its scheme is not in lower case | write rediss://",
        "rediss://              | rediss://...  | the host is missing | FORMS",
        "rediss://:secret@h:0   | rediss://...@h:0 | PORT | FORMS",
        "rediss:h:1             | rediss...     | it has more than one colon | FORMS",
        "rediss:///path         | rediss://...  | TAIL | REMOVE",
        "a:b://h:1              | a...          | its scheme is unknown | FORMS",
        "abc://h:1              | abc...        | its scheme is unknown | FORMS",
        "abc://ann:secret@h:1   | ...@h:1       | its scheme is unknown | FORMS",
        "redis://               | redis://...   | the host is missing | FORMS",
        "redis://h:1/1          | redis://h:1/1 | TAIL | REMOVE",
        "redis://h:1/0?x=y      | redis://...   | TAIL | REMOVE",
        "redis://h:1#x          | redis://...   | TAIL | REMOVE",
        "redis://h:0            | redis://h:0   | PORT | FORMS",
        "redis://h:70000        | redis://h:70000 | PORT | FORMS",
        "redis:///path          | redis://...   | TAIL | REMOVE",
        "redis://a!b:1          | redis://...   | HOST | FORMS",
        "unix:                  | unix:         | UNIX | write unix:///path",
        "unix:///               | unix:///      | UNIX | write unix:///path",
        "unix://run/redis.sock  | unix://run/redis.sock | UNIX | write unix:///path",
        "unix:/run/redis.sock   | unix:/run/redis.sock | UNIX | write unix:///path",
        "unix://ann:secret@/run/r | unix://...   | UNIX | write unix:///path",
        "ann:secret@localhost:6379       | ...@localhost:6379         | user and password need the redis:// form | "
                + "write redis://user:password@host:port",
        "redis://secret@localhost:6379   | redis://...@localhost:6379 | user and password are separated by a colon | "
                + "write user:password@ or :password@",
        "redis://:secret@localhost:0     | redis://...@localhost:0 | PORT | FORMS",
        "redis://:secret@localhost:1/7   | redis://...  | TAIL | REMOVE",
        "redis://ann:secret@             | redis://...  | the host is missing | FORMS",
        "redis://ann:secret              | redis://...  | PORT | FORMS",
        "redis://ann:sec%FFret@h:1       | redis://...@h:1 | user or password is not UTF-8 | "
                + "percent-encode the bytes of the text in UTF-8"})
    void errorNamesAddressRuleAndFix(String text, String shown, String rule, String fix) {
        assertInvalid(text, shown,
                rule.replace("PORT", "the port must be a number from 1 to 65535")
                        .replace("TAIL", "nothing may follow the port; all locks are in database 0")
                        .replace("HOST", "a host has letters, digits, dots, hyphens and underscores only")
                        .replace("UNIX", "a Unix socket has an absolute path, and no user and password"),
                fix.replace("FORMS", FORMS).replace("REMOVE", "remove the text after the port"));
    }

    /** Configuration files contain lists, so a list in one text is a common mistake. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "h1:1,h2:2                    | h1:1,h2:2                   | \"h1:1\", \"h2:2\"",
        "h1:1;h2:2                    | h1:1;h2:2                   | \"h1:1\", \"h2:2\"",
        "h1:1, h2:2                   | h1:1, h2:2                  | \"h1:1\", \"h2:2\"",
        "h1:1 [::1]:2                 | h1:1 [::1]:2                | \"h1:1\", \"[::1]:2\"",
        "redis://h1:1,redis://h2:2    | redis://h1:1,redis://h2:2   | \"redis://h1:1\", \"redis://h2:2\"",
        "h1,h2:2                      | h1...                       | \"h1:1\", \"h2:2\"",
        "a b:6379                     | a...                        | \"h1:1\", \"h2:2\"",
        "ann:secret,h:1               | ann...                      | \"h1:1\", \"h2:2\"",
        "rediss://h1:1,rediss://h2:2  | rediss://h1:1,rediss://h2:2 | \"rediss://h1:1\", \"rediss://h2:2\"",
        "rediss://:secret@h1:1,rediss://h2:2 | rediss://... | \"h1:1\", \"h2:2\"",
        "redis://:secret@h1:1,h2:2    | redis://...                 | \"h1:1\", \"h2:2\"",
        "redis://:secret@h1:1,redis://:secret@h2:2 | redis://...@h2:2 | \"h1:1\", \"h2:2\"",
        "unix:///a,unix:///b          | unix://...                  | \"h1:1\", \"h2:2\""})
    void errorAboutAListShowsOneAddressPerArgument(String text, String shown, String arguments) {
        assertInvalid(text, shown, "it has a comma, a semicolon or a blank",
                "give one address per argument: connect(" + arguments + ")");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"@", "/", "#", "?", "[", "]", "%", "%4x", "%zz", " ", "\"", "\\", "<", ">", "^", "`", "{", "|",
                "}", "\u00a0", "\t"})
    void errorAboutAnUnencodedPasswordShowsTheEncoding(String part) {
        for (String text : new String[]{"redis://ann:s" + part + "t@h:1", "redis://:12" + part + "7" + "@h:1",
            "redis://a" + part + ":secret@h:1"}) {
            assertInvalid(text, "redis://...@h:1", "user or password has a character that must be percent-encoded",
                    "write %40 for @, %2F for /, %23 for #, %3F for ?, %25 for %, %20 for a blank,"
                            + " and other special characters in the same way");
        }
    }

    private static void assertInvalid(String text, String shown, String rule, String fix) {
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse(text));
        assertEquals("node address \"" + shown + "\" is invalid: " + rule + "; " + fix, e.getMessage());
        assertNull(e.getCause(), "its message would repeat the text");
    }

    /** A line break or an escape sequence in a host or a path would be in each log line about the node. */
    @ParameterizedTest
    @ValueSource(strings = {"\n", "\u001b", "\u007f", "\u0085", "\u2028", "\u2029", "\u202e", "\u2066", "\ud800"})
    void refusesWhatCannotBeShown(String text) {
        assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse("a" + text + "b:1"));
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                () -> NodeAddress.parse("unix:///a" + text + "b"));
        assertEquals("node address \"unix://...\" is invalid: the path has a control character; remove it",
                e.getMessage());
    }

    @Test
    void refusesWhatIsTooLong() {
        assertEquals(255, NodeAddress.parse("h".repeat(255) + ":1").host().length());
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                () -> NodeAddress.parse("h".repeat(256) + ":1"));
        assertEquals(
                "node address \"" + "h".repeat(64) + "...\" is invalid: the host is longer than 255 characters; "
                        + FORMS,
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
        " ", ",", ";",
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
            // Without a host behind it, text after an @ looks like a host.
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
        assertEquals("node address is null: " + FORMS,
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
