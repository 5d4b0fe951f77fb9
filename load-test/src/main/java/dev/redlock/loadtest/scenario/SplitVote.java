package dev.redlock.loadtest.scenario;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.loadtest.faults.FaultProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Three clients, three nodes, one vote each.
 *
 * @threading caller-confined
 */
public final class SplitVote implements Scenario {
    private static final int CLIENTS = 3;
    private static final Duration FAR = Duration.ofMillis(200);
    private static final Duration TTL = Duration.ofSeconds(20);

    @Override
    public String name() {
        return "split-vote";
    }

    @Override
    public String claim() {
        return "Votes can split so that nobody wins; rollback at once and random delays let all win in turn.";
    }

    @Override
    public void play(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(CLIENTS)) {
            List<Redlock> clients = new ArrayList<>();
            List<FaultProxy> far = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                List<FaultProxy> proxies = stage.proxies();
                clients.add(stage.client(proxies));
                for (int k = 0; k < CLIENTS; k++) {
                    if (k != i) {
                        far.add(proxies.get(k));
                    }
                }
            }
            far.forEach(proxy -> proxy.slow(FAR));
            timeline.log("each client is near one node and far from the two others");
            for (AcquireOutcome outcome : acquireAll(clients, AcquireOptions.ofTtl(TTL).tryOnce())) {
                timeline.expect("one attempt: " + outcome.kind() + ", granted " + outcome.grantedCount() + ", refused "
                        + outcome.refusedCount(), outcome.kind() == AcquireOutcome.Kind.CONTENDED);
            }
            timeline.await("all have taken back what they had", () -> stage.count("r") == 0);
            far.forEach(FaultProxy::pass);
            timeline.log("the network is even again; all three try at once, and may wait");
            AcquireOptions patient = AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofSeconds(15));
            for (AcquireOutcome outcome : acquireAll(clients, patient)) {
                timeline.expect("acquired and released, attempts: " + outcome.attemptCount(), outcome.isAcquired());
            }
        }
    }

    /** All at the same time; the winner releases the lock at once. */
    private static List<AcquireOutcome> acquireAll(List<Redlock> clients, AcquireOptions options) {
        List<CompletableFuture<AcquireOutcome>> pending = new ArrayList<>();
        for (Redlock client : clients) {
            pending.add(client.acquireAsync("r", options).thenApply(SplitVote::giveBack).toCompletableFuture());
        }
        return pending.stream().map(CompletableFuture::join).toList();
    }

    private static AcquireOutcome giveBack(AcquireOutcome outcome) {
        if (outcome.isAcquired()) {
            outcome.lease().close();
        }
        return outcome;
    }
}
