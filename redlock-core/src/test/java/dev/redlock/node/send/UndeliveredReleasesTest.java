package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.redlock.quorum.Token;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** A bounded queue, oldest first. */
class UndeliveredReleasesTest {

    private static Token token(long value) {
        Token token = new Token();
        ByteBuffer.wrap(token.bulk).putLong(5, value);
        return token;
    }

    private static StubRequest request(long token) {
        StubRequest request = new StubRequest("$1\r\nr\r\n", 1_000);
        request.token.set(token(token));
        return request;
    }

    private static UndeliveredRelease release(long token) {
        return new UndeliveredRelease(null, request(token));
    }

    private static UndeliveredReleases queueOf(int limit, int count) {
        UndeliveredReleases queue = new UndeliveredReleases(limit);
        for (int i = 0; i < count; i++) {
            queue.add(release(i));
        }
        return queue;
    }

    private static long highOf(UndeliveredRelease entry) {
        return ByteBuffer.wrap(entry.token.bulk).getLong(5);
    }

    private static void assertNext(long value, UndeliveredReleases queue) {
        UndeliveredRelease entry = queue.poll();
        assertNotNull(entry, "entry " + value);
        assertEquals(value, highOf(entry));
    }

    @Test
    void pollsTheOldestFirst() {
        UndeliveredReleases queue = queueOf(10, 3);
        assertEquals(3, queue.length());
        assertNext(0, queue);
        assertNext(1, queue);
        assertNext(2, queue);
        assertNull(queue.poll());
        assertEquals(0, queue.length());
    }

    @Test
    void holdsAsManyReleasesAsItsLimit() {
        UndeliveredReleases queue = queueOf(3, 3);
        assertEquals(3, queue.length());
        assertEquals(0, queue.droppedCount());
    }

    @Test
    void dropsTheOldestReleaseBeyondItsLimitAndCountsIt() {
        UndeliveredReleases queue = queueOf(3, 4);
        assertEquals(3, queue.length());
        assertEquals(1, queue.droppedCount());
        assertNext(1, queue);
        assertNext(2, queue);
        assertNext(3, queue);
    }

    @Test
    void aLimitOfZeroDropsEverything() {
        UndeliveredReleases queue = queueOf(0, 2);
        assertEquals(0, queue.length());
        assertEquals(2, queue.droppedCount());
        assertNull(queue.poll());
    }

    @Test
    void copiesTheTokenAndBorrowsTheResource() {
        UndeliveredReleases queue = new UndeliveredReleases(10);
        StubRequest request = request(7);
        Token token = request.token.copy();
        queue.add(new UndeliveredRelease(null, request));
        request.token.set(token(8));
        UndeliveredRelease entry = queue.poll();
        assertEquals(token, entry.token);
        assertSame(request.resourceBulk(), entry.resourceBulk);
    }

    @Test
    void putsAReleaseWithoutAReplyBackToTheFront() {
        UndeliveredReleases queue = queueOf(3, 3);
        UndeliveredRelease first = queue.poll();
        queue.putBack(first);
        assertSame(first, queue.poll());
        assertNext(1, queue);
    }

    @Test
    void dropsAReleaseThatIsPutBackToAFullQueue() {
        UndeliveredReleases queue = queueOf(2, 2);
        UndeliveredRelease first = queue.poll();
        queue.add(release(9));
        queue.putBack(first);
        assertEquals(2, queue.length());
        assertEquals(1, queue.droppedCount());
        assertNext(1, queue);
        assertNext(9, queue);
    }
}
