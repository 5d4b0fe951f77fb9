package dev.redlock.testing;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import dev.redlock.resp.RespWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A blocking connection to one server, which shows replies and pushes in the order of the wire. Words and replies hold
 * bytes, one char each (ISO 8859-1).
 */
public final class RawConnection implements AutoCloseable {

    private static final int TIMEOUT_MS = (int) Duration.ofSeconds(20).toMillis();
    private static final String END_MARK = "PONG";

    private final Socket socket = new Socket();
    private final RespParser parser = RespParser.forReplies(RespLimits.defaults());
    private final ArrayDeque<RespValue> received = new ArrayDeque<>();
    private final RespValueReader reader = new RespValueReader(received::add);
    private ByteBuf unread = Unpooled.EMPTY_BUFFER;

    /** Connects to a port of loopback. */
    public RawConnection(int port) {
        try {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), TIMEOUT_MS);
            socket.setSoTimeout(TIMEOUT_MS);
            socket.setTcpNoDelay(true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends commands in one write. */
    public void send(List<List<String>> commands) {
        ByteBuf out = Unpooled.buffer();
        for (List<String> words : commands) {
            RespWriter.arrayHeader(out, words.size());
            words.forEach(word -> RespWriter.bulkString(out, word.getBytes(StandardCharsets.ISO_8859_1)));
        }
        try {
            out.readBytes(socket.getOutputStream(), out.readableBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the next reply or push, and waits for it; fails after 20 s. */
    public RespValue next() {
        try {
            while (received.isEmpty()) {
                byte[] bytes = new byte[1 << 16];
                int count = socket.getInputStream().read(bytes);
                if (count < 0) {
                    throw new IOException("the server has closed the connection");
                }
                unread = Unpooled.wrappedBuffer(unread, Unpooled.wrappedBuffer(bytes, 0, count));
                parser.parse(unread, reader);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return received.poll();
    }

    /**
     * Sends commands and a {@code PING} in one write, and returns the replies and pushes before its {@code PONG}. A
     * server that has executed a command of another connection before this call sends its push before the {@code PONG}.
     */
    @SafeVarargs
    public final List<String> run(List<String>... commands) {
        List<List<String>> all = new ArrayList<>();
        for (List<String> command : commands) {
            all.add(command);
        }
        all.add(List.of("PING"));
        send(all);
        List<String> texts = new ArrayList<>();
        for (String text = text(next()); !text.equals(END_MARK); text = text(next())) {
            texts.add(text);
        }
        return texts;
    }

    /** A null as {@code null}, an array in brackets, a push as {@code push} and its elements. */
    private static String text(RespValue value) {
        if (value.isNull()) {
            return "null";
        }
        return switch (value.type()) {
            case INTEGER -> Long.toString(value.asLong());
            case PUSH -> "push " + value.elements().stream().map(RawConnection::text).collect(Collectors.joining(" "));
            case ARRAY, MAP, SET -> value.elements().stream().map(RawConnection::text).toList().toString();
            default -> new String(value.asBytes(), StandardCharsets.ISO_8859_1);
        };
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
