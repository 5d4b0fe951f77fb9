package dev.redlock.loadtest.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.redlock.transport.NodeAddress;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

class InvocationTest {
    @Test
    void jarIsNamedAsTheUserNamedIt() {
        Path jar = Path.of("target", "load-test.jar").toAbsolutePath();
        assertEquals("java -jar target/load-test.jar", Invocation.program("target/load-test.jar", jar));
        assertEquals("java -jar ./target/load-test.jar", Invocation.program("./target/load-test.jar", jar));
    }

    @Test
    void classesNameTheJarOfABuild() {
        Path classes = Path.of("target", "classes").toAbsolutePath();
        for (String classPath : List.of("target/classes:lib/a.jar", "booter.jar", "target/classes")) {
            assertEquals("java -jar load-test/target/load-test.jar", Invocation.program(classPath, classes));
        }
    }

    @Test
    void wordsThatTheShellWouldChangeAreQuoted() {
        assertEquals("a=1,b:2/c 'it'\\''s' '$x' ''", Invocation.quoted(List.of("a=1,b:2/c", "it's", "$x", "")));
    }

    @Test
    void lineHasTheGivenOptionsWithoutPasswords() {
        CommandLine line = new CommandLine(new Sample());
        line.parseArgs("--addresses", "redis://ann:s3cr3t@a:1,b:2", "--nodes=1,2", "--fresh");
        assertEquals(Invocation.program() + " sample --addresses a:1,b:2 --nodes 1,2 --fresh", Invocation.of(line));
    }

    @Test
    void commandForStartedNodesHasAPlaceholderForTheirPassword() {
        String command = NodesCommand.measuring(List.of(NodeAddress.parse("redis://:s3cr3t@127.0.0.1:7001"),
                NodeAddress.parse("redis://:s3cr3t@127.0.0.1:7002")));
        assertFalse(command.contains("s3cr3t"), command);
        assertEquals(Invocation.program() + " latency --fresh --addresses "
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
