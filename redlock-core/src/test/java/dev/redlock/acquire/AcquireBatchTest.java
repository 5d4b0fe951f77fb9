package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** First attempts of one turn go to a node with MSETEX as one command, and each keeps its own outcome. */
class AcquireBatchTest extends VirtualTest {

    private static final FakeRedis.Kind WITH = FakeRedis.Kind.REDIS_8_4;
    private static final FakeRedis.Kind WITHOUT = FakeRedis.Kind.REDIS_7;

    private VirtualWorld.Client client(FakeRedis.Kind... kinds) {
        world = new VirtualWorld(kinds.length);
        IntStream.range(0, kinds.length).forEach(i -> node(i).redis().kind(kinds[i]));
        return client();
    }

    private VirtualWorld.Client clientOfThree() {
        return client(WITH, WITH, WITH);
    }

    /** Acquires all of them in one turn of the loop. */
    private List<CompletableFuture<AcquireOutcome>> together(VirtualWorld.Client client, AcquireOptions options,
            String... names) {
        List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        client.engine()
                .execute(() -> Arrays.stream(names)
                        .forEach(name -> outcomes
                                .add(client.redlock().acquireAsync(name, options).toCompletableFuture())));
        world.settle();
        return outcomes;
    }

    private static String[] names(int count) {
        return IntStream.range(0, count).mapToObj(i -> "orders/" + i).toArray(String[]::new);
    }

    private List<AcquireOutcome.Kind> kinds(List<CompletableFuture<AcquireOutcome>> outcomes) {
        return outcomes.stream().map(outcome -> get(outcome).kind()).toList();
    }

