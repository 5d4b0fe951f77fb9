package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The ring keeps requests in order, up to a limit, and allocates only when it grows. */
class RequestRingTest {

    private static final class NumberedRequest extends StubRequest {
        private final long number;

        NumberedRequest(long number) {
            super("", 0);
            this.number = number;
        }
    }

    private static InFlightRequest request(long number) {
        return new NumberedRequest(number);
    }

    private static long numberOf(InFlightRequest request) {
        return ((NumberedRequest) request).number;
    }

    @Test
    void trimShrinksAnUnusedRingAndKeepsTheOrder() {
        RequestRing ring = new RequestRing(65_536);
        long added = 0;
        long removed = 0;
        while (ring.length() < 40_000) {
            ring.add(request(added++), 0);
        }
        assertEquals(65_536, ring.capacity());
        ring.trim();
        ring.trim();
        assertEquals(65_536, ring.capacity(), "all of it is needed");
        while (ring.length() > 3_000) {
            assertEquals(removed++, numberOf(ring.head()));
            ring.take();
        }
        for (int period = 0; period < 10; period++) {
            ring.trim();
        }
        assertEquals(8_192, ring.capacity(), "between twice and four times the need");
        while (ring.length() < 5_000) {
            ring.add(request(added++), 0);
        }
        while (!ring.isEmpty()) {
            assertEquals(removed++, numberOf(ring.head()));
            ring.take();
        }
        assertEquals(added, removed);
        for (int period = 0; period < 10; period++) {
            ring.trim();
        }
        assertEquals(4_096, ring.capacity(), "a small one is kept");
    }

    @Test
    void trimKeepsTheCapacityThatEachPeriodUses() {
        RequestRing ring = new RequestRing(65_536);
        for (int period = 0; period < 5; period++) {
            while (ring.length() < 30_000) {
                ring.add(request(period), 0);
            }
            while (!ring.isEmpty()) {
                ring.take();
            }
            ring.trim();
            assertEquals(32_768, ring.capacity(), "period " + period);
        }
    }

    @Test
    void returnsRequestsInTheOrderTheyWereAdded() {
        RequestRing ring = new RequestRing(1_000);
        ring.add(request(10), 1);
        ring.add(request(20), 2);
        assertEquals(10, numberOf(ring.head()));
        assertEquals(1, ring.take());
        assertEquals(20, numberOf(ring.head()));
        assertEquals(2, ring.take());
        assertNull(ring.head());
        assertTrue(ring.isEmpty());
    }

    @Test
    void isFullAtItsLimit() {
        RequestRing ring = new RequestRing(5);
        for (int i = 0; i < 4; i++) {
            ring.add(request(i), i);
        }
        assertFalse(ring.isFull(), "4 of 5");
        assertTrue(ring.offer(request(4), 4));
        assertTrue(ring.isFull(), "5 of 5");
        assertFalse(ring.offer(request(5), 5));
        assertEquals(5, ring.length());
        ring.take();
        assertFalse(ring.isFull(), "4 of 5 again");
    }

