package dev.redlock.node;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A reader of a node's statistics sees whole values that never go back.
 *
 * @threading any thread
 */
@JCStressTest
@Outcome(id = {"0, 0, 2", "0, 1, 2", "0, 2, 2", "1, 1, 2", "1, 2, 2", "2, 2, 2"}, expect = Expect.ACCEPTABLE,
        desc = "counts up")
@Outcome(expect = Expect.FORBIDDEN, desc = "a count went back or is missing")
@State
public class NodeStatisticsStress {

    private final NodeStatistics statistics = new NodeStatistics();

    /** The event loop. */
    @Actor
    public void loop() {
        statistics.add(NodeCounter.GRANTED);
        statistics.add(NodeCounter.GRANTED);
    }

    /** Any other thread. */
    @Actor
    public void reader(III_Result r) {
        r.r1 = (int) statistics.read(NodeCounter.GRANTED);
        r.r2 = (int) statistics.read(NodeCounter.GRANTED);
    }

    /** Afterwards. */
    @Arbiter
    public void end(III_Result r) {
        r.r3 = (int) statistics.read(NodeCounter.GRANTED);
    }
}
