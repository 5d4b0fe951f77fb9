package dev.redlock.node.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.quorum.Drift;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClockWatchTest {

    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long EPOCH_NS = 1_760_000_000L * SECOND;

    private ClockWatch watch = new ClockWatch(Drift.DEFAULT);

    /** A sample without delay: the node's clock is ahead of the local one by exactly the offset. */
    private boolean sample(long atNs, long offsetNs) {
        return watch.onSample(atNs, atNs, EPOCH_NS + atNs + offsetNs);
    }

    @Test
    void theFirstSampleIsNeverAJump() {
        assertFalse(sample(5 * SECOND, 1_000 * SECOND), "nothing to compare it with");
        assertTrue(sample(6 * SECOND, 0));
    }

    /** The local clock may have any origin, so the difference of the two may exceed the range of a long. */
    @ParameterizedTest
    @ValueSource(longs = {-4, -3, -2, -1, 0, 1, 2, 3, 4})
    void theDifferenceOfTheClocksMayWrap(long shiftMs) {
        long originNs = EPOCH_NS - Long.MAX_VALUE + shiftMs * MS;
        for (int i = 0; i < 20; i++) {
            assertFalse(delayed(originNs, i * SECOND, 0), "honest, sample " + i);
        }
        assertTrue(delayed(originNs, 20 * SECOND, 60 * MS), "ahead");
        assertFalse(delayed(originNs, 21 * SECOND, 60 * MS), "and on from there");
        assertTrue(delayed(originNs, 22 * SECOND, -60 * MS), "back");
    }

    /** A sample whose reply took two milliseconds. */
    private boolean delayed(long originNs, long atNs, long offsetNs) {
        return watch.onSample(originNs + atNs, originNs + atNs + 2 * MS, EPOCH_NS + atNs + MS + offsetNs);
    }

    /** One second between samples allows 10 ms, and half of the constant of 2 ms. */
    @ParameterizedTest
    @CsvSource({"11000000, false", "11000001, true", "-11000000, false", "-11000001, true", "0, false",
        "3600000000000, true", "-3600000000000, true"})
    void aStepBeyondTheDriftIsAJump(long stepNs, boolean isJump) {
        sample(0, 0);
        assertEquals(isJump, sample(SECOND, stepNs));
    }

    @ParameterizedTest
    @CsvSource({"0, 1000000", "100000000, 2000000", "60000000000, 601000000"})
    void theAllowanceGrowsWithTheTimeBetweenSamples(long elapsedNs, long allowanceNs) {
        sample(0, 0);
        assertFalse(sample(elapsedNs, allowanceNs));
        watch = new ClockWatch(Drift.DEFAULT);
        sample(0, 0);
        assertTrue(sample(elapsedNs, allowanceNs + 1));
        watch = new ClockWatch(Drift.DEFAULT);
        sample(0, 0);
        assertTrue(sample(elapsedNs, -allowanceNs - 1));
    }

    /**
     * A second of drift is 10 ms; half of the constant of 2 ms is granted once. A clock that gains faster is found as
     * soon as it has gained more than that. A clock within the rate is never found.
     */
    @ParameterizedTest
    @CsvSource({"10000000, 0", "-10000000, 0", "11000000, 2", "-11000000, 2", "10500000, 3", "10100000, 11",
        "-10100000, 11"})
    void aSlowGainIsAJumpOnceItExceedsTheConstant(long creepNs, int foundBySample) {
        sample(0, 0);
        for (int i = 1; i <= 200; i++) {
            boolean isFound = i == foundBySample;
            assertEquals(isFound, sample(i * SECOND, i * creepNs), "sample " + i);
            if (isFound) {
                return;
            }
        }
        assertEquals(0, foundBySample, "it was not found");
    }

    /** A clock that falls behind and then steps ahead is compared with its lowest offset. */
    @ParameterizedTest
    @ValueSource(longs = {1, -1})
    void theConstantIsNotGrantedTwice(long sign) {
        sample(0, 0);
        assertFalse(sample(0, -sign * MS), "as far as it may");
        assertFalse(sample(0, 0), "and back");
        assertTrue(sample(0, sign), "not further to the other side");
    }

    @Test
    void afterAJumpTheNewTimeIsTheReference() {
        sample(0, 0);
        assertTrue(sample(SECOND, 5 * SECOND));
        assertFalse(sample(2 * SECOND, 5 * SECOND));
        assertTrue(sample(3 * SECOND, 0), "the way back is a jump too");
    }

    /** After a long time without samples only drift is allowed: the node may have restarted, or be another machine. */
    @ParameterizedTest
    @CsvSource({"60000000000, 601000000, false", "60000000000, 601000001, true", "60000000000, -601000001, true",
        "3600000000000, 36001000000, false", "3600000000000, 36001000001, true"})
    void theReferenceIsKeptWithoutSamples(long silenceNs, long stepNs, boolean isJump) {
        for (int i = 0; i <= 5; i++) {
            assertFalse(sample(i * SECOND, 0));
        }
        assertEquals(isJump, sample(5 * SECOND + silenceNs, stepNs));
    }

    /** The node may have read its clock at any moment of a long round trip, so only a larger step is certain. */
    @Test
    void aSlowReplyWidensTheInterval() {
        sample(0, 0);
        assertFalse(watch.onSample(SECOND, SECOND + 500 * MS, EPOCH_NS + SECOND));
        assertFalse(watch.onSample(2 * SECOND, 2 * SECOND + 500 * MS, EPOCH_NS + 2 * SECOND + 500 * MS));
        assertTrue(watch.onSample(3 * SECOND, 3 * SECOND + 500 * MS, EPOCH_NS + 3 * SECOND + 600 * MS));
    }

    @Test
    void aStepLargerThanTheRoundTripIsFound() {
        watch.onSample(0, 100 * MS, EPOCH_NS + 50 * MS);
        long allowanceNs = (SECOND + 100 * MS) / 100 + MS;
        assertFalse(watch.onSample(SECOND, SECOND + 100 * MS, EPOCH_NS + SECOND + 150 * MS + allowanceNs));
        watch = new ClockWatch(Drift.DEFAULT);
        watch.onSample(0, 100 * MS, EPOCH_NS + 50 * MS);
        assertTrue(watch.onSample(SECOND, SECOND + 100 * MS, EPOCH_NS + SECOND + 150 * MS + allowanceNs + 1));
    }

    /** A quick sample after a slow one narrows the interval, so that later small steps are found. */
    @Test
    void aQuickReplyNarrowsTheInterval() {
        watch.onSample(0, SECOND, EPOCH_NS + 500 * MS);
        assertFalse(sample(2 * SECOND, 300 * MS));
        assertTrue(sample(3 * SECOND, 330 * MS));
    }

    /** A clock within one percent and without steps is never a jump, for any delays. */
    @Property(tries = 500)
    void delayAloneNeverLooksLikeAStep(@ForAll long seed,
            @ForAll @IntRange(min = -10_000, max = 10_000) int driftPpm) {
        SplittableRandom random = new SplittableRandom(seed);
        ClockWatch honest = new ClockWatch(Drift.DEFAULT);
        long nowNs = random.nextLong();
        long nodeNs = EPOCH_NS;
        for (int i = 0; i < 200; i++) {
            long there = random.nextLong(random.nextInt(10) == 0 ? 5 * SECOND : 2 * MS);
            long back = random.nextLong(random.nextInt(10) == 0 ? 5 * SECOND : 2 * MS);
            long sentNs = nowNs;
            nodeNs += there + there * driftPpm / 1_000_000;
            // TIME has whole microseconds.
            long answeredNs = nodeNs / 1_000 * 1_000;
            nowNs += there + back;
            nodeNs += back + back * driftPpm / 1_000_000;
            assertFalse(honest.onSample(sentNs, nowNs, answeredNs), "sample " + i);
            long pauseNs = random.nextLong(2 * SECOND);
            nowNs += pauseNs;
            nodeNs += pauseNs + pauseNs * driftPpm / 1_000_000;
        }
    }

    /** A step beyond allowance and both round trips is always found, in either direction. */
    @Property(tries = 500)
    void aStepIsAlwaysFound(@ForAll long seed, @ForAll @LongRange(min = 1, max = 3_600_000) long extraNs) {
        SplittableRandom random = new SplittableRandom(seed);
        ClockWatch watched = new ClockWatch(Drift.DEFAULT);
        long firstDelayNs = random.nextLong(100 * MS);
        watched.onSample(0, firstDelayNs, EPOCH_NS + random.nextLong(firstDelayNs + 1));
        long sentNs = firstDelayNs + random.nextLong(10 * SECOND);
        long delayNs = random.nextLong(100 * MS);
        long receivedNs = sentNs + delayNs;
        long allowanceNs = receivedNs / 100 + 2 * MS;
        long stepNs = allowanceNs + firstDelayNs + delayNs + extraNs;
        long nodeNs = EPOCH_NS + sentNs + random.nextLong(delayNs + 1);
        assertTrue(watched.onSample(sentNs, receivedNs, random.nextBoolean() ? nodeNs + stepNs : nodeNs - stepNs));
    }

    /** The node may have read its clock at any moment of each round trip. */
    @Property(tries = 500)
    void theBoundsOfAJumpIncludeIt(@ForAll long seed,
            @ForAll @LongRange(min = -3_600_000, max = 3_600_000) long stepMs) {
        SplittableRandom random = new SplittableRandom(seed);
        ClockWatch watched = new ClockWatch(Drift.DEFAULT);
        long atNs = 0;
        for (int i = random.nextInt(3); i >= 0; i--) {
            long delayNs = random.nextLong(2 * SECOND);
            watched.onSample(atNs, atNs + delayNs, EPOCH_NS + atNs + random.nextLong(delayNs + 1));
            atNs += delayNs + random.nextLong(SECOND);
        }
        long delayNs = random.nextLong(2 * SECOND);
        long nodeNs = EPOCH_NS + atNs + random.nextLong(delayNs + 1) + stepMs * MS;
        if (watched.onSample(atNs, atNs + delayNs, nodeNs)) {
            String bounds = stepMs + " ms: from " + watched.jumpNsMin() + " to " + watched.jumpNsMax() + " ns, a key "
                    + watched.keyJumpNsMax();
            assertTrue(watched.jumpNsMin() <= stepMs * MS && stepMs * MS <= watched.jumpNsMax(), bounds);
            long keyMin = stepMs > 0 ? watched.jumpNsMax() : 0;
            assertTrue(keyMin <= watched.keyJumpNsMax(), bounds);
        }
    }

    /** A second of drift is 10 ms, and the constant counts once more. */
    @Test
    void aKeyMayExpireEarlierThanByTheJump() {
        sample(0, 0);
        assertTrue(sample(SECOND, 5 * SECOND));
        assertEquals(5 * SECOND, watch.jumpNsMin());
        assertEquals(5 * SECOND, watch.jumpNsMax());
        assertEquals(5 * SECOND + 12 * MS, watch.keyJumpNsMax());
        assertTrue(sample(2 * SECOND, 0));
        assertEquals(0, watch.keyJumpNsMax(), "back");
    }
}
