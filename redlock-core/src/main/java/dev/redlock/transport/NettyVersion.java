package dev.redlock.transport;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Rejects a Netty that is too old for this client. Dependency management, such as that of Spring Boot 3, may replace
 * the Netty of this library by an older one. Then the client fails here with the fix, not later with a missing class.
 *
 * <p>Each class is looked up by its name and is not initialised, so the check itself needs no class of Netty 4.2. A
 * version comes from the module or from the manifest of the jar that holds the class. The files
 * {@code META-INF/io.netty.versions.properties} are no source: jars that contain a relocated copy of Netty have them
 * too. A jar without a version passes, as long as the newest method that the client calls is present.
 *
 * @threading any thread
 */
public final class NettyVersion {

    private static final int[] OLDEST = {4, 2, 2};
    private static final String OLDEST_TEXT = "4.2.2";
    /** The version of the build. A test compares it with the POM. */
    static final String RECOMMENDED = "4.2.18.Final";
    private static final String NETTY_VENDOR = "The Netty Project";
    /** Its method {@code runNow(long)} appeared in 4.2.2. */
    private static final String NEWEST_CLASS = "io.netty.channel.ManualIoEventLoop";
    private static final String NEWEST_METHOD = "runNow";

    private static final List<Jar> JARS = List.of(new Jar("netty-common", "io.netty.util.Version"),
            new Jar("netty-buffer", "io.netty.buffer.ByteBuf"),
            new Jar("netty-resolver", "io.netty.resolver.AddressResolver"),
            new Jar("netty-transport", "io.netty.channel.Channel"),
            new Jar("netty-handler", "io.netty.handler.flush.FlushConsolidationHandler"),
            new Jar("netty-transport-native-unix-common", "io.netty.channel.unix.Socket"),
            new Jar("netty-transport-classes-epoll", "io.netty.channel.epoll.Epoll"),
            new Jar("netty-transport-classes-kqueue", "io.netty.channel.kqueue.KQueue"),
            new Jar("netty-transport-classes-io_uring", "io.netty.channel.uring.IoUring"));

    /**
     * A jar of Netty that the client uses.
     *
     * @param className one of its classes, which Netty 4.1 has too if it has the jar
     * @threading immutable
     */
    private record Jar(String name, String className) {
    }

    private NettyVersion() {
    }

    /**
     * Checks every Netty jar that this client uses.
     *
     * @throws IllegalStateException if one is too old; the message contains the versions found and the fix
     */
    public static void check() {
        check(NettyVersion.class.getClassLoader());
    }

    static void check(ClassLoader loader) {
        Map<String, String> tooOld = new TreeMap<>();
        for (Jar jar : JARS) {
            Class<?> type = find(jar.className, loader);
            String version = type == null ? null : versionOf(type);
            if (version != null && isTooOld(version)) {
                tooOld.merge(version, jar.name, (first, second) -> first + ", " + second);
            }
        }
        if (!tooOld.isEmpty()) {
            throw tooOld(tooOld.entrySet()
                    .stream()
                    .map(entry -> entry.getKey() + " (" + entry.getValue() + ")")
                    .collect(Collectors.joining(", ")));
        }
        if (!hasNewestMethod(loader)) {
            throw tooOld("one without " + NEWEST_CLASS + "." + NEWEST_METHOD + "(long)");
        }
    }

    private static IllegalStateException tooOld(String found) {
        return new IllegalStateException("redlock needs Netty " + OLDEST_TEXT + " or newer, found " + found
                + ": set the property netty.version to " + RECOMMENDED + ", or import io.netty:netty-bom:" + RECOMMENDED
                + " before spring-boot-dependencies and any other BOM that manages Netty");
    }

    private static Class<?> find(String name, ClassLoader loader) {
        try {
            return Class.forName(name, false, loader);
        } catch (ClassNotFoundException | LinkageError e) {
            // A jar that is left out is no old jar: without it the client uses another transport.
            return null;
        }
    }

    private static boolean hasNewestMethod(ClassLoader loader) {
        Class<?> type = find(NEWEST_CLASS, loader);
        try {
            return type != null && type.getMethod(NEWEST_METHOD, long.class) != null;
        } catch (NoSuchMethodException | LinkageError e) {
            return false;
        }
    }

    /** @return the version of the jar that holds a class of Netty; null if it is unknown */
    private static String versionOf(Class<?> type) {
        if (type.getModule().isNamed()) {
            return type.getModule().getDescriptor().rawVersion().orElse(null);
        }
        Package owner = type.getPackage();
        // The manifest of a merged jar has the version of the application.
        return NETTY_VENDOR.equals(owner.getImplementationVendor()) ? owner.getImplementationVersion() : null;
    }

    /** @return true if a version is older than needed; false if it is not, or if it is no version number */
    static boolean isTooOld(String version) {
        String[] parts = version.split("[.-]");
        for (int i = 0; i < OLDEST.length; i++) {
            if (i == parts.length || !parts[i].matches("[0-9]{1,9}")) {
                return false;
            }
            int difference = Integer.parseInt(parts[i]) - OLDEST[i];
            if (difference != 0) {
                return difference < 0;
            }
        }
        return false;
    }
}
