package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every callback re-enters the client at random, on a few reused leases, while nodes come and go: it acquires,
 * releases, extends and cancels. Each accepted call completes once.
 */
class HostileFuzzTest extends VirtualTest {

    private static final int SEEDS = Integer.getInteger("hostile.seeds", 20);
    private static final int RESOURCES = 4;

    private Random random;
    private VirtualWorld.Client client;
    private final List<Handle> handles = new ArrayList<>();
    private final List<String> violations = new ArrayList<>();
    private int actionsLeft;

    static IntStream seeds() {
        int first = Integer.getInteger("hostile.first", 1);
        return IntStream.range(first, first + SEEDS);
    }

    /** A lease and the number of its pending outcomes. */
    private final class Handle {
        private final Lease lease = client.redlock().newLease();
        private int acquires;
        private int releases;
        private int extensions;

        private int answered(int open, String what) {
            if (open <= 0) {
                violations.add(what + " completed twice: " + lease);
            }
            return open - 1;
        }

        void acquire() {
            AcquireOptions options = randomOptions();
            boolean wasOpen = acquires > 0;
            acquires++;
            try {
                ResourceKey key = client.redlock().key("r" + random.nextInt(RESOURCES));
                client.redlock().acquire(key, options, lease, outcome -> {
                    acquires = answered(acquires, "acquire");
                    act();
                });
            } catch (IllegalStateException e) {
                acquires--;
                return;
            }
            if (wasOpen) {
                violations.add("a lease that is being acquired was accepted again: " + lease);
            }
        }

        void release() {
            releases++;
            try {
                lease.release((released, outcome) -> {
                    releases = answered(releases, "release");
                    act();
                });
            } catch (IllegalStateException e) {
                releases--;
            }
        }

        void extend() {
            extensions++;
            try {
                lease.extend(300 + random.nextInt(2_000), (extended, outcome) -> {
                    extensions = answered(extensions, "extend");
                    act();
                });
            } catch (IllegalStateException e) {
                extensions--;
            }
        }

        private AcquireOptions randomOptions() {
            AcquireOptions options = AcquireOptions.ofTtl(Duration.ofMillis(300 + random.nextInt(2_000)))
                    .waitUpTo(Duration.ofMillis(random.nextInt(3) * random.nextInt(400)))
                    .retryPolicy((attempts, reason, ttl, bits) -> {
                        if (random.nextInt(3) == 0) {
                            act();
                        }
                        return random.nextInt(4) == 0 ? Long.MAX_VALUE : random.nextInt(30_000_000);
                    })
                    .listener(new LeaseListener() {
                        @Override
                        public void onLost(Lease lost, LeaseState state) {
                            act();
                        }

                        @Override
                        public void onExtended(Lease extended, int count) {
                            act();
                        }
                    });
            options = random.nextInt(4) == 0 ? options.autoExtend(3, Duration.ofDays(1)) : options;
            return random.nextInt(3) == 0 ? options.fenced() : options;
        }
    }

    private void act() {
        for (int i = random.nextInt(3); i > 0 && actionsLeft > 0; i--) {
            actionsLeft--;
            Handle handle = handles.get(random.nextInt(handles.size()));
            switch (random.nextInt(9)) {
                case 0, 1, 2, 3 -> handle.acquire();
                case 4, 5 -> handle.release();
                case 6, 7 -> handle.extend();
                default -> handle.lease.close();
            }
        }
    }

    private void fault() {
        int index = random.nextInt(world.nodes().size());
        switch (random.nextInt(12)) {
            case 0, 1 -> {
                if (node(index).isUp()) {
                    node(index).crash();
                } else {
                    node(index).restart(true);
                }
            }
            case 2 -> node(index).pause();
            case 3, 4 -> node(index).resume();
            case 5 -> node(index).breakConnections();
            case 6 -> node(index).redis().flushScripts();
            case 7 -> node(index).redis().failNext("EVALSHA", "BUSY Redis is busy running a script.", 3);
            case 8 -> node(index).redis().clearErrors();
            default -> {
                long delayNs = random.nextInt(3) * random.nextInt(20_000_000);
                node(index).delay(() -> delayNs);
            }
        }
    }

    private RedlockContext randomContext() {
        int[] batches = {1, 2, 3, 64};
        RedlockContext context = context().maxTtl(Duration.ofSeconds(5))
                .restartGuard(RestartGuardMode.OFF)
                .unansweredTimeout(Duration.ofMillis(300))
                .releaseBatchMax(batches[random.nextInt(4)])
                .inFlightMax(random.nextInt(3) == 0 ? 2 : 100)
                .waitersMax(random.nextInt(3) == 0 ? 1 : 100)
                .autoExtendedLeasesMax(random.nextInt(3) == 0 ? 1 : 100)
                .commands(random.nextInt(3) == 0 ? CommandMode.SCRIPTS : CommandMode.AUTO);
        return random.nextInt(2) == 0 ? context.nodeBackPressure(16, 4096) : context;
    }

    private void watchExecution() {
        Map<Integer, Set<String>> released = new HashMap<>();
        for (int i = 0; i < world.nodes().size(); i++) {
            int index = i;
            released.put(i, new HashSet<>());
            node(i).redis().listener((name, command, reply) -> {
                String token = command.substring(command.length() - 20);
                if (command.startsWith("release")) {
                    released.get(index).add(token);
                } else if (released.get(index).contains(token) && !command.startsWith("raise")) {
                    violations.add("node " + index + " executed after the release of its token: "
                            + command.substring(0, command.length() - 21));
                }
            });
        }
    }

    private void noTwoHolders() {
        for (int i = 0; i < RESOURCES; i++) {
            String resource = "r" + i;
            long holders = handles.stream()
                    .filter(handle -> handle.lease.isHeld() && resource.equals(handle.lease.resource()))
                    .count();
            if (holders > 1) {
                violations.add(holders + " holders of " + resource);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void everyCallCompletesOnce(int seed) {
        random = new Random(seed);
        world = new VirtualWorld(1 + random.nextInt(5));
        if (random.nextInt(3) == 0) {
            eachNode(node -> node.redis().kind(FakeRedis.Kind.values()[random.nextInt(4)]));
        }
        client = client(randomContext());
        for (int i = 0; i < 12; i++) {
            handles.add(new Handle());
        }
        watchExecution();
        world.observer(this::noTwoHolders);
        for (int step = 0; step < 100; step++) {
            actionsLeft = 40;
            for (int i = random.nextInt(4); i > 0; i--) {
                if (random.nextBoolean()) {
                    client.engine().execute(this::act);
                } else {
                    act();
                }
            }
            if (random.nextInt(3) == 0) {
                fault();
            }
            world.runMs(random.nextInt(25));
        }
        actionsLeft = 0;
        eachNode(node -> {
            node.redis().clearErrors();
            node.resume();
            if (!node.isUp()) {
                node.restart(true);
            }
        });
        world.runMs(20_000);
        for (Handle handle : handles) {
            assertEquals(0, handle.acquires, () -> "acquisitions without an outcome: " + handle.lease);
            assertEquals(0, handle.releases, () -> "releases without an outcome: " + handle.lease);
            assertEquals(0, handle.extensions, () -> "extensions without an outcome: " + handle.lease);
        }
        assertEquals(List.of(), violations);
        assertEquals(0, client.engine().heldCount(), "leases that stay held");
        assertEquals(0, client.engine().claimsOut(), "claims that never return to their pool");
        assertTrue(handles.stream().noneMatch(handle -> handle.lease.state() == LeaseState.ACQUIRING));
    }
}
