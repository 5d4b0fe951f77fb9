package dev.redlock.loadtest;

import dev.redlock.TransportKind;
import dev.redlock.loadtest.driver.ApiForm;
import dev.redlock.loadtest.driver.JedisDriver;
import dev.redlock.loadtest.driver.LettuceDriver;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.driver.RedissonDriver;
import dev.redlock.loadtest.driver.RedlockDriver;
import dev.redlock.loadtest.driver.SetNxDriver;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * The drivers by name. A name may carry a transport, {@code redlock@nio}, where the driver has a choice of them.
 *
 * @threading any thread
 */
final class Drivers {
    static final String DEFAULT = "redlock";
    private static final List<LockDriver> ALL = Stream
            .concat(Arrays.stream(ApiForm.values()).map(form -> new RedlockDriver(form, TransportKind.AUTO)),
                    Stream.of(RedlockDriver.withScripts(), RedlockDriver.withScriptsEach(), new LettuceDriver(false),
                            new LettuceDriver(true), LettuceDriver.withScripts(), new RedissonDriver(false),
                            new RedissonDriver(true), new JedisDriver(), new SetNxDriver()))
            .toList();
    static final List<String> NAMES = ALL.stream().map(LockDriver::name).toList();
    /** What is compared by default: without the drivers that only repeat others' commands. */
    static final List<String> COMPARED = NAMES.stream()
            .filter(name -> !List.of("redlock-scripts-each", "lettuce-scripts").contains(name))
            .toList();

    private Drivers() {
    }

    /**
     * Finds a driver.
     *
     * @throws IllegalArgumentException if there is none of that name, or it has no such transport; names what there is
     */
    static LockDriver named(String name) {
        int at = name.indexOf('@');
        String base = at < 0 ? name : name.substring(0, at);
        LockDriver driver = ALL.stream()
                .filter(one -> one.name().equals(base))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "'" + name + "': expected one of " + String.join(", ", NAMES) + "; those of redlock may carry "
                                + "a transport, as in redlock@nio"));
        return at < 0 ? driver : overTransport(driver, name.substring(at + 1));
    }

    private static LockDriver overTransport(LockDriver driver, String transport) {
        if (!(driver instanceof RedlockDriver ours)) {
            throw new IllegalArgumentException("'" + driver.name() + "@" + transport + "': " + driver.name()
                    + " has no choice of transport; leave @" + transport + " out");
        }
        return Arrays.stream(TransportKind.values())
                .filter(kind -> kind.name().toLowerCase(Locale.ROOT).replace('_', '-').equals(transport))
                .findFirst()
                .map(ours::over)
                .orElseThrow(() -> new IllegalArgumentException("'" + driver.name() + "@" + transport
                        + "': expected one of the transports auto, io-uring, epoll, kqueue, nio"));
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
