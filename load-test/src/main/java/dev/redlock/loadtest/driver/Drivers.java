package dev.redlock.loadtest.driver;

import dev.redlock.api.TransportKind;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The drivers by name. A name may include a transport, such as {@code redlock@nio}, or a choice of TLS, such as {@code
 * redlock@tls-jdk}, if the driver has such a choice.
 *
 * @threading any thread
 */
public final class Drivers {
    public static final String DEFAULT = "redlock";
    private static final List<LockDriver> ALL = Stream
            .concat(Arrays.stream(ApiForm.values()).map(form -> new RedlockDriver(form, TransportKind.AUTO)),
                    Stream.of(RedlockDriver.withScripts(), RedlockDriver.withScriptsEach(),
                            RedlockDriver.withThriftyQuorums(), new LettuceDriver(false), new LettuceDriver(true),
                            LettuceDriver.withScripts(), new RedissonDriver(RedissonDriver.Kind.RED_LOCK),
                            new RedissonDriver(RedissonDriver.Kind.SINGLE),
                            new RedissonDriver(RedissonDriver.Kind.FENCED), new JedisDriver(), new SetNxDriver(),
                            new EtcdDriver(), new ZooKeeperDriver()))
            .toList();
    static final List<String> NAMES = ALL.stream().map(LockDriver::name).toList();
    /**
     * The drivers that {@code compare} measures by default: all but those that send the same commands as another one,
     * those of options, and those that need other servers.
     */
    public static final List<String> COMPARED = NAMES.stream()
            .filter(name -> !List.of("redlock-watched", "redlock-scripts-each", "redlock-thrifty", "lettuce-scripts",
                    "redisson-fenced", "etcd", "zookeeper").contains(name))
            .toList();

    /** Finds a driver; throws IllegalArgumentException with the names if there is none, or it has no such transport. */
    public static LockDriver named(String name) {
        int at = name.indexOf('@');
        String base = at < 0 ? name : name.substring(0, at);
        LockDriver driver = ALL.stream()
                .filter(one -> one.name().equals(base))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "'" + name + "': expected one of " + String.join(", ", NAMES) + "; those of redlock may "
                                + "include a transport, as in redlock@nio"));
        return at < 0 ? driver : overTransport(driver, name.substring(at + 1));
    }

    private static Optional<LockDriver> withTls(RedlockDriver driver, String choice) {
        return Arrays.stream(RedlockDriver.TlsChoice.values())
                .filter(tls -> tls != RedlockDriver.TlsChoice.BEST && tls.suffix().equals(choice))
                .findFirst()
                .map(driver::with);
    }

    private static LockDriver overTransport(LockDriver driver, String transport) {
        if (!(driver instanceof RedlockDriver ours)) {
            throw new IllegalArgumentException("'" + driver.name() + "@" + transport + "': " + driver.name()
                    + " has no choice of transport; leave @" + transport + " out");
        }
        return Arrays.stream(TransportKind.values())
                .filter(kind -> kind.name().toLowerCase(Locale.ROOT).replace('_', '-').equals(transport))
                .findFirst()
                .<LockDriver>map(ours::over)
                .or(() -> withTls(ours, transport))
                .orElseThrow(() -> new IllegalArgumentException("'" + driver.name() + "@" + transport
                        + "': expected one of the transports auto, io-uring, epoll, kqueue, nio, or with --tls one of "
                        + "plain, tls-jdk, tls-openssl"));
    }

    /** @threading immutable */
    public static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return NAMES.iterator();
        }
    }
}
