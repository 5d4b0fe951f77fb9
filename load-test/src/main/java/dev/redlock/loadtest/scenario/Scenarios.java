package dev.redlock.loadtest.scenario;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.cli.AdminClient;
import dev.redlock.trial.faults.FaultProxy;
import dev.redlock.trial.nodes.ClockLibrary;
import dev.redlock.trial.nodes.Data;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RedisSentinels;
import dev.redlock.trial.nodes.Source;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/**
 * The failures of the public debate about distributed locks, each played on nodes of its own.
 *
 * @threading caller-confined
 */
final class Scenarios {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration WAIT = Duration.ofSeconds(15);
    private static final Duration PARTITION_TTL = Duration.ofMillis(1500);
    /** Of a node, and the ttl of the locks; short, because the scenario waits for its end. */
    private static final Duration QUARANTINE = Duration.ofSeconds(2);

    static final List<Scenario> ALL = List.of(
            new Scenario("replica-failover",
                    "Failover to a replica gives one lock to two holders; a majority of independent masters does not.",
                    false, Scenarios::replicaFailover),
            new Scenario("promoted-replica-single",
                    "One primary and its replica: a client that starts after the failover waits until the locks that "
                            + "the replica lacks have expired.",
                    false, Scenarios::promotedReplica),
            new Scenario("demoted-endpoint",
                    "An endpoint that moves to the promoted server while old connections live: the client follows, "
                            + "and waits until the locks that the server lacks have expired.",
                    false, Scenarios::demotedEndpoint),
            new Scenario("sentinel-failover",
                    "The primary behind three Sentinels is killed: the client follows them to the promoted server, and "
                            + "waits until the locks that it lacks have expired.",
                    false, Scenarios::sentinelFailover),
            new Scenario("setnx-then-expire",
                    "A crash between SETNX and EXPIRE locks a resource for ever; one atomic step cannot.",
                    false, Scenarios::expireNeverSent),
            new Scenario("plain-delete",
                    "A late plain DEL frees the next holder's lock; compare-and-delete leaves it alone.",
                    false, Scenarios::plainDelete),
            new Scenario("empty-restart",
                    "A node that restarts without its data breaks the lock, unless the restart guard keeps it from "
                            + "voting.",
                    false, Scenarios::emptyRestart),
            new Scenario("paused-holder",
                    "A holder that pauses past its validity still acts; a resource that checks fencing tokens "
                            + "rejects it.",
                    false, Scenarios::pausedHolder),
            new Scenario("lost-reply",
                    "A grant whose reply is lost leaves a key; the client retains its release and delivers it when "
                            + "it reconnects.",
                    false, Scenarios::lostReply),
            new Scenario("split-vote",
                    "Votes can split so that nobody wins; rollback at once and random delays let all win in turn.",
                    false, Scenarios::splitVote),
            new Scenario("permanent-partition",
                    "A holder that is cut off for good costs the others its ttl, every time, and nothing more.",
                    false, Scenarios::permanentPartition),
            new Scenario("clock-jump",
                    "A clock that jumps ahead frees a lock early; the clock watch detects it and notifies the holder.",
                    true, Scenarios::clockJump));

