package dev.redlock.engine;

import dev.redlock.engine.watch.ConductorCounters;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A reader of a counter sees whole values that never go back, and all of them once the writer has ended.
 *
 * @threading any thread
 */
@JCStressTest
@Outcome(id = {"0, 0, 2", "0, 1, 2", "0, 2, 2", "1, 1, 2", "1, 2, 2", "2, 2, 2"}, expect = Expect.ACCEPTABLE,
        desc = "counts up")
@Outcome(expect = Expect.FORBIDDEN, desc = "a count went back or is missing")
@State
public class CountersStress {

    private final ConductorCounters counters = new ConductorCounters();

    /** The conductor. */
    @Actor
    public void conductor() {
        counters.add(ConductorCounters.ROLLED_BACK, 1);
        counters.add(ConductorCounters.ROLLED_BACK, 1);
    }

    /** Any other thread. */
    @Actor
    public void reader(III_Result r) {
        r.r1 = (int) counters.read(ConductorCounters.ROLLED_BACK);
        r.r2 = (int) counters.read(ConductorCounters.ROLLED_BACK);
    }

    /** Afterwards. */
    @Arbiter
    public void end(III_Result r) {
        r.r3 = (int) counters.read(ConductorCounters.ROLLED_BACK);
    }
}
