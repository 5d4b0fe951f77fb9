package dev.redlock.loadtest;

import dev.redlock.CommandMode;
import dev.redlock.IdlePolicy;
import dev.redlock.TransportKind;
import dev.redlock.loadtest.driver.DriverOption;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.driver.SessionSpec;
import dev.redlock.loadtest.nodes.NodeAddress;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * Which clients, and how they are set up.
 *
 * @threading caller-confined
 */
final class ClientOptions {
    private static final int EVENT_LOOPS_MAX = 64;
    private static final int CLIENTS_MAX = 64;
    private static final int HAND_OVERS_MAX = 1 << 22;

    @Option(names = "--driver", split = ",", paramLabel = "NAME", defaultValue = Drivers.DEFAULT,
            description = "The lock clients to measure, one or several: ${COMPLETION-CANDIDATES} (default: "
                    + "${DEFAULT-VALUE}).",
            completionCandidates = Drivers.Names.class)
    private List<String> drivers;

    @Option(names = "--clients", paramLabel = "C",
            description = "Clients of each driver, over which the cycles are dealt, 1 to 64 (default: "
                    + "${DEFAULT-VALUE}).")
    private int clients;

    @Option(names = "--transport", paramLabel = "KIND", defaultValue = "auto",
            description = "What carries the bytes: auto, io_uring, epoll, kqueue or nio (default: ${DEFAULT-VALUE}).")
    private TransportKind transport;

    @Option(names = "--event-loops", paramLabel = "COUNT", defaultValue = "1",
            description = "Event loops of each client, 1 to 64 (default: ${DEFAULT-VALUE}).")
    private int eventLoops;

    @Option(names = "--idle-policy", paramLabel = "POLICY", defaultValue = "block",
            description = "What an idle event loop does: block, yield or busy_spin (default: ${DEFAULT-VALUE}).")
    private IdlePolicy idlePolicy;

    @Option(names = "--commands", paramLabel = "MODE", defaultValue = "auto",
            description = "How locks are put to the nodes: auto (cheaper commands of the nodes' own where they tell as "
                    + "much), scripts (alone) or native (whatever is cheapest) (default: ${DEFAULT-VALUE}).")
    private CommandMode commands;

    @Option(names = "--hand-overs", paramLabel = "COUNT",
            description = "How many times in a row the waiters of one client hand a lock on among themselves before "
                    + "those of another get a chance, 0 to 4194304; 0: no bound (default: the client's own).")
    private Integer handOvers;

    @Option(names = "--fenced", description = "Ask for a fencing token with each lock.")
    private boolean fenced;

    ClientOptions() {
        // picocli fills the fields.
    }

    void check(CommandLine line, NodeOptions nodes) {
        Options.requireParsed(line, "--driver", () -> drivers.forEach(Drivers::named));
        Options.requireDistinct(line, "--driver", drivers);
        Options.requireRange(line, "--clients", clients, 1, CLIENTS_MAX);
        Options.requireRange(line, "--event-loops", eventLoops, 1, EVENT_LOOPS_MAX);
        if (handOvers != null) {
            Options.requireRange(line, "--hand-overs", handOvers, 0, HAND_OVERS_MAX);
        }
        Map<DriverOption, String> asked = asked(nodes);
        for (LockDriver driver : drivers()) {
            asked.forEach((option, text) -> Options.require(line, driver.options().contains(option), text
                    + " cannot be had from driver " + driver.name() + ": leave the option out or name another driver"));
        }
    }

    private Map<DriverOption, String> asked(NodeOptions nodes) {
        Map<DriverOption, String> asked = new EnumMap<>(DriverOption.class);
        if (transport != TransportKind.AUTO) {
            asked.put(DriverOption.TRANSPORT, "--transport");
        }
        if (eventLoops != 1) {
            asked.put(DriverOption.EVENT_LOOPS, "--event-loops");
        }
        if (idlePolicy != IdlePolicy.BLOCK) {
            asked.put(DriverOption.IDLE_POLICY, "--idle-policy");
        }
        if (commands != CommandMode.AUTO) {
            asked.put(DriverOption.COMMANDS, "--commands");
        }
        if (handOvers != null) {
            asked.put(DriverOption.HAND_OVERS, "--hand-overs");
        }
        if (fenced) {
            asked.put(DriverOption.FENCED, "--fenced");
        }
        if (nodes.isUnix()) {
            asked.put(DriverOption.UNIX_SOCKET, nodes.isUnixSockets() ? "--unix-sockets" : "a unix:// address");
        }
        return asked;
    }

    List<LockDriver> drivers() {
        return drivers.stream().map(Drivers::named).toList();
    }

    SessionSpec session(List<NodeAddress> addresses, boolean isFresh) {
        return new SessionSpec(addresses, isFresh, transport, eventLoops, idlePolicy, commands,
                handOvers == null ? OptionalInt.empty() : OptionalInt.of(handOvers));
    }

    int clients() {
        return clients;
    }

    boolean isFenced() {
        return fenced;
    }
}
