package dev.redlock.jmh.lock;

/**
 * The latencies of one thread, separate for the time before, in and after the measured time. Latencies outside the
 * measured time are recorded too: a branch that is first taken in the measured time would make the compiler discard
 * optimised code at that moment.
 *
 * @threading caller-confined
 */
final class PhaseTimes {

    static final int WARM_UP = 0;
    static final int MEASURED = 1;
    static final int AFTER = 2;

    private final CycleTimes[] phases = {CycleTimes.empty(), CycleTimes.empty(), CycleTimes.empty()};

    /** Discards all latencies, while no thread records. */
    void reset() {
        for (CycleTimes times : phases) {
            times.reset();
        }
    }

    /** The latencies of a phase. */
    CycleTimes of(int phase) {
        return phases[phase];
    }
}
