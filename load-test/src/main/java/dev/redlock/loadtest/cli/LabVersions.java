package dev.redlock.loadtest.cli;

import dev.redlock.cli.AdminClient;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.result.LibraryVersion;
import dev.redlock.loadtest.result.Versions;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Collects the versions of the program, its libraries, the clients and the servers.
 *
 * @threading any thread
 */
public final class LabVersions {
    /** The versions in use; "unknown" for a server that does not answer. */
    public static Versions of(List<LockDriver> drivers, RedisNodes nodes) {
        Map<String, String> byDriver = new LinkedHashMap<>();
        drivers.forEach(driver -> byDriver.put(driver.name(), driver.version()));
        return new Versions(BuildVersion.program(),
                Runtime.version() + " (" + System.getProperty("java.vm.name") + ", " + System.getProperty("java.vendor")
                        + ")",
                LibraryVersion.number("io.netty", "netty-common"), byDriver,
                nodes.nodes().stream().map(LabVersions::server).toList());
    }

    /** A server that is down at the end is reported as "unknown", so that the results are still written. */
    private static String server(RedisNode node) {
        try (AdminClient redis = node.connect()) {
            String valkey = redis.info("valkey_version");
            return valkey.isEmpty() ? "redis " + redis.info("redis_version") : "valkey " + valkey;
        } catch (IOException | RuntimeException e) {
            return "unknown";
        }
    }
}
