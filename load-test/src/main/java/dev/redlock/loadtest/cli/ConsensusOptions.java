package dev.redlock.loadtest.cli;

import dev.redlock.cli.Options;
import dev.redlock.loadtest.consensus.ConsensusService;
import dev.redlock.loadtest.consensus.PeerServers;
import dev.redlock.loadtest.driver.LockDriver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * The options of commands that start the servers of consensus services.
 *
 * @threading caller-confined
 */
public final class ConsensusOptions {
    public static final String DATA = "--consensus-data";

    @Option(names = DATA, paramLabel = "FOLDER", defaultValue = "${sys:java.io.tmpdir}",
            description = "Folder for the data of the servers of etcd and ZooKeeper, which write each change to disk: "
                    + "/dev/shm leaves the disk out of the figures (default: ${DEFAULT-VALUE}).")
    private Path data;

    private final List<String> skipped = new ArrayList<>();

    /** Rejects options that have no effect on the servers of these drivers. */
    public void check(CommandLine line, List<LockDriver> drivers, NodeOptions nodes, List<String> redisOnly) {
        for (LockDriver driver : drivers) {
            if (driver.service().isEmpty()) {
                continue;
            }
            for (String option : redisOnly) {
                Options.require(line, !line.getParseResult().hasMatchedOption(option), option + " is for Redis and "
                        + "Valkey only, so a comparison with " + driver.name() + " would not be fair: leave it out");
            }
            Options.require(line, nodes.countMax() <= ConsensusService.COUNT_MAX, "--nodes is "
                    + nodes.counts() + ": " + driver.name() + " is measured with at most "
                    + ConsensusService.COUNT_MAX + " servers");
        }
    }

    /** The drivers whose servers and libraries this machine has; at least one, or it throws. */
    public List<LockDriver> available(List<LockDriver> drivers) throws IOException {
        if (!Files.isDirectory(data)) {
            throw new IOException(DATA + " is " + data + ": there is no such folder");
        }
        List<LockDriver> found = new ArrayList<>();
        for (LockDriver driver : drivers) {
            Optional<String> missing = driver.service().flatMap(ConsensusService::missing);
            missing.ifPresentOrElse(reason -> skipped.add(driver.name() + " was skipped: " + reason),
                    () -> found.add(driver));
        }
        if (found.isEmpty()) {
            throw new IOException(String.join("; ", skipped));
        }
        return found;
    }

    /** A sentence for each driver that {@link #available} has left out. */
    public List<String> skipped() {
        return skipped;
    }

    /** The servers, each group started when it is first used. The notes get a line for each. */
    public PeerServers servers(Consumer<String> notes) {
        return new PeerServers(data, notes);
    }
}
