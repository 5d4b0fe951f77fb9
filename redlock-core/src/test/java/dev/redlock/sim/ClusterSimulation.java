package dev.redlock.sim;

import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.node.cluster.DeposedMaster;
import dev.redlock.spec.Step;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * One run with clusters among the voters, in virtual time: slots move, masters fail over and lose writes, deposed
 * masters still serve clients, servers have wrong maps, connections break. After every event at most one
 * client holds each lock. The same seed gives the same run.
 */
final class ClusterSimulation extends WorkersSimulation {

    private static final int VOTERS = 3;
    private static final int NODE_TIMEOUT_MS = 1_000;
    /** How long a deposed master serves at most. */
    private static final int SERVED_MS_MAX = (int) DeposedMaster.servedMsMax(NODE_TIMEOUT_MS);
    private static final int RESOURCES = 3;
    private static final int SERVERS = 3;

    /** What a client that breaks the rule has: locks of 100 ms, and so a silence that is shorter than other locks. */
    enum Silence {
        ALL_OBEY, ONE_IGNORES
    }

    private final List<Cluster> clusters = new ArrayList<>();
    private final List<FakeNode> single = new ArrayList<>();
    private final String[] addresses = new String[VOTERS];
    private final List<VirtualWorld.Client> clients = new ArrayList<>();
    private final int ttlMsMax;
    private final int faultPeriodMs;
    /** The resource whose steps are written. */
    private String stepsOf;
    /** The client that breaks the rule; null for none. */
    private VirtualWorld.Client ignoring;

    /** Two masters with slots and a replica of the first one; the roles change. */
    private final class Cluster {
        private final FakeCluster model = new FakeCluster();
        private final FakeCluster.Member[] members = new FakeCluster.Member[SERVERS];
        private final FakeNode[] nodes = new FakeNode[SERVERS];
        /** The indexes of the masters and of the replica. */
        private int first;
        private int second = 1;
        private int replica = 2;
        private boolean isBusy;
        private final int firstNode;

        Cluster(int firstNode) {
            this.firstNode = firstNode;
            for (int i = 0; i < SERVERS; i++) {
                nodes[i] = world.node(firstNode + i);
                members[i] = model.add(nodes[i].redis(), "node-" + (firstNode + i), 1);
            }
            model.nodeTimeoutMs(NODE_TIMEOUT_MS);
            members[0].own(0, 8_191);
            members[1].own(8_192, 16_383);
            members[2].demote();
        }

        private FakeCluster.Member ownerOf(int slot) {
            for (int i : new int[]{first, second}) {
                if (members[i].owns(slot)) {
                    return members[i];
                }
            }
            throw new IllegalStateException("no owner of " + slot);
        }

        void moveSlot(int slot) {
            if (isBusy) {
                return;
            }
            isBusy = true;
            count("MOVE");
            FakeCluster.Member from = ownerOf(slot);
            FakeCluster.Member to = from == members[first] ? members[second] : members[first];
            model.startMigration(slot, from, to);
            int keysMs = random.nextInt(500);
            after(keysMs, () -> moveKeys(slot, from, to));
            after(keysMs + random.nextInt(500), () -> {
                moveKeys(slot, from, to);
                if (isInSteps(slot)) {
                    steps.onMoved(serverOf(from), serverOf(to), () -> model.endMigration(slot));
                } else {
                    model.endMigration(slot);
                }
                isBusy = false;
            });
        }

        private void moveKeys(int slot, FakeCluster.Member from, FakeCluster.Member to) {
            if (isInSteps(slot)) {
                steps.onMove(serverOf(from), serverOf(to), () -> model.moveKeys(slot));
            } else {
                model.moveKeys(slot);
            }
        }

        /** The index of a server in the world. */
        private int serverOf(FakeCluster.Member member) {
            return firstNode + Arrays.asList(members).indexOf(member);
        }

        /** The first master is lost or cut off from the others, which promote its replica. */
        void failOver() {
            if (isBusy) {
                return;
            }
            isBusy = true;
            count("FAILOVER");
            int deposed = first;
            boolean areKeysKept = random.nextBoolean();
            int promoted = replica;
            if (steps == null) {
                model.failOver(members[deposed], members[promoted], areKeysKept);
            } else {
                steps.onFailOver(firstNode + deposed, firstNode + promoted,
                        () -> model.failOver(members[deposed], members[promoted], areKeysKept));
            }
            first = replica;
            replica = deposed;
            if (random.nextInt(3) == 0) {
                nodes[deposed].crash();
            }
            after(random.nextInt(SERVED_MS_MAX), () -> {
                if (steps != null) {
                    steps.onHeal(firstNode + deposed);
                }
                model.heal(members[deposed], members[first]);
                if (!nodes[deposed].isUp()) {
                    nodes[deposed].restart(false);
                }
                // An operator may promote it again when it is in step.
                after(2_000 + random.nextInt(3_000), () -> isBusy = false);
            });
        }

