package dev.redlock.failover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import java.time.Duration;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which clients wait after the promotion of a replica, and for how long the new primary has no vote. */
class PromotionTest extends EndpointTest {

    /** The longest ttl, its drift, the time for a paused predecessor, and the rounding of the uptime. */
    private static final long SILENCE_MS = 60_000 + 2_000 + 1_000 + 630 + 2 + 1_000;

    private static void assertState(NodeState state, VirtualWorld.Client client) {
        assertEquals(state, status(client, 0).state(), () -> client.redlock().nodes().toString());
    }

    private static String problem(VirtualWorld.Client client) {
        return String.valueOf(status(client, 0).problem());
    }

    // ---- the client that starts later -------------------------------------------------------------------------------

    /** The replica lacks the lock. */
    @Test
    void aClientThatStartsAfterAPromotionGetsNoHeldLock() {
        VirtualWorld.Client holder = endpoint();
        replica.replicate(primary);
        Lease held = lease(holder);
        failOver();
        VirtualWorld.Client late = client();
        assertState(NodeState.QUARANTINED, late);
        assertTrue(problem(late).contains("was promoted"), problem(late));
        assertFalse(acquire(late, options()).isAcquired());
        assertTrue(held.isHeld());
        world.runMs(SILENCE_MS - 1_000);
        assertState(NodeState.QUARANTINED, late);
        world.await("the end of the silence", 1_100, () -> status(late, 0).state() == NodeState.READY);
        assertTrue(problem(late).contains("nothing bounds that time"), problem(late));
        lease(late);
    }

    @Test
    void aClientThatStartsAfterTheSilenceReadsTheMarkOfThePromotedServer() {
        endpoint();
        failOver();
        client();
        world.runMs(SILENCE_MS + 100);
        assertEquals(replica.reign(), replica.get(MARK));
        assertState(NodeState.READY, client());
    }

    @Test
    void aMarkThatAppearsEndsTheSilence() {
        endpoint();
        failOver();
        VirtualWorld.Client late = client();
        world.runMs(5_000);
        assertState(NodeState.QUARANTINED, late);
        replica.set(MARK, replica.reign(), -1);
        world.await("the mark is read", 1_100, () -> status(late, 0).state() == NodeState.READY);
    }

    // ---- fencing tokens ---------------------------------------------------------------------------------------------

    private long token(VirtualWorld.Client client) {
        Lease lease = acquired(acquire(client, options().fenced()));
        long token = lease.fencingToken();
        release(lease);
        return token;
    }

    /** The replica has an early count of the counter, and the primary went on. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void tokensRiseOverAPromotionThatLosesCounts(boolean isLate) {
        VirtualWorld.Client client = endpoint();
        token(client);
        replica.replicate(primary);
        long before = 0;
        for (int i = 0; i < 100; i++) {
            before = token(client);
        }
        failOver();
        node(0).breakConnections();
        world.runMs(SILENCE_MS + 2_000);
        long after = token(isLate ? client() : client);
        assertTrue(after > before, after + " after " + before);
        assertEquals(after + 1, token(client), "then it counts again");
    }

    /** Its file is older than its last counts. */
    @Test
    void tokensRiseOverARestartWithOlderData() {
        VirtualWorld.Client client = endpoint();
        long first = token(client);
        String counter = "orders:redlock:fence:{orders}";
        String older = primary.get(counter);
        long before = 0;
        for (int i = 0; i < 100; i++) {
            before = token(client);
        }
        node(0).crash();
        node(0).restart(true);
        primary.set(counter, older, 3_600_000);
        world.runMs(SILENCE_MS + 2_000);
        long after = token(client);
        assertTrue(first < before && after > before, after + " after " + before);
    }

    /** The second promotion makes the first primary one again: its process is that of its first mark. */
    @Test
    void aMarkOfAnEarlierReignOfTheProcessDoesNotEndTheSilence() {
        endpoint();
        String first = primary.reign();
        assertEquals(first, primary.get(MARK));
        replica.replicate(primary);
        replica.promote();
        primary.replicate(replica);
        primary.promote();
        assertEquals(first, primary.get(MARK));
        assertState(NodeState.QUARANTINED, client());
    }

    /** Only marks show a promotion there. */
    @Test
    void aMarkOfAnotherServerStartsTheSilenceWhereServersShowNoPromotion() {
        endpoint();
        replica.replicate(primary);
        failOver();
        replica.constantReplicationId();
        assertState(NodeState.QUARANTINED, client());
    }

    @Test
    void aServerThatWasNeverPromotedVotesAtOnce() {
        VirtualWorld.Client client = endpoint();
        assertState(NodeState.READY, client);
        assertEquals(primary.reign(), primary.get(MARK));
        lease(client);
    }

