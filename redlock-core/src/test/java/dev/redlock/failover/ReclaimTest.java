package dev.redlock.failover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Leases outlive a failover and a restart of the only voter. */
class ReclaimTest extends EndpointTest {

    private static final String KEY = "orders";
    /** Until every client that waits votes again. */
    private static final long SILENCE_MS_MAX = 70_000;
    /** For so long a client that has not noticed may send to the former primary: unanswered timeout and a sample. */
    private static final long SERVICE_MS = 3_000;

    private final List<LeaseState> losses = new ArrayList<>();

    private AcquireOptions extended() {
        return observed(options().autoExtend());
    }

    private AcquireOptions observed(AcquireOptions options) {
        return options.listener(new LeaseListener() {
            @Override
            public void onLost(Lease lease, LeaseState state) {
                losses.add(state);
            }
        });
    }

    private Lease hold(VirtualWorld.Client client, AcquireOptions options) {
        return acquired(acquire(client, options));
    }

    /** The new primary has no lock, and the former one no clients. */
    @Override
    protected void failOver() {
        super.failOver();
        node(0).breakConnections();
    }

    /** The server was a replica for a moment, without the lock, and is the primary again. */
    private void promoteInPlace() {
        primary.replicate(replica);
        primary.promote();
    }

    private void awaitState(VirtualWorld.Client client, NodeState state, long limitMs) {
        world.await(state.name(), limitMs, () -> status(client, 0).state() == state);
    }

    private void restart(boolean isDataKept) {
        node(0).crash();
        node(0).restart(isDataKept);
    }

    /** The lease is held all the time, and others get the lock only after its release. */
    private void assertOutlives(Lease lease, VirtualWorld.Client holder, VirtualWorld.Client other, FakeRedis server) {
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        world.await("reclaimed", SERVICE_MS + 1_500, () -> server.get(KEY) != null);
        world.runMs(100);
        for (int i = 0; i < SILENCE_MS_MAX / 500; i++) {
            world.runMs(500);
            assertTrue(lease.isHeld(), () -> lease + " after " + losses);
            assertFalse(acquire(other, options()).isAcquired());
        }
        awaitState(holder, NodeState.READY, 1);
        awaitState(other, NodeState.READY, 1);
        assertEquals(List.of(), losses);
        release(lease);
        hold(other, options());
    }

    // ---- what outlives ----------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource
    void aLeaseOutlivesAPromotionThatLosesItsKey(FakeRedis.Kind kind) {
        VirtualWorld.Client holder = endpoint(kind);
        VirtualWorld.Client other = client();
        Lease lease = hold(holder, extended());
        failOver();
        assertOutlives(lease, holder, other, replica);
    }

    @Test
    void aLeaseOutlivesAPromotionThatKeepsItsKey() {
        VirtualWorld.Client holder = endpoint();
        VirtualWorld.Client other = client();
        Lease lease = hold(holder, extended());
        replica.replicate(primary);
        failOver();
        assertOutlives(lease, holder, other, replica);
    }

    /** Servers with conditional commands refuse the extension of a missing key at first. */
    @ParameterizedTest
    @EnumSource
    void aLeaseOutlivesARestartThatLosesItsKey(FakeRedis.Kind kind) {
        VirtualWorld.Client holder = endpoint(kind);
        VirtualWorld.Client other = client();
        Lease lease = hold(holder, extended());
        restart(false);
        assertOutlives(lease, holder, other, primary);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aLeaseOutlivesARestart(boolean isDataKept) {
        VirtualWorld.Client holder = endpoint();
        VirtualWorld.Client other = client();
        Lease lease = hold(holder, extended());
        restart(isDataKept);
        assertOutlives(lease, holder, other, node(0).redis());
    }

    @ParameterizedTest
    @EnumSource(value = RestartGuardMode.class, names = "OFF", mode = EnumSource.Mode.EXCLUDE)
    void inEachModeOfTheGuard(RestartGuardMode mode) {
        endpoint();
        VirtualWorld.Client holder = client(context().restartGuard(mode));
        VirtualWorld.Client other = client(context().restartGuard(mode));
        Lease lease = hold(holder, extended());
        restart(false);
        assertOutlives(lease, holder, other, node(0).redis());
    }

    @Test
    void aLeaseOutlivesTwoPromotionsWithinTheSilence() {
        VirtualWorld.Client holder = endpoint();
        VirtualWorld.Client other = client();
        Lease lease = hold(holder, extended());
        failOver();
        world.await("reclaimed", SERVICE_MS + 1_500, () -> replica.get(KEY) != null);
        world.runMs(5_000);
        primary.replicate(replica);
        primary.delete(KEY);
        primary.promote();
        world.moveName(0, 0);
        node(1).breakConnections();
        assertOutlives(lease, holder, other, primary);
    }

    /** The nulls of the conditional extensions of all leases cause a script each, and not all can be sent at once. */
    @ParameterizedTest
    @EnumSource
    void leasesOutliveARestartUnderBackPressure(FakeRedis.Kind kind) {
        endpoint(kind);
        VirtualWorld.Client holder = client(context().nodeBackPressure(65_536, 4_096));
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            leases.add(acquired(get(holder.redlock().acquireAsync("r" + i, extended()))));
        }
        restart(false);
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        world.runMs(TTL.toMillis());
        assertEquals(List.of(), losses);
        assertEquals(100, leases.stream().filter(Lease::isHeld).count());
        leases.forEach(lease -> assertNotNull(primary.get(lease.resource())));
    }

