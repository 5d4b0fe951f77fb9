package dev.redlock.loadtest.scenario;

import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.cli.AdminClient;
import java.time.Duration;

/**
 * SETNX, a crash, and no EXPIRE.
 *
 * @threading caller-confined
 */
public final class ExpireNeverSent implements Scenario {
    private static final Duration TTL = Duration.ofMillis(600);

    @Override
    public String name() {
        return "setnx-then-expire";
    }

    @Override
    public String claim() {
        return "A crash between SETNX and EXPIRE locks a resource for ever; one atomic step cannot.";
    }

    @Override
    public void play(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(1)) {
            Redlock client = stage.client();
            try (AdminClient crashing = stage.node(0).connect()) {
                timeline.expect("SETNX succeeds", Long.valueOf(1).equals(crashing.call("SETNX", "r", "token")));
            }
            timeline.log("its client crashes before EXPIRE");
            timeline.expect("the key has no expiry", Long.valueOf(-1).equals(stage.node(0).call("PTTL", "r")));
            AcquireOutcome outcome = client.tryAcquire("r", TTL);
            timeline.expect("nobody gets the lock, and the holder's key never expires: " + outcome.kind(),
                    !outcome.isAcquired() && outcome.shortestRemainingTtlMs() == Long.MAX_VALUE);
            stage.node(0).call("DEL", "r");
            timeline.log("somebody deletes the key by hand");
            timeline.expect("SET NX PX, one step, succeeds", stage.setNx(0, "r", "token", TTL.toMillis()));
            timeline.log("its client crashes");
            timeline.expect("the next client waits and gets the lock when the ttl has passed",
                    client.tryAcquire("r", TTL, Duration.ofSeconds(10)).isAcquired());
        }
    }
}
