package dev.redlock.trial.nodes;

import dev.redlock.cli.AdminClient;
import dev.redlock.node.send.KeySlot;
import dev.redlock.resp.RespValue;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A cluster of servers that {@link RedisNodes} has started with {@code cluster-enabled yes}. Other servers may join as
 * replicas, or as masters without slots.
 *
 * @threading caller-confined
 */
public final class RedisCluster {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final long POLL_MS = 20;
    private static final String MIGRATE_TIMEOUT_MS = "5000";

    private final List<RedisNode> masters;
    private final List<RedisNode> members;

    private RedisCluster(List<RedisNode> masters, List<RedisNode> members) {
        this.masters = masters;
        this.members = members;
    }

    public static RedisNodesContext enabled(RedisNodesContext context, int nodeTimeoutMs) {
        return context.config("cluster-enabled yes")
                .config("cluster-config-file nodes.conf")
                .config("cluster-node-timeout " + nodeTimeoutMs)
                // Otherwise a replica waits for 5 s in case others come.
                .config("repl-diskless-sync-delay 0")
                // Otherwise a server that was a replica restarts with the data of its last synchronization.
                .config("rdb-del-sync-files yes")
                // A replica that has lost its master for long may be promoted too.
                .config("cluster-replica-validity-factor 0");
    }

    /** Forms a cluster, with the slots spread evenly over the first servers, and waits until each server sees it. */
    public static RedisCluster form(List<RedisNode> nodes, int masterCount) {
        return formEach(nodes, nodes.size(), masterCount).get(0);
    }

    /** As {@link #form}, of each run of so many servers: a server that gets its slots late serves them 5 s later. */
    public static List<RedisCluster> formEach(List<RedisNode> nodes, int size, int masterCount) {
        List<RedisCluster> clusters = new ArrayList<>();
        for (int i = 0; i < nodes.size(); i += size) {
            clusters.add(introduce(nodes.subList(i, i + size), masterCount));
        }
        clusters.forEach(RedisCluster::awaitComplete);
        return clusters;
    }

    private static RedisCluster introduce(List<RedisNode> nodes, int masterCount) {
        for (int i = 0; i < masterCount; i++) {
            addSlots(nodes.get(i), i * KeySlot.COUNT / masterCount, (i + 1) * KeySlot.COUNT / masterCount - 1);
        }
        for (int i = 0; i < nodes.size(); i++) {
            // Otherwise two servers with the same epoch resolve the conflict later, which changes the owners.
            call(nodes.get(i), "CLUSTER", "SET-CONFIG-EPOCH", Integer.toString(i + 1));
        }
        RedisNode first = nodes.get(0);
        for (RedisNode other : nodes.subList(1, nodes.size())) {
            call(first, "CLUSTER", "MEET", other.address().host(), Integer.toString(other.address().port()));
        }
        return new RedisCluster(new ArrayList<>(nodes.subList(0, masterCount)), List.copyOf(nodes));
    }

    /** Servers before version 7 take single slots only. */
    private static void addSlots(RedisNode node, int first, int last) {
        RespValue reply = send(node, "CLUSTER", "ADDSLOTSRANGE", Integer.toString(first), Integer.toString(last));
        if (reply.isError()) {
            List<String> words = new ArrayList<>(List.of("CLUSTER", "ADDSLOTS"));
            IntStream.rangeClosed(first, last).forEach(slot -> words.add(Integer.toString(slot)));
            call(node, words.toArray(String[]::new));
        }
    }

    private static RespValue send(RedisNode node, String... words) {
        try (AdminClient redis = node.connect()) {
            return redis.send(words);
        } catch (IOException e) {
            throw new UncheckedIOException(node + " did not answer " + words[0], e);
        }
    }

    private static RespValue call(RedisNode node, String... words) {
        RespValue reply = send(node, words);
        if (reply.isError()) {
            throw new IllegalStateException(node + " answered " + String.join(" ", words[0], words[1]) + " with "
                    + reply.asText());
        }
        return reply;
    }

    private static void await(String what, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + LIMIT.toNanos();
        while (!condition.getAsBoolean()) {
            if (deadlineNs - System.nanoTime() < 0) {
                throw new IllegalStateException("not within " + LIMIT + ": " + what);
            }
            try {
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while waiting: " + what, e);
            }
        }
    }

    /** Waits until each running server sees all slots served. */
    public void awaitComplete() {
        List<RedisNode> running = members.stream().filter(node -> node.state() == NodeState.RUNNING).toList();
        await("each server sees all slots served",
                () -> running.stream()
                        .allMatch(node -> info(node).contains("cluster_state:ok")
                                && info(node).contains("cluster_known_nodes:" + members.size())));
    }

    private static String info(RedisNode node) {
        return call(node, "CLUSTER", "INFO").asText();
    }

    /** The address in the form that {@code Redlock.connect} takes, with all servers as seeds and the password. */
    public String address() {
        NodeAddress first = members.get(0).address();
        String login = NodeUris.of(first).replaceFirst("^(?:redis://)?(?:(.*@)?).*$", "$1");
        return "redis-cluster://" + login + members.stream()
                .map(node -> node.address().host() + ":" + node.address().port())
                .collect(Collectors.joining(","));
    }

