package dev.redlock.jmh.lock;

import dev.redlock.AcquireCallback;
import dev.redlock.AcquireOptions;
import dev.redlock.AcquireOutcome;
import dev.redlock.Lease;
import dev.redlock.Redlock;
import dev.redlock.ReleaseCallback;
import dev.redlock.ReleaseOutcome;
import dev.redlock.ResourceKey;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;

/**
 * The cycles of one event loop, which can be begun and ended again and again. They are counted where no other thread
 * writes, a cache line away from everything else, so that what two loads share is the client.
 *
 * @threading any thread; cycles run on the event loop
 */
final class LoopLoad {

    private static final int COUNTER = 16;

    private final Redlock redlock;
    private final AcquireOptions options;
    private final Consumer<String> failures;
    private final List<Lane> lanes = new ArrayList<>();
    private final AtomicLongArray counters = new AtomicLongArray(2 * COUNTER);
    private final AtomicInteger inFlight = new AtomicInteger();
    private volatile boolean isRunning;

    LoopLoad(final Redlock redlock, final AcquireOptions options, final Consumer<String> failures) {
        this.redlock = redlock;
        this.options = options;
        this.failures = failures;
    }

    void add(final String resource) {
        lanes.add(new Lane(redlock.key(resource), redlock.newLease()));
    }

    int length() {
        return lanes.size();
    }

    void begin() {
        isRunning = true;
        for (final Lane lane : lanes) {
            inFlight.incrementAndGet();
            lane.next();
        }
    }

    /** No cycle begins any more. */
    void stop() {
        isRunning = false;
    }

    boolean isIdle() {
        return inFlight.get() == 0;
    }

    long cycleCount() {
        return counters.getOpaque(COUNTER);
    }

    /**
     * One lock, taken and given back again and again.
     *
     * @threading event-loop-confined once it has begun
     */
    private final class Lane {
        private final ResourceKey key;
        private final Lease lease;
        private final AcquireCallback onAcquired = this::onAcquired;
        private final ReleaseCallback onReleased = this::onReleased;

        Lane(final ResourceKey key, final Lease lease) {
            this.key = key;
            this.lease = lease;
        }

        void next() {
            redlock.acquire(key, options, lease, onAcquired);
        }

        private void onAcquired(final AcquireOutcome outcome) {
            if (outcome.isAcquired()) {
                lease.release(onReleased);
            } else {
                end(outcome.toString());
            }
        }

        private void onReleased(final Lease released, final ReleaseOutcome outcome) {
            counters.setOpaque(COUNTER, counters.getPlain(COUNTER) + 1);
            if (outcome != ReleaseOutcome.RELEASED) {
                end(outcome.toString());
            } else if (isRunning) {
                next();
            } else {
                inFlight.decrementAndGet();
            }
        }

        private void end(final String failure) {
            failures.accept(failure);
            inFlight.decrementAndGet();
        }
    }
}
