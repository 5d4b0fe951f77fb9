package dev.redlock.sim;

import dev.redlock.AcquireOptions;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.TestEngine;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** A user of one resource in one client, in a loop: thinks, acquires, holds, extends, then releases or forgets to. */
final class SimWorker implements LeaseListener {

    private static final long MS = 1_000_000;
    private static final long SLACK_NS = 3 * MS;

    private enum Doing {
        IDLE, ACQUIRING, HOLDING, EXTENDING, RELEASING
    }

    final String name;
    final String resource;
    private final Simulation simulation;
    final SimClient client;
    private final SplittableRandom random;
    private final SimHistory.Process history;
    private Doing doing = Doing.IDLE;
    private Lease lease;
    private long startedNs;
    private long pausedAtStartNs;
    private long limitNs;
    private long requestedNs;
    private long grantedNs;
    /** The start of the attempt that got the lock, less the drift. The process may stop before it sees the grant. */
    private long attemptedNs;
    private long acquireStartNs;
    private long ttlMs;
    private int round;
    /** What it acquires or holds: its own resource, or a set with it. */
    private List<String> resources;
    private boolean isReading;
    private boolean isWriting;
    private boolean isPermit;
    private boolean isCancelled;
    private boolean isWaiting;
    private int[] extensionPushesBefore;
    private String token = "";
    private long extendedSince;
    private long holdMinMs;
    private long keptUntilNs;

    SimWorker(Simulation simulation, SimClient client, String resource, int index,
            SplittableRandom random) {
        this.simulation = simulation;
        this.client = client;
        this.resource = resource;
        this.resources = List.of(resource);
        this.random = random;
        this.history = simulation.history.newProcess();
        this.name = client.name() + "/" + resource + "/" + index;
        later(random.nextInt(200), this::acquire);
    }

    boolean isIdle() {
        return doing == Doing.IDLE;
    }

    /** Returns whether this worker has no operation in progress, and its lease has ended if it has one. */
    boolean isSettledForGood() {
        return doing == Doing.IDLE || doing == Doing.HOLDING && lease.state().isFinal();
    }

    /** Returns whether this worker may use the resource now. */
    boolean isInside() {
        if (doing != Doing.HOLDING && doing != Doing.EXTENDING) {
            return false;
        }
        return simulation.plan.isValidityIgnored
                ? simulation.world.nowNs() - grantedNs < ttlMs * MS
                : lease.isHeld();
    }

    /** What it acquires or holds. */
    List<String> resources() {
        return resources;
    }

    /** Whether it acquires or holds a permit of the semaphore of its resource. */
    boolean isPermit() {
        return isPermit;
    }

    /** Whether it acquires or holds for writing. */
    boolean isWriting() {
        return isWriting;
    }

    /** Whether it acquires or holds for reading. */
    boolean isReading() {
        return isReading;
    }

    /** The lease that it uses or has used; null before its first acquisition. */
    Lease lease() {
        return lease;
    }

    /** The token of its key on the nodes. */
    String token() {
        return token;
    }

    /** The time at which its lease was requested. */
    long sinceNs() {
        return requestedNs;
    }

    /** Runs a task in this worker's process, which may be paused or ended by then. */
    private void later(long ms, Runnable task) {
        int expectedRound = round;
        simulation.world.after(ms * MS, () -> client.run(() -> {
            if (expectedRound == round) {
                task.run();
            }
        }));
    }

    private void startOperation(Doing next, long newLimitNs) {
        doing = next;
        startedNs = simulation.world.nowNs();
        pausedAtStartNs = client.pausedNs();
        limitNs = newLimitNs + SLACK_NS;
    }

    /** Whether it waits, and has come earlier than another worker. */
    boolean waitsSinceBefore(SimWorker other) {
        return doing == Doing.ACQUIRING && isWaiting && startedNs - other.startedNs < 0;
    }

    /** When its operation in progress has started. */
    long startedNs() {
        return startedNs;
    }

    /** How long it has waited for the lock. */
    long waitedNs(long nowNs) {
        return doing == Doing.ACQUIRING ? nowNs - startedNs : 0;
    }

