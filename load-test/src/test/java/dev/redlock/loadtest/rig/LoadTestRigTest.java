package dev.redlock.loadtest.rig;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.driver.AcquireVerdict;
import dev.redlock.loadtest.driver.LockHandle;
import dev.redlock.loadtest.driver.LockListener;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.ReleaseVerdict;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The rig on a clock that moves only when the model client says so. */
class LoadTestRigTest {
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final long ACQUIRE_NS = 70_000;
    private static final long RELEASE_NS = 30_000;

    private final ExecutorService client = Executors.newSingleThreadExecutor();
    private final AtomicLong nowNs = new AtomicLong(Long.MAX_VALUE - 1_000);
    private final MutualExclusionAuditor auditor = new MutualExclusionAuditor();

    @AfterEach
    void endTheClient() {
        client.shutdownNow();
    }

    @Test
    void latenciesAreThoseOfTheClient() throws InterruptedException {
        LoadResult result = run(uncontended(1), new ModelSession(0));
        assertEquals(List.of(), result.failures());
        assertNear(ACQUIRE_NS, result.acquire().getMaxValue());
        assertNear(RELEASE_NS, result.release().getMinValue());
        assertNear(ACQUIRE_NS + RELEASE_NS, result.cycle().getValueAtPercentile(50));
    }

    @Test
    void nothingIsRecordedDuringTheWarmup() throws InterruptedException {
        LoadPlan plan = LoadPlan.uncontended(1, Duration.ofSeconds(20), Duration.ofSeconds(1), TTL, "k");
        LoadResult result = run(plan, new ModelSession(0));
        long all = result.acquires().get(AcquireVerdict.ACQUIRED);
        long warm = all - result.cycle().getTotalCount();
        assertTrue(warm >= 190_000, () -> "twenty seconds of ten thousand cycles were left out, not " + warm);
        assertEquals(List.of(), result.failures());
    }

    @Test
    void rateIsCyclesOverRecordedTime() {
        Histogram cycles = new Histogram(3);
        cycles.recordValueWithCount(100_000, 3_000);
        LoadResult result = new LoadResult(uncontended(1), 1_500_000_000, cycles, cycles, cycles, Map.of(), Map.of(), 0,
                0, List.of());
        assertEquals(2_000, result.cyclesPerSecond());
    }

    @Test
    void outcomesThatComeBeforeTheCallReturnsDoNotRecurse() throws InterruptedException {
        LoadResult result = run(uncontended(1), new ModelSession(200_000));
        assertEquals(0, result.stuck());
        assertTrue(result.acquires().get(AcquireVerdict.ACQUIRED) >= 100_000, "deeper than any stack");
    }

    @Test
    void twoHoldersOfOneResourceFailTheRun() throws InterruptedException {
        LoadPlan plan = new LoadPlan(2, 1, Duration.ofMillis(2), Duration.ZERO, Duration.ofMillis(200), TTL, "k");
        LoadTestRig rig = new LoadTestRig(plan, List.of(new ModelSession(0)), auditor, System::nanoTime);
        LoadResult result = rig.run((elapsedNs, isMeasuring) -> {
        });
        assertTrue(auditor.overlapCount() > 0, "the model client grants everything");
        assertTrue(result.failures().get(0).contains("entered while holder"), result.failures()::toString);
    }

    @Test
    void failedAcquiresFailAnUncontendedRun() throws InterruptedException {
        LoadTestRig rig = new LoadTestRig(LoadPlan.uncontended(2, Duration.ZERO, Duration.ofMillis(100), TTL, "k"),
                List.of(new RefusingSession(AcquireVerdict.CONTENDED)));
        LoadResult result = rig.run((elapsedNs, isMeasuring) -> {
        });
        assertTrue(result.failures().toString().contains("acquires ended CONTENDED"), result.failures()::toString);
        assertTrue(result.failures().contains("no cycle was completed"));
    }

    @Test
    void closedClientEndsItsCycles() throws InterruptedException {
        LoadTestRig rig = new LoadTestRig(LoadPlan.uncontended(2, Duration.ZERO, Duration.ofMillis(50), TTL, "k"),
                List.of(new RefusingSession(AcquireVerdict.CLOSED)));
        LoadResult result = rig.run((elapsedNs, isMeasuring) -> {
        });
        assertEquals(2, result.acquires().get(AcquireVerdict.CLOSED));
        assertEquals(0, result.stuck());
    }

    @Test
    void cancelEndsTheRun() {
        LoadTestRig rig = new LoadTestRig(LoadPlan.uncontended(1, Duration.ZERO, Duration.ofHours(1), TTL, "k"),
                List.of(new RefusingSession(AcquireVerdict.CONTENDED)));
        rig.cancel();
        assertThrows(InterruptedException.class, () -> rig.run((elapsedNs, isMeasuring) -> {
        }));
    }

    @Test
    void plansOutOfRangeSayTheirRange() {
        assertThrows(IllegalArgumentException.class, () -> uncontended(0));
        assertThrows(IllegalArgumentException.class,
                () -> new LoadPlan(1, 2, Duration.ZERO, Duration.ZERO, TTL, TTL, "k"));
        assertThrows(IllegalArgumentException.class,
                () -> LoadPlan.uncontended(1, Duration.ZERO, Duration.ZERO, TTL, "k"));
    }

    private static LoadPlan uncontended(int outstanding) {
        return LoadPlan.uncontended(outstanding, Duration.ZERO, Duration.ofSeconds(1), TTL, "k");
    }

    private LoadResult run(LoadPlan plan, ModelSession session) throws InterruptedException {
        return new LoadTestRig(plan, List.of(session), auditor, nowNs::get).run((elapsedNs, isMeasuring) -> {
        });
    }

    private static void assertNear(long expected, long actual) {
        assertTrue(Math.abs(actual - expected) <= expected / 50, actual + " is not within 2 % of " + expected);
    }

    /** Grants everything: the first calls before they return, the rest on a thread of its own. */
    private final class ModelSession implements LockSession {
        private int inlineLeft;

        ModelSession(int inlineCount) {
            inlineLeft = inlineCount;
        }

        @Override
        public LockHandle handle(String resource, Duration ttl, LockListener listener) {
            return new LockHandle() {
                @Override
                public void acquire() {
                    finish(ACQUIRE_NS, () -> listener.onAcquire(AcquireVerdict.ACQUIRED, TTL.toNanos()));
                }

                @Override
                public void release() {
                    finish(RELEASE_NS, () -> listener.onRelease(ReleaseVerdict.RELEASED));
                }
            };
        }

        private void finish(long tookNs, Runnable outcome) {
            Runnable event = () -> {
                nowNs.addAndGet(tookNs);
                outcome.run();
            };
            if (inlineLeft > 0) {
                inlineLeft--;
                event.run();
            } else {
                client.execute(event);
            }
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }

    private record RefusingSession(AcquireVerdict verdict) implements LockSession {
        @Override
        public LockHandle handle(String resource, Duration ttl, LockListener listener) {
            return new LockHandle() {
                @Override
                public void acquire() {
                    listener.onAcquire(verdict, 0);
                }

                @Override
                public void release() {
                    throw new AssertionError("nothing is held");
                }
            };
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }
}
