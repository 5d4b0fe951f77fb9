package dev.redlock.loadtest.lock;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Thousands of acquisitions at once that end in every way there is, again and again. All that is made for the run is
 * made at its start; what cancels is the stage form, which allocates, because the callback form cannot be cancelled.
 */
final class ChurnLanes {

    /** How many lanes there are of which kind. */
    private static final int FREE = 1_280;
    private static final int FENCED = 64;
    private static final int REFUSED = 256;
    private static final int LATE = 256;
    private static final int WAITING = 128;
    private static final int SPLIT = 64;
    private static final int CANCELLED = 256;
    /** Keys that somebody holds all the time. */
    private static final int HELD = 8;
    private static final int PUT_OFF_MAX = 512;

    private final Redlock redlock;
    private final List<Lane> lanes = new ArrayList<>();
    private final List<Lease> holders = new ArrayList<>();
    /**
     * Lanes that found no quorum. Each waits for another's success, or those that fail at once, while a node takes no
     * more, would be nearly all that is counted.
     */
    private final ArrayDeque<Lane> putOff = new ArrayDeque<>();
    // Written on the event loop alone, but for the start of a part, when nothing runs.
    private volatile long done;
    private volatile long target;
    private volatile int active;
    private volatile long silentCount;
    private volatile Throwable failure;

    ChurnLanes(Redlock redlock) throws InterruptedException {
        this.redlock = redlock;
        AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce();
        AcquireOptions holding = AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce().autoExtend();
        for (int i = 0; i < HELD; i++) {
            holders.add(redlock.acquire(redlock.key(held(i)), holding).lease());
        }
        for (int i = 0; i < FREE; i++) {
            Cancelled cancelled = null;
            if (i < CANCELLED) {
                // One half is given up while an attempt is under way, the other while it waits in a queue.
                cancelled = i % 2 == 0
                        ? new Cancelled(redlock.key("churn/cancelled/" + i), options)
                        : new Cancelled(redlock.key(held(i)), options.waitUpTo(Duration.ofSeconds(30)));
            }
            add("churn/free/" + i, options, cancelled);
        }
        for (int i = 0; i < FENCED; i++) {
            add("churn/fenced/" + i, options.fenced(), null);
        }
        for (int i = 0; i < REFUSED; i++) {
            add(held(i), options, null);
        }
        for (int i = 0; i < LATE; i++) {
            // One nanosecond less than can be left at best: every grant comes too late and is rolled back.
            add("churn/late/" + i, AcquireOptions.ofTtl(Duration.ofSeconds(1))
                    .tryOnce()
                    .minValidity(
                            Duration.ofNanos(987_999_999)),
                    null);
        }
        for (int i = 0; i < WAITING; i++) {
            add(held(i), options.waitUpTo(Duration.ofMillis(20)), null);
        }
        for (int i = 0; i < SPLIT; i++) {
            add(split(i), options, null);
        }
    }

    private static String held(int i) {
        return "churn/held/" + i % HELD;
    }

    /** A resource that another client's key blocks on one node: an acquire or release needs both other nodes. */
    static String split(int i) {
        return "churn/split/" + i;
    }

    static int splitCount() {
        return SPLIT;
    }

    private void add(String resource, AcquireOptions options, Cancelled cancelled) {
        lanes.add(new Lane(redlock.key(resource), options, cancelled));
    }

    /** Starts more operations; {@link #isOver} returns true when all have ended. */
    void begin(long count) {
        target = done + count;
        active = lanes.size();
        lanes.forEach(Lane::start);
    }

    boolean isOver() {
        return active == 0 || failure != null;
    }

    /** Operations that have ended. */
    long done() {
        return done;
    }

    /** Acquisitions and releases that ended because a node did not answer in time. */
    long silentCount() {
        return silentCount;
    }

    int inFlight() {
        return lanes.size() + CANCELLED;
    }

    void check() {
        if (failure != null) {
            throw new AssertionError("in a callback", failure);
        }
        if (holders.stream().anyMatch(holder -> !holder.isHeld())) {
            throw new AssertionError("a lock that was held all the time is lost: " + holders);
        }
    }

    /** One resource, acquired if possible and released, repeatedly. */
    private final class Lane {
        final ResourceKey key;
        final AcquireOptions options;
        final Cancelled cancelled;
        final Lease lease = redlock.newLease();
        final AcquireCallback onAcquired = this::onAcquired;
        final ReleaseCallback onReleased = this::onReleased;

        Lane(ResourceKey key, AcquireOptions options, Cancelled cancelled) {
            this.key = key;
            this.options = options;
            this.cancelled = cancelled;
        }

        /** From the caller's thread: the cancellation must be registered when the acquisition ends. */
        void start() {
            if (cancelled != null) {
                cancelled.begin();
            }
            redlock.acquire(key, options, lease, onAcquired);
        }

        /** On the event loop: the later of both is still under way when the earlier is decided. */
        void next() {
            redlock.acquire(key, options, lease, onAcquired);
            if (cancelled != null) {
                cancelled.begin();
            }
        }

        private void onAcquired(AcquireOutcome outcome) {
            try {
                if (cancelled != null) {
                    cancelled.cancel();
                    done++;
                }
                if (outcome.isAcquired()) {
                    lease.release(onReleased);
                    return;
                }
                if (outcome.unknownCount() > 0) {
                    silentCount++;
                }
                onEnd(outcome.kind() == AcquireOutcome.Kind.NO_QUORUM);
            } catch (RuntimeException | Error e) {
                failure = e;
            }
        }

        private void onReleased(Lease released, ReleaseOutcome outcome) {
            try {
                if (outcome == ReleaseOutcome.UNKNOWN) {
                    silentCount++;
                }
                onEnd(false);
            } catch (RuntimeException | Error e) {
                failure = e;
            }
        }

        private void onEnd(boolean isPutOff) {
            done++;
            if (done >= target) {
                active -= 1 + putOff.size();
                putOff.clear();
                return;
            }
            if (isPutOff) {
                putOff.add(this);
            } else {
                next();
            }
            if (!putOff.isEmpty() && (!isPutOff || putOff.size() > PUT_OFF_MAX)) {
                putOff.poll().next();
            }
        }
    }

    /** Begun right behind a lane's acquisition and given up when that one is decided. */
    private final class Cancelled {
        final ResourceKey key;
        final AcquireOptions options;
        CompletableFuture<AcquireOutcome> pending;

        Cancelled(ResourceKey key, AcquireOptions options) {
            this.key = key;
            this.options = options;
        }

        void begin() {
            pending = redlock.acquireAsync(key, options).toCompletableFuture();
        }

        void cancel() {
            if (!pending.cancel(true) && pending.join().isAcquired()) {
                pending.join().lease().close();
            }
            pending = null;
        }
    }
}
