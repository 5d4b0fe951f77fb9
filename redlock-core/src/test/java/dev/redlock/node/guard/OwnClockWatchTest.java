package dev.redlock.node.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** Decisions of single samples; {@code OwnClockSearch} visits all states of the rule. */
class OwnClockWatchTest {

    private static final long SECOND = 1_000_000_000;

    private final OwnClockWatch watch = new OwnClockWatch(2, 0, SECOND, () -> 0);
    private final Voter first = new Voter(0);
    private final Voter second = new Voter(1);
    private int decisionCount;

    private final class Voter implements OwnClockWatch.Peer {
        private final int index;

        Voter(int index) {
            this.index = index;
            watch.add(this);
        }

        @Override
        public int voterIndex() {
            return index;
        }

        @Override
        public void sampleSoon() {
            // The test has its own samples.
        }

        @Override
        public void onStoodStill(long endNs, long stoodStillNs) {
            assertEquals(6 * SECOND, stoodStillNs);
        }

        @Override
        public void reportStoodStill(long stoodStillNs) {
            decisionCount++;
        }
    }

    private void jump(Voter voter, long receivedNs) {
        watch.onJump(voter, receivedNs, 6 * SECOND, 6 * SECOND);
    }

    /** The own clock may have stood still after that sample: then the first jump was one of its node. */
    @Test
    void aSampleThatWasSentBeforeTheLastJumpConfirmsNothing() {
        jump(first, 10 * SECOND);
        jump(second, 12 * SECOND);
        watch.onSteady(first, 12 * SECOND - 1, 13 * SECOND);
        assertEquals(0, decisionCount);
        watch.onSteady(first, 12 * SECOND, 13 * SECOND);
        assertEquals(1, decisionCount);
    }

    @Test
    void aJumpInsteadOfTheConfirmationEndsTheComparison() {
        jump(first, 10 * SECOND);
        jump(second, 12 * SECOND);
        jump(first, 13 * SECOND);
        watch.onSteady(first, 14 * SECOND, 15 * SECOND);
        watch.onSteady(second, 14 * SECOND, 15 * SECOND);
        assertEquals(0, decisionCount);
    }
}
