package dev.redlock.loadtest.scenario;

import dev.redlock.Redlock;
import dev.redlock.cli.AdminClient;
import dev.redlock.loadtest.faults.FaultProxy;
import java.time.Duration;

/**
 * A master, its replica, and a lock that is not replicated yet. Then the same loss among three masters.
 *
 * @threading caller-confined
 */
public final class ReplicaFailover implements Scenario {
    private static final long TTL_MS = 30_000;

    @Override
    public String name() {
        return "replica-failover";
    }

    @Override
    public String claim() {
        return "Failover to a replica gives one lock to two holders; a majority of independent masters does not.";
    }

    @Override
    public void play(Timeline timeline) throws Exception {
        try (Stage stage = new Stage(2)) {
            failOver(stage, timeline);
        }
        try (Stage stage = new Stage(3)) {
            Redlock first = stage.client();
            Redlock second = stage.client();
            timeline.expect("three masters: the first client acquires",
                    first.tryAcquire("r", Duration.ofMillis(TTL_MS)).isAcquired());
            stage.node(0).kill();
            timeline.log("one of the masters is killed");
            timeline.expect("the second client does not get the lock: two masters still have it",
                    !second.tryAcquire("r", Duration.ofMillis(TTL_MS)).isAcquired());
        }
    }

    private static void failOver(Stage stage, Timeline timeline) throws Exception {
        FaultProxy replication = stage.proxy(stage.node(0));
        try (AdminClient replica = stage.node(1).connect()) {
            replica.call("REPLICAOF", "127.0.0.1", Integer.toString(replication.address().port()));
            timeline.await("node 1 is a replica of node 0", () -> "up".equals(replica.info("master_link_status")));
            replication.stall();
            timeline.log("replication falls behind");
            timeline.expect("the first client's SET NX on the master succeeds", stage.setNx(0, "r", "first", TTL_MS));
            stage.node(0).kill();
            replication.cut();
            timeline.log("the master crashes before the lock is replicated");
            replica.call("REPLICAOF", "NO", "ONE");
            timeline.log("the replica is promoted");
            timeline.expect("the second client's SET NX succeeds too: TWO HOLDERS",
                    stage.setNx(1, "r", "second", TTL_MS));
        }
    }
}
