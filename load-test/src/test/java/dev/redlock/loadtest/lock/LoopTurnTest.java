package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a turn of the event loop costs those around it: its callers a wake-up, each node a read. */
@Timeout(60)
class LoopTurnTest {
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();
    private static final Path OWN_IO = Path.of("/proc/thread-self/io");
    private static final int COUNT = 64;
    /** The commands of one turn are one read; the commands of this test and of the clock watch come on top. */
    private static final int READS_MAX = 10;
    /** The command, and the end of its connection. */
    private static final int READS_OF_A_CALL = 2;
    private static RedisNodes nodes;

    @BeforeAll
    static void startNodes() {
        nodes = RequiredNodes.start(Source.PATH, 3);
    }

    @AfterAll
    static void stopNodes() {
        if (nodes != null) {
            nodes.close();
        }
    }

    private static RedlockContext context() {
        return new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(10));
    }

    private static long reads(RedisNode node) {
        Matcher line = Pattern.compile("total_reads_processed:(\\d+)")
                .matcher(String.valueOf(node.call("INFO", "stats")));
        assertTrue(line.find(), "reads");
        return Long.parseLong(line.group(1));
    }

    /** System calls of the calling thread that write, a wake-up by an event descriptor among them. */
    private static long ownWrites() throws IOException {
        Matcher line = Pattern.compile("syscw: (\\d+)").matcher(Files.readString(OWN_IO));
        assertTrue(line.find(), "syscw");
        return Long.parseLong(line.group(1));
    }

    @Test
    void submissionsOfOneTurnShareOneWakeUpAndOneReadPerNode() throws Exception {
        assumeTrue(Files.isReadable(OWN_IO), "the system counts the calls of a thread");
        try (Redlock redlock = Redlock.connect(context())) {
            Await.until("every node takes part",
                    () -> redlock.nodes().stream().allMatch(node -> node.state() == NodeState.READY));
            CountDownLatch acquired = new CountDownLatch(COUNT);
            CountDownLatch isHeldUp = new CountDownLatch(1);
            CountDownLatch goOn = new CountDownLatch(1);
            redlock.acquire(redlock.key("hold up"), OPTIONS, redlock.newLease(), outcome -> {
                isHeldUp.countDown();
                try {
                    goOn.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            isHeldUp.await();
            long[] readsBefore = new long[nodes.nodes().size()];
            for (int i = 0; i < readsBefore.length; i++) {
                readsBefore[i] = reads(nodes.nodes().get(i));
            }
            // What a first call loads and counts is none of the others' business.
            ownWrites();
            long writesBefore = ownWrites();
            for (int i = 0; i < COUNT; i++) {
                redlock.acquire(redlock.key("turn " + i), OPTIONS, redlock.newLease(), outcome -> {
                    if (outcome.isAcquired()) {
                        acquired.countDown();
                    }
                });
            }
            long writes = ownWrites() - writesBefore;
            goOn.countDown();
            assertTrue(acquired.await(30, TimeUnit.SECONDS), () -> acquired.getCount() + " not acquired");
            assertTrue(writes <= 1, "wake-ups: " + writes);

            for (int i = 0; i < readsBefore.length; i++) {
                assertReads(nodes.nodes().get(i), readsBefore[i]);
            }
        }
    }

    /** A node that was not needed for the majority may come to it later. */
    private static void assertReads(RedisNode node, long readsBefore) throws Exception {
        AtomicInteger looks = new AtomicInteger();
        Await.until(node + " has all locks", () -> {
            looks.incrementAndGet();
            return (Long) node.call("DBSIZE") > COUNT;
        });
        long reads = reads(node) - readsBefore;
        assertTrue(reads <= READS_MAX + (long) looks.get() * READS_OF_A_CALL, node + ", reads: " + reads);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 50, 5_000})
    void blockedCallerIsServedForAnySpinTime(long spinUs) throws InterruptedException {
        try (Redlock redlock = Redlock.connect(context().blockingSpin(Duration.ofNanos(spinUs * 1_000)))) {
            for (int i = 0; i < 50; i++) {
                try (Lease lease = redlock.acquire(redlock.key("spin"), OPTIONS).lease()) {
                    assertTrue(lease.isHeld());
                    assertEquals(0, redlock.counters().lostCount());
                }
            }
        }
    }
}
