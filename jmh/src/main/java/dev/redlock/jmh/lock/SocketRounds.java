package dev.redlock.jmh.lock;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/**
 * The lower bound of a round over N nodes: one small command to each over a plain blocking socket, then one reply from
 * each. It checks the replies only.
 *
 * @threading caller-confined
 */
final class SocketRounds implements AutoCloseable {

    private static final byte[] PING = "*1\r\n$4\r\nPING\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final int PONG_LENGTH = "+PONG\r\n".length();

    private final SocketChannel[] channels;
    private final ByteBuffer out = ByteBuffer.allocateDirect(PING.length).put(PING);
    private final ByteBuffer in = ByteBuffer.allocateDirect(64);

    SocketRounds(String[] addresses) {
        channels = new SocketChannel[addresses.length];
        try {
            for (int i = 0; i < channels.length; i++) {
                String hostAndPort = addresses[i].substring(addresses[i].lastIndexOf('/') + 1);
                int colon = hostAndPort.lastIndexOf(':');
                channels[i] = SocketChannel.open(new InetSocketAddress(hostAndPort.substring(0, colon),
                        Integer.parseInt(hostAndPort.substring(colon + 1))));
                channels[i].socket().setTcpNoDelay(true);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void round() throws IOException {
        for (SocketChannel channel : channels) {
            out.rewind();
            channel.write(out);
        }
        for (SocketChannel channel : channels) {
            in.clear();
            while (in.position() < PONG_LENGTH) {
                channel.read(in);
            }
            if (in.get(0) != '+' || in.position() != PONG_LENGTH) {
                throw new IllegalStateException("the reply to PING is not PONG");
            }
        }
    }

    @Override
    public void close() throws IOException {
        for (SocketChannel channel : channels) {
            channel.close();
        }
    }
}
