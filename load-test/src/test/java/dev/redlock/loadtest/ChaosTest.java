package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.redlock.cli.ExitCodes;
import dev.redlock.history.HistoryChecker;
import dev.redlock.trial.faults.NodeNetwork;
import dev.redlock.trial.nodes.ClockLibrary;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * The chaos command as a user runs it: real nodes, worker processes, faults. Most of a run is waiting, so runs overlap.
 */
@Tag("chaos")
@Execution(ExecutionMode.CONCURRENT)
class ChaosTest {
    private static final String NAMESPACES = "network namespaces";
    private static final Pattern EDN_MAP = Pattern.compile("\\{:index \\d+, :time \\d+, :process \\d+, :type :"
            + "(invoke|ok|fail|info), :f :(acquire|release|read|write), :value (nil|\\d+)}");
    private static final Pattern TWO_PROCESSES = Pattern
            .compile("FAIL: OVERLAP on resource \\d: worker (\\d) .* and worker (?!\\1)\\d ");

    @TempDir
    private Path folder;

    @Test
    void locksHoldDuringFaultsOfAMinority() throws Exception {
        Path results = folder.resolve("results");
        Path history = folder.resolve("chaos.history");
        String text = run("chaos", "--duration", "8s", "--output", results.toString(), "--history", history.toString());
        assertTrue(text.contains("left out: clock_step: needs --clock-steps"), text);
        assertTrue(text.contains("at most 2 of 5 nodes bad at once"), text);
        assertTrue(text.contains("locking as before"), text);
        assertTrue(text.endsWith("Results: " + results.resolve("report.html") + System.lineSeparator()), text);
        assertReported(results, text);
        assertLinearizable(history);
    }

    /** Every operation is there, and a checker that knows nothing of the audit agrees with it. */
    private static void assertLinearizable(Path history) throws Exception {
        List<String> lines = Files.readAllLines(history);
        assertEquals(List.of(), HistoryChecker.violations(lines));
        Set<String> seen = new TreeSet<>();
        lines.stream().skip(1).map(line -> line.split(" ")).forEach(line -> seen.add(line[2] + " " + line[3]));
        assertTrue(seen.containsAll(Set.of("ok acquire", "ok extend", "ok release", "ok write", "ok read")),
                seen::toString);
        Set<String> kinds = new TreeSet<>();
        lines.stream().skip(1).map(line -> line.split(" ")).forEach(line -> kinds.add(line[5]));
        assertEquals(Set.of("plain", "reader", "writer", "permit"), kinds);
        long callCount = lines.stream().filter(line -> line.contains(" invoke ")).count();
        assertEquals(2 * callCount + 1, lines.size(), "each call has one end");
        StringWriter out = new StringWriter();
        assertEquals(0, Main.run(new PrintWriter(out, true), new PrintWriter(out, true), "history", history.toString()),
                out::toString);
        Path edn = history.resolveSibling("chaos.history-edn");
        for (String name : List.of("chaos-0-mutex.edn", "chaos-1-mutex.edn", "chaos-0-register.edn")) {
            List<String> maps = Files.readAllLines(edn.resolve(name));
            assertTrue(maps.stream().allMatch(map -> EDN_MAP.matcher(map).matches()), () -> name + maps);
            long begun = maps.stream().filter(map -> map.contains(":type :invoke")).count();
            assertTrue(begun > 0 && maps.size() == 2 * begun, () -> name + ", each call has one end: " + maps);
        }
        assertFalse(Files.exists(edn.resolve("chaos-1-register.edn")), "resource 1 has no fencing tokens");
    }

