package dev.redlock.loadtest.rig;

import java.time.Duration;

/**
 * A closed loop: a fixed number of cycles in flight, each of which starts its next cycle when it ends.
 *
 * @param outstanding cycles in flight
 * @param resources   how many resources they share; as many as cycles means that none ever waits for another
 * @param hold        how long a lock is held before it is released
 * @param warmup      time before anything is recorded
 * @param duration    time that is recorded
 * @param ttl         what is written to Redis
 * @param keyPrefix   begins every resource's name; unique to a run, so that keys of an earlier run do not interfere
 * @threading immutable
 */
public record LoadPlan(int outstanding, int resources, Duration hold, Duration warmup, Duration duration, Duration ttl,
        String keyPrefix) {
    /** Checks the ranges. */
    public LoadPlan {
        if (outstanding < 1) {
            throw new IllegalArgumentException("outstanding is " + outstanding + ": expected at least 1");
        }
        if (resources < 1 || resources > outstanding) {
            throw new IllegalArgumentException(
                    "resources is " + resources + ": expected 1 to " + outstanding + ", the cycles in flight");
        }
        if (duration.isZero() || duration.isNegative()) {
            throw new IllegalArgumentException("duration is " + duration + ": expected more than zero");
        }
    }

    /**
     * Every cycle on a resource of its own, released as soon as it is held: what the lock itself costs.
     *
     * @param outstanding cycles in flight
     * @param warmup      time before anything is recorded
     * @param duration    time that is recorded
     * @param ttl         what is written to Redis
     * @param keyPrefix   begins every resource's name
     * @return the plan
     */
    public static LoadPlan uncontended(int outstanding, Duration warmup, Duration duration, Duration ttl,
            String keyPrefix) {
        return new LoadPlan(outstanding, outstanding, Duration.ZERO, warmup, duration, ttl, keyPrefix);
    }

    /**
     * Whether a refused acquire is to be expected.
     *
     * @return true when cycles share resources
     */
    public boolean isContended() {
        return resources < outstanding;
    }
}
