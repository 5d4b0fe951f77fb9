package dev.redlock;

import dev.redlock.resp.SafeText;
import java.util.List;
import java.util.Objects;

/**
 * What closing a client left behind.
 *
 * @param releasedCount leases that were still held and have been given back
 * @param unreleased    resources whose release was not confirmed by a quorum in time; their keys end with their ttl
 * @threading immutable
 */
public record CloseReport(int releasedCount, List<String> unreleased) {

    private static final int SHOWN_COUNT_MAX = 20;

    /**
     * Checks and copies.
     *
     * @throws IllegalArgumentException if the count is negative
     * @throws NullPointerException     if the list or a resource in it is null
     */
    public CloseReport {
        if (releasedCount < 0) {
            throw new IllegalArgumentException("released count " + releasedCount + " is negative: give zero or more");
        }
        Objects.requireNonNull(unreleased, "unreleased resources are null: give an empty list for none");
        unreleased = List.copyOf(unreleased);
    }

    /** @return true if nothing is left behind */
    public boolean isClean() {
        return unreleased.isEmpty();
    }

    /** The names as text for people: escaped, and the first of them only where there are many. */
    String unreleasedText() {
        final StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < Math.min(SHOWN_COUNT_MAX, unreleased.size()); i++) {
            text.append(i == 0 ? "" : ", ").append(SafeText.of(unreleased.get(i)));
        }
        if (unreleased.size() > SHOWN_COUNT_MAX) {
            text.append(", ... (").append(unreleased.size() - SHOWN_COUNT_MAX).append(" more)");
        }
        return text.append(']').toString();
    }

    @Override
    public String toString() {
        return "CloseReport[releasedCount=" + releasedCount + ", unreleased=" + unreleasedText() + "]";
    }
}
