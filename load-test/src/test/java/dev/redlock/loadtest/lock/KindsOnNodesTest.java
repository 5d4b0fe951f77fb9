package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.rig.CostMeter;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The waits and the commands of each kind of lock on real nodes. With {@code -Dkinds.cycles=2000} it prints the figures
 * of the page on kinds of lock.
 */
@Timeout(180)
class KindsOnNodesTest {

    private static final Duration TTL = Duration.ofSeconds(20);
    private static final AcquireOptions WAITING = AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofSeconds(60));
    private static final int PHILOSOPHERS = 64;
    private static final int FORKS = 16;
    private static final int MEALS = Integer.getInteger("kinds.meals", 10);
    private static final int CYCLES = Integer.getInteger("kinds.cycles", 200);
    /** The number of commands is the same in each turn; only the figures need their median. */
    private static final int TURNS = CYCLES < 2_000 ? 1 : 5;
    private static final int REFUSALS = TURNS * 100;
    private static final int IN_FLIGHT = 64;
    private static final Pattern MSETEX_CALLS = Pattern.compile("cmdstat_msetex:calls=([0-9]+)");

    private static RedisNodes nodes() {
        return RequiredNodes.start(new RedisNodesContext().source(Source.PATH).count(3));
    }

    private static Redlock client(RedisNodes nodes) {
        return client(nodes, "");
    }

    /** A client with a user and a password, as in an address. */
    private static Redlock client(RedisNodes nodes, String login) {
        String[] addresses = nodes.nodes()
                .stream()
                .map(node -> "redis://" + login + node.address().toString().replaceFirst(".*@|redis://", ""))
                .toArray(String[]::new);
        return Redlock.connect(new RedlockContext().nodes(addresses)
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(2)));
    }

    /** Each takes two forks at once, in four clients: nobody waits for a neighbour that waits. */
    @Test
    void philosophersDineWithoutDeadlockOrStarvation() throws InterruptedException {
        try (RedisNodes nodes = nodes();
                Redlock a = client(nodes);
                Redlock b = client(nodes);
                Redlock c = client(nodes);
                Redlock d = client(nodes)) {
            List<Redlock> clients = List.of(a, b, c, d);
            AtomicInteger[] forks = IntStream.range(0, FORKS)
                    .mapToObj(i -> new AtomicInteger())
                    .toArray(AtomicInteger[]::new);
            Queue<Long> waits = new ConcurrentLinkedQueue<>();
            AtomicInteger overlaps = new AtomicInteger();
            List<Thread> threads = new ArrayList<>();
            long beganNs = System.nanoTime();
            for (int i = 0; i < PHILOSOPHERS; i++) {
                int seat = i;
                threads.add(new Thread(() -> dine(clients.get(seat % 4), seat % FORKS, forks, waits, overlaps)));
                threads.get(i).start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            long tookMs = (System.nanoTime() - beganNs) / 1_000_000;
            assertEquals(0, overlaps.get(), "a fork in two hands");
            assertEquals(PHILOSOPHERS * MEALS, waits.size(), "everybody dines");
            long[] sorted = waits.stream().mapToLong(Long::longValue).sorted().toArray();
            System.out.printf("philosophers: %d workers, %d resources, %d meals in %d ms: wait p50 %.1f ms, p99 %.1f"
                    + " ms, max %.1f ms%n", PHILOSOPHERS, FORKS, sorted.length, tookMs, sorted[sorted.length / 2] / 1e6,
                    sorted[sorted.length * 99 / 100] / 1e6, sorted[sorted.length - 1] / 1e6);
            for (Redlock client : clients) {
                System.out.printf("  client: %d contended attempts, %d woken, %d backstops, %d spurious pushes%n",
                        client.counters().contendedAttemptCount(), client.counters().wokenCount(),
                        client.counters().backstopCount(), client.counters().spuriousPushCount());
            }
        }
    }

    private static void dine(Redlock client, int left, AtomicInteger[] forks, Queue<Long> waits,
            AtomicInteger overlaps) {
        int right = (left + 1) % FORKS;
        ResourceKey both = client.keyOfAll(List.of("fork/" + left, "fork/" + right));
        try {
            for (int meal = 0; meal < MEALS; meal++) {
                long beganNs = System.nanoTime();
                AcquireOutcome outcome = client.acquire(both, WAITING);
                waits.add(System.nanoTime() - beganNs);
                try (Lease lease = outcome.lease()) {
                    boolean isAlone = forks[left].incrementAndGet() + forks[right].incrementAndGet() == 2;
                    overlaps.addAndGet(isAlone && lease.isHeld() ? 0 : 1);
                    Thread.yield();
                    forks[left].decrementAndGet();
                    forks[right].decrementAndGet();
                }
            }
        } catch (InterruptedException e) {
            throw new AssertionError("no interrupt is expected", e);
        }
    }

    /** One kind of lock in the table. */
    private record Kind(String name, int keys, AcquireOptions options) {
    }

    @Test
    void everyKindCostsOneCommandForEachNode() throws InterruptedException {
        AcquireOptions plain = AcquireOptions.ofTtl(TTL).tryOnce();
        List<Kind> kinds = List.of(new Kind("plain", 1, plain), new Kind("fenced", 1, plain.fenced()),
                new Kind("set of 2", 2, plain), new Kind("set of 8", 8, plain), new Kind("set of 64", 64, plain),
                new Kind("fenced set of 8", 8, plain.fenced()), new Kind("reader", 1, plain.forReading()),
                new Kind("writer", 1, plain.forWriting()), new Kind("fenced writer", 1, plain.forWriting().fenced()),
                new Kind("permit of 8", 1, plain.forPermitOf(8)));
        try (RedisNodes nodes = nodes(); Redlock client = client(nodes)) {
            for (int inFlight : new int[]{1, IN_FLIGHT}) {
                for (Kind kind : kinds) {
                    cycles(client, kind, inFlight);
                }
                double plainUs = 0;
                for (Kind kind : kinds) {
                    double[] us = new double[TURNS];
                    long commandsBefore = client.counters().commandCount();
                    for (int i = 0; i < us.length; i++) {
                        long before = serverNs(nodes);
                        cycles(client, kind, inFlight);
                        us[i] = (serverNs(nodes) - before) / 1e3 / CYCLES / 3;
                    }
                    double commands = (double) (client.counters().commandCount() - commandsBefore) / us.length / CYCLES;
                    Arrays.sort(us);
                    plainUs = kind.name().equals("plain") ? us[TURNS / 2] : plainUs;
                    System.out.printf(
                            "kinds, %d in flight, %s: %.2f us of each server for a cycle (%.2f - %.2f), %.2f"
                                    + " x plain; %.2f commands%n",
                            inFlight, kind.name(), us[TURNS / 2], us[0], us[TURNS - 1], us[TURNS / 2] / plainUs,
                            commands);
                    assertEquals(6, commands, 0.2, "an acquire and a release for each of three nodes");
                }
            }
        }
    }

    /** The second client may not run MSETEX, so it takes its sets by script: both take turns on the same servers. */
    @Test
    void setsAreTakenByMsetexWhereTheServerHasIt() throws InterruptedException {
        AcquireOptions plain = AcquireOptions.ofTtl(TTL).tryOnce();
        List<Kind> kinds = List.of(new Kind("plain", 1, plain), new Kind("set of 2", 2, plain),
                new Kind("set of 8", 8, plain), new Kind("set of 64", 64, plain));
        try (RedisNodes nodes = nodes()) {
            boolean hasMsetex = ((List<?>) nodes.node(0).call("COMMAND", "INFO", "msetex")).get(0) != null;
            Assumptions.assumeTrue(hasMsetex, "the server does not have this command: MSETEX");
            nodes.nodes()
                    .forEach(node -> node.call("ACL", "SETUSER", "scripts", "on", ">scripts", "~*", "+@all",
                            "-msetex"));
            long setsByCommand = 0;
            try (Redlock byCommand = client(nodes); Redlock byScript = client(nodes, "scripts:scripts@")) {
                for (int inFlight : new int[]{1, IN_FLIGHT}) {
                    double plainUs = 0;
                    for (Kind kind : kinds) {
                        double[][] us = new double[2][TURNS];
                        long before = msetexCount(nodes);
                        cycles(byCommand, kind, inFlight);
                        cycles(byScript, kind, inFlight);
                        for (int i = 0; i < us[0].length; i++) {
                            us[0][i] = cycleUs(nodes, byCommand, kind, inFlight);
                            us[1][i] = cycleUs(nodes, byScript, kind, inFlight);
                        }
                        Arrays.sort(us[0]);
                        Arrays.sort(us[1]);
                        // The first attempts of a turn for plain locks may be one MSETEX, too.
                        setsByCommand += kind.keys() == 1 ? 0 : msetexCount(nodes) - before;
                        plainUs = kind.keys() == 1 ? us[0][TURNS / 2] : plainUs;
                        System.out.printf(
                                "msetex, %d in flight, %s: %.2f us of each server for a cycle (%.2f - %.2f),"
                                        + " %.2f x plain; by script %.2f us (%.2f - %.2f), %.2f x plain%n",
                                inFlight,
                                kind.name(), us[0][TURNS / 2], us[0][0], us[0][TURNS - 1], us[0][TURNS / 2] / plainUs,
                                us[1][TURNS / 2], us[1][0], us[1][TURNS - 1], us[1][TURNS / 2] / plainUs);
                    }
                }
            }
            assertEquals(2L * (kinds.size() - 1) * (1 + TURNS) * CYCLES, setsByCommand, "each set of the first client");
        }
    }

    private static long msetexCount(RedisNodes nodes) {
        Matcher calls = MSETEX_CALLS.matcher(nodes.node(0).call("INFO", "commandstats").toString());
        return calls.find() ? Long.parseLong(calls.group(1)) : 0;
    }

    private static double cycleUs(RedisNodes nodes, Redlock client, Kind kind, int inFlight)
            throws InterruptedException {
        long before = serverNs(nodes);
        cycles(client, kind, inFlight);
        return (serverNs(nodes) - before) / 1e3 / CYCLES / 3;
    }

    /** A first attempt, and a search that finds no free permit. */
    @Test
    void aRefusedPermitCostsOneSearch() throws InterruptedException {
        try (RedisNodes nodes = nodes(); Redlock holder = client(nodes); Redlock client = client(nodes)) {
            for (int count : new int[]{1, 8, 64, 256}) {
                AcquireOptions permit = AcquireOptions.ofTtl(TTL).forPermitOf(count).tryOnce();
                String resource = "semaphore/" + count;
                for (int i = 0; i < count; i++) {
                    assertTrue(holder.acquire(resource, permit).isAcquired());
                }
                ResourceKey key = client.key(resource);
                Cost cost = new Cost(nodes, client);
                for (int i = 0; i < cost.us.length; i++) {
                    cost.start();
                    for (int attempt = 0; attempt < REFUSALS; attempt++) {
                        assertEquals(AcquireOutcome.Kind.CONTENDED, client.acquire(key, permit).kind());
                    }
                    cost.end(i);
                }
                cost.print("refused permit of " + count);
                assertEquals(7, cost.commandsEach(), 0.2,
                        "an acquire and its rollback on three nodes, and a search on one");
            }
        }
    }

    /** Seven of eight permits are in use: a first attempt is mostly refused, and a search finds the free one. */
    @Test
    void aPermitInAnotherSlotCostsASearchAndASecondAttempt() throws InterruptedException {
        AcquireOptions permit = AcquireOptions.ofTtl(TTL).forPermitOf(8).tryOnce();
        try (RedisNodes nodes = nodes(); Redlock holder = client(nodes); Redlock client = client(nodes)) {
            for (int i = 0; i < 7; i++) {
                assertTrue(holder.acquire("semaphore", permit).isAcquired());
            }
            ResourceKey key = client.key("semaphore");
            Cost cost = new Cost(nodes, client);
            for (int i = 0; i < cost.us.length; i++) {
                cost.start();
                for (int attempt = 0; attempt < REFUSALS; attempt++) {
                    client.acquire(key, permit).lease().release();
                }
                cost.end(i);
            }
            cost.print("permit of 8 with one free");
            // The first permit is chosen at random: the mean of so many attempts varies by some tenths.
            assertEquals(13 * 7 / 8.0 + 6 / 8.0, cost.commandsEach(), 1.2,
                    "an acquire and its rollback on three nodes, a search on one, an acquire and a release on three");
        }
    }

    /** The next holder of the only permit waits in another process, and the release wakes it. */
    @Test
    void aWokenWaiterForAPermit() throws Exception {
        AcquireOptions permit = AcquireOptions.ofTtl(TTL).forPermitOf(1).waitUpTo(TTL);
        try (RedisNodes nodes = nodes(); Redlock one = client(nodes); Redlock two = client(nodes)) {
            Cost cost = new Cost(nodes, one, two);
            Lease held = one.acquire("semaphore", permit).lease();
            Redlock waiter = two;
            for (int i = 0; i < cost.us.length; i++) {
                cost.start();
                for (int handoff = 0; handoff < REFUSALS; handoff++) {
                    long refused = waiter.counters().contendedAttemptCount();
                    CompletableFuture<AcquireOutcome> next = waiter.acquireAsync("semaphore", permit)
                            .toCompletableFuture();
                    while (waiter.counters().contendedAttemptCount() == refused) {
                        Thread.onSpinWait();
                    }
                    held.release();
                    held = next.get(TTL.toMillis(), TimeUnit.MILLISECONDS).lease();
                    waiter = waiter == one ? two : one;
                }
                cost.end(i);
            }
            cost.print("handoff of the only permit to another client");
            held.release();
            assertEquals(0, one.counters().backstopCount() + two.counters().backstopCount(), "all by pushes");
        }
    }

    /** The CPU time of all servers and the commands of clients, for each of {@link #REFUSALS} attempts. */
    private static final class Cost {
        private final double[] us = new double[TURNS];
        private final RedisNodes nodes;
        private final List<Redlock> clients;
        private long serverNs;
        private long commandsBefore;
        /** The turn with the fewest counts: the looks of the monitor at the nodes fall into the others. */
        private long commandsMin = Long.MAX_VALUE;

        Cost(RedisNodes nodes, Redlock... clients) {
            this.nodes = nodes;
            this.clients = List.of(clients);
        }

        void start() {
            serverNs = serverNs(nodes);
            commandsBefore = commandCount();
        }

        void end(int turn) {
            us[turn] = (serverNs(nodes) - serverNs) / 1e3 / REFUSALS;
            commandsMin = Math.min(commandsMin, commandCount() - commandsBefore);
        }

        private long commandCount() {
            return clients.stream().mapToLong(client -> client.counters().commandCount()).sum();
        }

        double commandsEach() {
            return (double) commandsMin / REFUSALS;
        }

        void print(String what) {
            double[] sorted = us.clone();
            Arrays.sort(sorted);
            System.out.printf("kinds, %s: %.1f us of all servers together (%.1f - %.1f), %.2f commands%n", what,
                    sorted[TURNS / 2], sorted[0], sorted[TURNS - 1], commandsEach());
        }
    }

    private static long serverNs(RedisNodes nodes) {
        return CostMeter.mainThreadsNs(nodes.nodes().stream().map(RedisNode::pid).map(pid -> pid.getAsLong()).toList());
    }

    /** Acquires and releases different locks, with many cycles in progress at a time. */
    private static void cycles(Redlock client, Kind kind, int inFlight) throws InterruptedException {
        AtomicInteger left = new AtomicInteger(CYCLES);
        CountDownLatch done = new CountDownLatch(inFlight);
        for (int lane = 0; lane < inFlight; lane++) {
            int number = lane;
            ResourceKey key = client.keyOfAll(IntStream.range(0, kind.keys())
                    .mapToObj(i -> "cycle/" + number + "/" + i)
                    .toList());
            cycle(client, key, kind.options(), client.newLease(), left, done);
        }
        assertTrue(done.await(60, TimeUnit.SECONDS), "all cycles end");
    }

    private static void cycle(Redlock client, ResourceKey key, AcquireOptions options, Lease lease, AtomicInteger left,
            CountDownLatch done) {
        if (left.getAndDecrement() <= 0) {
            done.countDown();
            return;
        }
        client.acquire(key, options, lease, outcome -> {
            if (!outcome.isAcquired()) {
                throw new AssertionError(outcome.toString());
            }
            lease.release((released, how) -> cycle(client, key, options, lease, left, done));
        });
    }
}
