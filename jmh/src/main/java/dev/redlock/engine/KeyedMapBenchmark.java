package dev.redlock.engine;

import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.key.KeyedMap;
import dev.redlock.engine.key.LockKey;
import java.util.HashMap;
import java.util.concurrent.TimeUnit;
import org.agrona.collections.Object2ObjectHashMap;
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
 * The map of wait queues under the load of acquires with a wait budget: a look-up that finds nothing, an insertion, a
 * look-up that finds the queue, and a removal, while a number of other queues stays in the map. The baselines are the
 * maps of Agrona and of the JDK.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class KeyedMapBenchmark {

    /** Queues in the map. */
    @Param({"64", "4096"})
    private int queueCount;

    private final KeyedMap<WaitQueue> linked = new KeyedMap<>();
    private final Object2ObjectHashMap<LockKey, WaitQueue> agrona = new Object2ObjectHashMap<>();
    private final HashMap<LockKey, WaitQueue> jdk = new HashMap<>();
    private WaitQueue[] queues;
    private LockKey[] equalKeys;
    private int next;

    /** Fills the maps. */
    @Setup
    public void fill() {
        queues = new WaitQueue[2 * queueCount];
        equalKeys = new LockKey[2 * queueCount];
        for (int i = 0; i < queues.length; i++) {
            queues[i] = new WaitQueue();
            queues[i].key = new LockKey(KeyText.ofResource("redlock:", "orders/" + i, 512));
            equalKeys[i] = new LockKey(KeyText.ofResource("redlock:", "orders/" + i, 512));
        }
        for (int i = 0; i < queueCount; i++) {
            linked.add(queues[i]);
            agrona.put(queues[i].key, queues[i]);
            jdk.put(queues[i].key, queues[i]);
        }
    }

    /** Index of the oldest queue in the map, which leaves it; the one that enters is {@link #queueCount} later. */
    private int advance() {
        int oldest = next;
        next = next + 1 & queues.length - 1;
        return oldest;
    }

    private int entering(int oldest) {
        return oldest + queueCount & queues.length - 1;
    }

    private WaitQueue checked(WaitQueue before, WaitQueue after, WaitQueue added) {
        if (before != null || after != added) {
            throw new IllegalStateException("found " + before + " before and " + after + " after the insertion");
        }
        return after;
    }

    /** Buckets that link the queues themselves. */
    @Benchmark
    public WaitQueue linkedQueues() {
        int oldest = advance();
        linked.remove(queues[oldest]);
        WaitQueue added = queues[entering(oldest)];
        LockKey key = equalKeys[entering(oldest)];
        WaitQueue before = linked.get(key);
        linked.add(added);
        return checked(before, linked.get(key), added);
    }

    /** A baseline: open addressing. */
    @Benchmark
    public WaitQueue baselineAgrona() {
        int oldest = advance();
        agrona.remove(queues[oldest].key);
        WaitQueue added = queues[entering(oldest)];
        LockKey key = equalKeys[entering(oldest)];
        WaitQueue before = agrona.get(key);
        agrona.put(added.key, added);
        return checked(before, agrona.get(key), added);
    }

    /** A baseline: an object per entry. */
    @Benchmark
    public WaitQueue baselineJdk() {
        int oldest = advance();
        jdk.remove(queues[oldest].key);
        WaitQueue added = queues[entering(oldest)];
        LockKey key = equalKeys[entering(oldest)];
        WaitQueue before = jdk.get(key);
        jdk.put(added.key, added);
        return checked(before, jdk.get(key), added);
    }
}
