package dev.redlock.jmh.lock;

/**
 * The latencies that one thread has seen, apart for what came before the measured time, in it, and after it. What does
 * not count is written down all the same: a branch that is first taken when it counts would make the compiler throw
 * away its best code at that moment.
 *
 * @threading caller-confined
 */
final class PhaseTimes {

    static final int WARM_UP = 0;
    static final int MEASURED = 1;
    static final int AFTER = 2;

    private final CycleTimes[] phases = {CycleTimes.empty(), CycleTimes.empty(), CycleTimes.empty()};

    /** Forgets everything; nobody may be writing. */
    void reset() {
        for (final CycleTimes times : phases) {
            times.reset();
        }
    }

    /** Where to write down what belongs to a phase. */
    CycleTimes of(final int phase) {
        return phases[phase];
    }
}
