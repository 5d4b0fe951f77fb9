package dev.redlock.loadtest.scenario;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.api.Lease;
import java.time.Duration;

/**
 * A holder that pauses between its last check of the lease and its write.
 *
 * @threading caller-confined
 */
public final class PausedHolder implements Scenario {
    private static final AcquireOptions FENCED = AcquireOptions.ofTtl(Duration.ofMillis(500))
            .waitUpTo(Duration.ofSeconds(10))
            .fenced();

    @Override
    public String name() {
        return "paused-holder";
    }

    @Override
    public String claim() {
        return "A holder that pauses past its validity still acts; a resource that checks fencing tokens rejects it.";
    }

    @Override
    public void play(Timeline timeline) throws Exception {
        FencedRegister register = new FencedRegister();
        try (Stage stage = new Stage(3)) {
            Redlock first = stage.client();
            Redlock second = stage.client();
            Lease paused = first.acquire(first.key("r"), FENCED).lease();
            timeline.expect("the first client acquires, fencing token " + paused.fencingToken()
                    + ", and sees that its lease is held", paused.isHeld());
            timeline.log("it is paused here, before its write");
            try (Lease next = second.acquire(second.key("r"), FENCED).lease()) {
                timeline.expect("the second client acquires after the ttl, fencing token " + next.fencingToken(),
                        next.fencingToken() > paused.fencingToken());
                timeline.expect("its write is accepted", register.write(next.fencingToken(), "second"));
                timeline.log("the first client continues");
                timeline.expect("the resource REJECTS its late write",
                        !register.write(paused.fencingToken(), "first"));
                timeline.expect("the value is the second client's", "second".equals(register.value()));
            }
        }
    }
}
