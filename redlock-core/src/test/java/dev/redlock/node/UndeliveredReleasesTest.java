package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.redlock.quorum.Token;
import org.junit.jupiter.api.Test;

class UndeliveredReleasesTest {

    private static final byte[] RESOURCE = {'$', '1', '\r', '\n', 'r', '\r', '\n'};

    private static Token token(final long value) {
        final Token token = new Token();
        token.set(value, 0, 0);
        return token;
    }

    private static UndeliveredReleases debtOf(final int limit, final int count) {
        final UndeliveredReleases debt = new UndeliveredReleases(limit);
        for (int i = 0; i < count; i++) {
            debt.add(RESOURCE, token(i), 1_000);
        }
        return debt;
    }

    private static void assertNext(final long value, final UndeliveredReleases debt) {
        final UndeliveredReleases.Entry entry = debt.poll(0);
        assertNotNull(entry, "entry " + value);
        assertEquals(value, entry.token.high());
    }

    @Test
    void isPaidOldestFirst() {
        final UndeliveredReleases debt = debtOf(10, 3);
        assertEquals(3, debt.length());
        assertNext(0, debt);
        assertNext(1, debt);
        assertNext(2, debt);
        assertNull(debt.poll(0));
        assertEquals(0, debt.length());
    }

    @Test
    void takesAsManyAsItsLimit() {
        final UndeliveredReleases debt = debtOf(3, 3);
        assertEquals(3, debt.length());
        assertEquals(0, debt.droppedCount());
    }

    @Test
    void dropsTheOldestBeyondItAndCountsIt() {
        final UndeliveredReleases debt = debtOf(3, 4);
        assertEquals(3, debt.length());
        assertEquals(1, debt.droppedCount());
        assertNext(1, debt);
        assertNext(2, debt);
        assertNext(3, debt);
    }

    @Test
    void aLimitOfZeroDropsEverything() {
        final UndeliveredReleases debt = debtOf(0, 2);
        assertEquals(0, debt.length());
        assertEquals(2, debt.droppedCount());
        assertNull(debt.poll(0));
    }

    @Test
    void whatHasExpiredByItselfIsNotSent() {
        final UndeliveredReleases debt = new UndeliveredReleases(10);
        debt.add(RESOURCE, token(1), 100);
        debt.add(RESOURCE, token(2), 300);
        debt.add(RESOURCE, token(3), 200);
        final UndeliveredReleases.Entry atTheEdge = debt.poll(200);
        assertEquals(2, atTheEdge.token.high(), "1 ended at 100");
        assertNull(debt.poll(200), "3 ends now");
        assertEquals(0, debt.length());
        assertEquals(0, debt.droppedCount(), "an expired key is not a dropped one");
    }

    @Test
    void expiryIsComparedAcrossTheWrapOfTheClock() {
        final UndeliveredReleases debt = new UndeliveredReleases(10);
        debt.add(RESOURCE, token(1), Long.MIN_VALUE + 5);
        assertNotNull(debt.poll(Long.MAX_VALUE - 5));
        debt.add(RESOURCE, token(2), Long.MAX_VALUE - 5);
        assertNull(debt.poll(Long.MIN_VALUE + 5));
    }

    @Test
    void copiesTheTokenAndBorrowsTheName() {
        final UndeliveredReleases debt = new UndeliveredReleases(10);
        final Token token = token(7);
        debt.add(RESOURCE, token, 1_000);
        token.set(8, 8, 8);
        final UndeliveredReleases.Entry entry = debt.poll(0);
        assertEquals(token(7), entry.token);
        assertSame(RESOURCE, entry.resourceBulk);
        assertEquals(1_000, entry.untilNs);
    }

    @Test
    void whatWasNotAnsweredComesBackToTheFront() {
        final UndeliveredReleases debt = debtOf(3, 3);
        final UndeliveredReleases.Entry first = debt.poll(0);
        debt.putBack(first);
        assertSame(first, debt.poll(0));
        assertNext(1, debt);
    }

    @Test
    void whatDoesNotFitAnyMoreIsDropped() {
        final UndeliveredReleases debt = debtOf(2, 2);
        final UndeliveredReleases.Entry first = debt.poll(0);
        debt.add(RESOURCE, token(9), 1_000);
        debt.putBack(first);
        assertEquals(2, debt.length());
        assertEquals(1, debt.droppedCount());
        assertNext(1, debt);
        assertNext(9, debt);
    }
}
