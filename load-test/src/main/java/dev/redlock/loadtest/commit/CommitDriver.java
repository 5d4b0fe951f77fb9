package dev.redlock.loadtest.commit;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Scanner;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * The client's side of {@link VersusCommitCommand}, which compiles this source against each of two states of the
 * project. So it uses the part of the public API that both have. It reads lines with the form of the calls, the cycles
 * in flight and the seconds, runs a closed loop for each, and prints its figures. There is one event loop.
 *
 * @threading caller-confined; the cycles run on the event loop, or in threads of their own
 */
public final class CommitDriver {

    private final Redlock redlock;
    private final ClosedLoop loop;
    private final List<Lane> lanes;
    private final AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(30));

    private CommitDriver(Redlock redlock, List<Long> serverPids) {
        this.redlock = redlock;
        loop = new ClosedLoop("redlock-", serverPids);
        lanes = IntStream.range(0, ClosedLoop.LANES_MAX).mapToObj(Lane::new).toList();
    }

    /**
     * Runs until the end of standard input.
     *
     * @param args the command mode, the largest batch of releases, the processes of the nodes, and their addresses
     * @throws IOException          if /proc has no figures
     * @throws InterruptedException if interrupted
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        RedlockContext context = new RedlockContext().nodes(args[3].split(","))
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5))
                .commands(CommandMode.valueOf(args[0]))
                .releaseBatchMax(Integer.parseInt(args[1]))
                .eventLoops(1);
        try (Redlock redlock = Redlock.connect(context); Scanner in = new Scanner(System.in)) {
            // The type of the state differs.
            for (int i = 0; !redlock.nodes().stream().allMatch(n -> n.state().toString().equals("READY")); i++) {
                if (i == TimeUnit.NANOSECONDS.toMillis(ClosedLoop.LIMIT_NS)) {
                    throw new IllegalStateException(redlock.nodes().toString());
                }
                TimeUnit.MILLISECONDS.sleep(1);
            }
            CommitDriver driver = new CommitDriver(redlock,
                    Arrays.stream(args[2].split(",")).map(Long::valueOf).toList());
            while (in.hasNext()) {
                String form = in.next();
                List<Lane> used = driver.lanes.subList(0, in.nextInt());
                System.out.println(driver.loop.measure(used, form, in.nextDouble(), driver::problem));
            }
        }
    }

    private String problem() {
        long lost = redlock.nodes().stream().mapToLong(CommitDriver::lostVotes).sum();
        return lost == 0 ? "" : lost + " votes lost, " + redlock.nodes();
    }

    private static long lostVotes(NodeStatus node) {
        return node.refusedCount() + node.errorCount() + node.disconnectCount();
    }

    /** @threading event-loop-confined once it has begun, or caller-confined to the thread of its cycle */
    private final class Lane implements ClosedLoop.Lane {
        private final AcquireCallback onAcquired = this::onAcquired;
        private final ReleaseCallback onReleased = this::onReleased;
        private final Lease lease = redlock.newLease();
        private final ResourceKey key;
        private long startNs;

        Lane(int number) {
            // The last release of another contender may be on its way to a slow node.
            key = redlock.key(String.format(Locale.ROOT, "commit:%08x:%04d", ProcessHandle.current().pid(), number));
        }

        @Override
        public void begin() {
            startNs = System.nanoTime();
            redlock.acquire(key, options, lease, onAcquired);
        }

        @Override
        public void cycle() throws InterruptedException {
            redlock.acquire(key, options).lease().close();
        }

        private void onAcquired(AcquireOutcome outcome) {
            if (outcome.isAcquired()) {
                lease.release(onReleased);
            } else {
                loop.fail(outcome.toString());
            }
        }

        private void onReleased(Lease released, ReleaseOutcome outcome) {
            loop.record(startNs);
            if (outcome != ReleaseOutcome.RELEASED) {
                loop.fail(outcome.toString());
            } else if (loop.isRunning()) {
                begin();
            } else {
                loop.end();
            }
        }
    }
}
