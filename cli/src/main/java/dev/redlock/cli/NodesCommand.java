package dev.redlock.cli;

import dev.redlock.DiagnosisClient;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TransportKind;
import dev.redlock.engine.key.KeyText;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.SafeText;
import dev.redlock.transport.VoterAddress;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Shows the nodes as a client of the library sees them.
 *
 * @threading caller-confined
 */
@Command(name = "nodes", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Connects as a client of the library does, which tests the server and its rights, and shows "
                + "each node: its version, the last round trip, and the reason if it does not vote. With --lock it "
                + "acquires and releases a lock too. The exit code is 0 if a quorum votes and the lock was acquired "
                + "and released. Give --max-ttl, --key-prefix and --restart-guard as your clients have them: whether "
                + "a node votes depends on them.",
        footer = {"  redlock nodes --nodes a:6379,b:6379,c:6379",
            "  redlock nodes --max-ttl 10m --key-prefix lock: --lock lock:probe"})
final class NodesCommand implements Callable<Integer> {

    private static final Duration TTL = Duration.ofSeconds(5);
    /** The longest that a client may have. */
    private static final Duration TIMEOUT_MAX = Duration.ofMinutes(1);
    /** The longest name that a client may have. */
    private static final int KEY_BYTES_MAX = 16_384;
    /** A client has to keep its fencing counters for ten times maxTtl, and keeps them for a day by default. */
    private static final int COUNTER_TTLS = 10;
    private static final Duration COUNTER_TTL = Duration.ofDays(1);
    private static final double NS_PER_MS = 1e6;
    private static final long POLL_MS = 2;

    @Mixin
    private ServerOptions servers;

    @Option(names = "--lock", paramLabel = "KEY",
            description = "Acquire and release this lock, for 5 s at most, with the key prefix of your clients.")
    private String key;

    @Option(names = "--max-ttl", paramLabel = "TIME", defaultValue = "60s", converter = DurationConverter.class,
            description = "maxTtl of the clients (default: ${DEFAULT-VALUE}).")
    private Duration maxTtl;

    @Option(names = "--key-prefix", paramLabel = "PREFIX", defaultValue = "",
            description = "keyPrefix of the clients (default: none).")
    private String keyPrefix;

    @Option(names = "--restart-guard", paramLabel = "MODE", defaultValue = "fresh_group",
            description = "restartGuard of the clients: fresh_group, uptime or off (default: ${DEFAULT-VALUE}).")
    private RestartGuardMode restartGuard;

    @Option(names = "--json", description = "Print JSON for other programs.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    NodesCommand() {
        // picocli fills the fields.
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        CommandLine line = spec.commandLine();
        List<VoterAddress> addresses = servers.check(line);
        Options.requireAtMost(line, "--timeout", servers.timeout(), TIMEOUT_MAX);
        RedlockContext context = new RedlockContext();
        Options.requireParsed(line, "--nodes", () -> context.nodes(servers.texts()));
        setClientOptions(line, context);
        if (key != null) {
            LocksOptions.requireKey(line, key);
            Options.require(line, key.startsWith(keyPrefix), "--lock is " + SafeText.of(key)
                    + ": expected a key that starts with --key-prefix " + SafeText.of(keyPrefix));
            Options.requireParsed(line, "--lock", () -> KeyText.ofResource(keyPrefix, resource(), KEY_BYTES_MAX));
        }
        context.transport(TransportKind.NIO)
                .connectTimeout(servers.timeout())
                .nodeTimeout(shorter(servers.timeout(), maxTtl));
        if (addresses.stream().anyMatch(VoterAddress::isTls)) {
            context.tls(servers.tlsFiles().options());
        }
        if (SentinelQuestion.credentials() != null) {
            context.sentinelCredentials(sentinel -> SentinelQuestion.credentials());
        }
        List<String> versions = addresses.stream().map(this::version).toList();
        try (Redlock client = DiagnosisClient.connect(context)) {
            awaitAnswers(client);
            AcquireOutcome outcome = key == null ? null : client.tryAcquire(resource(), shorter(TTL, maxTtl));
            String remnant = outcome != null && outcome.isAcquired() ? release(outcome.lease(), addresses) : null;
            boolean isGood = client.isQuorumAvailable() && remnant == null
                    && (outcome == null || outcome.isAcquired());
            print(client, versions, outcome, remnant);
            boolean isAnyUp = client.nodes().stream().anyMatch(node -> node.state().isConnected());
            return isGood ? ExitCodes.GOOD : isAnyUp ? ExitCodes.FAILED : ExitCodes.NO_NODES;
        }
    }

