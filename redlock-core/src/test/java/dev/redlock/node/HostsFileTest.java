package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.SocketNodes;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The resolver of the JDK and real sockets: a process whose hosts file gives one name several addresses. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class HostsFileTest {

    @TempDir
    private static Path folder;

    /** A process that locks once. */
    static final class Locker {

        private Locker() {
        }

        /** The argument is the address of the node. */
        public static void main(String[] args) throws InterruptedException {
            try (Redlock redlock = Redlock.connect(new RedlockContext().nodes(args[0]))) {
                AcquireOutcome outcome = redlock.acquire("orders", Duration.ofSeconds(30));
                System.out.println(redlock.nodes());
                System.out.println(outcome.isAcquired() ? outcome.lease().release() : outcome);
            }
        }
    }

    /** The node listens on 127.0.0.1 alone. */
    @Test
    void theClientLocksAtTheOnlyAddressThatAnswers() throws Exception {
        Path hosts = Files.writeString(folder.resolve("hosts"), """
                127.0.0.2 node.example
                ::1 node.example
                127.0.0.1 node.example
                """);
        try (SocketNodes nodes = new SocketNodes(1)) {
            String port = nodes.addresses()[0].replaceFirst(".*:", "");
            Process process = new ProcessBuilder(ProcessHandle.current().info().command().orElse("java"),
                    "-XX:TieredStopAtLevel=1", "-Djdk.net.hosts.file=" + hosts, "-classpath",
                    System.getProperty("java.class.path"), Locker.class.getName(), "node.example:" + port)
                    .redirectErrorStream(true)
                    .start();
            List<String> lines;
            try (BufferedReader output = new BufferedReader(
                    new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                lines = output.lines().toList();
            }
            assertEquals(0, process.waitFor(), lines::toString);
            assertEquals(ReleaseOutcome.RELEASED.name(), lines.get(lines.size() - 1), lines::toString);
            assertTrue(lines.stream()
                    .anyMatch(line -> line.contains("127.0.0.2: connection failed: ")
                            && line.endsWith("; connected to 127.0.0.1, one of the 3 addresses of node.example")),
                    lines::toString);
        }
    }
}
