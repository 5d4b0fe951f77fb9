package dev.redlock.engine.crowd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** What a client knows of its entry in a queue, and how it waits by that. */
class PlaceTest {

    private static final long MS = 1_000_000;
    private static final int NODE = 2;

    private final Place place = new Place();

    private void refuse(int rank) {
        place.onRefused(NODE, rank, true, 0);
    }

    @Test
    void isNowhereAtFirst() {
        assertFalse(place.isEntered());
        assertFalse(place.isPreceded());
        assertEquals(Place.Role.HEAD, place.role());
        assertEquals(QueueReply.FIRST, place.mode());
        assertTrue(place.node() < 0, "no node has an entry");
    }

    @Test
    void theRankGivesTheRole() {
        Place.Role[] roles = {Place.Role.HEAD, Place.Role.DEPUTY, Place.Role.SLEEPER, Place.Role.SLEEPER};
        byte[] modes = {QueueReply.ENTER, QueueReply.CHECK, QueueReply.CHECK, QueueReply.CHECK};
        for (int rank = 0; rank < roles.length; rank++) {
            refuse(rank);
            assertTrue(place.isAt(NODE));
            assertEquals(roles[rank], place.role());
            assertEquals(modes[rank], place.mode());
            assertEquals(rank > 0, place.isPreceded());
        }
    }

    /** The node cannot keep a queue: a client that slept there would not be woken. */
    @Test
    void anUnknownRankWaitsAsTheHead() {
        for (int rank : new int[]{QueueReply.RANK_UNKNOWN, QueueReply.RANK_UNKNOWN + 1, -1}) {
            refuse(rank);
            assertEquals(Place.Role.HEAD, place.role());
            assertEquals(QueueReply.ENTER, place.mode());
        }
    }

    @Test
    void withoutMessagesEachRankWaitsAsTheHead() {
        for (int rank = 0; rank < 4; rank++) {
            place.onRefused(NODE, rank, false, 0);
            assertEquals(Place.Role.HEAD, place.role());
            assertEquals(QueueReply.ENTER, place.mode());
        }
    }

    /** Those that precede get time to take a free lock, each time that it is free. */
    @Test
    void withoutMessagesAnAttemptChecksAfterAPause() {
        for (int rank = 0; rank < 4; rank++) {
            byte expected = rank == 0 ? QueueReply.ENTER : QueueReply.CHECK;
            place.onRefused(NODE, rank, false, 0);
            place.leaveToOthers();
            assertEquals(expected, place.mode());
            place.onPushed();
            assertEquals(QueueReply.ENTER, place.mode(), "another client has had the lock");
            place.leaveToOthers();
            place.onRefused(NODE, rank, false, 0);
            assertEquals(QueueReply.ENTER, place.mode(), "it has to find the lock free again");
        }
    }

    @Test
    void aMessageChangesTheRole() {
        refuse(5);
        place.onMessage(NODE, 1, MS);
        assertEquals(Place.Role.DEPUTY, place.role());
        place.onMessage(NODE, 0, MS);
        assertEquals(Place.Role.HEAD, place.role());
        assertEquals(QueueReply.ENTER, place.mode());
    }

    @Test
    void aLookChangesTheRole() {
        refuse(5);
        place.onRank(1);
        assertEquals(Place.Role.DEPUTY, place.role());
        place.onRank(0);
        assertEquals(Place.Role.HEAD, place.role());
    }

    @Test
    void aGrantAndALossEndTheEntry() {
        refuse(5);
        place.onGranted(true);
        assertFalse(place.isEntered());
        assertTrue(place.hasFollowers());
        refuse(5);
        place.onLost();
        assertFalse(place.isEntered());
        assertEquals(QueueReply.FIRST, place.mode());
        place.onGranted(false);
        assertFalse(place.hasFollowers());
        refuse(5);
        place.onGranted(true);
        place.reset();
        assertFalse(place.hasFollowers(), "it is that of another lock now");
    }

    /** The turn of its client is over: those that have come since it began to wait are served first. */
    @Test
    void aWaiterThatGivesWayGetsANewPlace() {
        assertEquals(3 * MS, place.waitsSinceNs(3 * MS));
        refuse(0);
        place.giveWay(5 * MS);
        assertEquals(QueueReply.FIRST, place.mode(), "not the earlier place");
        assertEquals(5 * MS, place.waitsSinceNs(3 * MS));
        assertEquals(7 * MS, place.waitsSinceNs(7 * MS), "one that has come since");
        refuse(2);
        assertEquals(QueueReply.CHECK, place.mode(), "it keeps the new place");
        assertEquals(5 * MS, place.waitsSinceNs(3 * MS), "also at another node");
        place.reset();
        assertEquals(QueueReply.FIRST, place.mode());
        assertEquals(3 * MS, place.waitsSinceNs(3 * MS), "it is that of another lock now");
    }

    /** The queue expires after 60 s. */
    @Test
    void anAttemptIsDueAfterTwentySeconds() {
        place.onRefused(NODE, 3, true, MS);
        assertFalse(place.isEnterDue(20_000 * MS));
        assertTrue(place.isEnterDue(20_001 * MS));
        place.onMessage(NODE, 1, 30_000 * MS);
        assertTrue(place.isEnterDue(30_000 * MS), "a message does not extend the life of the queue");
        place.onLost();
        place.onMessage(NODE, 1, 30_000 * MS);
        assertFalse(place.isEnterDue(30_000 * MS), "somebody has entered a moment ago");
    }

    @Test
    void theTimesAreThoseOfTheProtocol() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 10_000; i++) {
            refuse(1);
            assertBetween(70, 105, place.firstLookNs(random));
            assertBetween(250, 375, place.nextLookNs(random));
            assertBetween(50, 75, Place.freeLookNs(random));
            assertBetween(20, 30, Place.leftNs(random));
            refuse(8);
            assertBetween(3 * 250, 3 * 375, place.firstLookNs(random));
            assertBetween(3 * 250, 3 * 375, place.nextLookNs(random));
            refuse(500);
            assertBetween(20_000, 20_000, place.nextLookNs(random));
        }
        assertEquals(25 * MS, Place.pushedLookNs());
    }

    private static void assertBetween(long minMs, long maxMs, long ns) {
        assertTrue(ns >= minMs * MS && ns <= maxMs * MS, () -> ns / MS + " ms");
    }
}
