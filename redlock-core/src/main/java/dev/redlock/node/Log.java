package dev.redlock.node;

import java.util.concurrent.Executor;

/**
 * The log of the whole client. A handler of the user's logging framework may throw, and may call the client back.
 * Whatever it throws ends here: a log line must never decide what becomes of a lock or a connection.
 *
 * @threading any thread
 */
public final class Log {

    private static final System.Logger LOG = System.getLogger("dev.redlock");

    private Log() {
    }

    /**
     * Logs a message.
     *
     * @param level      how important it is
     * @param message    a {@link java.text.MessageFormat} pattern
     * @param parameters for the pattern
     */
    public static void log(final System.Logger.Level level, final String message, final Object... parameters) {
        try {
            LOG.log(level, message, parameters);
        } catch (final RuntimeException | Error e) {
            // There is nobody to report it to: this is the log.
        }
    }

    /**
     * Logs an exception that the client has survived.
     *
     * @param message what happened
     * @param thrown  the exception
     */
    public static void error(final String message, final Throwable thrown) {
        try {
            LOG.log(System.Logger.Level.ERROR, message, thrown);
        } catch (final RuntimeException | Error e) {
            // There is nobody to report it to: this is the log.
        }
    }

    /**
     * Logs a message in a task of its own. For code in the middle of a change of state: a log handler that calls the
     * client back finds the change complete.
     *
     * @param loop       the event loop that runs the task
     * @param level      how important it is
     * @param message    a {@link java.text.MessageFormat} pattern
     * @param parameters for the pattern; immutable
     */
    public static void later(final Executor loop, final System.Logger.Level level, final String message,
            final Object... parameters) {
        try {
            loop.execute(() -> log(level, message, parameters));
        } catch (final RuntimeException | Error e) {
            // The loop has ended, or there is no memory for the task. The state matters more than the line.
        }
    }
}
