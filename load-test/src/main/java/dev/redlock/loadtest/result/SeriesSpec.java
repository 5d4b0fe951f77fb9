package dev.redlock.loadtest.result;

import java.io.Serializable;
import java.util.Locale;

/**
 * The parameters of a series. They distinguish it from the other series of its run.
 *
 * @param inFlight      cycles in flight: exactly (closed loop) or at most (open loop)
 * @param ratePerSecond cycles started per second in an open loop; 0 in a closed one
 * @param repetition    from 1; drivers are interleaved by repetition
 * @threading immutable
 */
public record SeriesSpec(String driver, int nodes, LoopKind loop, int inFlight, double ratePerSecond,
        int repetition) implements Serializable {
    /** The start of the names of its files, such as {@code redlock-n3-k64-r1} or {@code redlock-n3-rate5000-r1}. */
    public String fileStem() {
        String load = loop == LoopKind.CLOSED ? "k" + inFlight : "rate" + rate();
        return driver.replaceAll("[^A-Za-z0-9_.-]", "_") + "-n" + nodes + "-" + load + "-r" + repetition;
    }

    /** In words, such as {@code redlock, N = 3, 64 in flight} or {@code redlock, N = 3, 5000/s}. */
    public String title() {
        return driver + ", N = " + nodes + ", " + load() + (repetition == 1 ? "" : ", repetition " + repetition);
    }

    /** The same driver, node count and load in another repetition. */
    public SeriesSpec withRepetition(int other) {
        return new SeriesSpec(driver, nodes, loop, inFlight, ratePerSecond, other);
    }

    /** The same driver and load on another number of nodes. */
    public SeriesSpec withNodes(int other) {
        return new SeriesSpec(driver, other, loop, inFlight, ratePerSecond, repetition);
    }

    /** Such as {@code 64 in flight} or {@code 5000/s}. */
    public String load() {
        return loop == LoopKind.CLOSED ? inFlight + " in flight" : rate() + "/s";
    }

    private String rate() {
        return ratePerSecond == Math.rint(ratePerSecond)
                ? Long.toString((long) ratePerSecond)
                : String.format(Locale.ROOT, "%.1f", ratePerSecond);
    }
}
