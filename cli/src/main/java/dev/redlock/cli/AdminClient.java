package dev.redlock.cli;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespWriter;
import dev.redlock.resp.netty.RespClient;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.TlsChannel;
import dev.redlock.transport.TlsContexts;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
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

    private final NodeAddress address;
    private final long timeoutMs;
    private final TlsChannel tls;
    private RespClient client;
    private boolean hasReplied;

    private AdminClient(NodeAddress address, long timeoutMs, TlsChannel tls) {
        this.address = address;
        this.timeoutMs = timeoutMs;
        this.tls = tls;
    }

    /**
     * Connects, and authenticates when the address has a password. A node with TLS needs a certificate that the JDK
     * trusts.
     *
     * @param address the node
     * @param timeout bound of the connect and of every later reply
     * @return a connected client
     * @throws IOException if the node cannot be reached in time or refuses the credentials
     */
    public static AdminClient connect(NodeAddress address, Duration timeout) throws IOException {
        return connect(address, timeout, ClientTls.DEFAULTS);
    }

    /**
     * Connects, and authenticates when the address has a password.
     *
     * @param address the node
     * @param timeout bound of the connect and of every later reply
     * @param files   for a node with TLS
     * @return a connected client
     * @throws IOException if the node cannot be reached in time, or one of the two refuses the other
     */
    public static AdminClient connect(NodeAddress address, Duration timeout, ClientTls files) throws IOException {
        long timeoutMs = Math.max(1, timeout.toMillis());
        AdminClient admin = null;
        try {
            EventLoop loop = EVENT_LOOP.next();
            TlsChannel tls = address.isTls() ? tlsOf(address, files, loop, timeoutMs) : null;
            admin = new AdminClient(address, timeoutMs, tls);
            admin.open(loop);
        } catch (IOException e) {
            throw new IOException("cannot connect to " + address + ": " + e.getMessage(), e);
        }
        try {
            admin.authenticate();
            return admin;
        } catch (IOException e) {
            admin.close();
            throw e;
        }
    }

    private static TlsChannel tlsOf(NodeAddress address, ClientTls files, EventLoop loop, long timeoutMs)
            throws IOException {
        TlsContexts contexts = new TlsContexts(files.spec());
        CompletableFuture<TlsChannel> tls = new CompletableFuture<>();
        contexts.forConnection(System.nanoTime(), loop, (context, problem) -> {
            if (context == null) {
                tls.completeExceptionally(new IOException("TLS cannot be used: " + ClientTls.inWords(problem)));
            } else {
                tls.complete(new TlsChannel(address, context, contexts));
            }
        });
        try {
            return await(tls.orTimeout(timeoutMs, TimeUnit.MILLISECONDS));
        } catch (SocketTimeoutException e) {
            throw new SocketTimeoutException("the files for TLS were not read within " + timeoutMs + " ms");
        }
    }

    private void open(EventLoop loop) throws IOException {
        Bootstrap bootstrap = new Bootstrap().group(loop)
                .channel(address.isUnixSocket() ? NioDomainSocketChannel.class : NioSocketChannel.class)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) timeoutMs);
        SocketAddress place = socketAddress(address);
        client = await(tls == null
                ? RespClient.connect(bootstrap, place).toCompletableFuture()
                : connectTls(bootstrap, place));
    }

    private CompletableFuture<RespClient> connectTls(Bootstrap bootstrap, SocketAddress place) throws IOException {
        ChannelFuture registered = bootstrap.handler(new ChannelInboundHandlerAdapter())
                .register()
                .awaitUninterruptibly();
        if (!registered.isSuccess()) {
            throw new IOException(registered.cause());
        }
        Channel channel = registered.channel();
        CompletableFuture<RespClient> opened = new CompletableFuture<>();
        channel.eventLoop().execute(() -> {
            tls.addTo(channel);
            RespClient attached = RespClient.attach(channel, RespLimits.defaults(), RespClient.IN_FLIGHT_MAX_DEFAULT,
                    push -> {
                    });
            tls.onHandshake(failure -> {
                if (failure == null) {
                    opened.complete(attached);
                } else {
                    opened.completeExceptionally(new IOException(reason(failure, true), failure));
                }
            });
            channel.connect(place).addListener((ChannelFutureListener) connected -> {
                if (!connected.isSuccess()) {
                    opened.completeExceptionally(connected.cause());
                }
            });
        });
        return opened.completeOnTimeout(null, timeoutMs, TimeUnit.MILLISECONDS)
                .thenApply(attached -> {
                    if (attached == null) {
                        throw new CompletionException(new IOException("the TLS handshake was not complete after "
                                + timeoutMs + " ms: check that the port is the TLS port of the node"));
                    }
                    return attached;
                })
                .whenComplete((attached, failure) -> {
                    if (failure != null) {
                        channel.close();
                    }
                });
    }

    private String reason(Throwable failure, boolean isOpening) {
        return ClientTls.inWords(tls.failureOf(failure, isOpening).reason());
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

    private void authenticate() throws IOException {
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
        return reply(client.send(words));
    }

    private RespValue reply(CompletableFuture<RespValue> pending) throws IOException {
        try {
            RespValue reply = await(pending.orTimeout(timeoutMs, TimeUnit.MILLISECONDS));
            hasReplied = true;
            return reply;
        } catch (SocketTimeoutException e) {
            throw new SocketTimeoutException("no answer within " + timeoutMs + " ms");
        } catch (IOException e) {
            throw new IOException(lossReason(e), e);
        }
    }

    /** The future fails with the end of the connection, whose cause is the failure of TLS, if there is one. */
    private String lossReason(IOException e) {
        Throwable failure = e.getCause() == null ? null : e.getCause().getCause();
        if (tls != null && failure != null) {
            return reason(failure, false);
        }
        if (hasReplied || address.isUnixSocket()) {
            return e.getMessage();
        }
        return e.getMessage() + (tls == null
                ? ": if this is the TLS port of the node, write rediss://" + address
                : ": the node may need a client certificate that it trusts; give --tls-cert and --tls-key, and see the "
                        + "log of the node");
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
            replies.add(reply(reply));
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
