package dev.redlock.telemetry;

import java.util.concurrent.Executor;

/**
 * The log of the client. A handler of the user's logging framework may throw and may call the client. This class
 * catches every exception, so a log line cannot change the state of a lock or a connection.
 *
 * @threading any thread
 */
public final class Log {

    private static final System.Logger LOG = System.getLogger("dev.redlock");

    private Log() {
    }

    /** Logs a message, a {@link java.text.MessageFormat} pattern. */
    public static void log(System.Logger.Level level, String message, Object... parameters) {
        try {
            LOG.log(level, message, parameters);
        } catch (Throwable e) {
            // A failure of the log cannot be logged.
        }
    }

    /** Logs an exception after which the client continues. */
    public static void error(String message, Throwable thrown) {
        try {
            LOG.log(System.Logger.Level.ERROR, message, thrown);
        } catch (Throwable e) {
            // A failure of the log cannot be logged.
        }
    }

    /**
     * Logs a message in a separate task. For code in the middle of a change of state: a log handler that calls the
     * client sees the complete change.
     *
     * @param message    a {@link java.text.MessageFormat} pattern
     * @param parameters for the pattern; immutable
     */
    public static void later(Executor loop, System.Logger.Level level, String message,
            Object... parameters) {
        try {
            loop.execute(() -> log(level, message, parameters));
        } catch (Throwable e) {
            // The loop has terminated, or there is no memory for the task. The line is less important than the state.
        }
    }

    /** As {@link #error} in a separate task, for code in the middle of a change of state. */
    public static void errorLater(Executor loop, String message, Throwable thrown) {
        try {
            loop.execute(() -> error(message, thrown));
        } catch (Throwable e) {
            // As above.
        }
    }
}
