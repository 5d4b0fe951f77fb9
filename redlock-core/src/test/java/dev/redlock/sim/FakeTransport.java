package dev.redlock.sim;

import dev.redlock.transport.IoTransport;
import dev.redlock.transport.NodeAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.local.LocalIoHandler;
import io.netty.util.AttributeKey;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** Bytes travel inside the process. One transport for each client, so that a node knows whose connection it has. */
public final class FakeTransport implements IoTransport {

    private static final AttributeKey<Runnable> SEND_LISTENER = AttributeKey.valueOf(FakeTransport.class, "send");

    private final String client;
    private final Map<String, LocalAddress> places;
    private Class<? extends Channel> channelClass = ListenedChannel.class;
    private Runnable sendListener = () -> {
    };
    private int connectionCount;
    private int lookupCount;
    private Error thrownAtNextLookup;
    private ByteBufAllocator allocator = PooledByteBufAllocator.DEFAULT;
    private Resolver resolver = (found, answer) -> answer.accept(found);
    private UnaryOperator<String> unknownHostText = host -> host;

    /** How an answer of a look-up is delivered. It is called on the loop. */
    @FunctionalInterface
    public interface Resolver {
        void resolve(SocketAddress found, Consumer<SocketAddress> answer);
    }

    /** Tells its listener when the client asks whether it takes a command, and before and behind each write. */
    public static final class ListenedChannel extends LocalChannel {
        @Override
        public boolean isWritable() {
            attr(SEND_LISTENER).get().run();
            return super.isWritable();
        }

        @Override
        protected void doWrite(final ChannelOutboundBuffer in) throws Exception {
            attr(SEND_LISTENER).get().run();
            super.doWrite(in);
            attr(SEND_LISTENER).get().run();
        }
    }

    /**
     * @param client name of the client, unique in the process
     * @param places where each node listens, by its {@code host:port}; may change
     */
    FakeTransport(final String client, final Map<String, LocalAddress> places) {
        this.client = client;
        this.places = places;
    }

    /** Connects with another kind of channel from now on. */
    public void channelClass(final Class<? extends Channel> newClass) {
        channelClass = newClass;
    }

    /** Is run whenever the client has to do with the socket of a node: when it asks for room, and when it writes. */
    public void sendListener(final Runnable newListener) {
        sendListener = newListener;
    }

    /** The next look-up throws, as it does where the machine has no thread left. */
    public void throwAtNextLookup(final Error thrown) {
        thrownAtNextLookup = thrown;
    }

    /** Commands are written to, and replies kept in, memory from here; for a client that has not begun to connect. */
    public void allocator(final ByteBufAllocator newAllocator) {
        allocator = newAllocator;
    }

    /** Look-ups are answered in another way from now on: late, often or never. */
    public void resolver(final Resolver newResolver) {
        resolver = newResolver;
    }

    /** The message of the exception for an unknown host, from its name. */
    public void unknownHostText(final UnaryOperator<String> newText) {
        unknownHostText = newText;
    }

    public int lookupCount() {
        return lookupCount;
    }

    @Override
    public String description() {
        return "in-process";
    }

    @Override
    public ByteBufAllocator allocator() {
        return allocator;
    }

    @Override
    public IoHandlerFactory newIoHandlerFactory() {
        return LocalIoHandler.newFactory();
    }

    @Override
    public Class<? extends Channel> channelClass(final NodeAddress address) {
        return channelClass;
    }

    @Override
    public void tune(final Bootstrap bootstrap, final NodeAddress address, final int userTimeoutMs) {
        bootstrap.option(ChannelOption.ALLOCATOR, allocator);
        bootstrap.localAddress(new LocalAddress(client + "#" + connectionCount++));
        bootstrap.attr(SEND_LISTENER, () -> sendListener.run());
    }

    @Override
    public void resolve(final NodeAddress address, final EventLoop loop,
            final BiConsumer<SocketAddress, Throwable> answer) {
        lookupCount++;
        final Error thrown = thrownAtNextLookup;
        if (thrown != null) {
            thrownAtNextLookup = null;
            throw thrown;
        }
        final LocalAddress place = places.get(address.toString());
        loop.execute(() -> resolver.resolve(place, found -> answer.accept(found,
                found == null ? new UnknownHostException(unknownHostText.apply(address.host())) : null)));
    }
}
