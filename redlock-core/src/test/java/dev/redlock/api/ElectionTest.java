package dev.redlock.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Election;
import dev.redlock.Redlock;
import dev.redlock.TestClient;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Candidates join, lead, lose and join again, and each term has one end. */
class ElectionTest extends VirtualTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(TTL);

    private List<String> events = new ArrayList<>();
    private final List<Election.Term> terms = new ArrayList<>();
    /** Functions on threads of their own that have not returned. */
    private final AtomicInteger runningCount = new AtomicInteger();
    private final CountDownLatch unblocked = new CountDownLatch(1);

    @AfterEach
    void unblock() {
        unblocked.countDown();
    }

    private Election elect(VirtualWorld.Client client, String name) {
        return client.redlock().elect("orders", OPTIONS, term -> {
            assertTrue(term.isHeld(), "leads when it is called");
            terms.add(term);
            events.add(name + " leads");
            term.ended().thenAccept(how -> {
                assertFalse(term.isHeld(), "no leader during the notice of the end");
                events.add(name + " " + how);
            });
        });
    }

    private Election.Term last() {
        return terms.get(terms.size() - 1);
    }

    private void await(int eventCount) {
        world.await("event " + eventCount + " of " + events, 120_000, () -> events.size() >= eventCount);
    }

    /** An executor with a thread for each function. */
    private void executeOnThread(Runnable function) {
        runningCount.incrementAndGet();
        Thread thread = new Thread(() -> {
            try {
                function.run();
            } finally {
                runningCount.decrementAndGet();
            }
        }, "function");
        thread.setDaemon(true);
        thread.start();
    }

    private VirtualWorld.Client clientWithThreads() {
        world = new VirtualWorld(3);
        return client(context().callbackExecutor(this::executeOnThread));
    }

    /** Joins with a function of the first end that blocks, and waits until the candidate leads. */
    private Election electBlocking(VirtualWorld.Client client) {
        List<String> seen = new CopyOnWriteArrayList<>();
        Election election = client.redlock().elect("orders", OPTIONS, term -> {
            boolean isFirst = seen.isEmpty();
            term.ended().thenAccept(how -> {
                seen.add("end starts");
                if (isFirst) {
                    awaitUnblocked();
                }
                seen.add("end returns");
            });
            terms.add(term);
            seen.add("leads");
        });
        events = seen;
        awaitReal("it leads", () -> seen.size() == 1);
        return election;
    }

    private void awaitUnblocked() {
        try {
            unblocked.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Other threads take real time. */
    private void awaitReal(String what, BooleanSupplier condition) {
        Await.until(what, () -> {
            world.runMs(1);
            return condition.getAsBoolean();
        });
    }

    /** Closes a client as an application does, while this thread runs its event loop. */
    private void close(VirtualWorld.Client client) throws InterruptedException {
        BlockedCall<Void> closing = new BlockedCall<>(() -> {
            client.redlock().close();
            return null;
        });
        awaitReal("closed", closing::isDone);
        closing.result();
    }

    @Test
    void candidatesThatJoinWhileTheClientClosesAreToldTheEnd() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        List<CompletableFuture<LeaseState>> ends = new CopyOnWriteArrayList<>();
        client.redlock().elect("first", OPTIONS, first -> {
            ends.add(new CompletableFuture<>());
            first.ended().thenAccept(how -> {
                for (int i = 0; i < 16; i++) {
                    client.redlock()
                            .elect("later/" + i, OPTIONS,
                                    term -> ends.add(term.ended().toCompletableFuture()));
                }
                Await.until("all lead", () -> ends.size() == 17);
                ends.get(0).complete(how);
            });
        });
        world.await("the first one leads", 1_000, () -> ends.size() == 1);
        close(client);
        ends.forEach(end -> assertEquals(LeaseState.RELEASED, end.getNow(null)));
    }

    @Test
    void oneCandidateLeadsUntilItCloses() throws InterruptedException {
        VirtualWorld.Client one = world(3);
        VirtualWorld.Client two = client();
        Election first = elect(one, "one");
        assertEquals(List.of(), events, "never inside the call");
        await(1);
        Election second = elect(two, "two");
        world.runMs(60_000);
        assertEquals(List.of("one leads"), events, "extended automatically");
        BlockedCall<Void> closing = new BlockedCall<>(() -> {
            first.close();
            first.close();
            return null;
        });
        awaitReal("closed", closing::isDone);
        closing.result();
        await(3);
        assertEquals(List.of("one leads", "one RELEASED", "two leads"), events);
        assertTrue(terms.get(1).fencingToken() > terms.get(0).fencingToken(), "ordered by their tokens");
        world.runMs(10_000);
        assertEquals(3, events.size(), "a closed candidate does not join again");
        second.close();
        world.runMs(20);
        assertEquals(0, keyCount());
    }

    @Test
    void aLeaderThatLosesItsLockJoinsAgain() {
        VirtualWorld.Client client = world(3);
        elect(client, "one");
        await(1);
        eachNode(node -> node.redis().delete("orders"));
        await(3);
        assertEquals(List.of("one leads", "one LOST", "one leads"), events);
        assertNotSame(terms.get(0), terms.get(1));
        assertFalse(terms.get(0).isHeld());
        assertTrue(terms.get(1).isHeld());
        assertTrue(terms.get(1).fencingToken() > terms.get(0).fencingToken());
        assertEquals("LOST", terms.get(0).ended().toCompletableFuture().join().name(), "also for who asks late");
    }

    /** Otherwise the function that stops the work of the last term stops that of the next one. */
    @Test
    void theNextTermStartsAfterTheFunctionsOfTheLastEnd() {
        VirtualWorld.Client client = clientWithThreads();
        electBlocking(client);
        eachNode(node -> node.redis().delete("orders"));
        awaitReal("the function blocks", () -> events.size() >= 2 && runningCount.get() == 1);
        world.runMs(8_000);
        Await.until("no other function runs", () -> runningCount.get() == 1);
        assertEquals(List.of("leads", "end starts"), events);
        assertEquals(0, keyCount(), "it has not joined again");
        try (LogLines log = new LogLines()) {
            world.runMs(60_000);
            assertEquals(1, log.with(Level.WARNING, "the candidate for \"orders\" has not joined").size());
        }
        unblocked.countDown();
        awaitReal("it leads again", () -> events.size() == 4);
        assertEquals(List.of("end returns", "leads"), events.subList(2, 4));
    }

    @Test
    void aLeaderWithoutAQuorumEndsInTimeAndJoinsAgainWhenItIsBack() {
        VirtualWorld.Client client = world(3);
        elect(client, "one");
        await(1);
        node(0).cutOff(name -> true);
        node(1).cutOff(name -> true);
        node(0).breakConnections();
        node(1).breakConnections();
        world.runMs(TTL.toMillis());
        assertEquals(List.of("one leads", "one EXPIRED"), events);
        world.runMs(60_000);
        node(0).cutOff(name -> false);
        node(1).cutOff(name -> false);
        await(3);
        assertEquals("one leads", events.get(2));
    }

    @Test
    void aPausedLeaderIsNoneWhenItRunsAgain() {
        VirtualWorld.Client paused = world(3);
        VirtualWorld.Client other = client();
        elect(paused, "one");
        await(1);
        elect(other, "two");
        world.runMs(100);
        paused.pause();
        await(2);
        assertEquals(List.of("one leads", "two leads"), events);
        assertFalse(terms.get(0).isHeld(), "by its clock, before its loop has run");
        paused.resume();
        await(3);
        assertEquals("one EXPIRED", events.get(2));
        world.runMs(30_000);
        assertEquals(3, events.size());
        assertTrue(terms.get(1).isHeld() && terms.get(1).fencingToken() > terms.get(0).fencingToken());
    }

    @Test
    void theEndComesWithTheCloseOfTheClientToo() throws InterruptedException {
        VirtualWorld.Client leading = world(3);
        VirtualWorld.Client waiting = client();
        elect(leading, "one");
        await(1);
        elect(waiting, "two");
        world.runMs(100);
        close(waiting);
        close(leading);
        assertEquals(List.of("one leads", "one RELEASED"), events);
        assertEquals(0, keyCount(), "released");
        Refusal.ofState("\"orders\" gets no candidate: the client is closed, connect again",
                () -> elect(leading, "late"));
        world.runMs(2_000);
        assertEquals(2, events.size(), "a closed client has no candidates");
        assertEquals(1, TestClient.electionCount(leading.redlock()), "none is added");
    }

    @Test
    void aResignationLetsAnotherCandidateLeadAndJoinsAgain() {
        VirtualWorld.Client one = world(3);
        VirtualWorld.Client two = client();
        elect(one, "one");
        await(1);
        elect(two, "two");
        world.runMs(100);
        last().resign();
        terms.get(0).resign();
        await(3);
        assertEquals(List.of("one leads", "one RELEASED", "two leads"), events);
        // In virtual time: on the event loop, whatever else the threads of the JVM do.
        world.await("the first candidate waits again", 2_000, () -> one.redlock().counters().waitingCount() == 1);
        last().resign();
        await(5);
        assertEquals(List.of("two RELEASED", "one leads"), events.subList(3, 5));
    }

    /** What a function throws, at the start or the end of a term, neither keeps the lock nor ends the election. */
    @Test
    void functionsThatThrowEndTheirTermOnly() {
        VirtualWorld.Client client = world(3);
        List<String> logged = exceptionsLoggedBy(() -> {
            client.redlock().elect("orders", OPTIONS, term -> {
                events.add("elected");
                term.ended().thenAccept(how -> {
                    events.add("ended " + how);
                    throw new IllegalStateException("the end failed");
                });
                if (events.size() == 2) {
                    throw new IllegalStateException("the start failed");
                }
                if (events.size() < 2) {
                    throw new IllegalArgumentException("the first start failed");
                }
            });
            await(2);
            await(3);
        });
        assertEquals(List.of("elected", "ended RELEASED", "elected"), events);
        assertEquals(1, logged.size(), logged::toString);
        assertTrue(logged.get(0).contains("the first start failed"), logged.get(0));
    }

    @Test
    void functionsMayReEnter() {
        VirtualWorld.Client client = world(3);
        Election[] election = new Election[1];
        election[0] = client.redlock().elect("orders", OPTIONS, term -> {
            events.add("elected");
            term.ended().thenAccept(how -> {
                events.add("ended " + how);
                term.resign();
                election[0].close();
            });
            election[0].close();
        });
        await(2);
        world.runMs(5_000);
        assertEquals(List.of("elected", "ended RELEASED"), events);
        assertEquals(0, keyCount());
    }

    /** Starts to end the term on another thread, which then runs the function. */
    private BlockedCall<Void> whileTheFunctionBlocks(Runnable end) {
        BlockedCall<Void> call = call(end);
        Await.until("the function blocks", () -> events.size() == 2);
        return call;
    }

    private static BlockedCall<Void> call(Runnable task) {
        return new BlockedCall<>(() -> {
            task.run();
            return null;
        });
    }

    @Test
    void aCloseDuringAResignationLeavesTheReleaseToIt() throws InterruptedException {
        VirtualWorld.Client client = clientWithThreads();
        Election election = electBlocking(client);
        BlockedCall<Void> resignation = whileTheFunctionBlocks(last()::resign);
        call(election::close).result();
        election.close();
        world.runMs(100);
        assertEquals(3, keyCount(), "the function has not returned");
        unblocked.countDown();
        resignation.result();
        world.runMs(5_000);
        assertEquals(List.of("leads", "end starts", "end returns"), events);
        assertEquals(0, keyCount());
        assertEquals(0, TestClient.electionCount(client.redlock()));
    }

    /** The candidate joins again when both functions have returned. */
    @Test
    void aFunctionThatBlocksAfterAResignationIsLogged() throws InterruptedException {
        VirtualWorld.Client client = clientWithThreads();
        client.redlock().elect("orders", OPTIONS, term -> {
            terms.add(term);
            awaitUnblocked();
        });
        awaitReal("it leads", () -> terms.size() == 1);
        try (LogLines log = new LogLines()) {
            call(last()::resign).result();
            world.runMs(60_000);
            assertEquals(0, log.with("still held").size(), "no function has kept it");
            assertEquals(1, log.with(Level.WARNING, "the candidate for \"orders\" has not joined").size());
            unblocked.countDown();
            awaitReal("it leads again", () -> terms.size() == 2);
            eachNode(node -> node.redis().delete("orders"));
            awaitReal("it leads for the third time", () -> terms.size() == 3);
            world.runMs(60_000);
            assertEquals(1, log.with("has not joined").size(), "not for functions that return");
        }
    }

    /** Until it returns, no candidate of any client leads. */
    @ParameterizedTest
    @ValueSource(strings = {"resign", "close", "close the client"})
    void aFunctionThatKeepsTheLockOfAnEndedTermIsLogged(String end) throws InterruptedException {
        VirtualWorld.Client client = clientWithThreads();
        Election election = electBlocking(client);
        BlockedCall<Void> ending = whileTheFunctionBlocks(switch (end) {
            case "resign" -> last()::resign;
            case "close" -> election::close;
            default -> client.redlock()::close;
        });
        try (LogLines log = new LogLines()) {
            world.runMs(60_000);
            assertEquals(1, log.with(Level.WARNING, "\"orders\" has ended, and its lock is still held").size());
            assertEquals(3, keyCount());
        }
        unblocked.countDown();
        awaitReal("ended", ending::isDone);
        ending.result();
    }

    /** There is no lock that it could keep. */
    @Test
    void aFunctionThatOutlivesTheLockOfAnEndedTermKeepsItsCandidateOut() throws InterruptedException {
        VirtualWorld.Client client = clientWithThreads();
        electBlocking(client);
        BlockedCall<Void> resignation = whileTheFunctionBlocks(last()::resign);
        eachNode(node -> node.redis().delete("orders"));
        try (LogLines log = new LogLines()) {
            world.runMs(60_000);
            assertEquals(0, log.with("still held").size());
            assertEquals(1, log.with(Level.WARNING, "the candidate for \"orders\" has not joined").size());
        }
        unblocked.countDown();
        resignation.result();
        awaitReal("it leads again", () -> events.size() == 4);
    }

    @Test
    void aSecondCloseOfTheClientWaitsForTheFunctionsOfTheFirst() throws InterruptedException {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().closeTimeout(Duration.ofMinutes(10)));
        electBlocking(client);
        BlockedCall<Void> first = whileTheFunctionBlocks(client.redlock()::close);
        BlockedCall<Void> second = call(client.redlock()::close).awaitBlocked();
        client.redlock().close();
        world.runMs(100);
        assertEquals(3, keyCount(), "the function has not returned");
        unblocked.countDown();
        awaitReal("both return", () -> first.isDone() && second.isDone());
        assertEquals(0, keyCount());
    }

    /** The close waits for the functions of another candidate meanwhile. */
    @Test
    void aCandidateThatJoinsDuringACloseEndsBeforeItsLockIsReleased() throws InterruptedException {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().closeTimeout(Duration.ofMinutes(10)));
        electBlocking(client);
        BlockedCall<Void> resignation = whileTheFunctionBlocks(last()::resign);
        BlockedCall<Void> closing = call(client.redlock()::close).awaitBlocked();
        CountDownLatch leading = new CountDownLatch(1);
        List<String> seen = new CopyOnWriteArrayList<>();
        client.redlock().elect("late", OPTIONS, term -> {
            term.ended().thenRun(() -> {
                seen.add(client.redlock().counters().heldCount() == 0 ? "free" : "held");
                Refusal.ofState("\"later\" gets no candidate: the client is closed, connect again",
                        () -> client.redlock().elect("later", OPTIONS, terms::add));
                seen.add("refused");
            });
            leading.countDown();
        });
        awaitReal("it leads", () -> leading.getCount() == 0);
        unblocked.countDown();
        resignation.result();
        awaitReal("closed", closing::isDone);
        closing.result();
        assertEquals(List.of("held", "refused"), seen);
        assertEquals(0, keyCount());
        assertEquals(2, TestClient.electionCount(client.redlock()), "none is added");
    }

    /** A function may wait for the thread that closes. */
    @Test
    void theWaitForTheFunctionsOfAnotherThreadIsBounded() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        electBlocking(client);
        BlockedCall<Void> resignation = whileTheFunctionBlocks(last()::resign);
        try (LogLines log = new LogLines()) {
            BlockedCall<CloseReport> closing = new BlockedCall<>(
                    () -> client.redlock().closeWithin(Duration.ofMillis(1)));
            awaitReal("closed", closing::isDone);
            assertEquals(1, closing.result().releasedCount());
            assertEquals(1, log.with(Level.WARNING, "releases \"orders\" before the functions").size());
        }
        unblocked.countDown();
        resignation.result();
    }

    /** It would wait for its own end. */
    @Test
    void aFunctionThatClosesTheClientDoesNotWaitForItself() throws InterruptedException {
        VirtualWorld.Client client = world(3);
        Election election = client.redlock().elect("orders", OPTIONS, term -> {
            term.ended().thenRun(() -> {
                client.redlock().close();
                events.add("closed");
            });
            events.add("leads");
        });
        await(1);
        BlockedCall<Void> closing = call(election::close);
        awaitReal("closed", closing::isDone);
        closing.result();
        assertEquals(List.of("leads", "closed"), events);
    }

    @Test
    void aCandidateThatClosesWhileItWaitsNeverLeads() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client);
        Election election = elect(client, "one");
        world.runMs(100);
        election.close();
        world.runMs(10);
        assertEquals(0, client.redlock().counters().waitingCount());
        release(holder);
        Election closedAtOnce = elect(client, "two");
        closedAtOnce.close();
        world.runMs(5_000);
        assertEquals(List.of(), events);
        assertEquals(0, keyCount());
    }

    @Test
    void limitsOfTheOptionsEndATerm() {
        VirtualWorld.Client client = world(3);
        List<LeaseState> notified = new ArrayList<>();
        AcquireOptions limited = OPTIONS.autoExtend(Duration.ofSeconds(15))
                .tryOnce()
                .listener((lease, state) -> notified.add(state));
        client.redlock().elect("orders", limited, term -> {
            terms.add(term);
            term.ended().thenAccept(how -> events.add("ended " + how));
        });
        world.runMs(28_000);
        assertEquals(List.of("ended EXPIRED"), events);
        assertEquals(List.of(LeaseState.EXPIRED), notified);
        assertEquals(2, terms.size(), "and it joins again");
    }

    @Test
    void wrongArgumentsThrowAtOnce() {
        VirtualWorld.Client client = world(3);
        Redlock redlock = client.redlock();
        assertThrows(IllegalArgumentException.class, () -> redlock.elect("", OPTIONS, terms::add));
        assertThrows(IllegalArgumentException.class,
                () -> redlock.elect("orders", AcquireOptions.ofTtl(Duration.ofDays(1)), terms::add));
        assertThrows(IllegalArgumentException.class,
                () -> redlock.elect("orders", OPTIONS.forReading(), terms::add));
        assertThrows(NullPointerException.class, () -> redlock.elect("orders", OPTIONS, null));
        world.runMs(100);
        assertEquals(List.of(), terms);
        assertEquals(0, TestClient.electionCount(redlock));
    }
}
