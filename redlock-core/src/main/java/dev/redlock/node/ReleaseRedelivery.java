package dev.redlock.node;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.function.Function;

/**
 * Keeps the releases that one node could not be sent, and sends them when the node is connected again. They go out
 * before any command that needs a vote.
 *
 * @threading event-loop-confined
 */
final class ReleaseRedelivery implements UndeliveredRelease.Owner {

    private static final int CRLF_BYTES = 2;

    private final UndeliveredReleases queue;
    private final CommandSender sender;
    private final Counters counters;
    private final NodeContext context;

    ReleaseRedelivery(NodeView view, NodeContext context, CommandSender sender) {
        this.queue = new UndeliveredReleases(context.options().limits().undeliveredReleasesMax());
        this.sender = sender;
        this.counters = view.counters;
        this.context = context;
    }

    /** Keeps the release of a claim. */
    void retain(LockRequest command) {
        queue.add(new UndeliveredRelease(this, command));
        publishCounts();
    }

    /** Keeps a release of another server of the cluster. */
    void adopt(UndeliveredRelease release) {
        release.owner = this;
        queue.add(release);
        publishCounts();
    }

    /** Moves all releases that wait to the ones that a function chooses. */
    void moveAll(Function<UndeliveredRelease, ReleaseRedelivery> newOwner) {
        for (int left = queue.length(); left > 0; left--) {
            UndeliveredRelease release = queue.poll();
            newOwner.apply(release).adopt(release);
        }
        publishCounts();
    }

    /** Sends as many as the connection accepts. */
    void sendAll() {
        while (sender.isConnected() && queue.length() > 0 && !sender.isCongested()) {
            UndeliveredRelease release = queue.poll();
            if (!sender.retries.send(release, false, false)) {
                queue.putBack(release);
                break;
            }
        }
        publishCounts();
    }

    @Override
    public void onReply(UndeliveredRelease release, long value) {
        String recovery = sender.recordRecovery(CommandKind.RELEASE, value);
        counters.add(NodeCounter.UNDELIVERED_DELIVERED.ordinal(), 1);
        if (value != 0) {
            onDeliveredLate(release);
        }
        sender.logHealth(recovery);
        sendMore();
    }

    /** A release that was kept has deleted a key. */
    private void onDeliveredLate(UndeliveredRelease release) {
        ByteBuf bulks = Unpooled.wrappedBuffer(release.resourceBulk);
        while (bulks.isReadable()) {
            int length = lengthOfBulk(bulks);
            context.listener().onDeliveredLate(sender.view, bulks, bulks.readerIndex(), length);
            bulks.skipBytes(length + CRLF_BYTES);
        }
    }

    /** Reads {@code $}, the length and the line end of a bulk string. */
    private static int lengthOfBulk(ByteBuf bulks) {
        int length = 0;
        bulks.skipBytes(1);
        for (byte digit = bulks.readByte(); digit != '\r'; digit = bulks.readByte()) {
            length = length * 10 + digit - '0';
        }
        bulks.skipBytes(1);
        return length;
    }

    /**
     * An error will most likely repeat, so the release is not sent again: the key expires. The errors of a slot on its
     * way are an exception.
     */
    @Override
    public void onError(UndeliveredRelease release, int tag, VoteFailure failure, String errorCode,
            SlotRedirect redirect) {
        if (redirect != null && sender.cluster.redirect(sender, release, tag, redirect)) {
            return;
        }
        if (redirect != null || sender.cluster != null && failure.isOfSlot()) {
            onUnknown(release);
            return;
        }
        boolean isUnknownScript = failure == VoteFailure.NOSCRIPT && !RequestRing.isSecondTry(tag);
        boolean isRejectedCommand = sender.retries.isReplacedByScript(tag, failure);
        if ((isUnknownScript || isRejectedCommand) && sender.refusalOf(CommandKind.RELEASE) == VoteFailure.NONE
                && sender.retries.send(release, isUnknownScript, false)) {
            return;
        }
        if (isUnknownScript) {
            sender.retries.loadScript(release.lockKind, CommandKind.RELEASE);
        }
        String problem = sender.recordError(CommandKind.RELEASE, errorCode);
        counters.add(NodeCounter.UNDELIVERED_REFUSED.ordinal(), 1);
        sender.logHealth(problem);
        sendMore();
    }

    /** A reply has made room on the connection. */
    private void sendMore() {
        if (queue.length() > 0) {
            sendAll();
        }
    }

    @Override
    public void onUnknown(UndeliveredRelease release) {
        queue.putBack(release);
        publishCounts();
    }

    private void publishCounts() {
        counters.set(NodeCounter.UNDELIVERED.ordinal(), queue.length());
        counters.set(NodeCounter.UNDELIVERED_DROPPED.ordinal(), queue.droppedCount());
    }
}
