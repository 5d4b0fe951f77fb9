package dev.redlock.cli;

import java.io.Console;
import java.lang.reflect.InvocationTargetException;

/**
 * Detects an interactive terminal.
 *
 * @threading any thread
 */
public final class Terminals {
    private Terminals() {
    }

    /**
     * Whether a person can answer. From JDK 22 on there may be a console without a terminal; those JDKs have
     * {@code Console.isTerminal}.
     *
     * @return true if standard input and output are a terminal
     */
    public static boolean isInteractive() {
        Console console = System.console();
        if (console == null) {
            return false;
        }
        try {
            return (Boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (NoSuchMethodException e) {
            return true;
        } catch (IllegalAccessException | InvocationTargetException e) {
            throw new IllegalStateException("Console.isTerminal cannot be called", e);
        }
    }
}
