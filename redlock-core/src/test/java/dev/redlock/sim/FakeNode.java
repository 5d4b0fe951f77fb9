package dev.redlock.sim;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.channel.ServerChannel;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalServerChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * A model server on the network: it listens, its connections have delays and faults, its process can stop.
 *
 * <p>Bytes of one direction of one connection arrive in order. What is lost stalls that direction for good, as TCP
 * does when nothing gets through. Confined to the nodes' loop.
 */
public final class FakeNode {

    private final Timeline timeline;
    private final EventLoop loop;
    private final Class<? extends ServerChannel> channelClass;
    private final FakeRedis redis;
    private final Set<Link> links = new LinkedHashSet<>();
    private final Set<Link> heldBackLinks = new LinkedHashSet<>();
    private final List<Runnable> backlog = new ArrayList<>();
    private LongSupplier delayNs = () -> 0;
    private Predicate<String> isCutOff = client -> false;
    private TimeListener timeListener = client -> () -> {
    };
    private SocketAddress place;
    private Hostility hostility;
    private Runnable deliveryListener = () -> {
    };
    private Channel listening;
    private boolean isPaused;
    private boolean isLateExecuted;
    private int openedCount;

    /** Is asked when the node reads its clock for a client, and told when that client has the answer. */
    @FunctionalInterface
    public interface TimeListener {
        Runnable onTimeRead(String client);
    }

    /** Answers in the place of the honest model, at the same time and on the same connection. */
    public interface Hostility {

        /** A connection was opened. */
        default void onOpened(final Wire wire) {
            // most are hostile later
        }

        /**
         * A request has arrived and the model has executed it.
         *
         * @param wire   where to answer
         * @param words  the request
         * @param honest what the model answers
         */
        void onRequest(Wire wire, List<String> words, ByteBuf honest);
    }

    /** The server's end of one connection. */
    public interface Wire {

        /** Sends bytes, given as ISO 8859-1. */
        void send(String bytes);

        /** Sends bytes, which are taken over. */
        void send(ByteBuf bytes);

        /** Ends the connection. */
        void hangUp();
    }

    FakeNode(final Timeline timeline, final EventLoop loop, final LocalAddress place, final String name) {
        this(timeline, loop, LocalServerChannel.class, place, name);
    }

    FakeNode(final Timeline timeline, final EventLoop loop, final Class<? extends ServerChannel> channelClass,
            final SocketAddress place, final String name) {
        this.timeline = timeline;
        this.loop = loop;
        this.channelClass = channelClass;
        this.place = place;
        this.redis = new FakeRedis(timeline, name);
    }

    public FakeRedis redis() {
        return redis;
    }

    /** @return the port of a node behind a real socket, which it keeps when it listens again */
    int port() {
        place = listening.localAddress();
        return ((InetSocketAddress) place).getPort();
    }

    LocalAddress place() {
        return (LocalAddress) place;
    }

    /** Is hostile from now on; null for honest again. */
    public void hostility(final Hostility newHostility) {
        hostility = newHostility;
    }

    // ---- life -------------------------------------------------------------------------------------------------------

