package dev.redlock.sim;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.CloseReport;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.RetryPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/** A simulated process: one client and its workers. */
final class SimClient {

    private static final long MS = 1_000_000;

    /** Acquisitions in the callbacks of one turn: more than any limit of tasks in a turn. */
    private static final int RETRIES_IN_TURN_MAX = 2_000;
    private static final long RETRY_NS = 20_000;
    /** Reading the status of the nodes is slow, so not after every event. */
    private static final int NODE_CHECK_PERIOD = 16;
    /** The limits of operations are seconds. */
    private static final long WORKER_CHECK_PERIOD_NS = 5_000_000;

    private final Simulation simulation;
    private final VirtualWorld.Client process;
    private final List<SimWorker> workers = new ArrayList<>();
    /** Those of the workers, while their states are checked. */
    private final List<Lease> leases = new ArrayList<>();
    private final SplittableRandom random;
    /** When each token of this client was first requested. */
    private final Map<String, Long> requestedNs = new HashMap<>();
    private boolean mayRetain;
    private boolean isClosing;
    private boolean isGone;
    private CompletableFuture<CloseReport> closeReport;
    private int haltCount;
    private long haltedSinceNs;
    private long haltedNs;
    private long slowUntilNs;
    private long withoutMemoryUntilNs;
    /** Until when a connection may be deaf whose read has failed. */
    private long deafUntilNs;
    private long throwingUntilNs;
    private long eagerUntilNs;
    private boolean isStalling;
    private boolean isTurnTooLong;
    private long turnEndedCount;
    private int retriesInTurn;
    private int checkCount;
    private long workersCheckedNs;
    private long checkedTaskCount = -1;

    SimClient(Simulation simulation, String name, SplittableRandom random) {
        this.simulation = simulation;
        SimPlan plan = simulation.plan;
        RedlockContext context = new RedlockContext()
                .nodes(Arrays.copyOf(simulation.world.addresses(), plan.nodeCount))
                .maxTtl(Duration.ofMillis(plan.maxTtlMs))
                .restartGuard(plan.guard)
                .clockSampleInterval(Duration.ofMillis(plan.clockSampleMs))
                .drift(10_000, Duration.ofMillis(plan.driftConstantMs))
                .undeliveredReleasesMax(plan.undeliveredReleasesMax)
                .localHandoffsMax(plan.localHandoffsMax)
                .retainedLeasesMax(plan.retainedMax)
                .flightRecorderEvents(plan.flightRecorderEvents)
                .nodeBackPressure(plan.nodeInFlightMax, 1 << 20);
        if (plan.unansweredMs > 0) {
            context.unansweredTimeout(Duration.ofMillis(plan.unansweredMs));
        }
        if (plan.retryDelayMs > 0) {
            context.retryPolicy(
                    RetryPolicy.jittered(Duration.ofMillis(plan.retryDelayMs), Duration.ofMillis(plan.retryDelayMs)));
        }
        if (!plan.commands.isEmpty()) {
            context.commands(plan.commands.get(Math.floorMod(name.hashCode(), plan.commands.size())));
        }
        context.clientName(name).nameInValues((plan.namedClients >>> Math.floorMod(name.hashCode(), 8) & 1) != 0);
        context.thriftyQuorums(plan.isThrifty(name));
        this.mayRetain = plan.retainTenths > 0 && !plan.isThrifty(name) && (plan.commands.isEmpty() || plan.commands
                .get(Math.floorMod(name.hashCode(), plan.commands.size())) != CommandMode.NATIVE);
        this.process = simulation.world.newClient(name, context, random.nextLong());
        this.random = random.split();
        process.clockListener(this::onBetweenInstructions);
        process.transport().sendListener(this::onBetweenInstructions);
        process.memory().usedUpWhile(() -> isNow(withoutMemoryUntilNs) && this.random.nextInt(4) == 0);
        for (int r = 0; r < plan.resourceCount; r++) {
            for (int w = 0; w < plan.workersPerResource; w++) {
                workers.add(new SimWorker(simulation, this, "resource-" + r, w, random.split()));
            }
        }
    }

