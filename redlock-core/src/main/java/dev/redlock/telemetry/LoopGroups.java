package dev.redlock.telemetry;

import java.util.concurrent.Executor;

/**
 * Adds the acquisitions of one event loop to the groups of its client.
 *
 * @threading event-loop-confined, except {@link #addLocalGrant}
 */
public final class LoopGroups {

    private final GroupTable table;
    private final int loopIndex;
    private final Executor log;

    /**
     * Adds to the groups of a client.
     *
     * @param loopIndex that of the event loop
     * @param log       runs lines for the log in a task of their own
     */
    public LoopGroups(GroupTable table, int loopIndex, Executor log) {
        this.table = table;
        this.loopIndex = loopIndex;
        this.log = log;
    }

    /** Adds an acquisition with an outcome, from 0, and a duration. Allocates only for the first one of its kind. */
    public void add(String group, int outcome, long durationNs) {
        table.of(group, log).add(loopIndex, outcome, durationNs);
    }

    /** Adds an acquisition that has got a retained lock, on any thread. */
    public void addLocalGrant(String group) {
        table.of(group, log).addLocalGrant();
    }
}
