package dev.redlock.failover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.resp.RespValue;
import dev.redlock.sim.FakeCluster;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.util.List;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

/** How many servers a cluster may name: nodes 0 and 1 are masters of their own, node 2 the seed of a cluster. */
class ClusterMembersTest extends VirtualTest {

    private static final int MASTERS = 1_024;

    private FakeCluster cluster;

    private void startCluster(int masterCount) {
        world = new VirtualWorld(2 + masterCount);
        cluster = new FakeCluster();
        for (int i = 0; i < masterCount; i++) {
            cluster.add(node(2 + i).redis(), "node-" + (2 + i), 1)
                    .own(16_384 * i / masterCount, 16_384 * (i + 1) / masterCount - 1);
        }
    }

    @Override
    protected RedlockContext context() {
        return new RedlockContext().nodes("node-0:1", "node-1:1", "redis-cluster://node-2:1");
    }

    private static RespValue map(int count, IntFunction<String> host, IntFunction<String> id) {
        RespValue[] ranges = new RespValue[count];
        for (int i = 0; i < count; i++) {
            ranges[i] = RespValue.array(RespValue.integer(16_384L * i / count),
                    RespValue.integer(16_384L * (i + 1) / count - 1), RespValue.array(RespValue.bulk(host.apply(i)),
                            RespValue.integer(1), RespValue.bulk(id.apply(i))));
        }
        return RespValue.array(ranges);
    }

    private void name(RespValue map) {
        node(2).redis().answer("CLUSTER SLOTS", map);
    }

    private int memberCount(VirtualWorld.Client client) {
        return client.redlock().nodes().size() - 2;
    }

    /** Those that maps do not name any more are among them. */
    private static int serverCount(VirtualWorld.Client client) {
        String[] words = client.engine().engine().voter(2).split(" ");
        return Integer.parseInt(words[words.length - 2]);
    }

    @Test
    void aClusterOfAHundredMastersVotesForAllSlots() {
        startCluster(100);
        VirtualWorld.Client client = client();
        world.runMs(1_000);
        assertEquals(100, memberCount(client));
        node(0).crash();
        world.runMs(10);
        for (int i = 0; i < 300; i++) {
            release(acquired(get(client.redlock().acquireAsync("r" + i, options()))));
        }
    }

    @Test
    void theFlightRecorderNamesTheServerAndItsOldState() {
        startCluster(3);
        VirtualWorld.Client client = client();
        world.runMs(1_000);
        List<String> lines = client.redlock()
                .flightRecord()
                .lines()
                .filter(line -> line.matches(".* [A-Z]+ -> [A-Z]+.*"))
                .toList();
        assertTrue(lines.stream().noneMatch(line -> line.matches(".* (\\w+) -> \\1\\b.*")), lines::toString);
        for (NodeStatus server : client.redlock().nodes()) {
            assertTrue(lines.stream().anyMatch(line -> line.contains(server.address() + "  QUARANTINED -> READY")),
                    () -> server.address() + ": " + lines);
        }
    }

    /** The node of the seed is silent at each question for the place of its slots, so that only new masters count. */
    @Test
    void newMastersAreAddedAFewAtATime() {
        startCluster(1);
        VirtualWorld.Client client = client();
        name(map(MASTERS, i -> "unknown-" + i, i -> "id" + i));
        int before = client.transport().lookupCount();
        int seen = 0;
        for (int ms = 0; ms < 10_000; ms += 10) {
            world.runMs(10);
            int added = memberCount(client);
            assertTrue(added - seen <= 16, added + " members after " + seen);
            seen = Math.max(seen, added);
        }
        assertEquals(MASTERS, seen);
        assertTrue(client.transport().lookupCount() - before > MASTERS);
    }

    @Test
    void fewLookUpsAreUnderWayAtOnce() {
        startCluster(1);
        VirtualWorld.Client client = client();
        int[] hanging = {0, 0};
        client.transport().resolver((found, answer) -> {
            hanging[0]++;
            hanging[1] = Math.max(hanging[1], hanging[0]);
            world.after(3_000_000_000L, () -> client.engine().execute(() -> {
                hanging[0]--;
                answer.accept(found);
            }));
        });
        name(map(MASTERS, i -> "unknown-" + i, i -> "id" + i));
        world.runMs(30_000);
        assertEquals(64, hanging[1]);
        release(lease(client));
    }

    /** Each map names other masters. */
    @Test
    void mastersThatChangeWithEachMapStayBounded() {
        startCluster(1);
        VirtualWorld.Client client = client();
        try (LogLines log = new LogLines()) {
            int before = client.transport().lookupCount();
            for (int map = 0; map < 100; map++) {
                int number = map;
                name(map(MASTERS, i -> "unknown-" + number + "-" + i, i -> "id" + number + "x" + i));
                world.runMs(400);
                assertTrue(memberCount(client) <= MASTERS, () -> memberCount(client) + " masters");
                assertTrue(serverCount(client) <= MASTERS + 1, () -> serverCount(client) + " servers, with the seed");
                release(lease(client));
            }
            assertTrue(client.transport().lookupCount() - before < 15_000,
                    () -> client.transport().lookupCount() + " look-ups");
            assertTrue(log.with("node 2").size() <= 65, () -> "lines: " + log.with("node 2").size());
        }
        client.engine().close(TTL);
        world.runMs(1_000);
        int closedAt = client.transport().lookupCount();
        world.runMs(60_000);
        assertEquals(closedAt, client.transport().lookupCount(), "look-ups after close");
    }

    @Test
    void mastersAtOneAddressAreOneServer() {
        startCluster(1);
        VirtualWorld.Client client = client();
        name(map(MASTERS, i -> "node-0", i -> "id" + i));
        int before = node(0).openedCount();
        world.runMs(5_000);
        assertTrue(node(0).openedCount() - before <= 3, () -> "connections: " + node(0).openedCount());
        release(lease(client));
    }
}
