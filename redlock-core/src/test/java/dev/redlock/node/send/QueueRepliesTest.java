package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import dev.redlock.time.TimerWheel;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.local.LocalIoHandler;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The replies to the commands about the queue of the waiting clients. */
class QueueRepliesTest {

    private final ManualIoEventLoop loop = new ManualIoEventLoop(Thread.currentThread(), LocalIoHandler.newFactory());
    private final List<String> replies = new ArrayList<>();
    private final RequestRing ring = new RequestRing(16);
    private final ReplyReader reader = new ReplyReader(ring, sender());

    private CommandSender sender() {
        SendContext context = new SendContext(System::nanoTime, new TimerWheel(0, deadlineNs -> {
        }), new SplittableRandom(1), new Arrivals(), new WaiterName(new byte[WaiterName.LENGTH]),
                new SendContext.Limits(16, 0, 0));
        FanOut fanOut = new FanOut(loop, new DirectBuffers(loop, UnpooledByteBufAllocator.DEFAULT,
                System::nanoTime), 1, 64);
        return new CommandSender(new NodeStatistics(0), context, fanOut, null, null);
    }

    private void read(CommandKind kind, String reply) {
        StubRequest request = new StubRequest("$1\r\nk\r\n", 1_000) {
            @Override
            public void onReply(int nodeIndex, CommandKind replied, int detail, long value) {
                replies.add(replied + " " + value);
            }
        };
        ring.add(request, RequestRing.tag(kind, kind.encoding, CommandDetail.NONE, false));
        RespParser.forReplies(RespLimits.defaults())
                .parse(Unpooled.wrappedBuffer(reply.getBytes(StandardCharsets.US_ASCII)), reader);
    }

    @ParameterizedTest
    @CsvSource({"PLACE,:0,0", "PLACE,:1048576,1048576", "PLACE,_,-1", "PLACE,$-1,-1", "WAITING,:0,0", "WAITING,:7,7",
        "LEAVE_QUEUE,:1,1", "ACQUIRE_IN_ORDER,:2,2", "ACQUIRE_FENCED_IN_ORDER,:-1048577,-1048577"})
    void eachReplyIsANumber(CommandKind kind, String reply, long value) {
        read(kind, reply + "\r\n");
        assertEquals(List.of(kind + " " + value), replies);
        assertTrue(ring.isEmpty());
    }

    @ParameterizedTest
    @CsvSource({"PLACE,+OK", "WAITING,_", "ACQUIRE_IN_ORDER,_"})
    void anotherReplyIsOutOfStep(CommandKind kind, String reply) {
        assertThrows(IllegalStateException.class, () -> read(kind, reply + "\r\n"));
        assertEquals(List.of(), replies);
    }

    @Test
    void onlyAPlaceMayBeMissing() {
        for (CommandEncoding encoding : CommandEncoding.VALUES) {
            assertEquals(encoding == CommandEncoding.ZRANK, encoding.reply == CommandEncoding.Reply.PLACE,
                    encoding::name);
        }
    }
}
