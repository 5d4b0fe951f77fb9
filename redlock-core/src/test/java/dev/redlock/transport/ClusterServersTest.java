package dev.redlock.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClusterServersTest {

    private static final List<String> OWN = List.of("127.0.0.1", "::1", "0.0.0.0", "::");

    private static ClusterServers servers(ServerRules rules, String... seeds) {
        return new ClusterServers("the map of the cluster", rules,
                List.of(seeds).stream().map(NodeAddress::parse).toList());
    }

    private static String refusal(ClusterServers servers, String address, String ip) {
        NodeAddress server = NodeAddress.parse(address);
        try {
            return servers.refusal(server, new InetSocketAddress(InetAddress.getByName(ip), server.port()));
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(e);
        }
    }

    @ParameterizedTest
    @CsvSource({"10.1.2.3:6379, 10.9.9.9", "10.1.2.3:6379, 172.31.0.1", "10.1.2.3:6379, 192.168.7.7",
        "10.1.2.3:6379, 100.64.0.9", "10.1.2.3:6379, fd12::1", "cache.example.com:6379, 10.0.0.7",
        "203.0.113.7:6379, 203.0.113.7", "203.0.113.7:6379, 10.0.0.7"})
    void privateNetworksAndSeedsAreAllowed(String seed, String ip) {
        String bracketed = ip.indexOf(':') < 0 ? ip : "[" + ip + "]";
        assertNull(refusal(servers(ServerRules.DEFAULT, seed), bracketed + ":7001", ip));
        assertNull(
                refusal(servers(ServerRules.DEFAULT, seed), "any-name:7001", ip.startsWith("203") ? "10.1.1.1" : ip));
    }

    @ParameterizedTest
    @ValueSource(strings = {"203.0.113.8", "8.8.8.8", "169.254.169.254", "127.0.0.1", "172.32.0.1", "11.0.0.1",
        "100.128.0.1", "2001:db8::1", "fe80::1", "::1", "0.0.0.0"})
    void otherAddressesAreRefusedAlsoBehindAName(String ip) {
        String bracketed = ip.indexOf(':') < 0 ? ip : "[" + ip + "]";
        for (String seed : List.of("10.1.2.3:6379", "redis-1.example.com:6379", "203.0.113.7:6379")) {
            for (String host : List.of(bracketed, "evil.example.org", "example.com", "notexample.com")) {
                String refusal = refusal(servers(ServerRules.DEFAULT, seed), host + ":6379", ip);
                assertTrue(refusal.contains(OWN.contains(ip)
                        ? "announce-ip"
                        : "allow it with RedlockContext.clusterServers"), refusal);
            }
        }
    }

    /** Allowed, it would lead each client to another server. */
    @Test
    void noRuleIsRecommendedForTheMachineOfTheClient() {
        for (ServerRules rules : List.of(ServerRules.DEFAULT, ServerRules.parse("10.0.0.0/8"))) {
            for (String ip : OWN) {
                String host = ip.indexOf(':') < 0 ? ip : "[" + ip + "]";
                String refusal = refusal(servers(rules, "10.1.2.3:6379"), host + ":6379", ip);
                assertTrue(refusal.contains("announce-ip"), refusal);
                assertFalse(refusal.contains("clusterServers"), refusal);
            }
        }
    }

    @Test
    void besideALocalSeedARuleIsRecommended() {
        ClusterServers servers = servers(ServerRules.DEFAULT, "localhost:7000");
        assertNull(refusal(servers, "localhost:7000", "127.0.0.1"));
        String refusal = refusal(servers, "127.0.0.1:700", "127.0.0.1");
        assertTrue(refusal.contains("allow it with RedlockContext.clusterServers"), refusal);
    }

    @Test
    void theDomainOfASeedIsAllowed() {
        ClusterServers servers = servers(ServerRules.DEFAULT, "Redis-1.prod.example.com:6379", "short.com:6379");
        assertNull(refusal(servers, "redis-2.PROD.example.com:6379", "203.0.113.8"));
        assertNull(refusal(servers, "a.b.prod.example.com:6379", "203.0.113.8"));
        assertTrue(refusal(servers, "other.com:6379", "203.0.113.8") != null, "not a whole top-level domain");
        assertTrue(refusal(servers, "redis-2.test.example.com:6379", "203.0.113.8") != null);
    }

    @Test
    void theIpAddressOfASeedIsAllowedWhenItIsKnown() {
        ClusterServers servers = servers(ServerRules.DEFAULT, "cache.example.com:6379");
        assertTrue(refusal(servers, "203.0.113.8:15000", "203.0.113.8") != null);
        assertNull(refusal(servers, "cache.example.com:6379", "203.0.113.8"));
        assertNull(refusal(servers, "203.0.113.8:15000", "203.0.113.8"));
        ClusterServers local = servers(ServerRules.DEFAULT, "localhost:7000");
        assertNull(refusal(local, "localhost:7000", "127.0.0.1"));
        assertNull(refusal(local, "127.0.0.1:7001", "127.0.0.1"));
        assertNull(refusal(local, "[::1]:7001", "::1"));
    }

    @Test
    void aPortOfTheSystemIsThatOfASeed() {
        ClusterServers servers = servers(ServerRules.DEFAULT, "10.1.2.3:443");
        assertNull(refusal(servers, "10.1.2.4:443", "10.1.2.4"));
        assertNull(refusal(servers, "10.1.2.4:1024", "10.1.2.4"));
        assertTrue(refusal(servers, "10.1.2.4:22", "10.1.2.4").contains("port"));
        assertTrue(refusal(servers, "10.1.2.3:1023", "10.1.2.3").contains("port"));
    }

    @Test
    void rulesReplaceTheDefault() {
        ClusterServers servers = servers(
                ServerRules.parse("203.0.113.0/25", "2001:db8::/32", "*.redis.example", "one.example", "10.9.9.9"),
                "10.1.2.3:6379");
        assertNull(refusal(servers, "10.1.2.3:22", "10.1.2.3"), "a seed");
        assertNull(refusal(servers, "203.0.113.127:6379", "203.0.113.127"));
        assertNull(refusal(servers, "x:6379", "203.0.113.1"));
        assertNull(refusal(servers, "[2001:db8:9::1]:6379", "2001:db8:9::1"));
        assertNull(refusal(servers, "A.redis.example:6379", "8.8.8.8"));
        assertNull(refusal(servers, "ONE.example:6379", "8.8.8.8"));
        assertNull(refusal(servers, "10.9.9.9:6379", "10.9.9.9"));
        for (String refused : List.of("203.0.113.128", "10.1.2.4", "10.9.9.8", "2001:db9::1")) {
            String host = refused.indexOf(':') < 0 ? refused : "[" + refused + "]";
            assertTrue(refusal(servers, host + ":6379", refused).contains("no rule of"), refused);
        }
        assertTrue(refusal(servers, "redis.example:6379", "8.8.8.8") != null);
        assertTrue(refusal(servers, "two.example:6379", "8.8.8.8") != null);
        assertNull(refusal(servers(ServerRules.parse("*"), "10.1.2.3:6379"), "evil.example.org:22", "8.8.8.8"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "fd00::/129", "*.", "a..b", "*.*", "a/8",
        "redis://h:1", "h:6379", "a,b"})
    void malformedRulesAreRejected(String rule) {
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> ServerRules.parse(rule));
        assertTrue(e.getMessage().contains("is no rule for the servers of clusters"), e.getMessage());
    }

    @Test
    void theNumberOfRulesIsLimited() {
        assertThrows(IllegalArgumentException.class, ServerRules::parse);
        String[] rules = new String[65];
        Arrays.fill(rules, "*");
        assertThrows(IllegalArgumentException.class, () -> ServerRules.parse(rules));
        assertEquals("[*]", ServerRules.parse("*").toString());
    }

    /** A map has no scheme: each server of a cluster with TLS has TLS. */
    @Test
    void aServerOfAMapHasTheEncryptionOfTheSeed() {
        assertTrue(NodeAddress.parse("rediss://app:secret@10.1.2.3:6379").peer("10.1.2.4", 6379).isTls());
        assertFalse(NodeAddress.parse("redis://app:secret@10.1.2.3:6379").peer("10.1.2.4", 6379).isTls());
    }
}
