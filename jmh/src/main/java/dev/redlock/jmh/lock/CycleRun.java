package dev.redlock.jmh.lock;

import dev.redlock.AcquireCallback;
import dev.redlock.AcquireOptions;
import dev.redlock.AcquireOutcome;
import dev.redlock.CommandMode;
import dev.redlock.Lease;
import dev.redlock.LoopClient;
import dev.redlock.NodeState;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ReleaseCallback;
import dev.redlock.ReleaseOutcome;
import dev.redlock.ResourceKey;
import dev.redlock.RestartGuardMode;
import dev.redlock.TransportKind;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine;

/**
 * Cycles of this project's client, for as long as asked, and one line of figures: the client's side of a comparison
 * with {@link YardstickRun}, which does the same over bare sockets. Nothing is audited and nothing but the cycle is
 * done, so that the CPU time is the client's own.
 *
 * @threading caller-confined
 */
@Command(name = "cycle-run", mixinStandardHelpOptions = true, description = {
    "Lock cycles on nodes: a closed loop, or with --rate an open one, begun by a thread outside the client. An outcome "
            + "that is not as wanted, or a node that does not vote, fails the run.",
    "With --in-process no bytes leave the process: what is left is the client, and whether its loops hold each other "
            + "up."})
public final class CycleRun implements Callable<Integer> {

    private static final String LOOP_NAME_PREFIX = "redlock-";
    private static final long READY_LIMIT_MS = 10_000;
    private static final long END_LIMIT_MS = 10_000;
    private static final long POLL_MS = 2;

    @Mixin
    private CycleOptions options;

    @Option(names = "--transport", defaultValue = "AUTO", description = "${COMPLETION-CANDIDATES}")
    private TransportKind transport;

    @Option(names = "--commands", defaultValue = "AUTO", description = "${COMPLETION-CANDIDATES}")
    private CommandMode commands;

    @Option(names = "--release-batch", defaultValue = "64", description = "releases in one script call, at most")
    private int releaseBatchMax;

    @Option(names = "--loops", defaultValue = "1", description = "event loops; each gets its share of the cycles in "
            + "flight (${DEFAULT-VALUE})")
    private int loops;

    @Option(names = "--blocking", description = "one thread per outstanding cycle, blocking form")
    private boolean isBlocking;

    @Option(names = "--fenced", description = "with fencing tokens")
    private boolean isFenced;

    @Option(names = "--spin-us", defaultValue = "0", description = "how long a blocked caller spins (${DEFAULT-VALUE})")
    private int spinMicroseconds;

    @Spec
    private CommandSpec spec;

    private final InputStream turns;
    private CycleMeter meter;

    CycleRun(final InputStream turns) {
        this.turns = turns;
        // picocli fills the other fields.
    }

    /**
     * Runs.
     *
     * @param args see {@code --help}
     */
    public static void main(final String[] args) {
        System.exit(commandLine().execute(args));
    }

    /**
     * Its command line, for parsing without running.
     *
     * @return a new one
     */
    public static CommandLine commandLine() {
        return commandLine(System.in);
    }

    static CommandLine commandLine(final InputStream turns) {
        return new CommandLine(new CycleRun(turns)).setCaseInsensitiveEnumValuesAllowed(true);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        options.check();
        options.require(!options.isOpen() || !isBlocking, "--rate and --blocking exclude each other: leave one out");
        options.require(!options.isInProcess() || !isFenced && transport == TransportKind.AUTO,
                "--in-process has no fencing counters and no choice of transport: leave --fenced and --transport out");
        try {
            options.startNodes();
            return measure();
        } finally {
            options.endNodes();
        }
    }

    private int measure() throws IOException, InterruptedException {
        if (options.isInProcess()) {
            return measureInProcess();
        }
        try (Redlock redlock = Redlock.connect(context())) {
            return measure(redlock);
        }
    }

    private int measure(final Redlock redlock) throws IOException, InterruptedException {
        awaitReady(redlock);
        meter = new CycleMeter(options, "redlock", LOOP_NAME_PREFIX);
        return meter.run(new Lanes(redlock), turns, spec.commandLine().getOut());
    }

    /** Each loop has nodes of its own, which a resource that stays with its loop cannot tell from common ones. */
    private int measureInProcess() throws IOException, InterruptedException {
        final List<LoopTransport> transports = IntStream.range(0, loops).mapToObj(i -> new LoopTransport()).toList();
        final int code;
        try (LoopClient client = new LoopClient(context(), transports)) {
            code = measure(client.redlock());
        }
        final int left = transports.stream().mapToInt(LoopTransport::heldCount).sum();
        if (left > 0) {
            spec.commandLine().getOut().println("FAIL: " + left + " locks are left on the nodes");
        }
        return left > 0 ? 1 : code;
    }

