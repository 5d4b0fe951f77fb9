package dev.redlock.engine;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.TransportKind;
import java.time.Duration;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Two threads block on acquisitions of one client while its loop decides them: a request bit or a wake-up that is lost
 * leaves a thread parked, and the test never ends. Nobody listens on the nodes, so each is answered at once.
 *
 * @threading any thread
 */
@JCStressTest
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "both were answered and woken")
@Outcome(expect = Expect.FORBIDDEN, desc = "another outcome")
@State
public class LeaseWakeUpStress {

    private static final Redlock CLIENT = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1")
            .transport(TransportKind.NIO));
    private static final Duration TTL = Duration.ofSeconds(10);

    private static int acquire() {
        try {
            return CLIENT.tryAcquire("r", TTL).kind() == AcquireOutcome.Kind.NO_QUORUM ? 1 : 0;
        } catch (InterruptedException e) {
            return -1;
        }
    }

    /** One caller. */
    @Actor
    public void first(II_Result r) {
        r.r1 = acquire();
    }

    /** Another. */
    @Actor
    public void second(II_Result r) {
        r.r2 = acquire();
    }
}
