package dev.redlock.node;

/**
 * Limits the log lines about all servers of one cluster, which decides how many it names.
 *
 * @threading event-loop-confined
 */
public final class LogLimit {

    static final int LINES_MAX = 64;
    static final long PERIOD_NS = 60_000_000_000L;

    private long periodStartNs;
    private int lineCount;
    private int leftOutCount;

    /** The line to log; null if there were too many in this minute. */
    public String lineFor(String text, long nowNs) {
        if (lineCount == 0 || nowNs - periodStartNs >= PERIOD_NS) {
            periodStartNs = nowNs;
            lineCount = 0;
        }
        if (lineCount == LINES_MAX) {
            leftOutCount++;
            return null;
        }
        lineCount++;
        int leftOut = leftOutCount;
        leftOutCount = 0;
        return leftOut == 0 ? text : text + " (" + leftOut + " more lines about this cluster were left out)";
    }
}
