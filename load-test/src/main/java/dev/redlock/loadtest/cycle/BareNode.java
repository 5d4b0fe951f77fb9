package dev.redlock.loadtest.cycle;

import dev.redlock.transport.NodeAddress;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/**
 * A bare socket to one node. It allocates nothing after its registration, unless a write is incomplete.
 *
 * @threading event-loop-confined
 */
final class BareNode implements AutoCloseable {

    private static final int READ_BYTES = 1 << 16;
    private static final int SHA1_REPLY_BYTES = 47;

    final NodeAddress address;
    /** The number of its replies. */
    long answered;
    /** Written by the loop alone. */
    volatile long lostVoteCount;

    private final SocketChannel channel;
    private final ByteBuffer in = ByteBuffer.allocateDirect(READ_BYTES);
    private ByteBuffer view;
    private ByteBuffer backlog;
    private SelectionKey key;

    private BareNode(NodeAddress address, SocketChannel channel) {
        this.address = address;
        this.channel = channel;
    }

    static BareNode connect(String text) throws IOException {
        NodeAddress address = NodeAddress.parse(text);
        if (address.password() != null) {
            throw new IllegalArgumentException(
                    address + " has a password, and the yardstick cannot authenticate: name a node without one");
        }
        SocketAddress remote = address.isUnixSocket()
                ? UnixDomainSocketAddress.of(address.path())
                : new InetSocketAddress(address.host(), address.port());
        SocketChannel channel = SocketChannel.open(remote);
        if (!address.isUnixSocket()) {
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        }
        return new BareNode(address, channel);
    }

    /** Loads a script into the node's cache, before the registration; returns its name. */
    String load(byte[] script) throws IOException {
        byte[] head = ("*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$" + script.length + "\r\n")
                .getBytes(StandardCharsets.US_ASCII);
        ByteBuffer out = ByteBuffer.allocate(head.length + script.length + 2).put(head).put(script);
        out.put((byte) '\r').put((byte) '\n').flip();
        while (out.hasRemaining()) {
            channel.write(out);
        }
        ByteBuffer reply = ByteBuffer.allocate(SHA1_REPLY_BYTES);
        while (reply.hasRemaining() && (reply.position() == 0 || reply.get(0) == '$')) {
            if (channel.read(reply) < 0) {
                throw new EOFException(address + " hung up");
            }
        }
        String text = new String(reply.array(), 0, reply.position(), StandardCharsets.US_ASCII);
        if (!text.startsWith("$40\r\n")) {
            throw new IOException(address + " rejects the script: " + text.strip());
        }
        return text.substring(5, 45);
    }

    /** Switches to non-blocking mode; commands are sent from the batch. */
    void register(Selector selector, ByteBuffer batch) throws IOException {
        channel.configureBlocking(false);
        key = channel.register(selector, SelectionKey.OP_READ, this);
        view = batch.duplicate();
        backlog = ByteBuffer.allocateDirect(batch.capacity());
    }

    /** Sends the first bytes of the batch, in one write if the socket accepts them. */
    void send(int length) throws IOException {
        view.limit(length).position(0);
        if (backlog.position() == 0) {
            channel.write(view);
        }
        if (view.hasRemaining()) {
            if (backlog.remaining() < view.remaining()) {
                backlog = ByteBuffer.allocateDirect((backlog.position() + view.remaining()) * 2).put(backlog.flip());
            }
            backlog.put(view);
            key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        }
    }

    /** Sends the rest of an incomplete write. */
    void onWritable() throws IOException {
        backlog.flip();
        channel.write(backlog);
        backlog.compact();
        if (backlog.position() == 0) {
            key.interestOps(SelectionKey.OP_READ);
        }
    }

    /** Reads replies, and notifies the loop of each. */
    void onReadable(BareLoop loop) throws IOException {
        if (channel.read(in) < 0) {
            throw new EOFException(address + " hung up");
        }
        int end = in.position();
        int start = 0;
        for (int i = 1; i < end; i++) {
            if (in.get(i) == '\n') {
                onReply(loop, start, i);
                start = i + 1;
            }
        }
        if (start == end) {
            in.clear();
        } else if (start > 0) {
            in.limit(end).position(start);
            in.compact();
        } else if (end == in.capacity()) {
            throw new IOException(address + " sends a line of more than " + end + " bytes");
        }
    }

    /** {@code :1} and {@code +OK} are votes; {@code :0}, {@code :-n}, {@code $-1} and {@code -ERR} are not. */
    private void onReply(BareLoop loop, int start, int end) {
        byte type = in.get(start);
        boolean isVote = type == '+' || type == ':' && in.get(start + 1) == '1' && in.get(start + 2) == '\r';
        if (type == '-') {
            byte[] text = new byte[end - start];
            in.get(start, text);
            loop.onError(this, new String(text, StandardCharsets.US_ASCII).strip());
        }
        loop.onAnswer(this, isVote);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
