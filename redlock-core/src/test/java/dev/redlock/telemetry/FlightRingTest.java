package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The ring of the flight recorder: what it keeps, and copies that race with the writer. */
class FlightRingTest {

    private static final String[] SUBJECTS = {"a", "b", "c", "d", "e", "f", "g"};

    /** Every field is a function of the time, so that a mixed event shows. */
    private static void add(FlightRing ring, long i) {
        ring.add(i, (int) (i % 251), (int) (i * 31), (int) (i % 63), (int) (i % 199), ~i,
                SUBJECTS[(int) (i % SUBJECTS.length)]);
    }

    private static void check(FlightCopy copy, int index) {
        long i = copy.timeNs(index);
        assertEquals(i % 251, copy.kind(index));
        assertEquals((int) (i * 31), copy.number(index));
        assertEquals(i % 63, copy.nodeIndex(index));
        assertEquals(i % 199, copy.detail(index));
        assertEquals(~i, copy.value(index));
        assertSame(SUBJECTS[(int) (i % SUBJECTS.length)], copy.subject(index));
    }

    @ParameterizedTest
    @CsvSource({"1, 2", "2, 2", "3, 4", "4096, 4096", "4097, 8192"})
    void theCapacityIsAPowerOfTwo(int asked, int expected) {
        assertEquals(expected, new FlightRing(asked).capacity());
    }

    /** A quiet copy of a full ring leaves one event out, whose entry the writer may be changing. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 9, 100, 1_000_003})
    void aCopyHasTheLastEvents(int count) {
        FlightRing ring = new FlightRing(8);
        for (int i = 0; i < count; i++) {
            add(ring, i);
        }
        FlightCopy copy = ring.copy();
        assertEquals(Math.min(count, 7), copy.length());
        assertEquals(Math.max(0, count - 7), copy.overwrittenCount());
        for (int i = 0; i < copy.length(); i++) {
            assertEquals(count - copy.length() + i, copy.timeNs(i));
            check(copy, i);
        }
    }

    @ParameterizedTest
    @CsvSource({"3, 3", "100, 5"})
    void aBoundedCopyHasTheNewestEvents(int count, int length) {
        FlightRing ring = new FlightRing(8);
        for (int i = 0; i < count; i++) {
            add(ring, i);
        }
        FlightCopy copy = ring.copy(5);
        assertEquals(length, copy.length());
        assertEquals(count - length, copy.overwrittenCount());
        for (int i = 0; i < copy.length(); i++) {
            assertEquals(count - length + i, copy.timeNs(i));
            check(copy, i);
        }
    }

    @Test
    @Timeout(60)
    void aCopyBesideTheWriterHasCompleteEventsOnly() throws InterruptedException {
        FlightRing ring = new FlightRing(64);
        AtomicBoolean isOver = new AtomicBoolean();
        Thread writer = new Thread(() -> {
            for (long i = 0; !isOver.get(); i++) {
                add(ring, i);
            }
        });
        writer.start();
        try {
            long raced = 0;
            long checked = 0;
            long last = -1;
            for (int round = 0; round < 200_000 || checked < 100_000; round++) {
                FlightCopy copy = ring.copy();
                raced += copy.length() < 63 ? 1 : 0;
                checked += copy.length();
                for (int i = 0; i < copy.length(); i++) {
                    check(copy, i);
                    assertEquals(copy.timeNs(0) + i, copy.timeNs(i), "no gap");
                }
                if (copy.length() > 0) {
                    assertTrue(copy.timeNs(0) >= last, "copies follow each other");
                    last = copy.timeNs(0);
                }
            }
            assertTrue(raced > 0, "the writer overtook a copy");
        } finally {
            isOver.set(true);
            writer.join();
        }
    }
}
