package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.time.TimerWheel;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.local.LocalIoHandler;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Commands without direct memory are reported as not sent. */
class FanOutTest {

    private final ManualIoEventLoop loop = new ManualIoEventLoop(Thread.currentThread(), LocalIoHandler.newFactory());
    private final ScarceAllocator allocator = new ScarceAllocator();
    private final List<String> reported = new ArrayList<>();
    private final FanOut fanOut = fanOut();

    private static final class ScarceAllocator extends AbstractByteBufAllocator {
        private boolean isExhausted;

        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }

        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
            return Unpooled.buffer(initialCapacity, maxCapacity);
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
            if (isExhausted) {
                throw new OutOfMemoryError("direct memory is used up, thrown by a test");
            }
            return UnpooledByteBufAllocator.DEFAULT.directBuffer(initialCapacity, maxCapacity);
        }
    }

    private final class ReportedRequest extends StubRequest {
        private final String name;

        ReportedRequest(String name) {
            super("$1\r\n" + name + "\r\n", 1_000);
            this.name = name;
        }

        @Override
        public void onFailed(int nodeIndex, CommandKind kind, int sequence,
                VoteFailure failure) {
            reported.add(name + " " + nodeIndex);
        }
    }

    private FanOut fanOut() {
        SendContext context = new SendContext(System::nanoTime, new TimerWheel(0, deadlineNs -> {
        }), new SplittableRandom(1), new Arrivals(), new WaiterName(new byte[WaiterName.LENGTH]),
                new SendContext.Limits(16, 0, 0));
        FanOut created = new FanOut(loop, new DirectBuffers(loop, allocator, System::nanoTime), 2, 64);
        for (int i = 0; i < 2; i++) {
            created.add(new CommandSender(new NodeStatistics(i), context, created, null, null));
        }
        return created;
    }

    /** JUnit stops at an OutOfMemoryError instead of reporting a failed test. */
    private static void withoutMemory(Runnable test) {
        try {
            test.run();
        } catch (OutOfMemoryError e) {
            throw new AssertionError("thrown to the caller", e);
        }
    }

    @AfterEach
    void close() {
        fanOut.close();
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
        loop.runNow();
    }

    @Test
    void aCommandWithoutMemoryIsReportedAsNotSent() {
        allocator.isExhausted = true;
        withoutMemory(() -> fanOut.send(new ReportedRequest("a"), CommandKind.ACQUIRE, 0, 3));
        assertEquals(List.of("a 0", "a 1"), reported);
    }

    @Test
    void releasesWithoutMemoryAreReportedAsNotSentAndLaterOnesAreSent() {
        allocator.isExhausted = true;
        fanOut.release(new ReportedRequest("a"), CommandKind.RELEASE, 3);
        fanOut.release(new ReportedRequest("b"), CommandKind.RELEASE, 3);
        withoutMemory(loop::runNow);
        assertEquals(List.of("a 0", "b 0", "a 1", "b 1"), reported);
        reported.clear();
        allocator.isExhausted = false;
        fanOut.release(new ReportedRequest("c"), CommandKind.RELEASE, 3);
        loop.runNow();
        assertEquals(List.of("c 0", "c 1"), reported, "the turn after that ends like any other");
    }

    /** The next command would be read as the rest of it. */
    @ParameterizedTest
    @EnumSource(value = LockKind.class, names = {"PLAIN", "SET"})
    void nothingIsSentOfACommandThatCannotBeWritten(LockKind lock) {
        StubRequest broken = new StubRequest("$1\r\na\r\n", 1_000) {
            @Override
            public LockKind lockKind() {
                return lock;
            }

            @Override
            public byte[] resourceBulk() {
                if (fanOut.batch.writerIndex() > 0) {
                    throw new IllegalStateException("thrown by a test");
                }
                return super.resourceBulk();
            }
        };
        assertThrows(IllegalStateException.class, () -> fanOut.send(broken, CommandKind.RELEASE, 0, 3));
        assertEquals(0, fanOut.batch.writerIndex());
    }

    /** A fenced set of the longest names is longer than the buffer that is used again. */
    @Test
    void aCommandThatIsLongerThanTheUsedBufferGetsALongerOne() {
        DirectBuffers buffers = new DirectBuffers(loop, allocator, System::nanoTime);
        SharedBatch batch = new SharedBatch(buffers, new NodeConnection[0]);
        for (int usedBytes : new int[]{0, 5}) {
            batch.withRoom(5).writeZero(usedBytes);
            int longBytes = batch.withRoom(0).capacity() + 1;
            assertTrue(batch.withRoom(longBytes).writableBytes() >= longBytes, "after " + usedBytes + " bytes");
        }
        batch.free();
    }

    @Test
    void writesTheTimeCommand() {
        ByteBuf out = UnpooledByteBufAllocator.DEFAULT.directBuffer(SharedBatch.TIME_BYTES);
        SharedBatch.TIME.writeTo(out);
        assertEquals("*1\r\n$4\r\nTIME\r\n", out.toString(StandardCharsets.US_ASCII));
        out.release();
    }
}
