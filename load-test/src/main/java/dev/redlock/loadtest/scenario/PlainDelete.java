package dev.redlock.loadtest.scenario;

import dev.redlock.Redlock;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import java.time.Duration;

/**
 * A release that does not check the owner of the lock.
 *
 * @threading caller-confined
 */
public final class PlainDelete implements Scenario {
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration WAIT = Duration.ofSeconds(10);

    @Override
    public String name() {
        return "plain-delete";
    }

    @Override
    public String claim() {
        return "A late plain DEL frees the next holder's lock; compare-and-delete leaves it alone.";
    }

    @Override
    public void play(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(1)) {
            timeline.expect("the first client takes the lock for 300 ms", stage.setNx(0, "r", "first", 300));
            timeline.await("its work takes longer, the lock expires, the second client takes it",
                    () -> stage.setNx(0, "r", "second", LONG.toMillis()));
            stage.node(0).call("DEL", "r");
            timeline.log("the first client is done and sends DEL");
            timeline.expect("the third client gets the lock while the second works: TWO HOLDERS",
                    stage.setNx(0, "r", "third", LONG.toMillis()));
        }
        try (Stage stage = new Stage(3)) {
            Redlock first = stage.client();
            Redlock second = stage.client();
            Lease late = first.acquire("r", SHORT).lease();
            timeline.log("redlock: the first client takes the lock for 300 ms and works longer");
            Lease next = second.tryAcquire("r", LONG, WAIT).lease();
            timeline.log("the second client takes it");
            ReleaseOutcome outcome = late.release();
            timeline.expect("the first client's release returns " + outcome, outcome == ReleaseOutcome.EXPIRED);
            // By a majority: a node on which the first client's key expired a moment later rejected the second client.
            timeline.expect("the second client still holds the lock", next.isHeld() && stage.count("r") >= 2);
        }
    }
}
