package dev.redlock.node.send;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespVisitor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;

/**
 * Reads one push of a connection:
 * <ul>
 * <li>{@code >2 invalidate [key ...]}, or {@code >2 invalidate null} if the server was flushed
 * <li>{@code >3 message channel payload}, whose payload is a word of one byte and the key of a lock
 * <li>{@code >3 subscribe channel count}, in place of a reply to {@code SUBSCRIBE}
 * </ul>
 *
 * <p>The channel is that of this event loop. The reader ignores everything else, but counts it, because a server may
 * push without end. It keeps no bytes and allocates nothing.
 *
 * @threading event-loop-confined
 */
final class PushReader implements RespVisitor {

    private static final ByteBuf INVALIDATE = ascii("invalidate");
    private static final ByteBuf MESSAGE = ascii("message");
    private static final ByteBuf SUBSCRIBE = ascii("subscribe");
    /** The push itself has depth 1, and its list of keys has depth 2. */
    private static final int KEYS_DEPTH = 2;
    private static final int KIND_AND_KEYS = 2;
    /** A message, and the push of a subscription, have a kind, a channel and one more element. */
    private static final int MESSAGE_ELEMENTS = 3;
    /** A string weighs one more for each 16 KiB. */
    private static final int WEIGHT_SHIFT = 14;

    /**
     * Receives the pushes.
     *
     * @threading event-loop-confined
     */
    interface Listener {

        /** A registered key has changed. The bytes are borrowed. */
        void onInvalidated(ByteBuf key, int index, int length);

        /** The server was flushed, which may happen during the handshake too. */
        void onKeysFlushed();

        /**
         * The event loop has another place among the clients that wait for a lock.
         *
         * @param word one of {@code h}, {@code d}, {@code H} and {@code D}
         * @param key  holds the key of the lock; borrowed
         */
        void onMessage(byte word, ByteBuf key, int index, int length);

        /** A push has elements that nobody expects. Returns false if the connection is not used any more. */
        boolean onOtherPush(int weight);
    }

    /**
     * The part of the push that has been read.
     *
     * @threading immutable
     */
    private enum Part {
        NONE, INVALIDATE, KEYS, MESSAGE, MESSAGE_CHANNEL, MESSAGE_WORD, SUBSCRIBE, SUBSCRIBE_CHANNEL, SUBSCRIPTION
    }

    private final Listener listener;
    /** The channel of this event loop. */
    private final ByteBuf channel;
    private Part part = Part.NONE;
    private int depth;
    private int elementCount;
    private int otherWeight;

    PushReader(Listener listener, WaiterName waiter) {
        this.listener = listener;
        this.channel = waiter.channelBytes;
    }

    private static ByteBuf ascii(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII);
    }

    private static boolean isEqual(ByteBuf buf, int index, int length, ByteBuf other) {
        return length == other.capacity() && ByteBufUtil.equals(buf, index, other, 0, length);
    }

    /** Whether the push that ends now is that of a subscription to the channel of this event loop. */
    boolean isSubscription() {
        return part == Part.SUBSCRIPTION;
    }

    /** The push that ends now has answered a request. */
    void onSubscriptionEnd() {
        reset();
    }

    @Override
    public void onAggregateStart(RespType type, int count) {
        depth++;
        if (depth == 1) {
            elementCount = count;
        }
        otherWeight += depth == 1 ? Math.max(0, count - KIND_AND_KEYS) : count;
    }

    @Override
    public void onAggregateEnd(RespType type) {
        depth--;
    }

    @Override
    public void onBulkString(ByteBuf buf, int index, int length) {
        otherWeight += length >> WEIGHT_SHIFT;
        if (depth == KEYS_DEPTH && (part == Part.INVALIDATE || part == Part.KEYS)) {
            part = Part.KEYS;
            otherWeight--;
            listener.onInvalidated(buf, index, length);
        } else if (depth == 1) {
            part = next(buf, index, length);
        }
    }

    /** Returns the part that a string of the push itself leads to. */
    private Part next(ByteBuf buf, int index, int length) {
        switch (part) {
            case MESSAGE -> {
                return isEqual(buf, index, length, channel) ? Part.MESSAGE_CHANNEL : Part.NONE;
            }
            case MESSAGE_CHANNEL -> {
                return isMessage(buf, index, length) ? Part.MESSAGE_WORD : Part.NONE;
            }
            case SUBSCRIBE -> {
                return isEqual(buf, index, length, channel) ? Part.SUBSCRIBE_CHANNEL : Part.NONE;
            }
            default -> {
                return kind(buf, index, length);
            }
        }
    }

    private Part kind(ByteBuf buf, int index, int length) {
        if (isEqual(buf, index, length, INVALIDATE)) {
            return Part.INVALIDATE;
        }
        if (elementCount != MESSAGE_ELEMENTS) {
            return Part.NONE;
        }
        return isEqual(buf, index, length, MESSAGE)
                ? Part.MESSAGE
                : isEqual(buf, index, length, SUBSCRIBE) ? Part.SUBSCRIBE : Part.NONE;
    }

    /** Passes a payload on. It needs a word that the client knows, and a key. */
    private boolean isMessage(ByteBuf buf, int index, int length) {
        if (length < 2) {
            return false;
        }
        byte word = buf.getByte(index);
        if (word != 'h' && word != 'd' && word != 'H' && word != 'D') {
            return false;
        }
        listener.onMessage(word, buf, index + 1, length - 1);
        return true;
    }

    @Override
    public void onNull(RespType type) {
        if (depth == 1 && part == Part.INVALIDATE) {
            part = Part.KEYS;
            listener.onKeysFlushed();
        }
    }

    @Override
    public void onPushEnd() {
        // The third element of a message is counted, but expected.
        int weight = part == Part.KEYS ? otherWeight : part == Part.MESSAGE_WORD ? otherWeight - 1 : otherWeight + 1;
        reset();
        if (weight > 0) {
            listener.onOtherPush(weight);
        }
    }

    private void reset() {
        part = Part.NONE;
        otherWeight = 0;
    }

    @Override
    public void onInteger(long value) {
        // Counted as an element.
        if (depth == 1 && part == Part.SUBSCRIBE_CHANNEL) {
            part = Part.SUBSCRIPTION;
        }
    }

    @Override
    public void onSimpleError(ByteBuf buf, int index, int length) {
        // Counted as an element.
    }

    @Override
    public void onBulkError(ByteBuf buf, int index, int length) {
        otherWeight += length >> WEIGHT_SHIFT;
    }

    @Override
    public void onVerbatimString(int format, ByteBuf buf, int index, int length) {
        otherWeight += length >> WEIGHT_SHIFT;
    }

    @Override
    public void onReplyEnd() {
        throw new IllegalStateException("a push is not a reply");
    }
}
