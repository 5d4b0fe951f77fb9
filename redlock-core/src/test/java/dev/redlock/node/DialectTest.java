package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a node is taken for, from what it answers. */
class DialectTest {

    private static final RespValue KNOWN = RespValue.array(RespValue.bulk("name"), RespValue.integer(-2));
    private static final RespValue UNKNOWN = RespValue.nullOf(RespType.ARRAY);

    @Test
    void theCommandsThemselvesDecide() {
        assertEquals(Dialect.REDIS_8_4, Dialect.of(RespValue.array(KNOWN, UNKNOWN), null));
        assertEquals(Dialect.VALKEY_9_0, Dialect.of(RespValue.array(UNKNOWN, KNOWN), "7.2.4"));
        assertEquals(Dialect.SCRIPTS, Dialect.of(RespValue.array(UNKNOWN, UNKNOWN), null));
        assertEquals(Dialect.SCRIPTS, Dialect.of(RespValue.array(RespValue.nullOf(RespType.NULL)), null));
    }

    @Test
    void whateverElseComesMeansScripts() {
        assertEquals(Dialect.SCRIPTS, Dialect.of(null, null));
        assertEquals(Dialect.SCRIPTS, Dialect.of(RespValue.text(RespType.SIMPLE_ERROR, "NOPERM no COMMAND"), null));
        assertEquals(Dialect.SCRIPTS, Dialect.of(RespValue.array(), null));
        assertEquals(Dialect.SCRIPTS, Dialect.of(RespValue.nullOf(RespType.ARRAY), null));
        assertEquals(Dialect.SCRIPTS, Dialect.of(RespValue.array(RespValue.bulk("delex"), RespValue.integer(1)), null));
        assertEquals(Dialect.SCRIPTS, Dialect.of(RespValue.integer(7), null));
    }

    @ParameterizedTest
    @CsvSource({"8.1.0, VALKEY_8_1", "8.1, VALKEY_8_1", "8.10.2, VALKEY_8_1", "9.0.0-rc1, VALKEY_8_1",
        "10.0.0, VALKEY_8_1",
        "8.0.9, SCRIPTS", "7.2.4, SCRIPTS", "255.255.255, VALKEY_8_1", "eight, SCRIPTS", "8, SCRIPTS", "'', SCRIPTS",
        "99999999999.1, SCRIPTS", "8.1x, SCRIPTS"})
    void valkeyWithoutConditionalDeletesIsToldByItsVersion(final String version, final Dialect expected) {
        assertEquals(expected, Dialect.of(RespValue.array(UNKNOWN, UNKNOWN), version));
        assertEquals(expected, Dialect.of(RespValue.text(RespType.SIMPLE_ERROR, "NOPERM"), version));
    }
}
