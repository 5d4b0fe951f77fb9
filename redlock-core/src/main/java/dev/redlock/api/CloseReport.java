package dev.redlock.api;

import dev.redlock.resp.SafeText;
import java.util.List;
import java.util.Objects;

/**
 * The result of closing a client.
 *
 * @param releasedCount leases that were held and have been released
 * @param unreleased    resources whose release no quorum confirmed in time; their remaining keys expire
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

    /** @return true if every held lease was released */
    public boolean isClean() {
        return unreleased.isEmpty();
    }

    /** @return the unreleased resources for a log: escaped, and at most the first 20 */
    public String unreleasedText() {
        StringBuilder text = new StringBuilder("[");
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
