package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.faults.FaultProxy;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Real servers at the distance of another continent: 44 ms each way, which is more than the node timeout. */
@Timeout(120)
class DistantNodesOnNodesTest {

    private static final Duration ONE_WAY = Duration.ofMillis(44);
    private static final Pattern PROPOSAL = Pattern
            .compile("raise RedlockContext.nodeTimeout, for example to (\\d+) ms");

    private static RedlockContext context(List<FaultProxy> proxies) {
        String[] addresses = proxies.stream().map(proxy -> proxy.address().toString()).toArray(String[]::new);
        return new RedlockContext().nodes(addresses).restartGuard(RestartGuardMode.OFF);
    }

    @Test
    void theProblemNamesATimeoutWithWhichLocksAreGranted() throws Exception {
        List<FaultProxy> proxies = new ArrayList<>();
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3)) {
            for (String address : nodes.addresses()) {
                FaultProxy proxy = FaultProxy.open(NodeAddress.parse(address));
                proxy.slow(ONE_WAY);
                proxies.add(proxy);
            }
            long proposedMs;
            try (Redlock redlock = Redlock.connect(context(proxies))) {
                Await.until("each node is too far away", () -> redlock.nodes()
                        .stream()
                        .allMatch(node -> node.problem() != null && node.problem().contains("too far away")));
                assertFalse(redlock.isQuorumAvailable(), () -> redlock.nodes().toString());
                String problem = redlock.nodes().get(0).problem();
                Matcher proposal = PROPOSAL.matcher(problem);
                assertTrue(proposal.find(), problem);
                proposedMs = Long.parseLong(proposal.group(1));
            }
            try (Redlock redlock = Redlock.connect(context(proxies).nodeTimeout(Duration.ofMillis(proposedMs)))) {
                assertEquals(ReleaseOutcome.RELEASED,
                        redlock.acquire("orders", Duration.ofSeconds(30)).lease().release());
                for (NodeStatus node : redlock.nodes()) {
                    assertNull(node.problem());
                }
            }
        } finally {
            proxies.forEach(FaultProxy::close);
        }
    }
}
