package dev.redlock.cli;

import dev.redlock.engine.LockValue;
import dev.redlock.engine.key.KeyText;
import dev.redlock.resp.SafeText;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * One held lock in the table of {@code locks top}.
 *
 * @param value       the value of most nodes; null for readers
 * @param name        for people
 * @param kind        as far as the nodes know
 * @param nodeCount   nodes that have it
 * @param holder      the name of the client, or the number of readers; "-" without one
 * @param remainingMs until it loses its quorum; {@link Long#MAX_VALUE} for never
 * @param waiterCount clients that wait for it
 * @param isAtLeast   whether there may be more waiters, which the nodes do not count
 * @threading immutable
 */
record TopRow(LockValue value, String name, String kind, int nodeCount, String holder, long remainingMs,
        long waiterCount, boolean isAtLeast) {

    /** More than any terminal shows; the table leaves out the middle. */
    private static final int NAME_LENGTH_MAX = 4096;

    /**
     * The orders of the table.
     *
     * @threading immutable
     */
    enum Order {
        /** The most awaited locks first. */
        WAITERS(Comparator.comparing((TopRow row) -> -row.waiterCount)),
        /** The locks that expire next first. */
        TTL(Comparator.comparing(row -> row.remainingMs)),
        /** By name. */
        NAME(Comparator.comparing(row -> row.name));

        final Comparator<TopRow> comparator;

        Order(Comparator<TopRow> comparator) {
            this.comparator = comparator.thenComparing(row -> row.name);
        }
    }

    /**
     * The row of a lock; null if nobody has it.
     *
     * @param isMarked whether a waiter has left a mark lately
     */
    static TopRow of(LockView view, List<WaitReading> waits, boolean isMarked) {
        long waiters = waits.stream().mapToLong(WaitReading::waiterCount).max().orElse(0);
        long shown = Math.max(waiters, isMarked ? 1 : 0);
        Map<LockValue, List<Integer>> holders = view.holders();
        if (!holders.isEmpty()) {
            Map.Entry<LockValue, List<Integer>> first = holders.entrySet().iterator().next();
            return first.getKey().isToken()
                    ? ofValue(view, first.getKey(), first.getValue().size(), shown, isMarked)
                    : null;
        }
        long readers = waits.stream().mapToLong(WaitReading::readerCount).max().orElse(0);
        return readers == 0 ? null : ofReaders(view, waits, readers, shown, isMarked);
    }

    private static TopRow ofValue(LockView view, LockValue value, int nodeCount, long waiters, boolean isMarked) {
        long remainingMs = view.remainingMs(value);
        return new TopRow(value, shownName(view), kind(view, value), nodeCount, LocksText.holder(value),
                remainingMs == KeyReading.NO_EXPIRY ? Long.MAX_VALUE : remainingMs, waiters, isMarked);
    }

    private static TopRow ofReaders(LockView view, List<WaitReading> waits, long readers, long waiters,
            boolean isMarked) {
        List<Long> ttls = new ArrayList<>();
        for (int i = 0; i < waits.size(); i++) {
            if (waits.get(i).readerCount() > 0 && view.readings().get(i) != null) {
                long ttlMs = view.readings().get(i).ttlMs();
                ttls.add(ttlMs == KeyReading.NO_EXPIRY ? Long.MAX_VALUE : ttlMs);
            }
        }
        ttls.sort(Comparator.reverseOrder());
        long ttlMs = ttls.isEmpty() ? 0 : ttls.get(ttls.size() >= view.quorum() ? view.quorum() - 1 : 0);
        return new TopRow(null, shownName(view), "read", ttls.size(), Counted.of(readers, "reader"), ttlMs, waiters,
                isMarked);
    }

    /** The name of a semaphore instead of the key of its permit. */
    private static String shownName(LockView view) {
        String name = WaitReading.semaphoreOf(view.name());
        return SafeText.of(new String(name.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8),
                NAME_LENGTH_MAX);
    }

    private static String kind(LockView view, LockValue value) {
        if (view.stateOf(value) != LockView.State.HELD) {
            return LocksText.stateText(view, value);
        }
        if (view.name().contains(KeyText.PERMIT_MARK)) {
            return "permit " + view.name().substring(view.name().lastIndexOf(':') + 1);
        }
        if (view.mayBeRetained(value)) {
            return "retained";
        }
        return view.fence() == null ? "lock" : "fenced";
    }

    /** The same lock as one of several with the same value. */
    TopRow ofSet() {
        return new TopRow(value, name, "set", nodeCount, holder, remainingMs, waiterCount, isAtLeast);
    }
}
