package dev.redlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeCluster;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.ToDoubleFunction;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The meters for Micrometer: a scrape of Prometheus, several registries and clients, and hostile registries. */
@Timeout(60)
@Tag("jdk")
class RedlockMetricsTest extends VirtualTest {

    private static final int ACQUIRE_METERS = 8 * 5;

    private final PrometheusMeterRegistry prometheus = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final SimpleMeterRegistry simple = new SimpleMeterRegistry();

    /** The lines of a scrape with their values, without comments. */
    private Map<String, Double> scrape() {
        return prometheus.scrape()
                .lines()
                .filter(line -> !line.startsWith("#"))
                .collect(Collectors.toMap(line -> line.substring(0, line.lastIndexOf(' ')),
                        line -> Double.valueOf(line.substring(line.lastIndexOf(' ') + 1)), (a, b) -> {
                            throw new AssertionError("two values for one line");
                        }, TreeMap::new));
    }

    /** Every request and reply takes 100 us. */
    private VirtualWorld.Client slowLinks() {
        return slowWorld(3);
    }

    private static void assertValue(double expected, Map<String, Double> lines, String line) {
        assertEquals(expected, lines.getOrDefault(line, Double.NEGATIVE_INFINITY), 1e-9, () -> line + " in " + lines);
    }

    /** Asserts a value that is rounded up to the end of its bucket. */
    private static void assertRounded(double expected, Map<String, Double> lines, String line) {
        double value = lines.getOrDefault(line, Double.NEGATIVE_INFINITY);
        assertTrue(value >= expected && value <= expected * 33 / 32 + 2e-6, () -> line + " in " + lines);
    }

    private static double held(MeterRegistry registry) {
        return registry.get("redlock.leases.held").gauge().value();
    }

    private static double acquired(MeterRegistry registry) {
        return registry.get("redlock.acquire").tag("outcome", "ACQUIRED").functionTimer().count();
    }

    // ---- names, tags and values -------------------------------------------------------------------------------------

