package dev.redlock.sim;

import dev.redlock.CloseReport;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/** A simulated process: one client and its workers. */
final class SimClient {

    private final Simulation simulation;
    private final VirtualWorld.Client process;
    private final List<SimWorker> workers = new ArrayList<>();
    private final List<Runnable> waiting = new ArrayList<>();
    private boolean isClosing;
    private boolean isGone;
    private CompletableFuture<CloseReport> closeReport;
    private long pausedSinceNs;
    private long pausedNs;

    SimClient(final Simulation simulation, final String name, final SplittableRandom random) {
        this.simulation = simulation;
        final SimPlan plan = simulation.plan;
        final RedlockContext context = new RedlockContext().nodes(simulation.world.addresses())
                .maxTtl(Duration.ofMillis(plan.maxTtlMs))
                .restartGuard(plan.guard)
                .clockSampleMs(plan.clockSampleMs)
                .nodeDebtMax(plan.debtMax)
                .localHandOversMax(plan.localHandOversMax)
                .nodeBackPressure(plan.nodeInFlightMax, 1 << 20);
        if (!plan.commands.isEmpty()) {
            context.commands(plan.commands.get(Math.floorMod(name.hashCode(), plan.commands.size())));
        }
        this.process = simulation.world.newClient(name, context, random.nextLong());
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

    /** How long the process has been paused in all, up to now. */
    long pausedNs() {
        return pausedNs + (process.isPaused() ? simulation.world.nowNs() - pausedSinceNs : 0);
    }

    /** Runs application code now, or when the process runs again; never if it is gone. */
    void run(final Runnable task) {
        if (isGone) {
            return;
        }
        if (process.isPaused()) {
            waiting.add(task);
        } else {
            task.run();
        }
    }

    void pause() {
        if (!process.isPaused()) {
            pausedSinceNs = simulation.world.nowNs();
            process.pause();
        }
    }

    void resume() {
        if (process.isPaused()) {
            pausedNs = pausedNs();
            process.resume();
            final List<Runnable> tasks = new ArrayList<>(waiting);
            waiting.clear();
            tasks.forEach(this::run);
        }
    }

    void kill() {
        isGone = true;
        process.kill();
    }

    /** The process has ended in order. */
    void leave() {
        isGone = true;
        process.kill();
    }

    /** Closes the client and checks that it ends; the workers' operations end with it. */
    void close(final Runnable closed) {
        isClosing = true;
        final long startNs = simulation.world.nowNs();
        final long pausedBeforeNs = pausedNs();
        closeReport = process.engine().close(Duration.ofSeconds(1));
        simulation.whenClosed(this, startNs, pausedBeforeNs, closed);
    }

    /** What a client keeps has limits. */
    void check(final long nowNs) {
        for (final SimWorker worker : workers) {
            worker.check(nowNs);
        }
        // An attempt is out until every node it was sent to has answered; each node has a limit of what it owes.
        final SimPlan plan = simulation.plan;
        final int attemptsMax = plan.nodeCount * plan.nodeInFlightMax + workers.size();
        if (process.engine().attemptsOut() > attemptsMax) {
            simulation
                    .violate(name() + " has " + process.engine().attemptsOut() + " attempts out, over " + attemptsMax);
        }
        redlock().nodes().forEach(node -> {
            if (node.debtLength() > simulation.plan.debtMax) {
                simulation.violate(name() + " keeps " + node.debtLength() + " releases for " + node);
            }
        });
    }
}
