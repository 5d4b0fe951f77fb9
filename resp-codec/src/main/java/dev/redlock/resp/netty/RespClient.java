package dev.redlock.resp.netty;

import dev.redlock.resp.RespCommand;
import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import dev.redlock.resp.RespVisitor;
import dev.redlock.resp.RespWriter;
import dev.redlock.resp.SafeText;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * A plain pipelined client of one connection, for any command: handshakes, tools, scripts, transactions. Replies come
 * back in the order of requests; pushes go to a listener. Every error that the server sends is a value
 * ({@link RespValue#isError()}); a future fails only when the connection does, and then it is unknown whether the
 * server executed the command.
 * <p>
 * Commands given in one turn of the event loop leave with one flush. Nothing here connects again, repeats a command or
 * times out: use {@link CompletableFuture#orTimeout} and close.
 *
 * @threading any thread; futures complete and listeners are called on the channel's event loop
 */
public final class RespClient implements AutoCloseable {
    /** A sensible bound for the requests that await a reply. */
    public static final int IN_FLIGHT_MAX_DEFAULT = 16 * 1024;
    private static final String NO_COMMAND = "command is null: give one encoded command";

    private final Channel channel;
    private final EventLoop eventLoop;
    private final int inFlightMax;
    private final Consumer<RespValue> pushListener;
    private final Queue<Pending> inFlight = new ArrayDeque<>();
    private final RespValueReader valueReader = new RespValueReader(this::keepReply);

    private RespValue reply;
    private Throwable cause;
    private boolean isFlushPlanned;
    private boolean isClosed;

    private RespClient(Channel channel, int inFlightMax, Consumer<RespValue> pushListener) {
        this.channel = channel;
        this.eventLoop = channel.eventLoop();
        this.inFlightMax = inFlightMax;
        this.pushListener = pushListener;
    }

    private static void check(RespLimits limits, int inFlightMax, Consumer<RespValue> pushListener) {
        Objects.requireNonNull(limits, "limits is null: give RespLimits.defaults() or others");
        if (inFlightMax < 1) {
            throw new IllegalArgumentException("inFlightMax is " + inFlightMax + "; it must be at least 1");
        }
        Objects.requireNonNull(pushListener, "pushListener is null: give one, which may do nothing");
    }

    /**
     * Opens a connection and puts a client on it.
     *
     * @param bootstrap    has the event loop and the channel type; its handler is set here
     * @param address      where the server listens
     * @param limits       what to accept at most
     * @param inFlightMax  how many requests may await a reply; at least 1
     * @param pushListener gets every push
     * @return the client, or the error of the connection attempt. If its future is complete before, as after a timeout,
     *         the connection closes
     * @throws NullPointerException     if an argument is null
     * @throws IllegalArgumentException if inFlightMax is less than 1
     */
    public static CompletionStage<RespClient> connect(Bootstrap bootstrap, SocketAddress address, RespLimits limits,
            int inFlightMax, Consumer<RespValue> pushListener) {
        Objects.requireNonNull(address, "address is null: give the one that the server listens on");
        check(limits, inFlightMax, pushListener);
        CompletableFuture<RespClient> client = new CompletableFuture<>();
        ChannelFuture connected = bootstrap.clone().handler(new ChannelInboundHandlerAdapter()).register();
        Channel channel = connected.channel();
        if (connected.cause() != null) {
            // A channel that could not be made (too many open files) belongs to no event loop.
            client.completeExceptionally(connected.cause());
            return client;
        }
        try {
            RespClient attached = attach(channel, limits, inFlightMax, pushListener);
            channel.eventLoop().execute(() -> connect(attached, address, client));
        } catch (Throwable e) {
            closeFailed(channel, client, e);
        }
        return client;
    }

    private static void connect(RespClient attached, SocketAddress address, CompletableFuture<RespClient> client) {
        Channel channel = attached.channel;
        try {
            channel.connect(address).addListener((ChannelFutureListener) future -> {
                if (!future.isSuccess()) {
                    closeFailed(channel, client, future.cause());
                } else if (!client.complete(attached)) {
                    // The caller has given up, and has no other reference to the connection.
                    channel.close();
                }
            });
        } catch (Throwable e) {
            closeFailed(channel, client, e);
        }
    }

    private static void closeFailed(Channel channel, CompletableFuture<RespClient> client, Throwable cause) {
        channel.close();
        client.completeExceptionally(cause);
    }

    /**
     * Opens a connection for a client without pushes, with the default limits. A client that has not sent
     * {@code HELLO 3} or {@code SUBSCRIBE} gets none.
     *
     * @param bootstrap has the event loop and the channel type; its handler is set here
     * @param address   where the server listens
     * @return the client, or the error of the connection attempt
     */
    public static CompletionStage<RespClient> connect(Bootstrap bootstrap, SocketAddress address) {
        return connect(bootstrap, address, RespLimits.defaults(), IN_FLIGHT_MAX_DEFAULT, push -> {
        });
    }

    /**
     * Puts a client at the end of a channel's pipeline.
     *
     * @param channel      registered with its event loop; the client's from here on
     * @param limits       what to accept at most
     * @param inFlightMax  how many requests may await a reply; at least 1
     * @param pushListener gets every push
     * @return the client
     */
    public static RespClient attach(Channel channel, RespLimits limits, int inFlightMax,
            Consumer<RespValue> pushListener) {
        check(limits, inFlightMax, pushListener);
        RespClient client = new RespClient(channel, inFlightMax, pushListener);
        Link link = client.new Link();
        channel.pipeline()
                .addLast(new RespInboundHandler(new ReplyRouter(link), limits, link),
                        client.new ErrorHandler());
        channel.closeFuture().addListener(closed -> client.onClosed());
        return client;
    }

    /**
     * Sends one command.
     *
     * @param words written as UTF-8; at least one
     * @return the reply
     * @throws IllegalArgumentException if there is no word
     */
    public CompletableFuture<RespValue> send(String... words) {
        List<String> command = checked(Arrays.asList(words));
        return send(encoded(out -> write(out, command)));
    }

    /**
     * Sends one command without arguments.
     *
     * @param command see {@link RespCommand#of}
     * @return the reply
     * @throws IllegalStateException if the command has arguments
     */
    public CompletableFuture<RespValue> send(RespCommand command) {
        return send(encoded(command::writeTo));
    }

    /**
     * Sends one encoded command.
     *
     * @param command exactly one command; transferred
     * @return the reply
     * @throws NullPointerException if the command is null
     */
    public CompletableFuture<RespValue> send(ByteBuf command) {
        Pending pending = new Pending(null);
        submit(Objects.requireNonNull(command, NO_COMMAND), List.of(pending));
        return pending.value;
    }

    /**
     * Sends one encoded command whose reply is visited instead of built.
     *
     * @param command exactly one command; transferred
     * @param visitor called on the event loop for this reply alone; if it throws, the connection closes
     * @return completes with null after the visitor's {@link RespVisitor#onReplyEnd()}
     * @throws NullPointerException if the command or the visitor is null
     */
    public CompletableFuture<RespValue> send(ByteBuf command, RespVisitor visitor) {
        Objects.requireNonNull(command, NO_COMMAND);
        Pending pending = new Pending(Objects.requireNonNull(visitor, "visitor"));
        submit(command, List.of(pending));
        return pending.value;
    }

    /**
     * Sends commands with nothing of other threads between them, for example {@code MULTI}, some commands and
     * {@code EXEC}. They leave in one buffer.
     *
     * @param commands each the words of one command; at least one word
     * @return the replies in order
     * @throws IllegalArgumentException if a command has no word
     */
    public List<CompletableFuture<RespValue>> sendTogether(List<List<String>> commands) {
        List<List<String>> all = commands.stream().map(RespClient::checked).toList();
        ByteBuf encoded = encoded(out -> all.forEach(words -> write(out, words)));
        List<Pending> pending = all.stream().map(words -> new Pending(null)).toList();
        submit(encoded, pending);
        return pending.stream().map(each -> each.value).toList();
    }

    /** A server does not answer a command without words, so each later request would get the next one's reply. */
    private static List<String> checked(List<String> words) {
        if (words.isEmpty()) {
            throw new IllegalArgumentException("a command has no word: give at least its name");
        }
        words.forEach(word -> Objects.requireNonNull(word, "a word of a command is null"));
        return words;
    }

    private ByteBuf encoded(Consumer<ByteBuf> writer) {
        ByteBuf out = channel.alloc().buffer();
        try {
            writer.accept(out);
            return out;
        } catch (Throwable e) {
            out.release();
            throw e;
        }
    }

    private static void write(ByteBuf out, List<String> words) {
        RespWriter.arrayHeader(out, words.size());
        for (String word : words) {
            RespWriter.bulkString(out, word);
        }
    }

    private void submit(ByteBuf out, List<Pending> pending) {
        if (eventLoop.inEventLoop()) {
            enqueue(out, pending);
            return;
        }
        try {
            eventLoop.execute(() -> enqueue(out, pending));
        } catch (RuntimeException e) {
            // The event loop has shut down and takes nothing any more.
            out.release();
            pending.forEach(each -> each.value.completeExceptionally(e));
        }
    }

    private void enqueue(ByteBuf out, List<Pending> pending) {
        if (isClosed || inFlight.size() + pending.size() > inFlightMax) {
            out.release();
            Exception refusal = isClosed ? closed() : tooMany();
            pending.forEach(each -> each.value.completeExceptionally(refusal));
            return;
        }
        inFlight.addAll(pending);
        try {
            channel.write(out).addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
            planFlush();
        } catch (Throwable e) {
            // The server may never get these commands: then each later reply would complete the wrong request.
            onError(e);
            channel.close();
        }
    }

    /** The flush runs behind all the commands that are queued at this moment, and takes them along. */
    private void planFlush() {
        if (!isFlushPlanned) {
            isFlushPlanned = true;
            eventLoop.execute(() -> {
                isFlushPlanned = false;
                channel.flush();
            });
        }
    }

    private Exception tooMany() {
        return new IllegalStateException(
                inFlight.size() + " requests await a reply and no more than inFlightMax " + inFlightMax + " may");
    }

    private IOException closed() {
        return new IOException(
                "the connection to " + SafeText.of(String.valueOf(channel.remoteAddress())) + " is closed", cause);
    }

    private void onClosed() {
        isClosed = true;
        IOException e = closed();
        for (Pending pending = inFlight.poll(); pending != null; pending = inFlight.poll()) {
            pending.value.completeExceptionally(e);
        }
    }

    private void onError(Throwable e) {
        if (cause == null) {
            cause = e;
        }
    }

    private void keepReply(RespValue value) {
        reply = value;
    }

    /**
     * The connection.
     *
     * @return the channel this client is attached to
     */
    public Channel channel() {
        return channel;
    }

    /** Begins to close the connection; what still awaits a reply fails. Returns at once. */
    @Override
    public void close() {
        channel.close();
    }

    /**
     * One request that awaits its reply.
     *
     * @threading event-loop-confined, but for the future
     */
    private static final class Pending {
        private final CompletableFuture<RespValue> value = new CompletableFuture<>();
        /** Null for a reply that is built as a tree. */
        private final RespVisitor visitor;

        private Pending(RespVisitor visitor) {
            this.visitor = visitor;
        }
    }

    /**
     * What the pipeline calls.
     *
     * @threading event-loop-confined
     */
    private final class Link implements ReplyRouter.Destinations, RespInboundHandler.Owner {
        @Override
        public RespVisitor nextReply() {
            Pending oldest = inFlight.peek();
            if (oldest == null) {
                throw new IllegalStateException("a reply came that no request awaits");
            }
            return oldest.visitor == null ? valueReader : oldest.visitor;
        }

        @Override
        public void onReplyEnd() {
            RespValue value = reply;
            reply = null;
            inFlight.remove().value.complete(value);
        }

        @Override
        public void onPush(RespValue push) {
            pushListener.accept(push);
        }

        @Override
        public void onProtocolError(RespProtocolException e) {
            onError(e);
        }

        @Override
        public void onVisitorError(RuntimeException e) {
            onError(e);
        }
    }

    /**
     * The last handler: an input or output error closes the channel and is the cause that futures report.
     *
     * @threading event-loop-confined
     */
    private final class ErrorHandler extends ChannelInboundHandlerAdapter {
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable e) {
            onError(e);
            ctx.close();
        }
    }
}
