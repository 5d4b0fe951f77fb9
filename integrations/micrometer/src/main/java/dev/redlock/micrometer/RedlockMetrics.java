package dev.redlock.micrometer;

import dev.redlock.NodeCounters;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockCounters;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RetentionEnd;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * Adds the meters of a client to registries of Micrometer. The page on telemetry lists their names and tags. No tag
 * contains the name of a lock, a user or a password. The meters of a {@linkplain Redlock#groups group} appear after its
 * first acquisition, with the next scrape or publication.
 *
 * <pre>{@code
 * new RedlockMetrics(redlock).bindTo(registry);
 * }</pre>
 *
 * <p>The meters are functions that a registry calls when it publishes. An event loop calls no registry, so a registry
 * that throws or blocks delays no lock. The first registry of a client starts the recording of
 * {@link Redlock#acquireTimes acquire times}, which costs each event loop up to 56 KiB and ends with the client.
 *
 * <p>The meters live as long as the {@link Redlock} object, which registries refer to weakly. After its close they keep
 * their last values. Meters of two clients with the same tags are the same for a registry, so give each client tags of
 * its own.
 *
 * @threading any thread
 */
public final class RedlockMetrics implements MeterBinder {

    private static final System.Logger LOG = System.getLogger("dev.redlock");
    private static final double[] SHARES = {0.5, 0.95, 0.99, 1};

    private final Redlock redlock;
    private final Tags tags;
    private final Map<MeterRegistry, Binding> bound = new IdentityHashMap<>();

    /** Meters without tags of their own, for the only client of a registry. */
    public RedlockMetrics(Redlock redlock) {
        this(redlock, Tags.empty());
    }

    /**
     * Meters with tags.
     *
     * @param tags    of all its meters, different for each client of a registry
     */
    public RedlockMetrics(Redlock redlock, Iterable<Tag> tags) {
        this.redlock = Objects.requireNonNull(redlock, "client is null: give the one to measure");
        this.tags = Tags.of(Objects.requireNonNull(tags, "tags are null: give none or some"));
    }

    /**
     * Adds the meters to a registry, unless this object has added them already. Meters of another client with the same
     * tags stay, and a warning is logged. If the registry throws, it keeps none of these meters.
     */
    @Override
    public synchronized void bindTo(MeterRegistry registry) {
        Objects.requireNonNull(registry, "registry is null: give the one that publishes the meters");
        if (bound.containsKey(registry)) {
            return;
        }
        Binding binding = new Binding(redlock, registry, tags);
        try {
            binding.addAll();
        } catch (Throwable e) {
            binding.removeAll();
            throw e;
        }
        binding.warnOfOthers();
        bound.put(registry, binding);
    }

    /**
     * Removes the meters that this object has added to a registry.
     *
     * @param registry that has them, or not
     */
    public synchronized void unbindFrom(MeterRegistry registry) {
        Binding binding = bound.remove(registry);
        if (binding != null) {
            binding.removeAll();
        }
    }

    /**
     * Adds the meters of one client to one registry. No function refers to the client: the registry passes it, and
     * refers to it weakly.
     *
     * @threading caller-confined
     */
    private static final class Binding {

        private final Redlock redlock;
        private final MeterRegistry registry;
        private final Tags tags;
        private final Set<Meter> others = Collections.newSetFromMap(new IdentityHashMap<>());
        private final List<Meter> added = new ArrayList<>();
        private final GroupMeters groups;
        private int otherCount;

        Binding(Redlock redlock, MeterRegistry registry, Tags tags) {
            this.redlock = redlock;
            this.registry = registry;
            this.tags = tags;
            this.groups = new GroupMeters(registry, tags);
            others.addAll(registry.getMeters());
        }

        void addAll() {
            addAcquireTimes();
            addCounts();
            add(groups.addCount(redlock));
            groups.addAll(redlock);
            List<String> addresses = redlock.nodeAddresses();
            for (int i = 0; i < addresses.size(); i++) {
                addNode(new NodeOfLoops(i), addresses.get(i));
            }
            others.clear();
        }

        void removeAll() {
            added.forEach(registry::remove);
            groups.end();
        }

        void warnOfOthers() {
            if (otherCount > 0) {
                warn("{0} of {1} meters stay those of another client with the same tags: give each RedlockMetrics of a "
                        + "registry tags of its own, or unbind the other one", Integer.toString(otherCount),
                        Integer.toString(otherCount + added.size()));
            }
        }

        /** A handler of the log may throw; the meters are there all the same. */
        private static void warn(String message, Object... parameters) {
            try {
                LOG.log(System.Logger.Level.WARNING, message, parameters);
            } catch (Throwable e) {
                // A failure of the log cannot be logged.
            }
        }

        private void add(Meter meter) {
            if (others.contains(meter)) {
                otherCount++;
            } else {
                added.add(meter);
            }
        }

        private void addAcquireTimes() {
            redlock.acquireTimes();
            for (AcquireOutcome.Kind kind : AcquireOutcome.Kind.values()) {
                Tags outcomeTags = tags.and("outcome", kind.name());
                add(FunctionTimer.builder("redlock.acquire", redlock, client -> client.acquireTimes().count(kind),
                        client -> client.acquireTimes().totalNs(kind), TimeUnit.NANOSECONDS)
                        .description("Acquisitions, from the call's arrival on the event loop to the outcome")
                        .tags(outcomeTags)
                        .register(registry));
                for (double share : SHARES) {
                    add(TimeGauge.builder("redlock.acquire.percentile", redlock, TimeUnit.NANOSECONDS,
                            client -> client.acquireTimes().percentileNs(kind, share))
                            .description("The time within which this share of the recent acquisitions ended")
                            .tags(outcomeTags.and("phi", AcquireBucket.plain(BigDecimal.valueOf(share))))
                            .register(registry));
                }
            }
            for (AcquireBucket bucket : AcquireBucket.ALL) {
                addCount("redlock.acquire.within", Tags.of("le", bucket.seconds()),
                        client -> bucket.count(client.acquireTimes()),
                        "Acquisitions with the outcome ACQUIRED that took so many seconds or less");
            }
        }

        private void addCount(String name, Tags own, ToLongFunction<Redlock> count, String description) {
            add(FunctionCounter.builder(name, redlock, count::applyAsLong)
                    .description(description)
                    .tags(tags.and(own))
                    .register(registry));
        }

        private void addGauge(String name, Tags own, ToDoubleFunction<Redlock> value, String description) {
            add(Gauge.builder(name, redlock, value).description(description).tags(tags.and(own)).register(registry));
        }

        private void addTime(String name, Tags own, ToDoubleFunction<Redlock> ns, String description) {
            add(TimeGauge.builder(name, redlock, TimeUnit.NANOSECONDS, ns)
                    .description(description)
                    .tags(tags.and(own))
                    .register(registry));
        }

        private void addCounts() {
            addGauge("redlock.acquire.waiting", Tags.empty(), client -> client.counters().waitingCount(),
                    "Acquisitions that have not ended");
            addGauge("redlock.failures.tolerated", Tags.empty(), Redlock::toleratedFailureCount,
                    "Further nodes that may fail until no lock can be acquired; -1 if no quorum votes");
            addGauge("redlock.leases.held", Tags.empty(), client -> client.counters().heldCount(),
                    "Locks that the client holds");
            String lost = "Leases that ended before their release";
            addCount("redlock.leases.lost", "state", LeaseState.LOST.name(), RedlockCounters::lostCount, lost);
            addCount("redlock.leases.lost", "state", LeaseState.EXPIRED.name(), RedlockCounters::expiredCount, lost);
            for (ReleaseOutcome outcome : ReleaseOutcome.values()) {
                addCount("redlock.releases", "outcome", outcome.name(), counters -> counters.releaseCount(outcome),
                        "Releases of leases");
            }
            addCount("redlock.clock.standstills", RedlockCounters::clockStandstillCount,
                    "Times at which the clock of this machine had stood still");
            addCount("redlock.rollbacks", RedlockCounters::rolledBackCount, "Attempts that were rolled back");
            addCount("redlock.attempts.hedged", RedlockCounters::hedgedAttemptCount,
                    "Attempts that asked more nodes than at first");
            addCount("redlock.commands", RedlockCounters::commandCount, "Commands of locks, one for each node");
            addCount("redlock.fence.raises", RedlockCounters::raisedCount,
                    "Fenced attempts that took a second round trip");
            addCount("redlock.extensions", RedlockCounters::extendedCount, "Extensions that succeeded");
            String failed = "Attempts that failed";
            addCount("redlock.attempts.failed", "reason", "CONTENDED", RedlockCounters::contendedAttemptCount, failed);
            addCount("redlock.attempts.failed", "reason", "NO_QUORUM", RedlockCounters::noQuorumAttemptCount, failed);
            addCount("redlock.attempts.failed", "reason", "TOO_SLOW", RedlockCounters::tooSlowAttemptCount, failed);
            String wakeUps = "Pushes of nodes, and attempts of waiters without one";
            addCount("redlock.wakeups", "kind", "WOKEN", RedlockCounters::wokenCount, wakeUps);
            addCount("redlock.wakeups", "kind", "SPURIOUS", RedlockCounters::spuriousPushCount, wakeUps);
            addCount("redlock.wakeups", "kind", "BACKSTOP", RedlockCounters::backstopCount, wakeUps);
            addGauge("redlock.retained", Tags.empty(), client -> client.counters().retainedCount(), "Retained locks");
            addCount("redlock.retained.grants", RedlockCounters::localGrantCount,
                    "Acquisitions that got a retained lock, without the nodes");
            for (RetentionEnd cause : RetentionEnd.values()) {
                addCount("redlock.retained.ended", "cause", cause.name(), counters -> counters.retentionEndCount(cause),
                        "Locks that are retained no longer");
            }
            add(FunctionTimer.builder("redlock.retained.revocation", redlock,
                    client -> client.counters().revocationCount(), client -> client.counters().revocationNs(),
                    TimeUnit.NANOSECONDS)
                    .description("Releases of retained locks without a holder that another client asked for")
                    .tags(tags)
                    .register(registry));
        }

        private void addCount(String name, ToLongFunction<RedlockCounters> count, String description) {
            addCount(name, Tags.empty(), client -> count.applyAsLong(client.counters()), description);
        }

        private void addCount(String name, String tag, String value, ToLongFunction<RedlockCounters> count,
                String description) {
            addCount(name, Tags.of(tag, value), client -> count.applyAsLong(client.counters()), description);
        }

        private void addNode(NodeOfLoops node, String address) {
            Tags own = Tags.of("node", address);
            addGauge("redlock.node.ready", own, node.share(NodeState.READY),
                    "1 if the node votes; with several event loops the share of those for which it does");
            addGauge("redlock.node.quarantined", own, node.share(NodeState.QUARANTINED),
                    "1 if the node is in quarantine; with several event loops the share of those");
            addTime("redlock.node.failing", own, node.max(NodeStatus::failingNs),
                    "Time since the node answers with errors; 0 while it works");
            addTime("redlock.node.round.trip", own, node.max(NodeStatus::roundTripNs),
                    "The last measured round trip, the longest of the event loops");
            addCount("redlock.node.votes", own.and("vote", "GRANTED"), node.count(NodeCounters::grantedCount),
                    "Votes on acquires");
            addCount("redlock.node.votes", own.and("vote", "REFUSED"), node.count(NodeCounters::refusedCount),
                    "Votes on acquires");
            addCount("redlock.node.errors", own, node.count(NodeCounters::errorCount),
                    "Error replies to lock commands");
            addCount("redlock.node.disconnects", own, node.count(NodeCounters::disconnectCount), "Lost connections");
            addCount("redlock.node.clock.jumps", own, node.count(NodeCounters::clockJumpCount), "Jumps of its clock");
            addGauge("redlock.node.releases.undelivered", own,
                    node.sum(NodeStatus::undeliveredReleaseCount), "Releases that wait for the node");
            addCount("redlock.node.releases.delivered", own, node.count(NodeCounters::undeliveredReleaseDeliveredCount),
                    "Undelivered releases that the node has executed since");
            addCount("redlock.node.releases.dropped", own, node.count(NodeCounters::undeliveredReleaseDroppedCount),
                    "Undelivered releases that were discarded");
            addCount("redlock.node.releases.refused", own, node.count(NodeCounters::undeliveredReleaseRefusedCount),
                    "Undelivered releases that the node answered with an error that lasts");
        }
    }

    /**
     * One node over all event loops, and over all masters if it is a cluster.
     *
     * @threading immutable
     */
    private record NodeOfLoops(int index) {

        private Stream<NodeStatus> statuses(Redlock client) {
            return client.nodes().stream().filter(node -> node.index() == index);
        }

        ToLongFunction<Redlock> count(ToLongFunction<NodeCounters> figure) {
            return client -> figure.applyAsLong(client.nodeCounters(index));
        }

        ToDoubleFunction<Redlock> sum(ToLongFunction<NodeStatus> figure) {
            return client -> statuses(client).mapToLong(figure).sum();
        }

        ToDoubleFunction<Redlock> share(NodeState state) {
            return client -> statuses(client).mapToInt(node -> node.state() == state ? 1 : 0).average().orElse(0);
        }

        ToDoubleFunction<Redlock> max(ToLongFunction<NodeStatus> figure) {
            return client -> statuses(client).mapToLong(figure).max().orElse(0);
        }
    }
}
