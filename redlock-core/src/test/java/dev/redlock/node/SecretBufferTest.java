package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SecretBufferTest {

    private final List<String> wiped = new ArrayList<>();

    /** Records its memory when it has been overwritten, which is before it is freed. */
    private final class Recorded extends SecretBuffer {
        Recorded(String secret) {
            super(64);
            writeCharSequence(secret, StandardCharsets.UTF_8);
        }

        @Override
        void wipe() {
            super.wipe();
            StringBuilder bytes = new StringBuilder();
            for (int i = 0; i < capacity(); i++) {
                bytes.append((char) _getByte(i));
            }
            wiped.add(bytes.toString());
        }
    }

    @Test
    void encodesACommandInUtf8() {
        SecretBuffer buffer = SecretBuffer.ofCommand("AUTH", CharBuffer.wrap("s\u00e9\ud83d\udd12".toCharArray()));
        assertEquals("*2\r\n$4\r\nAUTH\r\n$7\r\ns\u00e9\ud83d\udd12\r\n", buffer.toString(StandardCharsets.UTF_8));
        buffer.release();
    }

    @Test
    void hasRoomForTheLongestText() {
        for (String text : new String[]{"", "\u20ac".repeat(16_384), "x".repeat(16_384),
            "\ud83d\udd12".repeat(4_096)}) {
            SecretBuffer buffer = SecretBuffer.ofCommand("HELLO", "3", "AUTH", text, text, "SETNAME", text);
            int lengthBytes = text.getBytes(StandardCharsets.UTF_8).length;
            assertEquals(3 * lengthBytes, buffer.toString(StandardCharsets.UTF_8)
                    .replaceAll("[^\u20ac\ud83d\udd12x]", "")
                    .getBytes(StandardCharsets.UTF_8).length);
            buffer.release();
        }
    }

    @Test
    void doesNotGrow() {
        SecretBuffer buffer = new SecretBuffer(8);
        assertThrows(IndexOutOfBoundsException.class, () -> buffer.writeZero(9));
        buffer.release();
    }

    @Test
    void isOverwrittenByTheLastRelease() {
        Recorded buffer = new Recorded("secret");
        buffer.retain();
        buffer.release();
        assertEquals(List.of(), wiped, "another owner still reads it");
        buffer.release();
        assertEquals(List.of("\0".repeat(64)), wiped);
    }

    @Test
    void isOverwrittenWhenItsChannelClosesBeforeTheWrite() {
        EmbeddedChannel channel = new EmbeddedChannel();
        channel.write(new Recorded("secret"));
        channel.close();
        channel.runPendingTasks();
        assertEquals(List.of("\0".repeat(64)), wiped);
        channel.finishAndReleaseAll();
    }
}
