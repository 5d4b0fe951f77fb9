package dev.redlock.sim;

import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Collects the log during a simulation: a logged exception is a violation. The other lines are discarded. */
final class SimLog extends Handler implements AutoCloseable {

    private static final Logger ENGINE = Logger.getLogger("dev.redlock");
    private static final Logger NETTY = Logger.getLogger("io.netty");

    private final Simulation simulation;
    private final Level levelBefore = ENGINE.getLevel();

    SimLog(Simulation simulation) {
        this.simulation = simulation;
        // Other tests may have changed the level, and the log is a part of the run.
        ENGINE.setLevel(Level.INFO);
        for (Logger logger : new Logger[]{ENGINE, NETTY}) {
            logger.setUseParentHandlers(false);
            logger.addHandler(this);
        }
    }

    @Override
    public void publish(LogRecord message) {
        boolean isGrave = message.getLevel().intValue() >= Level.WARNING.intValue();
        if (isGrave && message.getThrown() != null && !SimFault.isMeant(message.getThrown())) {
            StackTraceElement[] stack = message.getThrown().getStackTrace();
            simulation.violate("logged: " + message.getMessage() + " " + message.getThrown() + " at "
                    + (stack.length == 0 ? "" : stack[0]));
        }
        if (message.getThrown() instanceof OutOfMemoryError) {
            simulation.onReadFailed();
        }
        if (message.getLoggerName().startsWith(ENGINE.getName())) {
            simulation.throwFromLog();
        }
    }

    @Override
    public void flush() {
        // Nothing is buffered.
    }

    @Override
    public void close() {
        for (Logger logger : new Logger[]{ENGINE, NETTY}) {
            logger.removeHandler(this);
            logger.setUseParentHandlers(true);
        }
        ENGINE.setLevel(levelBefore);
    }
}
