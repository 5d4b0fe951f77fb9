package dev.redlock.engine.watch;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.key.LockKey;
import dev.redlock.telemetry.AcquireEvent;
import dev.redlock.telemetry.SharedStarts;

/**
 * What telemetry reads of an acquisition that ends.
 *
 * @threading event-loop-confined
 */
public interface AcquisitionView {

    LockKey key();

    /** @return its votes; its kind is not set yet */
    AcquireOutcome outcome();

    boolean isFenced();

    /** @return the group of its options; null without one */
    String group();

    /** @return when the engine took the call, monotonic ns; only if it {@link #isStarted} */
    long startNs();

    /** @return whether an attempt or a wait has started */
    boolean isStarted();

    /** @return times it for JFR; null if the event is off */
    SharedStarts.Start<AcquireEvent> start();

    /** @return when it got the lock, monotonic ns; only if it has */
    long acquiredNs();

    /** @return the end of the lease's validity, monotonic ns; only if it has the lock */
    long validUntilNs();
}
