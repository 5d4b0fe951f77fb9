package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The capabilities of a node follow from its replies to the conditional commands. */
class ServerCapabilitiesTest {

    private static final RespValue UNKNOWN = error("ERR unknown command 'x', with args beginning with: 'y'");
    private static final RespValue SYNTAX = error("ERR syntax error");
    private static final RespValue ZERO = RespValue.integer(0);
    private static final RespValue NULL = RespValue.nullOf(RespType.NULL);

    private static RespValue error(String text) {
        return RespValue.text(RespType.SIMPLE_ERROR, text);
    }

    private static ServerCapabilities capabilities(CommandEncoding release, CommandEncoding extend) {
        return new ServerCapabilities(release, extend, CommandEncoding.SCRIPT, ServerCapabilities.Pushes.OF_KEYS, null,
                null);
    }

    private static void assertScripts(RespValue delex, RespValue delIfEqual, RespValue setIfEqual) {
        assertEquals(ServerCapabilities.SCRIPTS, ServerCapabilities.of(delex, delIfEqual, setIfEqual, UNKNOWN));
    }

    @Test
    void eachCommandIsDetectedByItsOwnReply() {
        assertEquals(capabilities(CommandEncoding.DELEX, CommandEncoding.SET_IFEQ),
                ServerCapabilities.of(ZERO, UNKNOWN, NULL, UNKNOWN));
        assertEquals(capabilities(CommandEncoding.DELIFEQ, CommandEncoding.SET_IFEQ),
                ServerCapabilities.of(UNKNOWN, ZERO, NULL, UNKNOWN));
        assertEquals(capabilities(CommandEncoding.SCRIPT, CommandEncoding.SET_IFEQ),
                ServerCapabilities.of(UNKNOWN, UNKNOWN, NULL, UNKNOWN));
        assertEquals(capabilities(CommandEncoding.DELIFEQ, CommandEncoding.SCRIPT),
                ServerCapabilities.of(UNKNOWN, ZERO, SYNTAX, UNKNOWN));
        assertEquals(capabilities(CommandEncoding.DELEX, CommandEncoding.SCRIPT),
                ServerCapabilities.of(ZERO, ZERO, SYNTAX, UNKNOWN), "either will do");
        assertEquals(capabilities(CommandEncoding.SCRIPT, CommandEncoding.SET_IFEQ),
                ServerCapabilities.of(UNKNOWN, UNKNOWN, RespValue.nullOf(RespType.BULK_STRING), UNKNOWN),
                "null as RESP2 has it");
        assertScripts(UNKNOWN, UNKNOWN, SYNTAX);
    }

    @Test
    void anyOtherReplyMeansScripts() {
        assertScripts(null, null, null);
        assertScripts(RespValue.integer(1), RespValue.integer(1), RespValue.text(RespType.SIMPLE_STRING, "OK"));
        assertScripts(NULL, NULL, ZERO);
        assertScripts(RespValue.array(), RespValue.bulk("0"), RespValue.bulk(""));
        assertScripts(error("NOPERM User app has no permissions to run the 'delex' command"),
                error("NOPERM this user has no permissions to run the 'delifeq' command or its subcommand"),
                error("NOPERM User app has no permissions to run the 'set' command"));
        assertScripts(error("NOAUTH Authentication required."), error("ERR"), error(""));
    }

    @ParameterizedTest
    @ValueSource(strings = {"MISCONF Errors writing to the AOF file", "OOM command not allowed", "READONLY You can't",
        "NOREPLICAS Not enough good replicas to write.", "WRONGTYPE Operation against a key",
        "NOPERM No permissions to access a key",
        "NOPERM this user has no permissions to access one of the keys used as arguments"})
    void errorsOfLaterChecksProveThatTheCommandExists(String text) {
        assertEquals(capabilities(CommandEncoding.DELEX, CommandEncoding.SET_IFEQ),
                ServerCapabilities.of(error(text), UNKNOWN, error(text), UNKNOWN));
        assertEquals(capabilities(CommandEncoding.DELIFEQ, CommandEncoding.SET_IFEQ),
                ServerCapabilities.of(UNKNOWN, error(text), error(text), UNKNOWN));
        assertEquals(capabilities(CommandEncoding.DELIFEQ, CommandEncoding.SCRIPT),
                ServerCapabilities.of(UNKNOWN, error(text), SYNTAX, UNKNOWN));
        assertScripts(UNKNOWN, UNKNOWN, error(text));
    }

    @Test
    void msetexIsDetectedByItsOwnReply() {
        for (RespValue reply : new RespValue[]{ZERO, error("OOM command not allowed"), error("MOVED 5 a:1")}) {
            assertSame(CommandEncoding.MSETEX,
                    ServerCapabilities.of(UNKNOWN, UNKNOWN, SYNTAX, reply).setEncoding(), reply::toString);
        }
        for (RespValue reply : new RespValue[]{null, UNKNOWN, SYNTAX, NULL, RespValue.integer(1), RespValue.integer(-1),
            RespValue.text(RespType.SIMPLE_STRING, "OK"),
            error("NOPERM User app has no permissions to run the 'msetex' command")}) {
            assertSame(CommandEncoding.SCRIPT, ServerCapabilities.of(ZERO, ZERO, NULL, reply).setEncoding());
        }
        ServerCapabilities all = ServerCapabilities.of(ZERO, UNKNOWN, NULL, ZERO);
        assertEquals(ServerCapabilities.of(ZERO, UNKNOWN, NULL, UNKNOWN), all.without(CommandEncoding.MSETEX));
        assertSame(CommandEncoding.MSETEX, all.withWakeUpProblem("x").without(CommandEncoding.DELEX).setEncoding());
    }

    @Test
    void aCommandThatIsRejectedLaterLeavesTheOtherOne() {
        ServerCapabilities both = capabilities(CommandEncoding.DELIFEQ, CommandEncoding.SET_IFEQ);
        assertEquals(capabilities(CommandEncoding.SCRIPT, CommandEncoding.SET_IFEQ),
                both.without(CommandEncoding.DELIFEQ));
        assertEquals(capabilities(CommandEncoding.DELIFEQ, CommandEncoding.SCRIPT),
                both.without(CommandEncoding.SET_IFEQ));
        assertEquals(ServerCapabilities.SCRIPTS,
                both.without(CommandEncoding.SET_IFEQ).without(CommandEncoding.DELIFEQ));
        assertSame(CommandEncoding.DELIFEQ, both.without(CommandEncoding.DELEX).releaseEncoding());
    }
}
