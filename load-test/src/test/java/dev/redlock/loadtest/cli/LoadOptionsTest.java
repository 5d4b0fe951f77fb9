package dev.redlock.loadtest.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.rig.LoadPlan;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class LoadOptionsTest {
    @Test
    void theWarmUpRunsEveryLoadThatIsMeasuredAndTheLargestFirst() {
        assertPlans(List.of(64, 8, 1), Duration.ofSeconds(3), "--in-flight", "1,64,8", "--jvm-warmup", "9s");
    }

    @Test
    void theWarmUpOfLoadsAboveItsLimitRunsOnce() {
        assertPlans(List.of(256), Duration.ofSeconds(4), "--in-flight", "256,512,1024", "--jvm-warmup", "4s");
    }

    @Test
    void theWarmUpOfAnOpenLoopRunsTheMostCyclesInFlight() {
        assertPlans(List.of(16), Duration.ofSeconds(2), "--rate", "100,200", "--in-flight", "16", "--jvm-warmup",
                "2s");
    }

    private static void assertPlans(List<Integer> loads, Duration each, String... arguments) {
        LoadOptions options = new LoadOptions();
        new CommandLine(options).parseArgs(arguments);

        List<LoadPlan> plans = options.warmUpPlans(false);

        assertEquals(loads, plans.stream().map(LoadPlan::inFlight).toList());
        assertEquals(Collections.nCopies(loads.size(), each), plans.stream().map(LoadPlan::duration).toList());
    }
}
