package dev.redlock.loadtest.chaos;

import dev.redlock.AcquireOptions;
import dev.redlock.AcquireOutcome;
import dev.redlock.ExtendOutcome;
import dev.redlock.Lease;
import dev.redlock.LeaseState;
import dev.redlock.Redlock;
import dev.redlock.ResourceKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * One thread of a worker process: it acquires locks, records its sections, and releases the locks. Most sections are
 * short, some extend their lease, and a few overstay the validity, which the lock cannot prevent and the audit accepts.
 *
 * @threading caller-confined to its own thread, except for {@link #stop}
 */
final class SectionWorker implements Runnable {
    private static final Duration WAIT = Duration.ofSeconds(1);
    private static final int SLICE_MS = 5;
    private static final int OVERSTAYED_MS = 15;
    private static final int THINK_MS_MAX = 10;
    private static final int EXTENDED_PER_MILLE = 100;
    private static final int OVERSTAYED_PER_MILLE = 5;
    private static final long SECTIONS_PER_THREAD = 1L << 28;

    private final Redlock redlock;
    private final SectionFile file;
    private final WorkerTally tally;
    private final int worker;
    private final int thread;
    private final SplittableRandom random;
    private final List<ResourceKey> keys = new ArrayList<>();
    private final List<AcquireOptions> options = new ArrayList<>();
    private int holdMsMax;
    private Duration ttl;
    private Fenced fenced;
    private long sectionCount;
    private long lastHeldNs;
    private volatile boolean isStopped;

    SectionWorker(Redlock redlock, SectionFile file, WorkerTally tally, int worker, int thread, long seed) {
        this.redlock = redlock;
        this.file = file;
        this.tally = tally;
        this.worker = worker;
        this.thread = thread;
        this.random = new SplittableRandom(seed + thread);
    }

    void plan(int resources, Fenced whichFenced, Duration ttlOfAll, Duration hold) {
        holdMsMax = (int) hold.toMillis();
        ttl = ttlOfAll;
        fenced = whichFenced;
        for (int i = 0; i < resources; i++) {
            keys.add(redlock.key("chaos/" + i));
            AcquireOptions plain = AcquireOptions.ofTtl(ttl).waitUpTo(WAIT);
            options.add(fenced.isFenced(i) ? plain.fenced() : plain);
        }
    }

    void stop() {
        isStopped = true;
    }

    @Override
    public void run() {
        try {
            while (!isStopped) {
                cycle(random.nextInt(keys.size()));
                Thread.sleep(random.nextInt(THINK_MS_MAX + 1));
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write evidence", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            tally.problem("thread " + thread + " of worker " + worker + " ended: " + e);
        }
    }

    private void cycle(int resource) throws InterruptedException, IOException {
        long beganNs = System.nanoTime();
        AcquireOutcome outcome = redlock.acquire(keys.get(resource), options.get(resource));
        long tookNs = System.nanoTime() - beganNs;
        tally.acquireTook(tookNs);
        if (!outcome.isAcquired()) {
            file.write(SectionRecord.refusal(worker, resource, System.nanoTime(), outcome));
        } else {
            section(resource, outcome.lease(), (int) (tookNs / 1000));
            tally.count("release " + outcome.lease().release());
        }
    }

    private void section(int resource, Lease lease, int acquireUs) throws IOException, InterruptedException {
        long section = thread * SECTIONS_PER_THREAD + ++sectionCount;
        long fence = fenced.isFenced(resource) ? lease.fencingToken() : 0;
        long nowNs = System.nanoTime();
        long remainingNs = lease.remainingValidityNs();
        if (remainingNs == 0) {
            tally.count("held too late to enter");
            return;
        }
        lastHeldNs = nowNs;
        file.write(new SectionRecord(SectionRecord.Kind.ENTER, worker, resource, section, nowNs, nowNs + remainingNs,
                fence, acquireUs));
        hold(resource, section, fence, lease);
        long leftNs = System.nanoTime();
        // The keys of a lost lease may be released at any time after this check, so only the time before counts.
        write(SectionRecord.Kind.LEAVE, resource, section, lease.state() == LeaseState.LOST ? lastHeldNs : leftNs, 0,
                fence);
    }

    private void hold(int resource, long section, long fence, Lease lease) throws IOException, InterruptedException {
        int dice = random.nextInt(1000);
        if (dice < OVERSTAYED_PER_MILLE) {
            stay(lease, ttl.toMillis() + OVERSTAYED_MS);
            if (lease.isHeld()) {
                tally.problem("a lease was still held after its ttl");
            }
            return;
        }
        stay(lease, random.nextInt(holdMsMax + 1));
        if (dice < OVERSTAYED_PER_MILLE + EXTENDED_PER_MILLE) {
            extend(resource, section, fence, lease);
            stay(lease, random.nextInt(holdMsMax + 1));
        }
    }

    private void extend(int resource, long section, long fence, Lease lease) throws IOException {
        look(lease);
        ExtendOutcome outcome = lease.extend(ttl);
        tally.count("extend " + outcome);
        long nowNs = System.nanoTime();
        long remainingNs = lease.remainingValidityNs();
        if (remainingNs > 0) {
            write(SectionRecord.Kind.EXTEND, resource, section, nowNs, nowNs + remainingNs, fence);
        }
    }

    private void stay(Lease lease, long ms) throws InterruptedException {
        long endNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        for (long leftNs = TimeUnit.MILLISECONDS.toNanos(ms); leftNs > 0; leftNs = endNs - System.nanoTime()) {
            look(lease);
            Thread.sleep(Math.min(SLICE_MS, TimeUnit.NANOSECONDS.toMillis(leftNs) + 1));
        }
    }

    private void look(Lease lease) {
        long nowNs = System.nanoTime();
        if (lease.isHeld()) {
            lastHeldNs = nowNs;
        }
    }

    private void write(SectionRecord.Kind kind, int resource, long section, long timeNs, long validityEndNs, long fence)
            throws IOException {
        file.write(new SectionRecord(kind, worker, resource, section, timeNs, validityEndNs, fence));
    }
}
