package dev.redlock.loadtest.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.chaos.SectionRecord.Kind;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The audit finds what it is there for, and nothing else. */
class SectionAuditTest {
    private final List<SectionRecord> records = new ArrayList<>();
    private final ClockSteps clockSteps = new ClockSteps();

    @TempDir
    private Path folder;

    @Test
    void sectionsOneAfterTheOtherPass() {
        enter(1, 1, 10, 100, 5);
        leave(1, 1, 20);
        enter(2, 1, 20, 100, 6);
        leave(2, 1, 30);
        assertEquals(List.of(), audit().failures());
        assertEquals(2, audit().sectionCount());
        assertEquals(2, audit().fencedCount());
    }

    @Test
    void overlapByOneNanosecondFails() {
        enter(1, 1, 10, 100, 0);
        leave(1, 1, 20);
        enter(2, 1, 19, 100, 0);
        leave(2, 1, 30);
        assertTrue(audit().failures().toString().contains("OVERLAP on resource 0"), audit().failures()::toString);
    }

    @Test
    void overlapWithALongSectionFailsAcrossAnotherSection() {
        enter(1, 1, 10, 100, 0);
        enter(2, 1, 20, 30, 0);
        enter(3, 1, 90, 120, 0);
        assertEquals(2, audit().failureCount());
        assertEquals(2, audit().overlapCount());
    }

    @Test
    void readersOverlapWithReadersOnly() {
        records.add(new SectionRecord(Kind.READ, 1, 0, 1, 10, 100, 0));
        records.add(new SectionRecord(Kind.READ, 2, 0, 1, 20, 60, 0));
        assertEquals(List.of(), audit().failures());
        enter(3, 1, 70, 120, 0);
        assertEquals(1, audit().overlapCount(), "a writer beside the first reader");
        records.add(new SectionRecord(Kind.READ, 4, 0, 1, 110, 130, 0));
        assertEquals(2, audit().overlapCount(), "a reader beside the writer");
        records.add(new SectionRecord(Kind.READ, 5, 0, 1, 125, 130, 0));
        assertEquals(2, audit().overlapCount(), "two readers");
    }

    @Test
    void asManySectionsAsPermitsOverlap() {
        int semaphore = SectionRecord.FIRST_SEMAPHORE;
        records.add(new SectionRecord(Kind.PERMIT, 1, semaphore, 1, 10, 100, 0));
        records.add(new SectionRecord(Kind.PERMIT, 2, semaphore, 1, 20, 60, 0));
        records.add(new SectionRecord(Kind.PERMIT, 3, semaphore, 1, 60, 90, 0));
        records.add(new SectionRecord(Kind.PERMIT, 4, semaphore + 1, 1, 61, 90, 0));
        enter(5, 1, 62, 90, 0);
        assertEquals(List.of(), audit().failures());
        records.add(new SectionRecord(Kind.PERMIT, 6, semaphore, 1, 89, 99, 0));
        assertEquals(1, audit().overlapCount(), "a third of two permits");
        assertTrue(audit().failures().toString().contains("MORE THAN 2 PERMITS of semaphore 0"),
                audit().failures()::toString);
    }

    @Test
    void overlapsAreAcceptedUntilTheStepOfAClockIsFound() {
        long foundNs = 50 + TimeUnit.MILLISECONDS.toNanos(ClockSteps.FOUND_WITHIN_MS);
        enter(1, 1, 10, 2 * foundNs, 5);
        enter(2, 1, 39, 40, 6);
        assertEquals(1, audit().overlapCount());
        clockSteps.add(40, 50);
        assertEquals(1, audit().overlapCount(), "before the step");
        enter(2, 2, 40, 41, 7);
        enter(2, 3, foundNs, foundNs + 1, 8);
        assertEquals(1, audit().overlapCount());
        assertEquals(2, audit().acceptedCount());
        enter(2, 4, foundNs + 1, foundNs + 2, 9);
        assertEquals(2, audit().overlapCount(), "after it was found");
    }

    @Test
    void permitsAreAcceptedUntilTheStepOfAClockIsFound() {
        clockSteps.add(40, 50);
        int semaphore = SectionRecord.FIRST_SEMAPHORE;
        for (int worker = 1; worker <= 3; worker++) {
            records.add(new SectionRecord(Kind.PERMIT, worker, semaphore, 1, 10 * worker + 11, 100, 0));
        }
        assertEquals(0, audit().overlapCount());
        assertEquals(1, audit().acceptedCount());
    }

    @Test
    void fencingTokensRiseDuringTheStepOfAClockToo() {
        clockSteps.add(10, 20);
        enter(1, 1, 11, 100, 5);
        enter(2, 1, 12, 100, 5);
        assertEquals(1, audit().failureCount());
        assertEquals(1, audit().acceptedCount());
    }