    String name() {
        return process.name();
    }

    VirtualWorld.Client process() {
        return process;
    }

    Redlock redlock() {
        return process.redlock();
    }

    boolean mayRetain() {
        return mayRetain;
    }

    /** The time at which a lock was requested from the nodes; a local lease of a retained lock began later. */
    long requestedNs(String token, long nowNs) {
        Long before = requestedNs.putIfAbsent(token, nowNs);
        return before == null ? nowNs : before;
    }

    List<SimWorker> workers() {
        return workers;
    }

    boolean isClosing() {
        return isClosing || isGone;
    }

    boolean isClosed() {
        return closeReport.isDone();
    }

    boolean isGone() {
        return isGone;
    }

    /** Returns the total pause of the process up to now, including a pause in the middle of a turn. */
    long pausedNs() {
        return haltedNs + (haltCount > 0 ? simulation.world.nowNs() - haltedSinceNs : 0);
    }

    private void halt() {
        if (haltCount++ == 0) {
            haltedSinceNs = simulation.world.nowNs();
        }
    }

    private void goOn() {
        haltedNs = pausedNs();
        haltedSinceNs = simulation.world.nowNs();
        haltCount--;
    }

    /** Runs application code now, or as soon as the process can; never after its end. */
    void run(Runnable task) {
        process.call(() -> {
            if (!isGone) {
                guard(task);
            }
        });
    }

    /** Runs a task after the process has read everything that has arrived by now; never after its end. */
    void whenIdle(Runnable task) {
        process.whenIdle(() -> {
            if (!isGone) {
                task.run();
            }
        });
    }

