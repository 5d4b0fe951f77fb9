package dev.redlock.node.send;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import dev.redlock.resp.RespVisitor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;

/**
 * Assigns each reply of a connection to the oldest request in flight.
 *
 * <p>Replies to lock commands are read without a tree, all others with one. A reply of the
 * wrong type, or one without a request, means that the stream is out of step. Then this throws, the connection closes,
 * and the outcome of every request in flight is unknown.
 *
 * @threading event-loop-confined
 */
class ReplyReader implements RespVisitor {

    /**
     * The part of the current reply that has been read.
     *
     * @threading immutable
     */
    private enum Scalar {
        NONE, INTEGER, NUMBER, OK, NULL, ERROR, BATCH
    }

    /** Digits of the largest number that a script counts to. */
    private static final int NUMBER_LENGTH_MAX = 16;
    private static final short OK = 'O' << 8 | 'K';
    private static final byte[] OK_BYTES = {'O', 'K'};

    final RequestRing ring;
    final CommandSender sender;
    private final RespValueReader valueReader = new RespValueReader(reply -> value = reply);
    private final PushReader pushReader;
    /** The reader of everything but lock replies: the value reader or, within a push, the push reader. */
    private RespVisitor other = valueReader;
    private Scalar scalar = Scalar.NONE;
    private long integer;
    private VoteFailure failure;
    /** The other server that an error of a cluster names; null if it names none. */
    private SlotRedirect redirect;
    private String errorCode = "";
    private RespValue value;
    private int depth;
    private boolean isBatchReply;
    private final BatchReply batchReply = new BatchReply();

    ReplyReader(RequestRing ring, CommandSender sender) {
        this.ring = ring;
        this.sender = sender;
        this.pushReader = new PushReader(sender, sender.context.waiter());
    }

    @Override
    public void onInteger(long number) {
        if (depth == 0) {
            scalar = Scalar.INTEGER;
            integer = number;
        } else if (isBatchReply && depth == 1) {
            batchReply.addValue(number);
        } else {
            other.onInteger(number);
        }
    }

    /** Whether this value is the reply to a lock command. */
    private boolean isScalarExpected() {
        if (depth != 0) {
            return false;
        }
        InFlightRequest request = ring.head();
        return request instanceof LockRequest || request instanceof UndeliveredRelease
                || request instanceof WakeUpRequest;
    }

    private boolean isLockError() {
        return isScalarExpected() || depth == 0 && ring.head() instanceof CommandBatch;
    }

    private static IllegalStateException wrongType() {
        return new IllegalStateException("reply of the wrong type to a lock command");
    }

    @Override
    public void onSimpleError(ByteBuf buf, int index, int length) {
        if (isBatchReply && depth == 1) {
            readError(buf, index, length);
            batchReply.addError(failure, errorCode);
        } else if (isLockError()) {
            scalar = Scalar.ERROR;
            readError(buf, index, length);
            redirect = sender.cluster != null && (failure == VoteFailure.MOVED || failure == VoteFailure.ASK)
                    ? redirectIn(buf, index, length)
                    : null;
        } else {
            other.onSimpleError(buf, index, length);
        }
    }

    private void readError(ByteBuf buf, int index, int length) {
        failure = VoteFailure.ofErrorReply(buf, index, length);
        errorCode = failure == VoteFailure.ERROR
                ? VoteFailure.codeOf(buf, index, length, errorCode)
                : failure.text();
    }

    private static SlotRedirect redirectIn(ByteBuf buf, int index, int length) {
        return SlotRedirect.parse(
                buf.toString(index, Math.min(length, SlotRedirect.LENGTH_MAX + 1), StandardCharsets.ISO_8859_1));
    }

    @Override
    public void onReplyEnd() {
        Scalar reply = scalar;
        scalar = Scalar.NONE;
        InFlightRequest request = ring.head();
        if (request instanceof LockRequest lockRequest) {
            answer(lockRequest, reply);
        } else if (request instanceof CommandBatch batch) {
            answer(batch, reply);
        } else if (request instanceof UndeliveredRelease release) {
            answer(release, reply);
        } else if (request instanceof WakeUpRequest) {
            answerWakeUp(reply);
        } else if (request instanceof ValueRequest valueRequest) {
            answer(valueRequest, reply);
        } else {
            throw new IllegalStateException("unexpected reply: no request is in flight");
        }
    }

    private void answer(LockRequest request, Scalar reply) {
        if (reply == Scalar.ERROR) {
            sender.retries.onError(request, ring.take(), failure, errorCode, redirect);
            return;
        }
        CommandEncoding.Reply expected = ring.headEncoding().reply;
        boolean isExpected = switch (expected) {
            case OK -> reply == Scalar.OK || reply == Scalar.NULL;
            case TEXT -> reply == Scalar.NUMBER || reply == Scalar.NULL;
            case INTEGER -> reply == Scalar.INTEGER;
            case PLACE -> reply == Scalar.INTEGER || reply == Scalar.NULL;
        };
        if (!isExpected) {
            throw wrongType();
        }
        int tag = ring.take();
        if (reply == Scalar.NULL && expected == CommandEncoding.Reply.OK) {
            sender.onSetRefused(request, tag);
        } else if (reply == Scalar.NULL && expected == CommandEncoding.Reply.PLACE) {
            sender.onReply(request, tag, -1);
        } else {
            sender.onReply(request, tag, reply == Scalar.OK ? 1 : reply == Scalar.NULL ? 0 : integer);
        }
    }

