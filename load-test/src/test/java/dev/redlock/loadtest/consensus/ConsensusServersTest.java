package dev.redlock.loadtest.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.Await;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ConsensusServersTest {
    @ParameterizedTest
    @EnumSource
    void groupServesUntilItIsClosedAndLeavesNothingBehind(ConsensusService service, @TempDir Path folder)
            throws Exception {
        RequiredServices.require(service);
        List<ProcessHandle> before = children();
        List<ProcessHandle> started;
        try (ConsensusServers servers = ConsensusServers.start(service, 3, folder)) {
            started = children().stream().filter(child -> !before.contains(child)).toList();
            assertTrue(started.size() >= 3, started::toString);
            assertEquals(3, servers.addresses().size());
            assertTrue(servers.cpuUs().orElseThrow() > 0);
            assertTrue(servers.choice().matches("3 servers of " + service.title() + " [0-9.]+, data in " + folder),
                    servers::choice);
        }
        Await.until("the end of its processes", () -> started.stream().noneMatch(ProcessHandle::isAlive));
        try (Stream<Path> left = Files.list(folder)) {
            assertEquals(List.of(), left.toList());
        }
    }

    private static List<ProcessHandle> children() {
        return ProcessHandle.current().children().toList();
    }

    @ParameterizedTest
    @EnumSource
    void oneServerIsAGroup(ConsensusService service, @TempDir Path folder) throws Exception {
        RequiredServices.require(service);
        try (ConsensusServers servers = ConsensusServers.start(service, 1, folder)) {
            assertEquals(1, servers.addresses().size());
        }
    }

    @Test
    void missingFolderIsAnError(@TempDir Path folder) {
        RequiredServices.require(ConsensusService.ZOOKEEPER);
        assertThrows(IOException.class,
                () -> ConsensusServers.start(ConsensusService.ZOOKEEPER, 1, folder.resolve("missing")));
    }
}
