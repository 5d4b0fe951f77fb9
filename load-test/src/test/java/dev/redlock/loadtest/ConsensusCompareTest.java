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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The compare command with the servers of consensus services. */
class ConsensusCompareTest {
    @ParameterizedTest
    @CsvSource({"etcd,ETCD", "zookeeper,ZOOKEEPER"})
    void consensusServiceIsMeasuredOnServersOfItsOwn(String driver, ConsensusService service, @TempDir Path folder)
            throws Exception {
        RequiredServices.require(service);
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        Path data = Files.createDirectory(folder.resolve("data"));
        StringWriter out = new StringWriter();
        // A cycle of ZooKeeper may take 200 ms, with a disk that others use.
        int code = Main.run(new PrintWriter(out, true), new PrintWriter(out, true), "compare", "--output",
                folder.resolve("run").toString(), "--driver", "redlock-blocking," + driver, "--nodes", "3",
                "--in-flight", "2", "--repetitions", "1", "--consensus-data", data.toString(), "--duration", "600ms",
                "--warmup", "50ms", "--jvm-warmup", "50ms");
        assertEquals(0, code, out::toString);
        String figures = "(?m)^" + driver + " +[0-9]+ +\\([0-9]+ - [0-9]+\\)( +[0-9.]+){8}$";
        assertTrue(Pattern.compile(figures).matcher(out.toString()).find(), out::toString);
        String report = Files.readString(folder.resolve("run/report.html"));
        assertTrue(report.contains("3 servers of " + service.title()), report);
        assertTrue(report.contains("data in " + data), report);
        try (Stream<Path> left = Files.list(data)) {
            assertEquals(List.of(), left.toList(), "files of the servers");
        }
    }

    @Test
    void serversEndWithAKilledProgram() throws Exception {
        RequiredServices.require(ConsensusService.ETCD);
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        try (ChildProgram program = ChildProgram.start("compare", "--driver", "etcd", "--nodes", "3", "--duration",
                "10m", "--jvm-warmup", "0s")) {
            program.awaitLine("etcd, N = 3, 1 in flight");
            Await.until("three nodes and three servers of etcd", () -> program.servers().size() == 6);
            List<ProcessHandle> servers = program.servers();
            program.signal("KILL");
            Await.until("the end of its servers", () -> servers.stream().noneMatch(ProcessHandle::isAlive));
        }
    }
}
