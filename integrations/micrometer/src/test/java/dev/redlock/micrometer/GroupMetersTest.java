package dev.redlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.redlock.AcquireOptions;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.ToDoubleFunction;
import java.util.logging.Level;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The meters of groups, which appear when a registry reads after the first acquisition of a group. */
@Timeout(60)
@Tag("jdk")
class GroupMetersTest extends VirtualTest {

    /** For each group: a timer for each outcome, 17 buckets, and the local grants. */
    private static final int METERS = 8 + 17 + 1;

    private final PrometheusMeterRegistry prometheus = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final SimpleMeterRegistry simple = new SimpleMeterRegistry();

    private static AcquireOptions grouped(String name) {
        return options().group(name);
    }

    private void cycle(VirtualWorld.Client client, String group) {
        release(acquired(acquire(client, grouped(group))));
    }

    /** Reads as a scrape does. */
    private static double groupCount(MeterRegistry registry) {
        return registry.get("redlock.groups").gauge().value();
    }

    private static List<Meter> meters(MeterRegistry registry) {
        return registry.getMeters()
                .stream()
                .filter(meter -> meter.getId().getName().startsWith("redlock.group."))
                .toList();
    }

    private static Set<String> groups(MeterRegistry registry) {
        return meters(registry).stream()
                .map(meter -> meter.getId().getTag("group"))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static double acquired(MeterRegistry registry, String group) {
        return registry.get("redlock.group.acquire")
                .tags("group", group, "outcome", "ACQUIRED")
                .functionTimer()
                .count();
    }

    private String scrape() {
        return prometheus.scrape();
    }

    private static void assertValue(double expected, String scrape, String line) {
        double value = scrape.lines()
                .filter(one -> one.startsWith(line + " "))
                .mapToDouble(one -> Double.parseDouble(one.substring(line.length())))
                .findFirst()
                .orElseThrow(() -> new AssertionError(line + " in " + scrape));
        assertEquals(expected, value, 1e-9, line);
    }

    // ---- names, tags and values -------------------------------------------------------------------------------------

    @Test
    void aScrapeAfterTheFirstAcquisitionHasItsGroup() {
        VirtualWorld.Client client = slowWorld(3);
        new RedlockMetrics(client.redlock(), Tags.of("client", "shop")).bindTo(prometheus);
        String before = scrape();
        assertValue(0, before, "redlock_groups{client=\"shop\"}");
        assertFalse(before.contains("redlock_group_"), before);
        cycle(client, "orders");
        acquired(acquire(client, options()));
        acquire(client, grouped("stock"));
        scrape();
        String lines = scrape();
        assertValue(2, lines, "redlock_groups{client=\"shop\"}");
        String orders = "{client=\"shop\",group=\"orders\",";
        assertValue(1, lines, "redlock_group_acquire_seconds_count" + orders + "outcome=\"ACQUIRED\"}");
        assertValue(0.0002, lines, "redlock_group_acquire_seconds_sum" + orders + "outcome=\"ACQUIRED\"}");
        assertValue(1, lines, "redlock_group_acquire_within_total" + orders + "le=\"0.0005\"}");
        assertValue(0, lines, "redlock_group_acquire_within_total" + orders + "le=\"0.0002\"}");
        assertValue(1, lines, "redlock_group_acquire_within_total" + orders + "le=\"+Inf\"}");
        assertValue(0, lines, "redlock_group_retained_grants_total{client=\"shop\",group=\"orders\"}");
        String stock = "{client=\"shop\",group=\"stock\",outcome=\"CONTENDED\"}";
        assertValue(1, lines, "redlock_group_acquire_seconds_count" + stock);
        assertValue(2, lines, "redlock_acquire_seconds_count{client=\"shop\",outcome=\"ACQUIRED\"}");
    }

    @Test
    void groupsBeforeTheBindingAppearAtOnce() {
        VirtualWorld.Client client = slowWorld(3);
        cycle(client, "orders");
        new RedlockMetrics(client.redlock()).bindTo(simple);
        assertEquals(Set.of("orders"), groups(simple));
        assertEquals(METERS, meters(simple).size());
        assertEquals(1, acquired(simple, "orders"));
        cycle(client, "orders");
        assertEquals(2, acquired(simple, "orders"));
    }

    @Test
    void localGrantsHaveAMeter() {
        VirtualWorld.Client client = slowWorld(3);
        AcquireOptions retaining = grouped("orders").retain(TTL);
        assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, retaining))));
        assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, retaining))));
        new RedlockMetrics(client.redlock()).bindTo(simple);
        assertEquals(1, simple.get("redlock.group.retained.grants").tag("group", "orders").functionCounter().count());
        assertEquals(1, acquired(simple, "orders"));
    }

    @Test
    void namesThatHaveAnIdAddNoMetersWithoutEnd() {
        VirtualWorld.Client client = world(1);
        new RedlockMetrics(client.redlock()).bindTo(simple);
        for (int i = 0; i < 100; i++) {
            cycle(client, "order-" + i);
            groupCount(simple);
        }
        assertEquals(65, groupCount(simple));
        assertEquals(65, groups(simple).size());
        assertEquals(65 * METERS, meters(simple).size());
        assertEquals(36, acquired(simple, "other"));
    }

    // ---- several registries and clients -----------------------------------------------------------------------------

    @Test
    void unbindingRemovesGroupsAndAddsNoneLater() {
        VirtualWorld.Client client = slowWorld(3);
        cycle(client, "orders");
        RedlockMetrics metrics = new RedlockMetrics(client.redlock());
        metrics.bindTo(simple);
        Gauge gauge = simple.get("redlock.groups").gauge();
        cycle(client, "stock");
        assertEquals(2, gauge.value());
        assertEquals(Set.of("orders", "stock"), groups(simple));
        metrics.unbindFrom(simple);
        cycle(client, "late");
        assertEquals(3, gauge.value(), "a scrape that has begun before");
        assertEquals(List.of(), simple.getMeters());
        metrics.bindTo(simple);
        assertEquals(Set.of("late", "orders", "stock"), groups(simple));
    }

    @Test
    void aCompositeHasTheGroupsOfItsPart() {
        VirtualWorld.Client client = slowWorld(3);
        CompositeMeterRegistry composite = new CompositeMeterRegistry();
        composite.add(simple);
        composite.add(prometheus);
        new RedlockMetrics(client.redlock()).bindTo(composite);
        cycle(client, "orders");
        scrape();
        assertEquals(Set.of("orders"), groups(simple));
        assertEquals(1, acquired(simple, "orders"));
        assertValue(1, scrape(), "redlock_group_acquire_seconds_count{group=\"orders\",outcome=\"ACQUIRED\"}");
    }

    @Test
    void metersOfAnotherClientWithTheSameTagsStay() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        cycle(client, "orders");
        cycle(other, "orders");
        cycle(other, "orders");
        new RedlockMetrics(client.redlock()).bindTo(simple);
        RedlockMetrics second = new RedlockMetrics(other.redlock());
        try (LogLines log = new LogLines()) {
            second.bindTo(simple);
            assertEquals(1, log.with("another client").size());
        }
        assertEquals(1, acquired(simple, "orders"));
        second.unbindFrom(simple);
        assertEquals(METERS, meters(simple).size());
        new RedlockMetrics(other.redlock(), Tags.of("client", "other")).bindTo(prometheus);
        assertValue(2, scrape(),
                "redlock_group_acquire_seconds_count{client=\"other\",group=\"orders\",outcome=\"ACQUIRED\"}");
    }

    /** The registry refers to a group weakly, and the client keeps it. */
    @Test
    void theMetersLiveAsLongAsTheClient() {
        VirtualWorld.Client client = slowWorld(3);
        new RedlockMetrics(client.redlock()).bindTo(simple);
        cycle(client, "orders");
        groupCount(simple);
        WeakReference<Object> garbage = new WeakReference<>(new Object());
        while (garbage.get() != null) {
            System.gc();
        }
        cycle(client, "orders");
        assertEquals(2, acquired(simple, "orders"));
    }

    // ---- hostile registries -----------------------------------------------------------------------------------------

    @Test
    void aRegistryThatRejectsAGroupIsAskedOnceAndHarmsNoLock() {
        VirtualWorld.Client client = slowWorld(3);
        AtomicInteger rejected = new AtomicInteger();
        MeterRegistry hostile = new SimpleMeterRegistry() {
            @Override
            protected <T> FunctionCounter newFunctionCounter(Meter.Id id, T obj, ToDoubleFunction<T> count) {
                if (id.getName().startsWith("redlock.group.")) {
                    rejected.incrementAndGet();
                    throw new IllegalStateException("from the registry");
                }
                return super.newFunctionCounter(id, obj, count);
            }
        };
        RedlockMetrics metrics = new RedlockMetrics(client.redlock());
        metrics.bindTo(hostile);
        cycle(client, "orders");
        try (LogLines log = new LogLines()) {
            assertEquals(1, groupCount(hostile));
            assertEquals(1, groupCount(hostile));
            assertEquals(1, log.with(Level.WARNING, "has not taken all meters of the groups").size());
        }
        clearRecordedExceptions();
        assertEquals(1, rejected.get());
        cycle(client, "orders");
        metrics.unbindFrom(hostile);
        assertEquals(List.of(), hostile.getMeters());
    }

    /** A registry may read a new gauge at once. */
    @Test
    void aRegistryMayReadWhileItAdds() {
        VirtualWorld.Client client = slowWorld(3);
        cycle(client, "orders");
        MeterRegistry eager = new SimpleMeterRegistry() {
            @Override
            protected <T> FunctionCounter newFunctionCounter(Meter.Id id, T obj, ToDoubleFunction<T> count) {
                if (id.getName().startsWith("redlock.group.")) {
                    assertEquals(1, groupCount(this));
                }
                return super.newFunctionCounter(id, obj, count);
            }
        };
        new RedlockMetrics(client.redlock()).bindTo(eager);
        assertEquals(METERS, meters(eager).size());
    }

    @Test
    void aScrapeDoesNotWaitForAnotherOneThatAdds() throws InterruptedException {
        VirtualWorld.Client client = slowWorld(3);
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch free = new CountDownLatch(1);
        MeterRegistry blocking = new SimpleMeterRegistry() {
            @Override
            protected <T> FunctionCounter newFunctionCounter(Meter.Id id, T obj, ToDoubleFunction<T> count) {
                if (id.getName().startsWith("redlock.group.")) {
                    entered.countDown();
                    try {
                        free.await();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }
                return super.newFunctionCounter(id, obj, count);
            }
        };
        new RedlockMetrics(client.redlock()).bindTo(blocking);
        cycle(client, "orders");
        Gauge gauge = blocking.get("redlock.groups").gauge();
        BlockedCall<Double> first = new BlockedCall<>(gauge::value);
        entered.await();
        assertEquals(1, gauge.value(), "the second scrape");
        cycle(client, "orders");
        free.countDown();
        assertEquals(1.0, first.result());
        assertEquals(2, acquired(blocking, "orders"));
    }
}