    /** The null of the first round arrives in the second one, so no script follows it. */
    @Test
    void aLateNullDoesNotEndALease() {
        VirtualWorld.Client holder = endpoint(FakeRedis.Kind.VALKEY_9);
        Lease lease = hold(holder, extended());
        restart(false);
        node(0).delay(() -> 1_000_000);
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        node(0).delay(() -> 650_000_000);
        world.runMs(6_000);
        node(0).delay(() -> 0);
        world.runMs(TTL.toMillis());
        assertEquals(List.of(), losses);
        assertTrue(lease.isHeld());
    }

    /** Without the script nothing sets the key: the lease goes on to the end of its validity, and then is lost. */
    @ParameterizedTest
    @EnumSource(value = FakeRedis.Kind.class, names = {"REDIS_8_4", "VALKEY_9"})
    void aLeaseWhoseKeyNoScriptMaySetEndsWithItsValidity(FakeRedis.Kind kind) {
        endpoint(kind);
        VirtualWorld.Client holder = client(context().commands(CommandMode.NATIVE));
        Lease lease = hold(holder, extended());
        long validUntilNs = world.nowNs() + lease.remainingValidityNs();
        for (String command : List.of("EVALSHA", "EVAL", "SCRIPT")) {
            primary.failNext(command, "NOPERM this user has no permissions to run the command", Integer.MAX_VALUE);
        }
        restart(false);
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        world.runUntilNs(validUntilNs - 1_000_000);
        assertEquals(List.of(), losses);
        assertTrue(lease.isHeld());
        world.runMs(2);
        assertEquals(List.of(LeaseState.LOST), losses);
        assertNull(primary.get(KEY));
    }

    /** The clocks of two machines differ. */
    @ParameterizedTest
    @ValueSource(longs = {-3_600_000, -30_000, 5, 500})
    void theClockOfTheNewServerDiffers(long ms) {
        VirtualWorld.Client holder = endpoint();
        VirtualWorld.Client other = client();
        Lease lease = hold(holder, extended());
        replica.clockJump(ms);
        failOver();
        assertOutlives(lease, holder, other, replica);
    }

