package dev.redlock.loadtest.scenario;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.faults.FaultProxy;
import dev.redlock.loadtest.nodes.Data;
import java.time.Duration;
import java.util.List;

/**
 * A node loses a lock in a restart, and votes for another holder.
 *
 * @threading caller-confined
 */
public final class EmptyRestart implements Scenario {
    private static final Duration LONG = Duration.ofSeconds(30);
    /** Short, because the quarantine of a node has the same length. */
    private static final Duration SHORT = Duration.ofSeconds(2);
    private static final Duration WAIT = Duration.ofSeconds(15);

    @Override
    public String name() {
        return "empty-restart";
    }

    @Override
    public String claim() {
        return "A node that restarts without its data breaks the lock, unless the restart guard keeps it from voting.";
    }

    @Override
    public void play(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(3)) {
            Redlock rival = stage.client();
            List<FaultProxy> proxies = stage.proxies();
            Lease held = takeOnTwoNodes(stage, proxies, LONG, timeline);
            restartEmpty(stage, proxies, timeline);
            timeline.await("without the guard the second client acquires from nodes 1 and 2",
                    () -> rival.tryAcquire("r", LONG).isAcquired());
            timeline.expect("and the first still believes in its lease: TWO HOLDERS", held.isHeld());
        }
        try (Stage stage = new Stage(3)) {
            Redlock guarded = stage.client(guarded(stage));
            timeline.await("with the guard: the nodes are old enough to vote", () -> isAllReady(guarded));
            List<FaultProxy> proxies = stage.proxies();
            Lease held = takeOnTwoNodes(stage, proxies, SHORT, timeline);
            restartEmpty(stage, proxies, timeline);
            timeline.await("the second client meets it again and keeps it in quarantine",
                    () -> guarded.nodes().get(1).state() == NodeState.QUARANTINED);
            AcquireOutcome now = guarded.tryAcquire("r", SHORT);
            timeline.expect("the second client does not acquire now: node 1 says \"" + now.voteText(1) + "\"",
                    !now.isAcquired());
            AcquireOutcome later = guarded.tryAcquire("r", SHORT, WAIT);
            timeline.expect("it acquires later, when the first lease has ended",
                    later.isAcquired() && !held.isHeld());
        }
    }

    private static RedlockContext guarded(Stage stage) {
        return Stage.common(stage.addresses()).maxTtl(SHORT).restartGuard(RestartGuardMode.UPTIME);
    }

    private static boolean isAllReady(Redlock client) {
        return client.nodes().stream().allMatch(node -> node.state() == NodeState.READY);
    }

    private static Lease takeOnTwoNodes(Stage stage, List<FaultProxy> proxies, Duration ttl, Timeline timeline)
            throws InterruptedException {
        proxies.get(2).cut();
        Lease held = stage.client(proxies).acquire("r", ttl).lease();
        timeline.expect("the first client, cut off from node 2, acquires from nodes 0 and 1",
                stage.has(0, "r") && stage.has(1, "r") && !stage.has(2, "r"));
        return held;
    }

    /** A client that meets the node again would find the restart, and give up its lease. */
    private static void restartEmpty(Stage stage, List<FaultProxy> proxies, Timeline timeline) {
        proxies.get(1).cut();
        timeline.log("the first client is cut off from node 1 too");
        stage.node(1).restart(Data.LOST);
        timeline.log("node 1 crashes and restarts without its data");
    }
}
