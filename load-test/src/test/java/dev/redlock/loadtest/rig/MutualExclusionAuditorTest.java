package dev.redlock.loadtest.rig;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MutualExclusionAuditorTest {
    private final MutualExclusionAuditor auditor = new MutualExclusionAuditor();
    private final MutualExclusionAuditor.Resource resource = auditor.resource("r");

    @Test
    void successiveHoldersDoNotOverlap() {
        resource.enter(1, 100, 200);
        resource.leave(1);
        resource.enter(2, 150, 250);
        resource.leave(2);
        assertEquals(0, auditor.overlapCount());
        assertEquals(2, auditor.holdingCount());
    }

    @Test
    void enteringWhileAnotherIsValidIsAnOverlap() {
        resource.enter(1, 100, 200);
        resource.enter(2, 199, 300);
        assertEquals(1, auditor.overlapCount());
        assertEquals("r: holder 2 entered while holder 1 was valid for another 1 ns", auditor.examples().get(0));
    }

    @Test
    void validityEndsAHoldingWithoutRelease() {
        resource.enter(1, 100, 200);
        resource.enter(2, 200, 300);
        assertEquals(0, auditor.overlapCount());
    }

    @Test
    void lateLeaveOfAnExpiredHolderDoesNotFreeTheNewOne() {
        resource.enter(1, 100, 200);
        resource.enter(2, 200, 300);
        resource.leave(1);
        resource.enter(3, 250, 350);
        assertEquals(1, auditor.overlapCount());
    }

    @Test
    void resourcesAreIndependent() {
        resource.enter(1, 100, 200);
        auditor.resource("s").enter(2, 150, 250);
        assertEquals(0, auditor.overlapCount());
    }

    @Test
    void monotonicClockMayWrapRound() {
        resource.enter(1, Long.MAX_VALUE - 10, Long.MIN_VALUE + 10);
        resource.enter(2, Long.MIN_VALUE + 5, Long.MIN_VALUE + 50);
        assertEquals(1, auditor.overlapCount());
        resource.enter(3, Long.MIN_VALUE + 50, Long.MIN_VALUE + 60);
        assertEquals(1, auditor.overlapCount());
    }

    @Test
    void everyOverlapIsCountedAndTheFirstFewAreReported() {
        for (int i = 0; i < 20; i++) {
            resource.enter(i, 100, 200);
        }
        assertEquals(19, auditor.overlapCount());
        assertTrue(auditor.examples().size() == 5, auditor.examples()::toString);
    }
}
