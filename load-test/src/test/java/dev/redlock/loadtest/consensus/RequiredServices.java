package dev.redlock.loadtest.consensus;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;

/**
 * Servers of a consensus service for a test, or a skipped test where this machine has none. With
 * {@code -Dtests.requireServers=true} a missing service fails the test.
 */
public final class RequiredServices {
    private RequiredServices() {
    }

    public static void require(ConsensusService service) {
        boolean isPresent = service.missing().isEmpty();
        if (!isPresent && Boolean.getBoolean("tests.requireServers")) {
            throw new AssertionError(service.missing().get());
        }
        Assumptions.assumeTrue(isPresent, () -> service.missing().orElse(""));
    }

    public static ConsensusServers start(ConsensusService service, int count) throws IOException, InterruptedException {
        require(service);
        return ConsensusServers.start(service, count, Path.of(System.getProperty("java.io.tmpdir")));
    }
}