    private void releaseAll(List<CompletableFuture<AcquireOutcome>> outcomes) {
        outcomes.stream()
                .map(this::get)
                .filter(AcquireOutcome::isAcquired)
                .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, release(outcome.lease())));
        world.runMs(10);
        assertEquals(0, keys(), "keys left");
    }

    private int keys() {
        return world.nodes().stream().mapToInt(node -> node.redis().keys().size()).sum();
    }

    private String counts(int nodeIndex) {
        FakeRedis redis = node(nodeIndex).redis();
        return redis.commandCount("MSETEX") + " MSETEX, " + redis.commandCount("SET NX") + " SET";
    }

    @ParameterizedTest
    @CsvSource({"1, 0, 1", "2, 1, 0", "64, 1, 0", "65, 1, 1", "66, 2, 0", "130, 3, 0"})
    void firstAttemptsOfOneTurnAreOneCommand(int count, int msetex, int set) {
        VirtualWorld.Client client = clientOfThree();
        var outcomes = together(client, options(), names(count));
        assertTrue(kinds(outcomes).stream().allMatch(kind -> kind == AcquireOutcome.Kind.ACQUIRED));
        eachNode(node -> assertEquals(count, node.redis().keys().size()));
        assertEquals(msetex + " MSETEX, " + set + " SET", counts(0));
        assertEquals(3L * count, IntStream.range(0, 3).mapToLong(i -> status(client, i).grantedCount()).sum(), "votes");
        releaseAll(outcomes);
    }

    @Test
    void nodesWithoutTheCommandGetASetForEach() {
        VirtualWorld.Client client = client(WITH, WITHOUT, WITH);
        var outcomes = together(client, options(), names(5));
        assertEquals("1 MSETEX, 0 SET", counts(0));
        assertEquals("0 MSETEX, 5 SET", counts(1));
        eachNode(node -> assertEquals(5, node.redis().keys().size()));
        releaseAll(outcomes);
    }

    /** A batch of one release is none, and so is one of acquires. */
    @Test
    void withoutBatchesEachAcquireLeavesAlone() {
        client(WITH);
        VirtualWorld.Client client = client(context().releaseBatchMax(1));
        var outcomes = together(client, options(), names(3));
        assertEquals("0 MSETEX, 3 SET", counts(0));
        releaseAll(outcomes);
    }

    @Test
    void oneRefusedKeyRefusesNoOther() {
        VirtualWorld.Client client = clientOfThree();
        Lease other = acquired(get(client().redlock().acquireAsync("orders/1", options())));
        eachNode(node -> node.redis().startLog());
        var outcomes = together(client, options(), names(4));
        assertEquals(List.of(AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.CONTENDED,
                AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.ACQUIRED), kinds(outcomes));
        assertEquals("1 MSETEX, 5 SET", counts(0), "with the SET of the other client");
        assertEquals(ReleaseOutcome.RELEASED, release(other));
        releaseAll(outcomes);
    }

    /** The command would set the key twice, and grant both. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 40})
    void oneResourceIsGrantedOnce(int count) {
        VirtualWorld.Client client = clientOfThree();
        String[] same = new String[count];
        Arrays.fill(same, "orders");
        var outcomes = together(client, options(), same);
        assertEquals(1, kinds(outcomes).stream().filter(kind -> kind == AcquireOutcome.Kind.ACQUIRED).count());
        assertEquals(0, node(0).redis().commandCount("MSETEX"));
        releaseAll(outcomes);
    }

    @Test
    void acquiresWithOtherTtlsAreOtherCommands() {
        VirtualWorld.Client client = clientOfThree();
        List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        client.engine()
                .execute(() -> IntStream.range(0, 6)
                        .forEach(i -> outcomes.add(client.redlock()
                                .acquireAsync("orders/" + i, AcquireOptions.ofTtl(Duration.ofSeconds(i < 4 ? 10 : 20)))
                                .toCompletableFuture())));
        world.settle();
        assertEquals("2 MSETEX, 0 SET", counts(0));
        assertTrue(node(0).redis().pttl("orders/3") <= 10_000 && node(0).redis().pttl("orders/4") > 19_000);
        releaseAll(outcomes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ERR unknown command 'MSETEX'",
        "NOPERM this user has no permissions to run the 'msetex' command"})
    void aNodeThatRejectsTheCommandGetsSets(String error) {
        VirtualWorld.Client client = clientOfThree();
        eachNode(node -> node.redis().failNext("MSETEX", error, 1));
        var outcomes = together(client, options(), names(3));
        assertTrue(kinds(outcomes).stream().allMatch(kind -> kind == AcquireOutcome.Kind.ACQUIRED));
        releaseAll(outcomes);
        releaseAll(together(client, options(), names(3)));
        assertEquals("0 MSETEX, 6 SET", counts(0), "nor later");
    }

    /** It is no script, so there is none to send with it: each acquire is sent alone. */
    @Test
    void aServerThatAnswersAsToAScriptGetsSets() {
        VirtualWorld.Client client = clientOfThree();
        eachNode(node -> node.redis().failNext("MSETEX", "NOSCRIPT No matching script.", 1));
        var outcomes = together(client, options(), names(3));
        assertTrue(kinds(outcomes).stream().allMatch(kind -> kind == AcquireOutcome.Kind.ACQUIRED));
        releaseAll(outcomes);
        assertEquals(0, status(client, 0).disconnectCount());
    }

    @Test
    void anErrorIsThatOfEach() {
        VirtualWorld.Client client = clientOfThree();
        node(0).redis().failNext("MSETEX", "OOM command not allowed when used memory > 'maxmemory'.", 1);
        node(1).redis().failNext("MSETEX", "BUSY Redis is busy running a script.", 1);
        var outcomes = together(client, options(), names(3));
        for (var outcome : outcomes) {
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(outcome).kind());
            assertEquals(2, get(outcome).failedCount());
            assertTrue(get(outcome).voteText(0).contains("OOM") && get(outcome).voteText(1).contains("BUSY"),
                    get(outcome)::toString);
        }
        releaseAll(outcomes);
    }

    @Test
    void aLostReplyLeavesNothing() {
        VirtualWorld.Client client = clientOfThree();
        eachNode(node -> node.delay(() -> 1_000_000));
        var outcomes = together(client, options(), names(3));
        world.runMs(0);
        node(0).breakConnections();
        node(1).breakConnections();
        assertTrue(kinds(outcomes).stream().allMatch(kind -> kind == AcquireOutcome.Kind.NO_QUORUM));
        assertEquals(2, get(outcomes.get(0)).unknownCount());
        world.await("rolled back", 2_000, () -> keys() == 0);
    }

    /** A quorum of others has decided before the node refuses the batch: the release may have left. */
    @Test
    void aDecidedAcquireIsNotSentAgain() {
        VirtualWorld.Client client = clientOfThree();
        Lease other = acquired(get(client().redlock().acquireAsync("orders/0", options())));
        node(1).redis().delete("orders/0");
        node(2).redis().delete("orders/0");
        node(0).delay(() -> 5_000_000);
        var outcomes = together(client, options(), "orders/0", "orders/1");
        assertTrue(kinds(outcomes).stream().allMatch(kind -> kind == AcquireOutcome.Kind.ACQUIRED), "by two nodes");
        List<CompletableFuture<ReleaseOutcome>> released = outcomes.stream()
                .map(outcome -> get(outcome).lease().releaseAsync().toCompletableFuture())
                .toList();
        released.forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(100);
        assertEquals(1, keys(), "that of the other client");
        assertEquals(0, status(client, 0).refusedCount(), "the refusal of a batch is that of no key");
        other.releaseAsync();
        world.runMs(20);
    }

    /**
     * Another client holds orders/0. Node 2 refuses the batch when the others have granted the other three acquires.
     */
    private List<CompletableFuture<AcquireOutcome>> togetherWithASlowNode(VirtualWorld.Client client) {
        return togetherWithASlowNode(client, options());
    }

    private List<CompletableFuture<AcquireOutcome>> togetherWithASlowNode(VirtualWorld.Client client,
            AcquireOptions options) {
        acquired(get(client().redlock().acquireAsync("orders/0", options())));
        node(0).delay(() -> 150_000);
        node(1).delay(() -> 250_000);
        node(2).delay(() -> 750_000);
        // The client has measured the round trips.
        world.runMs(1_500);
        var outcomes = together(client, options, names(4));
        runUs(1_100);
        outcomes.stream().skip(1).forEach(outcome -> acquired(get(outcome)));
        assertEquals(0, status(client, 2).grantedCount(), "precondition, its reply is not here yet");
        return outcomes;
    }

    @Test
    void aHeldLockGetsItsKeyOnTheSlowestNodeToo() {
        VirtualWorld.Client client = clientOfThree();
        long refusedCount = status(client, 2).refusedCount();
        var outcomes = togetherWithASlowNode(client);
        world.runMs(10);
        assertEquals(4, node(2).redis().keys().size(), "with that of the other client");
        assertEquals(3, status(client, 2).grantedCount());
        assertEquals(refusedCount, status(client, 2).refusedCount(), "the refusal of a batch is that of no key");
        outcomes.stream()
                .skip(1)
                .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, release(get(outcome).lease())));
        world.runMs(10);
        assertEquals(3, keys(), "those of the other client");
    }

    /** Node 2 reads the key for the watch before it executes the acquire that sets it. */
    @Test
    void aHeldLockIsWatchedOnTheSlowestNodeToo() {
        VirtualWorld.Client client = clientOfThree();
        var outcomes = togetherWithASlowNode(client, options().watchLoss());
        world.runMs(10);
        Lease lease = get(outcomes.get(1)).lease();
        assertEquals(LeaseState.HELD, lease.state());
        node(0).redis().delete("orders/1");
        node(2).redis().delete("orders/1");
        world.runMs(5);
        assertEquals(LeaseState.LOST, lease.state());
    }

    /** Node 2 gets its keys 1150 us after the acquires of the locks, and replies after another 750 us. */
    @ParameterizedTest
    @ValueSource(ints = {0, 399, 400, 401, 1_149, 1_150, 1_151, 1_900})
    void aReleaseFollowsTheAcquireOnTheSlowestNode(int releasedAfterUs) {
        VirtualWorld.Client client = clientOfThree();
        var outcomes = togetherWithASlowNode(client);
        runUs(releasedAfterUs);
        outcomes.stream().skip(1).forEach(outcome -> get(outcome).lease().releaseAsync());
        world.runMs(10);
        assertEquals(3, keys(), "those of the other client");
    }

    /** A refusal by a node would show that another client wants the lock. */
    @Test
    void aLockThatNoNodeHasRefusedIsAcquiredAgainInOneRoundTrip() {
        VirtualWorld.Client client = clientOfThree();
        AcquireOptions waiting = options().waitUpTo(Duration.ofMillis(500));
        acquired(get(client().redlock().acquireAsync("orders/0", options())));
        node(0).delay(() -> 150_000);
        node(1).delay(() -> 250_000);
        node(2).delay(() -> 750_000);
        world.runMs(1_500);
        List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        client.engine()
                .execute(() -> IntStream.range(0, 4)
                        .forEach(i -> outcomes.add(client.redlock()
                                .acquireAsync("orders/" + i, i == 0 ? options() : waiting)
                                .toCompletableFuture())));
        world.runMs(10);
        acquired(get(outcomes.get(1))).releaseAsync();
        var again = client.redlock().acquireAsync("orders/1", waiting).toCompletableFuture();
        long startNs = world.nowNs();
        acquired(get(again));
        assertEquals(500, (world.nowNs() - startNs) / 1_000, "us, the round trip of the second node");
        world.runMs(10);
    }

    /** Its ttl is that of the extension, which has set the key. */
    @Test
    void anExtendedLockIsNotSentAgain() {
        VirtualWorld.Client client = clientOfThree();
        var outcomes = togetherWithASlowNode(client);
        int before = node(2).redis().commandCount("SET NX");
        get(outcomes.get(1)).lease().extendAsync(Duration.ofSeconds(20));
        world.runMs(10);
        assertEquals(2, node(2).redis().commandCount("SET NX") - before, "orders/2 and orders/3");
        assertTrue(node(2).redis().pttl("orders/1") > 19_000, "by the extension");
        outcomes.stream()
                .skip(1)
                .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, release(get(outcome).lease())));
        world.runMs(10);
        assertEquals(3, keys(), "those of the other client");
    }

    /** The report of the first one ends the others: their releases follow their acquires on each node. */
    @Test
    void aReportMayEndTheOthersOfTheTurn() {
        VirtualWorld.Client client = client(WITH, WITHOUT, WITHOUT);
        node(1).crash();
        node(2).crash();
        world.runMs(10);
        List<CompletableFuture<AcquireOutcome>> others = new ArrayList<>();
        client.engine().execute(() -> {
            client.redlock()
                    .acquireAsync("orders/0", options())
                    .whenComplete((outcome, failure) -> others.forEach(other -> other.cancel(false)));
            for (int i = 1; i < 5; i++) {
                others.add(client.redlock().acquireAsync("orders/" + i, options()).toCompletableFuture());
            }
        });
        world.settle();
        world.runMs(200);
        assertEquals("1 MSETEX, 0 SET", counts(0), "precondition");
        assertEquals(0, keys(), "keys left");
    }

    /** Each failure ends an acquisition whose rollback must follow its acquire; the others still wait to be sent. */
    @ParameterizedTest
    @CsvSource({"0, NO_QUORUM", "5000, ACQUIRED"})
    void manyAcquiresThatFailInOneTurnAllEnd(long waitMs, AcquireOutcome.Kind expected) {
        VirtualWorld.Client client = clientOfThree();
        eachNode(node -> node.redis().clockJump(1_000));
        world.await("quarantined", 2_000,
                () -> client.redlock().nodes().stream().allMatch(node -> node.state() == NodeState.QUARANTINED));
        var outcomes = together(client, options().waitUpTo(Duration.ofMillis(waitMs)), names(2_000));
        world.runMs(waitMs);
        assertEquals(2_000, outcomes.stream().filter(CompletableFuture::isDone).count(), "outcomes");
        assertEquals(Set.of(expected), Set.copyOf(kinds(outcomes)));
        outcomes.stream()
                .map(this::get)
                .filter(AcquireOutcome::isAcquired)
                .forEach(each -> each.lease().releaseAsync());
        world.runMs(100);
        assertEquals(0, client.engine().claimsOut());
        assertEquals(0, keys(), "keys left");
    }

    @Test
    void aReleaseInTheTurnFollowsItsAcquire() {
        VirtualWorld.Client client = clientOfThree();
        eachNode(node -> node.redis().startLog());
        client.engine().execute(() -> {
            for (int i = 0; i < 3; i++) {
                var outcome = client.redlock().acquireAsync("orders/" + i, options()).toCompletableFuture();
                if (i == 1) {
                    outcome.cancel(false);
                }
            }
        });
        world.settle();
        world.runMs(20);
        assertEquals(2 * 3, keys(), "those that were not cancelled");
        List<String> log = node(0).redis().log();
        assertTrue(log.indexOf("acquire orders/1 -> 1") < log.indexOf("release orders/1 -> 1"), log::toString);
    }

    @Test
    void aLockThatIsAcquiredAgainAtOnceFollowsItsRelease() {
        VirtualWorld.Client client = client(WITHOUT, WITH, WITH);
        var held = together(client, options(), names(4)).stream().map(this::get).toList();
        List<CompletableFuture<AcquireOutcome>> again = new ArrayList<>();
        client.engine().execute(() -> held.forEach(outcome -> {
            String name = outcome.lease().resource();
            outcome.lease().releaseAsync();
            again.add(client.redlock().acquireAsync(name, options()).toCompletableFuture());
        }));
        world.settle();
        assertEquals(4, again.size());
        assertTrue(kinds(again).stream().allMatch(kind -> kind == AcquireOutcome.Kind.ACQUIRED));
        again.forEach(outcome -> assertEquals(1, get(outcome).attemptCount()));
        releaseAll(again);
    }

    @Test
    void refusalsMakeTheBatchesShorter() {
        VirtualWorld.Client client = clientOfThree();
        List<Lease> others = IntStream.range(0, 8)
                .mapToObj(i -> acquired(get(client().redlock().acquireAsync("orders/" + i, options()))))
                .toList();
        for (int round = 0; round < 4; round++) {
            releaseAllOf(together(client, options(), names(64)));
        }
        int before = node(0).redis().commandCount("MSETEX");
        releaseAllOf(together(client, options(), names(64)));
        assertEquals(before, node(0).redis().commandCount("MSETEX"), "each alone after a dozen refusals");
        others.forEach(other -> assertEquals(ReleaseOutcome.RELEASED, release(other)));
        for (int round = 0; round < 60; round++) {
            releaseAllOf(together(client, options(), names(64)));
        }
        before = node(0).redis().commandCount("MSETEX");
        releaseAllOf(together(client, options(), names(64)));
        assertEquals(1, node(0).redis().commandCount("MSETEX") - before, "and one for all when nobody refuses");
    }

    private void releaseAllOf(List<CompletableFuture<AcquireOutcome>> outcomes) {
        outcomes.stream()
                .map(this::get)
                .filter(AcquireOutcome::isAcquired)
                .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, release(outcome.lease())));
        world.runMs(1);
    }
}
