package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TransportKind;
import dev.redlock.testing.LogLines;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.logging.Level;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** A client that starts logs one line with what it is, and without secrets. */
class StartLineTest {

    private static String version() throws Exception {
        Matcher version = Pattern.compile("<artifactId>redlock-parent</artifactId>\\s*<version>(.+?)</version>")
                .matcher(Files.readString(Path.of("pom.xml")));
        assertTrue(version.find());
        return version.group(1);
    }

    @Test
    void itNamesVersionNodesTransportAndGuard() throws Exception {
        try (LogLines log = new LogLines()) {
            Redlock.connect(new RedlockContext()
                    .nodes("redis://app:GEHEIM@127.0.0.1:1", "redis://127.0.0.1:2")
                    .transport(TransportKind.NIO)
                    .eventLoops(2)
                    .restartGuard(RestartGuardMode.UPTIME)
                    .maxTtl(Duration.ofSeconds(30))).close();
            List<String> lines = log.with(Level.INFO, "redlock " + version() + " starts");
            assertEquals(List.of("redlock " + version() + " starts with nodes 127.0.0.1:1, 127.0.0.1:2; votes needed:"
                    + " 2 of 2; transport NIO as configured, event loops: 2; restartGuard UPTIME, maxTtl 30000 ms"),
                    lines);
            assertFalse(log.with("").toString().contains("GEHEIM"));
        }
    }
}
