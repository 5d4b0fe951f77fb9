package dev.redlock.loadtest.driver;

import dev.redlock.api.CommandMode;
import dev.redlock.api.TransportKind;
import dev.redlock.loadtest.consensus.ConsensusService;
import dev.redlock.loadtest.result.LibraryVersion;
import java.io.IOException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The drivers by name. A name may include a transport, such as {@code redlock@nio}, or a choice of TLS, such as {@code
 * redlock@tls-jdk}, if the driver has such a choice.
 *
 * @threading any thread
 */
public final class Drivers {
    public static final String DEFAULT = "redlock";
    private static final List<LockDriver> ALL = Stream.concat(
            Arrays.stream(ApiForm.values()).map(form -> new RedlockDriver(form, CommandMode.AUTO, false, false)),
            Stream.of(new RedlockDriver(ApiForm.CALLBACK, CommandMode.SCRIPTS, false, false),
                    new RedlockDriver(ApiForm.CALLBACK, CommandMode.SCRIPTS, true, false),
                    new RedlockDriver(ApiForm.CALLBACK, CommandMode.AUTO, false, true),
                    new RedlockDriver(ApiForm.CALLBACK, CommandMode.AUTO, true, false),
                    lettuce("lettuce", LettuceSession::futures),
                    lettuce("lettuce-batched", spec -> LettuceSession.batches(spec, false)),
                    // Command for command what redlock-scripts-each asks of the nodes.
                    lettuce("lettuce-scripts", spec -> LettuceSession.batches(spec, true)),
                    redisson("redisson", RedissonSession.Kind.RED_LOCK),
                    redisson("redisson-single", RedissonSession.Kind.SINGLE),
                    redisson("redisson-wait", RedissonSession.Kind.SINGLE_WAIT),
                    redisson("redisson-fenced", RedissonSession.Kind.FENCED),
                    new Peer("jedis", () -> LibraryVersion.of("Jedis", "redis.clients", "jedis"), true, false,
                            Optional.empty(), Set.of(DriverOption.TLS), JedisSession::open),
                    new Peer("set-nx", () -> "the published pattern over a JDK socket", false, false,
                            Optional.empty(), Set.of(DriverOption.TLS), SetNxSession::open),
                    consensus("etcd", ConsensusService.ETCD, "jetcd", "io.etcd", "jetcd-core"),
                    consensus("zookeeper", ConsensusService.ZOOKEEPER, "Curator", "org.apache.curator",
                            "curator-recipes")))
            .toList();
    static final List<String> NAMES = ALL.stream().map(LockDriver::name).toList();
    /**
     * The drivers that {@code compare} measures by default: all but those that send the same commands as another one,
     * those of options, and those that need other servers or replicas.
     */
    public static final List<String> COMPARED = NAMES.stream()
            .filter(name -> !List.of("redlock-watched", "redlock-retained", "redlock-scripts-each", "redlock-thrifty",
                    "redlock-each", "lettuce-scripts", "redisson-wait", "redisson-fenced", "etcd", "zookeeper")
                    .contains(name))
            .toList();

    /** @threading any thread */
    @FunctionalInterface
    interface Opener {
        LockSession open(SessionSpec spec) throws IOException, InterruptedException;
    }

    /** @threading immutable */
    private record Peer(String name, Supplier<String> versions, boolean isQuorum, boolean isWaitingForReplicas,
            Optional<ConsensusService> service, Set<DriverOption> options, Opener opener) implements LockDriver {
        @Override
        public String version() {
            return versions.get();
        }

        @Override
        public LockSession open(SessionSpec spec) throws IOException, InterruptedException {
            return opener.open(spec);
        }
    }

    private static LockDriver lettuce(String name, Opener opener) {
        return new Peer(name, () -> LibraryVersion.of("Lettuce", "io.lettuce", "lettuce-core"), true, false,
                Optional.empty(), Set.of(DriverOption.TLS), opener);
    }

    private static LockDriver redisson(String name, RedissonSession.Kind kind) {
        return new Peer(name, () -> LibraryVersion.of("Redisson", "org.redisson", "redisson"),
                kind == RedissonSession.Kind.RED_LOCK, kind == RedissonSession.Kind.SINGLE_WAIT, Optional.empty(),
                kind == RedissonSession.Kind.FENCED
                        ? Set.of(DriverOption.TLS, DriverOption.WAIT, DriverOption.FENCED)
                        : Set.of(DriverOption.TLS, DriverOption.WAIT),
                spec -> RedissonSession.open(spec, kind));
    }

    private static LockDriver consensus(String name, ConsensusService service, String title, String group,
            String artifact) {
        return new Peer(name, () -> LibraryVersion.of(title, group, artifact), true, false, Optional.of(service),
                Set.of(DriverOption.WAIT), spec -> {
                    try {
                        return ((Opener) service.driver().getDeclaredConstructor().newInstance()).open(spec);
                    } catch (ReflectiveOperationException e) {
                        throw new IOException(name + " cannot be used: " + service.missing().orElse(""), e);
                    }
                });
    }

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

    private static LockDriver overTransport(LockDriver driver, String choice) {
        if (!(driver instanceof RedlockDriver ours)) {
            throw new IllegalArgumentException("'" + driver.name() + "@" + choice + "': " + driver.name()
                    + " has no choice of transport; leave @" + choice + " out");
        }
        return Stream.<LockDriver>concat(Arrays.stream(TransportKind.values())
                .filter(kind -> RedlockDriver.lower(kind).equals(choice))
                .map(ours::over),
                Arrays.stream(RedlockDriver.TlsChoice.values())
                        .filter(tls -> tls != RedlockDriver.TlsChoice.BEST && RedlockDriver.lower(tls).equals(choice))
                        .map(ours::with))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("'" + driver.name() + "@" + choice
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
