package dev.redlock.resp.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.OracleComparison;
import dev.redlock.resp.RespCommand;
import dev.redlock.resp.RespLimits;
import dev.redlock.resp.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.ResourceLeakDetector;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Netty's leak detector, which the build sets to paranoid, reports no leak for any end of a connection. */
class BufferLeakTest {
    private static final long SEED = 20260101;
    private final Queue<String> leaks = new ConcurrentLinkedQueue<>();

    @BeforeEach
    void listen() {
        assertEquals(ResourceLeakDetector.Level.PARANOID, ResourceLeakDetector.getLevel());
        isLeakReported();
        leaks.clear();
        ByteBufUtil.setLeakListener((type, records) -> leaks.add(records));
    }

    @AfterEach
    void stopListening() {
        ByteBufUtil.setLeakListener(null);
    }

    /** Netty reports a leak when a buffer is allocated after the leaked one was garbage-collected. */
    private boolean isLeakReported() {
        for (int i = 0; i < 10 && leaks.isEmpty(); i++) {
            System.gc();
            for (int j = 0; j < 100; j++) {
                PooledByteBufAllocator.DEFAULT.directBuffer(16).release();
            }
        }
        return !leaks.isEmpty();
    }

    @Test
    void detectorReportsLeak() {
        leak();
        assertTrue(isLeakReported());
    }

    private static void leak() {
        PooledByteBufAllocator.DEFAULT.directBuffer(16).writeByte(1);
    }

    @Test
    void handlerLeaksNoBuffers() {
        System.out.println("BufferLeakTest seed " + SEED);
        Random random = new Random(SEED);
        for (String ending : List.of("", "$9\r\nab", ":12", ":x\r\n", "$20000\r\n" + "x".repeat(5000),
                "*2\r\n|1\r\n+k")) {
            for (int i = 0; i < 50; i++) {
                String wire = ":1\r\n$3\r\nabc\r\n".repeat(random.nextInt(30)) + ending;
                OracleComparison.handled(Wire.bytes(wire), RespLimits.defaults(), random);
            }
        }
        assertFalse(isLeakReported(), leaks::toString);
    }

    @Test
    void clientLeaksNoBuffers() {
        for (int i = 0; i < 50; i++) {
            EmbeddedChannel channel = new EmbeddedChannel();
            RespClient client = RespClient.attach(channel, RespLimits.defaults(), 2, push -> {
            });
            for (int j = 0; j < 4; j++) {
                client.send("PING");
            }
            channel.runPendingTasks();
            for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
                out.release();
            }
            channel.writeInbound(channel.alloc().buffer().writeBytes(Wire.bytes("+PONG\r\n+PO")));
            client.send("PING");
            channel.finishAndReleaseAll();
            client.send("PING");
        }
        assertFalse(isLeakReported(), leaks::toString);
    }

    @Test
    void rejectedCommandsLeakNoBuffers() {
        EmbeddedChannel channel = new EmbeddedChannel();
        RespClient client = RespClient.attach(channel, RespLimits.defaults(), 2, push -> {
        });
        RespCommand withArgument = RespCommand.template("GET").argument().end();
        for (int i = 0; i < 50; i++) {
            assertThrows(NullPointerException.class, () -> client.send("GET", null));
            assertThrows(NullPointerException.class,
                    () -> client.sendTogether(List.of(List.of("MULTI"), Arrays.asList("GET", null))));
            assertThrows(IllegalStateException.class, () -> client.send(withArgument));
        }
        channel.finishAndReleaseAll();
        assertFalse(isLeakReported(), leaks::toString);
    }
}
