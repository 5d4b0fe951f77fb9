package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Random failovers that lose locks, and Sentinels that are late, down, or name the wrong server. Nodes 0 to 2 are the
 * servers, of which one is the primary; nodes 3 to 5 are Sentinels. A former primary refuses writes at once.
 */
class SentinelFaultsTest extends VirtualTest {

    private static final int SERVERS = 3;
    private static final int CLIENTS = 3;
    private static final int STEPS = 3_000;
    private static final Duration MAX_TTL = Duration.ofSeconds(2);
    private static final String READONLY = "READONLY You can't write against a read only replica.";

    private final List<FakeSentinel> sentinels = new ArrayList<>();
    private final List<VirtualWorld.Client> clients = new ArrayList<>();
    private final Lease[] leases = new Lease[CLIENTS];
    private final List<CompletableFuture<AcquireOutcome>> pending = new ArrayList<>();
    private Random random;
    private int primary;
    private int grants;
    private int overlaps;
    private RestartGuardMode guard;

    @Override
    protected RedlockContext context() {
        return new RedlockContext().nodes("redis-sentinel://node-3:1,node-4:1,node-5:1/mymaster")
                .maxTtl(MAX_TTL)
                .restartGuard(guard);
    }

    /** As many as a build has time for, and more with the property of the simulator. */
    private static LongStream seeds() {
        return LongStream.rangeClosed(1, Integer.getInteger("sim.seeds", 60) / 5);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void noTwoLeasesAreHeldAtOnce(long seed) {
        run(seed, RestartGuardMode.FRESH_GROUP);
        assertEquals(0, overlaps, () -> "seed " + seed);
        assertTrue(grants >= 10, () -> grants + " grants");
    }

    /** The check of the check. */
    @Test
    void withoutTheSilenceTwoLeasesAreHeldAtOnce() {
        run(9, RestartGuardMode.OFF);
        assertTrue(overlaps > 0);
    }

    private void run(long seed, RestartGuardMode mode) {
        guard = mode;
        random = new Random(seed);
        world = new VirtualWorld(2 * SERVERS);
        for (int i = 1; i < SERVERS; i++) {
            follow(i);
        }
        for (int i = 0; i < SERVERS; i++) {
            sentinels.add(FakeSentinel.at(node(SERVERS + i), "node-0"));
        }
        for (int i = 0; i < CLIENTS; i++) {
            clients.add(client());
            pending.add(CompletableFuture.completedFuture(null));
        }
        for (int step = 0; step < STEPS; step++) {
            act();
            world.runMs(random.nextInt(40));
            check();
        }
    }

    private void act() {
        int who = random.nextInt(CLIENTS);
        switch (random.nextInt(80)) {
            case 0, 1 -> lagBehind();
            case 2 -> sentinels.get(who).names("node-" + random.nextInt(SERVERS + 1));
            case 3, 4 -> sentinels.get(who).names("node-" + primary);
            case 5, 6 -> sentinels.get(who).switchTo("node-" + primary);
            case 7 -> node(SERVERS + who).crash();
            case 8 -> node(primary).breakConnections();
            case 9 -> failOverSeldom();
            case 10, 11 -> startSentinel(who);
            case 12 -> restartClientSeldom(who);
            default -> lock(who);
        }
    }

    private void lock(int who) {
        Lease held = leases[who];
        if (held != null && (random.nextInt(8) == 0 || !held.isHeld())) {
            leases[who] = null;
            held.releaseAsync();
        } else if (held == null && pending.get(who).isDone()) {
            pending.set(who, acquireAsync(clients.get(who),
                    AcquireOptions.ofTtl(Duration.ofMillis(200 + random.nextInt(1_801))).tryOnce()));
        }
    }

    private void check() {
        for (int i = 0; i < CLIENTS; i++) {
            AcquireOutcome outcome = pending.get(i).getNow(null);
            if (outcome != null) {
                pending.set(i, CompletableFuture.completedFuture(null));
                leases[i] = outcome.isAcquired() ? outcome.lease() : leases[i];
                grants += outcome.isAcquired() ? 1 : 0;
            }
        }
        long held = Arrays.stream(leases).filter(lease -> lease != null && lease.isHeld()).count();
        overlaps += held > 1 ? 1 : 0;
    }

    /** A replica gets the present keys, so it lacks those of later locks. */
    private void follow(int replica) {
        node(replica).redis().replicate(node(primary).redis());
        node(replica).redis().refuseWrites(READONLY);
    }

    private void lagBehind() {
        int replica = random.nextInt(SERVERS);
        if (replica != primary) {
            follow(replica);
        }
    }

    private void failOverSeldom() {
        if (random.nextInt(8) > 0) {
            return;
        }
        int former = primary;
        primary = (primary + 1 + random.nextInt(SERVERS - 1)) % SERVERS;
        node(primary).redis().promote();
        node(primary).redis().refuseWrites(null);
        follow(former);
        // Sentinels send CLIENT KILL TYPE normal with each REPLICAOF, in one transaction.
        node(former).breakConnections();
        node(primary).breakConnections();
        sentinels.get(random.nextInt(SERVERS)).switchTo("node-" + primary);
    }

    private void startSentinel(int index) {
        if (!node(SERVERS + index).isUp()) {
            node(SERVERS + index).start();
        }
    }

    private void restartClientSeldom(int who) {
        if (random.nextInt(4) == 0 && leases[who] == null && pending.get(who).isDone()) {
            clients.get(who).kill();
            clients.set(who, client());
        }
    }
}
