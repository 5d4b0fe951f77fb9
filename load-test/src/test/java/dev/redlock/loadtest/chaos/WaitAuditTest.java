package dev.redlock.loadtest.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.chaos.SectionRecord.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Waits for locks that nobody uses are found, unless a fault explains them. */
class WaitAuditTest {
    private static final long MS = 1_000_000;
    private static final long LATE_MS = WaitAudit.FREE_MS_MAX + 1;
    private static final long END_MS = 100_000;

    private final List<SectionRecord> records = new ArrayList<>();
    private final WaitAudit audit = new WaitAudit(Duration.ofSeconds(6));

    @Test
    void aWaitCountsFromTheEndOfTheSectionBefore() {
        section(1, 0, 1, 10_000, 12_000);
        section(2, 0, 1, 12_000 + WaitAudit.FREE_MS_MAX, 4_000);
        assertEquals(List.of(), failures());
        assertEquals(
                "1 acquires without a fault nearby: the longest took 1500 ms beside a lock that nobody used (at most "
                        + "1500), and others got the lock 1 times meanwhile (at most 50); 1 acquires took less than "
                        + "30 us, as those of retained locks",
                audit.inWords());
    }

    @Test
    void aWaitBesideAFreeLockFails() {
        section(1, 0, 1, 10_000, 12_000);
        section(2, 0, 1, 12_000 + LATE_MS, 4_000);
        section(1, 1, 2, 11_000, 12_000);
        assertEquals(List.of("A WAIT FOR A FREE LOCK: worker 2, resource 0, 1501 ms until 13501000000, ENTER"),
                failures());
    }

    @Test
    void aWaitWithoutAnySectionBeforeFailsToo() {
        section(2, 0, 1, 20_000, LATE_MS);
        assertEquals(1, failures().size());
    }

    @Test
    void aWaitThatEndsWithoutTheLockFailsToo() {
        section(1, 0, 1, 10_000, 12_000);
        records.add(new SectionRecord(Kind.REFUSED, 2, 0, 0, (12_000 + LATE_MS) * MS, 0, 0, 5_000_000));
        assertTrue(failures().toString().contains("REFUSED"), records::toString);
    }

    /** The first section overstays: the lock is free at the end of its validity, which an extension has moved. */
    @Test
    void aLockIsFreeWhenItsValidityEnds() {
        records.add(new SectionRecord(Kind.ENTER, 1, 0, 1, 10_000 * MS, 11_000 * MS, 0));
        records.add(new SectionRecord(Kind.EXTEND, 1, 0, 1, 10_500 * MS, 12_000 * MS, 0));
        records.add(new SectionRecord(Kind.LEAVE, 1, 0, 1, 20_000 * MS, 0, 0));
        section(2, 0, 1, 12_000 + LATE_MS, 4_000);
        assertTrue(failures().toString().contains(" 1501 ms "), records::toString);
    }

    @Test
    void aSetWaitsForTheLastOfItsLocks() {
        section(1, 0, 1, 10_000, 12_000);
        section(1, 1, 2, 10_000, 15_000);
        long atMs = 12_000 + LATE_MS + 1_600;
        section(2, 0, 7, atMs, 6_000);
        section(2, 1, 8, atMs, 6_000);
        assertEquals(List.of(), failures());
    }

    @Test
    void aBadNodeExplainsWaitsUntilItHasBeenWellForASecond() {
        audit.disturbNodes(5_000 * MS, 6_000);
        section(1, 0, 1, 10_000, 12_000);
        section(2, 0, 1, 12_000 + LATE_MS, 4_000);
        assertEquals(List.of(), failures());
        section(3, 0, 1, 20_000, 4_000);
        assertEquals(1, failures().size(), "long after it");
    }

    @Test
    void aStoppedWorkerExplainsItsOwnWaitsAndThoseForWhatItUsed() {
        section(1, 0, 1, 10_000, 10_001);
        ask(1, 5, 4, 10_500);
        ask(1, 3, 4, 10_999);
        ask(1, 4, 4, 10_999);
        section(2, 1, 1, 10_000, 10_001);
        section(1, 1, 9, 9_000, 9_001);
        audit.disturbWorker(1, 11_000 * MS, 100);
        for (int resource : new int[]{0, 3, 4}) {
            section(2, resource, 10 + resource, 12_000 + LATE_MS + 2 * resource, LATE_MS + 900);
        }
        section(1, 2, 20, 12_000 + LATE_MS, LATE_MS + 900);
        assertEquals(List.of(), failures());
        section(2, 1, 30, 12_000 + LATE_MS + 1, LATE_MS + 900);
        section(2, 5, 31, 12_000 + LATE_MS + 3, LATE_MS + 900);
        assertEquals(List.of(1, 5), failedResources(), "another worker used it later, or an acquire before the last");
    }

    private List<Integer> failedResources() {
        WaitAudit again = new WaitAudit(Duration.ofSeconds(6));
        again.disturbWorker(1, 11_000 * MS, 100);
        return again.check(records, 0, END_MS * MS)
                .stream()
                .map(failure -> Integer.valueOf(failure.replaceAll(".*resource (\\d+),.*", "$1")))
                .toList();
    }

    @Test
    void aWaiterThatOthersOvertakeAgainAndAgainFails() {
        for (int i = 0; i <= WaitAudit.OVERTAKEN_MAX; i++) {
            section(1, 0, i + 1, 10_000 + 10 * i, 10_005 + 10 * i);
        }
        long atMs = 10_010 + 10 * WaitAudit.OVERTAKEN_MAX;
        section(2, 0, 1, atMs, atMs - 10_000 + 50);
        assertEquals(1, failures().size());
        assertTrue(failures().get(0).startsWith("A WAITER OVERTAKEN: worker 2, resource 0, 51 times until "),
                failures()::toString);
        records.set(records.size() - 2, new SectionRecord(Kind.ENTER, 2, 0, 1, atMs * MS, (atMs + 5) * MS, 0,
                (int) (atMs - 10_000 + 49) * 1000));
        assertEquals(List.of(), new WaitAudit(Duration.ofSeconds(6)).check(records, 0, END_MS * MS),
                "the first came before anybody could know of the waiter");
    }

    @Test
    void onlyTheTimeOfTheFaultsCounts() {
        section(2, 0, 1, 20_000, LATE_MS);
        assertEquals(List.of(), audit.check(records, 21_000 * MS, END_MS * MS));
        assertEquals(List.of(), audit.check(records, 0, 20_000 * MS));
    }

    private void ask(int worker, int resource, int thread, long atMs) {
        records.add(new SectionRecord(Kind.ASK, worker, resource, thread, atMs * MS, 0, 0));
    }

    /** A section that ends at a time, or one whose acquire took so long and which ends soon. */
    private void section(int worker, int resource, int number, long atMs, long endOrWaitMs) {
        boolean isEnd = endOrWaitMs > atMs;
        long endMs = isEnd ? endOrWaitMs : atMs + 1;
        int acquireUs = isEnd ? 0 : (int) (endOrWaitMs * 1000);
        records.add(new SectionRecord(Kind.ENTER, worker, resource, number, atMs * MS, endMs * MS + 1_000 * MS, 0,
                acquireUs));
        records.add(new SectionRecord(Kind.LEAVE, worker, resource, number, endMs * MS, 0, 0));
    }

    private List<String> failures() {
        return audit.check(records, 0, END_MS * MS);
    }
}
