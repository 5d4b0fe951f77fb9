package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.engine.watch.LossCause;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One pass over the held leases, whose listeners end others of them inside the pass. */
class LossScanTest extends VirtualTest {

    private static final int PAIRS = 200;
    private static final int SURVIVORS = 1_000;

    private final Map<Lease, Lease> partners = new HashMap<>();
    private final List<Lease> lost = new ArrayList<>();
    private final Set<Lease> survivors = new HashSet<>();
    private VirtualWorld.Client client;

    private Lease held(String resource) {
        return acquired(get(client.redlock()
                .acquireAsync(resource, options().listener((lease, state) -> {
                    assertEquals(LeaseState.LOST, state);
                    lost.add(lease);
                    partners.get(lease).releaseAsync();
                }))));
    }

    private Lease heldByTwo(String resource) {
        node(2).redis().set(resource, "foreign", 60_000);
        return held(resource);
    }

    /** A node has no part in the pairs. The later leases are the first ones of a pass. */
    @BeforeEach
    void holdPairsAndSurvivors() {
        client = world(3);
        world.runMs(3_000);
        for (int i = 0; i < PAIRS; i++) {
            Lease first = heldByTwo("first/" + i);
            Lease second = heldByTwo("second/" + i);
            partners.put(first, second);
            partners.put(second, first);
        }
        for (int i = 0; i < SURVIVORS; i++) {
            survivors.add(held("survivor/" + i));
        }
        world.runMs(50);
    }

    private LeaseKeeper keeper() {
        return client.engine().engine().keeper();
    }

    @Test
    void aPassVisitsNoLeaseTwice() {
        List<Lease> visited = new ArrayList<>();
        client.call(() -> keeper().forEachHeld(claim -> {
            visited.add(claim.lease);
            if (partners.containsKey(claim.lease)) {
                keeper().loss.lose(claim, 0, LossCause.FLUSHED);
            }
        }));
        world.runMs(50);
        assertEquals(SURVIVORS + PAIRS, visited.size(), "visits");
        assertEquals(SURVIVORS + PAIRS, new HashSet<>(visited).size(), "different leases");
        assertTrue(visited.containsAll(survivors));
        assertEquals(PAIRS, lost.size(), "lost leases");
    }

    /** A pass inside another one may end leases that the outer one would visit next. */
    @Test
    void aPassInsideAnotherLeavesNoneOut() {
        Set<Lease> visited = new HashSet<>();
        client.call(() -> keeper().forEachHeld(outer -> {
            if (visited.isEmpty()) {
                keeper().forEachHeld(inner -> {
                    if (partners.containsKey(inner.lease)) {
                        keeper().loss.lose(inner, 0, LossCause.FLUSHED);
                    }
                });
            }
            visited.add(outer.lease);
        }));
        world.runMs(50);
        assertEquals(survivors, visited);
        assertEquals(PAIRS, lost.size(), "lost leases");
    }

    @Test
    void noSurvivorCountsAFlushedNode() {
        node(0).redis().flushAll();
        world.await("the losses", 5_000, () -> lost.size() == PAIRS);
        world.runMs(50);
        assertEquals(PAIRS, lost.size(), "one of each pair; the other one is released");
        assertEquals(SURVIVORS, client.engine().heldCount());
        client.engine()
                .engine()
                .forEachHeld(lease -> assertEquals(0b110, ((LeaseHandle) lease).claim.holderMask, lease.toString()));
        survivors.forEach(lease -> assertTrue(lease.isHeld()));
    }
}
