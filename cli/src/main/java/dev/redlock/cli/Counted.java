package dev.redlock.cli;

/**
 * Numbers of things in sentences.
 *
 * @threading immutable
 */
public final class Counted {
    private Counted() {
    }

    /**
     * A number and its noun, such as {@code 1 node} or {@code 3 nodes}.
     *
     * @param count the number
     * @param noun  the noun for one; its plural ends in s
     * @return both
     */
    public static String of(long count, String noun) {
        return count + " " + noun + (count == 1 ? "" : "s");
    }
}
