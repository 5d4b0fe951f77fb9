package dev.redlock.trial.faults;

import dev.redlock.cli.AdminClient;
import dev.redlock.node.DeposedPrimary;
import dev.redlock.testing.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.Source;

/** The part of {@link DeposedPrimaryTest} that runs in the network of the clients. */
final class DeposedPrimaryProbe {

    /** A primary and two replicas. */
    static final int SERVERS = 3;
    private static final int MAX_LAG_S = 2;

    private final NodeNetwork network;
    private final RedisNodes nodes;
    private final RedisNode primary;

    private DeposedPrimaryProbe(NodeNetwork network, RedisNodes nodes) {
        this.network = network;
        this.nodes = nodes;
        this.primary = nodes.node(0);
    }

    /**
     * Cuts the replicas of a primary off, all or one of them, and fails if it serves for longer than the bound.
     *
     * @param args the prefix of the network, and the number of rounds; each begins at another moment of the server's
     *             seconds
     */
    public static void main(String[] args) throws Exception {
        NodeNetwork network = new NodeNetwork(args[0], SERVERS);
        network.connectNodes();
        for (String hz : new String[]{"10", "1"}) {
            RedisNodesContext context = new RedisNodesContext().source(Source.PATH)
                    .places(network.places())
                    .count(SERVERS)
                    .config("hz " + hz)
                    .config("dynamic-hz no")
                    .config("protected-mode no")
                    .config("repl-diskless-sync-delay 0")
                    .config("min-replicas-to-write " + (SERVERS - 1))
                    .config("min-replicas-max-lag " + MAX_LAG_S);
            try (RedisNodes nodes = RedisNodes.start(context)) {
                DeposedPrimaryProbe probe = new DeposedPrimaryProbe(network, nodes);
                for (int round = 0; round < Integer.parseInt(args[1]); round++) {
                    probe.measure(round, "hz " + hz);
                }
            }
        }
    }

    private void measure(int round, String setting) throws Exception {
        for (int i = 1; i < SERVERS; i++) {
            nodes.node(i).call("REPLICAOF", primary.address().host(), Integer.toString(primary.address().port()));
        }
        Await.until("the primary has its replicas", () -> ((String) primary.call("INFO", "replication"))
                .contains("min_slaves_good_slaves:" + (SERVERS - 1)));
        boolean isAlone = round % 2 == 0;
        int cutOff = isAlone ? 0 : 1;
        long servedMs;
        try (AdminClient admin = primary.connect()) {
            check(admin);
            long cutNs = System.nanoTime();
            network.isolate(cutOff);
            long[] lastNs = {cutNs};
            Await.until("the primary refuses locks", () -> {
                long nowNs = System.nanoTime();
                boolean isServing = isServing(admin);
                lastNs[0] = isServing ? nowNs : lastNs[0];
                return !isServing;
            });
            servedMs = (lastNs[0] - cutNs) / 1_000_000;
        }
        network.heal(cutOff);
        long boundMs = DeposedPrimary.servedMsMax(MAX_LAG_S * 1_000L);
        System.out.println("the primary, " + (isAlone ? "cut off" : "with one replica cut off") + ", served for "
                + servedMs + " ms; " + setting + ", min-replicas-max-lag " + MAX_LAG_S + ", bound " + boundMs + " ms");
        if (servedMs > boundMs) {
            throw new AssertionError(servedMs + " ms is more than " + boundMs + " ms");
        }
    }

    private static void check(AdminClient admin) throws Exception {
        if (!isServing(admin)) {
            throw new AssertionError("the primary refuses locks before the fault");
        }
    }

    /** Whether the primary grants a lock, by one of the two commands that do. */
    private static boolean isServing(AdminClient admin) {
        try {
            boolean isSet = !admin.send("SET", "lock", "token", "PX", "1").isError();
            boolean isScriptRun = !admin
                    .send("EVAL", "return redis.call('SET', KEYS[1], 'token', 'PX', '1')", "1", "lock")
                    .isError();
            return isSet || isScriptRun;
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
