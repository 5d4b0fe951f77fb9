package dev.redlock.loadtest.codec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.redlock.resp.RespCommand;
import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import dev.redlock.resp.RespVisitor;
import dev.redlock.resp.RespWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** The claim "allocates nothing", counted by the JVM. */
class CodecAllocationTest {
    private static final int ROUNDS = 20_000;
    /** What the counting itself and a class loaded late may cost; far below one byte for each round. */
    private static final long NOISE_BYTES = 10_000;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private void allocatesNothing(Runnable work) {
        for (int i = 0; i < 100; i++) {
            work.run();
        }
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < ROUNDS; i++) {
            work.run();
        }
        long bytes = threads.getCurrentThreadAllocatedBytes() - before;
        assertTrue(bytes < NOISE_BYTES, bytes + " bytes in " + ROUNDS + " rounds");
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    @Test
    void theCounterCounts() {
        byte[][] kept = new byte[1][];
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < ROUNDS; i++) {
            kept[0] = new byte[16];
        }
        assertTrue(threads.getCurrentThreadAllocatedBytes() - before > ROUNDS);
    }

    @Test
    void readingValues() {
        Total total = new Total();
        RespParser parser = RespParser.forReplies(RespLimits.defaults());
        String integers = ":1\r\n".repeat(9) + ":12345\r\n:-29987\r\n:9223372036854775807\r\n";
        String scalars = "-ERR no\r\n$3\r\nabc\r\n$-1\r\n_\r\n#t\r\n,1.5\r\n(12\r\n=7\r\ntxt:abc\r\n";
        String nested = "%1\r\n+a\r\n*2\r\n:1\r\n~0\r\n>1\r\n+p\r\n:7\r\n";
        ByteBuf wire = Unpooled.wrappedBuffer(bytes(integers + scalars + nested));
        allocatesNothing(() -> {
            wire.readerIndex(0);
            parser.parse(wire, total);
        });
        assertEquals((ROUNDS + 100L) * 22, total.replies);
    }

    @Test
    void writingACommand() {
        RespCommand acquire = RespCommand.template("EVALSHA", "sha", "1").argument().argument(4).argument().end();
        byte[] resource = bytes("resource");
        byte[] token = bytes("abcd");
        ByteBuf out = Unpooled.buffer(256);
        allocatesNothing(() -> {
            out.clear();
            acquire.part(0, out);
            RespWriter.bulkString(out, resource);
            acquire.part(1, out);
            out.writeBytes(token);
            acquire.part(2, out);
            RespWriter.bulkInteger(out, 1_234_567_890_123L);
            acquire.part(3, out);
        });
    }

    /** Counts replies and touches what it is given. */
    private static final class Total implements RespVisitor {
        private long sum;
        private long replies;

        @Override
        public void onInteger(long value) {
            sum += value;
        }

        @Override
        public void onSimpleError(ByteBuf buf, int index, int length) {
            sum += buf.getByte(index);
        }

        @Override
        public void onReplyEnd() {
            replies++;
        }
    }
}
