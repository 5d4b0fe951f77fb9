package dev.redlock.cli;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import dev.redlock.resp.SafeText;
import dev.redlock.transport.NodeAddress;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;

/**
 * A TCP connection without TLS: a socket of the JDK, because an event loop takes longer to start than most commands
 * run.
 *
 * @threading any thread; one at a time exchanges
 */
final class PlainConnection implements AdminConnection, RespValueReader.Sink {

    /** A socket takes this much at once, also if the node reads nothing: a write has no limit in time. */
    private static final int WRITE_BYTES_MAX = 16 * 1024;
    private static final int READ_BYTES = 16 * 1024;
    private static final long NS_PER_MS = 1_000_000;

    private final Socket socket = new Socket();
    private final NodeAddress address;
    private final SocketAddress place;
    private final int timeoutMs;
    private final RespParser parser = RespParser.forReplies(RespLimits.defaults());
    private final RespValueReader reader = new RespValueReader(this);
    private final Queue<RespValue> replies = new ArrayDeque<>();
    private final byte[] bytes = new byte[READ_BYTES];
    private final ByteBuf in = Unpooled.buffer(READ_BYTES);
    /** Commands that were sent and have no reply in {@link #replies} yet. */
    private int dueCount;
    private boolean hasReplied;

    private PlainConnection(NodeAddress address, SocketAddress place, int timeoutMs) {
        this.address = address;
        this.place = place;
        this.timeoutMs = timeoutMs;
    }

    static PlainConnection open(NodeAddress address, SocketAddress place, int timeoutMs) throws IOException {
        PlainConnection opened = new PlainConnection(address, place, timeoutMs);
        try {
            opened.socket.connect(place, timeoutMs);
            opened.socket.setTcpNoDelay(true);
            return opened;
        } catch (SocketTimeoutException e) {
            opened.close();
            throw new IOException("connection timed out after " + timeoutMs + " ms" + opened.resolved(), e);
        } catch (SocketException e) {
            opened.close();
            throw new IOException(e.getMessage() + opened.resolved(), e);
        }
    }

    /** The address behind a host name; empty if there is no name. */
    private String resolved() {
        return place.toString().equals("/" + address) ? "" : ": " + place;
    }

    @Override
    public synchronized List<RespValue> exchange(List<ByteBuf> commands) throws IOException {
        List<RespValue> values = new ArrayList<>();
        try {
            // Replies to commands that have timed out come first.
            int lateCount = dueCount;
            ByteBuf out = Unpooled.buffer();
            for (int i = 0; i < commands.size(); i++) {
                out.writeBytes(commands.get(i));
                dueCount++;
                boolean isLast = i + 1 == commands.size();
                if (isLast || out.readableBytes() + commands.get(i + 1).readableBytes() > WRITE_BYTES_MAX) {
                    out.readBytes(socket.getOutputStream(), out.readableBytes());
                    out.clear();
                    for (; lateCount > 0; lateCount--) {
                        receive();
                    }
                    while (values.size() <= i) {
                        values.add(receive());
                    }
                }
            }
            return values;
        } catch (SocketTimeoutException e) {
            throw new SocketTimeoutException("no answer within " + timeoutMs + " ms");
        } catch (IOException | RespProtocolException | IllegalStateException e) {
            close();
            throw new IOException("the connection to " + SafeText.of(place.toString()) + " is closed" + (hasReplied
                    ? ""
                    : ": if this is the TLS port of the node, write rediss://" + address), e);
        }
    }

    private RespValue receive() throws IOException {
        long endNs = System.nanoTime() + timeoutMs * NS_PER_MS;
        while (replies.isEmpty()) {
            long leftNs = endNs - System.nanoTime();
            if (leftNs <= 0) {
                throw new SocketTimeoutException();
            }
            socket.setSoTimeout((int) (leftNs / NS_PER_MS) + 1);
            int count = socket.getInputStream().read(bytes);
            if (count < 0) {
                throw new EOFException();
            }
            in.discardReadBytes().writeBytes(bytes, 0, count);
            parser.parse(in, reader);
        }
        hasReplied = true;
        return replies.remove();
    }

    @Override
    public void onPush(RespValue value) {
        // Nobody subscribes.
    }

    @Override
    public void onReply(RespValue value) {
        if (dueCount == 0) {
            throw new IllegalStateException("a reply came that no request awaits");
        }
        dueCount--;
        replies.add(value);
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // It is closed.
        }
    }
}
