package dev.redlock.loadtest.scenario;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.loadtest.faults.FaultProxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * Nodes that grant a lock, with lost replies.
 *
 * @threading caller-confined
 */
public final class LostReply implements Scenario {
    private static final Duration TTL = Duration.ofSeconds(60);

    @Override
    public String name() {
        return "lost-reply";
    }

    @Override
    public String claim() {
        return "A grant whose reply is lost leaves a key; the client retains its release and delivers it when it "
                + "reconnects.";
    }

    @Override
    public void play(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(3)) {
            List<FaultProxy> proxies = stage.proxies();
            Redlock client = stage.client(proxies);
            timeline.expect("the client is connected", client.tryAcquire("warm", TTL).isAcquired());
            List<FaultProxy> muted = proxies.subList(1, 3);
            muted.forEach(FaultProxy::mute);
            timeline.log("replies of nodes 1 and 2 are lost from now on");
            CompletionStage<AcquireOutcome> pending = client.acquireAsync("r", AcquireOptions.ofTtl(TTL).tryOnce());
            timeline.await("the acquire has been executed by all nodes", () -> stage.count("r") == 3);
            muted.forEach(FaultProxy::cut);
            timeline.log("the connections to nodes 1 and 2 break, with the replies unread");
            AcquireOutcome outcome = pending.toCompletableFuture().join();
            timeline.expect("the acquire fails: " + outcome.kind() + ", unknown votes: " + outcome.unknownCount(),
                    outcome.kind() == AcquireOutcome.Kind.NO_QUORUM && outcome.unknownCount() == 2);
            timeline.await("node 0 has been rolled back; nodes 1 and 2 keep the key",
                    () -> !stage.has(0, "r") && stage.has(1, "r") && stage.has(2, "r"));
            muted.forEach(FaultProxy::pass);
            timeline.log("the network is in order again");
            timeline.await("the client has reconnected and delivered the release: the key is gone, long before its ttl",
                    () -> stage.count("r") == 0);
            timeline.await("retained releases that are delivered: at least 2", () -> paid(client) >= 2);
        }
    }

    private static long paid(Redlock client) {
        return client.nodes().stream().mapToLong(NodeStatus::undeliveredReleaseDeliveredCount).sum();
    }
}
