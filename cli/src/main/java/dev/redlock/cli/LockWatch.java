package dev.redlock.cli;

import dev.redlock.engine.LockValue;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Follows the held locks of all nodes. Each refresh has a bounded cost for a node, whatever it contains: a step of
 * {@link NodeScan}, and the reads of a limited number of locks.
 *
 * @threading caller-confined
 */
final class LockWatch {

    /** A node or a Sentinel that is down may make a refresh wait, so not each one tries to connect. */
    static final int RECONNECT_INTERVAL = 5;
    /** Waiters leave their marks again and again, with pauses in between. */
    static final int MARK_REFRESHES = 5;

    private final LockNodes nodes;
    private final int limit;
    private final List<NodeScan> scans = new ArrayList<>();
    private final Set<String> tracked = new TreeSet<>();
    private final Set<String> awaited = new HashSet<>();
    /** The refresh that has last seen a mark beside a lock. */
    private final Map<String, Integer> marked = new HashMap<>();
    private boolean isCut;
    private int refreshCount;

    LockWatch(LockNodes nodes, String prefix, int limit) {
        this.nodes = nodes;
        this.limit = limit;
        nodes.nodes().forEach(node -> scans.add(new NodeScan(prefix)));
    }

    /**
     * The locks at one moment.
     *
     * @param rows         the held locks, in no order
     * @param isCut        whether the limit leaves locks out
     * @param isIncomplete whether the scans have not seen all keys yet
     * @param deniedCount  keys of a node at most that are left out because the user may not read them
     * @threading immutable
     */
    record Snapshot(List<TopRow> rows, boolean isCut, boolean isIncomplete, int deniedCount) {
    }

    Snapshot refresh() {
        if (refreshCount++ % RECONNECT_INTERVAL == RECONNECT_INTERVAL - 1) {
            nodes.reconnect();
        }
        List<NodeScan.Found> found = nodes.onEach(i -> scans.get(i).next(nodes.nodes().get(i), tracked));
        found.forEach(ofNode -> ofNode.awaited().forEach(name -> track(name, true)));
        found.forEach(ofNode -> ofNode.locks().forEach(name -> track(name, false)));
        List<TopRow> rows = read(new ArrayList<>(tracked));
        isCut &= tracked.size() >= limit;
        int deniedCount = scans.stream().mapToInt(NodeScan::deniedCount).max().orElse(0);
        return new Snapshot(rows, isCut, isIncomplete(), deniedCount);
    }

    private boolean isIncomplete() {
        for (int i = 0; i < scans.size(); i++) {
            if (nodes.nodes().get(i).isUp() && !scans.get(i).isComplete()) {
                return true;
            }
        }
        return false;
    }

    /** An awaited lock takes the place of one without waiters. */
    private void track(String name, boolean mayBeAwaited) {
        if (tracked.contains(name)) {
            return;
        }
        if (tracked.size() >= limit) {
            isCut = true;
            String other = mayBeAwaited
                    ? tracked.stream().filter(one -> !awaited.contains(one)).findAny().orElse(null)
                    : null;
            if (other == null) {
                return;
            }
            tracked.remove(other);
        }
        tracked.add(name);
        if (mayBeAwaited) {
            awaited.add(name);
        }
    }

    private List<TopRow> read(List<String> names) {
        List<LockView> views = nodes.readFound(names);
        List<List<WaitReading>> waits = nodes.onEach(i -> WaitReading.read(nodes.nodes().get(i), names));
        List<TopRow> rows = new ArrayList<>();
        for (int k = 0; k < names.size(); k++) {
            List<WaitReading> ofLock = new ArrayList<>();
            for (List<WaitReading> ofNode : waits) {
                ofLock.add(ofNode == null ? WaitReading.NONE : ofNode.get(k));
            }
            TopRow row = TopRow.of(views.get(k), ofLock, isMarked(names.get(k), ofLock));
            keep(names.get(k), row);
            if (row != null) {
                rows.add(row);
            }
        }
        return withSets(rows);
    }

    private boolean isMarked(String name, List<WaitReading> waits) {
        if (waits.stream().anyMatch(WaitReading::isMarked)) {
            marked.put(name, refreshCount);
        }
        return refreshCount - marked.getOrDefault(name, refreshCount - MARK_REFRESHES) < MARK_REFRESHES;
    }

    private void keep(String name, TopRow row) {
        if (row == null) {
            tracked.remove(name);
            marked.remove(name);
        }
        if (row == null || row.waiterCount() == 0) {
            awaited.remove(name);
        } else {
            awaited.add(name);
        }
    }

    /** Each lock has a value of its own, but the locks of a set share theirs. */
    private static List<TopRow> withSets(List<TopRow> rows) {
        Map<LockValue, Integer> counts = new HashMap<>();
        rows.forEach(row -> counts.merge(row.value() == null ? LockValue.of(new byte[0]) : row.value(), 1,
                Integer::sum));
        return rows.stream()
                .map(row -> row.value() != null && counts.get(row.value()) > 1 ? row.ofSet() : row)
                .toList();
    }
}
