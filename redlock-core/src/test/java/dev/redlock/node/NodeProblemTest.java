package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.resp.RespValue;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.Locale;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each common mistake has a problem text with its fix, and the log shows it once a minute, with the right level. */
class NodeProblemTest extends VirtualTest {

    private static final int MINUTES = 3;

    private static void assertProblem(VirtualWorld.Client client, String... parts) {
        NodeStatus status = status(client, 0);
        assertEquals(NodeState.WAITING, status.state(), status::toString);
        for (String part : parts) {
            assertTrue(String.valueOf(status.problem()).contains(part), status::toString);
        }
    }

    /** A Redis server at its limit replies before it reads, and closes the connection. */
    private static FakeNode.Hostility atMaxClients() {
        return new FakeNode.Hostility() {
            @Override
            public void onOpened(FakeNode.Wire wire) {
                wire.send("-ERR max number of clients reached\r\n");
                wire.disconnect();
            }

            @Override
            public void onRequest(FakeNode.Wire wire, List<String> words, ByteBuf honest) {
                honest.release();
            }
        };
    }

    private static FakeNode.Hostility hangingUpInTheHandshake() {
        return (wire, words, honest) -> {
            if (words.get(0).equals("INFO")) {
                wire.disconnect();
            } else {
                wire.send(honest);
            }
        };
    }

