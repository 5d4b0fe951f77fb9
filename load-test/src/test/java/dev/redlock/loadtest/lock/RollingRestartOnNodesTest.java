package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.Data;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real servers that restart without their data, each as soon as the last one votes again. */
@Timeout(120)
class RollingRestartOnNodesTest {

    /** Long, so that the schedule extends a lease once in a third of it, and a restart takes the rest of the time. */
    private static final Duration TTL = Duration.ofSeconds(3);
    private static final int LEASES = 20;

    /** Also of the only one. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void leasesOutliveARestartOfEachNode(int nodeCount) throws Exception {
        Queue<String> lost = new ConcurrentLinkedQueue<>();
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, nodeCount);
                Redlock redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                        .maxTtl(TTL)
                        .nodeTimeout(Duration.ofMillis(500)))) {
            List<Lease> leases = new ArrayList<>();
            for (int i = 0; i < LEASES; i++) {
                AcquireOptions options = AcquireOptions.ofTtl(TTL)
                        .autoExtend()
                        .listener((lease, state) -> lost.add(
                                lease.resource() + " " + state));
                leases.add(redlock.acquire("orders/" + i, options).lease());
            }
            for (int i = 0; i < nodeCount; i++) {
                int index = i;
                nodes.node(i).restart(Data.LOST);
                Await.until("the client has seen the end", () -> state(redlock, index) != NodeState.READY);
                Await.until("node " + i + " votes", () -> state(redlock, index) == NodeState.READY);
            }
            assertEquals(List.of(), List.copyOf(lost));
            for (Lease lease : leases) {
                assertTrue(lease.isHeld(), lease::toString);
                lease.release();
            }
        }
    }

    private static NodeState state(Redlock redlock, int index) {
        return redlock.nodes().get(index).state();
    }
}
