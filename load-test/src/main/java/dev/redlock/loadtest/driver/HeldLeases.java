package dev.redlock.loadtest.driver;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * Many leases that one client of {@code redlock-core} holds and renews. It counts the renewals of each tenth of a
 * second.
 *
 * @threading any thread
 */
public final class HeldLeases implements LeaseListener {
    /** The length of an interval of {@link #renewalsOf}. */
    public static final long INTERVAL_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final int IN_FLIGHT_MAX = 256;
    private static final int PROBLEMS_MAX = 5;

    private final Redlock redlock;
    private final AcquireOptions options;
    private final String keyPrefix;
    private final Lease[] leases;
    private final long startNs = System.nanoTime();
    private final AtomicIntegerArray intervals;
    private final LongAdder renewals = new LongAdder();
    private final LongAdder lost = new LongAdder();
    private final Queue<String> problems = new ConcurrentLinkedQueue<>();
    private final AtomicInteger next = new AtomicInteger();
    private final CountDownLatch ended;

    /**
     * Leases that are not yet acquired.
     *
     * @param countedMs the time from now for which renewals are counted by interval, milliseconds
     */
    HeldLeases(Redlock redlock, AcquireOptions options, String keyPrefix, int count, long countedMs) {
        this.redlock = redlock;
        this.options = options.autoExtend().listener(this);
        this.keyPrefix = keyPrefix;
        this.leases = new Lease[count];
        this.intervals = new AtomicIntegerArray((int) (TimeUnit.MILLISECONDS.toNanos(countedMs) / INTERVAL_NS) + 1);
        this.ended = new CountDownLatch(count);
    }

    /** Acquires all leases as fast as the nodes grant them. Returns whether all are held. */
    public boolean acquireAll(long limitMs) throws InterruptedException {
        for (int i = 0; i < IN_FLIGHT_MAX; i++) {
            acquireNext();
        }
        if (!ended.await(limitMs, TimeUnit.MILLISECONDS)) {
            problems.add(ended.getCount() + " leases were not acquired within " + limitMs + " ms");
        }
        return problems.isEmpty();
    }

    private void acquireNext() {
        int index = next.getAndIncrement();
        if (index < leases.length) {
            redlock.acquire(redlock.key(keyPrefix + index), options, redlock.newLease(),
                    outcome -> onOutcome(index, outcome));
        }
    }

    private void onOutcome(int index, AcquireOutcome outcome) {
        if (outcome.isAcquired()) {
            leases[index] = outcome.lease();
        } else if (problems.size() < PROBLEMS_MAX) {
            problems.add(outcome.toString());
        }
        ended.countDown();
        acquireNext();
    }

    @Override
    public void onLost(Lease lease, LeaseState state) {
        lost.increment();
        if (problems.size() < PROBLEMS_MAX) {
            problems.add(lease + " was lost");
        }
    }

    @Override
    public void onExtended(Lease lease, int extensionCount) {
        renewals.increment();
        int interval = intervalAt(System.nanoTime());
        if (interval < intervals.length()) {
            intervals.incrementAndGet(interval);
        }
    }

    /** The interval of a time on the clock of {@link System#nanoTime}. */
    public int intervalAt(long ns) {
        return (int) ((ns - startNs) / INTERVAL_NS);
    }

    public int renewalsOf(int interval) {
        return intervals.get(interval);
    }

    public long renewalCount() {
        return renewals.sum();
    }

    /** @return leases that have ended without a release */
    public long lostCount() {
        return lost.sum();
    }

    public long heldCount() {
        long held = 0;
        for (Lease lease : leases) {
            held += lease != null && lease.isHeld() ? 1 : 0;
        }
        return held;
    }

    /** @return the first problems in words; empty if there was none */
    public Queue<String> problems() {
        return problems;
    }
}
