package dev.redlock.failover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.LockInspection;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A client that knows two lists of nodes: nodes 0 to 2, and nodes 2 to 4. */
class JointListsTest extends VirtualTest {

    private static final String[] OLD = {"node-0:1", "node-1:1", "node-2:1"};
    private static final String[] NEXT = {"node-2:1", "node-3:1", "node-4:1"};

    @Override
    protected RedlockContext context() {
        return new RedlockContext().nodes(OLD).nextNodes(NEXT);
    }

    private VirtualWorld.Client jointWorld() {
        world = new VirtualWorld(5);
        return client(context());
    }

    private VirtualWorld.Client clientOf(String... nodes) {
        return client(new RedlockContext().nodes(nodes));
    }

    private void crash(int... nodes) {
        for (int i : nodes) {
            node(i).crash();
        }
        world.runMs(10);
    }

    @Test
    void eachNodeIsConnectedOnce() {
        VirtualWorld.Client client = jointWorld();
        assertEquals(List.of("node-0:1", "node-1:1", "node-2:1", "node-3:1", "node-4:1"),
                client.redlock().nodes().stream().map(NodeStatus::address).toList());
        assertEquals(1, node(2).connectionCount());
        Lease lease = lease(client);
        world.runMs(1);
        assertEquals(5, keyCount());
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(1);
        assertEquals(0, keyCount(), "released on the nodes of both lists");
    }

    /** A majority of all five nodes is not enough, and one node may belong to both lists. */
    @ParameterizedTest
    @CsvSource({"0, 3, ACQUIRED", "0, 1, NO_QUORUM", "3, 4, NO_QUORUM", "1, 4, ACQUIRED", "2, 0, NO_QUORUM",
        "2, 4, NO_QUORUM"})
    void aLockNeedsAMajorityOfEachList(int one, int other, AcquireOutcome.Kind expected) {
        VirtualWorld.Client client = jointWorld();
        crash(one, other);
        AcquireOutcome outcome = acquire(client, options());
        assertEquals(expected, outcome.kind(), outcome::toString);
    }

