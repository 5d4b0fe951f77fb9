package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The check of the order in a crowd can fail. */
class SimTurnsTest {

    private static final long SEED = 3;
    private static final int RUN_MS = 20_000;

    private static List<String> violations(int passesMax) {
        SimPlan plan = SimPlan.only(SEED);
        plan.clientCount = 12;
        plan.workMs = RUN_MS;
        plan.isCrowded = true;
        plan.isKeeping = false;
        plan.localHandoffsMax = 1;
        plan.workersPerResource = 2;
        plan.passesMax = passesMax;
        return new Simulation(plan).run().violations().stream().filter(each -> each.contains("has passed")).toList();
    }

    @Test
    void nobodyIsPassedAgainAndAgain() {
        assertEquals(List.of(), violations(2));
    }

    @Test
    void somebodyIsPassedOnce() {
        assertFalse(violations(0).isEmpty());
    }
}
