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
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * Connects within the process. Each client has its own transport, so that a node can identify the client of a
 * connection.
 */
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
    private BiFunction<String, SocketAddress, List<? extends SocketAddress>> addresses = (host, place) -> List
            .of(place);
    private UnaryOperator<String> unknownHostText = host -> host;
    private Consumer<FakeThread> threadStarter = FakeThread::run;

    /** Delivers the reply of a lookup. Called on the loop. */
    @FunctionalInterface
    public interface Resolver {
        void resolve(SocketAddress found, Consumer<SocketAddress> answer);
    }

    /** A thread that runs its task when the test says so, on the thread of the test. */
    public static final class FakeThread extends Thread {
        private final Consumer<FakeThread> starter;
        private boolean isInterrupted;

        private FakeThread(String name, Runnable task, Consumer<FakeThread> starter) {
            super(task, name);
            this.starter = starter;
        }

        @Override
        public void start() {
            starter.accept(this);
        }

        @Override
        public void interrupt() {
            isInterrupted = true;
        }

        /** Whether the client has interrupted it. */
        @Override
        public boolean isInterrupted() {
            return isInterrupted;
        }
    }

    /** Calls its listener when the client checks whether the channel is writable, and before and after each write. */
    public static final class ListenedChannel extends LocalChannel {
        @Override
        public boolean isWritable() {
            attr(SEND_LISTENER).get().run();
            return super.isWritable();
        }

        @Override
        protected void doWrite(ChannelOutboundBuffer in) throws Exception {
            attr(SEND_LISTENER).get().run();
            super.doWrite(in);
            attr(SEND_LISTENER).get().run();
        }
    }

    /**
     * Creates the transport of one client.
     *
     * @param client name of the client, unique in the process
     * @param places address of each node by its {@code host:port}; may change
     */
    FakeTransport(String client, Map<String, LocalAddress> places) {
        this.client = client;
        this.places = places;
    }

    /** Sets the channel class of further connections. */
    public void channelClass(Class<? extends Channel> newClass) {
        channelClass = newClass;
    }

    /** Sets a listener that runs whenever the client uses the socket of a node: at writability checks and writes. */
    public void sendListener(Runnable newListener) {
        sendListener = newListener;
    }

    /** Makes the next lookup throw, as on a machine without a free thread. */
    public void throwAtNextLookup(Error thrown) {
        thrownAtNextLookup = thrown;
    }

    /** Sets the allocator for commands and replies; call it before the client connects. */
    public void allocator(ByteBufAllocator newAllocator) {
        allocator = newAllocator;
    }

    /** Replaces the delivery of lookup replies, for example by a late, repeated or missing one. */
    public void resolver(Resolver newResolver) {
        resolver = newResolver;
    }

    /** Gives host names several addresses, from the name and the place of its node. */
    public void addresses(BiFunction<String, SocketAddress, List<? extends SocketAddress>> newAddresses) {
        addresses = newAddresses;
    }

    /** The message of the exception for an unknown host, from its name. */
    public void unknownHostText(UnaryOperator<String> newText) {
        unknownHostText = newText;
    }

    /** Sets what happens when the client starts a thread; at once, its task runs. */
    public void threadStarter(Consumer<FakeThread> newStarter) {
        threadStarter = newStarter;
    }

    @Override
    public Thread newThread(String name, Runnable task) {
        return new FakeThread(name, task, thread -> threadStarter.accept(thread));
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
    public Class<? extends Channel> channelClass(NodeAddress address) {
        return channelClass;
    }

    @Override
    public void tune(Bootstrap bootstrap, NodeAddress address, int userTimeoutMs) {
        bootstrap.option(ChannelOption.ALLOCATOR, allocator);
        bootstrap.localAddress(new LocalAddress(client + "#" + connectionCount++));
        bootstrap.attr(SEND_LISTENER, () -> sendListener.run());
    }

    @Override
    public void resolve(NodeAddress address, Executor threads, EventLoop loop,
            BiConsumer<List<SocketAddress>, Throwable> answer) {
        lookupCount++;
        Error thrown = thrownAtNextLookup;
        if (thrown != null) {
            thrownAtNextLookup = null;
            throw thrown;
        }
        LocalAddress place = places.get(address.toString());
        loop.execute(() -> resolver.resolve(place, found -> answer.accept(
                found == null ? null : List.copyOf(addresses.apply(address.host(), found)),
                found == null ? new UnknownHostException(unknownHostText.apply(address.host())) : null)));
    }
}
