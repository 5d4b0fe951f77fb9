package dev.redlock.failover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Credentials;
import dev.redlock.CredentialsProvider;
import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.TlsOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.sim.FakeSentinel;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One voter whose server Sentinels name: node 0 is the primary, node 1 its replica, nodes 2 to 4 are Sentinels. */
class SentinelTest extends VirtualTest {

    private static final String ADDRESS = "redis-sentinel://node-2:1,node-3:1,node-4:1/mymaster";
    /** The longest ttl, its drift, the time for a paused predecessor, and the rounding of the uptime. */
    private static final long SILENCE_MS = 60_000 + 2_000 + 1_000 + 630 + 2 + 1_000;
    /** A push, the first delay of a reconnect, and the handshake. */
    private static final long SWITCHED_MS = 25;
    private static final long LOOK_MS = 3_000;

    private final List<FakeSentinel> sentinels = new ArrayList<>();

    private VirtualWorld.Client group() {
        return group(context());
    }

    private VirtualWorld.Client group(RedlockContext context) {
        createWorld();
        VirtualWorld.Client client = client(context);
        world.runMs(100);
        return client;
    }

    private void createWorld() {
        world = new VirtualWorld(5);
        node(1).redis().replicate(node(0).redis());
        node(1).redis().role("slave");
        IntStream.of(2, 3, 4).forEach(i -> sentinels.add(FakeSentinel.at(node(i), "node-0")));
    }

    @Override
    protected RedlockContext context() {
        return new RedlockContext().nodes(ADDRESS);
    }

    private void failOver() {
        node(1).redis().role("master");
        node(1).redis().promote();
        node(0).redis().role("slave");
    }

    private void assertState(NodeState state, VirtualWorld.Client client) {
        assertEquals(state, status(client, 0).state(), () -> client.redlock().nodes().toString());
    }

    private static String problem(VirtualWorld.Client client) {
        return String.valueOf(status(client, 0).problem());
    }

    private void assertConnected(VirtualWorld.Client client, String server) {
        assertEquals(server, status(client, 0).serverAddress());
        assertTrue(status(client, 0).state().isConnected(), () -> client.redlock().nodes().toString());
    }

    /** Its result is that of another server, which still takes itself for the primary. */
    @Test
    void aLateLookupOfTheFormerPrimaryIsNotUsed() {
        VirtualWorld.Client client = group();
        client.transport()
                .resolver((found, answer) -> world.after(50_000_000,
                        () -> client.engine().execute(() -> answer.accept(found))));
        node(0).breakConnections();
        world.runMs(30);
        assertEquals(0, node(0).connectionCount(), "precondition: the name of the former primary is looked up");
        node(1).redis().role("master");
        node(1).redis().promote();
        sentinels.forEach(sentinel -> sentinel.switchTo("node-1"));
        world.await("connected", 500, () -> status(client, 0).state().isConnected());
        assertConnected(client, "node-1:1");
        assertEquals(1, node(1).connectionCount());
        assertEquals(0, node(0).connectionCount());
    }

    // ---- the address ------------------------------------------------------------------------------------------------

