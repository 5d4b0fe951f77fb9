package dev.redlock.node.send;

import dev.redlock.resp.RespCommand;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/**
 * {@code CLIENT CACHING YES}: the node registers the connection for each key that the next command reads, and sends a
 * push when the key changes. An acquire script reads the key only if it refuses, so refusal and registration are one
 * atomic step on the node.
 *
 * @threading immutable
 */
final class WakeUpRequest extends InFlightRequest {

    /** The only one: the reply needs no context. */
    static final WakeUpRequest INSTANCE = new WakeUpRequest();

    private static final byte[] COMMAND = encoded(RespCommand.of("CLIENT", "CACHING", "YES"));
    /** Capacity for the command. */
    static final int COMMAND_BYTES = COMMAND.length;

    private WakeUpRequest() {
        // see INSTANCE
    }

    private static byte[] encoded(RespCommand command) {
        ByteBuf out = Unpooled.buffer();
        command.writeTo(out);
        byte[] bytes = new byte[out.readableBytes()];
        out.readBytes(bytes);
        return bytes;
    }

    /** Writes the command; the acquire script must follow it on the same connection. */
    static void writeTo(ByteBuf out) {
        out.writeBytes(COMMAND);
    }
}
