package dev.redlock.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClusterAddressTest {

    @Test
    void readsSeeds() {
        VoterAddress address = VoterAddress.parse("redis-cluster://a:7000,b,[::1]:7002");
        assertTrue(address.isCluster());
        assertFalse(address.isTls());
        assertFalse(address.hasPassword());
        assertEquals(List.of(NodeAddress.parse("a:7000"), NodeAddress.parse("b:6379"), NodeAddress.parse("[::1]:7002")),
                address.servers());
        assertEquals("redis-cluster://a:7000,b:6379,[::1]:7002", address.toString());
        assertEquals(address, VoterAddress.parse(address.toString()));
        assertEquals(address.hashCode(), VoterAddress.parse(address.toString()).hashCode());
        assertNotEquals(address, VoterAddress.parse("redis-cluster://b,a:7000"));
        assertFalse(VoterAddress.parse("a:7000").isCluster());
        assertEquals(List.of(NodeAddress.parse("a:7000")), VoterAddress.parse("a:7000").servers());
    }

    @Test
    void givesEachSeedTheCredentialsAndTls() {
        VoterAddress address = VoterAddress.parse("rediss-cluster://ann:s,%40x@a:1,b:2");
        assertTrue(address.isTls());
        assertTrue(address.hasPassword());
        for (NodeAddress seed : address.servers()) {
            assertEquals("ann", seed.user());
            assertEquals("s,@x", seed.password());
            assertTrue(seed.isTls());
        }
        assertEquals("rediss-cluster://a:1,b:2", address.toString());
    }

    @Test
    void givesPeersOfASeedItsCredentialsAndTls() {
        NodeAddress seed = VoterAddress.parse("rediss-cluster://ann:secret@a:1").servers().get(0);
        NodeAddress peer = seed.peer("fe80::1", 9);
        assertEquals("rediss://[fe80::1]:9", peer.toString());
        assertEquals("ann", peer.user());
        assertEquals("secret", peer.password());
        assertEquals("rediss://a:9", seed.peer(null, 9).toString());
        assertThrows(IllegalArgumentException.class, () -> seed.peer("a b", 9));
        assertThrows(IllegalArgumentException.class, () -> seed.peer("", 9));
        assertThrows(IllegalArgumentException.class, () -> seed.peer("x:y", 9));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"redis-cluster://|seed 1 is empty", "redis-cluster://a:1,|seed 2 is empty",
        "redis-cluster://a:1,,b:2|seed 2 is empty", "redis-cluster://a:1,a:1|seed a:1 is given twice",
        "redis-cluster://a:1/0|nothing may follow the port of seed 1",
        "redis-cluster://a:0|seed 1 of a cluster address",
        "redis-cluster://a:1,b:x|seed 2 of a cluster address", "redis-cluster://u@a:1|separated by a colon",
        "redis-cluster://a:1, b:2|seed 2 of a cluster address", "redis-cluster://::1|an IPv6 address needs brackets"})
    void rejectsMalformedAddresses(String text, String rule) {
        String message = assertThrows(IllegalArgumentException.class, () -> VoterAddress.parse(text)).getMessage();
        assertTrue(message.contains(rule), message);
    }

    @Test
    void aClusterIsNoServer() {
        String message = assertThrows(IllegalArgumentException.class, () -> NodeAddress.parse("redis-cluster://a:1"))
                .getMessage();
        assertTrue(message.contains("it names a cluster where one server is expected"), message);
    }

    @Test
    void rejectsTooManySeedsAndTooLongTexts() {
        String seeds = IntStream.rangeClosed(0, ClusterAddress.SEEDS_MAX)
                .mapToObj(i -> "h" + i)
                .collect(Collectors.joining(","));
        assertThrows(IllegalArgumentException.class, () -> VoterAddress.parse("redis-cluster://" + seeds));
        assertThrows(IllegalArgumentException.class,
                () -> VoterAddress.parse("redis-cluster://" + "h".repeat(20_000)));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"redis-cluster://u:secret@a:1,b:x", "redis-cluster://u:secret@a:1/9",
        "redis-cluster://u:secret@", "redis-cluster://u:secret@a:1,a:1", "redis-cluster://u:se/cret@a:1"})
    void errorsDoNotShowPasswords(String text) {
        String message = assertThrows(IllegalArgumentException.class, () -> VoterAddress.parse(text)).getMessage();
        assertFalse(message.contains("secret"), message);
        assertFalse(message.contains("cret"), message);
    }
}
