package dev.redlock.tls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Credentials;
import dev.redlock.CredentialsProvider;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeTransport.FakeThread;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Credentials from a provider: for each connection, and again while a connection lives. */
class CredentialsProviderTest extends VirtualTest {

    private static final String USER = "app";
    private static final String WRONG = "wr0ng-secret";

    /** Every array that the provider has returned. */
    private final List<char[]> returned = new ArrayList<>();
    private final List<String> askedFor = new ArrayList<>();
    private final List<FakeThread> threads = new ArrayList<>();
    private String password = "first-secret";
    private Duration refreshAfter;
    private CredentialsProvider provider = node -> credentials();

    private Credentials credentials() {
        char[] secret = password.toCharArray();
        returned.add(secret);
        Credentials credentials = Credentials.of(USER, secret);
        return refreshAfter == null ? credentials : credentials.refreshAfter(refreshAfter);
    }

    private VirtualWorld.Client connected() {
        world = new VirtualWorld(1);
        node(0).redis().password(USER, password);
        VirtualWorld.Client client = client(context().credentials(node -> {
            askedFor.add(node);
            return provider.credentials(node);
        }));
        assertReady(client);
        return client;
    }

    /** A connected client whose further calls of the provider wait until the test runs their threads. */
    private VirtualWorld.Client connectedThenBlocking() {
        VirtualWorld.Client client = connected();
        client.transport().threadStarter(threads::add);
        return client;
    }

    /** A problem is visible until the next connection has lasted for a second. */
    private void assertReady(VirtualWorld.Client client) {
        world.await("ready", 20_000, () -> status(client, 0).state() == NodeState.READY);
        world.runMs(1_500);
        assertNull(status(client, 0).problem(), status(client, 0)::toString);
    }

    private void awaitProblem(VirtualWorld.Client client, String text) {
        world.await(text, 60_000, () -> String.valueOf(status(client, 0).problem()).contains(text));
    }

    @AfterEach
    void noSecretIsLeft() {
        for (char[] secret : returned) {
            assertEquals("\0".repeat(secret.length), new String(secret), "an array of the provider");
        }
    }

    // ---- connections ------------------------------------------------------------------------------------------------

    @Test
    void eachConnectionUsesThePresentPassword() {
        VirtualWorld.Client client = connected();
        assertEquals(List.of("node-0:1"), askedFor);
        password = "second-secret";
        node(0).redis().password(USER, password);
        acquired(acquire(client, options())).close();
        node(0).breakConnections();
        assertReady(client);
        assertEquals(2, askedFor.size());
        lease(client);
    }

    @Test
    void aServerWithoutResp3GetsThePasswordInAuth() {
        world = new VirtualWorld(1);
        node(0).redis().onlyResp2();
        node(0).redis().password(USER, password);
        assertReady(client(context().credentials(node -> credentials())));
        assertEquals(1, node(0).redis().commandCount("AUTH"));
    }

    @Test
    void theDefaultUserHasAPasswordOnly() {
        world = new VirtualWorld(1);
        node(0).redis().password("default", "only");
        assertReady(client(context().credentials(node -> Credentials.of("only".toCharArray()))));
    }

    @Test
    void noAddressWithAPasswordIsAsked() {
        world = new VirtualWorld(1);
        Refusal.ofArgument("node address node-0:1 contains a password, and credentials() is set: a node has one source"
                + " of credentials; remove the password from the address, or do not set credentials()",
                () -> TestClient.conclude(
                        new RedlockContext().nodes("redis://app:" + WRONG + "@node-0:1").credentials(provider)));
        Refusal.ofNull("credentials provider is null", () -> new RedlockContext().credentials(null));
    }

