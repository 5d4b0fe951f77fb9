package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.loadtest.rig.CallbackLane;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The commands that a client with a wait budget sends for locks that nobody else wants, as the servers count them. */
class UncontendedCommandsTest {

    private static final int LANES = 64;
    private static final int CYCLES = 200;
    /**
     * Above these limits the client sends a late node nothing. It then retains a release, and its next attempt meets
     * the key of the last one: refusals that no other client causes.
     */
    private static final int UNANSWERED_MAX = 1 << 22;
    private static final int UNSENT_BYTES_MAX = 1 << 30;
    private static final long LATE_MS = 120_000;
    private static final Duration DURATION = Duration.ofMillis(Long.getLong("uncontended.ms", 1_000));

    /** The kinds of locks. */
    private enum Kind {
        PLAIN, SET, WRITE, PERMIT;

        ResourceKey key(Redlock redlock, int lane) {
            return this == SET
                    ? redlock.keyOfAll(List.of("lane/" + lane, "other/" + lane))
                    : redlock.key("lane/" + lane);
        }

        AcquireOptions of(AcquireOptions options) {
            return switch (this) {
                case PLAIN, SET -> options;
                case WRITE -> options.forWriting();
                case PERMIT -> options.forPermitOf(1);
            };
        }
    }

    private static long calls(RedisNodes nodes, String command) {
        return nodes.nodes().stream().mapToLong(node -> calls(node, command)).sum();
    }

    private static long calls(RedisNode node, String command) {
        Matcher calls = Pattern.compile("cmdstat_" + Pattern.quote(command) + ":calls=(\\d+)")
                .matcher(String.valueOf(node.call("INFO", "commandstats")));
        return calls.find() ? Long.parseLong(calls.group(1)) : 0;
    }

    private static long keysSet(RedisNodes nodes) {
        return calls(nodes, "set") + 2 * calls(nodes, "msetex");
    }

    /** No attempt registers for a push or takes a ticket. */
    @ParameterizedTest
    @EnumSource
    void locksThatNobodyElseWantsNeverUseTheCommandsOfWaiters(Kind kind) throws Exception {
        try (RedisNodes nodes = RedisNodes.start(3);
                Redlock redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                        .restartGuard(RestartGuardMode.OFF)
                        .nodeTimeout(Duration.ofSeconds(10))
                        .nodeBackPressure(UNANSWERED_MAX, UNSENT_BYTES_MAX))) {
            AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(30)).waitUpTo(Duration.ofSeconds(20));
            List<CallbackLane> lanes = IntStream.range(0, LANES)
                    .mapToObj(i -> new CallbackLane(redlock, kind.key(redlock, i), kind.of(options)))
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
            long attempts = 3 * cycles * (kind == Kind.SET ? 2 : 1);
            // A node that is late executes the last ones now. A node without the scripts gets an attempt again, unless
            // it is decided: so a few are missing if a node did not have them at first.
            Await.until("all nodes have executed " + attempts + " attempts, or nearly all", LATE_MS,
                    () -> keysSet(nodes) >= attempts - attempts / 100);
            long more = keysSet(nodes) - attempts;
            assertTrue(more <= 20, "one attempt for each cycle, and " + more);
        }
    }
}
