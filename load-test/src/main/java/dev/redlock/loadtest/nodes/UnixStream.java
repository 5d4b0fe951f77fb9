package dev.redlock.loadtest.nodes;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;

/**
 * A Unix socket as two streams, with a deadline for each read: the JDK has the channel and not the deadline.
 *
 * @threading caller-confined
 */
final class UnixStream implements Closeable {
    private final SocketChannel channel;
    private final Selector readable;
    private final Duration timeout;

    private UnixStream(SocketChannel channel, Selector readable, Duration timeout) {
        this.channel = channel;
        this.readable = readable;
        this.timeout = timeout;
    }

    static UnixStream connect(Path file, Duration timeout) throws IOException {
        SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            channel.connect(UnixDomainSocketAddress.of(file));
            channel.configureBlocking(false);
            Selector readable = Selector.open();
            channel.register(readable, SelectionKey.OP_READ);
            return new UnixStream(channel, readable, timeout);
        } catch (IOException e) {
            channel.close();
            throw new IOException("cannot connect to unix://" + file + ": " + e.getMessage(), e);
        }
    }

    InputStream in() {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
            }

            @Override
            public int read(byte[] bytes, int offset, int length) throws IOException {
                int count = channel.read(ByteBuffer.wrap(bytes, offset, length));
                while (count == 0 && length > 0) {
                    if (readable.select(Math.max(1, timeout.toMillis())) == 0) {
                        throw new SocketTimeoutException("no answer within " + timeout.toMillis() + " ms");
                    }
                    readable.selectedKeys().clear();
                    count = channel.read(ByteBuffer.wrap(bytes, offset, length));
                }
                return count;
            }
        };
    }

    /** Commands are far smaller than a socket's buffer, so a write that does not block takes them whole. */
    OutputStream out() {
        return new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                write(new byte[]{(byte) one}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                ByteBuffer buffer = ByteBuffer.wrap(bytes, offset, length);
                channel.write(buffer);
                if (buffer.hasRemaining()) {
                    throw new IOException("the node does not read: " + buffer.remaining() + " of " + length
                            + " bytes could not be written");
                }
            }
        };
    }

    @Override
    public void close() throws IOException {
        readable.close();
        channel.close();
    }
}
