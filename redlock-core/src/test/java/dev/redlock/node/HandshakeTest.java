package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HandshakeTest {

    private static final String INFO = "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\nuptime_in_seconds:12\r\n"
            + "config_file:\r\nexecutable:/a:b\r\nmy_run_id:no\r\n";

    @ParameterizedTest
    @CsvSource({"run_id, abc", "uptime_in_seconds, 12", "redis_version, 7.0.15", "executable, /a:b"})
    void findsAFieldOfInfo(final String name, final String value) {
        assertEquals(value, Handshake.field(INFO, name));
    }

    @ParameterizedTest
    @CsvSource({"run", "un_id", "RUN_ID", "role", "# Server"})
    void aFieldThatIsNotThereIsNull(final String name) {
        assertNull(Handshake.field(INFO, name));
    }

    @Test
    void anEmptyFieldIsEmptyAndEmptyInfoHasNone() {
        assertEquals("", Handshake.field(INFO, "config_file"));
        assertNull(Handshake.field("", "run_id"));
        assertEquals("x", Handshake.field("run_id:x", "run_id"), "without a line end");
    }

    private static RespValue value(final String wire) {
        final ByteBuf in = Unpooled.copiedBuffer(wire, StandardCharsets.UTF_8);
        return RespValueReader.readAll(in, RespLimits.defaults()).get(0);
    }

    @ParameterizedTest
    @CsvSource({"'*2\\r\\n$10\\r\\n1760000000\\r\\n$6\\r\\n123456\\r\\n', 1760000000123456",
        "'*2\\r\\n$1\\r\\n0\\r\\n$1\\r\\n7\\r\\n', 7",
        "'*2\\r\\n$10\\r\\n9223372035\\r\\n$6\\r\\n999999\\r\\n', 9223372035999999",
        "'*2\\r\\n$1\\r\\n1\\r\\n$1\\r\\n0\\r\\n', 1000000"})
    void readsTheAnswerToTime(final String wire, final long microseconds) {
        assertEquals(microseconds, Handshake.microsecondsOf(value(unescaped(wire))));
    }

    @ParameterizedTest
    @CsvSource({"'*-1\\r\\n'", "'*0\\r\\n'", "'*1\\r\\n$1\\r\\n1\\r\\n'",
        "'*3\\r\\n$1\\r\\n1\\r\\n$1\\r\\n1\\r\\n$1\\r\\n1\\r\\n'",
        "'*2\\r\\n$1\\r\\nx\\r\\n$1\\r\\n1\\r\\n'", "'*2\\r\\n$1\\r\\n1\\r\\n$0\\r\\n\\r\\n'",
        "'*2\\r\\n$-1\\r\\n$1\\r\\n1\\r\\n'", "'*2\\r\\n*0\\r\\n$1\\r\\n1\\r\\n'", "'$1\\r\\n1\\r\\n'",
        "'-ERR no\\r\\n'", "'*2\\r\\n$2\\r\\n-1\\r\\n$1\\r\\n0\\r\\n'", "'*2\\r\\n$1\\r\\n1\\r\\n$2\\r\\n-1\\r\\n'",
        "'*2\\r\\n$1\\r\\n1\\r\\n$7\\r\\n1000000\\r\\n'", "'*2\\r\\n$10\\r\\n9223372036\\r\\n$1\\r\\n0\\r\\n'",
        "'+OK\\r\\n'", "'_\\r\\n'"})
    void whatIsNoTimeIsMinusOne(final String wire) {
        assertEquals(-1, Handshake.microsecondsOf(value(unescaped(wire))));
    }

    private static String unescaped(final String wire) {
        return wire.replace("\\r", "\r").replace("\\n", "\n");
    }

    @Test
    void asksForTheTime() {
        final ByteBuf out = UnpooledByteBufAllocator.DEFAULT.directBuffer(Handshake.TIME_BYTES);
        Handshake.writeTime(out);
        assertEquals("*1\r\n$4\r\nTIME\r\n", out.toString(StandardCharsets.US_ASCII));
        out.release();
    }
}
