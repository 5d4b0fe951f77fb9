package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.testing.Await;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lists of real nodes that change under load, client by client: all three nodes, and then from three to five. */
@Timeout(120)
class JointListsOnNodesTest {

    private static final int SEATS = 3;
    private static final int RESOURCES = 4;
    private static final Duration TTL = Duration.ofMillis(1500);
    private static final Duration NODE_TIMEOUT = Duration.ofSeconds(1);
    /** The longest ttl and the allowed drift of one percent and 2 ms. */
    private static final long WAIT_MS = TTL.toMillis() * 101 / 100 + 2;
    /** Of a garbage collection, a busy machine, and one round trip. */
    private static final long ROUND_TRIP_MS = 500;

    private final AtomicReferenceArray<Redlock> seats = new AtomicReferenceArray<>(SEATS);
    private final AtomicInteger[] holders = new AtomicInteger[RESOURCES];
    private final AtomicInteger acquiredCount = new AtomicInteger();
    private final AtomicLong longestNs = new AtomicLong();
    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean isOver = new AtomicBoolean();
    private final List<Thread> threads = new ArrayList<>();
    private RedisNodes nodes;

    @BeforeEach
    void start() {
        nodes = RequiredNodes.start(Source.PATH, 8);
    }

    @AfterEach
    void stop() {
        isOver.set(true);
        for (int i = 0; i < SEATS; i++) {
            if (seats.get(i) != null) {
                seats.get(i).close();
            }
        }
        if (nodes != null) {
            nodes.close();
        }
    }

    private String[] addresses(int... indexes) {
        String[] addresses = new String[indexes.length];
        for (int i = 0; i < indexes.length; i++) {
            addresses[i] = nodes.addresses()[indexes[i]];
        }
        return addresses;
    }

    private Redlock client(String[] present, String[] next) {
        RedlockContext context = new RedlockContext().nodes(present)
                .maxTtl(TTL)
                .nodeTimeout(NODE_TIMEOUT)
                .restartGuard(RestartGuardMode.OFF);
        Redlock client = Redlock.connect(next.length == 0 ? context : context.nextNodes(next));
        Await.until(() -> "all nodes ready: " + client.nodes(),
                () -> client.nodes().stream().allMatch(node -> node.state() == NodeState.READY));
        return client;
    }

    /** Starts another client in each place, while the others lock; the old one is closed when its last lock is free. */
    private void rollOut(String[] present, String... next) {
        for (int i = 0; i < SEATS; i++) {
            Redlock before = seats.getAndSet(i, client(present, next));
            awaitMore(50);
            if (before != null) {
                before.close();
            }
        }
    }

    private void awaitMore(int more) {
        int wanted = acquiredCount.get() + more;
        Await.until(() -> acquiredCount + " of " + wanted + ", failures " + failures,
                () -> acquiredCount.get() >= wanted || !failures.isEmpty());
    }

    private void change(String[] present, String[] next) {
        rollOut(present, next);
        long endNs = System.nanoTime() + WAIT_MS * 1_000_000;
        Await.until(() -> "the locks of the old list have expired", () -> System.nanoTime() - endNs >= 0);
        rollOut(next);
    }

    private void startLoad() {
        for (int r = 0; r < RESOURCES; r++) {
            holders[r] = new AtomicInteger();
            for (int i = 0; i < SEATS; i++) {
                int resource = r;
                int seat = i;
                Thread thread = new Thread(() -> lockAgainAndAgain(seat, resource));
                threads.add(thread);
                thread.start();
            }
        }
    }

    private void lockAgainAndAgain(int seat, int resource) {
        while (!isOver.get()) {
            try {
                lock(seats.get(seat), resource);
            } catch (InterruptedException | RuntimeException e) {
                failures.add(String.valueOf(e));
            }
        }
    }

    /** One attempt: it ends within a node timeout, whether it gets the lock or not. */
    private void lock(Redlock client, int resource) throws InterruptedException {
        long startNs = System.nanoTime();
        AcquireOutcome outcome = client.acquire("joint-" + resource, AcquireOptions.ofTtl(TTL).tryOnce());
        longestNs.accumulateAndGet(System.nanoTime() - startNs, Math::max);
        if (!outcome.isAcquired()) {
            if (outcome.kind() == AcquireOutcome.Kind.NO_QUORUM) {
                failures.add(outcome.toString());
            }
            return;
        }
        Lease lease = outcome.lease();
        if (holders[resource].incrementAndGet() > 1) {
            failures.add("two holders of " + resource);
        }
        acquiredCount.incrementAndGet();
        holders[resource].decrementAndGet();
        lease.release();
    }

    @Test
    void listsChangeUnderLoad() throws InterruptedException {
        String[] first = addresses(0, 1, 2);
        rollOutFirst(first);
        startLoad();
        awaitMore(200);
        change(first, addresses(3, 1, 2));
        change(addresses(3, 1, 2), addresses(3, 4, 2));
        change(addresses(3, 4, 2), addresses(3, 4, 5));
        for (int i = 0; i < 3; i++) {
            nodes.node(i).kill();
        }
        awaitMore(200);
        change(addresses(3, 4, 5), addresses(3, 4, 5, 6, 7));
        nodes.node(3).kill();
        nodes.node(4).kill();
        awaitMore(200);
        isOver.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("joint lists under load: " + acquiredCount + " locks, the longest attempt took "
                + longestNs.get() / 1_000_000 + " ms");
        assertEquals(List.of(), List.copyOf(failures));
        assertTrue(longestNs.get() <= (NODE_TIMEOUT.toMillis() + ROUND_TRIP_MS) * 1_000_000,
                () -> longestNs.get() / 1_000_000 + " ms");
    }

    private void rollOutFirst(String[] first) {
        for (int i = 0; i < SEATS; i++) {
            seats.set(i, client(first, new String[0]));
        }
    }
}
