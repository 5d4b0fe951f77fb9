package dev.redlock.loadtest.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.redlock.transport.NodeAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

class InvocationTest {
    @Test
    void lineHasTheGivenOptionsWithoutPasswords() {
        CommandLine line = new CommandLine(new Sample());
        line.parseArgs("--addresses", "redis://ann:s3cr3t@a:1,b:2", "--nodes=1,2", "--fresh");
        assertEquals(Invocation.PROGRAM.start() + " sample --addresses a:1,b:2 --nodes 1,2 --fresh",
                Invocation.of(line));
    }

    @Test
    void commandForStartedNodesHasAPlaceholderForTheirPassword() {
        String command = NodesCommand.measuring(List.of(NodeAddress.parse("redis://:s3cr3t@127.0.0.1:7001"),
                NodeAddress.parse("redis://:s3cr3t@127.0.0.1:7002")));
        assertFalse(command.contains("s3cr3t"), command);
        assertEquals(Invocation.PROGRAM.start() + " latency --fresh --addresses "
                + "redis://:PASSWORD@127.0.0.1:7001,redis://:PASSWORD@127.0.0.1:7002", command);
    }

    @Command(name = "sample")
    private static final class Sample {
        @Option(names = "--addresses", split = ",")
        private List<String> addresses;

        @Option(names = "--nodes", split = ",")
        private List<Integer> nodes;

        @Option(names = "--fresh")
        private boolean isFresh;

        @Option(names = "--seed", defaultValue = "1")
        private long seed;

        Sample() {
            // picocli fills the fields.
        }
    }
}