    @Test
    void theClientLocksAtTheServerThatASentinelNames() {
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = group();
            assertState(NodeState.READY, client);
            assertEquals(ADDRESS, status(client, 0).address());
            assertEquals("node-0:1", status(client, 0).serverAddress());
            Lease lease = lease(client);
            assertEquals(1, keyCount());
            assertNotEquals(null, key(0));
            release(lease);
            assertEquals(0, node(3).openedCount() + node(4).openedCount(), "the first one answers");
            assertEquals(1, log.with(Level.INFO, "Sentinel node-2:1 names the primary node-0:1").size(),
                    log.with("")::toString);
            assertTrue(log.with("").stream().allMatch(line -> !line.contains("): ") || line.contains(ADDRESS)),
                    log.with("")::toString);
        }
        assertEquals(List.of("SENTINEL", "SUBSCRIBE"), sentinels.get(0).log());
    }

    @Test
    void theNextSentinelIsAskedIfOneDoesNotAnswer() {
        createWorld();
        node(2).crash();
        node(3).pause();
        VirtualWorld.Client client = client();
        world.runMs(900);
        assertState(NodeState.CONNECTING, client);
        world.await("connected", 150, () -> status(client, 0).state() == NodeState.READY);
        assertNull(status(client, 0).problem());
        node(0).breakConnections();
        world.await("the last good one is asked first", 50, () -> status(client, 0).state() == NodeState.READY);
    }

    @Test
    void aClientThatStartsWithoutSentinelsSaysSoAndConnectsWhenOneAnswers() {
        createWorld();
        IntStream.of(2, 3, 4).forEach(i -> node(i).crash());
        VirtualWorld.Client client = client();
        world.runMs(1_000);
        assertFalse(status(client, 0).state().isConnected());
        String problem = problem(client);
        for (String part : List.of("no Sentinel names the primary mymaster: ", "node-2:1: connection failed",
                "node-3:1: connection failed", "node-4:1: connection failed")) {
            assertTrue(problem.contains(part), problem);
        }
        assertNull(status(client, 0).serverAddress());
        node(4).start();
        world.await("connected", 1_500, () -> status(client, 0).state() == NodeState.READY);
        world.runMs(1_100);
        assertNull(status(client, 0).problem());
    }

    @Test
    void anUnknownNameIsAClearProblem() {
        createWorld();
        sentinels.forEach(sentinel -> sentinel.names(null));
        VirtualWorld.Client client = client();
        world.runMs(1_000);
        assertTrue(problem(client).startsWith("no Sentinel knows a primary mymaster: correct the name"),
                problem(client));
    }

    /** A Sentinel that has not seen the failover names a replica, or a server that is gone. */
    @ParameterizedTest
    @ValueSource(strings = {"node-1", "node-9"})
    void theNextSentinelIsAskedIfTheServerIsNoPrimary(String wrong) {
        createWorld();
        sentinels.get(0).names(wrong);
        VirtualWorld.Client client = client();
        world.await("the other Sentinel", 1_500, () -> status(client, 0).state() == NodeState.READY);
        assertConnected(client, "node-0:1");
    }

    @Test
    void theDelaysGrowWhileNoServerIsThePrimary() {
        VirtualWorld.Client client = group();
        node(0).redis().role("slave");
        world.runMs(5_000);
        assertTrue(problem(client).contains("role is slave: a node must be a master, so the client asks the Sentinels"),
                problem(client));
        int opened = node(0).openedCount();
        long asked = sentinels.stream().mapToLong(sentinel -> sentinel.count("SENTINEL")).sum();
        world.runMs(10_000);
        int tries = node(0).openedCount() - opened;
        assertTrue(tries >= 8 && tries <= 22, () -> tries + " tries in 10 s");
        long questions = sentinels.stream().mapToLong(sentinel -> sentinel.count("SENTINEL")).sum() - asked;
        assertTrue(questions <= 30, () -> questions + " questions in 10 s");
        assertTrue(sentinels.stream().allMatch(sentinel -> sentinel.count("SENTINEL") > 2), "each of them is asked");
        node(0).redis().role("master");
        world.await("it votes again", 1_100, () -> status(client, 0).state() == NodeState.READY);
    }

    // ---- a failover -------------------------------------------------------------------------------------------------

    /** The replica lacks the lock. */
    @Test
    void aSwitchIsFollowedAtOnceAndTheNewPrimaryIsSilent() {
        VirtualWorld.Client client = group();
        Lease held = lease(client);
        failOver();
        sentinels.get(0).switchTo("node-1");
        world.await("switched", SWITCHED_MS, () -> status(client, 0).state() == NodeState.QUARANTINED);
        assertConnected(client, "node-1:1");
        assertFalse(acquire(client, options()).isAcquired());
        VirtualWorld.Client late = client();
        sentinels.forEach(sentinel -> sentinel.names("node-1"));
        world.await("a client that starts later", 3_000, () -> status(late, 0).state() == NodeState.QUARANTINED);
        assertFalse(acquire(late, options()).isAcquired());
        world.runMs(SILENCE_MS - 5_000);
        assertFalse(held.isHeld(), "it ends with its validity, because nobody extends it");
        assertState(NodeState.QUARANTINED, client);
        world.await("the end of the silence", 6_000, () -> status(client, 0).state() == NodeState.READY);
        assertNotEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind());
    }

    @Test
    void aLookFindsASwitchWithoutAPush() {
        VirtualWorld.Client client = group();
        world.runMs(20_000);
        assertEquals(7, sentinels.get(0).count("SENTINEL"), "one each 3 s");
        sentinels.get(0).subscribeAnswer("-NOPERM no permissions\r\n");
        world.runMs(LOOK_MS);
        node(1).redis().role("master");
        node(1).redis().promote();
        sentinels.get(0).names("node-1");
        world.await("switched", LOOK_MS + SWITCHED_MS, () -> "node-1:1".equals(status(client, 0).serverAddress())
                && status(client, 0).state().isConnected());
    }

    /** Its user may only ask, as the documentation of Redis suggests. */
    @Test
    void aSentinelThatRefusesSubscriptionsIsAskedOnly() {
        createWorld();
        sentinels.get(0).subscribeAnswer("-NOPERM this user has no permissions to run the 'subscribe' command\r\n");
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            world.runMs(10_000);
            assertState(NodeState.READY, client);
            assertEquals(1, log.with("refuses SUBSCRIBE: NOPERM; so a failover is seen up to 3000 ms later").size(),
                    log.with("")::toString);
        }
        assertEquals(List.of("SENTINEL", "SUBSCRIBE", "SENTINEL", "SENTINEL", "SENTINEL"), sentinels.get(0).log());
    }

    @Test
    void theDeathOfThePrimaryIsFollowedToItsSuccessor() {
        VirtualWorld.Client client = group();
        node(0).crash();
        world.runMs(5_000);
        assertFalse(status(client, 0).state().isConnected());
        node(1).redis().role("master");
        node(1).redis().promote();
        sentinels.forEach(sentinel -> sentinel.switchTo("node-1"));
        world.await("switched", SWITCHED_MS, () -> status(client, 0).state() == NodeState.QUARANTINED);
    }

    @Test
    void aPushForAnotherPrimaryOrWithoutAnAddressIsIgnored() {
        VirtualWorld.Client client = group();
        for (String payload : List.of("other node-0 1 node-1 1", "mymaster node-0 1 node-1", "mymaster node-0 1 x:y 1",
                "mymaster node-0 1 node-1 0", "mymaster node-0 1 node-1 99999", "", "mymaster  ", "\u0000")) {
            sentinels.get(0).push(payload);
        }
        world.runMs(100);
        assertState(NodeState.READY, client);
        assertEquals(1, node(0).openedCount());
        assertEquals(0, node(1).openedCount());
    }

    /** Two servers are masters for the Sentinel in turn. */
    @Test
    void pushesAtAHighRateDoNotOccupyTheLoop() {
        VirtualWorld.Client client = group();
        for (int i = 0; i < 5_000; i++) {
            sentinels.get(0).switchTo(i % 2 == 0 ? "node-1" : "node-0");
            world.runMs(1);
        }
        int opened = node(0).openedCount() + node(1).openedCount();
        assertTrue(opened < 60, () -> opened + " connections in 5 s");
        sentinels.get(0).switchTo("node-0");
        world.await("it votes again", 3_000, () -> status(client, 0).state().isConnected());
    }

    // ---- Sentinels that are down ------------------------------------------------------------------------------------

    @Test
    void locksGoOnWithoutSentinels() {
        VirtualWorld.Client client = group();
        try (LogLines log = new LogLines()) {
            IntStream.of(2, 3, 4).forEach(i -> node(i).crash());
            for (int i = 0; i < 30; i++) {
                world.runMs(1_000);
                release(lease(client));
            }
            assertState(NodeState.READY, client);
            assertTrue(problem(client).startsWith("no Sentinel names the primary mymaster: "), problem(client));
            assertTrue(problem(client).endsWith("; until one does, the client does not see a failover"),
                    problem(client));
            assertEquals(1, log.with(Level.WARNING, "no Sentinel names").size(), log.with("")::toString);
            node(0).breakConnections();
            world.await("the known primary", 100, () -> status(client, 0).state() == NodeState.READY);
            release(lease(client));
            node(3).start();
            world.runMs(LOOK_MS + 100);
            assertNull(status(client, 0).problem());
            assertEquals(1, log.with(Level.INFO, "a Sentinel names the primary again").size(), log.with("")::toString);
        }
    }

    @Test
    void silentSentinelsDelayNoLock() {
        VirtualWorld.Client client = group();
        IntStream.of(2, 3, 4).forEach(i -> node(i).pause());
        world.runMs(10_000);
        assertTrue(problem(client).contains("node-3:1: no answer in 1000 ms"), problem(client));
        release(lease(client));
        node(0).breakConnections();
        world.await("each has a second", 3_200, () -> status(client, 0).state() == NodeState.READY);
        IntStream.of(2, 3, 4).forEach(i -> node(i).resume());
        world.runMs(7_000);
        assertNull(status(client, 0).problem());
    }

    @Test
    void aSentinelThatClosesEachConnectionIsAskedAtAModerateRate() {
        VirtualWorld.Client client = group();
        for (int i = 0; i < 1_000; i++) {
            node(2).breakConnections();
            world.runMs(10);
        }
        int opened = node(2).openedCount();
        assertTrue(opened <= 45, () -> opened + " connections in 10 s");
        release(lease(client));
    }

    // ---- hostile Sentinels ------------------------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(strings = {":1\r\n", "+OK\r\n", "$-1\r\n", "$3\r\nabc\r\n", "*0\r\n", "*1\r\n$1\r\nx\r\n",
        "*2\r\n$6\r\nnode-0\r\n:1\r\n", "*2\r\n$6\r\nnode-0\r\n$1\r\n0\r\n", "*2\r\n$6\r\nnode-0\r\n$6\r\n123456\r\n",
        "*2\r\n$1\r\n \r\n$1\r\n1\r\n", "*2\r\n$0\r\n\r\n$1\r\n1\r\n", "*2\r\n*0\r\n*0\r\n", "*2\r\n$-1\r\n$-1\r\n",
        "*3\r\n$6\r\nnode-0\r\n$1\r\n1\r\n$1\r\nx\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n",
        "-ERR unknown command\r\n", "-NOAUTH x\r\n", "-IDONTKNOW x\r\n", "-LOADING x\r\n", "?\r\n", "*99\r\n",
        "*1000000000\r\n", "$5000\r\n", "$2000000000\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n", "HTTP/1.1 400\r\n", "\r\n",
        "*2\r\n$6\r\nnode-0\r\n"})
    void theNextSentinelIsAskedAfterAnAnswerThatIsNoAddress(String answer) {
        createWorld();
        sentinels.get(0).answer(answer);
        VirtualWorld.Client client = client();
        world.await("the next one", 1_100, () -> status(client, 0).state() == NodeState.READY);
        world.runMs(1_100);
        release(lease(client));
        sentinels.forEach(sentinel -> sentinel.answer(answer));
        world.runMs(10_000);
        release(lease(client));
        assertTrue(problem(client).startsWith("no Sentinel "), problem(client));
        assertTrue(problem(client).length() < 1_001, problem(client));
        sentinels.forEach(sentinel -> sentinel.answer(null));
        world.runMs(10_000);
        assertNull(status(client, 0).problem());
    }

    @Test
    void bytesThatNobodyAskedForEndTheConnectionToTheSentinelOnly() {
        VirtualWorld.Client client = group();
        for (String bytes : List.of(":1\r\n", "garbage", "*3\r\n$7\r\nmessage\r\n:1\r\n:2\r\n", "-ERR x\r\n",
                "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$9000\r\n", "*2\r\n$6\r\nnode-1\r\n$1\r\n1\r\n")) {
            node(2).sendRaw(bytes);
            world.runMs(1_000);
            assertState(NodeState.READY, client);
        }
        assertEquals(1, node(0).openedCount());
        world.runMs(1_000);
        assertNull(status(client, 0).problem());
    }

    // ---- credentials ------------------------------------------------------------------------------------------------

    @Test
    void userAndPasswordOfTheAddressAreThoseOfTheServers() {
        createWorld();
        node(0).redis().password("ann", "s3cr3t");
        VirtualWorld.Client client = client(
                new RedlockContext().nodes(ADDRESS.replace("://", "://ann:s3cr3t@")));
        world.runMs(100);
        assertState(NodeState.READY, client);
        assertEquals(0, sentinels.get(0).count("AUTH"));
        assertFalse(client.redlock().nodes().toString().contains("s3cr3t"));
    }

    @Test
    void sentinelsHaveCredentialsOfTheirOwn() {
        createWorld();
        List<String> asked = new ArrayList<>();
        node(0).redis().password("ann", "s3cr3t");
        sentinels.forEach(sentinel -> sentinel.password("w4tch"));
        VirtualWorld.Client client = client(context().credentials(address -> {
            asked.add(address);
            return Credentials.of("ann", "s3cr3t".toCharArray());
        }).sentinelCredentials(address -> {
            asked.add(address);
            return Credentials.of("w4tch".toCharArray());
        }));
        world.runMs(100);
        assertState(NodeState.READY, client);
        assertEquals(List.of("node-2:1", "node-0:1"), asked);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "false|NOAUTH; the Sentinel requires a password: set RedlockContext.sentinelCredentials",
        "true|authentication failed: WRONGPASS; check the user and the password that RedlockContext.sentinel"})
    void aMissingOrWrongPasswordOfTheSentinelsIsAClearProblem(boolean isSet, String text) {
        createWorld();
        sentinels.forEach(sentinel -> sentinel.password("w4tch"));
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client(isSet
                    ? context().sentinelCredentials(address -> Credentials.of("s3cr3t".toCharArray()))
                    : context());
            world.runMs(2_000);
            assertTrue(problem(client).contains("node-4:1: " + text), problem(client));
            assertEquals(List.of(), log.with("s3cr3t"));
        }
    }

    @Test
    void aPasswordThatTheSentinelsDoNotHaveIsAClearProblem() {
        VirtualWorld.Client client = group(
                context().sentinelCredentials(address -> Credentials.of("s3cr3t".toCharArray())));
        world.runMs(2_000);
        assertTrue(problem(client).contains("the Sentinel may have no password: remove"), problem(client));
    }

    @Test
    void aProviderThatThrowsOrReturnsNothingIsAProblem() {
        createWorld();
        List<CredentialsProvider> providers = List.of(address -> null, address -> {
            throw new IllegalStateException("s3cr3t");
        });
        for (CredentialsProvider provider : providers) {
            VirtualWorld.Client client = client(context().sentinelCredentials(provider));
            world.runMs(2_000);
            assertTrue(problem(client).contains("the credentials provider "), problem(client));
            assertFalse(problem(client).contains("s3cr3t"), problem(client));
        }
    }

    /** Each call of the provider of the Sentinels takes a time, and throws if it was interrupted. */
    private VirtualWorld.Client groupWithSlowProvider(long delayMs) {
        createWorld();
        boolean[] isInterrupted = {false};
        sentinels.forEach(sentinel -> sentinel.password("w4tch"));
        IntStream.of(2, 3, 4).forEach(i -> node(i).crash());
        VirtualWorld.Client client = client(context().sentinelCredentials(address -> {
            if (isInterrupted[0]) {
                throw new InterruptedException();
            }
            return Credentials.of("w4tch".toCharArray());
        }));
        client.transport().threadStarter(thread -> world.after(delayMs * 1_000_000, () -> {
            isInterrupted[0] = thread.isInterrupted();
            thread.run();
        }));
        IntStream.of(2, 3, 4).forEach(i -> node(i).start());
        return client;
    }

    @Test
    void aProviderMayTakeLongerThanAConnect() {
        VirtualWorld.Client client = groupWithSlowProvider(5_000);
        world.await("connected", 8_000, () -> status(client, 0).state() == NodeState.READY);
    }

    @Test
    void aSentinelHasATimeLimitAfterTheLoginToo() {
        VirtualWorld.Client client = groupWithSlowProvider(1_500);
        sentinels.forEach(sentinel -> {
            sentinel.answer("");
            sentinel.subscribeAnswer("");
        });
        world.await("each Sentinel", 10_000, () -> problem(client).contains("node-4:1: no answer in 1000 ms"));
        assertTrue(sentinels.get(2).count("SENTINEL") > 0, "the question was sent");
    }

    @Test
    void aProviderThatNeverReturnsIsTheProblem() {
        VirtualWorld.Client client = groupWithSlowProvider(60_000);
        world.await("each Sentinel", 35_000, () -> problem(client).contains("node-4:1: the credentials provider has not"
                + " returned for 10000 ms"));
    }

    @Test
    void theOptionsForWhichTheAddressIsWrongNameTheFix() {
        Refusal.ofArgument("TLS options are set and no node address asks for TLS: write rediss-sentinel://s:26379/m, or"
                + " remove tls(...)",
                () -> TestClient.conclude(
                        new RedlockContext().nodes("redis-sentinel://s/m").tls(TlsOptions.defaults())));
        Refusal.ofArgument("TLS options are set and no node address asks for TLS: write rediss-cluster://s:1, or"
                + " remove tls(...)",
                () -> TestClient.conclude(
                        new RedlockContext().nodes("redis-cluster://s:1").tls(TlsOptions.defaults())));
        Refusal.ofArgument("node address redis-sentinel://s:26379/m contains a password, and credentials() is set: a"
                + " node has one source of credentials; remove the password from the address, or do not set"
                + " credentials()",
                () -> TestClient.conclude(
                        new RedlockContext().nodes("redis-sentinel://u:s3cr3t@s/m").credentials(address -> null)));
        assertTrue(new RedlockContext().credentials(address -> null).hasCredentials());
        assertFalse(new RedlockContext().sentinelCredentials(address -> null).hasCredentials());
    }

    // ---- the list of nodes ------------------------------------------------------------------------------------------

    @Test
    void aGroupIsGivenOnce() {
        Refusal.ofArgument("node address redis-sentinel://b:26379,c:26379/m is given twice: Sentinel b:26379"
                + " and the primary m are also in redis-sentinel://a:26379,b:26379/m, and one primary has one"
                + " vote; write all Sentinels of a primary into one address",
                () -> new RedlockContext().nodes("redis-sentinel://a,b/m", "redis-sentinel://b,c/m"));
        RedlockContext two = new RedlockContext().nodes("redis-sentinel://a,b/m", "redis-sentinel://a,b/n", "a:26379");
        assertTrue(two.toString().contains("redis-sentinel://a:26379,b:26379/n"), two::toString);
    }

    /** One server would have two votes. */
    @Test
    void aServerThatTwoVotersLeadToHasOneVote() {
        createWorld();
        VirtualWorld.Client client = client(new RedlockContext().nodes(ADDRESS, "node-0:1", "node-1:1"));
        node(1).redis().role("master");
        world.runMs(2_000);
        assertTrue(problem(client).contains("it has the identity of node 1 (node-0:1)"), problem(client));
        assertTrue(String.valueOf(status(client, 1).problem()).contains("identity of node 0 (" + ADDRESS + ")"));
    }

    @Test
    void groupsAndPlainNodesAreVotersTogether() {
        world = new VirtualWorld(5);
        FakeSentinel.at(node(3), "node-0");
        FakeSentinel.at(node(4), "node-1");
        VirtualWorld.Client client = client(new RedlockContext().nodes("redis-sentinel://node-3:1/mymaster",
                "redis-sentinel://node-4:1/mymaster", "node-2:1"));
        world.runMs(100);
        Lease lease = lease(client);
        assertEquals(3, keyCount());
        release(lease);
        node(0).crash();
        release(lease(client));
    }

    @Test
    void theListChangesFromAPlainNodeToAGroup() {
        createWorld();
        VirtualWorld.Client client = client(new RedlockContext().nodes("node-1:1").nextNodes(ADDRESS));
        node(1).redis().role("master");
        world.runMs(2_000);
        release(lease(client));
        assertEquals(2, client.redlock().nodes().size());
    }

    /** Each node votes, but one server has one vote. */
    @Test
    void onePrimaryInBothListsUnderTwoAddressesShowsTheWayOut() {
        createWorld();
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client(new RedlockContext().nodes("node-0:1").nextNodes(ADDRESS));
            world.runMs(2_000);
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind());
            for (NodeStatus node : client.redlock().nodes()) {
                assertTrue(node.problem().contains("nodes and nextNodes name one server by two addresses"),
                        node.problem());
                assertTrue(node.problem().contains("without nextNodes"), node.problem());
            }
            List<String> lines = log.with(Level.WARNING, "no quorum votes");
            assertEquals(1, lines.size());
            assertTrue(lines.get(0).contains("name one server by two addresses"), lines.get(0));
        }
    }

    @Test
    void aClientClosesItsConnectionsToSentinels() {
        VirtualWorld.Client client = group();
        CompletableFuture<?> acquiring = acquireAsync(client, AcquireOptions.ofTtl(Duration.ofSeconds(1)).tryOnce());
        client.engine().close(Duration.ofMillis(10));
        world.runMs(100);
        assertTrue(acquiring.isDone());
        assertEquals(0, node(2).connectionCount());
        int opened = node(2).openedCount() + node(3).openedCount();
        world.runMs(10_000);
        assertEquals(opened, node(2).openedCount() + node(3).openedCount());
    }
}