    /** For services that lose no acknowledged write. */
    @Test
    void withoutAGuardAPromotedServerVotesAtOnce() {
        endpoint();
        failOver();
        assertState(NodeState.READY, client(context().restartGuard(RestartGuardMode.OFF)));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aYoungSingleNodeWaitsForItsUptime(boolean isPromoted) {
        world = new VirtualWorld(1);
        node(0).redis().uptime(0);
        if (isPromoted) {
            node(0).redis().promote();
        }
        VirtualWorld.Client client = client();
        assertState(NodeState.QUARANTINED, client);
        assertFalse(problem(client).contains("fresh group"), problem(client));
        world.runMs(60_000);
        assertState(NodeState.QUARANTINED, client);
        world.runMs(isPromoted ? 5_000 : 2_000);
        assertState(NodeState.READY, client);
    }

    // ---- the client that was connected ------------------------------------------------------------------------------

    @Test
    void aConnectedClientWaitsTheSilenceToo() {
        VirtualWorld.Client client = endpoint();
        failOverTo(client);
        world.runMs(SILENCE_MS - 1_000);
        assertState(NodeState.QUARANTINED, client);
        world.runMs(1_100);
        assertState(NodeState.READY, client);
    }

    /** It may be a promoted one. */
    @Test
    void aConnectedClientWaitsTheSilenceForAnyNewProcessThatShowsNoPromotion() {
        VirtualWorld.Client client = endpoint();
        failOver();
        replica.constantReplicationId();
        node(0).breakConnections();
        world.await("connected to the new primary", 1_000, () -> status(client, 0).state() == NodeState.QUARANTINED);
        world.runMs(SILENCE_MS - 1_000);
        assertState(NodeState.QUARANTINED, client);
        world.runMs(1_100);
        assertState(NodeState.READY, client);
    }

    @Test
    void aServerThatBecomesAReplicaHasNoVoteWithinASecond() {
        VirtualWorld.Client client = endpoint();
        primary.role("slave");
        world.await("the role is read", 1_100, () -> status(client, 0).state() != NodeState.READY);
        world.runMs(100);
        assertTrue(problem(client).contains("replica") || problem(client).contains("slave"), problem(client));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind());
        primary.role("master");
        world.await("a master again", 6_000, () -> status(client, 0).state() == NodeState.READY);
    }

    /** Between two looks. */
    @Test
    void aServerThatWasAReplicaForAMomentLosesItsVotes() {
        VirtualWorld.Client client = endpoint();
        Lease held = lease(client);
        primary.replicate(replica);
        primary.promote();
        world.await("the history is read", 1_100, () -> status(client, 0).state() == NodeState.QUARANTINED);
        world.runMs(TTL.toMillis());
        assertEquals(LeaseState.EXPIRED, held.state());
        assertState(NodeState.QUARANTINED, client());
        world.runMs(SILENCE_MS + 100);
        assertState(NodeState.READY, client);
        assertEquals(primary.reign(), primary.get(MARK));
    }

    @Test
    void aServerThatWasAReplicaWhileNotConnectedLosesItsVotes() {
        VirtualWorld.Client client = endpoint();
        Lease held = lease(client);
        primary.replicate(replica);
        primary.promote();
        node(0).breakConnections();
        world.await("connected", 1_000, () -> status(client, 0).state() == NodeState.QUARANTINED);
        world.runMs(TTL.toMillis());
        assertEquals(LeaseState.EXPIRED, held.state());
        assertFalse(acquire(client, options()).isAcquired());
    }

    /** The first replica gives the history of the data another name. */
    @Test
    void aFirstReplicaIsNoPromotion() {
        VirtualWorld.Client client = endpoint();
        Lease held = lease(client);
        primary.renameHistory();
        world.runMs(1_100);
        assertState(NodeState.READY, client);
        assertTrue(held.isHeld());
        assertEquals(primary.reign(), primary.get(MARK));
        assertState(NodeState.READY, client());
    }

    // ---- the predecessor that serves on -----------------------------------------------------------------------------

    @Test
    void theSilenceCoversThePredecessorsService() {
        endpoint();
        failOver();
        replica.replicas(1, 1);
        replica.maxLag(20);
        VirtualWorld.Client late = client();
        assertFalse(problem(late).contains("nothing bounds"), problem(late));
        world.runMs(SILENCE_MS + 20_000);
        assertState(NodeState.QUARANTINED, late);
        world.runMs(4_000);
        assertState(NodeState.READY, late);
        assertNull(status(late, 0).problem());
    }

    private void failOverTo(VirtualWorld.Client client) {
        failOver();
        node(0).breakConnections();
        world.await("connected to the new primary", 1_000, () -> status(client, 0).state() == NodeState.QUARANTINED);
    }

    private void assertSilence(VirtualWorld.Client client, long servedMs) {
        world.runMs(SILENCE_MS + servedMs - 1_500);
        assertState(NodeState.QUARANTINED, client);
        world.runMs(2_500);
        assertState(NodeState.READY, client);
    }

