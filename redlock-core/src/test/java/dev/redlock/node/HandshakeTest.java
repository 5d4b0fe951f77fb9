package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The parts of a handshake that need no connection. */
class HandshakeTest {

    private static final String INFO = "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\nuptime_in_seconds:12\r\n"
            + "config_file:\r\nexecutable:/a:b\r\nmy_run_id:no\r\n";

    @ParameterizedTest
    @CsvSource({"run_id, abc", "uptime_in_seconds, 12", "redis_version, 7.0.15", "executable, /a:b"})
    void findsAFieldOfInfo(String name, String value) {
        assertEquals(value, ServerReply.field(INFO, name));
    }

    @ParameterizedTest
    @CsvSource({"run", "un_id", "RUN_ID", "role", "# Server"})
    void returnsNullForAMissingFieldOfInfo(String name) {
        assertNull(ServerReply.field(INFO, name));
    }

    @Test
    void findsEmptyFieldsAndNoneInEmptyInfo() {
        assertEquals("", ServerReply.field(INFO, "config_file"));
        assertNull(ServerReply.field("", "run_id"));
        assertEquals("x", ServerReply.field("run_id:x", "run_id"), "without a line end");
    }
}
