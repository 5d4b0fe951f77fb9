package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.cli.AdminClient;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A real server cannot execute a release: the key is gone soon after the server recovers, long before its expiry. */
@Timeout(120)
class RejectedReleaseOnNodesTest {

    private static final Duration TTL = Duration.ofSeconds(60);
    private static final Duration LIMIT = Duration.ofSeconds(30);
    /** The longest delay of the client is one second. */
    private static final long RECOVERED_MS = 5_000;
    private static final String NOBODY = "1";

    /** How a server comes to reject writes, and how it recovers. */
    private enum Cause {
        BUSY {
            @Override
            void start(RedisNode node, Path folder) throws Exception {
                Thread script = new Thread(() -> node.call("EVAL", "while true do end", "0"));
                script.setDaemon(true);
                script.setUncaughtExceptionHandler((thread, e) -> {
                    // The script is killed.
                });
                script.start();
                Await.until("busy", () -> Cause.errorOf(node, "PING").startsWith("BUSY"));
            }

            @Override
            void end(RedisNode node) {
                node.call("SCRIPT", "KILL");
            }
        },
        NOREPLICAS {
            @Override
            void start(RedisNode node, Path folder) {
                node.call("CONFIG", "SET", "min-replicas-to-write", "1");
            }

            @Override
            void end(RedisNode node) {
                node.call("CONFIG", "SET", "min-replicas-to-write", "0");
            }
        },
        MISCONF {
            @Override
            void start(RedisNode node, Path folder) throws Exception {
                Path gone = Files.createDirectory(folder.resolve("gone"));
                node.call("CONFIG", "SET", "dir", gone.toString());
                node.call("CONFIG", "SET", "save", "3600 1");
                Files.delete(gone);
                Await.until("the snapshot fails", () -> {
                    Cause.errorOf(node, "BGSAVE");
                    return Cause.errorOf(node, "SET", "any", "value").startsWith("MISCONF");
                });
            }

            @Override
            void end(RedisNode node) {
                node.call("CONFIG", "SET", "stop-writes-on-bgsave-error", "no");
            }
        },
        READONLY {
            @Override
            void start(RedisNode node, Path folder) {
                node.call("REPLICAOF", "127.0.0.1", NOBODY);
            }

            @Override
            void end(RedisNode node) {
                node.call("REPLICAOF", "NO", "ONE");
            }
        },
        MASTERDOWN {
            @Override
            void start(RedisNode node, Path folder) {
                node.call("CONFIG", "SET", "replica-serve-stale-data", "no");
                node.call("REPLICAOF", "127.0.0.1", NOBODY);
            }

            @Override
            void end(RedisNode node) {
                node.call("REPLICAOF", "NO", "ONE");
            }
        },
        /** A release needs no memory. */
        OOM {
            @Override
            void start(RedisNode node, Path folder) {
                node.call("CONFIG", "SET", "maxmemory", "1");
            }

            @Override
            void end(RedisNode node) {
                node.call("CONFIG", "SET", "maxmemory", "0");
            }
        };

        abstract void start(RedisNode node, Path folder) throws Exception;

        abstract void end(RedisNode node);

        static String errorOf(RedisNode node, String... words) throws Exception {
            try (AdminClient admin = node.connect()) {
                return admin.send(words).asText();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Cause.class)
    void theKeyIsGoneSoonAfterTheServerRecovers(Cause cause, @TempDir Path folder) throws Exception {
        RedisNodesContext servers = new RedisNodesContext().source(Source.PATH)
                .count(1)
                .config("lua-time-limit 50")
                .config("enable-protected-configs yes");
        try (RedisNodes nodes = RequiredNodes.start(servers); Redlock redlock = connect(nodes)) {
            RedisNode node = nodes.node(0);
            NodeStatus status = redlock.nodes().get(0);
            Lease lease = redlock.tryAcquire("orders", TTL).lease();
            cause.start(node, folder);
            ReleaseOutcome outcome = lease.release();
            if (cause == Cause.OOM) {
                assertEquals(ReleaseOutcome.RELEASED, outcome);
            } else {
                assertEquals(ReleaseOutcome.UNKNOWN, outcome);
                Await.until("some probes", () -> status.errorCount() > 2 || status.disconnectCount() > 0);
            }
            cause.end(node);
            long endedNs = System.nanoTime();
            Await.until("deleted", () -> node.call("EXISTS", "orders").equals(0L));
            long tookMs = (System.nanoTime() - endedNs) / 1_000_000;
            assertTrue(tookMs < RECOVERED_MS, tookMs + " ms");
            Await.until("ready", () -> status.state() == NodeState.READY);
            assertEquals(0, status.undeliveredReleaseCount() + status.undeliveredReleaseRefusedCount()
                    + status.undeliveredReleaseDroppedCount(), status::toString);
            assertTrue(redlock.tryAcquire("orders", TTL).isAcquired());
        }
    }

    /** The error is that of the vote: no other holder refuses, and a waiter has nothing to wait for. */
    @ParameterizedTest
    @EnumSource(value = Cause.class, names = {"NOREPLICAS", "MISCONF"})
    void aReaderAndAWriterReportTheError(Cause cause, @TempDir Path folder) throws Exception {
        RedisNodesContext servers = new RedisNodesContext().source(Source.PATH)
                .count(1)
                .config("enable-protected-configs yes");
        AcquireOptions once = AcquireOptions.ofTtl(TTL).tryOnce();
        try (RedisNodes nodes = RequiredNodes.start(servers); Redlock redlock = connect(nodes)) {
            cause.start(nodes.node(0), folder);
            for (AcquireOptions options : List.of(once.forReading(), once.forWriting(), once.forWriting().fenced())) {
                AcquireOutcome outcome = redlock.acquire("orders", options);
                assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
                assertTrue(outcome.voteText(0).contains(cause.name()), outcome.voteText(0));
            }
            cause.end(nodes.node(0));
        }
    }

    private static Redlock connect(RedisNodes nodes) {
        RedisNode node = nodes.node(0);
        return Redlock.connect(new RedlockContext().nodes(node.address().host() + ":" + node.address().port())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(LIMIT));
    }
}
