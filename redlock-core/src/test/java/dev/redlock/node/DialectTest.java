package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a node is taken for, from what it answers to the conditional commands. */
class DialectTest {

    private static final RespValue UNKNOWN = error("ERR unknown command 'x', with args beginning with: 'y'");
    private static final RespValue SYNTAX = error("ERR syntax error");
    private static final RespValue ZERO = RespValue.integer(0);
    private static final RespValue NULL = RespValue.nullOf(RespType.NULL);

    private static RespValue error(final String text) {
        return RespValue.text(RespType.SIMPLE_ERROR, text);
    }

    private static Dialect dialect(final CommandForm release, final CommandForm extend) {
        return new Dialect(release, extend);
    }

    private static void assertScripts(final RespValue delex, final RespValue delIfEqual, final RespValue setIfEqual) {
        assertEquals(Dialect.SCRIPTS, Dialect.of(delex, delIfEqual, setIfEqual));
    }

    @Test
    void eachCommandDecidesAboutItself() {
        assertEquals(dialect(CommandForm.DELEX, CommandForm.SET_IFEQ), Dialect.of(ZERO, UNKNOWN, NULL));
        assertEquals(dialect(CommandForm.DELIFEQ, CommandForm.SET_IFEQ), Dialect.of(UNKNOWN, ZERO, NULL));
        assertEquals(dialect(CommandForm.SCRIPT, CommandForm.SET_IFEQ), Dialect.of(UNKNOWN, UNKNOWN, NULL));
        assertEquals(dialect(CommandForm.DELIFEQ, CommandForm.SCRIPT), Dialect.of(UNKNOWN, ZERO, SYNTAX));
        assertEquals(dialect(CommandForm.DELEX, CommandForm.SCRIPT), Dialect.of(ZERO, ZERO, SYNTAX), "either will do");
        assertEquals(dialect(CommandForm.SCRIPT, CommandForm.SET_IFEQ),
                Dialect.of(UNKNOWN, UNKNOWN, RespValue.nullOf(RespType.BULK_STRING)), "null as RESP2 has it");
        assertScripts(UNKNOWN, UNKNOWN, SYNTAX);
    }

    @Test
    void whateverElseComesMeansScripts() {
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
    void whatIsLookedForAfterTheNameAndTheRightsShowsThatTheCommandIsThere(final String text) {
        assertEquals(dialect(CommandForm.DELEX, CommandForm.SET_IFEQ),
                Dialect.of(error(text), UNKNOWN, error(text)));
        assertEquals(dialect(CommandForm.DELIFEQ, CommandForm.SET_IFEQ),
                Dialect.of(UNKNOWN, error(text), error(text)));
        assertEquals(dialect(CommandForm.DELIFEQ, CommandForm.SCRIPT), Dialect.of(UNKNOWN, error(text), SYNTAX));
        assertScripts(UNKNOWN, UNKNOWN, error(text));
    }

    @Test
    void whatIsRefusedLaterLeavesTheOtherOne() {
        final Dialect both = dialect(CommandForm.DELIFEQ, CommandForm.SET_IFEQ);
        assertEquals(dialect(CommandForm.SCRIPT, CommandForm.SET_IFEQ), both.without(CommandForm.DELIFEQ));
        assertEquals(dialect(CommandForm.DELIFEQ, CommandForm.SCRIPT), both.without(CommandForm.SET_IFEQ));
        assertEquals(Dialect.SCRIPTS, both.without(CommandForm.SET_IFEQ).without(CommandForm.DELIFEQ));
        assertSame(CommandForm.DELIFEQ, both.without(CommandForm.DELEX).releaseForm());
    }
}
