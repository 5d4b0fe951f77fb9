package dev.redlock.loadtest.nodes;

import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespWriter;
import dev.redlock.resp.netty.RespClient;
import dev.redlock.transport.NodeAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The codec's {@link RespClient} in blocking form, for set-up and checks: one command, one reply, one deadline. Not for
 * measuring.
 *
 * @threading any thread but an event loop
 */
public final class AdminClient implements AutoCloseable {
    /** Carries the administrative connections of the whole JVM; its name marks it as a thread of the rig. */
    private static final EventLoopGroup EVENT_LOOP = new MultiThreadIoEventLoopGroup(1,
            new DefaultThreadFactory("load-admin", true), NioIoHandler.newFactory());

    private final RespClient client;
    private final long timeoutMs;

    private AdminClient(RespClient client, long timeoutMs) {
        this.client = client;
        this.timeoutMs = timeoutMs;
    }

    /**
     * Connects, and authenticates when the address has a password.
     *
     * @param address the node
     * @param timeout bound of the connect and of every later reply
     * @return a connected client
     * @throws IOException if the node cannot be reached in time or refuses the credentials
     */
    public static AdminClient connect(NodeAddress address, Duration timeout) throws IOException {
        long timeoutMs = Math.max(1, timeout.toMillis());
        Bootstrap bootstrap = new Bootstrap().group(EVENT_LOOP)
                .channel(address.isUnixSocket() ? NioDomainSocketChannel.class : NioSocketChannel.class)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) timeoutMs);
        AdminClient admin;
        try {
            admin = new AdminClient(
                    await(RespClient.connect(bootstrap, socketAddress(address)).toCompletableFuture()), timeoutMs);
        } catch (IOException e) {
            throw new IOException("cannot connect to " + address + ": " + e.getMessage(), e);
        }
        try {
            admin.authenticate(address);
            return admin;
        } catch (IOException e) {
            admin.close();
            throw e;
        }
    }

    private static SocketAddress socketAddress(NodeAddress address) throws UnknownHostException {
        if (address.isUnixSocket()) {
            return UnixDomainSocketAddress.of(address.path());
        }
        InetSocketAddress resolved = new InetSocketAddress(address.host(), address.port());
        if (resolved.isUnresolved()) {
            throw new UnknownHostException(address.host());
        }
        return resolved;
    }

    private void authenticate(NodeAddress address) throws IOException {
        if (address.password() == null) {
            return;
        }
        RespValue reply = address.user() != null
                ? send("AUTH", address.user(), address.password())
                : send("AUTH", address.password());
        if (reply.isError()) {
            throw new IOException("node " + address + " refused the credentials: " + reply.asText());
        }
    }

    /**
     * Sends one command and waits for its reply.
     *
     * @param words the command and its arguments
     * @return the reply; an error of the server is a value too
     * @throws IOException if the connection breaks or no reply comes in time
     */
    public RespValue send(String... words) throws IOException {
        try {
            return await(client.send(words).orTimeout(timeoutMs, TimeUnit.MILLISECONDS));
        } catch (SocketTimeoutException e) {
            throw new SocketTimeoutException("no answer within " + timeoutMs + " ms");
        }
    }

    /**
     * Sends commands without waiting in between, then waits for their replies, each as long as for one command.
     *
     * @param commands each the words of one command, as bytes
     * @return the replies in order; an error of the server is a value too
     * @throws IOException if the connection breaks or a reply does not come in time
     */
    public List<RespValue> sendAll(List<List<byte[]>> commands) throws IOException {
        List<CompletableFuture<RespValue>> pending = new ArrayList<>();
        for (List<byte[]> words : commands) {
            ByteBuf out = client.channel().alloc().buffer();
            RespWriter.arrayHeader(out, words.size());
            words.forEach(word -> RespWriter.bulkString(out, word));
            pending.add(client.send(out));
        }
        List<RespValue> replies = new ArrayList<>();
        for (CompletableFuture<RespValue> reply : pending) {
            try {
                replies.add(await(reply.orTimeout(timeoutMs, TimeUnit.MILLISECONDS)));
            } catch (SocketTimeoutException e) {
                throw new SocketTimeoutException("no answer within " + timeoutMs + " ms");
            }
        }
        return replies;
    }

    /**
     * Sends one command and waits for its reply, as a value of the JDK.
     *
     * @param words the command and its arguments
     * @return a String, a Long, a List, null, or the {@link RespValue} of an error
     * @throws IOException if the connection breaks or no reply comes in time
     */
    public Object call(String... words) throws IOException {
        return plain(send(words));
    }

    private static Object plain(RespValue value) {
        if (value.isNull() || value.isError()) {
            return value.isNull() ? null : value;
        }
        return switch (value.type()) {
            case INTEGER -> value.asLong();
            case ARRAY -> value.elements().stream().map(AdminClient::plain).toList();
            default -> value.asText();
        };
    }

    /**
     * One field of {@code INFO}, such as {@code redis_version}.
     *
     * @param field the name before the colon
     * @return its value, or an empty string when the server does not report it
     * @throws IOException if the connection breaks or no reply comes in time
     */
    public String info(String field) throws IOException {
        RespValue reply = send("INFO");
        if (reply.isError()) {
            throw new IOException("INFO answered " + reply.asText());
        }
        return reply.asText()
                .lines()
                .filter(line -> line.startsWith(field + ":"))
                .map(line -> line.substring(field.length() + 1))
                .findFirst()
                .orElse("");
    }

    private static <T> T await(CompletableFuture<T> future) throws IOException {
        try {
            return future.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof TimeoutException) {
                throw new SocketTimeoutException();
            }
            throw new IOException(e.getCause().getMessage(), e.getCause());
        }
    }

    @Override
    public void close() {
        client.channel().close().awaitUninterruptibly();
    }
}
