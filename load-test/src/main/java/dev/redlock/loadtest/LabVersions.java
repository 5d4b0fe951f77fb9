package dev.redlock.loadtest;

import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.nodes.RawRedis;
import dev.redlock.loadtest.nodes.RedisNode;
import dev.redlock.loadtest.nodes.RedisNodes;
import dev.redlock.loadtest.result.Versions;
import io.netty.util.Version;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Asks everything involved for its version.
 *
 * @threading any thread
 */
public final class LabVersions {
    private LabVersions() {
    }

    /**
     * What a run is made of.
     *
     * @param drivers the clients
     * @param nodes   the servers; one that does not answer is "unknown"
     * @return their versions, and this program's
     */
    public static Versions of(List<LockDriver> drivers, RedisNodes nodes) {
        Map<String, String> byDriver = new LinkedHashMap<>();
        drivers.forEach(driver -> byDriver.put(driver.name(), driver.version()));
        return new Versions(BuildVersion.program(),
                Runtime.version() + " (" + System.getProperty("java.vm.name") + ", " + System.getProperty("java.vendor")
                        + ")",
                netty(), byDriver, nodes.nodes().stream().map(LabVersions::server).toList());
    }

    private static String netty() {
        Version version = Version.identify().get("netty-common");
        return version == null ? "unknown" : version.artifactVersion();
    }

    /** A server that is down at the end has no version; that is no reason to lose the results. */
    private static String server(RedisNode node) {
        try (RawRedis redis = node.connect()) {
            String valkey = redis.info("valkey_version");
            return valkey.isEmpty() ? "redis " + redis.info("redis_version") : "valkey " + valkey;
        } catch (IOException | RuntimeException e) {
            return "unknown";
        }
    }
}
