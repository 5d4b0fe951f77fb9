package dev.redlock.loadtest.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.Await;
import dev.redlock.loadtest.consensus.ConsensusServers.ServerProcess;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Of servers and drivers that are not there: the only test of this package in a build without them. */
class MissingServersTest {
    @Test
    void serverThatEndsAtOnceIsAnErrorWithTheEndOfItsLog(@TempDir Path folder) throws Exception {
        ServerProcess server = ServerProcess.start(List.of("sh", "-c", "echo no room; exit 3"),
                folder.resolve("server.log"));
        Await.until("its end", () -> server.awaitEnd(5));
        assertEquals("ended with exit code 3; its log ends with: no room", server.lastWords());
    }

    @Test
    void missingProgramIsNamedWithItsPackage() {
        assertEquals(Optional.of("there is no etcd on PATH: install it (on Debian: apt-get install etcd-server)"),
                EtcdGroup.missing("/nowhere"));
    }

    @Test
    void missingDriverIsNamedWithTheProfileThatHasIt() {
        assertEquals(Optional.of("this program was built without it: build it with mvn -Pconsensus -pl load-test -am "
                + "-DskipTests package"), ConsensusService.missing("org.example.Missing"));
        assertEquals(Optional.empty(), ConsensusService.missing("java.lang.String"));
    }
}
