package dev.redlock.node.send;

import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The requests in flight on a connection: 64 are added, then 64 are removed. One operation is one request. The baseline
 * is a queue of the JDK with a record for each request.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 4, time = 1)
@Fork(1)
public class RequestRingBenchmark {

    private static final int REQUESTS = 64;

    private final RequestRing ring = new RequestRing(65_536);
    private final ArrayDeque<Sent> queue = new ArrayDeque<>();
    private final InFlightRequest request = new ValueRequest(reply -> {
    });

    /**
     * A request and its command.
     *
     * @threading immutable
     */
    private record Sent(InFlightRequest request, CommandKind kind, int sequence) {
    }

    /** The ring of the client. */
    @Benchmark
    @OperationsPerInvocation(REQUESTS)
    public int ring() {
        for (int i = 0; i < REQUESTS; i++) {
            ring.add(request, RequestRing.tag(CommandKind.ACQUIRE, CommandEncoding.SCRIPT, i, false));
        }
        int sum = 0;
        while (!ring.isEmpty()) {
            boolean isOurs = ring.head() == request;
            int sequence = RequestRing.detailOf(ring.take());
            sum += isOurs ? sequence : 0;
        }
        return checked(sum);
    }

    /** The baseline. */
    @Benchmark
    @OperationsPerInvocation(REQUESTS)
    public int baselineQueue() {
        for (int i = 0; i < REQUESTS; i++) {
            queue.add(new Sent(request, CommandKind.ACQUIRE, i));
        }
        int sum = 0;
        while (!queue.isEmpty()) {
            Sent head = queue.poll();
            sum += head.request == request && head.kind == CommandKind.ACQUIRE ? head.sequence : 0;
        }
        return checked(sum);
    }

    private static int checked(int sum) {
        if (sum != REQUESTS * (REQUESTS - 1) / 2) {
            throw new IllegalStateException("the details add up to " + sum);
        }
        return sum;
    }
}
