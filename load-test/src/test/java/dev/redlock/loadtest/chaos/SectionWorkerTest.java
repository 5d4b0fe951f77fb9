package dev.redlock.loadtest.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a holder records of its sections. */
class SectionWorkerTest {
    private static final Duration TTL = Duration.ofSeconds(30);

    @TempDir
    private Path folder;

    /** A worker whose first section stays until the end of the validity. */
    private static long overstayingSeed() {
        return LongStream.iterate(0, seed -> seed + 1)
                .filter(seed -> new SplittableRandom(seed).nextInt(1000) < 5)
                .findFirst()
                .orElseThrow();
    }

    /** The process may be killed before its section ends, and must not look like a holder until then. */
    @Test
    void aLossIsRecordedBeforeTheSectionEnds() throws Exception {
        Path records = Files.createFile(folder.resolve("records"));
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1));
                SectionFile file = SectionFile.append(records);
                Redlock redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                        .restartGuard(RestartGuardMode.OFF)
                        .connectTimeout(Duration.ofSeconds(20))
                        .nodeTimeout(Duration.ofSeconds(5))
                        .flightRecordListener(text -> {
                        }))) {
            SectionWorker worker = new SectionWorker(redlock, file, new SectionHistory(null, null, 0),
                    new WorkerTally(), 0, 0, overstayingSeed());
            worker.plan(1, 0, ChaosOptions.Fenced.NONE, TTL, Duration.ofMillis(1));
            Lease lease = redlock.tryAcquire("orders", AcquireOptions.ofTtl(TTL)).lease();
            Thread section = new Thread(() -> {
                try {
                    worker.section(new int[]{0}, SectionRecord.Kind.ENTER, 0, lease, 1);
                } catch (Exception e) {
                    // Interrupted at the end of the test.
                    Thread.currentThread().interrupt();
                }
            });
            section.start();
            try {
                Await.until("entered", () -> kinds(records).equals(List.of(SectionRecord.Kind.ENTER)));
                nodes.node(0).kill();
                nodes.node(0).start();
                Await.until("left", () -> kinds(records).contains(SectionRecord.Kind.LEAVE));
                assertTrue(section.isAlive(), "the section continues");
                assertEquals(2, kinds(records).size());
            } finally {
                section.interrupt();
                section.join();
            }
        }
    }

    private static List<SectionRecord.Kind> kinds(Path records) throws Exception {
        return SectionFile.readAll(records).stream().map(SectionRecord::kind).toList();
    }
}
