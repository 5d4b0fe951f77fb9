package dev.redlock.loadtest.faults;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;

/**
 * One direction of a link: it forwards bytes from one side to the other, in order, when they are due.
 *
 * @threading event-loop-confined
 */
final class ProxyPipe extends ChannelInboundHandlerAdapter {
    private final FaultProxy proxy;
    private final Channel sink;
    private final boolean isReplies;
    private final ArrayDeque<Held> held = new ArrayDeque<>();

    /**
     * Bytes on their way.
     *
     * @param dueNs when to forward them, on the monotonic clock
     * @param bytes owned by the pipe until written
     * @threading event-loop-confined
     */
    private record Held(long dueNs, ByteBuf bytes) {
    }

    ProxyPipe(FaultProxy proxy, Channel sink, boolean isReplies) {
        this.proxy = proxy;
        this.sink = sink;
        this.isReplies = isReplies;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (isReplies && proxy.traffic() == Traffic.MUTE) {
            ReferenceCountUtil.release(message);
            return;
        }
        held.add(new Held(System.nanoTime() + proxy.delayNs(), (ByteBuf) message));
        drain();
    }

    /** Writes the bytes that are due, and schedules the rest. */
    void drain() {
        if (proxy.traffic() == Traffic.STALL) {
            return;
        }
        boolean isPassing = proxy.traffic() != Traffic.SLOW;
        long nowNs = System.nanoTime();
        while (!held.isEmpty() && (isPassing || held.peek().dueNs() - nowNs <= 0)) {
            sink.write(held.poll().bytes());
        }
        sink.flush();
        if (!held.isEmpty()) {
            sink.eventLoop().schedule(this::drain, held.peek().dueNs() - nowNs, TimeUnit.NANOSECONDS);
        }
    }

    void discard() {
        while (!held.isEmpty()) {
            held.poll().bytes().release();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }
}
