package dev.redlock.hostile;

import dev.redlock.testing.VirtualTest;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * An exception in the middle of a step, as from a heap without memory. The clock throws it, because each step reads the
 * clock somewhere in its middle: a scenario runs once for each of these reads.
 */
abstract class FailingReads extends VirtualTest {

    /** Netty logs what a listener or handler threw. */
    private static final Logger NETTY = Logger.getLogger("io.netty");

    protected int failingRead;
    /** How many reads in a row throw. */
    protected int failingReads = 1;
    protected boolean isArmed;
    protected boolean hasThrown;
    private int readCount;

    @BeforeEach
    void beQuiet() {
        NETTY.setLevel(Level.OFF);
    }

    @AfterEach
    void speak() {
        NETTY.setLevel(null);
        clearRecordedExceptions();
    }

    /** Whether the present read is one of those that throw in turn. */
    protected abstract boolean isInStep();

    protected final void onClockRead() {
        if (isArmed && isInStep() && ++readCount >= failingRead && readCount < failingRead + failingReads) {
            hasThrown = true;
            throw new OutOfMemoryError("thrown by a test");
        }
    }

    /** Runs a scenario, with its checks, in a new world for each read. The scenario arms the clock, and disarms it. */
    protected final void throwAtEachRead(Runnable scenario) {
        quietly(() -> {
            failingRead = 0;
            do {
                failingRead++;
                readCount = 0;
                hasThrown = false;
                scenario.run();
                nothingIsLeft();
                world = null;
            } while (hasThrown);
        });
    }
}
