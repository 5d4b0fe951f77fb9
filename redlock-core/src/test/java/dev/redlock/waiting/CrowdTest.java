package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.resp.RespValue;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Many clients wait for one lock, in the queue at its coordinator: one of them is woken, and in which order. */
class CrowdTest extends WokenTest {

    private static final String QUEUE = "orders:redlock:fence:{orders}:queue";
    /** Each client has entered, and the head and the deputy are registered. */
    private static final long SETTLED_MS = 150;

    private static final String NO_DISK = "MISCONF Redis is configured to save RDB snapshots";
    private static final String NO_MEMORY = "OOM command not allowed when used memory > 'maxmemory'.";
    private static final String NO_REPLICAS = "NOREPLICAS Not enough good replicas to write.";

    private final List<VirtualWorld.Client> clients = new ArrayList<>();
    private final List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
    /** Clients that take the lock again and again, and how often they had it. */
    private boolean isLocking = true;
    private int servedCount;

    /** A lock that is held, and clients that wait for it, one after another. */
    private Lease crowd(int count) {
        return crowd(3, count);
    }

    private Lease crowd(int nodeCount, int count) {
        VirtualWorld.Client owner = slowWorld(nodeCount);
        Lease holder = lease(owner);
        addWaiters(count);
        return holder;
    }

    private void addWaiters(int count) {
        for (int i = 0; i < count; i++) {
            VirtualWorld.Client client = client();
            clients.add(client);
            waiting.add(waiter(client));
            world.runMs(2);
        }
        world.runMs(SETTLED_MS);
    }

    private Lease next(int index, long msMax) {
        world.await("the lock of client " + index, msMax, () -> waiting.get(index).isDone());
        return acquired(waiting.get(index).join());
    }

    private FakeNode queueNode() {
        return world.nodes()
                .stream()
                .filter(node -> length(node) > 0)
                .findFirst()
                .orElseThrow(() -> new AssertionError("no node has a queue"));
    }

    private static int length(FakeNode node) {
        return node.redis().entryCount(QUEUE);
    }

    private int queued() {
        return world.nodes().stream().mapToInt(CrowdTest::length).sum();
    }

    // ---- order and cost ---------------------------------------------------------------------------------------------

    @ParameterizedTest
    @CsvSource({"3, 1", "3, 2", "3, 3", "3, 8", "3, 30", "1, 1", "1, 2", "1, 8", "5, 8"})
    void theyGetTheLockInTheOrderOfTheirArrival(int nodeCount, int count) {
        Lease holder = crowd(nodeCount, count);
        assertEquals(count, queued(), "each client has one entry");
        holder.releaseAsync();
        for (int i = 0; i < count; i++) {
            Lease lease = next(i, 5);
            for (int later = i + 1; later < count; later++) {
                assertFalse(waiting.get(later).isDone(), "client " + later + " was before client " + i);
            }
            lease.releaseAsync();
        }
        world.runMs(SETTLED_MS);
        assertEquals(0, queued(), "each entry has ended");
    }

    /** All others would ask in vain: the cost of a crowd. */
    @Test
    void aReleaseWakesOneClient() {
        Lease holder = crowd(20);
        holder.releaseAsync();
        Lease first = next(0, 5);
        world.runMs(SETTLED_MS);
        int before = attempts();
        first.releaseAsync();
        next(1, 5);
        assertEquals(1, attempts() - before, "the head alone asks");
        world.runMs(SETTLED_MS);
        assertEquals(1, attempts() - before, "nobody asks because of the release");
    }

    /** The message to a deputy changes what it watches, and wakes nobody. */
    @Test
    void theNextHeadCountsAsWokenAndItsDeputyDoesNot() {
        Lease holder = crowd(4);
        holder.releaseAsync();
        next(0, 5);
        world.runMs(SETTLED_MS);
        assertEquals(List.of(1L, 0L, 0L),
                clients.stream().skip(1).map(client -> client.redlock().counters().wokenCount()).toList());
    }