    /** Calls of the client throw only for wrong arguments and wrong use, and workers make neither. */
    private void guard(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException | OutOfMemoryError e) {
            simulation.violate(name() + " got an exception: " + e);
        }
    }

    void pause() {
        if (!process.isPaused()) {
            halt();
            process.pause();
        }
    }

    /** Suspends the machine. */
    void suspend() {
        if (!process.isPaused()) {
            halt();
            process.suspend();
            simulation.onSuspended(this);
        }
    }

    void resume() {
        if (process.isPaused()) {
            simulation.onResumed(this);
            goOn();
            process.resume();
        }
    }

    // ---- what goes wrong in the process -----------------------------------------------------------------------------

    private boolean isNow(long untilNs) {
        return untilNs - simulation.world.nowNs() > 0;
    }

    void slow(long untilNs) {
        slowUntilNs = untilNs;
    }

    /** Whether it may not read a reply that arrives, or forget it. */
    boolean isWithoutMemory() {
        return isNow(withoutMemoryUntilNs) || isNow(deafUntilNs);
    }

    /** It notices after two seconds that nothing arrives, and connects again after one second at most. */
    void onReadFailed() {
        deafUntilNs = simulation.world.nowNs() + 3_500_000_000L;
    }

    void withoutMemory(long untilNs) {
        withoutMemoryUntilNs = untilNs;
    }

    void throwing(long untilNs) {
        throwingUntilNs = untilNs;
    }

    void eager(long untilNs) {
        eagerUntilNs = untilNs;
    }

    void recover() {
        long nowNs = simulation.world.nowNs();
        slow(nowNs);
        withoutMemory(nowNs);
        throwing(nowNs);
        eager(nowNs);
    }

    /** Models a thread that is not scheduled or a garbage collection: mostly short, rarely long. */
    private void onBetweenInstructions() {
        if (!process.isBusy() || isStalling || isGone || !isNow(slowUntilNs)) {
            return;
        }
        int chance = random.nextInt(2_000);
        if (chance < 4) {
            stall(1_000_000L * (1 + random.nextInt(chance == 0 ? 1_500 : 150)));
        } else if (chance < 400) {
            stall(1_000L * (1 + random.nextInt(100)));
        }
    }

    private void stall(long ns) {
        isStalling = true;
        halt();
        process.stall(ns);
        goOn();
        isStalling = false;
    }

    /** Called at the end of a callback. */
    void maybeThrow(String what) {
        if (isNow(throwingUntilNs) && random.nextInt(3) == 0) {
            simulation.count("THROWN");
            throw new SimFault(what);
        }
    }

    /**
     * Returns whether a worker without a lock retries before it returns. Each retry takes the application some time.
     * The turn still has to end, because the loop must poll its sockets, so too many retries in a turn are a violation.
     */
    boolean isRetryingImmediately() {
        if (!isNow(eagerUntilNs) || !process.isBusy() || isTurnTooLong) {
            return false;
        }
        if (turnEndedCount != process.turnCount()) {
            turnEndedCount = process.turnCount();
            retriesInTurn = 0;
        }
        if (++retriesInTurn > RETRIES_IN_TURN_MAX) {
            isTurnTooLong = true;
            simulation.violate(name() + " has a turn that does not end: " + retriesInTurn + " acquisitions in it");
            return false;
        }
        simulation.count("RETRIED_AT_ONCE");
        if (!isStalling) {
            stall(RETRY_NS);
        }
        return !isGone;
    }

    void kill() {
        isGone = true;
        process.kill();
    }

    /** Ends the process after its client has closed. */
    void leave() {
        isGone = true;
        process.kill();
    }

    /** Closes the client and checks that it ends, with the operations of its workers. */
    void close(Runnable closed) {
        isClosing = true;
        long startNs = simulation.world.nowNs();
        long pausedBeforeNs = pausedNs();
        closeReport = process.engine().close(Duration.ofSeconds(1));
        simulation.whenClosed(this, startNs, pausedBeforeNs, closed);
    }

    /** In the middle of a turn, the states of a client are incomplete. */
    private void checkStates() {
        checkedTaskCount = process.taskCount();
        leases.clear();
        for (int i = 0; i < workers.size(); i++) {
            if (workers.get(i).lease() != null) {
                leases.add(workers.get(i).lease());
            }
        }
        process.engine()
                .engine()
                .stateViolations(leases)
                .forEach(violation -> simulation.violate(name() + ": " + violation));
    }

    /** Checks the operations, and after its tasks the states and the memory of the client. */
    void check(long nowNs) {
        if (nowNs - workersCheckedNs >= WORKER_CHECK_PERIOD_NS) {
            workersCheckedNs = nowNs;
            for (int i = 0; i < workers.size(); i++) {
                workers.get(i).check(nowNs);
            }
        }
        boolean isChanged = checkedTaskCount != process.taskCount();
        if (isChanged && !process.isBusy()) {
            checkStates();
        }
        if (isChanged || process.isBusy()) {
            checkMemory();
        }
    }

    private void checkMemory() {
        // A claim is in use until every node has replied; the requests of each node are limited.
        SimPlan plan = simulation.plan;
        // A batch of releases is one request for up to 64 claims; only immediate retries fill one.
        int perRequest = plan.faults.contains(SimPlan.Fault.RETRY_AT_ONCE) ? 64 : 1;
        int attemptsMax = plan.nodeCount * plan.nodeInFlightMax * perRequest + workers.size();
        if (process.engine().claimsOut() > attemptsMax) {
            simulation
                    .violate(name() + " has " + process.engine().claimsOut() + " claims in use, more than "
                            + attemptsMax);
        }
        if (checkCount++ % NODE_CHECK_PERIOD == 0) {
            checkUndelivered();
        }
    }

    private void checkUndelivered() {
        redlock().nodes().forEach(node -> {
            if (node.undeliveredReleaseCount() > simulation.plan.undeliveredReleasesMax) {
                simulation.violate(name() + " keeps " + node.undeliveredReleaseCount() + " releases for " + node);
            }
        });
    }
}
