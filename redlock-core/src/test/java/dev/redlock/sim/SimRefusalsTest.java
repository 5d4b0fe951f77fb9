package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.SimPlan.Fault;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The bound of refused attempts: extensions are no stampede, and do not hide one. */
class SimRefusalsTest {

    private static final int GRANTS = 20;

    /** Two nodes, and one waiter after the other that makes attempts while another client extends its lease. */
    private static List<String> excessive(int attemptCount, int extensionCount, String client, String key) {
        SimRefusals refusals = new SimRefusals(2);
        for (int i = 0; i < GRANTS; i++) {
            int[] before = refusals.extensionPushes("waiter", List.of("a", "b"));
            for (int e = 0; e < extensionCount; e++) {
                refusals.onExtensionPushed(0, client, key);
                refusals.onExtensionPushed(1, client, key);
            }
            refusals.onAcquired("plain", attemptCount, before, refusals.extensionPushes("waiter", List.of("a", "b")));
        }
        return refusals.excessive();
    }

    @Test
    void anExtensionExplainsOneRefusedAttempt() {
        assertEquals(List.of(), excessive(9, 0, "waiter", "a"), "8 refused attempts for each grant");
        assertEquals(List.of("180 refused attempts, and 0 after extensions, for 20 grants of kind plain"),
                excessive(10, 0, "waiter", "a"));
        assertEquals(List.of(), excessive(30, 21, "waiter", "a"));
        assertEquals(List.of(), excessive(30, 21, "waiter", "b"));
        assertEquals(List.of("180 refused attempts, and 400 after extensions, for 20 grants of kind plain"),
                excessive(30, 20, "waiter", "a"), "both nodes push the same extension");
        assertEquals(1, excessive(30, 29, "waiter", "c").size(), "of a lock that nobody waits for");
        assertEquals(1, excessive(30, 29, "another", "a").size(), "before another client registered");
    }

    @Test
    void extensionsDoNotHidePushesWithoutAReason() {
        Simulation extending = run();
        assertEquals(List.of(), extending.refusals.excessive(), extending.refusals::toString);
        assertTrue(extending.counts().get("EXTENDED") > 50, () -> extending.counts().toString());
        Simulation disturbed = run(Fault.STRAY_PUSHES);
        assertEquals(1, disturbed.refusals.excessive().size(), disturbed.refusals::toString);
    }

    private static Simulation run(Fault... faults) {
        SimPlan plan = SimPlan.only(1, faults);
        plan.isTidy = true;
        plan.workersPerResource = 4;
        plan.ttlMsMin = 200;
        plan.ttlMsMax = 2_000;
        plan.extendTenths = 7;
        plan.faultPeriodMs = 4;
        return new Simulation(plan).run();
    }
}