    /** The options on which it depends whether a node votes. */
    private void setClientOptions(CommandLine line, RedlockContext context) {
        Options.requireParsed(line, "--max-ttl", () -> context.maxTtl(maxTtl));
        Options.requireParsed(line, "--key-prefix", () -> context.keyPrefix(keyPrefix));
        int prefixBytes = keyPrefix.getBytes(StandardCharsets.UTF_8).length;
        Options.require(line, prefixBytes < KEY_BYTES_MAX,
                "--key-prefix has " + prefixBytes + " bytes: expected less than " + KEY_BYTES_MAX);
        context.resourceLengthMax(KEY_BYTES_MAX).restartGuard(restartGuard);
        if (COUNTER_TTLS * maxTtl.toMillis() > COUNTER_TTL.toMillis()) {
            context.fenceCounterTtl(Duration.ofMillis(COUNTER_TTLS * maxTtl.toMillis()));
        }
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) <= 0 ? one : other;
    }

    /** The name of the lock for a client with the prefix. */
    private String resource() {
        return key.substring(keyPrefix.length());
    }

    /** The connect returns when each node has answered or failed once; a vote and its time need a round trip more. */
    private void awaitAnswers(Redlock client) throws InterruptedException {
        long startNs = System.nanoTime();
        while (System.nanoTime() - startNs < servers.timeout().toNanos()
                && client.nodes().stream().anyMatch(NodesCommand::isUndecided)) {
            Thread.sleep(POLL_MS);
        }
    }

    private static boolean isUndecided(NodeStatus node) {
        return node.problem() == null && (node.state() != NodeState.READY || node.roundTripNs() == 0);
    }

    /** The version; "?" if the user has no right to read it or the node does not answer. */
    private String version(VoterAddress address) {
        try (AdminClient node = AdminClient.connect(servers.serverOf(address), servers.timeout(), servers.tlsFiles())) {
            String valkey = node.info("valkey_version");
            return SafeText.of(valkey.isEmpty() ? "redis " + node.info("redis_version") : "valkey " + valkey);
        } catch (IOException e) {
            return "?";
        }
    }

    /** Releases the lock; returns what is left of it if a quorum has not deleted it, else null. */
    private String release(Lease lease, List<VoterAddress> addresses) {
        ReleaseOutcome outcome = lease.release();
        if (outcome == ReleaseOutcome.RELEASED) {
            return null;
        }
        List<String> lefts = new ArrayList<>();
        for (VoterAddress address : addresses) {
            String left = remainingTtl(address);
            if (left != null) {
                lefts.add(left + " on " + address);
            }
        }
        return "The lock was acquired, but not released (" + outcome + "): the key " + SafeText.of(key) + " "
                + (lefts.isEmpty() ? "is gone." : "remains for " + String.join(", ", lefts) + ".");
    }

    /** How long the key exists on a node; null if it does not. */
    private String remainingTtl(VoterAddress address) {
        try (AdminClient node = AdminClient.connect(servers.serverOf(address), servers.timeout(), servers.tlsFiles())) {
            RespValue reply = node.send("PTTL", key);
            if (reply.type() == RespType.INTEGER) {
                return reply.asLong() < 0 ? null : reply.asLong() + " ms";
            }
        } catch (IOException e) {
            // The same as a forbidden PTTL.
        }
        return "at most " + shorter(TTL, maxTtl).toMillis() + " ms";
    }

    private void print(Redlock client, List<String> versions, AcquireOutcome outcome, String remnant) {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(Json.text(json(client, versions, outcome, remnant)));
            out.flush();
            return;
        }
        List<String[]> rows = new ArrayList<>();
        rows.add(new String[]{"NODE", "STATE", "VERSION", "ROUND TRIP"});
        for (NodeStatus node : client.nodes()) {
            rows.add(new String[]{node.address(), node.state().name().toLowerCase(Locale.ROOT),
                versions.get(node.index()), node.roundTripNs() == 0
                        ? "-"
                        : String.format(Locale.ROOT, "%.2f ms", node.roundTripNs() / NS_PER_MS)});
        }
        List<String> lines = LocksText.table(rows);
        out.println(lines.get(0));
        for (int i = 0; i < client.nodes().size(); i++) {
            out.println(lines.get(i + 1));
            String problem = client.nodes().get(i).problem();
            if (problem != null) {
                out.println("    " + SafeText.of(problem));
            }
        }
        out.println("Computed for clients with --max-ttl " + DurationConverter.text(maxTtl) + ", --key-prefix "
                + SafeText.of(Program.quoted(keyPrefix)) + " and --restart-guard " + Options.text(restartGuard)
                + ": give what yours have.");
        out.println(client.isQuorumAvailable() ? "A quorum votes." : "Too few nodes vote: no lock can be acquired.");
        if (outcome != null) {
            String released = remnant == null ? "The lock was acquired and released." : remnant;
            out.println(outcome.isAcquired() ? released : "The lock: " + outcome);
        }
        out.flush();
    }

    private Map<String, Object> json(Redlock client, List<String> versions, AcquireOutcome outcome,
            String remnant) {
        Map<String, Object> root = new LinkedHashMap<>();
        root.put("isQuorumAvailable", client.isQuorumAvailable());
        root.put("maxTtlMs", maxTtl.toMillis());
        root.put("keyPrefix", keyPrefix);
        root.put("restartGuard", restartGuard.name());
        if (outcome != null) {
            root.put("outcome", outcome.kind().name());
            root.put("remnant", remnant);
        }
        List<Map<String, Object>> nodes = new ArrayList<>();
        for (NodeStatus status : client.nodes()) {
            Map<String, Object> node = new LinkedHashMap<>();
            node.put("address", status.address());
            node.put("server", status.serverAddress());
            node.put("state", status.state().name());
            node.put("version", versions.get(status.index()));
            node.put("roundTripNs", status.roundTripNs());
            node.put("problem", status.problem());
            nodes.add(node);
        }
        root.put("nodes", nodes);
        return root;
    }
}
