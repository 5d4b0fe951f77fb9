package dev.redlock.jmh.lock;

import dev.redlock.AcquireCallback;
import dev.redlock.AcquireOptions;
import dev.redlock.AcquireOutcome;
import dev.redlock.Lease;
import dev.redlock.NodeState;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.ReleaseCallback;
import dev.redlock.ReleaseOutcome;
import dev.redlock.ResourceKey;
import dev.redlock.loadtest.rig.SendSchedule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/**
 * Cycles of this project's client on resources of their own: a lane for each resource acquires and releases it again
 * and again. A failure, or a node that does not vote, goes to the failure handler.
 *
 * @threading any thread; lanes are added before the first start
 */
final class CycleLanes implements CycleLoad {
    /** The options of every acquire, without fencing. */
    static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();

    private static final long READY_LIMIT_MS = 10_000;
    private static final long END_LIMIT_MS = 10_000;
    private static final long POLL_MS = 2;

    private final Redlock redlock;
    private final AcquireOptions acquireOptions;
    private final Consumer<String> failures;
    private final List<Lane> lanes = new ArrayList<>();
    /** Votes that each node had lost at the start: a node may have been away while nothing was under way. */
    private final long[] lostBefore;
    private CountDownLatch ended;
    private SendSchedule schedule;
    private final AtomicBoolean isDealing = new AtomicBoolean();
    /** The lane at which the next search for an idle one starts. */
    private int cursor;
    private volatile long begun;
    private volatile boolean isStopping;

    CycleLanes(Redlock redlock, AcquireOptions acquireOptions, Consumer<String> failures) {
        this.redlock = redlock;
        this.acquireOptions = acquireOptions;
        this.failures = failures;
        this.lostBefore = new long[redlock.nodes().size()];
    }

