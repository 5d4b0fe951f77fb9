package dev.redlock.loadtest.commit;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.driver.BlockingLock;
import dev.redlock.loadtest.driver.Drivers;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.LockSpec;
import dev.redlock.loadtest.driver.SessionSpec;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Scanner;
import java.util.stream.IntStream;

/**
 * What {@link CommitDriver} does for this project, for a driver of {@code compare}, with callers that block.
 *
 * @threading caller-confined; the cycles run in threads of their own
 */
final class PeerDriver {

    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration LIMIT = Duration.ofNanos(ClosedLoop.LIMIT_NS);

    /**
     * Runs until the end of standard input. It ends with its process, because a client may hang when it is closed.
     *
     * @param args the name of the driver, the processes of the nodes, and their addresses
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        PrintStream out = System.out;
        // Output of libraries must not mix with the figures.
        System.setOut(System.err);
        List<NodeAddress> nodes = Arrays.stream(args[2].split(",")).map(NodeAddress::parse).toList();
        LockSession session = Drivers.named(args[0]).open(SessionSpec.of(nodes, true));
        List<Lane> lanes = IntStream.range(0, ClosedLoop.LANES_MAX).mapToObj(i -> new Lane(session, i)).toList();
        // None of these clients has threads of such a name, so they have no figure of a loop.
        ClosedLoop loop = new ClosedLoop("redlock-", Arrays.stream(args[1].split(",")).map(Long::valueOf).toList());
        Scanner in = new Scanner(System.in);
        while (in.hasNext()) {
            String form = in.next();
            List<Lane> used = lanes.subList(0, in.nextInt());
            out.println(loop.measure(used, form, in.nextDouble(), () -> ""));
        }
        System.exit(0);
    }

    /** @threading caller-confined to the thread of its cycle */
    private static final class Lane implements ClosedLoop.Lane {
        private final BlockingLock lock;

        Lane(LockSession session, int number) {
            String name = String.format(Locale.ROOT, "peer:%08x:%04d", ProcessHandle.current().pid(), number);
            lock = BlockingLock.onCallingThread(session, LockSpec.of(name, TTL), LIMIT);
        }

        @Override
        public void begin() {
            throw new IllegalStateException("other clients are measured with callers that block");
        }

        @Override
        public void cycle() throws Exception {
            AcquireOutcome.Kind acquired = lock.acquire();
            if (acquired != AcquireOutcome.Kind.ACQUIRED) {
                throw new IllegalStateException("an acquire ended with " + acquired);
            }
            ReleaseOutcome released = lock.release();
            if (released != ReleaseOutcome.RELEASED) {
                throw new IllegalStateException("a release ended with " + released);
            }
        }
    }
}
