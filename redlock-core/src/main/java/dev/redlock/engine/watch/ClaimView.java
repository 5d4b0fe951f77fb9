package dev.redlock.engine.watch;

import dev.redlock.engine.key.LockKey;
import dev.redlock.quorum.Round;

/**
 * What telemetry reads of a claim.
 *
 * @threading event-loop-confined
 */
public interface ClaimView {

    /** @return the number of its attempt in the flight recorder */
    int number();

    LockKey key();

    /** @return the votes of the acquire, and from the release on those of the release */
    Round votes();

    /** @return the local end of the validity that its acquire round gives, monotonic ns */
    long validUntilNs();

    /** @return the ttl of its last command, milliseconds */
    long ttlMs();
}
