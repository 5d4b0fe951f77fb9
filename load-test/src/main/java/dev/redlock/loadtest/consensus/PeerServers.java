package dev.redlock.loadtest.consensus;

import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The servers of consensus services, one group of each service at a time.
 *
 * @threading caller-confined
 */
public final class PeerServers implements AutoCloseable {
    private final Path dataFolder;
    private final Consumer<String> notes;
    private final Map<ConsensusService, ConsensusServers> running = new EnumMap<>(ConsensusService.class);

    /** The notes get a line for each group that starts. */
    public PeerServers(Path dataFolder, Consumer<String> notes) {
        this.dataFolder = dataFolder;
        this.notes = notes;
    }

    /** A running group of this size; a group of another size ends first. */
    public ConsensusServers of(ConsensusService service, int count) throws IOException, InterruptedException {
        ConsensusServers servers = running.get(service);
        if (servers != null && servers.addresses().size() == count) {
            return servers;
        }
        if (servers != null) {
            servers.close();
            running.remove(service);
        }
        servers = ConsensusServers.start(service, count, dataFolder);
        running.put(service, servers);
        notes.accept(servers.choice());
        return servers;
    }

    @Override
    public void close() {
        running.values().forEach(ConsensusServers::close);
        running.clear();
    }
}