    static Stream<Arguments> failures() {
        return Stream.of(
                Arguments.of("the credentials provider threw java.lang.IllegalStateException; its message is not shown"
                        + " because it may contain a secret, so log it in the provider", (CredentialsProvider) node -> {
                            throw new IllegalStateException("the token " + WRONG + " is refused");
                        }),
                Arguments.of("the credentials provider threw java.lang.StackOverflowError",
                        (CredentialsProvider) node -> {
                            throw new StackOverflowError();
                        }),
                Arguments.of("the credentials provider returned null; return Credentials, or throw an exception",
                        (CredentialsProvider) node -> null),
                Arguments.of("wrong Credentials: the password was cleared: the client clears each array after its use,"
                        + " so return a new one from each call",
                        (CredentialsProvider) node -> Credentials.of(USER, new char[12])),
                Arguments.of("wrong Credentials: the user is empty: give null for the default user",
                        (CredentialsProvider) node -> Credentials.of("", WRONG.toCharArray())),
                Arguments.of("wrong Credentials: the password contains half of a character: give text that UTF-8 can"
                        + " encode",
                        (CredentialsProvider) node -> Credentials.of(USER, (WRONG + '\ud83d').toCharArray())),
                Arguments.of("wrong Credentials: the user contains half of a character",
                        (CredentialsProvider) node -> Credentials.of("\udd12" + USER, WRONG.toCharArray())),
                Arguments.of("wrong Credentials: the password is longer than 16384 bytes, which no node accepts before"
                        + " the authentication: give a shorter one",
                        (CredentialsProvider) node -> Credentials.of(USER, WRONG.repeat(1_366).toCharArray())),
                Arguments.of("authentication failed: WRONGPASS; check the user and the password that the credentials"
                        + " provider returns",
                        (CredentialsProvider) node -> Credentials.of(USER, WRONG.toCharArray())));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void aFailureIsReportedWithoutTheSecretAndRetried(String problem, CredentialsProvider failing) {
        VirtualWorld.Client client = connected();
        try (LogLines log = new LogLines()) {
            provider = failing;
            node(0).breakConnections();
            awaitProblem(client, problem);
            assertEquals(NodeState.WAITING, status(client, 0).state());
            world.runMs(1);
            assertEquals(1, log.with(Level.WARNING, problem).size(), log.with("")::toString);
            assertEquals(List.of(), log.with(WRONG));
            assertFalse(status(client, 0).toString().contains(WRONG));
            provider = node -> credentials();
            assertReady(client);
        }
    }

    // ---- a provider that blocks -------------------------------------------------------------------------------------

    @Test
    void aProviderThatHangsIsInterruptedReportedAndNotCalledTwice() {
        VirtualWorld.Client client = connectedThenBlocking();
        node(0).breakConnections();
        world.runMs(9_000);
        assertEquals(NodeState.HANDSHAKING, status(client, 0).state());
        assertFalse(threads.get(0).isInterrupted());
        awaitProblem(client,
                "the credentials provider has not returned for 10000 ms; limit the time of its own requests");
        assertTrue(threads.get(0).isInterrupted());
        world.runMs(3_600_000);
        assertEquals(1, threads.size(), "threads in an hour");
        threads.get(0).run();
        assertReady(client);
        assertEquals(2, askedFor.size());
    }

    @Test
    void anInterruptedProviderIsCalledAgain() {
        VirtualWorld.Client client = connectedThenBlocking();
        node(0).breakConnections();
        world.runMs(12_000);
        assertTrue(threads.get(0).isInterrupted());
        provider = node -> {
            throw new InterruptedException();
        };
        threads.get(0).run();
        world.runMs(2_000);
        provider = node -> credentials();
        assertEquals(2, threads.size());
        threads.get(1).run();
        assertReady(client);
    }

    @Test
    void aLateResultServesTheNextConnection() {
        VirtualWorld.Client client = connectedThenBlocking();
        node(0).breakConnections();
        world.runMs(1_000);
        node(0).breakConnections();
        world.runMs(1_000);
        assertEquals(1, threads.size());
        threads.get(0).run();
        assertReady(client);
    }

    @Test
    void aResultWithoutAConnectionIsCleared() {
        VirtualWorld.Client client = connectedThenBlocking();
        node(0).breakConnections();
        world.runMs(1_000);
        node(0).crash();
        world.runMs(1_000);
        threads.get(0).run();
        world.runMs(10);
        assertEquals(2, returned.size());
        noSecretIsLeft();
    }

    @Test
    void closeInterruptsTheProvider() {
        VirtualWorld.Client client = connectedThenBlocking();
        node(0).breakConnections();
        world.runMs(1_000);
        client.engine().close(Duration.ofMillis(100));
        world.runMs(1_000);
        assertTrue(threads.get(0).isInterrupted());
        threads.get(0).run();
        world.runMs(10);
        assertEquals(2, returned.size());
    }

    @Test
    void aMachineWithoutThreadsIsReportedAndRetried() {
        VirtualWorld.Client client = connected();
        client.transport().threadStarter(thread -> {
            throw new OutOfMemoryError("unable to create native thread, thrown by a test");
        });
        node(0).breakConnections();
        awaitProblem(client, "the credentials provider cannot be called: java.lang.OutOfMemoryError");
        client.transport().threadStarter(FakeThread::run);
        assertReady(client);
    }

    // ---- authenticating again ---------------------------------------------------------------------------------------

    @Test
    void aLiveConnectionAuthenticatesAgain() {
        refreshAfter = Duration.ofSeconds(30);
        VirtualWorld.Client client = connected();
        Lease lease = lease(client);
        world.runMs(5_000);
        release(lease);
        password = "second-secret";
        node(0).redis().password(USER, password);
        world.runMs(100_000);
        assertEquals(3, node(0).redis().commandCount("AUTH"));
        assertEquals(4, askedFor.size());
        assertEquals(1, node(0).openedCount(), "connections");
        assertNull(status(client, 0).problem());
    }

    @Test
    void requestsInFlightAreNotDisturbed() {
        refreshAfter = Duration.ofSeconds(1);
        VirtualWorld.Client client = connected();
        node(0).delay(() -> 2_000_000);
        int acquiredCount = 0;
        for (int i = 0; i < 1_000; i++) {
            Lease lease = lease(client);
            acquiredCount += release(lease) == ReleaseOutcome.RELEASED ? 1 : 0;
        }
        assertEquals(1_000, acquiredCount);
        assertTrue(node(0).redis().commandCount("AUTH") >= 4, "AUTH: " + node(0).redis().commandCount("AUTH"));
        assertEquals(1, node(0).openedCount());
    }

    @Test
    void credentialsWithoutATimeAreUsedOnce() {
        VirtualWorld.Client client = connected();
        world.runMs(3_600_000);
        assertEquals(1, askedFor.size());
        assertEquals(0, node(0).redis().commandCount("AUTH"));
        assertReady(client);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRefusedReauthenticationKeepsTheConnectionAndIsReported(boolean isProviderFailing) {
        refreshAfter = Duration.ofSeconds(30);
        VirtualWorld.Client client = connected();
        try (LogLines log = new LogLines()) {
            node(0).redis().password(USER, "second-secret");
            provider = isProviderFailing ? node -> null : provider;
            world.runMs(40_000);
            String problem = "re-authentication failed, the connection keeps its last login: " + (isProviderFailing
                    ? "the credentials provider returned null"
                    : "WRONGPASS; check the user and the password that the credentials provider returns");
            assertTrue(status(client, 0).problem().startsWith(problem), status(client, 0)::toString);
            assertEquals(NodeState.READY, status(client, 0).state());
            lease(client).close();
            world.runMs(60_000);
            assertTrue(askedFor.size() > 10 && askedFor.size() < 45, "asked " + askedFor.size() + " times");
            assertTrue(log.with(Level.WARNING, "re-authentication failed").size() <= 2, log.with("")::toString);
            provider = node -> credentials();
            password = "second-secret";
            world.runMs(5_000);
            assertReady(client);
            world.runMs(1);
            assertEquals(1, log.with(Level.INFO, "re-authentication works again").size(), log.with("")::toString);
            assertEquals(1, node(0).openedCount());
        }
    }

    @Test
    void aLostConnectionEndsItsReauthentication() {
        refreshAfter = Duration.ofSeconds(30);
        VirtualWorld.Client client = connected();
        node(0).redis().password(USER, "second-secret");
        world.runMs(40_000);
        assertTrue(status(client, 0).problem().startsWith("re-authentication failed"));
        password = "second-secret";
        node(0).breakConnections();
        assertReady(client);
        int asked = askedFor.size();
        world.runMs(28_000);
        assertEquals(asked, askedFor.size(), "the next one is due 30 s after the connect");
    }

    @ParameterizedTest
    @CsvSource({"PT0S", "PT0.999999999S", "-PT1S", "PT8760H0.000000001S"})
    void theTimeToRefreshIsLimited(Duration time) {
        Refusal.ofArgument("refreshAfter " + time + " is out of range: 1 s to 365 days are allowed; do not set it to"
                + " keep each connection as it is",
                () -> Credentials.of(USER, new char[0]).refreshAfter(time));
    }

    @Test
    void nullIsRejectedWithItsName() {
        Refusal.ofNull("password is null", () -> Credentials.of(null));
        Refusal.ofNull("password is null", () -> Credentials.of(USER, null));
        Refusal.ofNull("user is null: omit it for the default user", () -> Credentials.of(null, new char[0]));
        Refusal.ofNull("refreshAfter is null: give a duration, or do not set it",
                () -> Credentials.of(new char[0]).refreshAfter(null));
    }

    @Test
    void textFormsShowNoSecret() {
        Credentials credentials = Credentials.of(USER, WRONG.toCharArray()).refreshAfter(Duration.ofSeconds(5));
        assertEquals("Credentials{refreshAfterNs=5000000000}", credentials.toString());
        assertEquals("Login", TestClient.loginText(credentials));
        RedlockContext context = new RedlockContext().nodes("redis://" + USER + ":" + WRONG + "@node-0:1");
        assertFalse((context + " " + TestClient.conclude(context)).contains(WRONG));
    }
}