        /** A server without the slot names a wrong owner for a while. */
        void confuse(int slot) {
            if (isBusy) {
                return;
            }
            isBusy = true;
            count("WRONG_MAP");
            FakeCluster.Member owner = ownerOf(slot);
            FakeCluster.Member other = owner == members[first] ? members[second] : members[first];
            other.believe(slot, members[replica]);
            members[replica].believe(slot, other);
            after(random.nextInt(2_000), () -> {
                other.believe(slot, owner);
                members[replica].believe(slot, owner);
                isBusy = false;
            });
        }

        void down() {
            count("DOWN");
            model.down(true);
            after(random.nextInt(1_000), () -> model.down(false));
        }
    }

    ClusterSimulation(long seed, Silence silence) {
        // A cluster has so many nodes more than a voter that is one node.
        super(seed, random -> VOTERS + (1 + random.nextInt(VOTERS)) * (SERVERS - 1), 300);
        int clusterCount = (world.nodes().size() - VOTERS) / (SERVERS - 1);
        this.ttlMsMax = silence == Silence.ONE_IGNORES ? 20_000 : 3_000;
        this.faultPeriodMs = 200 + random.nextInt(2_000);
        setUpVoters(clusterCount);
        setUpNodes();
        for (int i = 0; i < 3; i++) {
            boolean isIgnoring = silence == Silence.ONE_IGNORES && i == 0;
            boolean isThrifty = silence == Silence.ALL_OBEY && (seed + i) % 2 == 0;
            addClient("client-" + i, isIgnoring ? 100 : ttlMsMax, isIgnoring, isThrifty);
        }
    }

    private void setUpVoters(int clusterCount) {
        for (int i = 0; i < VOTERS; i++) {
            if (i < clusterCount) {
                clusters.add(new Cluster(i * SERVERS));
                addresses[i] = "redis-cluster://node-" + i * SERVERS + ":1,node-" + (i * SERVERS + 1) + ":1";
            } else {
                int index = clusterCount * SERVERS + i - clusterCount;
                single.add(world.node(index));
                addresses[i] = "node-" + index + ":1";
            }
        }
    }

    private void addClient(String name, int ttlMs, boolean isIgnoring, boolean isThrifty) {
        RedlockContext context = new RedlockContext().nodes(addresses)
                .thriftyQuorums(isThrifty)
                .maxTtl(Duration.ofMillis(ttlMs))
                .restartGuard(RestartGuardMode.OFF);
        if (isIgnoring) {
            context.unansweredTimeout(Duration.ofMillis(100)).clockSampleInterval(Duration.ZERO);
        }
        VirtualWorld.Client client = world.newClient(name, context, random.nextLong());
        clients.add(client);
        ignoring = isIgnoring ? client : ignoring;
        for (int r = 0; r < RESOURCES; r++) {
            workers.add(new Worker(client, "resource-" + r,
                    isIgnoring ? ttlMs : ttlMs / 3 + random.nextInt(ttlMs * 2 / 3)));
        }
    }

    @Override
    int nextFaultMs() {
        return faultPeriodMs / 2 + random.nextInt(faultPeriodMs);
    }

    @Override
    void fault() {
        Cluster cluster = clusters.get(random.nextInt(clusters.size()));
        int slot = FakeCluster.slotOf("resource-" + random.nextInt(RESOURCES));
        switch (random.nextInt(8)) {
            case 0, 1 -> cluster.moveSlot(slot);
            case 2, 3 -> cluster.failOver();
            case 4 -> cluster.confuse(slot);
            case 5 -> cluster.down();
            case 6 -> randomNode().breakConnections();
            default -> slowDown(randomNode());
        }
    }

    private boolean isInSteps(int slot) {
        return steps != null && slot == FakeCluster.slotOf(stepsOf);
    }

    /** Writes the steps of one resource; call it before the run. */
    StepTrace writeSteps(String resource, Consumer<Step> out) {
        stepsOf = resource;
        int[] nodes = new int[world.nodes().size()];
        int[] owners = new int[VOTERS];
        for (int i = 0; i < VOTERS; i++) {
            if (i < clusters.size()) {
                Cluster cluster = clusters.get(i);
                Arrays.fill(nodes, cluster.firstNode, cluster.firstNode + SERVERS, i);
                owners[i] = cluster.serverOf(cluster.ownerOf(FakeCluster.slotOf(resource)));
            } else {
                owners[i] = world.nodes().indexOf(single.get(i - clusters.size()));
                nodes[owners[i]] = i;
            }
        }
        steps = new StepTrace(world, out, new StepOwners(resource, nodes, owners));
        clients.forEach(
                client -> steps.addClient(client, 2, client == ignoring ? 0 : 1_000, List.of(), "n0,n1,n2"));
        return steps;
    }

    ClusterSimulation run(int workMs) {
        world.runMs(200);
        workers.forEach(Worker::acquire);
        run(workMs, 2 * ttlMsMax + 5_000);
        return this;
    }

    @Override
    void endFaults() {
        clusters.forEach(cluster -> cluster.model.down(false));
    }

    @Override
    void checkEnd() {
        for (VirtualWorld.Client client : clients) {
            if (client.engine().claimsOut() != 0 && client.engine().heldCount() == 0) {
                violate(client.name() + " has " + client.engine().claimsOut() + " claims outside their pool");
            }
        }
    }

    @Override
    public String toString() {
        return Arrays.toString(addresses) + " " + counts();
    }
}
