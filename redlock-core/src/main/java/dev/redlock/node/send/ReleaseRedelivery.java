package dev.redlock.node.send;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.telemetry.Counters;
import dev.redlock.time.DeadlineTimer;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.function.Function;

/**
 * Keeps the releases that one node could not be sent or did not execute, and sends them when the node is connected
 * again. They go out before any command that needs a vote.
 *
 * <p>A server that cannot execute a release now, for example without memory or during a long script, answers it with a
 * {@linkplain VoteFailure#isTemporary temporary} error. Then this sends one release at a time, after growing delays,
 * until the server executes one. All others follow at once. A release that was rejected for longer than any key lasts
 * is forgotten.
 *
 * <p>A late release is harmless: it deletes keys with the token of one ended attempt, which no other attempt has, and
 * changes nothing else. A fenced release is kept as a plain one, so it touches no counter; that of this node may lag
 * behind, as those of a minority may at any time. A permit of a semaphore is a key like that of a plain lock.
 *
 * @threading event-loop-confined
 */
public final class ReleaseRedelivery implements UndeliveredRelease.Owner {

    private static final int CRLF_BYTES = 2;
    private static final long PROBE_DELAY_NS_MIN = 100 * NS_PER_MS;
    /** A server gets a sample of its clock as often. */
    private static final long PROBE_DELAY_NS_MAX = 1_000 * NS_PER_MS;
    private static final int DOUBLINGS_MAX = 4;

    private final UndeliveredReleases queue;
    private final CommandSender sender;
    private final Counters counters;
    private final SendContext context;
    private final DeadlineTimer probeTimer = new DeadlineTimer(nowNs -> probe());
    /** The server rejects releases, so only the probe is sent. */
    private boolean isProbing;
    /** The release that is sent alone; null while there is none. */
    private UndeliveredRelease probe;
    /** Probes since the server has last deleted a key. */
    private int probeCount;
    /** Null while the server is one of its cluster. */
    private Function<UndeliveredRelease, ReleaseRedelivery> successors;

    /** Keeps the releases of a sender. */
    public ReleaseRedelivery(CommandSender sender) {
        this.queue = new UndeliveredReleases(sender.context.limits().undeliveredReleasesMax());
        this.sender = sender;
        this.counters = sender.counters;
        this.context = sender.context;
        sender.undelivered = this;
    }

    /** Keeps the release of a claim. */
    public void redeliverLater(LockRequest command) {
        queue.add(new UndeliveredRelease(this, command));
        publishCounts();
    }

    /** The release is sent now if that is possible. */
    @Override
    public void onRedirected(UndeliveredRelease release, boolean isAsk) {
        release.owner = this;
        if (!sender.retries.sendRedirected(release, isAsk)) {
            adopt(release);
        }
    }

    /** Keeps a release of another server of the cluster. */
    private void adopt(UndeliveredRelease release) {
        if (isPassedOn(release)) {
            return;
        }
        release.owner = this;
        queue.add(release);
        publishCounts();
    }

    private boolean isPassedOn(UndeliveredRelease release) {
        if (successors == null) {
            return false;
        }
        successors.apply(release).adopt(release);
        return true;
    }

    /**
     * The server is none of its cluster any more: moves all releases to the ones that a function chooses, those that
     * wait now, and those in flight when they have no outcome.
     */
    public void moveForGood(Function<UndeliveredRelease, ReleaseRedelivery> newOwner) {
        successors = newOwner;
        moveAll(newOwner);
    }

    /** Moves all releases that wait to the ones that a function chooses. */
    public void moveAll(Function<UndeliveredRelease, ReleaseRedelivery> newOwner) {
        for (int left = queue.length(); left > 0; left--) {
            UndeliveredRelease release = queue.poll();
            newOwner.apply(release).adopt(release);
        }
        publishCounts();
    }

    /** Sends as many as the connection accepts, unless the server rejects releases. */
    public void sendAll() {
        while (!isProbing && sendNext() != null) {
            // The next one follows.
        }
        publishCounts();
    }

    /** Sends the oldest one and returns it; null if there is none, or if it cannot be sent now. */
    private UndeliveredRelease sendNext() {
        if (!sender.isConnected() || queue.length() == 0 || sender.isCongested()) {
            return null;
        }
        UndeliveredRelease release = queue.poll();
        if (sender.retries.send(release, false, false)) {
            return release;
        }
        queue.putBack(release);
        return null;
    }

    // ---- a server that rejects releases -----------------------------------------------------------------------------

    /** The server has not executed a release, and may execute it later. */
    private void onRejected(UndeliveredRelease release) {
        long nowNs = context.clock().nanoTime();
        if (release.onRejected(nowNs) < context.limits().rejectedNsMax() && !isPassedOn(release)) {
            queue.putLast(release);
        }
        publishCounts();
        if (!isProbing) {
            isProbing = sender.isConnected();
            probeLater(nowNs);
        }
    }

    /** The probe has an outcome. */
    private void onOutcome(UndeliveredRelease release) {
        if (release == probe) {
            probe = null;
            isProbing = false;
        }
    }

    private void probeLater(long nowNs) {
        if (isProbing) {
            int doublings = Math.min(probeCount++, DOUBLINGS_MAX);
            long halfNs = Math.min(PROBE_DELAY_NS_MAX, PROBE_DELAY_NS_MIN << doublings) / 2;
            long jitterNs = context.random().nextLong(halfNs + 1);
            context.timers().start(probeTimer, nowNs + halfNs + jitterNs);
        }
    }

    private void probe() {
        isProbing = queue.length() > 0;
        probe = sendNext();
        if (probe == null) {
            probeLater(context.clock().nanoTime());
        }
        publishCounts();
    }

    /** The connection has ended, or is about to: the next one starts anew. */
    public void stopProbing() {
        context.timers().stop(probeTimer);
        isProbing = false;
        probe = null;
        probeCount = 0;
    }

    // ---- replies ----------------------------------------------------------------------------------------------------

    @Override
    public void onReply(UndeliveredRelease release, long value) {
        String recovery = sender.recordRecovery(CommandKind.RELEASE, value);
        counters.add(NodeCounter.UNDELIVERED_DELIVERED.ordinal(), 1);
        onOutcome(release);
        if (value != 0) {
            // Without a key the server has written nothing, so the next release may be rejected again.
            probeCount = 0;
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
            sender.listener.onDeliveredLate(bulks, bulks.readerIndex(), length);
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

    /** An error that is not temporary will repeat, so the release is not sent again: the key expires. */
    @Override
    public void onError(UndeliveredRelease release, int tag, VoteFailure failure, String errorCode,
            SlotRedirect redirect) {
        CommandSender target = redirect == null ? null : sender.retries.targetOf(release, tag, redirect);
        if (target != null) {
            target.undelivered.onRedirected(release, redirect.isAsk());
            onOutcome(release);
            return;
        }
        if (redirect != null || sender.cluster != null && failure.isRedirection()) {
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
        onOutcome(release);
        String problem = sender.recordError(CommandKind.RELEASE, failure, errorCode);
        if (isUnknownScript || isRejectedCommand || failure.isTemporary()) {
            onRejected(release);
        } else {
            counters.add(NodeCounter.UNDELIVERED_REFUSED.ordinal(), 1);
        }
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
        onOutcome(release);
        if (!isPassedOn(release)) {
            queue.putBack(release);
            publishCounts();
        }
    }

    private void publishCounts() {
        counters.set(NodeCounter.UNDELIVERED.ordinal(), queue.length());
        counters.set(NodeCounter.UNDELIVERED_DROPPED.ordinal(), queue.droppedCount());
    }
}
