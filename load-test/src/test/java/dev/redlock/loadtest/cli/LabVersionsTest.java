package dev.redlock.loadtest.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.driver.Drivers;
import dev.redlock.loadtest.result.Versions;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import io.netty.util.Version;
import java.util.List;
import org.junit.jupiter.api.Test;

class LabVersionsTest {
    @Test
    void versionsOfNettyAndTheServersAreKnown() {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(2))) {
            Versions versions = LabVersions.of(List.of(Drivers.named("redlock")), nodes);
            assertEquals(Version.identify().get("netty-common").artifactVersion(), versions.netty());
            assertEquals(2, versions.servers().size());
            assertEquals(2, versions.servers().stream().filter(one -> one.matches("(redis|valkey) \\d.*")).count(),
                    versions.servers()::toString);
        }
    }
}