    @Test
    void aLockThatNobodyWaitsForHasNoQueue() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        for (int i = 0; i < 20; i++) {
            release(lease(i % 2 == 0 ? client : other));
            world.runMs(20);
        }
        assertEquals(0, attempts(), "no script of an acquire was used");
        assertEquals(0, queued());
    }

    /** One place serves all waiters of a client, and is passed on when its turn is over. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void aClientWithManyWaitersTakesTurnsWithTheOthers(int nodeCount) {
        VirtualWorld.Client owner = slowWorld(nodeCount);
        Lease holder = lease(owner);
        VirtualWorld.Client many = client(context().localHandoffsMax(4));
        List<CompletableFuture<AcquireOutcome>> own = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            own.add(waiter(many));
        }
        world.runMs(5);
        addWaiters(3);
        assertEquals(4, queued(), "each client has one entry");
        List<String> order = new ArrayList<>();
        own.forEach(each -> each.thenAccept(outcome -> hold(order, "many", outcome)));
        for (int i = 0; i < 3; i++) {
            String name = "single" + i;
            waiting.get(i).thenAccept(outcome -> hold(order, name, outcome));
        }
        holder.releaseAsync();
        world.await("all of them", 2_000, () -> order.size() == 43);
        assertTrue(order.indexOf("single2") < 30, () -> "the single waiters come early: " + order);
        assertTrue(order.indexOf("single0") < order.indexOf("single1"), () -> "in their order: " + order);
        assertTrue(order.indexOf("single1") < order.indexOf("single2"), () -> "in their order: " + order);
    }

    private void hold(List<String> order, String name, AcquireOutcome outcome) {
        order.add(name);
        world.after(1_000_000, outcome.lease()::releaseAsync);
    }

    // ---- clients that end, hang, or give up -------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5, 12})
    void clientsWithoutAConnectionArePassed(int dead) {
        Lease holder = crowd(dead + 1);
        for (int i = 0; i < dead; i++) {
            clients.get(i).kill();
        }
        world.runMs(1);
        holder.releaseAsync();
        next(dead, 400L * Math.max(1, dead - 1) + 200);
    }

    /** The first grant after their end drops all of them. */
    @Test
    void aGrantPassesClientsWithoutAConnection() {
        Lease holder = crowd(9);
        for (int i = 1; i < 8; i++) {
            clients.get(i).kill();
        }
        world.runMs(1);
        holder.releaseAsync();
        Lease first = next(0, 5);
        world.runMs(SETTLED_MS);
        assertHandoff(first, waiting.get(8), WOKEN_US);
    }

    @Test
    void aHeadThatHangsIsPassedWithin200Ms() {
        Lease holder = crowd(3);
        clients.get(0).pause();
        world.runMs(SETTLED_MS);
        holder.releaseAsync();
        next(1, 200);
        clients.get(0).resume();
    }

    /** Whenever its own looks are due: the push of the release starts the look of the deputy. */
    @ParameterizedTest
    @ValueSource(longs = {0, 50, 100, 150, 200, 250, 300})
    void aHeadThatHungBeforeTheReleaseIsPassedWithin110Ms(long afterMs) {
        Lease holder = crowd(3);
        clients.get(0).pause();
        world.runMs(afterMs);
        holder.releaseAsync();
        next(1, 110);
        clients.get(0).resume();
    }

    /** The message that makes it the head was sent while it hung. */
    @Test
    void aHeadThatHangsFromTheGrantOnIsPassedWithin200Ms() {
        Lease holder = crowd(4);
        clients.get(1).pause();
        holder.releaseAsync();
        next(0, 5).releaseAsync();
        next(2, 200);
        clients.get(1).resume();
    }

    @Test
    void aHeadAndADeputyThatHangArePassed() {
        Lease holder = crowd(4);
        clients.get(0).pause();
        clients.get(1).pause();
        holder.releaseAsync();
        next(2, 1_000);
        clients.get(0).resume();
        clients.get(1).resume();
    }

    /** Clients that hang one after another: the first one that lives looks, and then drops them one by one. */
    @ParameterizedTest
    @CsvSource({"4, 900", "8, 1800", "16, 3400"})
    void aRunOfClientsThatHangIsPassed(int hanging, long msMax) {
        Lease holder = crowd(hanging + 1);
        clients.subList(0, hanging).forEach(VirtualWorld.Client::pause);
        world.runMs(1_000);
        holder.releaseAsync();
        next(hanging, msMax);
        clients.subList(0, hanging).forEach(VirtualWorld.Client::resume);
    }

    /** A client that continues gets its turn: it is dropped, not forgotten. */
    @Test
    void aClientThatHungEntersAgain() {
        Lease holder = crowd(3);
        clients.get(0).pause();
        world.runMs(SETTLED_MS);
        holder.releaseAsync();
        Lease second = next(1, 200);
        clients.get(0).resume();
        world.runMs(1_000);
        assertHandoff(second, waiting.get(0), WOKEN_US);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void aWaiterThatGivesUpLeaves(int index) {
        Lease holder = crowd(4);
        assertTrue(waiting.get(index).cancel(false));
        world.runMs(2);
        assertEquals(3, queued(), "its entry has ended");
        holder.releaseAsync();
        for (int i = 0; i < 4; i++) {
            if (i != index) {
                next(i, 5).releaseAsync();
            }
        }
    }

    @Test
    void aClientWithOtherWaitersKeepsItsPlace() {
        Lease holder = crowd(2);
        CompletableFuture<AcquireOutcome> second = waiter(clients.get(0));
        world.runMs(2);
        assertTrue(waiting.get(0).cancel(false));
        world.runMs(2);
        assertEquals(2, queued());
        holder.releaseAsync();
        world.await("the second waiter", 5, second::isDone);
        acquired(second.join()).releaseAsync();
        next(1, 5);
    }

    /** The refusal that gives it the place finds nobody who waits. */
    @Test
    void aWaiterThatGivesUpBeforeItsFirstAnswerLeaves() {
        Lease holder = lease(slowWorld(3));
        for (int i = 0; i < 5; i++) {
            VirtualWorld.Client client = client();
            int before = inOrder();
            CompletableFuture<AcquireOutcome> theirs = waiter(client);
            world.await("the attempt", 5, () -> inOrder() > before);
            theirs.cancel(false);
        }
        world.runMs(10);
        assertEquals(0, queued());
        addWaiters(1);
        assertHandoff(holder, waiting.get(0), WOKEN_US);
    }

    /** The others have refused it, and its budget is over, before the coordinator answers. */
    @Test
    void aPlaceThatComesLateIsLeft() {
        lease(slowWorld(3));
        VirtualWorld.Client client = client();
        CompletableFuture<AcquireOutcome> first = waiter(client);
        world.runMs(20);
        FakeNode coordinator = queueNode();
        first.cancel(false);
        world.runMs(20);
        coordinator.delay(() -> 5_000_000);
        CompletableFuture<AcquireOutcome> late = acquireAsync(client, options().waitUpTo(Duration.ofMillis(12)));
        world.await("the end of the wait", 100, late::isDone);
        world.runMs(100);
        assertEquals(0, queued());
    }

    /** The node could not remove its entry. The client answers the message to the deputy, so the next one gets it. */
    @Test
    void anEntryThatHasStayedEndsWithItsMessage() {
        Lease holder = crowd(4);
        queueNode().redis().failNext("leave_queue", "OOM command not allowed", 1);
        assertTrue(waiting.get(1).cancel(false));
        world.runMs(2);
        assertEquals(4, queued(), "precondition: its entry has stayed");
        holder.releaseAsync();
        Lease first = next(0, 5);
        world.runMs(5);
        assertEquals(2, queued());
        assertHandoff(first, waiting.get(2), WOKEN_US);
    }

    private int inOrder() {
        return world.nodes().stream().mapToInt(node -> node.redis().commandCount("acquire_in_order")).sum();
    }

    /** A look must not take a place of an attempt, and keep it. */
    @Test
    void aWaiterThatGetsAPlaceOfAnAttemptMakesOne() {
        slowWorld(3);
        VirtualWorld.Client busy = client(context().inFlightMax(1));
        Lease held = lease(busy);
        addWaiters(1);
        CompletableFuture<AcquireOutcome> behind = waiter(busy);
        world.runMs(30);
        busy.call(() -> {
            for (int i = 0; i < 10; i++) {
                busy.redlock().acquireAsync("invoices" + i, options().waitUpTo(WAIT));
            }
        });
        busy.call(held::releaseAsync);
        world.await("one of them", 20, () -> waiting.get(0).isDone() || behind.isDone());
        world.runMs(1_000);
        acquired(get(busy.redlock().acquireAsync("stock", options().waitUpTo(Duration.ofMillis(100)))));
    }

    /** The place and a message come in one turn of the client. */
    @Test
    void aMessageDoesNotStopAnAttemptThatHasItsPlace() {
        Lease holder = crowd(1);
        FakeNode coordinator = queueNode();
        VirtualWorld.Client busy = client(context().inFlightMax(1));
        CompletableFuture<AcquireOutcome> second = waiter(busy);
        world.runMs(SETTLED_MS);
        String[] channel = new String[1];
        coordinator.redis().publisher((to, payload) -> {
            channel[0] = to;
            return coordinator.redis().publish(to, payload);
        });
        holder.releaseAsync();
        Lease first = next(0, 5);
        world.runMs(SETTLED_MS);
        // Its replies are the last ones.
        coordinator.delay(() -> LINK_NS + 10_000);
        first.releaseAsync();
        world.runUntilNs(world.nowNs() + 50_000);
        CompletableFuture<AcquireOutcome> other = busy.redlock()
                .acquireAsync("invoices", options())
                .toCompletableFuture();
        // The push has woken the waiter, and the other attempt has the only place.
        world.runUntilNs(world.nowNs() + 190_000);
        assertFalse(other.isDone() || second.isDone(), "precondition");
        busy.pause();
        coordinator.redis().publish(channel[0], "dorders");
        world.runMs(1);
        busy.resume();
        world.await("the lock", 20, second::isDone);
        acquired(second.join());
    }

    @Test
    void aClosedClientLeaves() {
        Lease holder = crowd(3);
        clients.get(0).call(clients.get(0).redlock()::close);
        world.runMs(50);
        holder.releaseAsync();
        next(1, 5);
    }

    /** A check drops it before it can answer. Its next attempt shows that it lives: it gets more time. */
    @ParameterizedTest
    @CsvSource({"25, 1", "40, 1", "80, 1", "80, 3", "125, 1", "125, 3"})
    void aFarClientGetsTheLockBesideNearOnes(long msEachWay, int nearCount) {
        slowWorld(3);
        VirtualWorld.Client far = farClient(msEachWay);
        for (int i = 0; i < nearCount; i++) {
            keepLocking(client(context().nodeTimeout(Duration.ofSeconds(1))));
        }
        world.runMs(100);
        for (int i = 0; i < 20; i++) {
            CompletableFuture<AcquireOutcome> theirs = acquireAsync(far, options().waitUpTo(WAIT));
            world.await("lock " + i + " of the far client", 5_000, theirs::isDone);
            acquired(theirs.join()).releaseAsync();
            world.runMs(500);
        }
        assertTrue(servedCount > 1_000, servedCount + " locks of the near clients");
        isLocking = false;
        world.runMs(1_000);
    }

    /** A client that is slower still costs the others the longer time once in 10 s. */
    @Test
    void aClientThatIsSlowerThanThatHardlyDelaysTheOthers() {
        slowWorld(3);
        VirtualWorld.Client far = farClient(300);
        keepLocking(client(context().nodeTimeout(Duration.ofSeconds(1))));
        world.runMs(100);
        CompletableFuture<AcquireOutcome> theirs = acquireAsync(far, options().waitUpTo(Duration.ofSeconds(30)));
        int slowSeconds = 0;
        for (int second = 0; second < 20; second++) {
            int before = servedCount;
            world.runMs(1_000);
            slowSeconds += servedCount - before < 30 ? 1 : 0;
        }
        assertTrue(slowSeconds <= 2, slowSeconds + " seconds with few locks");
        isLocking = false;
        world.await("the end", 60_000, theirs::isDone);
        world.runMs(1_000);
    }

    private VirtualWorld.Client farClient(long msEachWay) {
        VirtualWorld.Client far = client(context().nodeTimeout(Duration.ofSeconds(1)));
        world.runMs(1_200);
        // No two ways take equally long: an entry that a client sets again has another time.
        SplittableRandom random = new SplittableRandom(msEachWay);
        eachNode(node -> node.delay(far::isNamed, () -> msEachWay * 1_000_000 + random.nextLong(1_000_000)));
        world.runMs(3_000);
        return far;
    }

    private void keepLocking(VirtualWorld.Client client) {
        keepLocking(client, options());
    }

    private void keepLocking(VirtualWorld.Client client, AcquireOptions options) {
        if (!isLocking) {
            return;
        }
        acquireAsync(client, options.waitUpTo(WAIT)).thenAccept(outcome -> world.after(5_000_000, () -> {
            if (outcome.isAcquired()) {
                servedCount++;
                outcome.lease().releaseAsync();
            }
            keepLocking(client, options);
        }));
    }

    // ---- nodes ------------------------------------------------------------------------------------------------------

    /** The time that each has waited is part of its entry, so another node gives the same order. */
    @Test
    void theNextCoordinatorKeepsTheOrder() {
        Lease holder = crowd(6);
        FakeNode coordinator = queueNode();
        coordinator.crash();
        world.runMs(300);
        assertEquals(6, queued() - length(coordinator), "all have entered at the next node");
        holder.releaseAsync();
        for (int i = 0; i < 6; i++) {
            next(i, 5).releaseAsync();
        }
    }

    /** They meet again at the first node: callers that come now ask there. */
    @Test
    void theyReturnToACoordinatorThatComesBack() {
        Lease holder = crowd(6);
        FakeNode coordinator = queueNode();
        coordinator.breakConnections();
        coordinator.pause();
        world.runMs(300);
        coordinator.resume();
        world.await("the first node", 10_000, () -> length(coordinator) > 0);
        world.await("the others", 200, () -> length(coordinator) == 6);
        world.runMs(SETTLED_MS);
        assertEquals(6, queued(), "each client has one entry");
        holder.releaseAsync();
        for (int i = 0; i < 6; i++) {
            next(i, 30).releaseAsync();
        }
    }

    /** It answers nothing, and its connections stay: attempts and looks without an answer ask the other nodes. */
    @Test
    void aCoordinatorThatHangsDelaysEachOfThemOnce() {
        Lease holder = crowd(8);
        FakeNode coordinator = queueNode();
        world.runMs(300);
        coordinator.pause();
        world.runMs(20);
        holder.releaseAsync();
        for (int i = 0; i < 8; i++) {
            int before = i;
            world.await("one of them", 600, () -> done() > before);
            releaseAll();
        }
        coordinator.resume();
    }

    private long done() {
        return waiting.stream().filter(CompletableFuture::isDone).count();
    }

    private void releaseAll() {
        waiting.stream()
                .filter(CompletableFuture::isDone)
                .map(each -> each.join().lease())
                .filter(Lease::isHeld)
                .forEach(Lease::releaseAsync);
    }

    /** The coordinator has lost the key, so it grants each of them, and the others refuse: all come back. */
    @Test
    void aCoordinatorThatHasLostTheKeyCostsEachOfThemOneAttempt() {
        Lease holder = crowd(10);
        FakeNode coordinator = queueNode();
        int before = attempts();
        coordinator.redis().delete("orders");
        world.runMs(1_000);
        assertTrue(attempts() - before <= 12, () -> (attempts() - before) + " attempts");
        holder.releaseAsync();
        for (int i = 0; i < 10; i++) {
            int served = i;
            world.await("one of them", 50, () -> done() > served);
            releaseAll();
        }
    }

    /** The key of the lock is left at the coordinator, where no push comes: the others tell the head. */
    @Test
    void aLockThatTheOtherNodesLackIsFree() {
        crowd(0);
        VirtualWorld.Client client = client();
        CompletableFuture<AcquireOutcome> head = waiter(client);
        world.runMs(10);
        FakeNode coordinator = queueNode();
        eachNode(node -> node.redis().delete(node == coordinator ? "" : "orders"));
        world.await("the lock", 60, head::isDone);
        acquired(head.join());
    }

    /** It has refused the client long ago, and has answered since that the key is gone. */
    @Test
    void aHeadBelievesTheLastAnswerOfANode() {
        Lease holder = crowd(1);
        FakeNode coordinator = queueNode();
        VirtualWorld.Client client = client();
        world.runMs(20);
        List<FakeNode> others = world.nodes().stream().filter(node -> node != coordinator).toList();
        coordinator.delay(() -> 3_000_000);
        others.get(1).delay(() -> 10_000_000);
        CompletableFuture<AcquireOutcome> second = waiter(client);
        world.runMs(SETTLED_MS);
        eachNode(node -> node.delay(() -> LINK_NS));
        assertEquals(2, queued());
        // Uses up the registrations at the other nodes.
        holder.extendAsync(TTL);
        world.runMs(SETTLED_MS);
        others.forEach(node -> node.redis().delete("orders"));
        waiting.get(0).cancel(false);
        world.await("the lock", 60, second::isDone);
        acquired(second.join());
    }

    /** The node rejects the registration from now on: the retry policy says when the head asks. */
    @Test
    void aHeadThatCannotRegisterAnyMoreFollowsItsRetryPolicy() {
        Lease holder = crowd(1, 0);
        VirtualWorld.Client client = client();
        CompletableFuture<AcquireOutcome> head = acquireAsync(client, options().waitUpTo(WAIT)
                .retryPolicy((attempts, reason, ttl, random) -> 200_000_000));
        world.runMs(SETTLED_MS);
        node(0).redis().failNext("CLIENT CACHING", "NOPERM no permissions", Integer.MAX_VALUE);
        holder.extendAsync(TTL);
        world.runMs(100);
        int before = inOrder() + attempts() + node(0).redis().commandCount("SET NX");
        world.runMs(1_000);
        int asked = inOrder() + attempts() + node(0).redis().commandCount("SET NX") - before;
        assertTrue(asked <= 10, asked + " attempts in a second");
        holder.releaseAsync();
        world.await("the lock", 250, head::isDone);
    }

    /** Both attempts ask in order before either of them registers. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void aHeadBeyondTheLimitOfRegistrationsFollowsItsRetryPolicy(int nodeCount) {
        VirtualWorld.Client owner = slowWorld(nodeCount);
        List<String> resources = IntStream.range(0, 8).mapToObj(i -> "orders" + i).toList();
        List<Lease> holders = resources.stream()
                .map(each -> acquired(get(owner.redlock().acquireAsync(each, options()))))
                .toList();
        VirtualWorld.Client client = client(context().wakeUpKeysMax(1));
        List<CompletableFuture<AcquireOutcome>> heads = new ArrayList<>();
        client.call(() -> resources.forEach(each -> heads.add(client.redlock()
                .acquireAsync(each, options().waitUpTo(WAIT)
                        .retryPolicy((attempts, reason, ttl, random) -> 200_000_000))
                .toCompletableFuture())));
        world.runMs(SETTLED_MS);
        int before = asked();
        world.runMs(1_000);
        int asked = (asked() - before) / nodeCount;
        assertTrue(asked <= 60, asked + " attempts of seven heads in a second");
        holders.forEach(Lease::releaseAsync);
        heads.forEach(head -> world.await("a lock", 250, head::isDone));
        heads.forEach(head -> acquired(head.join()));
    }

    /** The message that makes a client the head comes while it may not register. */
    @Test
    void aNewHeadBeyondTheLimitOfRegistrationsFollowsItsRetryPolicy() {
        VirtualWorld.Client owner = slowWorld(1);
        Lease holder = lease(owner);
        acquired(get(owner.redlock().acquireAsync("invoices", options())));
        addWaiters(2);
        VirtualWorld.Client client = client(context().wakeUpKeysMax(1));
        CompletableFuture<AcquireOutcome> late = acquireAsync(client, options().waitUpTo(WAIT)
                .retryPolicy((attempts, reason, ttl, random) -> 200_000_000));
        world.runMs(10);
        client.call(() -> client.redlock().acquireAsync("invoices", options().waitUpTo(WAIT)));
        world.runMs(SETTLED_MS);
        holder.releaseAsync();
        next(0, 5).releaseAsync();
        Lease last = next(1, 5);
        world.runMs(SETTLED_MS);
        int before = asked();
        world.runMs(1_000);
        int asked = asked() - before;
        assertTrue(asked <= 10, asked + " attempts in a second");
        last.releaseAsync();
        world.await("the lock", 250, late::isDone);
        acquired(late.join());
    }

    private int asked() {
        return inOrder() + attempts()
                + world.nodes().stream().mapToInt(node -> node.redis().commandCount("SET NX")).sum();
    }

    /** The first node in the order pushes nothing after a reconnect: the queue at another one ends for all. */
    @ParameterizedTest
    @ValueSource(ints = {100, 1_000, 10_000})
    void withoutACoordinatorEachWaiterIsWoken(int msLater) {
        Lease holder = crowd(6);
        FakeNode first = queueNode();
        first.redis().failNext("CLIENT TRACKING", "NOPERM no permissions", Integer.MAX_VALUE);
        first.breakConnections();
        first.pause();
        world.runMs(300);
        assertEquals(6, queued() - length(first), "precondition: they have entered at the next node");
        first.resume();
        world.runMs(msLater);
        eachNode(node -> node.redis().delete(QUEUE));
        waiting.subList(0, 5).forEach(waiter -> waiter.cancel(false));
        world.runMs(5);
        holder.releaseAsync();
        next(5, 50);
    }

    @Test
    void theyEnterAgainAfterAFlush() {
        Lease holder = crowd(6);
        eachNode(node -> node.redis().flushAll());
        next(0, 60);
        world.runMs(20);
        assertEquals(5, queued(), "those that are not served wait again");
        waiting.get(0).join().lease().releaseAsync();
        for (int i = 1; i < 6; i++) {
            next(i, 5).releaseAsync();
        }
        assertFalse(holder.isHeld());
    }

    /** Somebody deletes the key of the queue: a look finds that, and the waiters enter again. */
    @Test
    void aQueueThatIsLostIsBuiltAgain() {
        Lease holder = crowd(4);
        queueNode().redis().delete(QUEUE);
        world.runMs(1_500);
        assertTrue(queued() >= 3, "the deputy and the sleepers have entered again");
        holder.releaseAsync();
        for (int i = 0; i < 4; i++) {
            next(i, 1_500).releaseAsync();
        }
    }

    /** The queue expires after 60 s without an entry. */
    @Test
    void aLongLeaseKeepsTheQueue() {
        slowWorld(3);
        VirtualWorld.Client owner = client(context().maxTtl(Duration.ofSeconds(300)));
        Lease holder = acquired(acquire(owner, AcquireOptions.ofTtl(Duration.ofSeconds(300)).tryOnce()));
        for (int i = 0; i < 5; i++) {
            clients.add(client());
            waiting.add(acquireAsync(clients.get(i), options().waitUpTo(Duration.ofSeconds(250))));
            world.runMs(2);
        }
        world.runMs(150_000);
        assertEquals(5, queued());
        holder.releaseAsync();
        for (int i = 0; i < 5; i++) {
            next(i, 5).releaseAsync();
        }
    }

    /** The head alone extends the life of the queue, too. */
    @Test
    void aLoneHeadKeepsItsPlace() {
        slowWorld(3);
        VirtualWorld.Client owner = client(context().maxTtl(Duration.ofSeconds(300)));
        acquired(acquire(owner, AcquireOptions.ofTtl(Duration.ofSeconds(300)).tryOnce()));
        acquireAsync(client(), options().waitUpTo(Duration.ofSeconds(250)));
        for (int i = 0; i < 14; i++) {
            world.runMs(10_000);
            assertEquals(1, queued(), "after " + 10 * (i + 1) + " s");
        }
    }

    /** The lock is free without a push of a release: the head knows when. */
    @Test
    void theLockOfADeadHolderGoesToTheHead() {
        VirtualWorld.Client owner = slowWorld(3);
        acquired(acquire(owner, AcquireOptions.ofTtl(Duration.ofSeconds(2)).tryOnce()));
        addWaiters(4);
        owner.pause();
        next(0, 2_100);
        owner.resume();
    }

    /** The deputy is registered already when it becomes the head, and still needs the ttl. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void theLockOfADeadHolderGoesToADeputyThatHasBecomeTheHead(int nodeCount) {
        VirtualWorld.Client owner = slowWorld(nodeCount);
        eachNode(node -> node.redis().activeExpiry(() -> 10_000));
        acquired(acquire(owner, AcquireOptions.ofTtl(Duration.ofMillis(350)).tryOnce()));
        addWaiters(2);
        owner.pause();
        waiting.get(0).cancel(false);
        next(1, 205);
        owner.resume();
    }

    /** A key of another program is where the queue should be: the clients wait without an order. */
    @Test
    void aForeignKeyCostsTheOrderOnly() {
        VirtualWorld.Client owner = slowWorld(3);
        eachNode(node -> node.redis().set(QUEUE, "foreign", -1));
        Lease holder = lease(owner);
        addWaiters(5);
        holder.releaseAsync();
        for (int i = 0; i < 5; i++) {
            int before = i;
            world.await("one of them", 600, () -> done() == before + 1);
            releaseAll();
        }
    }

    // ---- coordinators that refuse writes ----------------------------------------------------------------------------

    /** No entry can end there: those that wait behind must not wait for the end of the key that is left there. */
    @Test
    void aCoordinatorThatRefusesWritesDelaysNobody() {
        Lease holder = crowd(4);
        queueNode().redis().refuseWrites(NO_DISK);
        holder.releaseAsync();
        next(0, 50).releaseAsync();
        for (int i = 1; i < 4; i++) {
            next(i, 1_000).releaseAsync();
        }
    }

    /** The next one is dead. */
    @Test
    void aCoordinatorThatRefusesWritesWakesTheNextOneThatLives() {
        Lease holder = crowd(5);
        queueNode().redis().refuseWrites(NO_DISK);
        clients.get(1).kill();
        clients.get(2).kill();
        holder.releaseAsync();
        next(0, 50).releaseAsync();
        next(3, 1_000).releaseAsync();
        next(4, 1_000).releaseAsync();
    }

    /** Its entry and that of another client have stayed, and the key of the lock stays, too. */
    @Test
    void aClientThatComesBackToACoordinatorThatRefusesWritesIsNotBehindOldEntries() {
        Lease holder = crowd(2);
        queueNode().redis().refuseWrites(NO_DISK);
        waiting.forEach(waiter -> waiter.cancel(false));
        world.runMs(SETTLED_MS);
        waiting.add(waiter(clients.get(1)));
        world.runMs(SETTLED_MS);
        holder.releaseAsync();
        next(2, 50);
    }

    /** The lock is free there: an error makes the attempt ask the others, and a refusal would end it. */
    @ParameterizedTest
    @ValueSource(strings = {NO_DISK, NO_MEMORY, NO_REPLICAS})
    void aCoordinatorWithoutTheKeyThatRefusesWritesIsNotAskedAgainAndAgain(String error) {
        Lease holder = crowd(2);
        queueNode().redis().delete("orders");
        queueNode().redis().refuseWrites(error);
        world.runMs(SETTLED_MS);
        int before = inOrder();
        addWaiters(1);
        world.runMs(1_000);
        int asked = inOrder() - before;
        assertTrue(asked <= 30, () -> asked + " attempts in a second");
        holder.releaseAsync();
        world.await("one of them", 1_000, () -> done() == 1);
    }

    /** An entry of a client that may add entries stays, and no later client may drop or follow it. */
    @Test
    void aClientThatMayNotEnterTheQueuePassesADeadHead() {
        Lease holder = crowd(1);
        clients.get(0).kill();
        world.runMs(1);
        eachNode(node -> node.redis().denyQueue());
        addWaiters(1);
        int before = inOrder();
        holder.releaseAsync();
        next(1, 1_000);
        int asked = inOrder() - before;
        assertTrue(asked <= 20, () -> asked + " attempts");
    }

    /** A node that is wrong refuses again and again, with the first place or an unknown one. */
    @ParameterizedTest
    @CsvSource({"1, 300", "1048575, 35"})
    void aCoordinatorThatRefusesAFreeLockIsDoubted(int place, long msMax) {
        crowd(1);
        FakeNode coordinator = queueNode();
        waiting.get(0).cancel(false);
        world.runMs(SETTLED_MS);
        coordinator.redis().answer("EVALSHA", RespValue.integer(-place));
        addWaiters(1);
        world.nodes().stream().filter(node -> node != coordinator).forEach(node -> node.redis().delete("orders"));
        next(1, msMax);
    }

    /** One waiter shows which node is the coordinator; then the lock is free again. */
    private FakeNode coordinatorAfterAWait(VirtualWorld.Client client) {
        Lease holder = lease(client);
        addWaiters(1);
        FakeNode coordinator = queueNode();
        holder.releaseAsync();
        next(0, 50).releaseAsync();
        world.runMs(SETTLED_MS);
        return coordinator;
    }

    /** Nobody learns from the queue that another client waits. */
    @ParameterizedTest
    @ValueSource(strings = {NO_DISK, NO_MEMORY, ""})
    void aClientWithManyWaitersGivesWayThoughNobodyCanEnterTheQueue(String error) {
        VirtualWorld.Client many = slowWorld(3);
        FakeNode coordinator = coordinatorAfterAWait(many);
        if (error.isEmpty()) {
            eachNode(node -> node.redis().denyQueue());
        } else {
            coordinator.redis().refuseWrites(error);
        }
        assertGivesWay(many, options());
    }

    /** The same for kinds of lock with a mark. One of the nodes is the coordinator. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void aClientWithManyWritersGivesWayThoughNobodyCanLeaveAMark(int node) {
        VirtualWorld.Client many = slowWorld(3);
        node(node).redis().refuseWrites(NO_MEMORY);
        assertGivesWay(many, options().forWriting());
    }

    /** A failure that has passed says nothing about the order: the client gives way to nobody. */
    @ParameterizedTest
    @ValueSource(strings = {NO_DISK, NO_MEMORY, NO_REPLICAS, "BUSY a script runs"})
    void aCommandThatOnceFailedDoesNotDelayTheWaitersOfOneClient(String error) {
        VirtualWorld.Client alone = slowWorld(3);
        FakeNode coordinator = coordinatorAfterAWait(alone);
        assertServesAsBefore(alone, options(), coordinator, error);
    }

    /** The same for kinds of lock with a mark. One of the nodes is the coordinator. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void aCommandThatOnceFailedDoesNotDelayTheWritersOfOneClient(int node) {
        VirtualWorld.Client alone = slowWorld(3);
        assertServesAsBefore(alone, options().forWriting(), node(node), NO_MEMORY);
    }

    /** A client that cannot ask for the length of the queue gives way, though each node grants. */
    @ParameterizedTest
    @ValueSource(strings = {"NOPERM no permission",
        "WRONGTYPE Operation against a key holding the wrong kind of value", "ERR unknown command"})
    void aClientThatCannotAskWhetherOthersWaitPauses(String error) {
        VirtualWorld.Client alone = slowWorld(3);
        keepLockingFourTimes(alone, options());
        int before = servedWithin5S();
        eachNode(node -> node.redis().failNext("ZCARD", error, Integer.MAX_VALUE));
        int after = servedWithin5S();
        isLocking = false;
        world.runMs(1_000);
        assertTrue(after < before - 50, () -> after + " locks in 5 s, and " + before + " without the error");
    }

    private void assertServesAsBefore(VirtualWorld.Client alone, AcquireOptions options, FakeNode failing,
            String error) {
        keepLockingFourTimes(alone, options);
        int before = servedWithin5S();
        failing.redis().refuseWrites(error);
        world.runMs(20);
        failing.redis().refuseWrites(null);
        int after = servedWithin5S();
        isLocking = false;
        world.runMs(1_000);
        assertTrue(after >= before - 5, () -> after + " locks in 5 s, and " + before + " before the failure");
    }

    private void keepLockingFourTimes(VirtualWorld.Client client, AcquireOptions options) {
        for (int i = 0; i < 4; i++) {
            keepLocking(client, options);
        }
        world.runMs(20);
    }

    private int servedWithin5S() {
        int before = servedCount;
        world.runMs(5_000);
        return servedCount - before;
    }

    private void assertGivesWay(VirtualWorld.Client many, AcquireOptions options) {
        keepLockingFourTimes(many, options);
        CompletableFuture<AcquireOutcome> theirs = acquireAsync(client(), options.waitUpTo(WAIT));
        world.await("a turn of another client", 1_000, theirs::isDone);
        isLocking = false;
        acquired(theirs.join()).releaseAsync();
        world.runMs(1_000);
    }

    // ---- without messages -------------------------------------------------------------------------------------------

    private Lease crowdWithoutTheChannel(int nodeCount, int count) {
        VirtualWorld.Client owner = slowWorld(nodeCount);
        eachNode(node -> node.redis().failNext("SUBSCRIBE", "NOPERM no permission", 100));
        Lease holder = lease(owner);
        addWaiters(count);
        return holder;
    }

    /** No message finds it dead: the next one checks. It asks a few times meanwhile, and not all the time. */
    @ParameterizedTest
    @CsvSource({"3, 2", "3, 3", "1, 2", "1, 8"})
    void withoutTheChannelAHeadThatIsDeadIsPassed(int nodeCount, int count) {
        Lease holder = crowdWithoutTheChannel(nodeCount, count);
        clients.get(0).kill();
        world.runMs(1);
        int before = inOrder();
        holder.releaseAsync();
        next(1, 150);
        int asked = inOrder() - before;
        assertTrue(asked <= 9 * (count - 1), asked + " attempts");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 8})
    void withoutTheChannelARunOfDeadClientsIsPassed(int dead) {
        Lease holder = crowdWithoutTheChannel(3, dead + 1);
        clients.subList(0, dead).forEach(VirtualWorld.Client::kill);
        world.runMs(1);
        holder.releaseAsync();
        next(dead, 150L * dead);
    }

    @Test
    void withoutTheChannelAHeadThatHangsIsPassedAndGetsItsTurnLater() {
        Lease holder = crowdWithoutTheChannel(3, 3);
        clients.get(0).pause();
        holder.releaseAsync();
        Lease second = next(1, 150);
        clients.get(0).resume();
        world.runMs(SETTLED_MS);
        assertFalse(waiting.get(2).isDone());
        second.releaseAsync();
        next(0, 5);
    }

    /** Its client lives, and has lost the connection on which the entry was to end. */
    @Test
    void withoutTheChannelAnEntryThatIsLeftIsPassed() {
        Lease holder = crowdWithoutTheChannel(3, 2);
        queueNode().breakConnections(clients.get(0)::isNamed);
        waiting.get(0).cancel(false);
        world.runMs(500);
        assertEquals(2, queued(), "precondition: its entry has stayed");
        holder.releaseAsync();
        next(1, 150);
    }

    /** The head leaves the free lock at the moment of the release. */
    @Test
    void withoutTheChannelTheOthersFollowAHeadThatLeaves() {
        Lease holder = crowdWithoutTheChannel(3, 3);
        eachNode(node -> node.delay(clients.get(0)::isNamed, () -> 5_000_000));
        holder.releaseAsync();
        world.runMs(2);
        waiting.get(0).cancel(false);
        next(1, 40).releaseAsync();
        next(2, 5);
    }

    /** A node that sends no messages: all are woken, and served in their order. */
    @Test
    void withoutTheChannelTheOrderIsKept() {
        Lease holder = crowdWithoutTheChannel(3, 5);
        assertEquals(5, queued());
        holder.releaseAsync();
        for (int i = 0; i < 5; i++) {
            int served = i;
            world.await("client " + i, 30, () -> {
                assertTrue(queued() >= 4 - served, "no grant ends the entry of another client");
                return waiting.get(served).isDone();
            });
            next(i, 0).releaseAsync();
        }
        assertEquals(0, queued());
    }
}