    @Test
    void aScrapeOfPrometheusHasTheLocksOfTheClient() {
        VirtualWorld.Client client = slowLinks();
        new RedlockMetrics(client.redlock(), Tags.of("client", "shop")).bindTo(prometheus);
        release(lease(client));
        eachNode(node -> node.delay(() -> 1_500_000));
        Lease held = lease(client);
        acquire(client, options().waitUpTo(Duration.ofMillis(100)));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(Duration.ofMillis(100)));
        world.settle();
        Map<String, Double> lines = scrape();
        String acquired = "{client=\"shop\",outcome=\"ACQUIRED\"}";
        assertValue(2, lines, "redlock_acquire_seconds_count" + acquired);
        assertValue(0.0032, lines, "redlock_acquire_seconds_sum" + acquired);
        assertRounded(0.0002, lines, percentile("ACQUIRED", "0.5"));
        assertRounded(0.003, lines, percentile("ACQUIRED", "0.95"));
        assertRounded(0.003, lines, percentile("ACQUIRED", "0.99"));
        assertRounded(0.003, lines, percentile("ACQUIRED", "1"));
        assertValue(1, lines, "redlock_acquire_seconds_count{client=\"shop\",outcome=\"TIMED_OUT\"}");
        assertValue(0.1, lines, "redlock_acquire_seconds_sum{client=\"shop\",outcome=\"TIMED_OUT\"}");
        assertTrue(lines.get(percentile("CLOSED", "1")).isNaN(), lines::toString);
        assertValue(1, lines, "redlock_acquire_waiting{client=\"shop\"}");
        assertValue(1, lines, "redlock_leases_held{client=\"shop\"}");
        assertValue(1, lines, "redlock_releases_total{client=\"shop\",outcome=\"RELEASED\"}");
        assertValue(client.redlock().counters().commandCount(), lines, "redlock_commands_total{client=\"shop\"}");
        assertTrue(client.redlock().counters().commandCount() >= 9, "two locks and a release over three nodes");
        assertTrue(lines.get("redlock_attempts_failed_total{client=\"shop\",reason=\"CONTENDED\"}") >= 1,
                lines::toString);
        get(waiting);
        release(held);
    }

    private static String percentile(String outcome, String phi) {
        return "redlock_acquire_percentile_seconds{client=\"shop\",outcome=\"" + outcome + "\",phi=\"" + phi + "\"}";
    }

    @Test
    void aScrapeHasBucketsThatClientsCanAddUp() {
        VirtualWorld.Client client = slowLinks();
        new RedlockMetrics(client.redlock()).bindTo(prometheus);
        release(lease(client));
        eachNode(node -> node.delay(() -> 1_400_000));
        release(lease(client));
        Map<String, Double> lines = scrape();
        assertValue(0, lines, "redlock_acquire_within_total{le=\"0.0002\"}");
        assertValue(1, lines, "redlock_acquire_within_total{le=\"0.0005\"}");
        assertValue(1, lines, "redlock_acquire_within_total{le=\"0.002\"}");
        assertValue(2, lines, "redlock_acquire_within_total{le=\"0.005\"}");
        assertValue(2, lines, "redlock_acquire_within_total{le=\"30\"}");
        assertValue(2, lines, "redlock_acquire_within_total{le=\"+Inf\"}");
    }

    @Test
    void aScrapeHasTheNodes() {
        VirtualWorld.Client client = slowLinks();
        new RedlockMetrics(client.redlock()).bindTo(prometheus);
        Lease lease = lease(client);
        VirtualWorld.Client other = client();
        new RedlockMetrics(other.redlock(), Tags.of("client", "other")).bindTo(simple);
        acquire(other, options());
        node(0).redis().failNext("SET", "OOM command not allowed", 1);
        acquire(other, options());
        node(2).crash();
        world.runMs(5);
        Map<String, Double> lines = scrape();
        assertValue(1, lines, "redlock_node_ready{node=\"node-0:1\"}");
        assertValue(0, lines, "redlock_node_ready{node=\"node-2:1\"}");
        assertValue(1, lines, "redlock_node_disconnects_total{node=\"node-2:1\"}");
        assertValue(1, lines, "redlock_node_votes_total{node=\"node-0:1\",vote=\"GRANTED\"}");
        assertValue(0.0002, lines, "redlock_node_round_trip_seconds{node=\"node-0:1\"}");
        assertValue(0, lines, "redlock_node_failing_seconds{node=\"node-0:1\"}");
        assertEquals(1, simple.get("redlock.node.errors").tag("node", "node-0:1").functionCounter().count());
        assertEquals(1, simple.get("redlock.node.votes")
                .tags("node", "node-0:1", "vote", "REFUSED")
                .functionCounter()
                .count());
        release(lease);
        lines = scrape();
        assertValue(1, lines, "redlock_node_releases_undelivered{node=\"node-2:1\"}");
        node(2).restart(false);
        world.runMs(3_000);
        assertValue(1, scrape(), "redlock_node_quarantined{node=\"node-2:1\"}");
    }

    @Test
    void aScrapeHasLostLeasesAndWakeups() {
        VirtualWorld.Client client = slowLinks();
        VirtualWorld.Client other = client();
        new RedlockMetrics(other.redlock()).bindTo(prometheus);
        world.runMs(2_000);
        Lease lease = lease(client);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().waitUpTo(Duration.ofSeconds(60)));
        world.runMs(20);
        release(lease);
        acquired(get(waiting));
        extend(get(waiting).lease(), TTL);
        node(0).redis().clockJump(3_600_000);
        node(1).redis().clockJump(3_600_000);
        world.runMs(2_000);
        Map<String, Double> lines = scrape();
        assertValue(1, lines, "redlock_leases_lost_total{state=\"LOST\"}");
        assertValue(0, lines, "redlock_leases_lost_total{state=\"EXPIRED\"}");
        assertValue(1, lines, "redlock_extensions_total");
        assertValue(1, lines, "redlock_node_clock_jumps_total{node=\"node-0:1\"}");
        assertTrue(lines.get("redlock_wakeups_total{kind=\"WOKEN\"}") >= 1, lines::toString);
        assertTrue(lines.containsKey("redlock_wakeups_total{kind=\"SPURIOUS\"}"), lines::toString);
        assertTrue(lines.containsKey("redlock_wakeups_total{kind=\"BACKSTOP\"}"), lines::toString);
    }

    @Test
    void aScrapeHasRetainedLocks() {
        VirtualWorld.Client client = slowLinks();
        VirtualWorld.Client other = client();
        new RedlockMetrics(client.redlock()).bindTo(prometheus);
        world.runMs(2_000);
        assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, options().retain(TTL)))));
        assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, options().retain(TTL)))));
        Map<String, Double> lines = scrape();
        assertValue(1, lines, "redlock_retained");
        assertValue(1, lines, "redlock_retained_grants_total");
        acquire(other, options());
        world.runMs(5);
        lines = scrape();
        assertValue(0, lines, "redlock_retained");
        assertValue(1, lines, "redlock_retained_ended_total{cause=\"REVOKED\"}");
        assertValue(0, lines, "redlock_retained_ended_total{cause=\"EXPIRED\"}");
        assertValue(1, lines, "redlock_retained_revocation_seconds_count");
        assertValue(0.000_2, lines, "redlock_retained_revocation_seconds_sum");
    }

    /** Names of locks would make a series for each, and passwords would be published. */
    @Test
    void tagsHaveNoNamesOfLocksAndNoSecrets() {
        world = new VirtualWorld(3);
        String[] addresses = new String[3];
        for (int i = 0; i < 3; i++) {
            addresses[i] = "redis://user:secret@node-" + i + ":1";
        }
        VirtualWorld.Client client = client(new RedlockContext().nodes(addresses));
        new RedlockMetrics(client.redlock()).bindTo(prometheus);
        acquire(client, options());
        String text = prometheus.scrape();
        assertTrue(text.contains("node=\"node-0:1\""), text);
        assertFalse(text.contains("secret"), text);
        assertFalse(text.contains("user"), text);
        assertFalse(text.contains("orders"), text);
    }

    /** Its masters come and go, and a series of a meter stays. */
    @Test
    void aClusterIsOneNodeWithItsConfiguredAddress() {
        try (Redlock redlock = Redlock.connect("redis-cluster://user:secret@127.0.0.1:1,127.0.0.1:2", "127.0.0.1:3")) {
            new RedlockMetrics(redlock).bindTo(simple);
            Set<String> nodes = simple.find("redlock.node.ready")
                    .gauges()
                    .stream()
                    .map(gauge -> gauge.getId().getTag("node"))
                    .collect(Collectors.toSet());
            assertEquals(Set.of("redis-cluster://127.0.0.1:1,127.0.0.1:2", "127.0.0.1:3"), nodes);
        }
    }

    /** Prometheus takes a lower value for a restart, and counts all of it again. */
    @Test
    void noCountOfAClusterFallsWhenItsMastersChange() {
        world = new VirtualWorld(4);
        FakeCluster cluster = new FakeCluster();
        FakeCluster.Member first = cluster.add(node(0).redis(), "node-0", 1).own(0, 8_191);
        cluster.add(node(1).redis(), "node-1", 1).own(8_192, 16_383);
        FakeCluster.Member replica = cluster.add(node(2).redis(), "node-2", 1);
        VirtualWorld.Client client = client(new RedlockContext().nodes("redis-cluster://node-0:1", "node-3:1"));
        new RedlockMetrics(client.redlock()).bindTo(simple);
        for (int i = 0; i < 200; i++) {
            release(acquired(get(client.redlock().acquireAsync("orders/" + i, options()))));
        }
        node(0).redis().clockJump(20_000);
        world.runMs(3_000);
        node(0).crash();
        world.runMs(1_000);
        String cluster0 = "redis-cluster://node-0:1";
        Map<Meter.Id, Double> before = counts();
        assertEquals(200, count("redlock.node.votes", cluster0));
        assertEquals(1, count("redlock.node.clock.jumps", cluster0));
        assertEquals(1, count("redlock.node.disconnects", cluster0));
        cluster.failOver(first, replica, false);
        for (int i = 0; i < 60; i++) {
            world.runMs(500);
            counts().forEach((id, value) -> assertTrue(value >= before.get(id), () -> id + " " + value));
        }
        assertEquals(List.of("node-1:1", "node-2:1", "node-3:1"),
                client.redlock().nodes().stream().map(NodeStatus::address).sorted().toList());
        assertEquals(200, count("redlock.node.votes", cluster0));
        assertEquals(1, count("redlock.node.clock.jumps", cluster0));
    }

    private Map<Meter.Id, Double> counts() {
        return simple.getMeters()
                .stream()
                .filter(FunctionCounter.class::isInstance)
                .collect(Collectors.toMap(Meter::getId, meter -> ((FunctionCounter) meter).count()));
    }

    private double count(String name, String node) {
        return simple.get(name).tag("node", node).functionCounters().stream().mapToDouble(FunctionCounter::count).sum();
    }

    @Test
    void keptLocksCountAsHeld() {
        VirtualWorld.Client client = slowLinks();
        new RedlockMetrics(client.redlock()).bindTo(simple);
        release(acquired(acquire(client, options().holdAtLeast(Duration.ofSeconds(1)))));
        assertEquals(1, held(simple));
        assertEquals(1, simple.get("redlock.releases").tag("outcome", "KEPT").functionCounter().count());
        world.runMs(1_100);
        assertEquals(0, held(simple));
    }

    // ---- several registries and clients -----------------------------------------------------------------------------

    @Test
    void bindingTwiceAddsNothing() {
        VirtualWorld.Client client = slowLinks();
        RedlockMetrics metrics = new RedlockMetrics(client.redlock());
        metrics.bindTo(simple);
        List<Meter> meters = simple.getMeters();
        try (LogLines log = new LogLines()) {
            metrics.bindTo(simple);
            assertEquals(List.of(), log.with("another client"));
        }
        assertEquals(meters.size(), simple.getMeters().size());
        metrics.unbindFrom(simple);
        assertEquals(List.of(), simple.getMeters());
    }

    @Test
    void twoRegistriesHaveTheSameValues() {
        VirtualWorld.Client client = slowLinks();
        RedlockMetrics metrics = new RedlockMetrics(client.redlock());
        metrics.bindTo(simple);
        release(lease(client));
        metrics.bindTo(prometheus);
        release(lease(client));
        assertEquals(2, acquired(simple));
        assertEquals(2, acquired(prometheus));
        metrics.unbindFrom(simple);
        assertEquals(List.of(), simple.getMeters());
        release(lease(client));
        assertEquals(3, acquired(prometheus));
    }

    @Test
    void timesCountFromTheFirstRegistryOn() {
        VirtualWorld.Client client = slowLinks();
        release(lease(client));
        new RedlockMetrics(client.redlock()).bindTo(simple);
        assertEquals(0, acquired(simple));
        assertEquals(1, simple.get("redlock.releases").tag("outcome", "RELEASED").functionCounter().count());
    }

    @Test
    void theMetersOfAClosedClientKeepTheirValues() {
        VirtualWorld.Client client = slowLinks();
        new RedlockMetrics(client.redlock()).bindTo(simple);
        lease(client);
        CompletableFuture<CloseReport> closed = client.engine().close(Duration.ofMillis(100));
        get(closed);
        new RedlockMetrics(client.redlock()).bindTo(prometheus);
        for (MeterRegistry registry : List.of(simple, prometheus)) {
            assertEquals(1, acquired(registry));
            assertEquals(0, held(registry));
            assertEquals(0, registry.get("redlock.acquire.waiting").gauge().value());
            assertEquals(0, registry.get("redlock.node.ready").tag("node", "node-0:1").gauge().value());
        }
    }

    @Test
    void anotherClientNeedsOtherTagsOrTheEndOfTheFirst() {
        VirtualWorld.Client client = slowLinks();
        VirtualWorld.Client other = client();
        RedlockMetrics first = new RedlockMetrics(client.redlock());
        RedlockMetrics second = new RedlockMetrics(other.redlock());
        first.bindTo(simple);
        Lease lease = lease(client);
        try (LogLines log = new LogLines()) {
            second.bindTo(simple);
            List<String> lines = log.with("another client");
            assertEquals(1, lines.size(), lines::toString);
            int count = simple.getMeters().size();
            assertTrue(lines.get(0).startsWith(count + " of " + count + " meters"), lines::toString);
            new RedlockMetrics(other.redlock(), Tags.of("client", "b")).bindTo(simple);
            assertEquals(1, log.with("another client").size(), "with other tags");
        }
        second.unbindFrom(simple);
        assertEquals(1, simple.get("redlock.leases.held")
                .tags(Tags.empty())
                .gauges()
                .stream()
                .mapToDouble(Gauge::value)
                .sum());
        first.unbindFrom(simple);
        second.bindTo(simple);
        assertEquals(0, simple.get("redlock.leases.held").gauges().stream().mapToDouble(Gauge::value).sum());
        release(lease);
    }

    @Test
    void aLogThatThrowsLosesNoMeter() {
        VirtualWorld.Client client = slowLinks();
        VirtualWorld.Client other = client();
        new RedlockMetrics(client.redlock()).bindTo(simple);
        simple.remove(simple.get("redlock.leases.held").gauge());
        RedlockMetrics second = new RedlockMetrics(other.redlock());
        List<String> tried = new ArrayList<>();
        Logger log = Logger.getLogger("dev.redlock");
        Level level = log.getLevel();
        log.setLevel(Level.WARNING);
        log.setFilter(line -> {
            tried.add(line.getMessage());
            throw new IllegalStateException("from the log");
        });
        try {
            second.bindTo(simple);
        } finally {
            log.setFilter(null);
            log.setLevel(level);
        }
        assertEquals(1, tried.size(), tried::toString);
        second.unbindFrom(simple);
        assertEquals(0, simple.find("redlock.leases.held").gauges().size(), "the second client had added it");
    }

    /** An application need not keep the binder. */
    @Test
    void theMetersLiveAsLongAsTheClient() {
        VirtualWorld.Client client = slowLinks();
        RedlockMetrics metrics = new RedlockMetrics(client.redlock());
        metrics.bindTo(simple);
        WeakReference<RedlockMetrics> reference = new WeakReference<>(metrics);
        metrics = null;
        while (reference.get() != null) {
            System.gc();
        }
        Lease lease = lease(client);
        assertEquals(1, held(simple));
        assertEquals(1, acquired(simple));
        release(lease);
    }

    // ---- hostile registries -----------------------------------------------------------------------------------------

    @Test
    void aRegistryThatThrowsKeepsNothingAndHarmsNoLock() {
        VirtualWorld.Client client = slowLinks();
        MeterRegistry hostile = new SimpleMeterRegistry() {
            @Override
            protected <T> Gauge newGauge(Meter.Id id, T obj, ToDoubleFunction<T> value) {
                throw new IllegalStateException("from the registry");
            }
        };
        RedlockMetrics metrics = new RedlockMetrics(client.redlock());
        assertThrows(IllegalStateException.class, () -> metrics.bindTo(hostile));
        assertEquals(List.of(), hostile.getMeters());
        release(lease(client));
        metrics.bindTo(simple);
        assertEquals(1, acquired(simple), "the hostile registry started the recording");
        assertEquals(ACQUIRE_METERS, simple.getMeters()
                .stream()
                .filter(meter -> meter.getId().getTag("outcome") != null
                        && meter.getId().getName().startsWith("redlock.acquire"))
                .count());
    }

    @Test
    void aRegistryThatBlocksDelaysNoLock() throws InterruptedException {
        VirtualWorld.Client client = slowLinks();
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch free = new CountDownLatch(1);
        MeterRegistry blocking = new SimpleMeterRegistry() {
            @Override
            protected <T> Gauge newGauge(Meter.Id id, T obj, ToDoubleFunction<T> value) {
                entered.countDown();
                try {
                    free.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                return super.newGauge(id, obj, value);
            }
        };
        Thread binder = new Thread(() -> new RedlockMetrics(client.redlock()).bindTo(blocking));
        binder.start();
        entered.await();
        release(lease(client));
        free.countDown();
        binder.join();
        assertTrue(acquired(blocking) == 1, "recorded while the registry blocked");
    }

    @Test
    void nullsAreNamed() {
        VirtualWorld.Client client = slowLinks();
        Refusal.ofNull("client is null: give the one to measure", () -> new RedlockMetrics(null));
        Refusal.ofNull("tags are null: give none or some", () -> new RedlockMetrics(client.redlock(), null));
        Refusal.ofNull("registry is null: give the one that publishes the meters",
                () -> new RedlockMetrics(client.redlock()).bindTo(null));
    }
}
