package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.api.CloseReport;
import dev.redlock.api.ReleaseOutcome;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The report of a close, also if there is no memory for a part of it. */
class ReleaseTallyTest {

    private final ReleaseTally tally = new ReleaseTally();

    /** An owner for whose entry there is no memory. */
    private static final class HungryOwner {

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            throw new InternalError("no memory, thrown by a test");
        }
    }

    @Test
    void aReleaseWithoutMemoryForItsNameIsNotReportedAsReleased() {
        tally.record("first", "first", ReleaseOutcome.RELEASED);
        tally.record("second", "second", ReleaseOutcome.UNKNOWN);
        tally.record(new HungryOwner(), "third", ReleaseOutcome.UNKNOWN);
        tally.record(new HungryOwner(), "fourth", ReleaseOutcome.UNKNOWN);
        assertEquals(new CloseReport(1, List.of("second",
                "unknown: there was no memory for the names of more resources: 2")), tally.report());
    }
}
