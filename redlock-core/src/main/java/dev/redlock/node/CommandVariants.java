package dev.redlock.node;

import dev.redlock.quorum.Token;
import io.netty.buffer.ByteBuf;

/**
 * Sends the commands that are not plain, or not the same bytes for every node: a guest of the lock adds arguments, a
 * node has a cheaper command or pushes changes of keys, or a voter is a cluster. Reports what a node did not get.
 *
 * @threading event-loop-confined
 */
final class CommandVariants implements RejectedSends.Listener {

    /** A token with the longest label, as a bulk string. */
    private static final int VALUE_BYTES_MAX = 32 + Token.LABEL_LENGTH_MAX;

    private final FanOut fanOut;
    final PlainCommands plain = new PlainCommands();

    CommandVariants(FanOut fanOut) {
        this.fanOut = fanOut;
    }

    /** Sends a command to the nodes of a mask. Returns those that accept it. */
    long send(LockRequest request, CommandKind kind, int sequence, long mask) {
        long left = fanOut.routes == null ? mask : mask & ~fanOut.routes.route(request, kind.isVote);
        long sent = 0;
        while (left != 0) {
            CommandEncoding encoding = encodingOf(request, kind, Long.numberOfTrailingZeros(left));
            long group = withEncoding(request, kind, encoding, left);
            sent |= sendEncoded(request, kind, encoding, sequence, group);
            left &= ~group;
        }
        return sent;
    }

    private CommandEncoding encodingOf(LockRequest request, CommandKind kind, int index) {
        return fanOut.senders[index].capabilities().encodingOf(request, kind);
    }

    /** The nodes of a mask with the same encoding of the command. */
    private long withEncoding(LockRequest request, CommandKind kind, CommandEncoding encoding,
            long mask) {
        long group = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            group |= encodingOf(request, kind, Long.numberOfTrailingZeros(left)) == encoding
                    ? Long.lowestOneBit(left)
                    : 0;
        }
        return group;
    }

    private long sendEncoded(LockRequest request, CommandKind kind, CommandEncoding encoding,
            int sequence, long mask) {
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
        if (isWakeUpWanted) {
            WakeUpRequest.writeTo(out);
        }
        int commandStart = out.writerIndex();
        switch (encoding) {
            case SCRIPT -> LockScripts.write(out, kind, request, false);
            case PLAIN_SET -> plain.writeSet(out, request);
            default -> NativeCommands.write(out, encoding, request, sequence);
        }
        int tag = RequestRing.tag(kind, encoding, sequence, false);
        return isWakeUpWanted
                ? enqueueWithWakeUp(request, kind, tag, mask, out, start, commandStart)
                : fanOut.enqueue(request, kind, tag, mask, out, start);
    }

    /** A node that pushes no changes of keys gets the command without the registration. */
    private long enqueueWithWakeUp(LockRequest request, CommandKind kind, int tag, long mask, ByteBuf out, int start,
            int commandStart) {
        int end = out.writerIndex();
        long pushing = fanOut.pushing;
        long sent = 0;
        for (long left = mask & (kind.isVote ? fanOut.open : fanOut.connected); left != 0; left &= left - 1) {
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

    @Override
    public void onRejected(LockRequest request, CommandKind kind, int sequence, long nodes) {
        for (long left = nodes; left != 0; left &= left - 1) {
            int index = Long.numberOfTrailingZeros(left);
            request.onFailed(index, kind, sequence, reason(request, kind, index));
        }
    }

    @Override
    public void onRejected(CommandBatch batch, long nodes) {
        for (long left = nodes; left != 0; left &= left - 1) {
            int index = Long.numberOfTrailingZeros(left);
            LockRequest first = CommandBatches.firstOf(batch, batch.requestsOf(index));
            batch.onFailed(index, reason(first, batch.kind().single(), index));
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
