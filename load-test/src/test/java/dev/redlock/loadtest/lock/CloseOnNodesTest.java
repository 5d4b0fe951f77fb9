package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client that holds many locks releases them all when it closes, and reports it. */
@Timeout(120)
class CloseOnNodesTest {

    private static final int LOCKS = 20_000;
    private static final int AT_ONCE = 100;
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(60));

    @Test
    void aCloseReportsTheReleaseOfTwentyThousandLocks() {
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3)) {
            Redlock redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                    .restartGuard(RestartGuardMode.OFF));
            lockAll(redlock);
            long startNs = System.nanoTime();
            CloseReport report = redlock.closeWithin(Duration.ofSeconds(60));
            long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
            assertEquals(new CloseReport(LOCKS, List.of()), report);
            assertTrue(tookMs < 60_000, () -> "it took " + tookMs + " ms");
            nodes.nodes().forEach(node -> assertEquals(0L, node.call("DBSIZE")));
        }
    }

    /** Acquires them with the default node timeout, which that of a single release is. */
    private static void lockAll(Redlock redlock) {
        for (int i = 0; i < LOCKS; i += AT_ONCE) {
            List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
            for (int j = 0; j < AT_ONCE; j++) {
                outcomes.add(redlock.acquireAsync("close/" + (i + j), OPTIONS).toCompletableFuture());
            }
            outcomes.forEach(outcome -> assertTrue(outcome.join().isAcquired(), () -> outcome.join().toString()));
        }
    }
}
