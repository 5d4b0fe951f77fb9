package dev.redlock.jmh.lock;

import dev.redlock.quorum.FenceRule;
import dev.redlock.quorum.Majority;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
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
 * The fencing rule over one round: every node grants, and the token is computed after each grant. The baseline sorts
 * the values again each time.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 4, time = 1)
@Fork(1)
public class FenceRuleBenchmark {

    private static final long VALUE = 1_800_000_000L << 20;

    /** The number of granting nodes. */
    @Param({"3", "5", "7"})
    public int nodeCount;

    /** The number of nodes that are one behind. */
    @Param({"0", "1"})
    public int laggingCount;

    private FenceRule rule;

    /** Both ways must find the same token. */
    @Setup
    public void check() {
        rule = new FenceRule(Majority.of(nodeCount));
        if (counted() != VALUE || baselineSorted() != VALUE) {
            throw new IllegalStateException("expected " + VALUE + ": " + counted() + ", " + baselineSorted());
        }
    }

    private long value(int nodeIndex) {
        return nodeIndex < laggingCount ? VALUE - 1 : VALUE;
    }

    /** The client's rule. */
    @Benchmark
    public long counted() {
        rule.reset();
        long token = FenceRule.NONE;
        for (int i = 0; i < nodeCount; i++) {
            rule.onGrant(i, value(i));
            token = rule.agreed();
        }
        return token;
    }

    /** The baseline. */
    @Benchmark
    public long baselineSorted() {
        List<Long> values = new ArrayList<>();
        int quorum = nodeCount / 2 + 1;
        long token = FenceRule.NONE;
        for (int i = 0; i < nodeCount; i++) {
            values.add(value(i));
            int rank = quorum - (nodeCount - values.size());
            if (rank > 0) {
                List<Long> sorted = new ArrayList<>(values);
                sorted.sort(Collections.reverseOrder());
                Long candidate = sorted.get(rank - 1);
                token = Collections.frequency(values, candidate) >= quorum ? candidate : FenceRule.NONE;
            }
        }
        return token;
    }
}