    @ParameterizedTest
    @CsvSource({"false, redis://app:wrong@node-0:1, WRONGPASS, check the user and the password",
        "true, redis://app:wrong@node-0:1, WRONGPASS, check the user and the password",
        "false, node-0:1, NOAUTH, add user and password to the node's address"})
    void aFailedAuthenticationShowsTheErrorAndTheFixAndIsLoggedAsAWarning(boolean isResp2, String address,
            String code, String fix) {
        world = new VirtualWorld(1);
        node(0).redis().password("app", "right");
        if (isResp2) {
            node(0).redis().onlyResp2();
        }
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client(new RedlockContext().nodes(address));
            assertProblem(client, "authentication failed: " + code, fix);
            assertFalse(status(client, 0).toString().contains("wrong"), "no password in the text");
            assertEquals(1, log.with(Level.WARNING, "): authentication failed: " + code).size());
        }
    }

    @Test
    void aReplicaIsRejectedWithItsRoleAndTheFix() {
        world = new VirtualWorld(1);
        node(0).redis().role("slave");
        assertProblem(client(), "role is slave", "a node must be an independent master",
                "configure the address of one");
    }

    @Test
    void aSentinelIsRejectedWithTheFix() {
        world = new VirtualWorld(1);
        node(0).redis().modeField("redis_mode:sentinel");
        assertProblem(client(), "the server is a Sentinel", "redis-sentinel://host:port/name");
    }

    @Test
    void aServerAtItsConnectionLimitIsRejectedWithTheFix() {
        world = new VirtualWorld(1);
        node(0).hostility(atMaxClients());
        VirtualWorld.Client client = client();
        assertProblem(client, "max number of clients reached", "raise maxclients on the node");
        node(0).hostility(null);
        world.await("connected after the fix", 6_000, () -> status(client, 0).state() == NodeState.READY);
    }

    @Test
    void aNodeThatVotesAgainAfterAProblemIsLogged() {
        world = new VirtualWorld(1);
        node(0).redis().role("slave");
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            assertEquals(0, log.with("votes again").size());
            node(0).redis().role("master");
            world.await("promoted", 6_000, () -> status(client, 0).state() == NodeState.READY);
            world.runMs(1);
            assertNull(status(client, 0).problem());
            assertEquals(1, log.with(Level.INFO, "the node votes again").size(), log.with("node 0")::toString);
        }
    }

    private void deny(String command, String error) {
        world = new VirtualWorld(1);
        node(0).redis().denyInProbe(command, error);
    }

    /** The errors are those of Redis 6.2, 7.0 and 7.2, and of Valkey. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "DEL | NOPERM The user executing the script can't run this command or subcommand",
        "GET | ERR The user executing the script can't run this command or subcommand",
        "MGET | ERR User app has no permissions to run the 'mget' command",
        "PEXPIRE | NOPERM User app has no permissions to run the 'pexpire' command"})
    void aUserWithoutARightOfALockIsRejectedWithTheRight(String command, String error) {
        deny(command, error);
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            String problem = "the user may not run " + command + ", which a lock needs: allow it with ACL SETUSER USER"
                    + " +" + command.toLowerCase(Locale.ROOT);
            assertProblem(client, problem);
            assertFalse(client.redlock().isQuorumAvailable());
            world.runMs(50_000);
            assertEquals(1, log.with(Level.WARNING, "): " + problem).size(), log.with("node 0")::toString);
            node(0).redis().denyInProbe(command, null);
            world.await("allowed", 6_000, () -> status(client, 0).state() == NodeState.READY);
            assertNull(status(client, 0).problem());
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"DEL | ERR Unknown Redis command called from script",
        "PTTL | @user_script: 7: Unknown Redis command called from Lua script"})
    void aRenamedCommandIsRejectedWithTheFix(String command, String error) {
        deny(command, error);
        assertProblem(client(), "the server has no command " + command + ", which a lock needs: remove"
                + " \"rename-command " + command + "\" from its configuration");
    }

    /** These errors say nothing about rights: the node may vote. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"DEL | MISCONF Redis is configured to save RDB snapshots",
        "SET | OOM command not allowed when used memory > 'maxmemory'.",
        "DEL | ERR Script attempted to access a non local key in a cluster node",
        "GET | ERR script tried accessing undeclared key"})
    void anErrorOfTheStateOfTheServerIsNoMissingRight(String command, String error) {
        deny(command, error);
        VirtualWorld.Client client = client();
        assertEquals(NodeState.READY, status(client, 0).state());
        assertNull(status(client, 0).problem());
    }

    /** The key of the probe may be outside of the user's pattern, in which all locks are. */
    @Test
    void aKeyOutsideOfThePatternIsNoMissingRightUnlessTheUserMaySetIt() {
        String forbidden = "NOPERM No permissions to access a key";
        deny("GET", forbidden);
        node(0).redis().denyInProbe("SET", forbidden);
        VirtualWorld.Client client = client();
        assertEquals(NodeState.READY, status(client, 0).state());
        node(0).redis().denyInProbe("SET", null);
        node(0).breakConnections();
        world.runMs(2_000);
        assertProblem(client, "the user may set keys, but may not run GET on them, which a lock needs: give it the key"
                + " pattern with ~, not with %W~");
    }

    /** Readers have no votes, and the log says why; plain locks have them. */
    @Test
    void aUserWithoutARightOfReadersHasNoVotesForThemOnly() {
        deny("ZREM", "NOPERM User app has no permissions to run the 'zrem' command");
        VirtualWorld.Client client = client();
        try (LogLines log = new LogLines()) {
            for (AcquireOptions options : List.of(options().forReading(), options().forWriting())) {
                AcquireOutcome outcome = acquire(client, options);
                assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
                assertEquals("failed: NOPERM", outcome.voteText(0));
            }
            assertEquals(0, keyCount());
            String line = "no votes for readers and writers: the user may not run ZREM";
            assertEquals(1, log.with(Level.WARNING, line).size(), log.with("node 0")::toString);
        }
        release(lease(client));
        assertNull(status(client, 0).problem());
    }

    @ParameterizedTest
    @CsvSource({"volatile-lru, 1000, true", "allkeys-random, 1000, true", "noeviction, 1000, false",
        "allkeys-lru, 0, false"})
    void aServerThatMayEvictLocksVotesWithAWarning(String policy, long maxMemory, boolean isShown) {
        world = new VirtualWorld(1);
        node(0).redis().eviction(maxMemory, policy);
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            String problem = "maxmemory-policy is " + policy + " and maxmemory 1000 bytes, so the server may evict held"
                    + " locks: set maxmemory-policy noeviction";
            assertEquals(NodeState.READY, status(client, 0).state());
            assertEquals(isShown ? problem : null, status(client, 0).problem());
            assertEquals(isShown ? 1 : 0, log.with(Level.WARNING, problem).size(), log.with("node 0")::toString);
            release(lease(client));
            node(0).redis().eviction(0, policy);
            node(0).breakConnections();
            world.await("connected for long enough", 20_000, () -> status(client, 0).problem() == null
                    && status(client, 0).state() == NodeState.READY);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"OFF | which shows the identity and the role of the server",
        "UPTIME | which the restart guard needs, and which shows the role of the server"})
    void aUserWithoutInfoIsRejectedWithTheNeed(RestartGuardMode mode, String need) {
        world = new VirtualWorld(1);
        node(0).redis().failNext("INFO", "NOPERM User app has no permissions to run the 'info' command", 99);
        assertProblem(client(context().restartGuard(mode)), "INFO failed: NOPERM; allow the command, " + need);
    }

    @Test
    void aServerWithoutAnIdentityIsRejectedWithTheMissingField() {
        world = new VirtualWorld(1);
        node(0).redis().answer("INFO server", RespValue.bulk("# Server\r\nuptime_in_seconds:86400\r\n"));
        VirtualWorld.Client client = client();
        assertProblem(client, "INFO server has no valid run_id, by which the client recognizes a restart and two"
                + " addresses of one server: the server is not supported, or a proxy replies; use Redis 6.2 or newer,"
                + " or Valkey, and its own address");
        node(0).redis().answer("INFO server", RespValue.bulk("# Server\r\nrun_id:abc\r\n"));
        world.runMs(6_000);
        assertProblem(client, "INFO server has no valid uptime_in_seconds");
    }

    /** The reply of the server to the first command, or its greeting. */
    @ParameterizedTest
    @CsvSource({"HTTP/1.1 400 Bad Request, the server replies with HTTP: write the host and the port of Redis",
        "SSH-2.0-OpenSSH_9.2, the server replies with SSH: write the host and the port of Redis",
        "ERROR, the server does not speak the protocol of Redis: check the host and the port in the address"})
    void aServerOfAnotherKindIsAWarningWithTheFix(String text, String fix) {
        world = new VirtualWorld(1);
        node(0).hostility((wire, words, honest) -> {
            honest.release();
            wire.send(text + "\r\n");
        });
        try (LogLines log = new LogLines()) {
            assertProblem(client(), fix);
            world.runMs(50_000);
            assertEquals(1, log.with(Level.WARNING, "): " + fix).size(), log.with("node 0")::toString);
        }
    }

    @Test
    void aNodeWithoutAProblemIsNotLogged() {
        try (LogLines log = new LogLines()) {
            world(3);
            world.runMs(60_000);
            assertEquals(List.of(), log.with("node "));
        }
    }

    /** The JDK's message is shorter when its cache replies. */
    @Test
    void anUnknownHostHasOneTextWhateverTheResolversMessage() {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client();
        int[] count = {0};
        client.transport().unknownHostText(host -> count[0]++ % 2 == 0 ? host + ": Name or service not known" : host);
        client.transport().resolver((found, answer) -> answer.accept(null));
        world.runMs(2_000);
        try (LogLines log = new LogLines()) {
            node(0).breakConnections();
            world.runMs(30_000);
            assertTrue(count[0] > 10, "look-ups: " + count[0]);
            assertProblem(client, "unknown host node-0", "check the address and the DNS");
            assertEquals(1, log.with("): host name look-up failed: unknown host").size(), log.with("node 0")::toString);
        }
    }

    @Test
    void aServerThatHangsUpInEachHandshakeIsLoggedOnceAMinute() {
        assertLoggedOnceAMinute(hangingUpInTheHandshake(), "the server closed the connection");
    }

    @Test
    void aServerAtItsConnectionLimitIsLoggedOnceAMinute() {
        assertLoggedOnceAMinute(atMaxClients(), "max number of clients reached");
    }

    private void assertLoggedOnceAMinute(FakeNode.Hostility hostility, String text) {
        world = new VirtualWorld(1);
        node(0).hostility(hostility);
        try (LogLines log = new LogLines()) {
            client();
            world.runMs(MINUTES * 60_000 + 10_000);
            List<String> lines = log.with("): " + text);
            assertTrue(lines.size() == MINUTES || lines.size() == MINUTES + 1, lines::toString);
            assertTrue(lines.get(1).contains("more lines about this node were left out"), lines::toString);
        }
    }
}