    private void answer(ValueRequest request, Scalar reply) {
        if (reply == Scalar.INTEGER) {
            valueReader.onInteger(integer);
        } else if (reply == Scalar.OK) {
            valueReader.onSimpleString(Unpooled.wrappedBuffer(OK_BYTES), 0, OK_BYTES.length);
        }
        valueReader.onReplyEnd();
        ring.take();
        RespValue read = value;
        value = null;
        request.onValue(read);
    }

    private void answer(UndeliveredRelease release, Scalar reply) {
        if (reply == Scalar.ERROR) {
            release.owner.onError(release, ring.take(), failure, errorCode, redirect);
        } else if (reply == Scalar.INTEGER) {
            ring.take();
            release.owner.onReply(release, integer);
        } else {
            throw wrongType();
        }
    }

    private void answer(CommandBatch batch, Scalar reply) {
        if (reply == Scalar.ERROR) {
            sender.retries.onBatchError(batch, ring.take(), failure, errorCode, redirect);
        } else if (reply == Scalar.BATCH && batchReply.length() == sender.lengthOf(batch)) {
            ring.take();
            sender.onBatchReply(batch, batchReply);
        } else if (reply == Scalar.INTEGER && batch.kind == CommandKind.RELEASE_MANY
                && integer == sender.lengthOf(batch)) {
            ring.take();
            batchReply.setAllReleased((int) integer);
            sender.onBatchReply(batch, batchReply);
        } else if (reply == Scalar.INTEGER && batch.kind == CommandKind.ACQUIRE_MANY) {
            ring.take();
            sender.onAcquiresReply(batch, integer);
        } else {
            throw wrongType();
        }
    }

    /** The attempt itself follows, and works without the push. */
    private void answerWakeUp(Scalar reply) {
        if (reply == Scalar.ERROR) {
            ring.take();
            sender.onWakeUpRejected(errorCode);
        } else if (reply == Scalar.OK) {
            ring.take();
        } else {
            throw wrongType();
        }
    }

    /** RESP3 answers {@code SUBSCRIBE} by a push: it belongs to the oldest request, if that is a subscription. */
    @Override
    public void onPushEnd() {
        other = valueReader;
        if (pushReader.isSubscription() && ring.head() instanceof ValueRequest request && request.isSubscribe) {
            pushReader.onSubscriptionEnd();
            ring.take();
            request.onValue(ValueRequest.SUBSCRIBED);
        } else {
            pushReader.onPushEnd();
        }
    }

    @Override
    public void onAggregateStart(RespType type, int elementCount) {
        if (depth == 0 && type == RespType.ARRAY && ring.head() instanceof CommandBatch batch
                && elementCount == sender.lengthOf(batch)) {
            isBatchReply = true;
            batchReply.clear();
        } else {
            if (depth == 0 && type == RespType.PUSH) {
                other = pushReader;
            }
            other.onAggregateStart(type, elementCount);
        }
        depth++;
    }

    @Override
    public void onAggregateEnd(RespType type) {
        depth--;
        if (depth == 0 && isBatchReply) {
            isBatchReply = false;
            // Without this, a reply of another type would count as the outcomes of the previous batch.
            scalar = Scalar.BATCH;
        } else {
            other.onAggregateEnd(type);
        }
    }

    @Override
    public void onSimpleString(ByteBuf buf, int index, int length) {
        if (depth == 0 && length == 2 && buf.getShort(index) == OK) {
            scalar = Scalar.OK;
        } else if (isScalarExpected() && ring.headEncoding() == CommandEncoding.TYPE) {
            scalar = Scalar.NUMBER;
            integer = KeyType.named(buf.toString(index, length, StandardCharsets.ISO_8859_1)).ordinal();
        } else {
            other.onSimpleString(buf, index, length);
        }
    }

    @Override
    public void onBulkString(ByteBuf buf, int index, int length) {
        if (isScalarExpected() && ring.headEncoding() == CommandEncoding.GET) {
            scalar = Scalar.NUMBER;
            integer = numberIn(buf, index, length);
        } else {
            other.onBulkString(buf, index, length);
        }
    }

    /** Returns the number that the digits are; 0 for anything else, as of a foreign key. */
    private static long numberIn(ByteBuf buf, int index, int length) {
        long number = 0;
        for (int i = 0; i < length; i++) {
            int digit = buf.getByte(index + i) - '0';
            if (digit < 0 || digit > 9 || length > NUMBER_LENGTH_MAX) {
                return 0;
            }
            number = 10 * number + digit;
        }
        return number;
    }

    @Override
    public void onBulkError(ByteBuf buf, int index, int length) {
        if (isLockError() || isBatchReply && depth == 1) {
            onSimpleError(buf, index, length);
        } else {
            other.onBulkError(buf, index, length);
        }
    }

    @Override
    public void onVerbatimString(int format, ByteBuf buf, int index, int length) {
        other.onVerbatimString(format, buf, index, length);
    }

    @Override
    public void onNull(RespType type) {
        if (isScalarExpected()) {
            scalar = Scalar.NULL;
        } else {
            other.onNull(type);
        }
    }

    @Override
    public void onBoolean(boolean bool) {
        other.onBoolean(bool);
    }

    @Override
    public void onDouble(double number) {
        other.onDouble(number);
    }

    @Override
    public void onBigNumber(ByteBuf buf, int index, int length) {
        other.onBigNumber(buf, index, length);
    }
}