    /**
     * The clock jumped ahead before the restart, and no client has seen that: the key ended early, and another client
     * got the lock. Neither of the two can tell whose key is older.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aClockThatIsAheadEndsLeasesThatWouldOutliveTheRestart(boolean isDataKept) {
        VirtualWorld.Client holder = endpoint();
        VirtualWorld.Client other = client();
        Lease lease = hold(holder, extended());
        primary.clockJump(3_600_000);
        Lease second = hold(other, extended());
        assertTrue(lease.isHeld(), "unseen");
        restart(isDataKept);
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        awaitState(other, NodeState.QUARANTINED, 1_000);
        assertEquals(List.of(LeaseState.LOST, LeaseState.LOST), losses);
        assertFalse(lease.isHeld() || second.isHeld());
    }

    /** It may have jumped by that much before the failover. */
    @Test
    void aClockThatIsAheadShortensALease() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, options());
        long beforeMs = lease.remainingValidity().toMillis();
        replica.clockJump(4_000);
        failOver();
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        long afterMs = lease.remainingValidity().toMillis();
        assertTrue(afterMs > 0 && beforeMs - afterMs >= 4_000, () -> beforeMs + " -> " + afterMs);
    }

    /** The uptime is wrong after the jump: a client that connects takes the process for an old one. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aJumpAheadAfterARestartEndsALeaseWithoutAKey(boolean isDataKept) {
        VirtualWorld.Client holder = endpoint();
        hold(holder, observed(options()));
        restart(isDataKept);
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        primary.clockJump(3_600_000);
        world.await("lost", 1_100, () -> !losses.isEmpty());
        assertEquals(List.of(LeaseState.LOST), losses);
        hold(client(), options());
    }

    /** A client that connects votes earlier by the jump. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aJumpAheadShortensALeaseWithoutAKey(boolean isFailover) {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, observed(options()));
        long validUntilMs = nowMs() + lease.remainingValidity().toMillis();
        if (isFailover) {
            failOver();
        } else {
            restart(true);
        }
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        (isFailover ? replica : primary).clockJump(4_000);
        world.runMs(1_100);
        assertTrue(lease.isHeld());
        long earlierMs = validUntilMs - nowMs() - lease.remainingValidity().toMillis();
        assertTrue(earlierMs >= 4_000 && earlierMs < 4_500, earlierMs + " ms");
        assertEquals(List.of(), losses);
    }

    /** The machine of the holder stands still, so the clock of the node seems to have jumped. */
    @Test
    void aSuspendOfTheHolderShortensALeaseWithoutAKey() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, observed(options()));
        long validUntilMs = nowMs() + lease.remainingValidity().toMillis();
        restart(false);
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        holder.suspend();
        world.runMs(4_000);
        holder.resume();
        world.runMs(1_100);
        assertTrue(lease.isHeld());
        assertTrue(nowMs() + lease.remainingValidity().toMillis() <= validUntilMs);
        world.runMs(validUntilMs - nowMs());
        assertFalse(lease.isHeld());
    }

    /** A client that connects votes later. */
    @Test
    void aClockThatGoesBackTakesNothingFromALeaseWithoutAKey() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, observed(options()));
        restart(false);
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        primary.clockJump(-30_000);
        world.runMs(lease.remainingValidity().toMillis() - 50);
        assertTrue(lease.isHeld());
        world.runMs(100);
        assertEquals(LeaseState.EXPIRED, lease.state());
    }

    /** Empty, it tells that in the first replies. */
    @Test
    void aFlushBeforeTheReclaimTakesNothing() {
        VirtualWorld.Client holder = endpoint();
        VirtualWorld.Client other = client();
        Lease lease = hold(holder, extended());
        failOver();
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        replica.flushAll();
        world.runMs(10);
        replica.clockJump(5_000);
        assertOutlives(lease, holder, other, replica);
    }

    @Test
    void aPermitOutlivesAFailover() {
        VirtualWorld.Client holder = endpoint();
        VirtualWorld.Client other = client();
        Lease lease = hold(holder, extended().forPermitOf(1));
        failOver();
        world.runMs(SILENCE_MS_MAX);
        assertTrue(lease.isHeld());
        assertFalse(acquire(other, options().forPermitOf(1)).isAcquired());
        assertEquals(List.of(), losses);
    }

    @Test
    void aFencedLeaseKeepsItsTokenAndTheNextOneIsHigher() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, extended().fenced());
        long token = lease.fencingToken();
        failOver();
        world.runMs(SILENCE_MS_MAX);
        assertTrue(lease.isHeld());
        assertEquals(token, lease.fencingToken());
        release(lease);
        assertTrue(hold(holder, options().fenced()).fencingToken() > token);
    }

    @Test
    void manyLeasesOutliveAFailover() {
        VirtualWorld.Client holder = endpoint();
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            leases.add(acquired(get(holder.redlock().acquireAsync("r" + i, extended()))));
        }
        failOver();
        world.runMs(SILENCE_MS_MAX);
        assertEquals(300, leases.stream().filter(Lease::isHeld).count());
        leases.forEach(this::release);
    }

    /** A caller extends, and has a listener of losses. */
    @Test
    void anExtensionOfACallerReclaims() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, options().watchLoss());
        failOver();
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease));
        assertNull(replica.get(KEY));
        world.runMs(SERVICE_MS + 500);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease));
        assertNotNull(replica.get(KEY));
        world.runMs(TTL.toMillis() - 500);
        assertTrue(lease.isHeld());
        world.runMs(500);
        assertEquals(LeaseState.EXPIRED, lease.state());
    }

    private ExtendOutcome extend(Lease lease) {
        return extend(lease, TTL);
    }

    /** Its key is watched: the key of the new server is missing, and that is known. */
    @Test
    void aWatchedLeaseOutlivesAFailover() {
        VirtualWorld.Client holder = endpoint();
        VirtualWorld.Client other = client();
        Lease lease = hold(holder, extended().watchLoss());
        failOver();
        assertOutlives(lease, holder, other, replica);
    }

    // ---- what does not ----------------------------------------------------------------------------------------------

    /** The former primary may serve others for as long as its settings allow. */
    @Test
    void nothingIsReclaimedWhileTheFormerPrimaryMayServe() {
        VirtualWorld.Client holder = endpoint();
        replica.replicas(1, 1);
        replica.maxLag(1);
        Lease lease = hold(holder, extended());
        failOver();
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        long sinceMs = nowMs();
        world.await("reclaimed", 12_000, () -> replica.get(KEY) != null || !lease.isHeld());
        assertTrue(lease.isHeld());
        long tookMs = nowMs() - sinceMs;
        // The lag, a second of rounding, a second of the server's clock, and a second between its looks.
        assertTrue(tookMs >= 4_000 + SERVICE_MS && tookMs < 4_000 + SERVICE_MS + 300, tookMs + " ms");
    }

    /** The restarted server may follow a primary that was deposed just before the restart. */
    @Test
    void nothingIsReclaimedAfterARestartWhileAFormerPrimaryMayServe() {
        VirtualWorld.Client holder = endpoint();
        primary.replicas(1, 1);
        primary.maxLag(1);
        world.runMs(2_100);
        Lease lease = hold(holder, extended());
        long sinceMs = nowMs();
        restart(false);
        world.await("reclaimed", 12_000, () -> primary.get(KEY) != null || !lease.isHeld());
        assertTrue(lease.isHeld());
        assertTrue(nowMs() - sinceMs >= 4_000 + SERVICE_MS, nowMs() - sinceMs + " ms");
    }

    /** A promotion after the restart has a former primary of its own. */
    @Test
    void nothingIsReclaimedAfterARestartAndAPromotionWhileTheFormerPrimaryMayServe() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, extended());
        restart(true);
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        world.runMs(2_000);
        long sinceMs = nowMs();
        promoteInPlace();
        assertNull(primary.get(KEY));
        world.await("reclaimed", 12_000, () -> primary.get(KEY) != null || !lease.isHeld());
        assertTrue(lease.isHeld());
        assertTrue(nowMs() - sinceMs >= SERVICE_MS, nowMs() - sinceMs + " ms");
    }

    /** The service is longer than the validity. */
    @Test
    void aLeaseThatCannotWaitIsLostAtTheEndOfItsValidity() {
        VirtualWorld.Client holder = endpoint();
        replica.replicas(1, 1);
        replica.maxLag(10);
        Lease lease = hold(holder, extended());
        failOver();
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        world.await("the end", TTL.toMillis(), () -> !lease.isHeld());
        assertEquals(List.of(LeaseState.LOST), losses);
        world.runMs(SILENCE_MS_MAX);
        assertNull(replica.get(KEY), "no extension was sent after the end");
    }

    @Test
    void aLeaseThatNobodyExtendsEndsWithItsValidity() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, options());
        failOver();
        world.runMs(validityMs(TTL.toMillis()) - 50);
        assertTrue(lease.isHeld());
        world.runMs(100);
        assertEquals(LeaseState.EXPIRED, lease.state());
        assertNull(replica.get(KEY));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aLeaseWhoseKeyAnotherClientHasIsLost(boolean isWrongType) {
        VirtualWorld.Client holder = endpoint();
        hold(holder, extended());
        failOver();
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        if (isWrongType) {
            replica.failNext("EVALSHA", "WRONGTYPE Operation against a key holding the wrong kind of value", 100);
        } else {
            replica.set(KEY, "another", 60_000);
        }
        world.await("lost", SERVICE_MS + 1_500, () -> !losses.isEmpty());
        assertEquals(List.of(LeaseState.LOST), losses);
    }

    /** A key that goes after the reclaim is lost as ever. */
    @Test
    void aReclaimedLeaseIsLostWithItsKey() {
        VirtualWorld.Client holder = endpoint();
        hold(holder, extended());
        failOver();
        world.await("reclaimed", SERVICE_MS + 1_500, () -> replica.get(KEY) != null);
        world.runMs(100);
        replica.delete(KEY);
        world.await("lost", TTL.toMillis(), () -> !losses.isEmpty());
        assertEquals(List.of(LeaseState.LOST), losses);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aReclaimedLeaseIsLostWithAFlushOrAStepOfTheClock(boolean isFlush) {
        VirtualWorld.Client holder = endpoint();
        hold(holder, extended());
        failOver();
        world.await("reclaimed", SERVICE_MS + 1_500, () -> replica.get(KEY) != null);
        world.runMs(100);
        if (isFlush) {
            replica.flushAll();
        } else {
            replica.clockJump(-30_000);
        }
        world.await("lost", 1_100, () -> !losses.isEmpty());
        assertEquals(List.of(LeaseState.LOST), losses);
    }

    /** Another client has waited the silence, or was never in doubt: others get locks from now on. */
    @Test
    void aMarkThatAppearsBeforeTheReclaimEndsTheLease() {
        VirtualWorld.Client holder = endpoint();
        hold(holder, extended());
        promoteInPlace();
        awaitState(holder, NodeState.QUARANTINED, 1_100);
        primary.set(MARK, primary.reign(), -1);
        awaitState(holder, NodeState.READY, 1_500);
        assertEquals(List.of(LeaseState.LOST), losses);
    }

    @Test
    void aMarkThatAppearsAfterTheReclaimEndsTheSilenceAlone() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, extended());
        promoteInPlace();
        world.await("reclaimed", SERVICE_MS + 1_500, () -> primary.get(KEY) != null);
        world.runMs(100);
        primary.set(MARK, primary.reign(), -1);
        awaitState(holder, NodeState.READY, 1_500);
        world.runMs(30_000);
        assertTrue(lease.isHeld());
    }

    /** A server that does not show promotions. */
    @Test
    void nothingIsReclaimedWhereAPromotionWouldNotShow() {
        VirtualWorld.Client holder = endpoint();
        hold(holder, extended());
        failOver();
        replica.constantReplicationId();
        world.runMs(TTL.toMillis());
        assertEquals(List.of(LeaseState.LOST), losses);
        assertNull(replica.get(KEY));
    }

    @Test
    void aServerThatTurnsOutToBeAReplicaChangesNothing() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, extended());
        replica.role("slave");
        world.moveName(0, 1);
        node(0).breakConnections();
        world.runMs(200);
        world.moveName(0, 0);
        awaitState(holder, NodeState.READY, 2_000);
        world.runMs(30_000);
        assertTrue(lease.isHeld());
        assertEquals(List.of(), losses);
    }

    /** A listener of the loss closes the client, in the moment in which the node would vote. */
    @Test
    void aListenerMayCloseTheClient() {
        VirtualWorld.Client holder = endpoint();
        hold(holder, options().autoExtend().listener(new LeaseListener() {
            @Override
            public void onLost(Lease lease, LeaseState state) {
                losses.add(state);
                holder.engine().close(Duration.ZERO);
            }
        }));
        promoteInPlace();
        awaitState(holder, NodeState.QUARANTINED, 1_100);
        primary.set(MARK, primary.reign(), -1);
        awaitState(holder, NodeState.CLOSED, 1_500);
        assertEquals(List.of(LeaseState.LOST), losses);
    }

    /** The release is sent to the new server, whose silence protects nobody else. */
    @Test
    void aLeaseIsReleasedBeforeItIsReclaimed() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = hold(holder, extended());
        replica.replicate(primary);
        failOver();
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        assertNotNull(replica.get(KEY));
        release(lease);
        assertNull(replica.get(KEY));
        world.runMs(SILENCE_MS_MAX);
        assertNull(replica.get(KEY));
        assertEquals(AcquireOutcome.Kind.ACQUIRED, acquire(holder, options()).kind());
    }

    /** Other nodes may vote meanwhile. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void withSeveralNodesALeaseThatLosesItsQuorumIsLostAtOnce(int nodeCount) {
        world = new VirtualWorld(nodeCount);
        VirtualWorld.Client holder = client(new RedlockContext().nodes(world.addresses()));
        hold(holder, extended());
        for (int i = 0; i < nodeCount; i++) {
            node(i).crash();
            node(i).restart(false);
        }
        world.runMs(1_000);
        assertEquals(List.of(LeaseState.LOST), losses);
    }

    @ParameterizedTest
    @ValueSource(strings = {"SET", "READ", "WRITE"})
    void aLockOfAnotherKindIsLostAtOnce(String kind) {
        VirtualWorld.Client holder = endpoint();
        AcquireOptions options = switch (kind) {
            case "READ" -> extended().forReading();
            case "WRITE" -> extended().forWriting();
            default -> extended();
        };
        acquired(kind.equals("SET")
                ? get(holder.redlock().acquireAsync(holder.redlock().keyOfAll(List.of("a", "b")), options))
                : acquire(holder, options));
        failOver();
        awaitState(holder, NodeState.QUARANTINED, 1_000);
        world.runMs(10);
        assertEquals(List.of(LeaseState.LOST), losses);
    }

    @Test
    void aShortTtlIsExtendedInTimeAfterARestart() {
        VirtualWorld.Client holder = endpoint();
        Lease lease = acquired(acquire(holder,
                AcquireOptions.ofTtl(Duration.ofSeconds(1)).tryOnce().autoExtend()));
        restart(false);
        world.runMs(SILENCE_MS_MAX);
        assertTrue(lease.isHeld());
    }
}