    @Test
    void holdsRequestsBeyondItsLimit() {
        RequestRing ring = new RequestRing(3);
        for (int i = 0; i < 40; i++) {
            ring.add(request(i), i);
        }
        assertTrue(ring.isFull());
        for (int i = 0; i < 40; i++) {
            assertEquals(i, numberOf(ring.head()));
            assertEquals(i, ring.take());
        }
        assertTrue(ring.isEmpty());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 255, 256, 257, 1 << 24})
    void worksWithAnyLimit(int limit) {
        RequestRing ring = new RequestRing(limit);
        assertTrue(ring.isEmpty());
        assertFalse(ring.isFull());
        for (int i = 0; i < Math.min(limit, 300); i++) {
            assertFalse(ring.isFull());
            ring.add(request(i), i);
        }
        assertEquals(Math.min(limit, 300), ring.length());
        assertEquals(limit <= 300, ring.isFull());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 100, 255, 256, 300})
    void keepsTheOrderWhenItGrowsWithItsHeadAnywhere(int offset) {
        RequestRing ring = new RequestRing(100_000);
        for (int i = 0; i < offset; i++) {
            ring.add(request(-1), 0);
            ring.take();
        }
        int count = 256 * 4 + 1;
        for (int i = 0; i < count; i++) {
            ring.add(request(i), i * 7);
        }
        assertEquals(count, ring.length());
        for (int i = 0; i < count; i++) {
            assertEquals(i, numberOf(ring.head()));
            assertEquals(i * 7, ring.take());
        }
        assertEquals(offset + count, ring.addedCount());
        assertEquals(offset + count, ring.removedCount());
    }

    @Property(tries = 300)
    void behavesLikeAQueue(@ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int limit = random.nextInt(1, 2_000);
        RequestRing ring = new RequestRing(limit);
        ArrayDeque<Long> oracle = new ArrayDeque<>();
        for (int i = 0; i < 3_000; i++) {
            if (random.nextInt(100) < (i / 500 % 2 == 0 ? 70 : 30)) {
                ring.add(request(i), i);
                oracle.addLast((long) i);
            } else if (!oracle.isEmpty()) {
                assertEquals(oracle.peekFirst(), numberOf(ring.head()));
                assertEquals(oracle.pollFirst(), ring.take());
            }
            assertEquals(oracle.size(), ring.length());
            assertEquals(oracle.isEmpty(), ring.isEmpty());
            assertEquals(oracle.size() >= limit, ring.isFull());
            assertEquals(ring.length(), ring.addedCount() - ring.removedCount());
        }
    }

    @Test
    void reusesTheEntryOfARemovedRequest() {
        RequestRing ring = new RequestRing(1);
        InFlightRequest request = request(1);
        ring.add(request, 0);
        assertSame(request, ring.head());
        ring.take();
        ring.add(request(7), 0);
        assertEquals(7, numberOf(ring.head()), "the entry was free");
    }

    @ParameterizedTest
    @CsvSource({"ACQUIRE, SCRIPT, 0, false", "ACQUIRE, PLAIN_SET, 0, true", "RELEASE, DELIFEQ, 0, true",
        "EXTEND, SET_IFEQ, 1, false", "EXTEND, SCRIPT, 4194302, true", "RELEASE_MANY, DELEX, 4194303, true"})
    void aTagHoldsKindEncodingSequenceAndTry(CommandKind kind, CommandEncoding encoding, int sequence,
            boolean isSecondTry) {
        int tag = RequestRing.tag(kind, encoding, sequence, isSecondTry);
        assertEquals(encoding, RequestRing.encodingOf(tag));
        assertEquals(kind, RequestRing.kindOf(tag));
        assertEquals(sequence, RequestRing.detailOf(tag));
        assertEquals(isSecondTry, RequestRing.isSecondTry(tag));
    }

    @Test
    void everyKindAndEncodingFitsIntoATag() {
        assertTrue(CommandKind.values().length <= 32, "five bits");
        assertTrue(CommandEncoding.values().length <= 16, "four bits");
        assertEquals(RequestRing.DETAIL_MAX, 4_194_303, "the mask that extensions are counted with");
        for (CommandKind kind : CommandKind.values()) {
            for (CommandEncoding encoding : CommandEncoding.values()) {
                int tag = RequestRing.tag(kind, encoding, RequestRing.DETAIL_MAX, true);
                assertEquals(kind, RequestRing.kindOf(tag));
                assertEquals(encoding, RequestRing.encodingOf(tag));
            }
        }
    }

    @Test
    void allocatesNothingOnceItHasGrown() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        RequestRing ring = new RequestRing(65_536);
        InFlightRequest request = request(1);
        int count = 100_000;
        long best = Long.MAX_VALUE;
        for (int window = 0; window < 10 && best >= count; window++) {
            long before = threads.getThreadAllocatedBytes(id);
            for (int i = 0; i < count; i++) {
                ring.add(request, i);
                if (ring.length() > 1_000) {
                    ring.take();
                }
            }
            best = Math.min(best, threads.getThreadAllocatedBytes(id) - before);
        }
        assertTrue(best < count, "bytes for " + count + " requests: " + best);
    }
}
