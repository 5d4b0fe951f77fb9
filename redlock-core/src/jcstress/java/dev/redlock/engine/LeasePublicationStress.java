package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LeaseState;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Whoever sees a lease in its new state sees the outcome that belongs to it, although the outcome's fields are plain.
 *
 * @threading any thread
 */
@JCStressTest
@Outcome(id = "0, -1, -1", expect = Expect.ACCEPTABLE, desc = "not acquired yet")
@Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "acquired, and the outcome says so")
@Outcome(expect = Expect.FORBIDDEN, desc = "the state overtook the outcome")
@State
public class LeasePublicationStress {

    /** It has no event loop, so no clock. */
    private final LeaseHandle lease = new LeaseHandle(null);

    /** The conductor. */
    @Actor
    public void conductor() {
        lease.fencingToken = 1;
        lease.completeAcquire(AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.ACQUIRED);
    }

    /** Any other thread. */
    @Actor
    public void reader(III_Result r) {
        r.r1 = lease.storedState() == LeaseState.HELD ? 1 : 0;
        r.r2 = r.r1 == 0 ? -1 : lease.isAcquired() ? 1 : 0;
        r.r3 = r.r1 == 0 ? -1 : lease.lastReason() == AcquireOutcome.Kind.ACQUIRED ? 1 : 0;
    }
}