    @Test
    void clientsOfEitherListExcludeItAndAreExcluded() {
        VirtualWorld.Client both = jointWorld();
        VirtualWorld.Client old = clientOf(OLD);
        VirtualWorld.Client next = clientOf(NEXT);
        Lease lease = lease(both);
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(old, options()).kind());
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(next, options()).kind());
        release(lease);
        for (VirtualWorld.Client single : List.of(old, next)) {
            Lease other = lease(single);
            assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(both, options()).kind());
            release(other);
            world.runMs(1);
        }
        assertEquals(0, keyCount(), "the rollback reaches the nodes of both lists");
    }

    @Test
    void anExtensionNeedsAMajorityOfEachList() {
        VirtualWorld.Client client = jointWorld();
        Lease lease = lease(client);
        crash(0, 3);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        crash(1);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "one of three of the old list is left");
    }

    @ParameterizedTest
    @CsvSource({"0, 1", "3, 4", "2, 0", "2, 3"})
    void aLeaseIsLostBelowAMajorityOfOneList(int one, int other) {
        VirtualWorld.Client client = jointWorld();
        Lease lease = lease(client);
        world.runMs(1);
        node(one).redis().delete("orders");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(1);
        node(one).redis().delete("orders");
        node(other).redis().delete("orders");
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL));
        assertEquals(LeaseState.LOST, lease.state());
    }

    @Test
    void aLeaseIsHeldWithoutAMinorityOfEachList() {
        VirtualWorld.Client client = jointWorld();
        Lease lease = lease(client);
        world.runMs(1);
        node(0).redis().delete("orders");
        node(4).redis().delete("orders");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertTrue(lease.isHeld());
    }

    @Test
    void aReleaseThatReachesOneListOnlyIsNotCertain() {
        VirtualWorld.Client client = jointWorld();
        Lease lease = lease(client);
        crash(3, 4);
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease));
        world.runMs(1);
        assertNull(key(2));
    }

    @Test
    void fencingTokensGrowWhileTheListChanges() {
        VirtualWorld.Client both = jointWorld();
        List<VirtualWorld.Client> clients = List.of(clientOf(OLD), both, clientOf(OLD), both, clientOf(NEXT), both,
                clientOf(NEXT));
        long last = 0;
        for (VirtualWorld.Client client : clients) {
            AcquireOutcome outcome = get(client.redlock().acquireAsync("orders", options().fenced()));
            Lease lease = acquired(outcome);
            assertTrue(lease.fencingToken() > last, lease.fencingToken() + " after " + last);
            last = lease.fencingToken();
            release(lease);
            world.runMs(1);
        }
    }

    /** The counters of the nodes 0 to 2 are ahead: a grant of these alone decides no token. */
    @Test
    void aFencingTokenIsThatOfAMajorityOfEachList() {
        VirtualWorld.Client both = jointWorld();
        VirtualWorld.Client old = clientOf(OLD);
        for (int i = 0; i < 3; i++) {
            release(acquired(get(old.redlock().acquireAsync("orders", options().fenced()))));
        }
        world.runMs(1);
        Lease lease = acquired(get(both.redlock().acquireAsync("orders", options().fenced())));
        world.runMs(1);
        int reached = 0;
        for (int i = 2; i < 5; i++) {
            reached += node(i).redis().counter("orders") >= lease.fencingToken() ? 1 : 0;
        }
        assertTrue(reached >= 2, reached + " nodes of the next list have the token");
        release(lease);
    }

    // ---- kinds of lock ----------------------------------------------------------------------------------------------

    /** How a kind of lock takes the resource, and how a lock that it excludes does. */
    private enum Kind {
        SET, READER, WRITER, PERMIT;

        private AcquireOutcome acquire(JointListsTest test, VirtualWorld.Client client) {
            return switch (this) {
                case SET -> test.get(client.redlock().acquireAllAsync(List.of("orders", "lines"), options()));
                case READER -> test.acquire(client, options().forReading());
                case WRITER -> test.acquire(client, options().forWriting());
                case PERMIT -> test.acquire(client, options().forPermitOf(1));
            };
        }

        private AcquireOutcome acquireExcluded(JointListsTest test, VirtualWorld.Client client) {
            return switch (this) {
                case SET -> test.get(client.redlock().acquireAllAsync(List.of("lines", "stock"), options()));
                case READER -> WRITER.acquire(test, client);
                case WRITER -> READER.acquire(test, client);
                case PERMIT -> acquire(test, client);
            };
        }
    }

    private int anyKeyCount() {
        return world.nodes().stream().mapToInt(node -> node.redis().keys().size()).sum();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void everyKindNeedsAMajorityOfEachList(Kind kind) {
        VirtualWorld.Client client = jointWorld();
        crash(0, 3);
        Lease lease = acquired(kind.acquire(this, client));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        crash(4);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "one of three of the next list is left");
        release(lease);
        world.runMs(1);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, kind.acquire(this, client).kind());
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void everyKindOfEitherListExcludesOthers(Kind kind) {
        VirtualWorld.Client both = jointWorld();
        VirtualWorld.Client old = clientOf(OLD);
        VirtualWorld.Client next = clientOf(NEXT);
        Lease lease = acquired(kind.acquire(this, both));
        assertEquals(AcquireOutcome.Kind.CONTENDED, kind.acquireExcluded(this, old).kind());
        assertEquals(AcquireOutcome.Kind.CONTENDED, kind.acquireExcluded(this, next).kind());
        release(lease);
        world.runMs(1);
        for (VirtualWorld.Client single : List.of(old, next)) {
            Lease other = acquired(kind.acquire(this, single));
            assertEquals(AcquireOutcome.Kind.CONTENDED, kind.acquireExcluded(this, both).kind());
            release(other);
            world.runMs(1);
        }
        assertEquals(0, anyKeyCount(), "the rollback reaches the nodes of both lists");
    }

    /** Node 2 is in both lists, so three nodes are two of each. */
    @Test
    void aThriftyAttemptAsksNoMoreThanItNeeds() {
        world = new VirtualWorld(5);
        VirtualWorld.Client client = client(context().thriftyQuorums(true).commands(CommandMode.SCRIPTS));
        for (int i = 0; i < 10; i++) {
            long before = client.redlock().counters().commandCount();
            Lease lease = lease(client);
            world.runMs(1);
            long sent = client.redlock().counters().commandCount() - before;
            assertEquals(key(2) == null ? 4 : 3, sent, "node 2 counts in both lists");
            assertEquals(sent, keyCount());
            release(lease);
            world.runUntilNs(world.nowNs() + (1 << 20));
        }
        assertEquals(0, client.redlock().counters().hedgedAttemptCount());
        crash(2);
        Lease lease = lease(client);
        assertEquals(4, keyCount(), "both others of each list");
        release(lease);
    }

    // ---- the holder of a lock ---------------------------------------------------------------------------------------

    private <T> T blocking(Callable<T> call) throws InterruptedException {
        BlockedCall<T> caller = new BlockedCall<>(call);
        Await.until("returned", () -> {
            world.runMs(1);
            return caller.isDone();
        });
        return caller.result();
    }

    /** The holder may be a client of one list. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theHolderHasAMajorityOfEitherList(boolean isNext) throws InterruptedException {
        VirtualWorld.Client both = jointWorld();
        Lease held = lease(clientOf(isNext ? NEXT : OLD));
        world.runMs(1);
        LockInspection inspection = blocking(() -> both.redlock().inspect("orders"));
        assertNotNull(inspection.heldBy());
        assertEquals(inspection.nodes().get(2).id(), inspection.heldBy());
        assertEquals(ReleaseOutcome.RELEASED, blocking(() -> both.redlock().breakLock("orders", inspection.heldBy())));
        assertNull(blocking(() -> both.redlock().inspect("orders")).heldBy());
        assertEquals(ExtendOutcome.LOST, extend(held, TTL));
    }

    @ParameterizedTest
    @CsvSource({"0, 1, UNKNOWN", "3, 4, UNKNOWN", "1, 2, UNKNOWN", "0, 3, RELEASED", "1, 4, RELEASED"})
    void aLockIsBrokenIfNoMajorityOfEitherListIsSilent(int one, int other, ReleaseOutcome expected)
            throws InterruptedException {
        VirtualWorld.Client both = jointWorld();
        Lease held = lease(both);
        world.runMs(1);
        String id = blocking(() -> both.redlock().inspect("orders")).heldBy();
        for (int i : new int[]{one, other}) {
            node(i).cutOff(both::isNamed);
        }
        assertEquals(expected, blocking(() -> both.redlock().breakLock("orders", id)));
        release(held);
    }

    @Test
    void aNewNodeThatIsYoungDoesNotVoteYet() {
        world = new VirtualWorld(5);
        node(3).redis().uptime(0);
        node(4).redis().uptime(0);
        VirtualWorld.Client client = client(context());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind());
        assertNotNull(status(client, 3).problem());
        world.runMs(62_000);
        lease(client);
    }

    // ---- options ----------------------------------------------------------------------------------------------------

    @Test
    void aClusterMayBeNamedByOtherSeeds() {
        RedlockContext context = new RedlockContext().nodes("a:1", "redis-cluster://b:1,c:1")
                .nextNodes("redis-cluster://c:1,d:1", "e:1");
        assertEquals(List.of("a:1", "redis-cluster://b:1,c:1", "e:1"),
                TestClient.conclude(context).nodes().addresses().stream().map(Object::toString).toList());
    }

    @ParameterizedTest
    @ValueSource(strings = {"a:1,a:1", "", "redis-cluster://a:1"})
    void aWrongNextListIsRejected(String next) {
        RedlockContext context = new RedlockContext().nodes("a:1", "b:1");
        assertThrows(IllegalArgumentException.class, () -> TestClient.conclude(context.nextNodes(next.split(","))));
    }

    /** The node has one connection: TLS or a password of one list alone would be lost. */
    @ParameterizedTest
    @CsvSource({"b:1, rediss://b:1, has TLS", "rediss://B:1, b:1, has TLS",
        "b:1, rediss://:secret@b:1, has TLS",
        "b:1, redis://:secret@b:1, has this user and password",
        "redis://:secret@b:1, redis://:secret2@b:1, has this user and password",
        "redis://me:secret@b:1, redis://:secret@b:1, has this user and password",
        "redis-cluster://b:1, rediss-cluster://b:1, has TLS",
        "redis-cluster://b:1, redis-cluster://:secret@b:1, has this user and password",
        "redis-sentinel://b:1/p, rediss-sentinel://b:1/p, has TLS",
        "redis-sentinel://:secret@b:1/p, redis-sentinel://b:1/p, has this user and password",
        "b:1, redis-cluster://b:1, is a cluster"})
    void aNodeThatStaysHasTheSameTlsAndLogin(String present, String next, String difference) {
        RedlockContext context = new RedlockContext().nodes("a:1", present).nextNodes("c:1", next);
        Refusal.ofArgument("node " + next.replaceFirst("//.*@", "//").replace("redis://", "") + " " + difference
                + " in one of nodes and nextNodes only: write it in the same way in both",
                () -> TestClient.conclude(context));
    }

    @ParameterizedTest
    @CsvSource({"b:1, redis://b:1", "redis://me:a%62@b:1, redis://me:ab@B:1", "rediss://:p@b:1, rediss://:p@b:1/0",
        "redis-sentinel://:p@b:1/p, 'redis-sentinel://:p@c:1,b:1/p'"})
    void aNodeThatStaysMayBeWrittenInAnotherForm(String present, String next) {
        RedlockContext context = new RedlockContext().nodes("a:1", present).nextNodes("d:1", next);
        assertEquals(3, TestClient.conclude(context).nodes().addresses().size());
    }

    @Test
    void bothListsTogetherHaveALimit() {
        RedlockContext context = new RedlockContext();
        for (int i = 0; i < 40; i++) {
            context.nodes("a" + i + ":1").nextNodes("b" + i + ":1");
        }
        assertThrows(IllegalArgumentException.class, () -> TestClient.conclude(context));
    }

    @Test
    void theListsAreVisible() {
        RedlockContext context = new RedlockContext().nodes("a:1");
        assertFalse(context.toString().contains("nextNodes"), context.toString());
        context.nextNodes("b:1");
        assertTrue(context.toString().contains("nextNodes=[b:1]"), context.toString());
    }
}
