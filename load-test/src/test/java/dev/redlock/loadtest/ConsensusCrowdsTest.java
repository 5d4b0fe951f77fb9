package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.consensus.ConsensusService;
import dev.redlock.loadtest.consensus.RequiredServices;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Crowds of clients of consensus services. */
class ConsensusCrowdsTest {
    @ParameterizedTest
    @CsvSource({"etcd,ETCD", "zookeeper,ZOOKEEPER"})
    void crowdsShowTheCpuOfServersThatCountNoCommands(String driver, ConsensusService service, @TempDir Path folder)
            throws Exception {
        RequiredServices.require(service);
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        Path data = Files.createDirectory(folder.resolve("data"));
        StringWriter out = new StringWriter();
        int code = Main.run(new PrintWriter(out, true), new PrintWriter(out, true), "contention", "--output",
                folder.resolve("run").toString(), "--driver", "redlock," + driver, "--nodes", "3", "--clients", "2,3",
                "--wait", "30s", "--consensus-data", data.toString(), "--duration", "2s", "--warmup", "50ms",
                "--jvm-warmup", "50ms");
        assertEquals(0, code, out::toString);
        String line = "(?m)^" + driver + " +3 +3 +[0-9]+ +- +- +[0-9]+ +[0-9]+ +[0-9]+ +[01][.][0-9]+ +[0-9]+$";
        assertTrue(Pattern.compile(line).matcher(out.toString()).find(), out::toString);
        assertTrue(Files.readString(folder.resolve("run/report.html")).contains("3 servers of " + service.title()));
        try (Stream<Path> left = Files.list(data)) {
            assertEquals(List.of(), left.toList(), "files of the servers");
        }
    }
}
