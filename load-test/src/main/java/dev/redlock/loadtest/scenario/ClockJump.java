package dev.redlock.loadtest.scenario;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.loadtest.faults.FaultProxy;
import dev.redlock.loadtest.nodes.ClockLibrary;
import dev.redlock.loadtest.nodes.RedisNodes;
import dev.redlock.loadtest.nodes.RedisNodesContext;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A node's wall clock jumps ahead, and the lock on it expires early. Needs libfaketime.
 *
 * @threading caller-confined
 */
public final class ClockJump implements Scenario {
    private static final String MISSING = "libfaketime is missing (a Debian package of that name)";
    private static final Duration TTL = Duration.ofSeconds(20);
    private static final Duration STEP = Duration.ofSeconds(60);

    @Override
    public String name() {
        return "clock-jump";
    }

    @Override
    public String claim() {
        return "A clock that jumps ahead frees a lock early; the clock watch detects it and notifies the holder.";
    }

    @Override
    public Optional<String> missing() {
        return ClockLibrary.find().isPresent() ? Optional.empty() : Optional.of(MISSING);
    }

    @Override
    public void play(Timeline timeline) throws Exception {
        Path library = ClockLibrary.find().orElseThrow(() -> new IllegalStateException(MISSING));
        RedisNodesContext context = new RedisNodesContext().count(3).clockLibrary(library);
        try (Stage stage = new Stage(RedisNodes.start(context))) {
            List<FaultProxy> proxies = stage.proxies();
            proxies.get(2).cut();
            Redlock holder = stage.client(proxies);
            Redlock rival = stage.client();
            Lease held = holder.acquire("r", TTL).lease();
            timeline.expect("a client, cut off from node 2, acquires from nodes 0 and 1 for 20 s", held.isHeld());
            timeline.await("its clock watch has a first sample of node 1", () -> isSampled(holder));
            stage.node(1).setClock(STEP);
            timeline.await("the clock of node 1 jumps 60 s ahead: it has no lock any more", () -> !stage.has(1, "r"));
            timeline.await("the holder's clock watch sees the jump: its lease is LOST",
                    () -> held.state() == LeaseState.LOST);
            timeline.expect("long before its validity would have ended", !held.isHeld());
            AcquireOutcome outcome = rival.tryAcquire("r", Duration.ofSeconds(5), Duration.ofSeconds(15));
            timeline.expect("the lock has been released, another client acquires it: " + outcome.kind(),
                    outcome.isAcquired());
        }
    }

    /** The watch takes a sample as soon as a node is ready; the round-trip time is known after the reply. */
    private static boolean isSampled(Redlock client) {
        NodeStatus node = client.nodes().get(1);
        return node.state() == NodeState.READY && node.roundTripNs() > 0;
    }
}
