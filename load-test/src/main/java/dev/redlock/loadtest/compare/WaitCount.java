package dev.redlock.loadtest.compare;

import dev.redlock.cli.AdminClient;
import dev.redlock.cli.ClientTls;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.SafeText;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.RedisReplicas;
import java.io.IOException;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The {@code WAIT} commands that a primary has carried out, by its own count: a library may leave them out without a
 * word.
 *
 * @threading any thread
 */
final class WaitCount {
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final Pattern CALLS = Pattern.compile("(?m)^cmdstat_wait:calls=(\\d+),");

    private WaitCount() {
    }

    /** Returns the number of its replicas; throws unless the primary has one, and carries out and counts WAIT. */
    static long requireReplicas(String driver, NodeAddress primary, ClientTls files) throws IOException {
        try (AdminClient redis = AdminClient.connect(primary, LIMIT, files)) {
            long inStep = RedisReplicas.inStep(text(driver, primary, redis.send("INFO", "replication"), "INFO"));
            if (inStep == 0) {
                throw new IOException(driver + " cannot be measured: node " + primary
                        + " has no replica that is in step, and WAIT for none returns at once; add --replicas 1, or "
                        + "name a primary with replicas in --addresses");
            }
            long before = of(driver, primary, redis);
            RespValue reply = redis.send("WAIT", "0", "1");
            if (reply.isError()) {
                throw new IOException(driver + " cannot be measured: node " + primary + " answers WAIT with "
                        + SafeText.of(reply.asText()) + "; leave the driver out, or use servers with WAIT");
            }
            if (of(driver, primary, redis) == before) {
                throw new IOException(driver + " cannot be verified: INFO commandstats of node " + primary
                        + " does not count WAIT; leave the driver out, or use servers that count it");
            }
            return inStep;
        }
    }

    /** Since the start of the server, or since the last {@code CONFIG RESETSTAT}. */
    static long of(String driver, NodeAddress primary, ClientTls files) throws IOException {
        try (AdminClient redis = AdminClient.connect(primary, LIMIT, files)) {
            return of(driver, primary, redis);
        }
    }

    private static long of(String driver, NodeAddress primary, AdminClient redis) throws IOException {
        Matcher calls = CALLS.matcher(text(driver, primary, redis.send("INFO", "commandstats"), "INFO commandstats"));
        return calls.find() ? Long.parseLong(calls.group(1)) : 0;
    }

    private static String text(String driver, NodeAddress primary, RespValue reply, String command)
            throws IOException {
        if (reply.isError()) {
            throw new IOException(driver + " cannot be verified: node " + primary + " answers " + command + " with "
                    + SafeText.of(reply.asText()) + "; give the user of the address the right +info");
        }
        return reply.asText();
    }
}
