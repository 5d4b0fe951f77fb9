package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.ExitCodes;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import dev.redlock.trial.nodes.TemporaryFolders;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** The program from its command line, on real nodes. */
class MainTest {
    /** CPU time and bytes of a short turn may be a little below zero: those of the rig are subtracted. */
    private static final String NUMBER = " +-?[0-9.]+";
    private static final String SPREAD = " \\([0-9.]+ - [0-9.]+\\)";

    @TempDir
    private Path output;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void shortSweepPrintsItsTableAndLeavesNothingBehind() throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        try (ChildProgram program = ChildProgram.start("--nodes", "1,3", "--in-flight", "1,8", "--duration", "200ms",
                "--warmup", "50ms", "--jvm-warmup", "100ms", "--repetitions", "2")) {
            program.awaitLine("N = 3");
            List<ProcessHandle> servers = program.servers();
            assertEquals(3, servers.size());
            assertEquals(0, program.awaitExit(), () -> program.err());
            String text = program.out();
            assertTrue(text.matches("3 nodes: [^\n]*(not )?pinned to cores?[ :][^\n]*\n(?s:.*)"), text);
            assertTrue(
                    Pattern.compile(
                            "(?m)^Acquire p50, redlock, 8 in flight: [0-9.]+ us" + SPREAD + " on 1 node, [0-9.]+ us"
                                    + SPREAD + " on 3 nodes; median of 2 turns \\(fastest - slowest\\)$")
                            .matcher(text)
                            .find(),
                    text);
            for (String start : List.of("1 +1", "1 +8", "3 +1", "3 +8")) {
                assertTrue(Pattern.compile("(?m)^ +" + start + NUMBER.repeat(2) + SPREAD + NUMBER.repeat(7) + "$")
                        .matcher(text)
                        .find(), text);
            }
            Matcher checked = Pattern.compile("PASS: no two holders overlapped in ([0-9,]+ holdings of contested"
                    + " resources) \\(8 rivals of 2 clients for 2 resources at a time\\)").matcher(text);
            assertTrue(checked.find(), text);
            String report = program.result("report.html");
            assertTrue(report.contains("<dd>0</dd><dd>in " + checked.group(1) + "</dd>"), report);
            assertTrue(text.strip().matches("(?s).*\\RResults: load-test-results/latency-\\S+/report\\.html"), text);
            assertTrue(program.results()
                    .containsAll(List.of("report.html", "results.json", "series.csv", "redlock-n3-k8-r2-cycle.hgrm",
                            "redlock-n1-k1-r1-acquire.hlog")),
                    () -> program.err());
            assertEquals(List.of(), program.leftovers());
            assertNoneAlive(servers);
        }
    }

    @ParameterizedTest
    @CsvSource({"INT, 130", "TERM, 143"})
    void signalStopsEverything(String signal, int exitCode) throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        try (ChildProgram program = ChildProgram.start("--nodes", "3", "--duration", "10m", "--jvm-warmup", "0s")) {
            program.awaitLine("N = 3, 1 in flight");
            List<ProcessHandle> servers = program.servers();
            assertEquals(3, servers.size());
            program.signal(signal);
            assertEquals(exitCode, program.awaitExit(), () -> program.err());
            assertNoneAlive(servers);
            assertEquals(List.of(), program.leftovers());
            assertFalse(program.out().contains("FAIL"), program.out());
            assertFalse(program.err().contains("Exception"), program.err());
            assertEquals(List.of(), program.results(), "half a run was left behind");
        }
    }

    /** Its folder has an owner, so that the next program removes it. */
    @Test
    void interruptedFirstSecondLeavesAFolderThatTheNextProgramRemoves() throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        try (ChildProgram program = ChildProgram.start("first-second", "--nodes", "1", "--forms", "COLD",
                "--rounds", "1000")) {
            Await.until("a process prints into the folder", () -> program.folders("first-second-.*")
                    .stream()
                    .anyMatch(folder -> Files.exists(folder.resolve("printed"))));
            program.signal("INT");
            assertEquals(130, program.awaitExit(), program::err);
            Path left = program.folders("first-second-.*").get(0);
            Path next = TemporaryFolders.create(left.getParent(), "redlock-nodes-");
            assertEquals(List.of(), program.folders("first-second-.*"));
            TemporaryFolders.delete(next);
        }
    }

    @Test
    void killedJvmLeavesNoServerBehind() throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        try (ChildProgram program = ChildProgram.start("--nodes", "3", "--duration", "10m", "--jvm-warmup", "0s")) {
            program.awaitLine("N = 3, 1 in flight");
            List<Integer> ports = program.servedPorts();
            assertEquals(3, ports.size());
            program.signal("KILL");
            program.awaitExit();
            for (int port : ports) {
                assertTrue(refusesSoon(port), "something still listens on port " + port);
            }
            Path left = program.leftovers().get(0);
            Path next = TemporaryFolders.create(left.getParent(), "redlock-nodes-");
            assertEquals(List.of(next), program.leftovers(), "the next start removes the folder");
            TemporaryFolders.delete(next);
        }
    }

    /** The guard acts a moment after the JVM's end. */
    private static boolean refusesSoon(int port) throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        CountDownLatch pause = new CountDownLatch(1);
        while (isListening(port) && deadlineNs - System.nanoTime() > 0) {
            pause.await(10, TimeUnit.MILLISECONDS);
        }
        return !isListening(port);
    }

    private static boolean isListening(int port) {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void givenAddressesAreMeasuredAndLeftRunning() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1).config("requirepass s3cr3t"))) {
            int code = run("--addresses", nodes.addresses()[0], "--driver", "set-nx", "--in-flight", "2",
                    "--duration", "100ms", "--warmup", "0ms", "--jvm-warmup", "0ms", "--repetitions", "1", "--output",
                    output.resolve("given").toString());
            String json = Files.readString(output.resolve("given/results.json"));
            assertFalse(json.contains("s3cr3t"), "a password was written");
            assertEquals(0, code, () -> out.toString() + err);
            assertTrue(out.toString().startsWith("1 node: given addresses"), out::toString);
            assertFalse((out.toString() + err).contains("s3cr3t"), "a password was printed");
            assertEquals("PONG", nodes.node(0).call("PING"));
        }
    }

    @Test
    void nodesInQuarantineFailTheRunAtItsStart() {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1))) {
            String[] addresses = {"--addresses", nodes.addresses()[0], "--output", output.resolve("young").toString()};
            assertEquals(3, run(addresses));
            assertTrue(err.toString().contains("too few nodes vote yet: up are " + nodes.node(0).address() + " for "),
                    err::toString);
            assertFalse(Files.exists(output.resolve("young")), "an empty folder was left behind");
            assertEquals(0, run("--addresses", nodes.addresses()[0], "--fresh", "--in-flight", "1", "--duration",
                    "500ms", "--warmup", "0ms", "--jvm-warmup", "0ms", "--repetitions", "1", "--output",
                    output.resolve("fresh").toString()),
                    () -> out.toString() + err);
        }
    }

    @Test
    void nodeThatDiesUnderASingleNodeLockFailsTheRun() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1));
                ChildProgram program = ChildProgram.start("--addresses", nodes.addresses()[0], "--driver", "set-nx",
                        "--in-flight", "4", "--duration", "1s", "--jvm-warmup", "0s")) {
            program.awaitLine("N = 1, 4 in flight");
            nodes.node(0).pause();
            nodes.node(0).kill();
            int code = program.awaitExit();
            assertTrue(code == 1 || code == 3, () -> code + program.err());
        }
    }

    /** As for someone who has copied load-test.jar alone. */
    @Test
    void containersWithoutTheirLibrariesAreRefused() throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                .split(File.pathSeparator)) {
            if (!entry.contains("testcontainers")) {
                urls.add(Path.of(entry).toUri().toURL());
            }
        }
        StringWriter err = new StringWriter();
        PrintWriter printer = new PrintWriter(err, true);
        try (URLClassLoader loader = new URLClassLoader(urls.toArray(URL[]::new),
                ClassLoader.getPlatformClassLoader())) {
            Method run = loader.loadClass(Main.class.getName())
                    .getDeclaredMethod("run", PrintWriter.class, PrintWriter.class, String[].class);
            run.setAccessible(true);
            Object code = run.invoke(null, printer, printer, new String[]{"nodes", "1", "--source", "container"});
            assertEquals(ExitCodes.NO_NODES, code, err::toString);
        }
        assertTrue(err.toString().contains("there is no Testcontainers on the class path"),
                err::toString);
    }

    @Test
    void unreachableAddressesAreNamed() {
        assertEquals(3, run("--addresses", "redis://ann:topsecret@127.0.0.1:1"));
        assertTrue(err.toString().contains("only 0 of 1 given addresses answer PING"), err::toString);
        assertTrue(err.toString().contains("127.0.0.1:1"), err::toString);
        assertFalse(err.toString().contains("topsecret"), err::toString);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"--nodes 0|--nodes is [0]: expected counts of 1 to 63",
        "--nodes 1,64|--nodes is [1, 64]: expected counts of 1 to 63", "--nodes x|'x' is not an int",
        "--in-flight 0|--in-flight is [0]: expected 1 to 4096",
        "--duration 5|'5' is not a duration: expected a number and a unit",
        "--duration 1ms|--duration is 1ms: expected at least 10ms", "--ttl 99ms|--ttl is 99ms: expected at least",
        "--driver none|--driver: 'none': expected one of", "--driver redlock,redlock|--driver names one twice",
        "--driver set-nx --fenced|--fenced is not supported by driver set-nx",
        "--driver set-nx --transport nio|--transport is not supported by driver set-nx",
        "--driver set-nx --unix-sockets|--unix-sockets is not supported by driver set-nx",
        "--driver set-nx --commands scripts|--commands is not supported by driver set-nx",
        "--driver redlock-scripts --commands native|--commands is not supported by driver redlock-scripts",
        "--commands lua|expected one of [AUTO, SCRIPTS, NATIVE]",
        "--driver set-nx --handoffs 1|--handoffs is not supported by driver set-nx",
        "--handoffs -1|--handoffs is -1: expected 0 to 4194304",
        "--transport kqueue|--driver redlock: transport kqueue cannot be used here: ",
        "--driver redlock@kqueue|--driver redlock@kqueue: transport kqueue cannot be used here: ",
        "--thrifty|--driver redlock: a thrifty quorum of 1 node is all of them: measure three or more",
        "compare --driver redlock-thrifty --nodes 2|a thrifty quorum of 2 nodes is all of them",
        "--addresses ,|--addresses has an empty element: write values between commas, and none at the end",
        "--addresses a:1,|--addresses has an empty element",
        "--rate ,|--rate has an empty element", "--nodes 1,|--nodes has an empty element",
        "chaos --faults ,|--faults has an empty element",
        "chaos --duration 0s|--duration is 0ms: expected at least 100ms",
        "chaos --node-timeout 0ms|--node-timeout is 0ms: expected at least 1ms",
        "history pom.xml|pom.xml is no history: expected a file of chaos --history",
        "history src|src cannot be read: expected a file of chaos --history",
        "--transport tcp|expected one of [AUTO, IO_URING, EPOLL, KQUEUE, NIO]",
        "--event-loops 0|--event-loops is 0: expected 1 to 64", "--clients 513|--clients is 513: expected 1 to 512",
        "--nodes 3,1,3|--nodes names one twice: 3,1,3", "--in-flight 1,1|--in-flight names one twice: 1,1",
        "--rate 5,5|--rate names one twice", "--rate 1000001|at most a million",
        "--rate 0|--rate is [0.0]: expected more than 0", "--rate 5 --in-flight 1,2|with --rate, give one number",
        "--hot-share 1.5|--hot-share is 1.5: expected 0 to 1", "--errors-max -1|--errors-max is -1.0: expected 0 to 1",
        "--keys 0|--keys is 0: expected 1 to 1000000", "--ttl 61s|--ttl is 61s: expected at most 60s",
        "--hold 30s|--hold is 30s: expected less than --ttl, 30s", "--repetitions 0|--repetitions is 0: expected 1 to",
        "--delay fast|--delay: 'fast': 'fast' is not a duration", "--delay x=1ms|expected the number of a node",
        "--delay 7=1ms|--delay names node 7: there are 7, counted from 0", "--delay 11s|expected at most 10s",
        "--delay 1ms --unix-sockets|--delay needs nodes on TCP",
        "--addresses unix:///a --delay 1ms|--delay needs nodes on TCP",
        "--cluster-shards 0|--cluster-shards is 0: expected 1 to 20",
        "--nodes 7 --cluster-shards 10|at most 63 servers are started",
        "--nodes 3 --cluster-shards 2 --delay 1ms|--delay and --cluster-shards exclude each other",
        "--nodes 3 --cluster-shards 2 --tls|--cluster-shards excludes --unix-sockets, --tls",
        "--driver set-nx --nodes 3 --cluster-shards 2|--cluster-shards is not supported by driver set-nx",
        "--driver etcd|--driver etcd locks on other servers, which compare starts: use compare",
        "compare --driver etcd --delay 1ms|--delay is for Redis and Valkey only",
        "compare --driver zookeeper --nodes 11|zookeeper is measured with at most 9 servers",
        "--pin 1-|--pin: '1-': expected auto, none, or cores such as 1 or 2-5,7",
        "nodes --pin x|--pin: 'x': expected auto, none",
        "--addresses a:1 --pin 1|--pin is for nodes that load-test starts",
        "--addresses a:1 --unix-sockets|with --addresses, write unix:///path",
        "--fresh|--fresh is for servers named with --addresses", "--output pom.xml|is not an empty folder",
        "throughput --rate 5 --rate-from 5|--rate and --rate-from exclude each other",
        "throughput --rate-from 0|--rate-from is 0.0: expected 1 to 1000000",
        "tails --rate 5|--rate is not for tails: use --shares",
        "tails --shares 0|--shares is [0.0]: expected more than 0",
        "tails --shares 9,9|--shares names one twice", "tails --highest 0|--highest is 0.0: expected 1 to 1000000",
        "tails --nodes 1,3|give one value of --nodes", "tails --clients 2|give one value of --nodes, and no --clients",
        "contention --rate 5|contention is measured in a closed loop",
        "election --candidates 1|--candidates is 1: expected 2 to 512", "election --ttl 1ms|--ttl is 1ms: expected at",
        "election --ttl 61s|--ttl is 61s: expected at most 60s", "election --idle 0ms|--idle is 0ms: expected at least",
        "contention --clients 2,2|--clients names one twice", "latency --clients 2,4|contention alone takes several",
        "contention --clients 2,4 --in-flight 8|each client has one waiter; leave it out",
        "contention --clients 2,4 --cluster-shards 2|the nodes are single masters",
        "contention --driver etcd|--driver etcd locks on other servers, which compare starts: use compare",
        "contention --clients 2,4 --driver etcd --delay 1ms|--delay is for Redis and Valkey only",
        "contention --clients 2,4 --driver redisson-wait|whose use it verifies: use compare",
        "contention --consensus-data x|only with several numbers of --clients",
        "retain --local-shares 100|--local-shares is [100]: expected 1 to 99", "retain --rate 5|in a closed loop",
        "retain --local-shares 9,9|--local-shares names one twice", "retain --clients 3|leave --clients and --rate out",
        "retain --driver redlock,jedis|--driver jedis cannot wait for a lock",
        "retain --fenced|--fenced is not supported by driver redlock-retained",
        "--driver redlock-retained --commands native|--commands is not supported by driver redlock-retained",
        "soak --in-flight 1,2|soak keeps up one load", "soak --sample 2h|expected less than --duration",
        "leases --count 0|--count is 0: expected 1 to 1048576", "leases --rate 1,2|leases are held by one client",
        "leases --driver jedis|which does not renew leases", "leases --idle 1ms|--idle is 1ms: expected at least 100ms",
        "soak --sample 1ms|--sample is 1ms: expected at least 100ms",
        "nodes 0|N is 0: expected 1 to 63", "nodes 3 --source given|this command starts nodes",
        "--addresses nohost|node address \"nohost\" is invalid: the port is missing; write nohost:6379",
        "--addresses a:1,redis://a:1|--addresses names a server twice",
        "--addresses a:1 --nodes 3|--nodes asks for 3 nodes and --addresses names 1",
        "--source path --addresses a:1|--source and --addresses exclude each other",
        "--source given|name the servers with --addresses", "--colour|Unknown option: '--colour'",
        "measure|Unmatched argument at index 0: 'measure'", "latency more|Unmatched argument"})
    void wrongOptionsReportTheRule(String args, String message) {
        assertEquals(2, run(args.split(" ")));
        assertTrue(err.toString().contains(message), err::toString);
        assertEquals("", out.toString());
        List<String> lines = err.toString().lines().toList();
        assertTrue(lines.size() <= 3, "the error scrolls away: " + err);
        assertTrue(lines.get(lines.size() - 1).matches("All options: java -jar \\S+( [a-z]+)* --help"), err::toString);
    }

    @Test
    void similarNamesAreSuggested() {
        assertEquals(2, run("latecny"));
        assertTrue(err.toString().contains("Did you mean: load-test latency"), err::toString);
        assertTrue(err.toString().endsWith("load-test.jar --help" + System.lineSeparator()), err::toString);
        assertEquals(2, run("soak", "--sample", "x"));
        assertTrue(err.toString().endsWith("load-test.jar soak --help" + System.lineSeparator()), err::toString);
    }

    @ParameterizedTest
    @ValueSource(ints = {70, 150})
    void helpIsAsWideAsTheTerminal(int columns) throws Exception {
        List<String> lines = ChildProgram.help(columns).lines().toList();
        int widest = lines.stream().mapToInt(String::length).max().orElseThrow();
        assertTrue(widest <= columns && widest > columns - 20, () -> String.join("\n", lines));
    }

    @Test
    void helpOfAChoiceNamesEveryValue() {
        List<String> missing = new ArrayList<>();
        for (CommandLine command : Main.commandLine().getSubcommands().values()) {
            boolean isShown = !command.getCommandSpec().usageMessage().hidden();
            for (OptionSpec option : isShown ? command.getCommandSpec().options() : List.<OptionSpec>of()) {
                String help = String.join(" ", option.description()).toLowerCase(Locale.ROOT);
                for (Object value : choices(option)) {
                    if (!help.matches("(?s).*\\b" + value.toString().toLowerCase(Locale.ROOT) + "\\b.*")) {
                        missing.add(command.getCommandName() + " " + option.longestName() + ": " + value);
                    }
                }
            }
        }
        assertEquals(List.of(), missing);
    }

    /** The source of given addresses is chosen with --addresses. */
    private static List<?> choices(OptionSpec option) {
        Class<?> type = option.typeInfo().isMultiValue()
                ? option.typeInfo().getAuxiliaryTypes()[0]
                : option.typeInfo().getType();
        boolean isListed = !type.isEnum() || option.description()[0].contains("${COMPLETION-CANDIDATES}");
        return isListed
                ? List.of()
                : Arrays.stream(type.getEnumConstants()).filter(value -> value != Source.GIVEN).toList();
    }

    @Test
    void helpNamesCommandsAndExitCodes() {
        assertEquals(0, run("--help"));
        assertTrue(out.toString().contains("latency") && out.toString().contains("130"), out::toString);
        for (String command : List.of("latency", "throughput", "contention", "retain", "leases", "soak", "cycles",
                "yardstick", "loops", "command-cost", "versus-commit", "callers", "chaos",
                "tails", "first-second",
                "nodes")) {
            out.getBuffer().setLength(0);
            assertEquals(0, run(command, "--help"));
            assertTrue(out.toString().contains("Examples, after alias 'load-test=java "), out::toString);
            assertTrue(out.toString().contains("load-test " + command + " [OPTIONS]"), out::toString);
            assertTrue(out.toString().contains("Exit codes:"), out::toString);
            assertFalse(out.toString().contains("${"), out::toString);
        }
    }

    @Test
    void versionNamesTheJvm() {
        assertEquals(0, run("--version"));
        assertTrue(out.toString().contains("Java " + Runtime.version()), out::toString);
    }

    private int run(String... args) {
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    private static void assertNoneAlive(List<ProcessHandle> servers) {
        servers.forEach(server -> assertFalse(server.isAlive(), () -> "process " + server.pid() + " is still there"));
    }
}
