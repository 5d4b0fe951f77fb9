package dev.redlock.loadtest;

import dev.redlock.trial.nodes.RedisNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/** Somebody else's client that uses the published single-node pattern: redis-cli, one process for each command. */
final class RedisCli {
    private static final String COMPARE_AND_DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then "
            + "return redis.call('del',KEYS[1]) else return 0 end";

    private RedisCli() {
    }

    /** Skips the test where redis-cli is missing, or fails it where servers are required. */
    static void require() throws InterruptedException {
        try {
            new ProcessBuilder("redis-cli", "--version").start().waitFor();
        } catch (IOException e) {
            if (Boolean.getBoolean("tests.requireServers")) {
                throw new AssertionError("redis-cli is required and does not run", e);
            }
            Assumptions.abort("no redis-cli on PATH");
        }
    }

    static boolean trySet(RedisNode node, String resource, String token, long ttlMs) throws Exception {
        return call(node, "SET", resource, token, "NX", "PX", Long.toString(ttlMs)).equals("OK");
    }

    static boolean compareAndDelete(RedisNode node, String resource, String token) throws Exception {
        return call(node, "EVAL", COMPARE_AND_DELETE, "1", resource, token).equals("1");
    }

    private static String call(RedisNode node, String... words) throws Exception {
        List<String> command = new ArrayList<>(List.of("redis-cli", "-h", node.address().host(), "-p",
                Integer.toString(node.address().port())));
        command.addAll(Arrays.asList(words));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes()).trim();
        if (!process.waitFor(60, TimeUnit.SECONDS) || process.exitValue() != 0) {
            throw new AssertionError("redis-cli failed: " + said);
        }
        return said;
    }
}
