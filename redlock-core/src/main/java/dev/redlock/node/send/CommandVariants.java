package dev.redlock.node.send;

import dev.redlock.quorum.Token;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;

/**
 * Sends the commands that are not plain, or not the same bytes for every node: a fence adds arguments, a
 * node has a cheaper command or pushes changes of keys, or a voter is a cluster. Reports what a node did not get.
 *
 * @threading event-loop-confined
 */
final class CommandVariants {

    /** A token with the longest label, as a bulk string. */
    private static final int VALUE_BYTES_MAX = 32 + Token.LABEL_LENGTH_MAX;

    private static final int POOLED_MIN = 1024;

    private final FanOut fanOut;
    final PlainCommands plain = new PlainCommands();
    private final FreeList<Rejected> free = new FreeList<>(POOLED_MIN);
    private ArrayDeque<Rejected> rejected = new ArrayDeque<>();
    private int rejectedMax;
    /** Whether a report is due at the end of the turn. */
    boolean hasRejected;

    /**
     * A command, and the nodes that it could not be sent to, as a mask.
     *
     * @threading event-loop-confined
     */
    private static final class Rejected {
        private LockRequest request;
        private CommandBatch batch;
        private CommandKind kind;
        private int detail;
        private long nodes;
    }

    CommandVariants(FanOut fanOut) {
        this.fanOut = fanOut;
    }

    /** Sends a command to the nodes of a mask. Returns those that accept it. */
    long send(LockRequest request, CommandKind kind, int detail, long mask) {
        long left = fanOut.routes == null ? mask : mask & ~fanOut.routes.route(request, kind.isVote);
        if (request.lockKind() != LockKind.PLAIN) {
            left &= ~forbidden(request, kind, left);
            if (kind.isAcquire) {
                prepare(request.lockKind(), left);
            }
        }
        long natives = nativesOf(request, kind);
        long sent = 0;
        while (left != 0) {
            boolean isNative = (natives & Long.lowestOneBit(left)) != 0;
            CommandEncoding encoding = isNative ? nativeOf(kind, left) : encodingOf(request, kind);
            long group = isNative ? withNative(kind, encoding, left & natives) : left & ~natives;
            sent |= sendEncoded(request, kind, encoding, detail, group);
            left &= ~group;
        }
        return sent;
    }

