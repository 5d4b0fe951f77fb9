package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.spec.Rejected;
import dev.redlock.spec.Rule;
import dev.redlock.spec.Step;
import dev.redlock.spec.StepChecker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * The histories that {@code limits.als} and {@code fresh.als} find without an assumption, with the real client: they
 * end with two holders. The step relation rejects the step that breaks the assumption. Without the assumption it
 * accepts all steps but the one that makes the second holder.
 */
class LimitsReplayTest {
    private static final int X = 0;
    private static final int Y = 1;
    private static final int Z = 2;
    private static final Duration TTL = Duration.ofSeconds(10);

    private final List<Step> steps = new ArrayList<>();
    private VirtualWorld world;
    private StepTrace trace;
    private VirtualWorld.Client a;
    private VirtualWorld.Client b;

    @AfterEach
    void end() {
        world.end();
    }

    private void world() {
        world = new VirtualWorld(3);
        trace = new StepTrace(world, steps::add);
        a = client("a");
        b = client("b");
        world.runMs(100);
    }

    private VirtualWorld.Client client(String name, int... nodes) {
        int[] all = nodes.length == 0 ? new int[]{X, Y, Z} : nodes;
        List<String> addresses = new ArrayList<>();
        List<String> names = new ArrayList<>();
        for (int node : all) {
            addresses.add(world.addresses()[node]);
            names.add("n" + node);
        }
        VirtualWorld.Client client = world.newClient(name,
                new RedlockContext().nodes(addresses.toArray(new String[0])), name.hashCode());
        trace.addClient(client, 2, 1_000, names, String.join(",", names));
        return client;
    }

    private void cutOff(int node, VirtualWorld.Client client) {
        world.node(node).cutOff(client::isNamed);
    }

    private CompletableFuture<AcquireOutcome> acquire(VirtualWorld.Client client) {
        CompletableFuture<AcquireOutcome> outcome = client.redlock()
                .acquireAsync("orders", AcquireOptions.ofTtl(TTL).tryOnce())
                .toCompletableFuture();
        world.runMs(5);
        return outcome;
    }

    private static Lease lease(CompletableFuture<AcquireOutcome> outcome) {
        assertTrue(outcome.isDone());
        assertTrue(outcome.join().isAcquired(), () -> outcome.join().toString());
        return outcome.join().lease();
    }

    private Rejected rejected(Set<Rule> off) {
        StepChecker checker = new StepChecker(off);
        try {
            steps.forEach(checker::accept);
            return null;
        } catch (Rejected e) {
            return e;
        }
    }

    /** Two hold the lock, by the client and by the steps. */
    private void assertTwoHolders(Lease first, Lease second, Rule assumption, Rule rejectedBy) {
        assertTrue(first.isHeld(), first::toString);
        assertTrue(second.isHeld(), second::toString);
        assertEquals(rejectedBy, rejected(Set.of()).rule());
        Rejected last = rejected(Set.of(assumption));
        assertNotNull(last);
        assertEquals(Rule.Exclusion, last.rule(), last::getMessage);
        assertEquals("win", last.step().name());
    }

    @Test
    void withoutKeysOutliveTwoHoldTheLock() {
        world();
        cutOff(Z, a);
        Lease first = lease(acquire(a));
        world.node(X).redis().clockJump(TTL.toMillis() + 1);
        world.node(Y).redis().clockJump(TTL.toMillis() / 2);
        cutOff(Y, b);
        Lease second = lease(acquire(b));
        assertTwoHolders(first, second, Rule.KeysOutlive, Rule.KeysOutlive);
    }

    /** The application of A has looked at its lease before the pause, and does not look again. */
    @Test
    void withoutHoldersStopTwoUseTheResource() {
        world();
        Lease first = lease(acquire(a));
        boolean isActing = first.isHeld();
        a.pause();
        world.runMs(TTL.toMillis() + 100);
        Lease second = lease(acquire(b));
        a.resume();
        assertTrue(isActing && second.isHeld());
        assertFalse(first.isHeld(), "its lease says so");
        world.runMs(5);
        assertEquals(null, rejected(Set.of()), "the clients follow the specification");
    }

    @Test
    void withoutKeysKeptTwoHoldTheLock() {
        world();
        cutOff(Z, a);
        Lease first = lease(acquire(a));
        trace.onDeleted(Y, "orders");
        world.node(Y).redis().delete("orders");
        cutOff(X, b);
        Lease second = lease(acquire(b));
        assertTrue(first.isHeld() && second.isHeld());
        assertEquals(Rule.KeysKept, rejected(Set.of()).rule());
        assertEquals(null, rejected(Set.of(Rule.KeysKept)));
    }

    /** A new client meets a node that reports the uptime of an old process. */
    @Test
    void withoutRestartsSeenTwoHoldTheLock() {
        world();
        cutOff(Z, a);
        Lease first = lease(acquire(a));
        world.node(X).crash();
        world.node(X).restart(false);
        world.node(X).redis().uptime(86_400);
        cutOff(X, a);
        VirtualWorld.Client c = client("c");
        world.runMs(50);
        cutOff(Y, c);
        Lease second = lease(acquire(c));
        assertTwoHolders(first, second, Rule.RestartsSeen, Rule.GuardAttempts);
    }

    /** All nodes restart without keys, and a new client takes them for new ones. */
    @Test
    void withoutFewLostTwoHoldTheLock() {
        world = new VirtualWorld(3);
        trace = new StepTrace(world, steps::add);
        trace.fresh();
        a = client("a");
        world.runMs(100);
        Lease first = lease(acquire(a));
        for (FakeNode node : world.nodes()) {
            node.crash();
            node.restart(false);
            node.cutOff(a::isNamed);
        }
        VirtualWorld.Client c = client("c");
        world.runMs(100);
        Lease second = lease(acquire(c));
        assertTrue(first.isHeld() && second.isHeld());
        assertEquals(Rule.FewLost, rejected(Set.of()).rule());
        assertEquals(null, rejected(Set.of(Rule.FewLost)));
    }

    /** A proxy keeps the command to a process for the next one. */
    @Test
    void withoutOneProcessTwoHoldTheLock() {
        world();
        cutOff(Z, a);
        cutOff(X, b);
        world.node(Y).holdBack(a::isNamed);
        CompletableFuture<AcquireOutcome> waiting = acquire(a);
        Lease first = lease(acquire(b));
        world.node(Y).replaceProcess();
        world.node(Y).letThrough();
        world.runMs(5);
        assertTwoHolders(first, lease(waiting), Rule.OneProcess, Rule.Sent);
    }

    @Test
    void withoutListsOverlapTwoHoldTheLock() {
        world = new VirtualWorld(4);
        trace = new StepTrace(world, steps::add);
        a = client("a", 0, 1, 2);
        b = client("b", 1, 2, 3);
        world.runMs(100);
        cutOff(2, a);
        cutOff(1, b);
        Lease first = lease(acquire(a));
        Lease second = lease(acquire(b));
        assertTwoHolders(first, second, Rule.ListsOverlap, Rule.ListsOverlap);
    }
}
