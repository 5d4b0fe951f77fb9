package dev.redlock.node.send;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/**
 * The name of one event loop among the clients that wait for a lock. The loop subscribes to the channel of this name on
 * each node, and a node publishes there when the loop has become the first of the waiting clients, or the second.
 *
 * <p>Copies of a process have the same name, as after the restore of a snapshot. They share their entry in a queue, and
 * each of them gets the messages of both. The votes of the nodes exclude them from each other all the same.
 *
 * @threading immutable
 */
public final class WaiterName {

    /** Length of the random bytes. */
    public static final int LENGTH = 16;
    /** The channel without the name. */
    static final String CHANNEL_PREFIX = "redlock:wake:";
    /** The scripts publish nothing to a name with this start. */
    private static final char NO_CHANNEL = '!';

    private final String text;
    private final byte[] bulk;
    private final byte[] silentBulk;
    /** The channel, for comparisons. */
    final ByteBuf channelBytes;

    /**
     * The name of some bytes.
     *
     * @param bytes {@value #LENGTH} fresh random bytes; not kept
     */
    public WaiterName(byte[] bytes) {
        if (bytes.length != LENGTH) {
            throw new IllegalArgumentException("the name of a waiter has " + LENGTH + " bytes, not " + bytes.length);
        }
        this.text = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
        this.bulk = ("$" + text.length() + "\r\n" + text + "\r\n").getBytes(StandardCharsets.US_ASCII);
        this.silentBulk = ("$" + (1 + text.length()) + "\r\n" + NO_CHANNEL + text + "\r\n")
                .getBytes(StandardCharsets.US_ASCII);
        this.channelBytes = Unpooled.copiedBuffer(channel(), StandardCharsets.US_ASCII);
    }

    /** @return 22 characters: letters, digits, {@code -} and {@code _} */
    public String text() {
        return text;
    }

    /** @return the text as a bulk string, ready to send; borrowed, not to be changed */
    public byte[] bulk() {
        return bulk;
    }

    /** @return the name of the loop at a node that sends it no messages, and has to keep its entry without them */
    public byte[] silentBulk() {
        return silentBulk;
    }

    /** @return the channel of the messages to the event loop */
    public String channel() {
        return CHANNEL_PREFIX + text;
    }

    @Override
    public String toString() {
        return text;
    }
}
