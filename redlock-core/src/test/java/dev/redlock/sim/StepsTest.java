package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.spec.Rejected;
import dev.redlock.spec.Rule;
import dev.redlock.spec.Step;
import dev.redlock.spec.StepChecker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each step of a run is one of the specification. {@link StepsMain} checks more runs. */
@Tag("long")
@ExtendWith(QuietLeakDetector.class)
class StepsTest {
    private static final int SEEDS = Math.max(3, Integer.getInteger("sim.seeds", 60) / 6);

    @Test
    void eachStepOfARandomRunIsOneOfTheSpecification() {
        for (long seed = 1; seed <= SEEDS; seed++) {
            assertNull(StepRuns.rejected("random", seed), "seed " + seed);
        }
    }

    @Test
    void eachStepOfAChosenRunIsOneOfTheSpecification() {
        for (String run : StepRuns.NAMES) {
            assertNull(StepRuns.rejected(run, 2), run);
        }
    }

    /** A client asks a cluster too soon after a change of the owner. */
    @Test
    void aVoteInTheSilenceIsRejected() {
        Rejected rejected = null;
        for (long seed = 1; seed <= 20 && rejected == null; seed++) {
            rejected = StepsMain.checkClusters(seed, ClusterSimulation.Silence.ONE_IGNORES, 60_000, null).rejected();
        }
        assertEquals(Rule.Silence, rejected.rule());
    }

    /** The seed has such a lease. */
    @Test
    void aLeaseMayEndWithinTheTurnThatOpensItsExtension() {
        assertNull(StepRuns.rejected("slow turns", 49));
    }

    /** The node has not deleted the key, which expires after its lease has ended, when its clock is set back. */
    @Test
    void aClockThatIsSetBackRestoresTheKeyOfALeaseThatHasEnded() {
        VirtualWorld world = new VirtualWorld(1);
        StepTrace trace = new StepTrace(world, new StepChecker(Set.of())::accept);
        VirtualWorld.Client holder = client(world, trace, "holder");
        VirtualWorld.Client other = client(world, trace, "other");
        world.runMs(100);
        AcquireOptions options = AcquireOptions.ofTtl(Duration.ofMillis(300)).tryOnce();
        holder.redlock().acquireAsync("orders", options);
        world.runMs(5);
        holder.pause();
        other.pause();
        world.runMs(400);
        assertNull(world.node(0).redis().get("orders"));
        world.node(0).redis().clockJump(-200);
        assertNotNull(world.node(0).redis().get("orders"));
        other.resume();
        other.redlock().acquireAsync("invoices", options);
        world.runMs(5);
        assertNotNull(world.node(0).redis().get("invoices"));
        assertNull(trace.rejected());
        world.end();
    }

    private static VirtualWorld.Client client(VirtualWorld world, StepTrace trace, String name) {
        RedlockContext context = new RedlockContext().nodes(world.addresses())
                .restartGuard(RestartGuardMode.FRESH_GROUP);
        VirtualWorld.Client client = world.newClient(name, context, name.hashCode());
        trace.addClient(client, 2, 1_000, List.of(), "n0");
        return client;
    }

    /** The first client can know why its step is rejected, and later ones cannot. */
    @Test
    void theFirstRejectionStays() {
        VirtualWorld world = new VirtualWorld(2);
        List<Step> marks = new ArrayList<>();
        StepTrace trace = new StepTrace(world, step -> {
            if (step.name().equals("mark")) {
                marks.add(step);
                throw new Rejected(step, Rule.WholeGroup, "as in this test");
            }
        });
        trace.fresh();
        AtomicInteger questions = new AtomicInteger();
        trace.deceived((client, node) -> questions.getAndIncrement() > 0);
        client(world, trace, "client");
        world.runMs(100);
        assertNotNull(world.node(0).redis().get("node:redlock:fence:run_id"));
        assertNotNull(world.node(1).redis().get("node:redlock:fence:run_id"));
        assertEquals(1, marks.size());
        assertSame(marks.get(0), trace.rejected().step());
        world.end();
    }

    /** The runs have each kind of step, and each is more than a few. */
    @Test
    void runsHaveStepsOfEachKind() {
        Set<String> kinds = Set.of("client", "ask", "win", "extend", "winExtension", "valid", "finish", "release",
                "keys", "executeAcquire", "executeExtension", "executeRelease", "startRaise", "executeRaise", "expire",
                "drop",
                "restart", "fresh", "mark", "failOver", "formerRenews", "formerEnds", "formerGrants", "formerLoses");
        Set<String> names = new HashSet<>();
        for (String run : new String[]{"fenced", "restarts", "lost keys", "fresh group"}) {
            Simulation simulation = new Simulation(StepRuns.plan(run, 5));
            StepTrace trace = simulation.writeSteps(step -> names.add(step.name()));
            simulation.run();
            assertNull(trace.rejected());
        }
        // Some steps of a former master are rare; the first run had all of them when it was chosen.
        for (long seed = 8; seed < 60 && !names.containsAll(kinds); seed++) {
            ClusterSimulation clusters = new ClusterSimulation(seed, ClusterSimulation.Silence.ALL_OBEY);
            StepTrace ofClusters = clusters.writeSteps("resource-2", step -> names.add(step.name()));
            clusters.run(10_000);
            assertNull(ofClusters.rejected());
        }
        assertEquals(kinds, names);
    }

    /** Observing a run does not change it. */
    @ParameterizedTest
    @ValueSource(longs = {7, 42, 1234})
    void theRunIsTheSameWithoutItsSteps(long seed) {
        Simulation unobserved = new Simulation(SimPlan.of(seed)).run();
        Simulation observed = new Simulation(SimPlan.of(seed));
        long[] steps = new long[1];
        observed.writeSteps(step -> steps[0]++);
        observed.run();
        assertEquals(unobserved.traceHash(), observed.traceHash());
        assertTrue(steps[0] > 100);
    }

    /** A line is enough to check a step again. */
    @Test
    void stepsCanBeReadAgain() {
        StepChecker checker = new StepChecker(Set.of(Rule.KeysKept));
        Simulation simulation = new Simulation(StepRuns.plan("lost keys", 1));
        StepTrace trace = simulation.writeSteps(step -> checker.accept(Step.parse(step.toString())));
        simulation.run();
        assertNull(trace.rejected());
    }
}
