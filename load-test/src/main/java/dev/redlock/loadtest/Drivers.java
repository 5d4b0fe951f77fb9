package dev.redlock.loadtest;

import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.driver.RedlockDriver;
import dev.redlock.loadtest.driver.SetNxDriver;
import java.util.Iterator;
import java.util.List;

/**
 * The drivers by name.
 *
 * @threading any thread
 */
final class Drivers {
    static final String DEFAULT = "redlock";
    private static final List<LockDriver> ALL = List.of(new RedlockDriver(), new SetNxDriver());
    static final List<String> NAMES = ALL.stream().map(LockDriver::name).toList();

    private Drivers() {
    }

    static LockDriver named(String name) {
        return ALL.stream().filter(driver -> driver.name().equals(name)).findFirst().orElseThrow();
    }

    /**
     * The names, for the help text.
     *
     * @threading immutable
     */
    static final class Names implements Iterable<String> {
        Names() {
            // picocli makes one.
        }

        @Override
        public Iterator<String> iterator() {
            return NAMES.iterator();
        }
    }
}
