package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.LockKind;
import dev.redlock.node.send.LockRequest;
import dev.redlock.node.send.ScriptArguments;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Token;

/**
 * The commands about the keys by which a client that retains a lock learns that another client waits: the key of the
 * queue, and that of the traces, which each refused client changes.
 *
 * @threading event-loop-confined
 */
final class RetainedRequest extends LockRequest {

    private static final Token NO_TOKEN = new Token();

    // Null for a trace, whose replies say nothing.
    final RetainedLocks room;
    private final RetainedLease entry;
    private LockKey key;

    RetainedRequest(RetainedLocks room, RetainedLease entry) {
        // The value of the trace, by which people see whose lock may be retained.
        super(entry == null ? NO_TOKEN : entry.claim.token);
        this.room = room;
        this.entry = entry;
        this.isWakeUpWanted = true;
    }

    /** The resource of the next command. */
    RetainedRequest of(LockKey newKey) {
        key = newKey;
        return this;
    }

    @Override
    public void onReply(int nodeIndex, CommandKind kind, int detail, long value) {
        if (kind == CommandKind.WAITING || kind == CommandKind.WATCH_TRACES) {
            room.onQueue(entry, nodeIndex, detail, value);
        }
    }

    @Override
    public void onFailed(int nodeIndex, CommandKind kind, int detail, VoteFailure failure) {
        onUnknown(nodeIndex, kind, detail);
    }

    @Override
    public void onUnknown(int nodeIndex, CommandKind kind, int detail) {
        if (entry != null) {
            room.onNoQueue(entry, nodeIndex);
        }
    }

    @Override
    public boolean isSecondTryWanted(CommandKind kind, int detail) {
        return false;
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
    public byte[] resourceBulk() {
        return key.bulk;
    }

    @Override
    public byte[] resourceBulk(int index) {
        return key.bulk;
    }

    @Override
    public int resourceHash(int index) {
        return key.hashCode();
    }

    @Override
    public int slot() {
        return key.slot();
    }

    @Override
    public byte[] counterBulk() {
        return key.counterBulk;
    }

    @Override
    public ScriptArguments arguments() {
        return ScriptArguments.NONE;
    }
}
