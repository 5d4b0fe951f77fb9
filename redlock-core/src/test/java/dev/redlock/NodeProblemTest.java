package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.NodeState;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import io.netty.buffer.ByteBuf;
import java.util.List;
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
        assertProblem(client(), "the server is a Sentinel", "configure the master's address");
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
