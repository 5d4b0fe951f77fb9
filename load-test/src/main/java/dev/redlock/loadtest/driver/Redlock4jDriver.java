package dev.redlock.loadtest.driver;

import dev.redlock.loadtest.nodes.NodeAddress;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * The quorum lock of redlock4j over Jedis: one node after the other, a thread for each cycle in flight. No repository
 * that a build asks by default has a release of it, so nothing here is compiled against it: it takes part when its jar
 * is on the class path.
 *
 * @threading any thread
 */
public final class Redlock4jDriver implements LockDriver {
    private final ClassLoader loader;

    /** The library of this program's class path, if it is there. */
    public Redlock4jDriver() {
        this(Redlock4jDriver.class.getClassLoader());
    }

    Redlock4jDriver(ClassLoader loader) {
        this.loader = loader;
    }

    @Override
    public String name() {
        return "redlock4j";
    }

    @Override
    public String version() {
        return LibraryVersion.of(loader, "redlock4j", "org.codarama", "redlock4j");
    }

    @Override
    public String summary() {
        return "redlock4j's lock over Jedis, if its jar is on the class path";
    }

    @Override
    public Optional<String> missing() {
        return Redlock4jApi.isIn(loader)
                ? Optional.empty()
                : Optional.of("redlock4j is not on the class path; build its jar and run java -cp "
                        + "load-test.jar:redlock4j.jar dev.redlock.loadtest.Main");
    }

    @Override
    public LockSession open(List<NodeAddress> nodes, boolean isFresh) throws IOException {
        Optional<String> missing = missing();
        if (missing.isPresent()) {
            throw new IOException(missing.get());
        }
        return Redlock4jSession.open(new Redlock4jApi(loader), nodes);
    }
}
