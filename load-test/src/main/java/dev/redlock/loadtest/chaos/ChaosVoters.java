package dev.redlock.loadtest.chaos;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The voters of a run: their addresses for the clients, and their faults.
 *
 * @threading caller-confined
 */
abstract class ChaosVoters implements AutoCloseable {
    /** The ends of the faults that are in force. */
    private final Map<ChaosStep, Action> ends = new LinkedHashMap<>();

    /** @threading caller-confined */
    @FunctionalInterface
    interface Action {
        void run() throws IOException;
    }

    /** The address of each voter in the form that {@code Redlock.connect} takes. */
    abstract List<String> addresses();

    /** The words that start a worker where it works; none for this place. */
    List<String> placeOfWorker(int place) {
        return List.of();
    }

    /** Injects a fault; returns the action that ends it. */
    abstract Action inject(ChaosStep step) throws IOException;

    void begin(ChaosStep step) throws IOException {
        ends.put(step, inject(step));
    }

    void end(ChaosStep step) throws IOException {
        ends.remove(step).run();
    }

    /** Ends the faults that a cancelled plan has left open. */
    void heal() throws IOException {
        for (Action end : ends.values()) {
            end.run();
        }
        ends.clear();
    }

    @Override
    public void close() {
        // The servers belong to the caller.
    }
}
