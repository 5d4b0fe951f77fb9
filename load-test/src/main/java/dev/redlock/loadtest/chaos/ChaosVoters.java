package dev.redlock.loadtest.chaos;

import java.io.IOException;
import java.util.List;

/**
 * The voters of a run: their addresses for the clients, and their faults.
 *
 * @threading caller-confined
 */
interface ChaosVoters extends AutoCloseable {

    /** The address of each voter in the form that {@code Redlock.connect} takes. */
    List<String> addresses();

    void begin(ChaosStep step) throws IOException;

    void end(ChaosStep step) throws IOException;

    /** Ends the faults that a cancelled plan has left open. */
    void heal() throws IOException;

    @Override
    void close();
}
