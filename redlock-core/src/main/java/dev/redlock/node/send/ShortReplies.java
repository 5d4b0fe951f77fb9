package dev.redlock.node.send;

import dev.redlock.telemetry.Counters;
import io.netty.buffer.ByteBuf;

/**
 * Assigns the replies of a connection to its requests, oldest first. The replies to the commands of a plain lock are
 * one integer or {@code +OK}; the {@link ReplyReader} reads all others, and those of a node that has failed lately.
 *
 * @threading event-loop-confined
 */
final class ShortReplies extends ReplyReader {

    private final int nodeIndex;
    private final Counters counters;

    ShortReplies(RequestRing ring, CommandSender sender) {
        super(ring, sender);
        this.nodeIndex = sender.nodeIndex;
        this.counters = sender.counters;
    }

    @Override
    public void onIntegerReply(long number) {
        LockRequest request = sender.isSuspicious ? null : ring.head(CommandEncoding.Reply.INTEGER);
        if (request != null) {
            onReply(request, number);
        } else {
            super.onIntegerReply(number);
        }
    }

    @Override
    public void onOkReply(ByteBuf buf, int index) {
        LockRequest request = sender.isSuspicious ? null : ring.head(CommandEncoding.Reply.OK);
        if (request != null) {
            onReply(request, 1);
        } else {
            super.onOkReply(buf, index);
        }
    }

    private void onReply(LockRequest request, long value) {
        int tag = ring.take();
        CommandKind kind = RequestRing.kindOf(tag);
        if (kind.isAcquire) {
            counters.add((value > 0 ? NodeCounter.GRANTED : NodeCounter.REFUSED).ordinal(), 1);
        }
        request.onReply(nodeIndex, kind, RequestRing.detailOf(tag), value);
    }
}
