package dev.redlock.resp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RespWriterTest {
    private static String written(Consumer<ByteBuf> writer) {
        ByteBuf out = Unpooled.buffer(1);
        writer.accept(out);
        return Wire.text(out);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 9, 10, 99, 100, 30_000, 9_999_999, 99_999_999, 100_000_000, 100_000_001,
        1_000_000_000_000L, 9_999_999_999_999_999L, 10_000_000_000_000_000L, Long.MAX_VALUE})
    void writesIntegers(long value) {
        for (long signed : new long[]{value, -value, Long.MIN_VALUE + value}) {
            String text = Long.toString(signed);
            assertEquals(text.length(), RespWriter.integerLength(signed));
            assertEquals(":" + text + "\r\n", written(out -> RespWriter.integer(out, signed)));
            assertEquals("$" + text.length() + "\r\n" + text + "\r\n",
                    written(out -> RespWriter.bulkInteger(out, signed)));
        }
    }

    @Test
    void writesCommandFromTemplate() {
        RespCommand set = RespCommand.template("SET").argument().argument(4).words("NX", "PX").argument().end();
        String wire = written(out -> {
            set.part(0, out);
            RespWriter.bulkString(out, "clé");
            set.part(1, out);
            out.writeInt(0x61626364);
            set.part(2, out);
            RespWriter.bulkInteger(out, 30_000);
            set.part(3, out);
        });
        assertEquals("*6\r\n$3\r\nSET\r\n$4\r\ncl\u00c3\u00a9\r\n$4\r\nabcd\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n",
                wire);
        assertEquals(3, set.argumentCount());
        assertEquals(6, set.wordCount());
    }

    @Test
    void writesConstantCommand() {
        assertEquals("*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", written(RespCommand.of("HELLO", "3")::writeTo));
        RespCommand get = RespCommand.template("GET").argument().end();
        assertThrows(IllegalStateException.class, () -> written(get::writeTo));
    }

    @Test
    void rejectsValuesWithoutWireForm() {
        assertThrows(IllegalArgumentException.class,
                () -> written(out -> RespWriter.textLine(out, RespType.SIMPLE_STRING, "a\nb")));
        assertThrows(IllegalArgumentException.class, () -> written(out -> RespWriter.bigNumber(out, "1.5")));
        assertThrows(IllegalArgumentException.class,
                () -> written(out -> RespWriter.aggregateHeader(out, RespType.INTEGER, 1)));
    }
}