    /** Every operation has to end in time, not counting the pauses of its process. */
    void check(long nowNs) {
        if (doing == Doing.IDLE || doing == Doing.HOLDING) {
            return;
        }
        long tookNs = nowNs - startedNs - (client.pausedNs() - pausedAtStartNs);
        if (tookNs > limitNs) {
            limitNs = Long.MAX_VALUE;
            simulation.violate(name + " is " + doing + " for " + tookNs / MS + " ms, longer than allowed: " + lease);
        }
    }

    private long nodeTimeoutNs() {
        return Math.max(MS, Math.min(50 * MS, ttlMs * MS / 20));
    }

    private void acquire() {
        acquire(false);
    }

    private void acquire(boolean isImmediate) {
        if (doing != Doing.IDLE || client.isClosing() || simulation.isQuiescing()) {
            return;
        }
        SimPlan plan = simulation.plan;
        ttlMs = plan.ttlMsMin + random.nextInt(plan.ttlMsMax - plan.ttlMsMin + 1);
        if (plan.retainTenths > 0 && random.nextInt(4) > 0) {
            // Local grants need the ttl of the lease on the nodes.
            ttlMs = plan.ttlMsMax;
        }
        long waitMs = isImmediate || random.nextBoolean() ? 0 : random.nextInt(2000);
        AcquireOptions options = AcquireOptions.ofTtl(Duration.ofMillis(ttlMs))
                .waitUpTo(Duration.ofMillis(waitMs))
                .listener(this);
        if (plan.isExtending && random.nextInt(4) == 0) {
            options = options.autoExtend(1 + random.nextInt(3), Duration.ofMillis(plan.maxTtlMs));
        }
        if (plan.isHoldingLong) {
            options = options.autoExtend();
        }
        isWaiting = waitMs > 0;
        resources = drawnResources();
        options = ofDrawnKind(options);
        if (isFenced()) {
            options = options.fenced();
        }
        holdMinMs = plan.isKeeping && random.nextInt(4) == 0 ? 1 + random.nextInt((int) Math.min(ttlMs, 3_000)) : 0;
        boolean isRetaining = client.mayRetain() && resources.size() == 1 && !isReading && !isWriting && !isPermit
                && random.nextInt(10) < plan.retainTenths;
        if (isRetaining) {
            holdMinMs = 0;
            // Calm runs end some seconds after the work.
            int retainMs = plan.isTidy ? 3_000 : (int) ttlMs;
            options = AcquireOptions.ofTtl(Duration.ofMillis(ttlMs))
                    .waitUpTo(Duration.ofMillis(waitMs))
                    .listener(this)
                    .retain(Duration.ofMillis(random.nextInt(4) == 0 ? random.nextInt(retainMs) : retainMs));
            options = random.nextInt(4) == 0 ? options.watchLoss() : options;
        }
        options = options.holdAtLeast(Duration.ofMillis(holdMinMs));
        if (plan.faults.contains(SimPlan.Fault.THROWING_CALLBACKS)) {
            options = options.retryPolicy((attempts, reason, ttl, bits) -> {
                client.maybeThrow("a retry policy");
                return 5 * MS + (bits >>> 1) % (45 * MS);
            });
        }
        if (lease == null || random.nextInt(3) == 0) {
            lease = client.redlock().newLease();
        }
        isCancelled = false;
        // A fenced acquire may need a second round to raise counters, and one without a wait budget a holder ttl query.
        requestedNs = simulation.world.nowNs();
        // One for a permit makes attempts for several permits.
        int rounds = isPermit && waitMs == 0 ? 5 : plan.isFenced || waitMs == 0 ? 2 : 1;
        startOperation(Doing.ACQUIRING, waitMs * MS + nodeTimeoutNs() * rounds);
        acquireStartNs = simulation.world.nowNs();
        extensionPushesBefore = extensionPushes();
        round++;
        int thisRound = round;
        history.acquire(isPermit ? List.of(resource) : resources, kindName());
        ResourceKey key = isPermit ? client.redlock().key(resource) : client.redlock().keyOfAll(resources);
        client.redlock().acquire(key, options, lease, outcome -> onOutcome(thisRound, outcome));
        if (random.nextInt(8) == 0) {
            later(random.nextInt(30), this::cancel);
        }
    }

