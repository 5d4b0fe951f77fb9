package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Converts between text and wire bytes, one character for each byte. */
public final class Wire {
    private Wire() {
    }

    public static byte[] bytes(String wire) {
        return wire.getBytes(StandardCharsets.ISO_8859_1);
    }

    public static ByteBuf buf(String wire) {
        return Unpooled.wrappedBuffer(bytes(wire));
    }

    public static String text(ByteBuf buf) {
        return buf.toString(StandardCharsets.ISO_8859_1);
    }

    /** Parses a whole input and returns its events. Fails if bytes stay unread. */
    public static List<String> events(String wire) {
        EventLog log = new EventLog();
        ByteBuf in = buf(wire);
        RespParser.forReplies(RespLimits.defaults()).parse(in, log);
        if (in.isReadable()) {
            throw new AssertionError("unread: " + text(in));
        }
        return log.events();
    }
}