    @Test
    void killedHolderClaimsUntilItsValidityEnds() {
        enter(1, 1, 10, 50, 0);
        enter(2, 1, 49, 100, 0);
        assertEquals(1, audit().failureCount());
        assertEquals(2, audit().unfinishedCount());
    }

    @Test
    void holderThatOverstaysClaimsNoLongerThanItsValidity() {
        enter(1, 1, 10, 50, 0);
        enter(2, 1, 50, 100, 0);
        leave(2, 1, 60);
        leave(1, 1, 80);
        assertEquals(List.of(), audit().failures());
        assertEquals(1, audit().overstayedCount());
    }

    @Test
    void extensionLengthensTheClaim() {
        enter(1, 1, 10, 50, 0);
        records.add(new SectionRecord(Kind.EXTEND, 1, 0, 1, 40, 90, 0));
        enter(2, 1, 60, 100, 0);
        assertEquals(1, audit().failureCount());
    }

    @Test
    void equalAndFallingFencingTokensFail() {
        enter(1, 1, 10, 20, 5);
        enter(2, 1, 30, 40, 5);
        enter(3, 1, 50, 60, 4);
        enter(4, 1, 70, 80, 6);
        assertEquals(2, audit().failureCount());
    }

    @Test
    void otherResourcesDoNotMatter() {
        enter(1, 1, 10, 100, 0);
        records.add(new SectionRecord(Kind.ENTER, 2, 1, 1, 20, 100, 0));
        assertEquals(List.of(), audit().failures());
    }

    @Test
    void longestUnavailabilityCountsBothEnds() {
        enter(1, 1, 400, 410, 0);
        enter(1, 2, 450, 460, 0);
        assertEquals(550, audit().longestGapNs());
        assertEquals(400, SectionAudit.of(records, 0, 500, clockSteps).longestGapNs());
    }

    @Test
    void randomSerialHistoryPassesAndOneShiftedSectionFails() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        long timeNs = 0;
        for (int i = 1; i <= 1000; i++) {
            timeNs += 1 + random.nextInt(50);
            enter(i % 7, i, timeNs, timeNs + 1000, i);
            timeNs += 1 + random.nextInt(50);
            leave(i % 7, i, timeNs);
        }
        assertEquals(List.of(), audit().failures(), "seed " + seed);
        int victim = 2 * (1 + random.nextInt(999));
        SectionRecord moved = records.get(victim);
        SectionRecord before = records.get(victim - 1);
        records.set(victim, new SectionRecord(Kind.ENTER, moved.worker(), 0, moved.section(), before.timeNs() - 1,
                moved.validityEndNs(), moved.fence()));
        assertTrue(audit().failureCount() > 0, "seed " + seed);
    }

    @Test
    void recordsOfManyThreadsAreReadBackWhole() throws Exception {
        Path file = Files.createFile(folder.resolve("records"));
        CountDownLatch start = new CountDownLatch(1);
        List<Thread> writers = new ArrayList<>();
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 4; i++) {
            int worker = i;
            writers.add(new Thread(() -> {
                try (SectionFile out = SectionFile.append(file)) {
                    start.await();
                    for (int k = 0; k < 5000; k++) {
                        out.write(new SectionRecord(Kind.ENTER, worker, 0, k, k, k, k));
                    }
                } catch (Exception e) {
                    failures.add(e);
                }
            }));
        }
        writers.forEach(Thread::start);
        start.countDown();
        for (Thread writer : writers) {
            writer.join();
        }
        assertEquals(List.of(), failures);
        assertEquals(20_000, SectionFile.readAll(file).stream().distinct().count());
    }

    @Test
    void damagedRecordsAreRejected() throws Exception {
        Path file = Files.createFile(folder.resolve("records"));
        try (SectionFile out = SectionFile.append(file)) {
            out.write(new SectionRecord(Kind.ENTER, 1, 2, 3, 4, 5, 6));
        }
        byte[] bytes = Files.readAllBytes(file);
        bytes[40]++;
        Files.write(file, bytes);
        assertThrows(IllegalStateException.class, () -> SectionFile.readAll(file));
    }

    private void enter(int worker, long section, long timeNs, long validityEndNs, long fence) {
        records.add(new SectionRecord(Kind.ENTER, worker, 0, section, timeNs, validityEndNs, fence));
    }

    private void leave(int worker, long section, long timeNs) {
        records.add(new SectionRecord(Kind.LEAVE, worker, 0, section, timeNs, 0, 0));
    }

    private SectionAudit audit() {
        return SectionAudit.of(records, 0, 1000, clockSteps);
    }
}
