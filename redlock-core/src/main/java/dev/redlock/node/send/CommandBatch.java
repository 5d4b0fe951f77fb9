package dev.redlock.node.send;

import dev.redlock.resp.RespWriter;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * Releases or extensions of one turn that each node gets as one script call over the keys that it may have, or acquires
 * that it gets as one {@code MSETEX}. Pooled by the fan-out, and recycled when every node has an outcome.
 *
 * @threading event-loop-confined
 */
final class CommandBatch extends InFlightRequest {

    /** The outcomes on one node are bits of a long. */
    static final int LENGTH_MAX = Long.SIZE;
    /** {@code $19}, the digits of the greatest long, two line ends: a node may reply with more than 2^53 - 1. */
    private static final int NUMBER_BULK_BYTES = 5 + 19 + 2;

    final CommandKind kind;
    /** The command for one key. */
    final CommandKind single;
    private final LockRequest[] requests = new LockRequest[LENGTH_MAX];
    private final int[] details = new int[LENGTH_MAX];
    private final long[] nodeMasks = new long[LENGTH_MAX];
    int length;
    /** Bytes of all keys as encoded. */
    int keyBytes;
    private int valueBytes;
    private int openCount;

    /** An empty batch of a command for many keys. */
    CommandBatch(CommandKind kind) {
        this.kind = kind;
        this.single = kind.single();
    }

    /** Adds a command for the nodes of a mask. */
    void add(LockRequest request, int detail, long nodes) {
        requests[length] = request;
        details[length] = detail;
        nodeMasks[length++] = nodes;
        keyBytes += request.resourceBulk().length + (kind.hasCounter ? request.counterBulk().length : 0);
        valueBytes += request.token.bulk.length;
    }

    LockRequest request(int index) {
        return requests[index];
    }

    /** The detail that a request was added with. */
    int detail(int index) {
        return details[index];
    }

    /** Leaves requests out on a node. */
    void remove(long mask, int nodeIndex) {
        for (long left = mask; left != 0; left &= left - 1) {
            nodeMasks[Long.numberOfTrailingZeros(left)] &= ~(1L << nodeIndex);
        }
    }

    /** The nodes that get a request, as a mask. */
    long nodesOf(int index) {
        return nodeMasks[index];
    }

    /** Takes a mask of nodes from those that get a request. */
    void removeNodes(int index, long nodes) {
        nodeMasks[index] &= ~nodes;
    }

    /** The nodes that get any request, as a mask. */
    long nodes() {
        long nodes = 0;
        for (int i = 0; i < length; i++) {
            nodes |= nodeMasks[i];
        }
        return nodes;
    }

    /** The requests that a node gets, request i as bit i; its reply has them in this order. */
    long requestsOf(int nodeIndex) {
        long mask = 0;
        for (int i = 0; i < length; i++) {
            mask |= (nodeMasks[i] >>> nodeIndex & 1) << i;
        }
        return mask;
    }

    /** Capacity for the command, by {@code EVALSHA} or {@code EVAL}. */
    int room(boolean isEval) {
        int script = isEval ? ScriptSources.source(kind).length : 0;
        boolean hasNumbers = kind == CommandKind.RELEASE_MANY_FENCED || kind == CommandKind.EXTEND_MANY;
        int numberBytes = hasNumbers ? length * NUMBER_BULK_BYTES : 0;
        return LockScripts.COMMAND_OVERHEAD_BYTES + script + keyBytes + valueBytes + numberBytes;
    }

    /** Capacity for the requests, together or each in a command of its own. */
    int roomForEach() {
        return keyBytes + length * (LockScripts.COMMAND_OVERHEAD_BYTES + WakeUpRequest.COMMAND_BYTES);
    }

    /**
     * {@code EVALSHA <sha> K key1 ... keyK token1 ... tokenK} for some requests, or {@code EVAL} with the script.
     * Fenced releases have {@code counter1 ... counterK} after the keys, and the highest values and the counters'
     * expiry after the tokens. Extensions have their ttls after the tokens.
     */
    void writeTo(ByteBuf out, long mask, boolean isEval) {
        if (kind == CommandKind.ACQUIRE_MANY) {
            NativeCommands.writeAcquires(out, this, mask);
            return;
        }
        int count = Long.bitCount(mask);
        boolean isFenced = kind.hasCounter;
        boolean isExtension = kind == CommandKind.EXTEND_MANY;
        RespWriter.arrayHeader(out, 3 + (isFenced ? 4 * count + 1 : (isExtension ? 3 : 2) * count));
        out.writeBytes(ScriptSources.head(LockKind.PLAIN, kind, isEval));
        RespWriter.bulkInteger(out, isFenced ? 2 * count : count);
        for (long left = mask; left != 0; left &= left - 1) {
            out.writeBytes(requests[Long.numberOfTrailingZeros(left)].resourceBulk());
        }
        for (long left = isFenced ? mask : 0; left != 0; left &= left - 1) {
            out.writeBytes(requests[Long.numberOfTrailingZeros(left)].counterBulk());
        }
        for (long left = mask; left != 0; left &= left - 1) {
            out.writeBytes(requests[Long.numberOfTrailingZeros(left)].token.bulk);
        }
        for (long left = isFenced ? mask : 0; left != 0; left &= left - 1) {
            RespWriter.bulkInteger(out, requests[Long.numberOfTrailingZeros(left)].arguments().highestFence());
        }
        if (isFenced) {
            // The same for all. One that is not for this node may be in its pool already.
            RespWriter.bulkInteger(out, requests[Long.numberOfTrailingZeros(mask)].arguments().counterTtlMs());
        }
        for (long left = isExtension ? mask : 0; left != 0; left &= left - 1) {
            RespWriter.bulkInteger(out, requests[Long.numberOfTrailingZeros(left)].ttlMs);
        }
    }

    /** Counts outcomes that will come. */
    void expectOutcomes(int count) {
        openCount += count;
    }

    /** Counts one outcome; true if it was the last. */
    boolean isLastOutcome() {
        return --openCount == 0;
    }

    void reset() {
        assert openCount == 0 : "every node has an outcome";
        Arrays.fill(requests, 0, length, null);
        length = 0;
        keyBytes = 0;
        valueBytes = 0;
    }

    void onFailed(int nodeIndex, VoteFailure failure) {
        onFailed(requestsOf(nodeIndex), nodeIndex, failure);
    }

    /** Reports a failure to the requests of a mask. */
    void onFailed(long mask, int nodeIndex, VoteFailure failure) {
        for (long left = mask; left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            requests[i].onFailed(nodeIndex, single, details[i], failure);
        }
    }

    void onUnknown(int nodeIndex) {
        for (long left = requestsOf(nodeIndex); left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            requests[i].onUnknown(nodeIndex, single, details[i]);
        }
    }

    @Override
    public String toString() {
        return "CommandBatch{" + kind + ", " + length + " requests, open=" + openCount + "}";
    }
}
