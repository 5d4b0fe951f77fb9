package dev.redlock.engine;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.TransportKind;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Two threads set request bits of one lease at the same time, while the conductor takes bits: each request is answered.
 *
 * @threading any thread
 */
@JCStressTest
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "both requests were answered")
@Outcome(expect = Expect.FORBIDDEN, desc = "a request was lost")
@State
public class LeaseRequestStress {

    private static final Redlock CLIENT = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1")
            .transport(TransportKind.NIO));
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce();

    private final CompletableFuture<ReleaseOutcome> released = new CompletableFuture<>();
    private final CompletableFuture<ExtendOutcome> extended = new CompletableFuture<>();
    private final Lease lease = CLIENT.newLease();

    /** A lease that was not acquired: both requests are valid and answered at once. */
    public LeaseRequestStress() {
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        CLIENT.acquire(CLIENT.key("r"), OPTIONS, lease, outcome -> done.complete(true));
        done.join();
    }

    /** One caller. */
    @Actor
    public void releaser() {
        lease.release((given, outcome) -> released.complete(outcome));
    }

    /** Another. */
    @Actor
    public void extender() {
        lease.extend(1_000, (given, outcome) -> extended.complete(outcome));
    }

    /** Both are told. */
    @Arbiter
    public void answers(II_Result r) {
        r.r1 = released.orTimeout(20, TimeUnit.SECONDS).join() == ReleaseOutcome.EXPIRED ? 1 : 0;
        r.r2 = extended.orTimeout(20, TimeUnit.SECONDS).join() == ExtendOutcome.NOT_HELD ? 1 : 0;
    }
}
