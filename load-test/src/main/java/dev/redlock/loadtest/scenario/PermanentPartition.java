package dev.redlock.loadtest.scenario;

import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.faults.FaultProxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The cost for other clients of a holder that is cut off for good.
 *
 * @threading caller-confined
 */
public final class PermanentPartition implements Scenario {
    private static final Duration TTL = Duration.ofMillis(1500);
    private static final Duration WAIT = Duration.ofSeconds(15);
    private static final int ROUNDS = 2;

    @Override
    public String name() {
        return "permanent-partition";
    }

    @Override
    public String claim() {
        return "A holder that is cut off for good costs the others its ttl, every time, and nothing more.";
    }

    @Override
    public void play(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(3)) {
            Redlock rival = stage.client();
            for (int i = 1; i <= ROUNDS; i++) {
                List<FaultProxy> proxies = stage.proxies();
                Redlock holder = stage.client(proxies);
                try (Lease lease = holder.acquire("r", TTL).lease()) {
                    long grantedNs = System.nanoTime();
                    timeline.log("round " + i + ": a client acquires for " + TTL.toMillis() + " ms");
                    proxies.forEach(FaultProxy::cut);
                    timeline.log("it is cut off from all nodes, for ever");
                    cutOff(lease, holder, timeline);
                    AcquireOutcome outcome = rival.tryAcquire("r", TTL, WAIT);
                    long waitedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - grantedNs);
                    timeline.expect("another client acquires " + waitedMs + " ms after the first did: the ttl penalty",
                            outcome.isAcquired() && waitedMs >= TTL.toMillis() * 9 / 10);
                    timeline.expect("the first client's lease is no longer held", !lease.isHeld());
                    outcome.lease().release();
                }
            }
        }
    }

    private static void cutOff(Lease lease, Redlock holder, Timeline timeline) throws Exception {
        ExtendOutcome extended = lease.extend(TTL);
        timeline.expect("its extension fails: " + extended, extended != ExtendOutcome.EXTENDED);
        AcquireOutcome other = holder.tryAcquire("other", TTL);
        timeline.expect("it acquires nothing else: " + other.kind(), other.kind() == AcquireOutcome.Kind.NO_QUORUM);
        ReleaseOutcome released = lease.release();
        timeline.expect("its release cannot be confirmed: " + released, released != ReleaseOutcome.RELEASED);
    }
}
