package dev.redlock.sim;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.ToIntFunction;

/**
 * One run in virtual time in which workers acquire plain locks again and again while faults happen. After every event
 * at most one worker holds each lock. Then all faults stop, until no key is left. The same seed gives the same run.
 */
abstract class WorkersSimulation {

    static final long MS = 1_000_000;

    final SplittableRandom random;
    final VirtualWorld world;
    final List<Worker> workers = new ArrayList<>();
    /** Null if the run is not written as steps. */
    StepTrace steps;
    private final Duration waitTime;
    private final List<String> violations = new ArrayList<>();
    private final Map<String, Integer> counts = new TreeMap<>();
    private boolean isOver;

    /** Acquires one lock again and again, holds it, and sometimes extends it. */
    final class Worker {
        private final VirtualWorld.Client client;
        private final String resource;
        private final int ttlMs;
        private Lease lease;
        private boolean isEnded;

        Worker(VirtualWorld.Client client, String resource, int ttlMs) {
            this.client = client;
            this.resource = resource;
            this.ttlMs = ttlMs;
        }

        private void run(Runnable task) {
            if (!isOver && !isEnded) {
                client.call(task);
            }
        }

        void acquire() {
            AcquireOptions options = AcquireOptions.ofTtl(Duration.ofMillis(ttlMs)).waitUpTo(waitTime);
            run(() -> client.redlock().acquireAsync(resource, options).thenAccept(this::onOutcome));
        }

        private void onOutcome(AcquireOutcome outcome) {
            count(outcome.kind().name());
            if (outcome.isAcquired()) {
                lease = outcome.lease();
                after(random.nextInt(ttlMs), random.nextBoolean() ? this::extend : this::release);
            } else {
                after(1 + random.nextInt(100), this::acquire);
            }
        }

        private void extend() {
            run(() -> lease.extendAsync(Duration.ofMillis(ttlMs)).thenAccept(extended -> {
                count("EXTEND_" + extended);
                after(random.nextInt(ttlMs), this::release);
            }));
        }

        private void release() {
            run(() -> lease.releaseAsync().thenAccept(released -> {
                count("RELEASE_" + released);
                after(1 + random.nextInt(50), this::acquire);
            }));
        }

        /** Its client ends. The lease stays. */
        void end() {
            isEnded = true;
        }

        private boolean isInside() {
            return lease != null && lease.isHeld();
        }

        @Override
        public String toString() {
            return client.name() + " of " + resource;
        }
    }

    /**
     * A run whose nodes have random versions.
     *
     * @param nodeCount may draw the number of nodes
     * @param waitMs    how long a worker waits for its lock
     */
    WorkersSimulation(long seed, ToIntFunction<SplittableRandom> nodeCount, int waitMs) {
        this.random = new SplittableRandom(seed);
        this.world = new VirtualWorld(nodeCount.applyAsInt(random));
        this.waitTime = Duration.ofMillis(waitMs);
        world.observer(this::check);
    }

    final void setUpNodes() {
        FakeRedis.Kind[] kinds = FakeRedis.Kind.values();
        for (FakeNode node : world.nodes()) {
            node.redis().kind(kinds[random.nextInt(kinds.length)]);
            usualDelay(node);
        }
    }

    private void usualDelay(FakeNode node) {
        node.delay(() -> 10_000 + random.nextInt(2_000) * 1_000L);
    }

    final FakeNode randomNode() {
        return world.node(random.nextInt(world.nodes().size()));
    }

    /** Makes a node slow for a second. */
    final void slowDown(FakeNode node) {
        node.delay(() -> random.nextInt(100_000) * 1_000L);
        after(1_000, () -> usualDelay(node));
    }

    final void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    /** Runs a task later, unless the work is over by then. */
    final void after(int ms, Runnable task) {
        world.after(ms * MS, () -> {
            if (!isOver) {
                task.run();
            }
        });
    }

    private void check() {
        for (int i = 0; i < workers.size(); i++) {
            for (int j = 0; j < i; j++) {
                Worker one = workers.get(j);
                Worker other = workers.get(i);
                if (one.resource.equals(other.resource) && one.isInside() && other.isInside()) {
                    violations.add("at " + world.nowNs() / MS + " ms: " + one + " and " + other);
                }
            }
        }
    }

    final void violate(String text) {
        violations.add(text);
    }

    private void scheduleFault() {
        after(nextFaultMs(), () -> {
            fault();
            scheduleFault();
        });
    }

    /** The time to the next fault. */
    abstract int nextFaultMs();

    abstract void fault();

    /** Ends the faults that last. */
    abstract void endFaults();

    /** Checks what is left at the end. */
    abstract void checkEnd();

    /** Runs for a time, and then without faults until no key is left. */
    final void run(int workMs, int quietMs) {
        scheduleFault();
        world.runMs(workMs);
        isOver = true;
        endFaults();
        world.runMs(quietMs);
        checkEnd();
        world.end();
    }

    final List<String> violations() {
        return violations;
    }

    final Map<String, Integer> counts() {
        return counts;
    }
}
