package dev.redlock.node.send;

import dev.redlock.quorum.Token;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A request with arguments, which expects no reply. */
class StubRequest extends LockRequest {

    private final byte[] resourceBulk;

    /** Long numbers. */
    static class StubArguments implements ScriptArguments {

        @Override
        public int wantedCount() {
            return 1;
        }

        @Override
        public boolean isTicketWanted() {
            return true;
        }

        @Override
        public byte[] waiterBulk() {
            return "$32\r\n0123456789abcdefghijABCDEFGHIJ_-\r\n".getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public long waitedUs() {
            return 86_400_000_000L;
        }

        @Override
        public byte queueMode() {
            return 'c';
        }

        @Override
        public long counterFloor() {
            return 1_887_436_800_000_000L;
        }

        @Override
        public long counterTtlMs() {
            return 86_400_000;
        }

        @Override
        public long highestFence() {
            return 9_007_199_254_740_991L;
        }
    }

    StubRequest(String resourceBulk, long ttlMs) {
        this(resourceBulk, ttlMs, null);
    }

    StubRequest(String resourceBulk, long ttlMs, String name) {
        super(new Token(Token.labelOf(name)));
        this.resourceBulk = resourceBulk.getBytes(StandardCharsets.UTF_8);
        this.ttlMs = ttlMs;
        this.isRemainingTtlWanted = true;
    }

    @Override
    public byte[] resourceBulk() {
        return resourceBulk;
    }

    @Override
    public LockKind lockKind() {
        return LockKind.PLAIN;
    }

    @Override
    public int keyCount() {
        return 1;
    }

    @Override
    public byte[] resourceBulk(int index) {
        return resourceBulk;
    }

    @Override
    public int resourceHash(int index) {
        return Arrays.hashCode(resourceBulk);
    }

    @Override
    public int slot() {
        return KeySlot.ofBulk(resourceBulk);
    }

    @Override
    public byte[] counterBulk() {
        return "$7\r\ncounter\r\n".getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public ScriptArguments arguments() {
        return new StubArguments();
    }

    @Override
    public void onReply(int nodeIndex, CommandKind kind, int detail, long value) {
        throw new AssertionError("nothing is sent");
    }

    @Override
    public void onFailed(int nodeIndex, CommandKind kind, int detail, VoteFailure failure) {
        throw new AssertionError("nothing is sent");
    }

    @Override
    public void onUnknown(int nodeIndex, CommandKind kind, int detail) {
        throw new AssertionError("nothing is sent");
    }

    @Override
    public boolean isSecondTryWanted(CommandKind kind, int detail) {
        return false;
    }
}