    /** The server that owns the slot of a key now, as the first running server sees it. */
    public RedisNode ownerOf(String key) {
        int slot = slotOf(key);
        RedisNode asked = members.stream().filter(node -> node.state() == NodeState.RUNNING).findFirst().orElseThrow();
        for (RespValue range : call(asked, "CLUSTER", "SLOTS").elements()) {
            if (range.elements().get(0).asLong() <= slot && slot <= range.elements().get(1).asLong()) {
                long port = range.elements().get(2).elements().get(1).asLong();
                return members.stream().filter(node -> node.address().port() == port).findFirst().orElseThrow();
            }
        }
        throw new IllegalStateException("no server owns slot " + slot);
    }

    public static int slotOf(String key) {
        byte[] name = key.getBytes(StandardCharsets.UTF_8);
        return KeySlot.of(name, 0, name.length);
    }

    /** Starts to move a slot: its keys follow with {@link #moveKeys}. */
    public void startMove(int slot, RedisNode from, RedisNode to) {
        call(to, "CLUSTER", "SETSLOT", Integer.toString(slot), "IMPORTING", idOf(from));
        call(from, "CLUSTER", "SETSLOT", Integer.toString(slot), "MIGRATING", idOf(to));
    }

    /** Moves the keys that a slot has now. */
    public void moveKeys(int slot, RedisNode from, RedisNode to) {
        while (true) {
            List<RespValue> keys = call(from, "CLUSTER", "GETKEYSINSLOT", Integer.toString(slot), "100").elements();
            if (keys.isEmpty()) {
                return;
            }
            List<String> words = new ArrayList<>(List.of("MIGRATE", to.address().host(),
                    Integer.toString(to.address().port()), "", "0", MIGRATE_TIMEOUT_MS, "KEYS"));
            keys.forEach(key -> words.add(key.asText()));
            call(from, words.toArray(String[]::new));
        }
    }

    /** Gives a slot whose keys have moved to its new owner, and waits until all servers know. */
    public void endMove(int slot, RedisNode from, RedisNode to) {
        String id = idOf(to);
        call(to, "CLUSTER", "SETSLOT", Integer.toString(slot), "NODE", id);
        call(from, "CLUSTER", "SETSLOT", Integer.toString(slot), "NODE", id);
        for (RedisNode master : runningMasters()) {
            call(master, "CLUSTER", "SETSLOT", Integer.toString(slot), "NODE", id);
        }
    }

    /** Leaves a slot where it is; its keys that have moved are lost. */
    public void abortMove(int slot, RedisNode from, RedisNode to) {
        call(from, "CLUSTER", "SETSLOT", Integer.toString(slot), "STABLE");
        call(to, "CLUSTER", "SETSLOT", Integer.toString(slot), "STABLE");
    }

    public void move(int slot, RedisNode from, RedisNode to) {
        startMove(slot, from, to);
        moveKeys(slot, from, to);
        endMove(slot, from, to);
    }

    public List<RedisNode> members() {
        return members;
    }

    /** The running servers that are masters now. */
    public List<RedisNode> runningMasters() {
        return members.stream()
                .filter(node -> node.state() == NodeState.RUNNING && replication(node).contains("role:master"))
                .toList();
    }

    private static String replication(RedisNode node) {
        return call(node, "INFO", "replication").asText();
    }

    /** Waits for a replica that has the data of its master. */
    public RedisNode awaitReplica() {
        List<RedisNode> found = new ArrayList<>();
        await("a replica of " + members + " is in step",
                () -> members.stream()
                        .filter(node -> node.state() == NodeState.RUNNING
                                && replication(node).contains("master_link_status:up"))
                        .limit(1)
                        .peek(found::add)
                        .count() > 0);
        return found.get(0);
    }

    /** The master of a replica. */
    public RedisNode masterOf(RedisNode replica) {
        String known = replication(replica);
        return members.stream()
                .filter(node -> known.contains("master_port:" + node.address().port() + "\r"))
                .findFirst()
                .orElseThrow();
    }

    private static String idOf(RedisNode node) {
        return call(node, "CLUSTER", "MYID").asText();
    }

    /** Makes a server a replica, and waits until it has the data of its master. */
    public void replicate(RedisNode replica, RedisNode master) {
        await(replica + " knows " + master,
                () -> call(replica, "CLUSTER", "NODES").asText().contains(idOf(master)));
        call(replica, "CLUSTER", "REPLICATE", idOf(master));
        await(replica + " is in step with " + master,
                () -> replication(replica).contains("master_link_status:up"));
    }

    /** Promotes a replica, and waits until it is a master. If lossy, its master is not asked: writes may be lost. */
    public void promote(RedisNode replica, boolean isLossy) {
        if (isLossy) {
            call(replica, "CLUSTER", "FAILOVER", "TAKEOVER");
        } else {
            call(replica, "CLUSTER", "FAILOVER");
        }
        await(replica + " is a master",
                () -> replication(replica).contains("role:master"));
    }

    @Override
    public String toString() {
        return "cluster of " + masters;
    }
}