    /** The folder has the same data as the output: each fault with its real time, and the sections. */
    private static void assertReported(Path results, String text) throws Exception {
        JsonNode json = new ObjectMapper().readTree(Files.readString(results.resolve("results.json")));
        assertEquals("chaos PASS", json.get("command").asText() + " " + json.get("verdict").asText());
        assertTrue(text.startsWith(json.get("notes").get(0).asText()), json.get("notes")::toString);
        JsonNode series = json.get("series").get(0);
        List<String> faults = series.get("marks").findValuesAsText("text");
        assertTrue(text.contains(": " + faults.size() + " faults in 8000 ms"), () -> text + faults);
        assertTrue(!faults.isEmpty() && faults.stream().allMatch(fault -> text.contains(fault.split(", then ")[0])),
                () -> text + faults);
        for (JsonNode mark : series.get("marks")) {
            assertTrue(mark.get("lengthMs").asLong() >= 100, mark::toString);
        }
        JsonNode acquire = series.get("operations").get("acquire");
        long counted = acquire.get("intervals").findValues("count").stream().mapToLong(JsonNode::asLong).sum();
        assertEquals(acquire.get("count").asLong(), counted);
        assertEquals(series.get("tally").get("cycles").asLong(), counted);
        assertTrue(counted > 0 && series.get("tally").get("overlaps").asLong() == 0, series.get("tally")::toString);
        assertEquals(acquire.get("intervals").size(), series.get("samples").size());
        String page = Files.readString(results.resolve("report.html"));
        for (String fault : faults) {
            assertTrue(page.contains(new ObjectMapper().writeValueAsString(fault)), fault);
        }
        assertTrue(Files.size(results.resolve("redlock-n5-k9-r1-acquire.hlog")) > 0);
    }

    /** Two holders of a retained lock, or a waiter beside one that nobody uses, would fail the run. */
    @Test
    void retainedLocksHoldAndAreGivenUp() throws Exception {
        Path history = folder.resolve("chaos.history");
        String text = run("chaos", "--retain", "--resources", "12", "--duration", "10s", "--seed", "28", "--faults",
                "pause,cut,stall,worker_kill,worker_pause", "--history", history.toString());
        assertTrue(Pattern.compile("(?m)^ +[1-9][0-9]*  release RETAINED$").matcher(text).find(), text);
        assertTrue(Pattern.compile("(?m)^ +[1-9][0-9]*  retained locks, local grants$").matcher(text).find(), text);
        assertTrue(Pattern.compile("(?m)^[1-9][0-9]* acquires without a fault nearby: ").matcher(text).find(), text);
        assertEquals(List.of(), HistoryChecker.violations(Files.readAllLines(history)));
        assertRefused("--retain excludes --cluster-shards", "chaos", "--retain", "--commands", "native");
    }

    @Test
    @Tag("release")
    void locksHoldWhileAMajorityIsWipedAndPaused() throws Exception {
        run("chaos", "--duration", "6s", "--ttl", "1s", "--majority-loss", "--faults",
                "wipe,wipe_majority,pause,stall,worker_pause", "--workers", "2");
    }

