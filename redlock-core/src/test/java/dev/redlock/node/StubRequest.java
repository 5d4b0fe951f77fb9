package dev.redlock.node;

import dev.redlock.quorum.Token;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A request with arguments, which expects no reply. */
class StubRequest extends LockRequest {

    private final byte[] resourceBulk;
    private final Token token = new Token();
    private final long ttlMs;

    StubRequest(final String resourceBulk, final long ttlMs) {
        this.resourceBulk = resourceBulk.getBytes(StandardCharsets.UTF_8);
        this.ttlMs = ttlMs;
    }

    @Override
    public byte[] resourceBulk() {
        return resourceBulk;
    }

    @Override
    public int resourceHash() {
        return Arrays.hashCode(resourceBulk);
    }

    @Override
    public boolean isRemainingTtlWanted() {
        return true;
    }

    @Override
    public byte[] counterBulk() {
        return "$7\r\ncounter\r\n".getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public long counterTtlMs() {
        return 86_400_000;
    }

    @Override
    public long highestFence() {
        return 9_007_199_254_740_991L;
    }

    @Override
    public Token token() {
        return token;
    }

    @Override
    public long ttlMs() {
        return ttlMs;
    }

    @Override
    public void onReply(final int nodeIndex, final CommandKind kind, final int sequence, final long value) {
        throw new AssertionError("nothing is sent");
    }

    @Override
    public void onError(final int nodeIndex, final CommandKind kind, final int sequence, final VoteFailure failure) {
        throw new AssertionError("nothing is sent");
    }

    @Override
    public void onUnknown(final int nodeIndex, final CommandKind kind, final int sequence) {
        throw new AssertionError("nothing is sent");
    }

    @Override
    public void onNotSent(final int nodeIndex, final CommandKind kind, final int sequence, final VoteFailure failure) {
        throw new AssertionError("nothing is sent");
    }

    @Override
    public boolean isSecondTryWanted(final CommandKind kind, final int sequence) {
        return false;
    }
}
