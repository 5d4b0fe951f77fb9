package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.resp.RespValue;
import io.netty.buffer.ByteBuf;

/**
 * Asks a node that answers acquires with errors whether it accepts a write again. A program that is out of service for
 * lack of a quorum gets no work, so no acquire of its own would find out.
 *
 * <p>A server of a cluster is not asked: it redirects the key before it checks whether it accepts a write.
 *
 * @threading event-loop-confined
 */
final class WriteWatch {

    private static final long PERIOD_NS = 1_000 * NS_PER_MS;

    private final CommandSender sender;
    private final String ownKey;
    private boolean isAsked;
    private long dueNs;

    WriteWatch(CommandSender sender, NodeContext context) {
        this.sender = sender;
        this.ownKey = context.options().commands().ownKey();
        this.dueNs = context.clock().nanoTime();
    }

    /** Called regularly while the node is connected. */
    void onTick(long nowNs) {
        if (!sender.isAcquireFailing() || !sender.isConnected() || sender.isOfCluster() || isAsked
                || dueNs - nowNs > 0) {
            return;
        }
        dueNs = nowNs + PERIOD_NS;
        isAsked = sender.sendValue(probe(sender, ownKey), this::onReply);
    }

    /** A write that changes nothing, because it sets an existing key only, and there is none. Null without memory. */
    static ByteBuf probe(CommandSender sender, String ownKey) {
        return sender.command("SET", ownKey, Handshake.PROBE_VALUE, "XX", "PX", "1");
    }

    private void onReply(RespValue reply) {
        isAsked = false;
        if (reply != null && sender.isConnected()) {
            sender.onWriteAnswer(reply.isError() ? ErrorAdvice.codeOf(reply.asText()) : null);
        }
    }
}
