package dev.redlock.loadtest.chaos;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.history.HistoryLine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
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
    /** Sections that take two resources at once. */
    private static final int SETS_PER_MILLE = 250;
    /** Of the sections that take one resource: those of readers, of writers and of permits. The others are plain. */
    private static final int READS_PER_MILLE = 300;
    private static final int WRITES_PER_MILLE = 200;
    private static final int PERMITS_PER_MILLE = 200;
    /** Of a worker that retains locks: the cycles that lock a resource of its own, several times in a row. */
    private static final int OWN_PER_MILLE = 940;
    private static final int OWN_CYCLES_MAX = 8;
    /** Longer than a client may retain a lock that nobody revokes. */
    private static final Duration LONG_WAIT = Duration.ofSeconds(5);
    private static final Duration SHORT_RETENTION = Duration.ofMillis(100);
    private static final long SECTIONS_PER_THREAD = 1L << 28;

    private final Redlock redlock;
    private final SectionFile file;
    private final SectionHistory history;
    private final WorkerTally tally;
    private final int worker;
    private final int thread;
    private final SplittableRandom random;
    private final List<ResourceKey> keys = new ArrayList<>();
    private final List<AcquireOptions> options = new ArrayList<>();
    /** The resources whose locks it retains. */
    private final List<Integer> retained = new ArrayList<>();
    private int holdMsMax;
    private int tagCount;
    private Duration ttl;
    private ChaosOptions.Fenced fenced;
    private long sectionCount;
    private long lastHeldNs;
    /** The time until which the holder relied on the lock; 0 if it never did, or still does. */
    private long sectionEndNs;
    private boolean isWarned = true;
    private volatile boolean isStopped;

    SectionWorker(Redlock redlock, SectionFile file, SectionHistory history, WorkerTally tally, int worker, int thread,
            long seed) {
        this.redlock = redlock;
        this.file = file;
        this.history = history;
        this.tally = tally;
        this.worker = worker;
        this.thread = thread;
        this.random = new SplittableRandom(seed + thread);
    }

    /** The name of a resource. With hash tags, some resources share a slot of a cluster. */
    static String resource(int number, int tagCount) {
        return tagCount == 0 ? "chaos/" + number : "chaos/{" + number % tagCount + "}/" + number;
    }

    /** Without hash tags if there are 0; otherwise sets have a tag in common. */
    void plan(int resources, int hashTags, ChaosOptions.Fenced whichFenced, Duration ttlOfAll, Duration hold) {
        tagCount = hashTags;
        holdMsMax = (int) hold.toMillis();
        ttl = ttlOfAll;
        fenced = whichFenced;
        for (int i = 0; i < resources; i++) {
            keys.add(redlock.key(resource(i, tagCount)));
            AcquireOptions plain = AcquireOptions.ofTtl(ttl).waitUpTo(WAIT);
            options.add(fenced.isFenced(i) ? plain.fenced() : plain);
        }
    }

    /** It locks mostly some of the planned resources without fencing tokens, and its client retains their locks. */
    void retain(int place, int places) {
        for (int i = 0; i < keys.size(); i++) {
            if (i % places == place && !fenced.isFenced(i)) {
                retained.add(i);
            }
        }
    }

    /**
     * A holder that does not look at its lease stays until the end of the validity that it was promised, which the
     * audit counts. Only for runs that must fail: a holder that looks leaves within milliseconds of a loss.
     */
    void ignoreLosses() {
        isWarned = false;
    }

    void stop() {
        isStopped = true;
    }

    @Override
    public void run() {
        try {
            while (!isStopped) {
                if (!retained.isEmpty() && random.nextInt(1000) < OWN_PER_MILLE) {
                    retainingCycles(retained.get(random.nextInt(retained.size())));
                } else {
                    cycle(drawn());
                }
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

    /** One resource, or two that are fenced both or neither, because all grants of a resource are of one kind. */
    private int[] drawn() {
        int first = random.nextInt(keys.size());
        int second = random.nextInt(keys.size());
        boolean isSet = random.nextInt(1000) < SETS_PER_MILLE && second != first
                && fenced.isFenced(first) == fenced.isFenced(second)
                && (tagCount == 0 || first % tagCount == second % tagCount);
        return isSet ? new int[]{first, second} : new int[]{first};
    }

    private AcquireOptions optionsOf(int resource, SectionRecord.Kind start, int dice) {
        AcquireOptions own = options.get(resource);
        // Readers and permits have no fencing token.
        AcquireOptions unfenced = AcquireOptions.ofTtl(ttl).waitUpTo(WAIT);
        return switch (start) {
            case READ -> unfenced.forReading();
            case PERMIT -> unfenced.forPermitOf(SectionRecord.PERMITS);
            default -> dice < READS_PER_MILLE + WRITES_PER_MILLE ? own.forWriting() : own;
        };
    }

    /** A set has plain locks. */
    private static SectionRecord.Kind startOf(int[] resources, int dice) {
        int permitsStart = READS_PER_MILLE + WRITES_PER_MILLE;
        if (resources.length == 1 && dice < READS_PER_MILLE) {
            return SectionRecord.Kind.READ;
        }
        return resources.length == 1 && dice >= permitsStart && dice < permitsStart + PERMITS_PER_MILLE
                ? SectionRecord.Kind.PERMIT
                : SectionRecord.Kind.ENTER;
    }

    private static HistoryLine.Kind kindOf(int[] resources, SectionRecord.Kind start, int dice) {
        if (start != SectionRecord.Kind.ENTER) {
            return start == SectionRecord.Kind.READ ? HistoryLine.Kind.READER : HistoryLine.Kind.PERMIT;
        }
        boolean isWriter = resources.length == 1 && dice < READS_PER_MILLE + WRITES_PER_MILLE;
        return isWriter ? HistoryLine.Kind.WRITER : HistoryLine.Kind.PLAIN;
    }

    private List<String> names(int[] resources) {
        return Arrays.stream(resources).mapToObj(i -> resource(i, tagCount)).toList();
    }

    private ResourceKey keyOf(int[] resources) {
        return resources.length == 1
                ? keys.get(resources[0])
                : redlock.keyOfAll(Arrays.stream(resources).mapToObj(i -> keys.get(i).resource()).toList());
    }

    private void retainingCycles(int resource) throws InterruptedException, IOException {
        Duration max = random.nextInt(4) == 0 ? SHORT_RETENTION : ttl;
        AcquireOptions retaining = options.get(resource).retain(max);
        AcquireOptions own = random.nextInt(4) == 0 ? retaining.watchLoss() : retaining;
        for (int left = 1 + random.nextInt(OWN_CYCLES_MAX); left > 0 && !isStopped; left--) {
            cycle(new int[]{resource}, SectionRecord.Kind.ENTER, HistoryLine.Kind.PLAIN, own);
        }
    }

    private void cycle(int[] resources) throws InterruptedException, IOException {
        int resource = resources[0];
        int dice = random.nextInt(1000);
        SectionRecord.Kind start = startOf(resources, dice);
        AcquireOptions kind = resources.length > 1 ? options.get(resource) : optionsOf(resource, start, dice);
        cycle(resources, start, kindOf(resources, start, dice),
                retained.isEmpty() ? kind : kind.waitUpTo(foreignWait()));
    }

    /** Of an acquire of a lock that another worker may retain. */
    private Duration foreignWait() {
        int dice = random.nextInt(10);
        return dice < 2 ? Duration.ZERO : dice < 4 ? Duration.ofMillis(random.nextInt(1, 20)) : LONG_WAIT;
    }

    private void cycle(int[] resources, SectionRecord.Kind start, HistoryLine.Kind historyKind, AcquireOptions kind)
            throws InterruptedException, IOException {
        int resource = resources[0];
        ResourceKey key = keyOf(resources);
        history.acquire(names(resources), historyKind);
        long beganNs = System.nanoTime();
        for (int i = 0; i < resources.length && !retained.isEmpty() && start != SectionRecord.Kind.PERMIT; i++) {
            file.write(new SectionRecord(SectionRecord.Kind.ASK, worker, resources[i], thread, beganNs, 0, 0));
        }
        AcquireOutcome outcome = redlock.acquire(key, kind);
        long tookNs = System.nanoTime() - beganNs;
        tally.acquireTook(tookNs);
        if (!outcome.isAcquired()) {
            int refusedUs = resources.length == 1 && start != SectionRecord.Kind.PERMIT ? (int) (tookNs / 1000) : 0;
            file.write(SectionRecord.refusal(worker, resource, System.nanoTime(), outcome, refusedUs));
            history.notAcquired(outcome);
        } else {
            int[] claimed = start == SectionRecord.Kind.PERMIT
                    ? new int[]{SectionRecord.FIRST_SEMAPHORE + resource}
                    : resources;
            boolean isFenced = start == SectionRecord.Kind.ENTER && fenced.isFenced(resource);
            long fence = isFenced ? outcome.lease().fencingToken() : 0;
            section(claimed, start, fence, outcome.lease(), (int) (tookNs / 1000));
            history.release(sectionEndNs);
            long releasingNs = System.nanoTime();
            ReleaseOutcome released = outcome.lease().release();
            tally.releaseTook(System.nanoTime() - releasingNs);
            history.released(released);
            tally.count("release " + released);
        }
    }

    /** Holds the lock of a lease for a while, and records when it did. */
    void section(int[] resources, SectionRecord.Kind start, long fence, Lease lease, int acquireUs)
            throws IOException, InterruptedException {
        // A set has one section for each of its resources, with numbers in a row.
        long section = thread * SECTIONS_PER_THREAD + sectionCount + 1;
        sectionCount += resources.length;
        sectionEndNs = 0;
        long nowNs = System.nanoTime();
        long remainingNs = lease.remainingValidityNs();
        history.acquired(nowNs, fence, remainingNs);
        if (remainingNs == 0) {
            tally.count("held too late to enter");
            return;
        }
        lastHeldNs = nowNs;
        for (int i = 0; i < resources.length; i++) {
            file.write(new SectionRecord(start, worker, resources[i], section + i, nowNs, nowNs + remainingNs, fence,
                    acquireUs));
        }
        useRegisters(resources, start, fence);
        hold(resources, section, fence, lease);
        useRegisters(resources, start, fence);
        leaveIfLost(resources, section, fence, lease);
        if (sectionEndNs == 0) {
            leave(resources, section, fence, System.nanoTime());
        }
    }

    /**
     * Its keys may be released at any time after the loss, so only the time before the last look counts. That is
     * recorded at once, because the process may be killed before the section ends.
     */
    private void leaveIfLost(int[] resources, long section, long fence, Lease lease) throws IOException {
        if (isWarned && sectionEndNs == 0 && lease.state() == LeaseState.LOST) {
            leave(resources, section, fence, lastHeldNs);
        }
    }

    private void leave(int[] resources, long section, long fence, long atNs) throws IOException {
        sectionEndNs = atNs;
        write(SectionRecord.Kind.LEAVE, resources, section, atNs, 0, fence);
    }

    /** The second use may come after the validity: then the register rejects the write of a late holder. */
    private void useRegisters(int[] resources, SectionRecord.Kind start, long fence) throws IOException {
        if (fence > 0) {
            history.writeRegisters(resources);
        }
        if (fence > 0 || start == SectionRecord.Kind.READ && fenced.isFenced(resources[0])) {
            history.readRegisters(resources);
        }
    }

    private void hold(int[] resources, long section, long fence, Lease lease) throws IOException, InterruptedException {
        int dice = random.nextInt(1000);
        boolean isOverstayAllowed = retained.isEmpty() || random.nextInt(10) == 0;
        if (dice < OVERSTAYED_PER_MILLE && isOverstayAllowed) {
            stay(resources, section, fence, lease, ttl.toMillis() + OVERSTAYED_MS);
            if (lease.isHeld()) {
                tally.problem("a lease was still held after its ttl");
            }
            return;
        }
        stay(resources, section, fence, lease, random.nextInt(holdMsMax + 1));
        if (dice < OVERSTAYED_PER_MILLE + EXTENDED_PER_MILLE) {
            extend(resources, section, fence, lease);
            stay(resources, section, fence, lease, random.nextInt(holdMsMax + 1));
        }
    }

    private void extend(int[] resources, long section, long fence, Lease lease) throws IOException {
        look(lease);
        history.extend();
        ExtendOutcome outcome = lease.extend(ttl);
        tally.count("extend " + outcome);
        long nowNs = System.nanoTime();
        long remainingNs = lease.remainingValidityNs();
        history.extended(outcome, nowNs, remainingNs);
        if (remainingNs > 0) {
            write(SectionRecord.Kind.EXTEND, resources, section, nowNs, nowNs + remainingNs, fence);
        }
    }

    private void stay(int[] resources, long section, long fence, Lease lease, long ms)
            throws IOException, InterruptedException {
        long endNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        for (long leftNs = TimeUnit.MILLISECONDS.toNanos(ms); leftNs > 0; leftNs = endNs - System.nanoTime()) {
            look(lease);
            leaveIfLost(resources, section, fence, lease);
            Thread.sleep(Math.min(SLICE_MS, TimeUnit.NANOSECONDS.toMillis(leftNs) + 1));
        }
    }

    private void look(Lease lease) {
        long nowNs = System.nanoTime();
        if (lease.isHeld()) {
            lastHeldNs = nowNs;
        }
    }

    private void write(SectionRecord.Kind kind, int[] resources, long section, long timeNs, long validityEndNs,
            long fence) throws IOException {
        for (int i = 0; i < resources.length; i++) {
            file.write(new SectionRecord(kind, worker, resources[i], section + i, timeNs, validityEndNs, fence));
        }
    }
}