    /** Somebody raises the lag of the former primary; the promoted server has a smaller one. */
    @Test
    void theSilenceCoversALagThatWasRaisedWhileTheClientWasConnected() {
        VirtualWorld.Client client = endpoint();
        primary.replicas(1, 1);
        primary.maxLag(2);
        replica.replicas(1, 1);
        replica.maxLag(1);
        world.runMs(2_000);
        primary.maxLag(20);
        world.runMs(11_000);
        failOverTo(client);
        assertSilence(client, 23_000);
    }

    @Test
    void theSilenceCoversALagThatCouldNotBeReadAtFirst() {
        VirtualWorld.Client client = endpoint();
        primary.replicas(1, 1);
        primary.maxLag(20);
        primary.failNext("CONFIG", "BUSY Redis is busy running a script.", 1);
        world.runMs(2_500);
        failOverTo(client);
        assertSilence(client, 23_000);
    }

    /** An earlier connection has read it, and the failover comes before the last one has. */
    @Test
    void theSilenceCoversALagThatTheLastConnectionHasNotRead() {
        VirtualWorld.Client client = endpoint();
        primary.replicas(1, 1);
        primary.maxLag(20);
        world.runMs(2_000);
        primary.failNext("CONFIG", "BUSY Redis is busy running a script.", 1);
        node(0).breakConnections();
        world.runMs(900);
        assertState(NodeState.READY, client);
        failOverTo(client);
        assertSilence(client, 23_000);
    }

    /** The promoted server is one that nothing limits. */
    @Test
    void theSilenceIsThatOfTheFormerPrimary() {
        VirtualWorld.Client client = endpoint();
        primary.replicas(1, 1);
        primary.maxLag(20);
        world.runMs(2_000);
        failOverTo(client);
        assertSilence(client, 23_000);
    }

    @Test
    void aWarningAboutTheReplicasEndsWithItsReason() {
        world = new VirtualWorld(1);
        node(0).redis().replicas(2, 1);
        VirtualWorld.Client client = client();
        world.runMs(100);
        assertTrue(problem(client).contains("min-replicas-to-write is 1 with 2 replicas"), problem(client));
        node(0).redis().replicas(2, 2);
        world.runMs(11_100);
        assertNull(status(client, 0).problem());
    }

    /** Without its replica the new primary takes no writes when the silence ends, not even that of its mark. */
    @Test
    void aMarkThatIsRefusedForAMomentIsWrittenLater() {
        endpoint();
        failOver();
        VirtualWorld.Client late = client();
        world.runMs(SILENCE_MS - 2_000);
        replica.failNext("SET", "NOREPLICAS Not enough good replicas to write.", 3);
        world.await("it votes", 2_100, () -> status(late, 0).state() == NodeState.READY);
        assertNull(replica.get(MARK));
        world.await("the mark", 4_000, () -> replica.reign().equals(replica.get(MARK)));
        assertState(NodeState.READY, late);
        assertState(NodeState.READY, client());
    }

    @Test
    void aMarkThatCannotBeReadForAMomentIsReadLater() {
        endpoint();
        failOver();
        replica.set(MARK, replica.reign(), -1);
        replica.failNext("GET", "BUSY Redis is busy running a script.", 3);
        VirtualWorld.Client late = client();
        world.await("the mark is read", 1_000, () -> status(late, 0).state() == NodeState.READY);
    }

    @Test
    void theOptionCountsWhereTheServerDoesNotReportItsLag() {
        endpoint();
        failOver();
        replica.replicas(1, 1);
        replica.failNext("CONFIG", "NOPERM no", 1_000);
        VirtualWorld.Client late = client(context().replicasMaxLag(Duration.ofSeconds(40)));
        world.runMs(SILENCE_MS + 40_000);
        assertState(NodeState.QUARANTINED, late);
        world.runMs(4_000);
        assertState(NodeState.READY, late);
    }

    @Test
    void aPrimaryWhoseServiceNothingBoundsShowsThat() {
        world = new VirtualWorld(1);
        node(0).redis().replicas(1, 0);
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            assertTrue(problem(client).contains("min-replicas-to-write is 0"), problem(client));
            assertState(NodeState.READY, client);
            world.runMs(5_000);
            assertEquals(1, log.with(Level.WARNING, "min-replicas-to-write is 0").size());
            node(0).redis().replicas(1, 1);
            world.runMs(1_100);
            assertNull(status(client, 0).problem());
            node(0).redis().replicas(2, 1);
            world.runMs(1_100);
            assertTrue(problem(client).contains("min-replicas-to-write is 1 with 2 replicas"), problem(client));
        }
    }

    @Test
    void aServerWithoutReplicasShowsNothing() {
        assertNull(status(world(1), 0).problem());
    }
}
