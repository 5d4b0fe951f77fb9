package dev.redlock.micrometer;

import dev.redlock.LockGroup;
import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The meters of the groups of one client in one registry. A group is new when an event loop counts its first
 * acquisition, and an event loop calls no registry. So the registry adds the meters of new groups itself, when it reads
 * how many groups there are: a scrape, or a publication.
 *
 * <p>It does not refer to the client, which keeps the groups that the meters refer to weakly.
 *
 * @threading any thread
 */
final class GroupMeters {

    private static final System.Logger LOG = System.getLogger("dev.redlock");

    private final MeterRegistry registry;
    private final Tags tags;
    /** A registry may read a gauge while it holds a lock of its own, so no read waits for this one. */
    private final ReentrantLock lock = new ReentrantLock();
    private final Set<String> known = new HashSet<>();
    private final List<Meter> added = new ArrayList<>();
    private boolean isEnded;

    GroupMeters(MeterRegistry registry, Tags tags) {
        this.registry = registry;
        this.tags = tags;
    }

    /** Adds the number of groups, whose read adds the meters of new ones. */
    Gauge addCount(Redlock redlock) {
        return Gauge.builder("redlock.groups", redlock, this::count)
                .description("Groups of acquisitions, each with meters of its own")
                .tags(tags)
                .register(registry);
    }

    private double count(Redlock client) {
        List<LockGroup> groups = client.groups();
        if (lock.tryLock()) {
            try {
                addNew(groups);
            } catch (Throwable e) {
                warn(e);
            } finally {
                lock.unlock();
            }
        }
        return groups.size();
    }

    /** Adds the meters of the groups so far. If the registry throws, {@link #end} removes those that it has. */
    void addAll(Redlock client) {
        lock.lock();
        try {
            addNew(client.groups());
        } finally {
            lock.unlock();
        }
    }

    /** Removes all of them, and adds no more. */
    void end() {
        List<Meter> meters;
        lock.lock();
        try {
            isEnded = true;
            meters = List.copyOf(added);
            added.clear();
        } finally {
            lock.unlock();
        }
        meters.forEach(registry::remove);
    }

    private void addNew(List<LockGroup> groups) {
        if (isEnded || known.size() == groups.size()) {
            return;
        }
        Set<Meter> others = Collections.newSetFromMap(new IdentityHashMap<>());
        others.addAll(registry.getMeters());
        for (LockGroup group : groups) {
            // A registry that throws is not asked again at each scrape.
            if (known.add(group.name())) {
                add(group, others);
            }
        }
    }

    private void add(LockGroup group, Set<Meter> others) {
        Tags own = tags.and("group", group.name());
        for (AcquireOutcome.Kind kind : AcquireOutcome.Kind.values()) {
            add(others, FunctionTimer.builder("redlock.group.acquire", group, one -> one.acquireTimes().count(kind),
                    one -> one.acquireTimes().totalNs(kind), TimeUnit.NANOSECONDS)
                    .description("Acquisitions of a group, from the call's arrival on the event loop to the outcome")
                    .tags(own.and("outcome", kind.name()))
                    .register(registry));
        }
        for (AcquireBucket bucket : AcquireBucket.ALL) {
            add(others, FunctionCounter.builder("redlock.group.acquire.within", group,
                    one -> bucket.count(one.acquireTimes()))
                    .description("Acquisitions of a group with the outcome ACQUIRED that took so many seconds or less")
                    .tags(own.and("le", bucket.seconds()))
                    .register(registry));
        }
        add(others, FunctionCounter.builder("redlock.group.retained.grants", group, LockGroup::localGrantCount)
                .description("Acquisitions of a group that got a retained lock, without the nodes")
                .tags(own)
                .register(registry));
    }

    /** A meter of another client with the same tags stays with that client. */
    private void add(Set<Meter> others, Meter meter) {
        if (!others.contains(meter)) {
            added.add(meter);
        }
    }

    private static void warn(Throwable thrown) {
        try {
            LOG.log(System.Logger.Level.WARNING, "the registry has not taken all meters of the groups of locks: unbind"
                    + " RedlockMetrics from it, and bind it again when it is repaired", thrown);
        } catch (Throwable e) {
            // A failure of the log cannot be logged.
        }
    }
}