    /** The pushes of each node for extensions of what it acquires. */
    private int[] extensionPushes() {
        List<String> keys = isPermit
                ? IntStream.range(0, simulation.plan.permitCount)
                        .mapToObj(number -> Simulation.permitName(resource, number))
                        .toList()
                : resources;
        return simulation.refusals.extensionPushes(client.name(), keys);
    }

    private String kindOfLock() {
        return resources.size() > 1 ? "set" : isWriting ? "write" : isReading ? "read" : isPermit ? "permit" : "plain";
    }

    private String kindName() {
        if (isPermit) {
            return "permit";
        }
        return isReading ? "reader" : "plain";
    }

    private boolean isFenced() {
        return simulation.plan.isFenced && !isReading && !isPermit;
    }

    private AcquireOptions ofDrawnKind(AcquireOptions options) {
        SimPlan plan = simulation.plan;
        isPermit = plan.permitTenths > 0 && random.nextInt(10) < plan.permitTenths;
        if (isPermit) {
            isReading = false;
            isWriting = false;
            // The grant names the permit.
            resources = List.of();
            return options.forPermitOf(plan.permitCount);
        }
        int choice = resources.size() > 1 || plan.readTenths == 0 ? 10 : random.nextInt(10);
        isReading = choice < plan.readTenths;
        if (isReading) {
            isWriting = false;
            return options.forReading();
        }
        isWriting = choice < plan.readTenths + plan.writeTenths;
        return isWriting ? options.forWriting() : options;
    }

    private List<String> drawnResources() {
        SimPlan plan = simulation.plan;
        if (plan.setTenths == 0 || random.nextInt(10) >= plan.setTenths) {
            return List.of(resource);
        }
        List<String> drawn = new ArrayList<>(List.of(resource));
        for (int r = 0; r < plan.resourceCount; r++) {
            String other = "resource-" + r;
            if (!other.equals(resource) && random.nextBoolean()) {
                drawn.add(other);
            }
        }
        return drawn;
    }

    private void cancel() {
        if (doing == Doing.ACQUIRING) {
            isCancelled = true;
            // Closing a lease that is being acquired cancels the acquisition.
            lease.close();
        }
    }

    private void onOutcome(int expectedRound, AcquireOutcome outcome) {
        simulation.trace(name + " " + outcome.kind() + " " + outcome.attemptCount());
        if (doing != Doing.ACQUIRING || expectedRound != round) {
            simulation.violate(name + " got a second outcome: " + outcome);
            return;
        }
        simulation.count(outcome.kind().name());
        if (!outcome.isAcquired()) {
            history.notAcquired();
            if (client.isRetryingImmediately()) {
                doing = Doing.IDLE;
                round++;
                acquire(true);
            }
            if (doing == Doing.ACQUIRING && expectedRound == round) {
                rest();
            }
            client.maybeThrow("an acquire callback");
            return;
        }
        if (isCancelled) {
            simulation.violate(name + " got the lock after its cancellation");
        }
        simulation.onTurn(this);
        if (isWaiting) {
            simulation.refusals.onAcquired(kindOfLock(), outcome.attemptCount(),
                    extensionPushesBefore, extensionPushes());
        }
        token = TestEngine.valueOf(lease);
        requestedNs = client.requestedNs(token, requestedNs);
        resources = isPermit ? List.of(TestEngine.lockedResource(lease)) : resources;
        if (isFenced()) {
            simulation.onFenced(this, lease.fencingToken(), acquireStartNs);
        }
        simulation.checkGranted(this, 0);
        doing = Doing.HOLDING;
        grantedNs = simulation.world.nowNs();
        attemptedNs = TestEngine.validUntilNs(lease) - ttlMs * MS;
        history.acquired(lease, isFenced() ? lease.fencingToken() : 0,
                simulation.plan.isValidityIgnored ? grantedNs + ttlMs * MS : TestEngine.validUntilNs(lease));
        boolean isLong = simulation.plan.isHoldingLong || random.nextInt(3) == 0;
        holdFor(isLong ? random.nextInt((int) ttlMs * 2) : random.nextInt(50));
        client.maybeThrow("an acquire callback");
    }

    private void holdFor(long ms) {
        later(simulation.plan.isTidy ? Math.min(ms, 3_000) : ms, this::afterHold);
    }

