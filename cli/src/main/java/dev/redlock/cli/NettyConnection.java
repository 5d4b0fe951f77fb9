package dev.redlock.cli;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespValue;
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
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A connection with TLS as the library has it, or one to the socket file of a node: the codec's {@link RespClient} in
 * blocking form.
 *
 * @threading any thread but an event loop
 */
final class NettyConnection implements AdminConnection {
    /** Carries these connections of the whole JVM; its name marks it as a thread of the rig. */
    private static final EventLoopGroup EVENT_LOOP = new MultiThreadIoEventLoopGroup(1,
            new DefaultThreadFactory("load-admin", true), NioIoHandler.newFactory());
    private static final int FILES_TIMEOUT_MS = 30_000;

    private final NodeAddress address;
    private final int timeoutMs;
    private final TlsChannel tls;
    private RespClient client;
    private boolean hasReplied;

    private NettyConnection(NodeAddress address, int timeoutMs, TlsChannel tls) {
        this.address = address;
        this.timeoutMs = timeoutMs;
        this.tls = tls;
    }

    static NettyConnection open(NodeAddress address, SocketAddress place, int timeoutMs, ClientTls files)
            throws IOException {
        EventLoop loop = EVENT_LOOP.next();
        TlsChannel tls = address.isTls() ? tlsOf(address, files, loop, timeoutMs) : null;
        NettyConnection opened = new NettyConnection(address, timeoutMs, tls);
        opened.open(loop, place);
        return opened;
    }

    /** The timeout is that of a network; a key is decrypted here, which takes a busy machine seconds. */
    private static TlsChannel tlsOf(NodeAddress address, ClientTls files, EventLoop loop, int timeoutMs)
            throws IOException {
        int limitMs = Math.max(timeoutMs, FILES_TIMEOUT_MS);
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
            return await(tls.orTimeout(limitMs, TimeUnit.MILLISECONDS));
        } catch (SocketTimeoutException e) {
            throw new SocketTimeoutException("the files for TLS were not read within " + limitMs + " ms");
        }
    }

    private void open(EventLoop loop, SocketAddress place) throws IOException {
        Bootstrap bootstrap = new Bootstrap().group(loop)
                .channel(address.isUnixSocket() ? NioDomainSocketChannel.class : NioSocketChannel.class)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, timeoutMs);
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

    @Override
    public List<RespValue> exchange(List<ByteBuf> commands) throws IOException {
        List<CompletableFuture<RespValue>> pending = new ArrayList<>();
        commands.forEach(command -> pending.add(client.send(command)));
        List<RespValue> replies = new ArrayList<>();
        for (CompletableFuture<RespValue> reply : pending) {
            replies.add(reply(reply));
        }
        return replies;
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
        return hasReplied || tls == null
                ? e.getMessage()
                : e.getMessage() + ": the node may need a client certificate that it trusts; give --tls-cert and "
                        + "--tls-key, and see the log of the node";
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
