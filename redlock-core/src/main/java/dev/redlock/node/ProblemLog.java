package dev.redlock.node;

/**
 * Limits the log lines about one node: the same text once a minute, and ten different texts a minute. The next line
 * counts those that were left out.
 *
 * <p>Parts of a text come from the server. So texts that differ only in their numbers count as the same, and only the
 * first 160 characters are compared.
 *
 * @threading event-loop-confined
 */
final class ProblemLog {

    static final long REPEAT_NS = 60_000_000_000L;
    static final int TEXTS_MAX = 10;
    private static final int KEY_LENGTH_MAX = 160;

    private final String[] keys = new String[TEXTS_MAX];
    private final long[] loggedNs = new long[TEXTS_MAX];
    private int leftOutCount;

    /** The text, and the number of lines that were left out before it; null if this one is left out too. */
    String lineFor(String text, long nowNs) {
        String key = keyOf(text);
        int free = -1;
        for (int i = 0; i < TEXTS_MAX; i++) {
            boolean isFree = keys[i] == null || nowNs - loggedNs[i] >= REPEAT_NS;
            if (isFree) {
                free = i;
            } else if (keys[i].equals(key)) {
                leftOutCount++;
                return null;
            }
        }
        if (free < 0) {
            leftOutCount++;
            return null;
        }
        keys[free] = key;
        loggedNs[free] = nowNs;
        String line = leftOutCount == 0
                ? text
                : text + " (" + leftOutCount + " more lines about this node were left out)";
        leftOutCount = 0;
        return line;
    }

    /** The text with one digit in place of each number. */
    private static String keyOf(String text) {
        int length = Math.min(text.length(), KEY_LENGTH_MAX);
        StringBuilder key = new StringBuilder(length);
        boolean isInNumber = false;
        for (int i = 0; i < length; i++) {
            char c = text.charAt(i);
            boolean isDigit = c >= '0' && c <= '9';
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