    /** Waits until all nodes vote. */
    static void awaitReady(Redlock redlock) throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(READY_LIMIT_MS);
        for (NodeStatus node : redlock.nodes()) {
            while (node.state() != NodeState.READY) {
                if (deadlineNs - System.nanoTime() < 0) {
                    throw new IllegalStateException(node.address() + " is not ready: " + node.problem());
                }
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
            }
        }
    }

    /**
     * Finds the same number of resources for each event loop. The resources of one loop lie among those of the others,
     * as in a program.
     *
     * @param names   names of resources by their number
     * @param onFound gets the thread of the loop, and the resource
     */
    static void share(Redlock redlock, int loops, int resourcesPerLoop,
            IntFunction<String> names, BiConsumer<Thread, String> onFound) {
        Map<Thread, Integer> counts = new HashMap<>();
        for (int i = 0, left = loops * resourcesPerLoop; left > 0; i++) {
            String name = names.apply(i);
            Thread loop = loopOf(redlock, name);
            if (counts.merge(loop, 1, Integer::sum) <= resourcesPerLoop) {
                onFound.accept(loop, name);
                left--;
            }
        }
    }

    /** Finds the loop of a resource: the one that calls back. */
    private static Thread loopOf(Redlock redlock, String name) {
        CompletableFuture<Thread> loop = new CompletableFuture<>();
        redlock.acquire(redlock.key(name), OPTIONS, redlock.newLease(), outcome -> {
            if (outcome.isAcquired()) {
                outcome.lease().release((lease, released) -> loop.complete(Thread.currentThread()));
            } else {
                loop.completeExceptionally(new IllegalStateException(outcome.toString()));
            }
        });
        return loop.join();
    }

    /** Adds a lane whose steps follow each other in callbacks. */
    void add(String resource, CycleRecorder recorder) {
        lanes.add(new Lane(resource, recorder));
    }

    /** Adds a lane with a thread of its own that blocks. */
    void addBlocking(String resource, CycleRecorder recorder) {
        lanes.add(new BlockingLane(resource, recorder));
    }

    @Override
    public void begin(SendSchedule sendSchedule) {
        schedule = sendSchedule;
        ended = new CountDownLatch(lanes.size());
        cursor = 0;
        begun = 0;
        isStopping = false;
        for (int i = 0; i < lostBefore.length; i++) {
            lostBefore[i] = lostVotes(redlock.nodes().get(i));
        }
        for (Lane lane : lanes) {
            if (schedule == null) {
                lane.start();
            } else {
                lane.isIdle = true;
            }
        }
    }

    /**
     * Called by the pacer, and by a loop at the end of a cycle, when it is awake. Only one of them deals at a time.
     */
    @Override
    public boolean onDue(long nowNs) {
        long due = schedule.due(nowNs);
        if (begun < due && isDealing.compareAndSet(false, true)) {
            try {
                deal(due, nowNs);
            } finally {
                isDealing.set(false);
            }
        }
        return begun < due;
    }

    private void deal(long due, long nowNs) {
        while (begun < due && !isStopping) {
            Lane lane = takeIdle();
            if (lane == null) {
                return;
            }
            long intendedNs = schedule.intendedNs(begun);
            lane.recorder.onStarted(intendedNs, nowNs);
            begun++;
            lane.next(intendedNs);
        }
    }

    private Lane takeIdle() {
        for (int i = 0; i < lanes.size(); i++) {
            Lane lane = lanes.get(cursor);
            cursor = cursor + 1 == lanes.size() ? 0 : cursor + 1;
            if (lane.isIdle) {
                lane.isIdle = false;
                return lane;
            }
        }
        return null;
    }

    private long idleCount() {
        return lanes.stream().filter(lane -> lane.isIdle).count();
    }

    @Override
    public long unfinished(long nowNs) {
        return schedule.due(nowNs) - begun + lanes.size() - idleCount();
    }

    @Override
    public void end(boolean isDropping) throws InterruptedException {
        isStopping = true;
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(END_LIMIT_MS);
        while (ended.getCount() > idleCount()) {
            if (deadlineNs - System.nanoTime() < 0) {
                failures.accept("cycles have not ended in " + TimeUnit.MILLISECONDS.toSeconds(END_LIMIT_MS) + " s");
                return;
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MS);
        }
        for (int i = 0; i < lostBefore.length; i++) {
            NodeStatus node = redlock.nodes().get(i);
            long lost = lostVotes(node) - lostBefore[i];
            if (lost > 0) {
                failures.accept(node.address() + ": " + lost + " votes were lost: " + node);
            }
        }
    }

    private static long lostVotes(NodeStatus node) {
        return node.refusedCount() + node.errorCount() + node.disconnectCount();
    }

    /**
     * One resource, acquired and released again and again.
     *
     * @threading any thread; one step at a time
     */
    private class Lane {
        final ResourceKey key;
        final CycleRecorder recorder;
        private final Lease lease;
        private final AcquireCallback onAcquired = this::onAcquired;
        private final ReleaseCallback onReleased = this::onReleased;
        private long startNs;
        /** In an open loop: nothing is in flight here. */
        volatile boolean isIdle;

        Lane(String resource, CycleRecorder recorder) {
            this.key = redlock.key(resource);
            this.recorder = recorder;
            this.lease = redlock.newLease();
        }

        void start() {
            next(System.nanoTime());
        }

        final void next(long atNs) {
            startNs = atNs;
            redlock.acquire(key, acquireOptions, lease, onAcquired);
        }

        /** A lane that has failed stays out: what failed at once would fail again and again. */
        private void fail(String what) {
            failures.accept(what);
            ended.countDown();
        }

        private void onAcquired(AcquireOutcome outcome) {
            if (!outcome.isAcquired()) {
                fail(outcome.toString());
                return;
            }
            recorder.onAcquired(startNs);
            lease.release(onReleased);
        }

        private void onReleased(Lease released, ReleaseOutcome outcome) {
            if (outcome != ReleaseOutcome.RELEASED) {
                fail(outcome.toString());
                return;
            }
            long nowNs = recorder.onReleased(startNs);
            if (schedule != null) {
                isIdle = true;
                onDue(nowNs);
            } else if (isStopping) {
                ended.countDown();
            } else {
                next(nowNs);
            }
        }
    }

    /**
     * A lane of the blocking form, on a thread of its own.
     *
     * @threading any thread; one step at a time
     */
    private final class BlockingLane extends Lane implements Runnable {
        BlockingLane(String resource, CycleRecorder recorder) {
            super(resource, recorder);
        }

        @Override
        void start() {
            Thread thread = new Thread(this, "lane");
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void run() {
            try {
                while (!isStopping) {
                    long startNs = System.nanoTime();
                    try (Lease held = redlock.acquire(key, acquireOptions).lease()) {
                        recorder.onAcquired(startNs);
                        if (!held.isHeld()) {
                            failures.accept("not held: " + held);
                            return;
                        }
                    }
                    recorder.onReleased(startNs);
                }
            } catch (InterruptedException | IllegalStateException e) {
                failures.accept(e.toString());
            } finally {
                ended.countDown();
            }
        }
    }
}
