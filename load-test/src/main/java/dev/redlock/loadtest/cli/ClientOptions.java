package dev.redlock.loadtest.cli;

import dev.redlock.api.CommandMode;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.TransportKind;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.driver.DriverOption;
import dev.redlock.loadtest.driver.Drivers;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.driver.SessionSpec;
import dev.redlock.transport.NodeAddress;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import picocli.CommandLine.Option;
import picocli.CommandLine;

/** @threading caller-confined */
public final class ClientOptions {
    private static final int EVENT_LOOPS_MAX = 64;
    private static final int CLIENTS_MAX = 512;
    private static final int HANDOFFS_MAX = 1 << 22;

    @Option(names = "--driver", split = ",", paramLabel = "NAME", defaultValue = Drivers.DEFAULT,
            description = "The lock clients to measure, one or several: ${COMPLETION-CANDIDATES} (default: "
                    + "${DEFAULT-VALUE}).",
            completionCandidates = Drivers.Names.class)
    private List<String> drivers;

    @Option(names = "--clients", split = ",", paramLabel = "C", defaultValue = "1",
            description = "Clients of each driver, which share the cycles evenly, 1 to 512; contention alone takes "
                    + "several numbers (default: ${DEFAULT-VALUE}).")
    private List<Integer> clients;

    @Option(names = "--transport", paramLabel = "KIND", defaultValue = "auto",
            description = "The network transport: auto, io_uring, epoll, kqueue or nio (default: ${DEFAULT-VALUE}).")
    private TransportKind transport;

    @Option(names = "--event-loops", paramLabel = "COUNT", defaultValue = "1",
            description = "Event loops of each client, 1 to 64 (default: ${DEFAULT-VALUE}).")
    private int eventLoops;

    @Option(names = "--idle-policy", paramLabel = "POLICY", defaultValue = "block",
            description = "Behaviour of an idle event loop: block, back_off, yield or busy_spin (default: "
                    + "${DEFAULT-VALUE}).")
    private IdlePolicy idlePolicy;

    @Option(names = "--commands", paramLabel = "MODE", defaultValue = "auto",
            description = "Commands that the client sends: auto (native "
                    + "commands where they report as much as the scripts), scripts (only) or native (always the "
                    + "cheapest) (default: ${DEFAULT-VALUE}).")
    private CommandMode commands;

    @Option(names = "--handoffs", paramLabel = "COUNT",
            description = "Handoffs in a row between the waiters of one client before it "
                    + "gives the waiters of other clients a chance, 0 to 4194304; 0: no bound (default: the client's "
                    + "default).")
    private Integer handoffs;

    @Option(names = "--thrifty", description = "Ask a quorum of nodes first, and the others on doubt.")
    private boolean thrifty;

    @Option(names = "--fenced", description = "Request a fencing token with each lock.")
    private boolean fenced;

    public void check(CommandLine line, NodeOptions nodes) {
        Options.requireParsed(line, "--driver", () -> drivers.forEach(Drivers::named));
        Options.requireDistinct(line, "--driver", drivers);
        Options.require(line, nodes.isTls() || drivers.stream().noneMatch(name -> name.contains("@tls-")),
                "--driver names an implementation of TLS: start nodes with TLS by --tls, or write rediss:// in "
                        + "--addresses");
        Options.require(line, nodes.isTlsOptional() || drivers.stream().noneMatch(name -> name.endsWith("@plain")),
                "--driver names @plain, which is for nodes with and without TLS: start them by --tls");
        clients.forEach(count -> Options.requireRange(line, "--clients", count, 1, CLIENTS_MAX));
        Options.requireDistinct(line, "--clients", clients);
        Options.requireRange(line, "--event-loops", eventLoops, 1, EVENT_LOOPS_MAX);
        if (handoffs != null) {
            Options.requireRange(line, "--handoffs", handoffs, 0, HANDOFFS_MAX);
        }
        Map<DriverOption, String> asked = asked(nodes);
        for (LockDriver driver : drivers()) {
            asked.forEach((option, text) -> Options.require(line, driver.options().contains(option), text
                    + " is not supported by driver " + driver.name() + ": leave the option out or name another "
                    + "driver"));
            Optional<String> refusal = driver.refusal(transport, nodes.isUnix(), thrifty, nodes.countMin());
            Options.require(line, refusal.isEmpty(), "--driver " + driver.name() + ": " + refusal.orElse(""));
        }
    }

    /** The options that need a driver with support for them, as the user has named them. */
    private Map<DriverOption, String> asked(NodeOptions nodes) {
        Map<DriverOption, String> asked = new EnumMap<>(DriverOption.class);
        ask(asked, transport != TransportKind.AUTO, DriverOption.TRANSPORT, "--transport");
        ask(asked, eventLoops != 1, DriverOption.EVENT_LOOPS, "--event-loops");
        ask(asked, idlePolicy != IdlePolicy.BLOCK, DriverOption.IDLE_POLICY, "--idle-policy");
        ask(asked, commands != CommandMode.AUTO, DriverOption.COMMANDS, "--commands");
        ask(asked, handoffs != null, DriverOption.HANDOFFS, "--handoffs");
        ask(asked, thrifty, DriverOption.THRIFTY, "--thrifty");
        ask(asked, fenced, DriverOption.FENCED, "--fenced");
        ask(asked, nodes.isUnix(), DriverOption.UNIX_SOCKET,
                nodes.isUnixSockets() ? "--unix-sockets" : "a unix:// address");
        ask(asked, nodes.isTls(), DriverOption.TLS, nodes.isTlsOptional() ? "--tls" : "a rediss:// address");
        ask(asked, nodes.clusterShards > 0, DriverOption.CLUSTERS, "--cluster-shards");
        return asked;
    }

    private static void ask(Map<DriverOption, String> asked, boolean isAsked, DriverOption option, String text) {
        if (isAsked) {
            asked.put(option, text);
        }
    }

    /** The clients of each driver; the most, if there are several numbers. */
    public int clients() {
        return Collections.max(clients);
    }

    public List<Integer> clientCounts() {
        return clients;
    }

    public List<LockDriver> drivers() {
        return drivers.stream().map(Drivers::named).toList();
    }

    /** The options of a client; TLS is null for nodes without it, and the last list is empty for single masters. */
    public SessionSpec session(List<NodeAddress> addresses, boolean isFresh, SessionSpec.Tls tls,
            List<String> voters) {
        return new SessionSpec(addresses, isFresh, transport, eventLoops, idlePolicy, commands,
                handoffs == null ? OptionalInt.empty() : OptionalInt.of(handoffs), thrifty, tls, voters);
    }

    public boolean isFenced() {
        return fenced;
    }
}