    private void afterHold() {
        if (doing != Doing.HOLDING) {
            return;
        }
        int choice = random.nextInt(10);
        boolean isOver = lease.state().isFinal() && random.nextInt(4) > 0;
        if (!isOver && choice < simulation.plan.extendTenths && simulation.plan.isExtending
                && !simulation.isQuiescing()) {
            extend();
            if (random.nextBoolean()) {
                // In the same turn: each node gets them in one batch.
                client.workers().forEach(SimWorker::extendToo);
            }
        } else if (!isOver && choice == 9 && !simulation.plan.isTidy && !simulation.isQuiescing()) {
            // Forgets to release, and returns when the lease must have ended.
            later(simulation.plan.maxTtlMs * 2L, this::release);
        } else {
            release();
        }
    }

    private void extendToo() {
        if (doing == Doing.HOLDING && !lease.state().isFinal()) {
            extend();
        }
    }

    private void extend() {
        SimPlan plan = simulation.plan;
        long newTtlMs = plan.ttlMsMin + random.nextInt(plan.ttlMsMax - plan.ttlMsMin + 1);
        // An automatic extension in progress ends first.
        startOperation(Doing.EXTENDING, 100 * MS);
        extendedSince = simulation.grants.now();
        int thisRound = round;
        history.extend();
        lease.extend(newTtlMs, (extended, outcome) -> onExtended(thisRound, outcome));
    }

    private void onExtended(int expectedRound, ExtendOutcome outcome) {
        simulation.trace(name + " " + outcome);
        simulation.count(outcome.name());
        if (doing != Doing.EXTENDING || expectedRound != round) {
            simulation.violate(name + " got a second extend outcome: " + outcome);
            return;
        }
        doing = Doing.HOLDING;
        history.extended(lease, outcome);
        if (outcome == ExtendOutcome.EXTENDED) {
            simulation.checkGranted(this, extendedSince);
        } else if (outcome == ExtendOutcome.NOT_EXTENDED) {
            simulation.checkNotExtended(this, extendedSince);
        }
        holdFor(random.nextInt(random.nextInt(4) == 0 ? (int) ttlMs : 100));
        client.maybeThrow("an extend callback");
    }

    private void release() {
        if (doing != Doing.HOLDING) {
            return;
        }
        history.release(lease);
        // A lock that is not retained is released after the question.
        startOperation(Doing.RELEASING, (client.mayRetain() ? 2 : 1) * nodeTimeoutNs() + 50 * MS);
        int thisRound = round;
        // The keys last for the validity, whatever happens to this process.
        long validUntilNs = TestEngine.validUntilNs(lease);
        long holdUntilNs = attemptedNs + holdMinMs * MS;
        keptUntilNs = validUntilNs - holdUntilNs < 0 ? validUntilNs : holdUntilNs;
        lease.release((released, outcome) -> onReleased(thisRound, outcome));
    }

    private void onReleased(int expectedRound, ReleaseOutcome outcome) {
        simulation.trace(name + " released " + outcome);
        simulation.count("RELEASE_" + outcome.name());
        history.released(outcome);
        if (doing != Doing.RELEASING || expectedRound != round) {
            simulation.violate(name + " got a second release outcome: " + outcome);
            return;
        }
        if (!lease.state().isFinal()) {
            simulation.violate(name + " got its release outcome in state " + lease.state());
        }
        if (outcome == ReleaseOutcome.KEPT) {
            simulation.onKept(this, keptUntilNs);
        } else if (outcome == ReleaseOutcome.RELEASED) {
            simulation.releases.onReleased(name, token);
        }
        rest();
        client.maybeThrow("a release callback");
    }

    private void rest() {
        doing = Doing.IDLE;
        round++;
        later(random.nextInt(5) == 0 ? random.nextInt(500) : random.nextInt(20), this::acquire);
    }

    @Override
    public void onLost(Lease lost, LeaseState state) {
        simulation.trace(name + " " + state);
        simulation.count(state.name());
        if (lost.isHeld() || lost.state() != state) {
            simulation.violate(name + " is notified of " + state + " but reads " + lost);
        }
        simulation.onLost(this);
        client.maybeThrow("a lease listener");
    }

    /** Releases because another lease of the process was lost, as careful users do. */
    void onOtherLeaseLost() {
        release();
    }

    @Override
    public String toString() {
        return name + " " + doing + " " + lease;
    }
}
