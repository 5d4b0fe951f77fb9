package dev.redlock.node;

/**
 * Limits the log lines about one node: the same reason is logged once a minute, and at most ten different ones are. The
 * next line counts those that were left out.
 *
 * <p>Reasons that differ in their numbers only count as the same one, and so do those whose first 160 characters agree:
 * parts of a reason come from the server.
 *
 * @threading event-loop-confined
 */
final class ProblemLog {

    static final long REPEAT_NS = 60_000_000_000L;
    static final int REASONS_MAX = 10;
    private static final int KEY_LENGTH_MAX = 160;

    private final String[] keys = new String[REASONS_MAX];
    private final long[] loggedNs = new long[REASONS_MAX];
    private int leftOutCount;

    /**
     * The line to log for a problem.
     *
     * @param problem what is wrong
     * @param isNew   whether it has happened again; else the same problem is tried again and not counted
     * @param nowNs   monotonic time
     * @return the problem, and how many lines were left out before it; null if this one is left out too
     */
    String queueFor(final String problem, final boolean isNew, final long nowNs) {
        final String key = keyOf(problem);
        int free = -1;
        for (int i = 0; i < REASONS_MAX; i++) {
            if (keys[i] != null && nowNs - loggedNs[i] < REPEAT_NS) {
                if (keys[i].equals(key)) {
                    return leaveOut(isNew);
                }
            } else {
                free = i;
            }
        }
        if (free < 0) {
            return leaveOut(isNew);
        }
        keys[free] = key;
        loggedNs[free] = nowNs;
        final String line = leftOutCount == 0
                ? problem
                : problem + " (" + leftOutCount + " more lines about this node were left out)";
        leftOutCount = 0;
        return line;
    }

    private String leaveOut(final boolean isNew) {
        leftOutCount += isNew ? 1 : 0;
        return null;
    }

    /** A digit stands for each number. */
    private static String keyOf(final String problem) {
        final int length = Math.min(problem.length(), KEY_LENGTH_MAX);
        final StringBuilder key = new StringBuilder(length);
        boolean isInNumber = false;
        for (int i = 0; i < length; i++) {
            final char c = problem.charAt(i);
            final boolean isDigit = c >= '0' && c <= '9';
            if (!isDigit) {
                key.append(c);
            } else if (!isInNumber) {
                key.append('0');
            }
            isInNumber = isDigit;
        }
        return key.toString();
    }
}
