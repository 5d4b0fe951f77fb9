package dev.redlock.jmh.lock;

import dev.redlock.quorum.Decision;
import dev.redlock.quorum.Majority;
import dev.redlock.quorum.Round;
import dev.redlock.quorum.Vote;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * One whole round: every node votes, and the decision is computed after each vote. The baseline keeps its votes in a
 * map and counts them again each time, like a straightforward implementation.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 4, time = 1)
@Fork(1)
public class RoundBenchmark {

    /** The number of voting nodes. */
    @Param({"3", "5", "7"})
    public int nodeCount;

    private final Vote[] votes = {Vote.GRANTED, Vote.REFUSED, Vote.GRANTED, Vote.GRANTED, Vote.UNKNOWN, Vote.GRANTED,
        Vote.FAILED};
    private Round round;

    /** Both ways must decide the same. */
    @Setup
    public void check() {
        round = new Round(Majority.of(nodeCount));
        if (bitMasks() != Decision.WON || baselineMap() != Decision.WON) {
            throw new IllegalStateException("the round is lost: " + bitMasks() + ", " + baselineMap());
        }
    }

    /** The client's vote count. */
    @Benchmark
    public Decision bitMasks() {
        round.reset();
        Decision decision = Decision.OPEN;
        for (int i = 0; i < nodeCount; i++) {
            round.onVote(i, votes[i]);
            decision = round.decision();
        }
        return decision;
    }

    /** The baseline. */
    @Benchmark
    public Decision baselineMap() {
        Map<Integer, Vote> received = new HashMap<>();
        Decision decision = Decision.OPEN;
        for (int i = 0; i < nodeCount; i++) {
            received.putIfAbsent(i, votes[i]);
            decision = decide(received);
        }
        return decision;
    }

    private Decision decide(Map<Integer, Vote> received) {
        Map<Vote, Integer> counts = new EnumMap<>(Vote.class);
        received.values().forEach(vote -> counts.merge(vote, 1, Integer::sum));
        int quorum = nodeCount / 2 + 1;
        int silent = counts.getOrDefault(Vote.FAILED, 0) + counts.getOrDefault(Vote.UNKNOWN, 0);
        if (counts.getOrDefault(Vote.GRANTED, 0) >= quorum) {
            return Decision.WON;
        }
        if (silent > nodeCount - quorum) {
            return Decision.NO_QUORUM;
        }
        return silent + counts.getOrDefault(Vote.REFUSED, 0) > nodeCount - quorum ? Decision.CONTENDED : Decision.OPEN;
    }
}