    /** The nodes of a mask that must not get an acquire, because the user could not release it. */
    private long forbidden(LockRequest request, CommandKind kind, long mask) {
        long forbidden = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            CommandSender sender = fanOut.senders[Long.numberOfTrailingZeros(left)];
            forbidden |= sender.isForbidden(request.lockKind(), kind) ? Long.lowestOneBit(left) : 0;
        }
        return forbidden;
    }

    /** Sends the scripts that the nodes of a mask need to release what they are about to grant. */
    private void prepare(LockKind lock, long mask) {
        for (long left = mask; left != 0; left &= left - 1) {
            fanOut.senders[Long.numberOfTrailingZeros(left)].prepare(lock);
        }
    }

    /** The nodes of a mask with one command of their own. */
    private long withNative(CommandKind kind, CommandEncoding encoding, long mask) {
        long group = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            group |= nativeOf(kind, left) == encoding ? Long.lowestOneBit(left) : 0;
        }
        return group;
    }

    /** The nodes that may have a command of their own, as a mask. */
    private long nativesOf(LockRequest request, CommandKind kind) {
        LockKind lock = request.lockKind();
        if (lock == LockKind.PLAIN) {
            return fanOut.natives(kind);
        }
        return lock == LockKind.SET && kind == CommandKind.ACQUIRE && !request.isRemainingTtlWanted
                ? fanOut.nativeSets
                : 0;
    }

    /** The encoding of a command for the first node of a mask, which may have a command of its own. */
    private CommandEncoding nativeOf(CommandKind kind, long mask) {
        return fanOut.senders[Long.numberOfTrailingZeros(mask)].capabilities().nativeOf(kind);
    }

    /** The encoding of a command for all other nodes. A writer that does not wait leaves no reservation. */
    private static CommandEncoding encodingOf(LockRequest request, CommandKind kind) {
        LockKind lock = request.lockKind();
        boolean isPlainSet = kind == CommandKind.ACQUIRE && !request.isRemainingTtlWanted
                && (lock == LockKind.PLAIN || lock == LockKind.WRITE && request.arguments().reservation() == null);
        boolean isReadByScript = kind == CommandKind.REMAINING_TTL && lock.isTtlReadByScript();
        return isPlainSet ? CommandEncoding.PLAIN_SET : isReadByScript ? CommandEncoding.SCRIPT : kind.encoding;
    }

    private long sendEncoded(LockRequest request, CommandKind kind, CommandEncoding encoding,
            int detail, long mask) {
        int room = LockScripts.roomFor(request, kind);
        ByteBuf out = fanOut.batch.withRoom(encoding == CommandEncoding.MSETEX ? room + roomForValues(request) : room);
        if (out == null) {
            return 0;
        }
        if (fanOut.routes != null) {
            // Room may have taken a flush, whose events send other commands.
            fanOut.routes.route(request, false);
        }
        int start = out.writerIndex();
        boolean isWakeUpWanted = kind.mayRegister && request.isWakeUpWanted;
        int commandStart = start;
        try {
            if (isWakeUpWanted) {
                WakeUpRequest.writeTo(out);
            }
            commandStart = out.writerIndex();
            switch (encoding) {
                case SCRIPT -> LockScripts.write(out, kind, request, false);
                case PLAIN_SET -> plain.writeSet(out, request);
                default -> NativeCommands.write(out, encoding, request, detail);
            }
        } catch (RuntimeException | Error e) {
            // Part of a command would be sent to every node, and its reply taken for that of another one.
            out.writerIndex(start);
            throw e;
        }
        int tag = RequestRing.tag(kind, encoding, detail, false);
        long sent = isWakeUpWanted
                ? enqueueWithWakeUp(request, kind, tag, mask, out, start, commandStart)
                : fanOut.enqueue(request, kind, tag, mask, out, start);
        if (kind.entersQueue()) {
            expectMessages(sent);
        }
        return sent;
    }

    /** The nodes of a mask may send messages about the queue that the last command enters. */
    private void expectMessages(long mask) {
        for (long left = mask; left != 0; left &= left - 1) {
            fanOut.connections[Long.numberOfTrailingZeros(left)].wakeUps.onEntered();
        }
    }

    /** A node that pushes no changes of keys gets the command without the registration. */
    private long enqueueWithWakeUp(LockRequest request, CommandKind kind, int tag, long mask, ByteBuf out, int start,
            int commandStart) {
        int end = out.writerIndex();
        long pushing = fanOut.pushing;
        long sent = 0;
        for (long left = mask & fanOut.accepting(kind); left != 0; left &= left - 1) {
            NodeConnection connection = fanOut.connections[Long.numberOfTrailingZeros(left)];
            boolean isSent = (pushing & Long.lowestOneBit(left)) != 0
                    ? connection.offerWithWakeUp(request, tag, end - start)
                    : connection.offer(request, tag, end - start);
            sent |= isSent ? Long.lowestOneBit(left) : 0;
        }
        if (fanOut.routes != null) {
            fanOut.routes.copy(sent & pushing, out, start, end);
            fanOut.routes.copy(sent & ~pushing, out, commandStart, end);
        }
        fanOut.skip(~sent | pushing, out, start, commandStart);
        fanOut.skip(sent, out, start, end);
        return sent;
    }

    /** Capacity that {@code MSETEX} needs beyond {@link LockScripts#roomFor}: it has the token once for each key. */
    static int roomForValues(LockRequest command) {
        return command.keyCount() * VALUE_BYTES_MAX;
    }

    // ---- rejected sends ---------------------------------------------------------------------------------------------

    /**
     * A command could not be sent to some nodes. The caller of a send learns at once of an acquire or a query. Others
     * are reported at the end of the turn, because a report may cause another command. That one must not overtake a
     * command that is being written, and must not change the state under the caller of the fan-out.
     */
    void reject(LockRequest request, CommandKind kind, int detail, long nodes) {
        if (kind.isAcquire || kind == CommandKind.REMAINING_TTL) {
            report(request, kind, detail, nodes);
        } else {
            rejectLater(request, kind, detail, nodes);
        }
    }

    /** As {@link #reject}, reported at the end of the turn. */
    void rejectLater(LockRequest request, CommandKind kind, int detail, long nodes) {
        Rejected entry = addRejected(nodes);
        entry.request = request;
        entry.kind = kind;
        entry.detail = detail;
    }

    void reject(CommandBatch batch, long nodes) {
        addRejected(nodes).batch = batch;
    }

    private Rejected addRejected(long nodes) {
        Rejected pooled = free.poll();
        Rejected entry = pooled == null ? new Rejected() : pooled;
        entry.nodes = nodes;
        rejected.add(entry);
        hasRejected = true;
        rejectedMax = Math.max(rejectedMax, rejected.size());
        return entry;
    }

    /** Reports the entries so far. New ones wait for the next call, so this terminates. */
    void reportRejected() {
        for (int left = rejected.size(); left > 0; left--) {
            Rejected entry = rejected.remove();
            hasRejected = !rejected.isEmpty();
            if (entry.batch == null) {
                report(entry.request, entry.kind, entry.detail, entry.nodes);
            } else {
                report(entry.batch, entry.nodes);
            }
            entry.request = null;
            entry.batch = null;
            free.push(entry);
        }
    }

    /** Frees unused memory. An array deque never shrinks, so it is replaced. */
    void trim() {
        free.trim();
        if (rejected.isEmpty() && rejectedMax > POOLED_MIN) {
            rejected = new ArrayDeque<>();
            rejectedMax = 0;
        }
    }

    private void report(LockRequest request, CommandKind kind, int detail, long nodes) {
        for (long left = nodes; left != 0; left &= left - 1) {
            int index = Long.numberOfTrailingZeros(left);
            boolean isForbidden = fanOut.senders[index].isForbidden(request.lockKind(), kind);
            request.onFailed(index, kind, detail, isForbidden ? VoteFailure.NOPERM : reason(request, kind, index));
        }
    }

    private void report(CommandBatch batch, long nodes) {
        for (long left = nodes; left != 0; left &= left - 1) {
            int index = Long.numberOfTrailingZeros(left);
            LockRequest first = CommandBatches.firstOf(batch, batch.requestsOf(index));
            batch.onFailed(index, reason(first, batch.single, index));
            fanOut.onBatchOutcome(batch);
        }
    }

    /** The reason now. If there is none any more, or the command did not fit, the reason was back-pressure. */
    private VoteFailure reason(SlotKey key, CommandKind kind, int index) {
        boolean isSilent = fanOut.routes != null && (fanOut.routes.route(key, kind.isVote) & 1L << index) != 0;
        VoteFailure refusal = isSilent ? VoteFailure.SLOT_MOVED : fanOut.senders[index].refusalOf(kind);
        return refusal == VoteFailure.NONE ? VoteFailure.BACK_PRESSURE : refusal;
    }
}
