package dev.redlock.telemetry;

import dev.redlock.time.NanoClock;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/**
 * The groups of the acquisitions of a client. It has a limit, because an application may make a name from an id, and
 * each group costs memory here and time series elsewhere: further groups share one.
 *
 * @threading any thread
 */
public final class GroupTable {

    /** Groups that are counted apart. */
    public static final int GROUPS_MAX = 64;
    /** The group of all further ones. */
    public static final String OTHER = "other";

    private final ConcurrentHashMap<String, GroupRecorder> groups = new ConcurrentHashMap<>();
    private final int loopCount;
    private final int outcomeCount;
    private final NanoClock clock;
    /** Null until the limit is reached. */
    private volatile GroupRecorder other;

    /** No groups yet, of a client with so many event loops. */
    public GroupTable(int loopCount, int outcomeCount, NanoClock clock) {
        this.loopCount = loopCount;
        this.outcomeCount = outcomeCount;
        this.clock = clock;
    }

    /**
     * The group with a name. Allocates only for a new one.
     *
     * @param log runs the line in the log about the limit: the caller may be in the middle of a change of state
     */
    GroupRecorder of(String name, Executor log) {
        GroupRecorder known = groups.get(name);
        if (known != null) {
            return known;
        }
        GroupRecorder shared = other;
        return shared == null ? add(name, log) : shared;
    }

    private synchronized GroupRecorder add(String name, Executor log) {
        if (groups.size() < GROUPS_MAX) {
            return ofName(name);
        }
        if (other == null) {
            other = ofName(OTHER);
            Log.later(log, System.Logger.Level.WARNING, "the group \"{0}\" counts as \"{1}\", as further ones do: a"
                    + " client counts {2} groups apart; name in AcquireOptions.group what locks are for, without an id",
                    name, OTHER, Integer.toString(GROUPS_MAX));
        }
        // Another thread may have added it meanwhile.
        return groups.getOrDefault(name, other);
    }

    private GroupRecorder ofName(String name) {
        return groups.computeIfAbsent(name, any -> new GroupRecorder(any, loopCount, outcomeCount, clock));
    }

    /** All groups so far, by name. */
    public List<GroupRecorder> all() {
        return groups.values().stream().sorted(Comparator.comparing(GroupRecorder::name)).toList();
    }
}
