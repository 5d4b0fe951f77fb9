package dev.redlock.loadtest.report;

import java.util.function.BiConsumer;
import java.util.function.DoubleFunction;

/**
 * A logarithmic axis.
 *
 * @threading immutable
 */
record LogScale(double min, double max) {

    /** From a power of ten to a power of ten. */
    static LogScale around(double min, double max) {
        double low = Math.pow(10, Math.floor(Math.log10(min)));
        return new LogScale(low, Math.max(10 * low, Math.pow(10, Math.ceil(Math.log10(max)))));
    }

    double share(double value) {
        return value <= min ? 0 : Math.log(value / min) / Math.log(max / min);
    }

    /** Marks each power of ten, from {@code min} on. */
    void mark(BiConsumer<Double, String> axis, DoubleFunction<String> label) {
        for (double value = min; value <= max * 1.001; value *= 10) {
            axis.accept(share(value), label.apply(value));
        }
    }
}