    /** Listens. Connections are accepted once the loop has run. */
    public void start() {
        final ServerBootstrap bootstrap = new ServerBootstrap().group(loop)
                .channel(channelClass)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(final Channel channel) {
                        final Link link = new Link(channel);
                        links.add(link);
                        openedCount++;
                        channel.pipeline().addLast(link);
                    }
                });
        listening = bootstrap.bind(place).channel();
    }

    public boolean isUp() {
        return listening != null;
    }

    public boolean isPaused() {
        return isPaused;
    }

    /** The process dies: connections end, nothing listens. */
    public void crash() {
        if (listening != null) {
            listening.close();
            listening = null;
        }
        isPaused = false;
        backlog.clear();
        breakConnections();
        heldBackLinks.forEach(Link::end);
        heldBackLinks.clear();
    }

    /** A new process at the same place. */
    public void restart(final boolean isDataKept) {
        if (!isDataKept) {
            redis.loseData();
        }
        redis.newProcess();
        start();
    }

    /** The process stops running; the kernel still accepts connections and keeps what arrives. */
    public void pause() {
        isPaused = true;
    }

    /** The process runs again and does what has arrived in the meantime. */
    public void resume() {
        isPaused = false;
        final List<Runnable> arrived = new ArrayList<>(backlog);
        backlog.clear();
        arrived.forEach(Runnable::run);
    }

    // ---- faults of the network --------------------------------------------------------------------------------------

    /** How long each chunk travels in each direction. */
    public void delay(final LongSupplier newDelayNs) {
        delayNs = newDelayNs;
    }

    /** Clients to and from which nothing gets through, on old connections and new ones, until it is changed. */
    public void cutOff(final Predicate<String> client) {
        isCutOff = client;
        links.forEach(Link::noteCut);
    }

    /** From now on nothing from this client arrives on its present connections. */
    public void loseRequests(final Predicate<String> client) {
        links.stream().filter(link -> client.test(link.client)).forEach(link -> link.isDeafToClient = true);
    }

    /** From now on nothing to this client arrives on its present connections. */
    public void loseReplies(final Predicate<String> client) {
        links.stream().filter(link -> client.test(link.client)).forEach(link -> link.isMute = true);
    }

    /** Ends all connections; what was under way is lost. */
    public void breakConnections() {
        breakConnections(client -> true);
    }

    public void breakConnections(final Predicate<String> client) {
        final List<Link> broken = links.stream().filter(link -> client.test(link.client)).toList();
        broken.forEach(Link::end);
    }

    /** Whether requests that were under way when their client hung up are executed all the same. */
    public void executeLate(final boolean isWanted) {
        isLateExecuted = isWanted;
    }

    /**
     * Something between this client and the node, a proxy or a tunnel, keeps what is sent on its present connections
     * until it is let through. It is executed then, in order, whether the client has hung up or not.
     */
    public void holdBack(final Predicate<String> client) {
        links.stream().filter(link -> client.test(link.client)).forEach(link -> {
            link.isHeldBack = true;
            heldBackLinks.add(link);
        });
    }

    /** What holds requests back ends the connections to the clients, and keeps the requests. */
    public void hangUpHeldBack() {
        heldBackLinks.forEach(link -> link.channel.close());
    }

    public void letThrough() {
        final List<Link> open = List.copyOf(heldBackLinks);
        heldBackLinks.clear();
        open.forEach(Link::letThrough);
    }

    public void timeListener(final TimeListener newListener) {
        timeListener = newListener;
    }

    /** Is run when replies have reached a client and it has not read them. */
    public void deliveryListener(final Runnable newListener) {
        deliveryListener = newListener;
    }

    public int connectionCount() {
        return links.size();
    }

    public int openedCount() {
        return openedCount;
    }

    /** Sends bytes that nobody asked for to every client. */
    public void sendRaw(final String bytes) {
        links.forEach(link -> link.sendToClient(Unpooled.copiedBuffer(bytes, StandardCharsets.UTF_8), List.of()));
    }

    /** One connection. */
    private final class Link extends ChannelInboundHandlerAdapter implements Wire {
        private final Channel channel;
        private final RespParser parser = RespParser.forRequests(RespLimits.defaults());
        private final List<RespValue> requests = new ArrayList<>();
        private final RespValueReader reader = new RespValueReader(requests::add);
        private String client = "";
        private FakeRedis.Session session;
        private ByteBuf unread = Unpooled.EMPTY_BUFFER;
        private boolean isDeafToClient;
        private boolean isMute;
        private boolean isHungUp;
        private boolean isEnded;
        private boolean isHeldBack;
        private boolean wasHeldBack;
        private final List<ByteBuf> heldBack = new ArrayList<>();
        /** Chunks under way in each direction. */
        private final int[] toNode = new int[1];
        private final int[] toClient = new int[1];
        private long arrivesAtNodeNs = Long.MIN_VALUE;
        private long arrivesAtClientNs = Long.MIN_VALUE;

        Link(final Channel channel) {
            this.channel = channel;
        }

        @Override
        public void channelActive(final ChannelHandlerContext ctx) {
            if (channel.remoteAddress() instanceof LocalAddress address) {
                final String whole = String.valueOf(address.id());
                client = whole.substring(0, whole.indexOf('#'));
            }
            session = redis.connect(client);
            noteCut();
            if (hostility != null) {
                hostility.onOpened(this);
            }
        }

        /** A stall does not heal: bytes that were lost would have to come first. */
        void noteCut() {
            if (session != null && isCutOff.test(client)) {
                isDeafToClient = true;
                isMute = true;
            }
        }

        @Override
        public void channelRead(final ChannelHandlerContext ctx, final Object msg) {
            // A copy on the heap: what is under way when a run ends may be forgotten without a leak.
            final ByteBuf in = (ByteBuf) msg;
            final ByteBuf bytes = Unpooled.copiedBuffer(in);
            in.release();
            if (isDeafToClient) {
                return;
            }
            final long now = timeline.nowNs();
            arrivesAtNodeNs = Math.max(arrivesAtNodeNs, now + delayNs.getAsLong());
            travel(toNode, arrivesAtNodeNs - now, () -> arrive(bytes));
        }

        /** At once, unless something is on its way in this direction that is due now and has not arrived. */
        private void travel(final int[] underWay, final long ns, final Runnable arrival) {
            if (ns == 0 && underWay[0] == 0) {
                arrival.run();
                return;
            }
            underWay[0]++;
            timeline.after(ns, () -> {
                underWay[0]--;
                arrival.run();
            });
        }

        private void arrive(final ByteBuf bytes) {
            if (isHeldBack && !isDeafToClient) {
                heldBack.add(bytes);
                return;
            }
            if (isDeafToClient || isEnded || isHungUp && !isLateExecuted && !wasHeldBack) {
                return;
            }
            if (isPaused) {
                backlog.add(() -> arrive(bytes));
                return;
            }
            unread = Unpooled.wrappedBuffer(unread, bytes);
            parser.parse(unread, reader);
            final ByteBuf replies = Unpooled.buffer();
            final List<Runnable> deliveries = new ArrayList<>();
            for (final RespValue request : requests) {
                if (hostility != null) {
                    answerHostilely(request);
                    continue;
                }
                session.execute(request).writeTo(replies);
                if (request.elements().get(0).asText().equals("TIME")) {
                    deliveries.add(timeListener.onTimeRead(client));
                }
            }
            requests.clear();
            sendToClient(replies, deliveries);
        }

        private void answerHostilely(final RespValue request) {
            final ByteBuf honest = Unpooled.buffer();
            session.execute(request).writeTo(honest);
            hostility.onRequest(this, request.elements().stream().map(RespValue::asText).toList(), honest);
        }

        @Override
        public void send(final String bytes) {
            send(Unpooled.copiedBuffer(bytes, StandardCharsets.ISO_8859_1));
        }

        @Override
        public void send(final ByteBuf bytes) {
            sendToClient(bytes, List.of());
        }

        @Override
        public void hangUp() {
            end();
        }

        void letThrough() {
            isHeldBack = false;
            wasHeldBack = true;
            heldBack.forEach(this::arrive);
            heldBack.clear();
        }

        void sendToClient(final ByteBuf bytes, final List<Runnable> deliveries) {
            if (!bytes.isReadable() || isHungUp || isMute) {
                return;
            }
            final long now = timeline.nowNs();
            arrivesAtClientNs = Math.max(arrivesAtClientNs, now + delayNs.getAsLong());
            travel(toClient, arrivesAtClientNs - now, () -> {
                if (!isEnded && !isHungUp && !isMute) {
                    channel.writeAndFlush(bytes);
                    deliveries.forEach(Runnable::run);
                    deliveryListener.run();
                }
            });
        }

        void end() {
            isEnded = true;
            links.remove(this);
            channel.close();
        }

        @Override
        public void channelInactive(final ChannelHandlerContext ctx) {
            isHungUp = true;
            links.remove(this);
        }

        @Override
        public void exceptionCaught(final ChannelHandlerContext ctx, final Throwable cause) {
            if (cause instanceof IOException) {
                // A client of a real socket has reset the connection.
                channel.close();
                return;
            }
            throw new AssertionError("fake node " + redis + " failed", cause);
        }
    }

    @Override
    public String toString() {
        return redis + (isUp() ? "" : " down") + (isPaused ? " paused" : "");
    }
}