    /** A master, its replica, and a lock that is not replicated yet. Then the same loss among three masters. */
    static void replicaFailover(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(2)) {
            failOver(stage, timeline);
        }
        try (Stage stage = new Stage(3)) {
            Redlock first = stage.client();
            Redlock second = stage.client();
            timeline.expect("three masters: the first client acquires",
                    first.tryAcquire("r", LONG).isAcquired());
            stage.node(0).kill();
            timeline.log("one of the masters is killed");
            timeline.expect("the second client does not get the lock: two masters still have it",
                    !second.tryAcquire("r", LONG).isAcquired());
        }
    }

    private static void failOver(Stage stage, Timeline timeline) throws Exception {
        FaultProxy replication = stage.proxy(stage.node(0));
        try (AdminClient replica = stage.node(1).connect()) {
            replica.call("REPLICAOF", "127.0.0.1", Integer.toString(replication.address().port()));
            timeline.await("node 1 is a replica of node 0", () -> "up".equals(replica.info("master_link_status")));
            replication.stall();
            timeline.log("replication falls behind");
            timeline.expect("the first client's SET NX on the master succeeds",
                    stage.setNx(0, "r", "first", LONG.toMillis()));
            stage.node(0).kill();
            replication.cut();
            timeline.log("the master crashes before the lock is replicated");
            replica.call("REPLICAOF", "NO", "ONE");
            timeline.log("the replica is promoted");
            timeline.expect("the second client's SET NX succeeds too: TWO HOLDERS",
                    stage.setNx(1, "r", "second", LONG.toMillis()));
        }
    }

    /** One endpoint, and a lock that is not replicated. The former primary lives on, cut off from its replica. */
    static void promotedReplica(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(2)) {
            FaultProxy replication = stage.proxy(stage.node(0));
            String primary = stage.node(0).address().toString();
            String replica = stage.node(1).address().toString();
            stage.node(1).call("REPLICAOF", "127.0.0.1", Integer.toString(replication.address().port()));
            timeline.await("node 1 is a replica of node 0",
                    () -> ((String) stage.node(1).call("INFO", "replication")).contains("master_link_status:up"));
            Redlock first = stage.client(single(primary));
            timeline.await("the first client: the primary is old enough to vote", () -> isAllReady(first));
            replication.stall();
            timeline.log("replication falls behind");
            Lease held = first.acquire("r", QUARANTINE).lease();
            timeline.expect("the first client acquires", held.isHeld());
            stage.node(1).call("REPLICAOF", "NO", "ONE");
            timeline.expect("the replica is promoted without the lock", !stage.has(1, "r"));
            Redlock second = stage.client(single(replica));
            AcquireOutcome now = second.tryAcquire("r", QUARANTINE);
            timeline.expect("the second client, started now, does not acquire: \"" + now.voteText(0) + "\"",
                    !now.isAcquired() && second.nodes().get(0).state() == NodeState.QUARANTINED);
            AcquireOutcome later = second.tryAcquire("r", QUARANTINE, WAIT);
            timeline.expect("it acquires later, when the first lease has ended",
                    later.isAcquired() && !held.isHeld());
            timeline.await("a third client finds the mark and acquires at once",
                    () -> later.lease().release() != null
                            && stage.client(single(replica)).tryAcquire("s", QUARANTINE).isAcquired());
        }
    }

    /** A planned handover: the demoted server serves reads on, on the connections that it has. */
    static void demotedEndpoint(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(2)) {
            FaultProxy endpoint = stage.proxy(stage.node(0));
            stage.node(1).call("REPLICAOF", "127.0.0.1", Integer.toString(stage.node(0).address().port()));
            timeline.await("node 1 is a replica of node 0",
                    () -> ((String) stage.node(1).call("INFO", "replication")).contains("master_link_status:up"));
            Redlock client = stage.client(single(endpoint.address().toString()));
            timeline.await("the client: the primary is old enough to vote", () -> isAllReady(client));
            Lease held = client.acquire("r", QUARANTINE).lease();
            timeline.expect("it acquires", held.isHeld());
            stage.node(1).call("REPLICAOF", "NO", "ONE");
            endpoint.moveTo(stage.node(1).address());
            stage.node(0).call("REPLICAOF", "127.0.0.1", Integer.toString(stage.node(1).address().port()));
            long movedNs = System.nanoTime();
            timeline.log("node 1 is promoted, the endpoint leads there, node 0 is a replica; no connection was closed");
            timeline.await("the client has left the replica", () -> client.nodes().get(0).disconnectCount() > 0);
            timeline.await("it does not vote yet: the promoted server may lack locks",
                    () -> client.nodes().get(0).state() == NodeState.QUARANTINED);
            AcquireOutcome later = client.tryAcquire("s", QUARANTINE, WAIT);
            long gapMs = (System.nanoTime() - movedNs) / 1_000_000;
            timeline.expect("it acquires " + gapMs + " ms after the move, by itself", later.isAcquired());
            timeline.expect("the new primary has the lock", stage.has(1, "s"));
        }
    }

    /** The settings bound for how long a primary that is cut off serves. */
    static void sentinelFailover(Timeline timeline) throws Exception {
        RedisNodesContext servers = new RedisNodesContext().source(Source.PATH)
                .count(3)
                .config("repl-diskless-sync-delay 0")
                .config("min-replicas-to-write 1")
                .config("min-replicas-max-lag 2");
        try (RedisNodes nodes = RedisNodes.start(servers);
                RedisSentinels sentinels = RedisSentinels.watch(nodes, null);
                Redlock client = Redlock.connect(single(sentinels.address("")))) {
            timeline.log("three Sentinels watch a primary with two replicas");
            timeline.await("the client: the primary is old enough to vote", () -> isAllReady(client));
            Lease held = client.acquire("r", QUARANTINE).lease();
            timeline.expect("it acquires", held.isHeld());
            nodes.node(0).kill();
            long killedNs = System.nanoTime();
            timeline.log("the primary is killed");
            timeline.await("the Sentinels have promoted another server, and the client is connected to it",
                    () -> client.nodes().get(0).state() == NodeState.QUARANTINED);
            AcquireOutcome later = client.tryAcquire("r", QUARANTINE, LONG);
            long gapMs = (System.nanoTime() - killedNs) / 1_000_000;
            timeline.expect("it acquires " + gapMs + " ms after the kill, when the earlier lease has ended",
                    later.isAcquired() && !held.isHeld());
        }
    }

    private static RedlockContext single(String address) {
        return Stage.common(address).maxTtl(QUARANTINE);
    }

    /** SETNX, a crash, and no EXPIRE. */
    static void expireNeverSent(Timeline timeline) throws Exception {
        Duration ttl = Duration.ofMillis(600);
        try (Stage stage = new Stage(1)) {
            Redlock client = stage.client();
            try (AdminClient crashing = stage.node(0).connect()) {
                timeline.expect("SETNX succeeds", Long.valueOf(1).equals(crashing.call("SETNX", "r", "token")));
            }
            timeline.log("its client crashes before EXPIRE");
            timeline.expect("the key has no expiry", Long.valueOf(-1).equals(stage.node(0).call("PTTL", "r")));
            AcquireOutcome outcome = client.tryAcquire("r", ttl);
            timeline.expect("nobody gets the lock, and the holder's key never expires: " + outcome.kind(),
                    !outcome.isAcquired() && outcome.shortestRemainingTtlMs() == Long.MAX_VALUE);
            stage.node(0).call("DEL", "r");
            timeline.log("somebody deletes the key by hand");
            timeline.expect("SET NX PX, one step, succeeds", stage.setNx(0, "r", "token", ttl.toMillis()));
            timeline.log("its client crashes");
            timeline.expect("the next client waits and gets the lock when the ttl has passed",
                    client.tryAcquire("r", ttl, WAIT).isAcquired());
        }
    }

    /** A release that does not check the owner of the lock. */
    static void plainDelete(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(1)) {
            timeline.expect("the first client takes the lock for 300 ms", stage.setNx(0, "r", "first", 300));
            timeline.await("its work takes longer, the lock expires, the second client takes it",
                    () -> stage.setNx(0, "r", "second", LONG.toMillis()));
            stage.node(0).call("DEL", "r");
            timeline.log("the first client is done and sends DEL");
            timeline.expect("the third client gets the lock while the second works: TWO HOLDERS",
                    stage.setNx(0, "r", "third", LONG.toMillis()));
        }
        try (Stage stage = new Stage(3)) {
            Redlock first = stage.client();
            Redlock second = stage.client();
            Lease late = first.acquire("r", Duration.ofMillis(300)).lease();
            timeline.log("redlock: the first client takes the lock for 300 ms and works longer");
            Lease next = second.tryAcquire("r", LONG, WAIT).lease();
            timeline.log("the second client takes it");
            ReleaseOutcome outcome = late.release();
            timeline.expect("the first client's release returns " + outcome, outcome == ReleaseOutcome.EXPIRED);
            // By a majority: a node on which the first client's key expired a moment later rejected the second client.
            timeline.expect("the second client still holds the lock", next.isHeld() && stage.count("r") >= 2);
        }
    }

    /** A node loses a lock in a restart, and votes for another holder. */
    static void emptyRestart(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(3)) {
            Redlock rival = stage.client();
            List<FaultProxy> proxies = stage.proxies();
            Lease held = takeOnTwoNodes(stage, proxies, LONG, timeline);
            restartEmpty(stage, proxies, timeline);
            timeline.await("without the guard the second client acquires from nodes 1 and 2",
                    () -> rival.tryAcquire("r", LONG).isAcquired());
            timeline.expect("and the first still believes in its lease: TWO HOLDERS", held.isHeld());
        }
        try (Stage stage = new Stage(3)) {
            Redlock guarded = stage.client(guarded(stage));
            timeline.await("with the guard: the nodes are old enough to vote", () -> isAllReady(guarded));
            List<FaultProxy> proxies = stage.proxies();
            Lease held = takeOnTwoNodes(stage, proxies, QUARANTINE, timeline);
            restartEmpty(stage, proxies, timeline);
            timeline.await("the second client meets it again and keeps it in quarantine",
                    () -> guarded.nodes().get(1).state() == NodeState.QUARANTINED);
            AcquireOutcome now = guarded.tryAcquire("r", QUARANTINE);
            timeline.expect("the second client does not acquire now: node 1 says \"" + now.voteText(1) + "\"",
                    !now.isAcquired());
            AcquireOutcome later = guarded.tryAcquire("r", QUARANTINE, WAIT);
            timeline.expect("it acquires later, when the first lease has ended",
                    later.isAcquired() && !held.isHeld());
        }
    }

    private static RedlockContext guarded(Stage stage) {
        return Stage.common(stage.addresses()).maxTtl(QUARANTINE).restartGuard(RestartGuardMode.UPTIME);
    }

    private static boolean isAllReady(Redlock client) {
        return client.nodes().stream().allMatch(node -> node.state() == NodeState.READY);
    }

    private static Lease takeOnTwoNodes(Stage stage, List<FaultProxy> proxies, Duration ttl, Timeline timeline)
            throws InterruptedException {
        proxies.get(2).cut();
        Lease held = stage.client(proxies).acquire("r", ttl).lease();
        timeline.expect("the first client, cut off from node 2, acquires from nodes 0 and 1",
                stage.has(0, "r") && stage.has(1, "r") && !stage.has(2, "r"));
        return held;
    }

    /** A client that meets the node again would find the restart, and give up its lease. */
    private static void restartEmpty(Stage stage, List<FaultProxy> proxies, Timeline timeline) {
        proxies.get(1).cut();
        timeline.log("the first client is cut off from node 1 too");
        stage.node(1).restart(Data.LOST);
        timeline.log("node 1 crashes and restarts without its data");
    }

    /** A holder that pauses between its last check of the lease and its write. */
    static void pausedHolder(Timeline timeline) throws Exception {
        AcquireOptions fenced = AcquireOptions.ofTtl(Duration.ofMillis(500)).waitUpTo(WAIT).fenced();
        FencedRegister register = new FencedRegister();
        try (Stage stage = new Stage(3)) {
            Redlock first = stage.client();
            Redlock second = stage.client();
            Lease paused = first.acquire(first.key("r"), fenced).lease();
            timeline.expect("the first client acquires, fencing token " + paused.fencingToken()
                    + ", and sees that its lease is held", paused.isHeld());
            timeline.log("it is paused here, before its write");
            try (Lease next = second.acquire(second.key("r"), fenced).lease()) {
                timeline.expect("the second client acquires after the ttl, fencing token " + next.fencingToken(),
                        next.fencingToken() > paused.fencingToken());
                timeline.expect("its write is accepted", register.write(next.fencingToken(), "second"));
                timeline.log("the first client continues");
                timeline.expect("the resource REJECTS its late write",
                        !register.write(paused.fencingToken(), "first"));
                timeline.expect("the value is the second client's", "second".equals(register.value()));
            }
        }
    }

    /** Nodes that grant a lock, with lost replies. */
    static void lostReply(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(3)) {
            List<FaultProxy> proxies = stage.proxies();
            Redlock client = stage.client(proxies);
            timeline.expect("the client is connected", client.tryAcquire("warm", LONG).isAcquired());
            List<FaultProxy> muted = proxies.subList(1, 3);
            muted.forEach(FaultProxy::mute);
            timeline.log("replies of nodes 1 and 2 are lost from now on");
            CompletionStage<AcquireOutcome> pending = client.acquireAsync("r", AcquireOptions.ofTtl(LONG).tryOnce());
            timeline.await("the acquire has been executed by all nodes", () -> stage.count("r") == 3);
            muted.forEach(FaultProxy::cut);
            timeline.log("the connections to nodes 1 and 2 break, with the replies unread");
            AcquireOutcome outcome = pending.toCompletableFuture().join();
            timeline.expect("the acquire fails: " + outcome.kind() + ", unknown votes: " + outcome.unknownCount(),
                    outcome.kind() == AcquireOutcome.Kind.NO_QUORUM && outcome.unknownCount() == 2);
            timeline.await("node 0 has been rolled back; nodes 1 and 2 keep the key",
                    () -> !stage.has(0, "r") && stage.has(1, "r") && stage.has(2, "r"));
            muted.forEach(FaultProxy::pass);
            timeline.log("the network is in order again");
            timeline.await("the client has reconnected and delivered the release: the key is gone, long before its ttl",
                    () -> stage.count("r") == 0);
            timeline.await("retained releases that are delivered: at least 2", () -> paid(client) >= 2);
        }
    }

    private static long paid(Redlock client) {
        return client.nodes().stream().mapToLong(NodeStatus::undeliveredReleaseDeliveredCount).sum();
    }

    /** Three clients, three nodes, one vote each. */
    static void splitVote(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(3)) {
            List<Redlock> clients = new ArrayList<>();
            List<FaultProxy> far = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                List<FaultProxy> proxies = stage.proxies();
                clients.add(stage.client(proxies));
                for (int k = 0; k < 3; k++) {
                    if (k != i) {
                        far.add(proxies.get(k));
                    }
                }
            }
            far.forEach(proxy -> proxy.slow(Duration.ofMillis(200)));
            timeline.log("each client is near one node and far from the two others");
            for (AcquireOutcome outcome : acquireAll(clients, AcquireOptions.ofTtl(LONG).tryOnce())) {
                timeline.expect("one attempt: " + outcome.kind() + ", granted " + outcome.grantedCount() + ", refused "
                        + outcome.refusedCount(), outcome.kind() == AcquireOutcome.Kind.CONTENDED);
            }
            timeline.await("all have taken back what they had", () -> stage.count("r") == 0);
            far.forEach(FaultProxy::pass);
            timeline.log("the network is even again; all three try at once, and may wait");
            AcquireOptions patient = AcquireOptions.ofTtl(LONG).waitUpTo(WAIT);
            for (AcquireOutcome outcome : acquireAll(clients, patient)) {
                timeline.expect("acquired and released, attempts: " + outcome.attemptCount(), outcome.isAcquired());
            }
        }
    }

    /** All at the same time; the winner releases the lock at once. */
    private static List<AcquireOutcome> acquireAll(List<Redlock> clients, AcquireOptions options) {
        List<CompletableFuture<AcquireOutcome>> pending = new ArrayList<>();
        for (Redlock client : clients) {
            pending.add(client.acquireAsync("r", options).thenApply(Scenarios::giveBack).toCompletableFuture());
        }
        return pending.stream().map(CompletableFuture::join).toList();
    }

    private static AcquireOutcome giveBack(AcquireOutcome outcome) {
        if (outcome.isAcquired()) {
            outcome.lease().close();
        }
        return outcome;
    }

    /** The cost for other clients of a holder that is cut off for good. */
    static void permanentPartition(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(3)) {
            Redlock rival = stage.client();
            for (int i = 1; i <= 2; i++) {
                List<FaultProxy> proxies = stage.proxies();
                Redlock holder = stage.client(proxies);
                try (Lease lease = holder.acquire("r", PARTITION_TTL).lease()) {
                    long grantedNs = System.nanoTime();
                    timeline.log("round " + i + ": a client acquires for " + PARTITION_TTL.toMillis() + " ms");
                    proxies.forEach(FaultProxy::cut);
                    timeline.log("it is cut off from all nodes, for ever");
                    cutOff(lease, holder, timeline);
                    AcquireOutcome outcome = rival.tryAcquire("r", PARTITION_TTL, WAIT);
                    long waitedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - grantedNs);
                    timeline.expect("another client acquires " + waitedMs + " ms after the first did: the ttl penalty",
                            outcome.isAcquired() && waitedMs >= PARTITION_TTL.toMillis() * 9 / 10);
                    timeline.expect("the first client's lease is no longer held", !lease.isHeld());
                    outcome.lease().release();
                }
            }
        }
    }

    private static void cutOff(Lease lease, Redlock holder, Timeline timeline) throws Exception {
        ExtendOutcome extended = lease.extend(PARTITION_TTL);
        timeline.expect("its extension fails: " + extended, extended != ExtendOutcome.EXTENDED);
        AcquireOutcome other = holder.tryAcquire("other", PARTITION_TTL);
        timeline.expect("it acquires nothing else: " + other.kind(), other.kind() == AcquireOutcome.Kind.NO_QUORUM);
        ReleaseOutcome released = lease.release();
        timeline.expect("its release cannot be confirmed: " + released, released != ReleaseOutcome.RELEASED);
    }

    /** A node's wall clock jumps ahead, and the lock on it expires early. Needs libfaketime. */
    static void clockJump(Timeline timeline) throws Exception {
        Path library = ClockLibrary.find().orElseThrow(IllegalStateException::new);
        RedisNodesContext context = new RedisNodesContext().count(3).clockLibrary(library);
        try (Stage stage = new Stage(RedisNodes.start(context))) {
            List<FaultProxy> proxies = stage.proxies();
            proxies.get(2).cut();
            Redlock holder = stage.client(proxies);
            Redlock rival = stage.client();
            Lease held = holder.acquire("r", Duration.ofSeconds(20)).lease();
            timeline.expect("a client, cut off from node 2, acquires from nodes 0 and 1 for 20 s", held.isHeld());
            timeline.await("its clock watch has a first sample of node 1", () -> isSampled(holder));
            stage.node(1).setClock(Duration.ofSeconds(60));
            timeline.await("the clock of node 1 jumps 60 s ahead: it has no lock any more", () -> !stage.has(1, "r"));
            timeline.await("the holder's clock watch sees the jump: its lease is LOST",
                    () -> held.state() == LeaseState.LOST);
            timeline.expect("long before its validity would have ended", !held.isHeld());
            AcquireOutcome outcome = rival.tryAcquire("r", Duration.ofSeconds(5), Duration.ofSeconds(15));
            timeline.expect("the lock has been released, another client acquires it: " + outcome.kind(),
                    outcome.isAcquired());
        }
    }

    /** The watch takes a sample as soon as a node is ready; the round-trip time is known after the reply. */
    private static boolean isSampled(Redlock client) {
        NodeStatus node = client.nodes().get(1);
        return node.state() == NodeState.READY && node.roundTripNs() > 0;
    }
}
