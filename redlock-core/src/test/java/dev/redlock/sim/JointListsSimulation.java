package dev.redlock.sim;

import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.spec.Step;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * One run in virtual time in which the list of nodes changes while clients lock: each client is killed or closed, and
 * another one starts in its place with the lists of the next step. Nodes are cut off from some clients, slow, paused.
 * After every event at most one lease of each lock is valid, those of killed clients included. The same seed gives the
 * same run.
 */
final class JointListsSimulation extends WorkersSimulation {

    private static final int NODES = 5;
    private static final int TTL_MS_MAX = 3_000;
    /** The longest ttl, with the drift of one percent and 2 ms. */
    private static final int WAIT_MS = TTL_MS_MAX * 101 / 100 + 2;
    private static final int SEATS = 3;
    private static final int RESOURCES = 2;
    private static final int START_MS = 3_000;
    private static final int SEAT_MS = 1_500;

    /** How the list is changed. */
    enum Procedure {
        /** As the documentation says. */
        THREE_STEPS,
        /** Wrong: from one list to the other. */
        WITHOUT_BOTH_LISTS,
        /** Wrong: the second rollout overtakes the first one. */
        OVERLAPPING,
        /** Wrong: the second rollout follows the first one at once. */
        WITHOUT_THE_WAIT
    }

    private static final int[][][] CHANGES = {{{0, 1, 2}, {0, 1, 3}}, {{0, 1, 2}, {0, 1, 2, 3, 4}},
        {{0, 1, 2, 3, 4}, {0, 1, 2}}, {{0, 1, 2}, {2, 3, 4}}};

    private final String[] present;
    private final String[] next;
    private final Seat[] seats = new Seat[SEATS];
    private int clientCount;

    /** The place of a client. */
    private final class Seat {
        private VirtualWorld.Client client;
        private Lists lists;
        private final List<Worker> own = new ArrayList<>();

        void start(Lists newLists) {
            lists = newLists;
            RedlockContext context = contextOf(newLists);
            if (client != null) {
                own.forEach(Worker::end);
                own.clear();
                if (random.nextBoolean()) {
                    client.kill();
                } else {
                    client.engine().close(Duration.ofMillis(100));
                }
            }
            client = world.newClient("client-" + clientCount++, context.maxTtl(Duration.ofMillis(TTL_MS_MAX))
                    .thriftyQuorums(random.nextBoolean())
                    .restartGuard(RestartGuardMode.OFF), random.nextLong());
            if (steps != null) {
                addToSteps(this);
            }
            for (int r = 0; r < RESOURCES; r++) {
                Worker worker = new Worker(client, "resource-" + r,
                        TTL_MS_MAX / 2 + random.nextInt(TTL_MS_MAX / 2));
                own.add(worker);
                workers.add(worker);
                after(100, worker::acquire);
            }
        }
    }

    JointListsSimulation(long seed, Procedure procedure) {
        super(seed, random -> NODES, 200);
        int[][] change = CHANGES[(int) (seed % CHANGES.length)];
        this.present = addresses(change[0]);
        this.next = addresses(change[1]);
        setUpNodes();
        for (int i = 0; i < SEATS; i++) {
            seats[i] = new Seat();
            seats[i].start(Lists.PRESENT);
        }
        schedule(procedure);
    }

    private static String[] addresses(int[] nodes) {
        String[] addresses = new String[nodes.length];
        for (int i = 0; i < nodes.length; i++) {
            addresses[i] = "node-" + nodes[i] + ":1";
        }
        return addresses;
    }

    /** The lists of a client. */
    private enum Lists {
        PRESENT, BOTH, NEXT
    }

    private RedlockContext contextOf(Lists lists) {
        return switch (lists) {
            case PRESENT -> new RedlockContext().nodes(present);
            case BOTH -> new RedlockContext().nodes(present).nextNodes(next);
            case NEXT -> new RedlockContext().nodes(next);
        };
    }

    /** Writes the run as steps; call it before the run. */
    StepTrace writeSteps(Consumer<Step> out) {
        steps = new StepTrace(world, out);
        for (Seat seat : seats) {
            addToSteps(seat);
        }
        return steps;
    }

    private void addToSteps(Seat seat) {
        List<String> lists = new ArrayList<>();
        List<String> order = new ArrayList<>();
        if (seat.lists != Lists.NEXT) {
            lists.add(nodesOf(present, order));
        }
        if (seat.lists != Lists.PRESENT) {
            lists.add(nodesOf(next, order));
        }
        steps.addClient(seat.client, 2, 1_000, order, lists.toArray(new String[0]));
    }

    /** The nodes of a list in the steps, and in the order in which the client numbers them. */
    private static String nodesOf(String[] addresses, List<String> order) {
        List<String> names = new ArrayList<>();
        for (String address : addresses) {
            String name = "n" + address.substring(5, address.indexOf(':'));
            names.add(name);
            if (!order.contains(name)) {
                order.add(name);
            }
        }
        return String.join(",", names);
    }

    private void schedule(Procedure procedure) {
        int firstEndMs = START_MS + (SEATS - 1) * SEAT_MS;
        int secondMs = switch (procedure) {
            case THREE_STEPS -> firstEndMs + WAIT_MS;
            case WITHOUT_BOTH_LISTS -> START_MS;
            case OVERLAPPING -> START_MS + SEAT_MS / 2;
            case WITHOUT_THE_WAIT -> firstEndMs + 10;
        };
        for (int i = 0; i < SEATS; i++) {
            Seat seat = seats[i];
            if (procedure != Procedure.WITHOUT_BOTH_LISTS) {
                after(START_MS + i * SEAT_MS, () -> seat.start(Lists.BOTH));
            }
            after(secondMs + i * SEAT_MS, () -> seat.start(Lists.NEXT));
        }
    }

    @Override
    int nextFaultMs() {
        return 100 + random.nextInt(400);
    }

    @Override
    void fault() {
        FakeNode node = randomNode();
        switch (random.nextInt(6)) {
            case 0 -> node.breakConnections();
            case 1 -> slowDown(node);
            default -> cutOff(node);
        }
    }

    private void cutOff(FakeNode node) {
        count("CUT_OFF");
        int seat = random.nextInt(SEATS);
        node.cutOff(link -> seats[seat].client.isNamed(link));
        after(500 + random.nextInt(2_000), () -> node.cutOff(link -> false));
    }

    /** Runs all steps. */
    JointListsSimulation run() {
        run(START_MS + 2 * SEATS * SEAT_MS + WAIT_MS + 4_000, 2 * TTL_MS_MAX + 2_000);
        return this;
    }

    @Override
    void endFaults() {
        world.nodes().forEach(node -> node.cutOff(link -> false));
    }

    @Override
    void checkEnd() {
        for (FakeNode node : world.nodes()) {
            if (!node.redis().keys().isEmpty()) {
                violate("keys left on " + node + ": " + node.redis().keys());
            }
        }
    }

    @Override
    public String toString() {
        return String.join(",", present) + " to " + String.join(",", next) + " " + counts();
    }
}
