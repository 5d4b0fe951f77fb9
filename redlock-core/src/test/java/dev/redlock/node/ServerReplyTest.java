package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The reply to TIME is two numbers, and anything else is rejected. */
class ServerReplyTest {

    private static RespValue value(String wire) {
        ByteBuf in = Unpooled.copiedBuffer(wire, StandardCharsets.UTF_8);
        return RespValueReader.readAll(in, RespLimits.defaults()).get(0);
    }

    @ParameterizedTest
    @CsvSource({"'*2\\r\\n$10\\r\\n1760000000\\r\\n$6\\r\\n123456\\r\\n', 1760000000123456",
        "'*2\\r\\n$1\\r\\n0\\r\\n$1\\r\\n7\\r\\n', 7",
        "'*2\\r\\n$10\\r\\n9223372035\\r\\n$6\\r\\n999999\\r\\n', 9223372035999999",
        "'*2\\r\\n$1\\r\\n1\\r\\n$1\\r\\n0\\r\\n', 1000000"})
    void readsAValidReply(String wire, long microseconds) {
        assertEquals(microseconds, ServerReply.microsecondsOf(value(unescaped(wire))));
    }

    @ParameterizedTest
    @CsvSource({"'*-1\\r\\n'", "'*0\\r\\n'", "'*1\\r\\n$1\\r\\n1\\r\\n'",
        "'*3\\r\\n$1\\r\\n1\\r\\n$1\\r\\n1\\r\\n$1\\r\\n1\\r\\n'",
        "'*2\\r\\n$1\\r\\nx\\r\\n$1\\r\\n1\\r\\n'", "'*2\\r\\n$1\\r\\n1\\r\\n$0\\r\\n\\r\\n'",
        "'*2\\r\\n$-1\\r\\n$1\\r\\n1\\r\\n'", "'*2\\r\\n*0\\r\\n$1\\r\\n1\\r\\n'", "'$1\\r\\n1\\r\\n'",
        "'-ERR no\\r\\n'", "'*2\\r\\n$2\\r\\n-1\\r\\n$1\\r\\n0\\r\\n'", "'*2\\r\\n$1\\r\\n1\\r\\n$2\\r\\n-1\\r\\n'",
        "'*2\\r\\n$1\\r\\n1\\r\\n$7\\r\\n1000000\\r\\n'", "'*2\\r\\n$10\\r\\n9223372036\\r\\n$1\\r\\n0\\r\\n'",
        "'+OK\\r\\n'", "'_\\r\\n'"})
    void returnsMinusOneForAnInvalidReply(String wire) {
        assertEquals(-1, ServerReply.microsecondsOf(value(unescaped(wire))));
    }

    private static String unescaped(String wire) {
        return wire.replace("\\r", "\r").replace("\\n", "\n");
    }
}
