package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * A node that does not know the script of releases executes a rollback after the next attempt. The keys of the rolled
 * back attempt refuse that one, and their deletion is a change by the client's own connection: no node pushes it.
 */
class OvertakenRollbackTest extends VirtualTest {

    private void waiterIsWoken(FakeRedis.Kind kind, List<String> resources) {
        for (int coordinator = 0; coordinator < 3; coordinator++) {
            world = new VirtualWorld(3);
            eachNode(node -> node.redis().kind(kind));
            VirtualWorld.Client client = client();
            eachNode(node -> node.delay(() -> LINK_NS));
            world.runMs(1_100);
            eachNode(node -> node.redis().flushScripts());
            for (int i = 0; i < 3; i++) {
                if (i != coordinator) {
                    node(i).redis().set("b", "foreign", 60_000);
                }
            }
            CompletableFuture<AcquireOutcome> waiting = client.redlock()
                    .acquireAllAsync(resources, options().waitUpTo(Duration.ofSeconds(10)))
                    .toCompletableFuture();
            world.runMs(5);
            eachNode(node -> {
                if ("foreign".equals(node.redis().get("b"))) {
                    node.redis().delete("b");
                }
            });
            world.runMs(5);
            assertTrue(waiting.isDone(), () -> kind + " " + resources + " are not acquired 5 ms after they are free");
            acquired(waiting.join());
            nothingIsLeft();
        }
        world = null;
    }

    @Test
    void aWaiterForASet() {
        waiterIsWoken(FakeRedis.Kind.REDIS_7, List.of("a", "b"));
        waiterIsWoken(FakeRedis.Kind.REDIS_8_4, List.of("a", "b"));
    }

    @Test
    void aWaiterForAPlainLock() {
        waiterIsWoken(FakeRedis.Kind.REDIS_7, List.of("b"));
        waiterIsWoken(FakeRedis.Kind.REDIS_8_4, List.of("b"));
    }

    /** The script that releases sets is not known before the first release. */
    @Test
    void aWaiterForOneResourceOfAReleasedSet() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client();
        eachNode(node -> node.delay(() -> LINK_NS));
        world.runMs(1_100);
        Lease set = acquired(get(client.redlock().acquireAllAsync(List.of("a", "b"), options())));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, "b");
        world.runMs(5);
        set.releaseAsync();
        world.runMs(5);
        assertTrue(waiting.isDone(), "b is not acquired 5 ms after it is free");
        acquired(waiting.join());
    }

    private CompletableFuture<AcquireOutcome> acquireAsync(VirtualWorld.Client client, String resource) {
        return client.redlock()
                .acquireAsync(resource, options().waitUpTo(Duration.ofSeconds(10)))
                .toCompletableFuture();
    }

    /**
     * One node grants what the others refuse, and gets each release twice. If a rollback woke its own waiter, the next
     * attempt would start at once, and so on.
     */
    @Test
    void lateRollbacksDoNotFollowEachOtherWithoutADelay() {
        for (int splitNode = 0; splitNode < 3; splitNode++) {
            world = new VirtualWorld(3);
            VirtualWorld.Client client = client();
            eachNode(node -> node.delay(() -> LINK_NS));
            world.runMs(1_100);
            FakeRedis split = node(splitNode).redis();
            eachNode(node -> node.redis().set("b", "foreign", 60_000));
            split.delete("b");
            split.listener((who, command, reply) -> split.flushScripts());
            split.flushScripts();
            CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, "b");
            world.runMs(5_000);
            assertTrue(client.redlock().counters().rolledBackCount() < 50,
                    () -> client.redlock().counters().rolledBackCount() + " attempts in 5 s");
            waiting.cancel(true);
            nothingIsLeft();
        }
        world = null;
    }
}
