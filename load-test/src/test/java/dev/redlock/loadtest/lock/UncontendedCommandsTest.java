package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RestartGuardMode;
import dev.redlock.loadtest.nodes.RedisNode;
import dev.redlock.loadtest.nodes.RedisNodes;
import dev.redlock.loadtest.rig.CallbackLane;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The commands that a client with a wait budget sends for locks that nobody else wants, as the servers count them. */
class UncontendedCommandsTest {

    private static final int LANES = 64;
    private static final int CYCLES = 200;
    private static final Duration DURATION = Duration.ofSeconds(3);

    private static long calls(RedisNodes nodes, String command) {
        return nodes.nodes().stream().mapToLong(node -> calls(node, command)).sum();
    }

    private static long calls(RedisNode node, String command) {
        Matcher calls = Pattern.compile("cmdstat_" + Pattern.quote(command) + ":calls=(\\d+)")
                .matcher(String.valueOf(node.call("INFO", "commandstats")));
        return calls.find() ? Long.parseLong(calls.group(1)) : 0;
    }

    /** No attempt registers for a push or takes a ticket. */
    @Test
    void locksThatNobodyElseWantsNeverUseTheCommandsOfWaiters() {
        try (RedisNodes nodes = RedisNodes.start(3);
                Redlock redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                        .restartGuard(RestartGuardMode.OFF)
                        .nodeTimeout(Duration.ofSeconds(5)))) {
            AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(30)).waitUpTo(Duration.ofSeconds(20));
            List<CallbackLane> lanes = IntStream.range(0, LANES)
                    .mapToObj(i -> new CallbackLane(redlock, redlock.key("lane/" + i), options))
                    .toList();
            long cycles = 0;
            long endNs = System.nanoTime() + DURATION.toNanos();
            while (System.nanoTime() - endNs < 0) {
                lanes.forEach(lane -> lane.begin(CYCLES));
                lanes.forEach(CallbackLane::await);
                cycles += LANES * CYCLES;
            }
            assertEquals(0, calls(nodes, "client|caching"), "registrations");
            assertEquals(0, calls(nodes, "incrby"), "tickets");
            // The handshake may set a mark and probe for commands.
            long more = calls(nodes, "set") - 3 * cycles;
            assertTrue(more >= 0 && more <= 20, "one attempt for each cycle, and " + more);
        }
    }
}
