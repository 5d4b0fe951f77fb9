package dev.redlock.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SentinelAddressTest {

    private static SentinelAddress parse(String text) {
        return (SentinelAddress) VoterAddress.parse(text);
    }

    @Test
    void readsSentinelsAndTheName() {
        SentinelAddress address = parse(
                "redis-sentinel://s1:5000,s2,10.0.0.3:26379,[fd00::4],[::1]:5001/my-master.1_x");
        assertEquals("my-master.1_x", address.name());
        assertFalse(address.isTls());
        assertFalse(address.hasPassword());
        assertFalse(address.isCluster());
        assertEquals(
                List.of("s1:5000", "s2:26379", "10.0.0.3:26379", "[fd00::4]:26379", "[::1]:5001")
                        .stream()
                        .map(NodeAddress::parse)
                        .toList(),
                address.servers());
        assertEquals("redis-sentinel://s1:5000,s2:26379,10.0.0.3:26379,[fd00::4]:26379,[::1]:5001/my-master.1_x",
                address.toString());
        assertEquals(address, parse(address.toString()));
        assertEquals(address.hashCode(), parse(address.toString()).hashCode());
        assertNotEquals(address, parse("redis-sentinel://s1:5000/my-master.1_x"));
        assertNotEquals(parse("redis-sentinel://s1/a"), parse("redis-sentinel://s1/b"));
    }

    @Test
    void givesTheServersTheCredentialsAndTls() {
        SentinelAddress address = parse("rediss-sentinel://ann:s,%40%2Fx@s1:1,s2:2/mymaster");
        assertTrue(address.isTls());
        assertTrue(address.hasPassword());
        for (NodeAddress sentinel : address.servers()) {
            assertTrue(sentinel.isTls());
            assertFalse(sentinel.hasPassword());
            assertNull(sentinel.login());
        }
        NodeAddress server = address.server("fd00::9", 7);
        assertEquals("rediss://[fd00::9]:7", server.toString());
        assertEquals("ann", server.user());
        assertEquals("s,@/x", server.password());
        assertEquals("rediss-sentinel://s1:1,s2:2/mymaster", address.toString());
        assertEquals("secret", parse("redis-sentinel://:secret@s1/m").server("h", 1).password());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"redis-sentinel://|Sentinel 1 is empty",
        "redis-sentinel:///mymaster|Sentinel 1 is empty",
        "redis-sentinel://u:p@/mymaster|Sentinel 1 is empty", "redis-sentinel://s1,/m|Sentinel 2 is empty",
        "redis-sentinel://s1,,s2/m|Sentinel 2 is empty", "redis-sentinel://:26379/m|the host is missing",
        "redis-sentinel://s1|the name of the primary is missing; end the address with s1:26379/mymaster",
        "redis-sentinel://s1:1,s2:2/|the name of the primary is missing; end the address with s2:2/mymaster",
        "redis-sentinel://s1,s1:26379/m|Sentinel s1:26379 is given twice",
        "redis-sentinel://s1:1,S1:1/m|is given twice",
        "redis-sentinel://s1:1/m/0|nothing may follow the name; all locks are in database 0; end the address with /m",
        "redis-sentinel://s1:1/0#m|the name of the primary follows a slash, not a #; write host:port/m",
        "redis-sentinel://s1:1#m|the name of the primary follows a slash, not a #; write host:port/m",
        "redis-sentinel://s1:1#a b|follows a slash, not a #; write redis-sentinel://",
        "redis-sentinel://s1:1/my master|has a character that no name has",
        "redis-sentinel://s1:1/m?x=1|has a character that no name has",
        "redis-sentinel://s1:1/m,redis-sentinel://s2:1/n|has a character that no name has",
        "redis-sentinel://s1:0/m|Sentinel 1 of an address", "redis-sentinel://s1:1,s2:x/m|Sentinel 2 of an address",
        "redis-sentinel://s1:1, s2:2/m|Sentinel 2 of an address",
        "redis-sentinel://::1/m|an IPv6 address needs brackets",
        "redis-sentinel://[::1/m|Sentinel 1 of an address",
        "redis-sentinel://[::1]x/m|Sentinel 1 of an address", "redis-sentinel://[x]:1/m|brackets contain",
        "redis-sentinel://u@s1:1/m|separated by a colon", "redis-sentinel://u:%zz@s1:1/m|must be percent-encoded"})
    void rejectsMalformedAddresses(String text, String rule) {
        String message = assertThrows(IllegalArgumentException.class, () -> VoterAddress.parse(text)).getMessage();
        assertTrue(message.contains(rule), message);
    }

    @Test
    void rejectsTooManySentinelsTooLongNamesAndTexts() {
        String sentinels = IntStream.rangeClosed(0, SentinelAddress.SENTINELS_MAX)
                .mapToObj(i -> "h" + i)
                .collect(Collectors.joining(","));
        assertThrows(IllegalArgumentException.class, () -> parse("redis-sentinel://" + sentinels + "/m"));
        assertEquals(SentinelAddress.SENTINELS_MAX,
                parse("redis-sentinel://" + sentinels.replaceFirst("h0,", "") + "/m").servers().size());
        assertThrows(IllegalArgumentException.class, () -> parse("redis-sentinel://s/" + "m".repeat(129)));
        assertEquals(128, parse("redis-sentinel://s/" + "m".repeat(128)).name().length());
        assertThrows(IllegalArgumentException.class, () -> parse("redis-sentinel://s/" + "m".repeat(20_000)));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"redis-sentinel://u:secret@s1:1,s2:x/m", "redis-sentinel://u:secret@s1:1",
        "redis-sentinel://u:secret@", "redis-sentinel://u:secret@s1:1,s1:1/m", "redis-sentinel://u:se/cret@s1:1/m",
        "redis-sentinel://u:secret@s1#m", "redis-sentinel://u:se#cret@s1/m", "redis-sentinel://u:secret/s1/m",
        "redis-sentinel://s1:secret/m", "redis-sentinel://secret", "redis-sentinel://u:secret@s1/m/secret"})
    void errorsDoNotShowPasswords(String text) {
        String message = assertThrows(IllegalArgumentException.class, () -> VoterAddress.parse(text)).getMessage();
        if (!text.equals("redis-sentinel://secret")) {
            assertFalse(message.contains("cret"), message);
        }
    }

    @Test
    void twoAddressesWithTheSameNameAndASharedSentinelAreOneVoter() {
        VoterAddress group = parse("redis-sentinel://s1,s2,s3/m");
        assertTrue(group.isSameVoter(parse("redis-sentinel://s3,s4/m")));
        assertFalse(group.isSameVoter(parse("redis-sentinel://s1,s2,s3/n")), "the Sentinels watch two primaries");
        assertFalse(group.isSameVoter(parse("redis-sentinel://s4,s5/m")));
        assertFalse(group.isSameVoter(VoterAddress.parse("s1:26379")));
        assertFalse(VoterAddress.parse("s1:26379").isSameVoter(group));
        assertFalse(VoterAddress.parse("redis-cluster://s1:26379").isSameVoter(group));
        assertTrue(VoterAddress.parse("a:1").isSameVoter(VoterAddress.parse("redis-cluster://a:1")));
    }

    @Test
    void sentinelsAreNoServer() {
        String message = assertThrows(IllegalArgumentException.class,
                () -> NodeAddress.parse("redis-sentinel://u:secret@s:1/m")).getMessage();
        assertTrue(message.contains("it names Sentinels where one server is expected"), message);
    }
}