    /**
     * Proof that the audit can fail: without the restart guard a majority that comes back empty grants again what is
     * held. Sixteen resources are held for up to 5 s, so several of them are held at each wipe, also on a busy machine.
     * With four processes it is unlikely that both holders of every overlap are of one process.
     */
    @Test
    void theAuditFindsTwoHoldersWhenTheGuardIsOffAndAMajorityIsWiped() throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        int seed = 5;
        // Two sections of one process may be all that a busy machine has time for.
        while (!isFoundBetweenTwoProcesses(seed)) {
            seed++;
            assertTrue(seed < 10, "no second holder in another process");
        }
    }

    private boolean isFoundBetweenTwoProcesses(int seed) throws Exception {
        Path history = folder.resolve("chaos-" + seed + ".history");
        try (ChildProgram program = ChildProgram.start("chaos", "--duration", "5s", "--seed", "" + seed, "--nodes", "3",
                "--history", history.toString(), "--majority-loss", "--faults", "wipe_majority", "--without-guard",
                "--ttl", "5s", "--hold", "5s",
                "--resources", "16", "--workers", "4", "--threads", "8")) {
            int exitCode = program.awaitExit();
            String text = program.out();
            assertTrue(text.contains("THE RESTART GUARD IS OFF"), () -> text + program.err());
            assertTrue(text.contains("started again EMPTY"), text);
            if (!TWO_PROCESSES.matcher(text).find()) {
                return false;
            }
            assertEquals(ExitCodes.FAILED, exitCode, () -> text + program.err());
            assertTrue(text.contains("FAIL: seed " + seed) && !text.contains("PASS"), text);
            assertTrue(text.strip().endsWith("report-FAIL.html"), text);
            assertTrue(program.results().contains("results-FAIL.json"), program.results()::toString);
            assertFalse(HistoryChecker.violations(Files.readAllLines(history)).isEmpty(), "the checker finds them too");
            return true;
        }
    }

    /** Every token is unique and greater than those of all earlier grants, nodes that crash and come back or not. */
    @Test
    @Tag("release")
    void fencingTokensOfThreeTimesEightThreadsRiseWhileNodesAreKilledAndRestarted() throws Exception {
        String text = run("chaos", "--duration", "6s", "--ttl", "1s", "--faults", "kill", "--resources", "1",
                "--fenced", "all", "--workers", "3", "--threads", "8");
        assertTrue(text.contains("started again with its data"), text);
        assertTrue(text.contains("fencing tokens rise"), text);
    }

    /** Killed for a moment that the Sentinels do not notice, then stopped until they promote a replica. */
    @Test
    void onePrimaryBehindSentinelsFailsOver() throws Exception {
        String text = run("chaos", "--sentinels", "--ttl", "1s", "--duration", "14s", "--seed", "27", "--workers", "2",
                "--resources", "2");
        assertTrue(text.contains("kill -9 of the primary"), text);
        assertTrue(text.contains("SIGSTOP of the primary"), text);
        assertTrue(text.contains("partition: needs --namespaces"), text);
        assertRefused("--sentinels and --nodes exclude each other", "chaos", "--sentinels", "--nodes", "3");
        assertRefused("--sentinels excludes", "chaos", "--sentinels", "--retain");
        assertRefused("--without-min-replicas needs --sentinels", "chaos", "--without-min-replicas");
        assertRefused("--faults wipe: is no fault of --sentinels", "chaos", "--sentinels", "--faults", "wipe");
    }

    @Test
    @ResourceLock(NAMESPACES)
    void aPrimaryThatIsCutOffStops() throws Exception {
        if (isPartitionPossible()) {
            String limited = partition("--seed", "5");
            assertTrue(limited.contains("PASS: ") && limited.contains("cut off with a Sentinel"), limited);
        }
    }

    /** Without the setting that stops a primary without replicas, the audit must find two holders. */
    @Test
    @ResourceLock(NAMESPACES)
    void aPrimaryThatServesOnInAPartitionIsFound() throws Exception {
        if (isPartitionPossible()) {
            String text = "";
            for (int seed = 5; seed < 8 && !text.contains("FAIL: OVERLAP"); seed++) {
                text = partition("--seed", Integer.toString(seed), "--without-min-replicas");
            }
            assertTrue(text.contains("FAIL: OVERLAP"), text);
            assertTrue(text.contains("NO min-replicas-to-write"), text);
        }
    }

    private static boolean isPartitionPossible() {
        Optional<String> refusal = NodeNetwork.refusal();
        refusal.ifPresent(reason -> assertRefused(reason, "chaos", "--sentinels", "--namespaces"));
        return refusal.isEmpty();
    }

    private static String partition(String... options) throws Exception {
        List<String> words = new ArrayList<>(List.of("chaos", "--sentinels", "--namespaces", "--ttl", "1s",
                "--duration", "16s", "--faults", "partition", "--resources", "2"));
        words.addAll(List.of(options));
        try (ChildProgram program = ChildProgram.start(words.toArray(String[]::new))) {
            program.awaitExit();
            return program.out() + program.err();
        }
    }

    /** What cannot be done here is refused with its reason, not left out in silence. */
    @Test
    @ResourceLock(NAMESPACES)
    void kernelNetworkFaultsRunOrReportWhyNot() throws Exception {
        Optional<String> refusal = NodeNetwork.refusal();
        if (refusal.isPresent()) {
            assertRefused(refusal.get(), "chaos", "--namespaces");
            return;
        }
        try (ChildProgram program = ChildProgram.start("chaos", "--namespaces", "--duration", "5s", "--ttl", "1s",
                "--workers", "2", "--faults", "link_down,blackhole,narrow")) {
            String text = awaitPass(program, 5);
            assertTrue(Stream.of("device down", "black hole", "path narrow").anyMatch(text::contains), text);
            assertTrue(text.contains("node 0 (10.213.0.2:"), text);
            assertEquals(List.of(), namespacesLeft(program));
        }
        assertRefused("needs --namespaces", "chaos", "--faults", "link_down");
        assertRefused("needs --majority-loss", "chaos", "--faults", "wipe_majority");
    }

    @Test
    @ResourceLock(NAMESPACES)
    @Tag("release")
    void netemFaultsRunOrReportWhyNot() throws Exception {
        if (NodeNetwork.refusal().isPresent()) {
            assertRefused(NodeNetwork.refusal().get(), "chaos", "--namespaces", "--faults", "netem_loss");
            return;
        }
        String[] args = {"chaos", "--namespaces", "--duration", "5s", "--faults",
            "netem_delay,netem_loss,netem_reorder"};
        try (ChildProgram program = ChildProgram.start(args)) {
            if (hasNetem()) {
                assertTrue(awaitPass(program, 5).contains("netem "));
            } else {
                // The process inside the namespaces finds that out, and shares the standard error of this program.
                assertEquals(2, program.awaitExit(), program::err);
                assertTrue(program.err().startsWith("--faults netem_delay: this kernel has no sch_netem: "),
                        program::err);
            }
            assertEquals(List.of(), namespacesLeft(program));
        }
    }

    @Test
    @ResourceLock(NAMESPACES)
    @Tag("release")
    void ctrlCRemovesTheNamespaces() throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        if (NodeNetwork.refusal().isPresent()) {
            assertRefused(NodeNetwork.refusal().get(), "chaos", "--namespaces");
            return;
        }
        for (String signal : new String[]{"INT", "KILL"}) {
            try (ChildProgram program = ChildProgram.start("chaos", "--namespaces", "--duration", "60s")) {
                Await.until("the plan runs", () -> program.out().contains("seed "));
                program.signal(signal);
                program.awaitExit();
                Await.until("nothing is left after SIG" + signal, () -> namespacesLeft(program).isEmpty());
            }
        }
    }

    @Test
    void anInterruptedRunDoesNotSayThatWorkersLockAsBefore() throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        try (ChildProgram program = ChildProgram.start("chaos", "--duration", "60s", "--nodes", "3", "--workers", "1",
                "--ttl", "500ms", "--fenced", "none")) {
            program.awaitOut("seed ");
            program.signal("INT");
            assertEquals(130, program.awaitExit(), program::err);
            String text = program.out();
            assertTrue(text.contains("cut short: whether the workers lock as before was not checked"), text);
            assertFalse(text.contains("locking as before"), text);
        }
    }

    private static boolean hasNetem() throws Exception {
        Process tc = new ProcessBuilder("unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay",
                "1ms").start();
        return tc.waitFor() == 0;
    }

    /** Those of the program, which are named after its process. Other builds on the machine have their own. */
    private static List<String> namespacesLeft(ChildProgram program) throws Exception {
        Process ip = new ProcessBuilder("ip", "netns", "list").start();
        return ip.inputReader().lines().filter(line -> line.matches("rl" + program.pid() + "p?-.*")).toList();
    }

    private static void assertRefused(String reason, String... args) {
        StringWriter err = new StringWriter();
        PrintWriter printer = new PrintWriter(err, true);
        assertEquals(2, Main.run(printer, printer, args), err::toString);
        assertTrue(err.toString().contains(reason), err::toString);
    }

    /** A plan without room for a fault proves nothing. */
    @Test
    void runWithoutAFaultFails() throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        try (ChildProgram program = ChildProgram.start("chaos", "--duration", "150ms", "--ttl", "200ms",
                "--node-timeout",
                "200ms", "--faults", "wipe", "--nodes", "3", "--workers", "1")) {
            int exitCode = program.awaitExit();
            String text = program.out();
            assertEquals(ExitCodes.FAILED, exitCode, () -> text + program.err());
            assertTrue(text.contains("not in this plan: wipe"), text);
            assertTrue(text.contains("FAIL: no fault was injected"), text);
        }
    }

    /** A service manager signals every process of the group. The JVM may end before its run meets a dead server. */
    @Test
    void signalThatAlsoEndsTheServersIsNoBug() throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        try (ChildProgram program = ChildProgram.start("chaos", "--duration", "60s", "--nodes", "3", "--workers", "1",
                "--faults", "kill")) {
            program.awaitOut("kill -9");
            program.servers().forEach(ProcessHandle::destroy);
            program.signal("TERM");
            assertEquals(143, program.awaitExit(), program::err);
            String err = program.err().strip();
            assertTrue(err.isEmpty() || err.equals("load-test: interrupted"), err);
            assertEquals(List.of(), program.leftovers());
        }
    }

    @Test
    @Tag("release")
    void commandsOptionReachesTheClients() throws Exception {
        run("chaos", "--duration", "4s", "--ttl", "1s", "--seed", "3", "--commands", "native", "--faults", "kill,cut",
                "--workers", "1");
    }

    /** Every node is killed, cut off and started again under connections with TLS, through proxies. */
    @Test
    @Tag("release")
    void locksHoldDuringFaultsOverTls() throws Exception {
        String text = run("chaos", "--tls", "--duration", "5s", "--ttl", "1s", "--seed", "3", "--faults",
                "kill,wipe,pause,cut,stall,mute,worker_kill", "--workers", "2");
        assertTrue(text.contains("killed"), text);
    }

    /** Masters are lost, replicas promoted, slots moved, and whole clusters lost, more than one cluster at a time. */
    @Test
    @Tag("release")
    void locksHoldDuringFaultsOfClusters() throws Exception {
        String text = run("chaos", "--cluster-shards", "3", "--nodes", "3", "--duration", "12s", "--ttl", "1s",
                "--seed",
                "4", "--majority-loss", "--workers", "2");
        assertTrue(text.contains("its replica is promoted for"), text);
        assertTrue(text.contains("the slot has its next owner"), text);
    }

    @Test
    void faultsOfClustersAreRefusedWithoutThemAndOthersWithThem() {
        assertRefused("needs --cluster-shards", "chaos", "--faults", "fail_over");
        assertRefused("report their own addresses", "chaos", "--cluster-shards", "3", "--faults", "cut");
    }

    /** At least the first node is replaced by joint lists, while nodes and workers fail. */
    @Test
    @Tag("release")
    void locksHoldWhileTheListOfNodesChanges() throws Exception {
        String text = run("chaos", "--change-nodes", "--nodes", "3", "--duration", "20s", "--ttl", "500ms", "--hold",
                "15ms", "--node-timeout", "250ms", "--seed", "2", "--workers", "2");
        assertTrue(text.contains("starts again with nodes [0, 1, 2] and [3, 1, 2]"), text);
        assertTrue(text.contains("starts again with nodes [3, 1, 2] and [3, 4, 2]"), text);
    }

    @Test
    @Tag("release")
    void clockStepsRunOrReportWhyNot() throws Exception {
        if (ClockLibrary.find().isEmpty()) {
            assertRefused("libfaketime is missing (a Debian package of that name)", "chaos", "--clock-steps");
            return;
        }
        String text = run("chaos", "--clock-steps", "--duration", "5s", "--ttl", "1s", "--faults", "clock_step");
        assertTrue(text.contains("wall clock jumps by"), text);
        assertTrue(text.contains("overlaps accepted: they started in the 500 ms after"), text);
        assertRefused("--clock-steps and --history exclude each other", "chaos", "--clock-steps", "--history",
                "no-such-history");
    }

    private static String run(String... args) throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        try (ChildProgram program = ChildProgram.start(args)) {
            return awaitPass(program, List.of(args).contains("--sentinels") ? 3 : 5);
        }
    }

    private static String awaitPass(ChildProgram program, int servers) throws Exception {
        int exitCode = program.awaitExit();
        String text = program.out();
        assertEquals(0, exitCode, () -> text + program.err());
        assertTrue(text.contains("PASS: "), text);
        assertTrue(text.contains("node " + (servers - 1)) && text.contains("0 lock keys left"), text);
        return text;
    }
}
