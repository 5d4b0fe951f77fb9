package dev.redlock.node;

import dev.redlock.quorum.Token;
import java.util.Arrays;

/**
 * A release that was owed and is on its way.
 *
 * @threading event-loop-confined
 */
final class UndeliveredRelease implements LockRequest {

    private final Node node;
    private final UndeliveredReleases.Entry entry;

    UndeliveredRelease(final Node node, final UndeliveredReleases.Entry entry) {
        this.node = node;
        this.entry = entry;
    }

    @Override
    public byte[] resourceBulk() {
        return entry.resourceBulk;
    }

    @Override
    public int resourceHash() {
        return Arrays.hashCode(entry.resourceBulk);
    }

    @Override
    public boolean isRemainingTtlWanted() {
        return false;
    }

    @Override
    public byte[] counterBulk() {
        throw new IllegalStateException("a debt is a plain release, it has no counter");
    }

    @Override
    public long counterTtlMs() {
        return 0;
    }

    @Override
    public long highestFence() {
        return 0;
    }

    @Override
    public Token token() {
        return entry.token;
    }

    @Override
    public long ttlMs() {
        return 0;
    }

    @Override
    public void onReply(final int nodeIndex, final CommandKind kind, final int sequence, final long value) {
        node.statistics().onUndeliveredReleaseDelivered();
    }

    @Override
    public void onError(final int nodeIndex, final CommandKind kind, final int sequence, final VoteFailure failure) {
        // An error now will most likely be one again; the key ends with its ttl, which is what debt amounts to at
        // worst.
        node.statistics().onUndeliveredReleaseRefused();
    }

    @Override
    public void onUnknown(final int nodeIndex, final CommandKind kind, final int sequence) {
        node.onUndeliveredReleaseUnknown(entry);
    }

    @Override
    public void onNotSent(final int nodeIndex, final CommandKind kind, final int sequence, final VoteFailure failure) {
        throw new IllegalStateException("a debt is sent to one node that takes it, yet " + failure);
    }

    @Override
    public boolean isSecondTryWanted(final CommandKind kind, final int sequence) {
        return true;
    }
}
