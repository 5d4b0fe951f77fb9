package dev.redlock.loadtest.result;

/**
 * The holdings that were checked for overlaps.
 *
 * @threading immutable
 */
public record ExclusionCheck(long holdings, long overlaps) {
    public static final ExclusionCheck NONE = new ExclusionCheck(0, 0);

    /** These holdings and those of a series. */
    public ExclusionCheck plus(Tally tally) {
        return new ExclusionCheck(holdings + tally.holdings(), overlaps + tally.overlaps());
    }
}