    private RedlockContext context() {
        return new RedlockContext().nodes(options.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5))
                .connectTimeoutMs((int) READY_LIMIT_MS)
                .transport(transport)
                .idlePolicy(options.idlePolicy())
                .commands(commands)
                .releaseBatchMax(releaseBatchMax)
                .eventLoops(loops)
                .blockingSpin(Duration.ofNanos(spinMicroseconds * 1000L));
    }

    /** All nodes vote from the first cycle on, as they do for the yardstick. */
    static void awaitReady(final Redlock redlock) throws InterruptedException {
        final long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(READY_LIMIT_MS);
        for (final NodeStatus node : redlock.nodes()) {
            while (node.state() != NodeState.READY) {
                if (deadlineNs - System.nanoTime() < 0) {
                    throw new IllegalStateException(node.address() + " is not ready: " + node.problem());
                }
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
            }
        }
    }

    /** Which loop serves a resource: it shows where the callback runs. */
    static Thread loopOf(final Redlock redlock, final String name, final AcquireOptions plain) {
        final CompletableFuture<Thread> loop = new CompletableFuture<>();
        redlock.acquire(redlock.key(name), plain, redlock.newLease(), outcome -> {
            if (outcome.isAcquired()) {
                outcome.lease().release((lease, released) -> loop.complete(Thread.currentThread()));
            } else {
                loop.completeExceptionally(new IllegalStateException(outcome.toString()));
            }
        });
        return loop.join();
    }

    /**
     * All locks of a run.
     *
     * @threading any thread
     */
    private final class Lanes implements CycleLoad {
        final Redlock redlock;
        final Lane[] lanes = new Lane[options.outstanding()];
        /** Votes that each node had lost when it began: a node may have been away while nothing was under way. */
        final long[] lostBefore;
        CountDownLatch ended;
        SendSchedule schedule;
        final AtomicBoolean isDealing = new AtomicBoolean();
        /** Where the search for an idle lane goes on. */
        int cursor;
        volatile long begun;
        volatile boolean isStopping;

        Lanes(final Redlock redlock) throws InterruptedException {
            this.redlock = redlock;
            lostBefore = new long[redlock.nodes().size()];
            final AcquireOptions plain = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();
            final List<String> resources = loops == 1 ? resources() : resourcesOfAllLoops(plain);
            for (int i = 0; i < lanes.length; i++) {
                lanes[i] = new Lane(this, resources.get(i), isFenced ? plain.fenced() : plain);
            }
        }

        private List<String> resources() {
            return IntStream.range(0, lanes.length).mapToObj(options::resource).toList();
        }

        /** The same number of resources for each loop. */
        private List<String> resourcesOfAllLoops(final AcquireOptions plain) {
            final int share = (lanes.length + loops - 1) / loops;
            final Map<Thread, Integer> counts = new LinkedHashMap<>();
            final List<String> names = new ArrayList<>();
            for (int i = 0; names.size() < share * loops; i++) {
                final String name = options.resource(i);
                if (counts.merge(loopOf(redlock, name, plain), 1, Integer::sum) <= share) {
                    names.add(name);
                }
            }
            return names;
        }

        @Override
        public void begin(final SendSchedule sendSchedule) {
            schedule = sendSchedule;
            ended = new CountDownLatch(lanes.length);
            cursor = 0;
            begun = 0;
            isStopping = false;
            for (int i = 0; i < lostBefore.length; i++) {
                lostBefore[i] = lostVotes(redlock.nodes().get(i));
            }
            for (final Lane lane : lanes) {
                if (schedule == null) {
                    lane.start();
                } else {
                    lane.isIdle = true;
                }
            }
        }

        /**
         * Called by the pacer, and by a loop whenever a cycle has ended: it is awake then and need not be woken. Only
         * one of them deals at a time.
         */
        @Override
        public boolean onDue(final long nowNs) {
            final long due = schedule.due(nowNs);
            if (begun < due && isDealing.compareAndSet(false, true)) {
                try {
                    deal(due, nowNs);
                } finally {
                    isDealing.set(false);
                }
            }
            return begun < due;
        }

        private void deal(final long due, final long nowNs) {
            while (begun < due && !isStopping) {
                final Lane lane = takeIdle();
                if (lane == null) {
                    return;
                }
                final long intendedNs = schedule.intendedNs(begun);
                CycleTimes.record(meter.times().of(meter.phaseOf(intendedNs)).lates(), nowNs - intendedNs);
                begun++;
                lane.next(intendedNs);
            }
        }

        private Lane takeIdle() {
            for (int i = 0; i < lanes.length; i++) {
                final Lane lane = lanes[cursor];
                cursor = cursor + 1 == lanes.length ? 0 : cursor + 1;
                if (lane.isIdle) {
                    lane.isIdle = false;
                    return lane;
                }
            }
            return null;
        }

        private long idleCount() {
            return Arrays.stream(lanes).filter(lane -> lane.isIdle).count();
        }

        @Override
        public long unfinished(final long nowNs) {
            return schedule.due(nowNs) - begun + lanes.length - idleCount();
        }

        @Override
        public void end(final boolean isDropping) throws InterruptedException {
            isStopping = true;
            final long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(END_LIMIT_MS);
            while (ended.getCount() > idleCount()) {
                if (deadlineNs - System.nanoTime() < 0) {
                    meter.fail("cycles have not ended in " + TimeUnit.MILLISECONDS.toSeconds(END_LIMIT_MS) + " s");
                    return;
                }
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
            }
            for (int i = 0; i < lostBefore.length; i++) {
                final NodeStatus node = redlock.nodes().get(i);
                final long lost = lostVotes(node) - lostBefore[i];
                if (lost > 0) {
                    meter.fail(node.address() + ": " + lost + " votes were lost: " + node);
                }
            }
        }

        private static long lostVotes(final NodeStatus node) {
            return node.refusedCount() + node.errorCount() + node.disconnectCount();
        }
    }

    /**
     * One lock, taken and given back again and again.
     *
     * @threading any thread; one step at a time
     */
    private final class Lane implements Runnable {
        final Lanes lanes;
        final Redlock redlock;
        final AcquireOptions acquireOptions;
        final ResourceKey key;
        final Lease lease;
        final AcquireCallback onAcquired = this::onAcquired;
        final ReleaseCallback onReleased = this::onReleased;
        PhaseTimes times;
        long startNs;
        /** In an open loop: nothing is in flight here. */
        volatile boolean isIdle;

        Lane(final Lanes lanes, final String resource, final AcquireOptions acquireOptions) {
            this.lanes = lanes;
            this.redlock = lanes.redlock;
            this.acquireOptions = acquireOptions;
            this.key = redlock.key(resource);
            this.lease = redlock.newLease();
        }

        void start() {
            if (isBlocking) {
                final Thread thread = new Thread(this, "lane");
                thread.setDaemon(true);
                thread.start();
            } else {
                next(System.nanoTime());
            }
        }

        @Override
        public void run() {
            try {
                while (!lanes.isStopping) {
                    startNs = System.nanoTime();
                    try (Lease held = redlock.acquire(key, acquireOptions).lease()) {
                        final long nowNs = System.nanoTime();
                        CycleTimes.record(times().acquires(), nowNs - startNs);
                        if (!held.isHeld()) {
                            meter.fail("not held: " + held);
                            return;
                        }
                    }
                    final long nowNs = System.nanoTime();
                    CycleTimes.record(times().cycles(), nowNs - startNs);
                }
            } catch (final InterruptedException | IllegalStateException e) {
                meter.fail(e.toString());
            } finally {
                lanes.ended.countDown();
            }
        }

        private CycleTimes times() {
            if (times == null) {
                times = meter.times();
            }
            return times.of(meter.phaseOf(startNs));
        }

        void next(final long nowNs) {
            startNs = nowNs;
            redlock.acquire(key, acquireOptions, lease, onAcquired);
        }

        /** A lane that has failed stays out: what failed at once would fail again and again. */
        private void fail(final String what) {
            meter.fail(what);
            lanes.ended.countDown();
        }

        private void onAcquired(final AcquireOutcome outcome) {
            if (!outcome.isAcquired()) {
                fail(outcome.toString());
                return;
            }
            final long nowNs = System.nanoTime();
            CycleTimes.record(times().acquires(), nowNs - startNs);
            lease.release(onReleased);
        }

        private void onReleased(final Lease released, final ReleaseOutcome outcome) {
            if (outcome != ReleaseOutcome.RELEASED) {
                fail(outcome.toString());
                return;
            }
            final long nowNs = System.nanoTime();
            CycleTimes.record(times().cycles(), nowNs - startNs);
            if (lanes.schedule != null) {
                isIdle = true;
                lanes.onDue(nowNs);
            } else if (lanes.isStopping) {
                lanes.ended.countDown();
            } else {
                next(nowNs);
            }
        }
    }
}
