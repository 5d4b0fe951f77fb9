package dev.redlock.loadtest;

import java.io.Console;
import java.lang.reflect.InvocationTargetException;

/**
 * Whether a person is looking.
 *
 * @threading any thread
 */
final class Terminals {
    private Terminals() {
    }

    /** Some JDKs from 22 on have a console even without a terminal; those can tell whether it is one. */
    static boolean isInteractive() {
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
