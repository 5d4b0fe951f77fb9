package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Whoever sees a lease released sees what the release found.
 *
 * @threading any thread
 */
@JCStressTest
@Outcome(id = "0, -1", expect = Expect.ACCEPTABLE, desc = "not released yet")
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "released, with its outcome")
@Outcome(expect = Expect.FORBIDDEN, desc = "released without an outcome")
@State
public class LeaseReleaseStress {

    private final LeaseHandle lease = new LeaseHandle(null);

    /** A lease that is being released. */
    public LeaseReleaseStress() {
        lease.completeAcquire(AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.ACQUIRED);
        lease.setState(LeaseState.RELEASING);
    }

    /** The conductor. */
    @Actor
    public void conductor() {
        lease.completeRelease(ReleaseOutcome.RELEASED);
    }

    /** Any other thread. */
    @Actor
    public void reader(II_Result r) {
        r.r1 = lease.state() == LeaseState.RELEASED ? 1 : 0;
        r.r2 = r.r1 == 0 ? -1 : lease.releaseOutcome == ReleaseOutcome.RELEASED ? 1 : 0;
    }
}
