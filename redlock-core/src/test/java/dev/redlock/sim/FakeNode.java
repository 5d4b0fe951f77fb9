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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * A model server on the network: it listens, its connections have delays and faults, its process can stop. Bytes of one
 * direction of one connection arrive in order. A lost chunk stalls that direction for good, like TCP without
 * retransmission. Confined to the nodes' loop.
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
    private Predicate<String> isFar = client -> false;
    private LongSupplier farNs = () -> 0;
    private Predicate<String> isCutOff = client -> false;
    private TimeListener timeListener = client -> () -> {
    };
    private SocketAddress place;
    private Hostility hostility;
    private PushFault pushFault;
    private Runnable deliveryListener = () -> {
    };
    private SendListener sendListener;
    private Channel listening;
    private boolean isPaused;
    private boolean isLateExecuted;
    private int openedCount;

    /**
     * Called when the node reads its clock for a client; the task that it returns runs when that client has the reply.
     */
    @FunctionalInterface
    public interface TimeListener {
        Runnable onTimeRead(String client);
    }

    /** Sees each request when its client has sent it, and before the node executes it. */
    public interface SendListener {

        /** @return what it wants to have again when the node executes the request */
        Object onSent(String client, List<String> words);

        void onExecute(Object sent);

        /** The process has started again. */
        void onRestart(boolean isDataKept);
    }

    /** Decides about each push to a client when it is delivered, and how often. */
    @FunctionalInterface
    public interface PushFault {
        void onPush(String client, Runnable delivery);
    }

    /** Replaces the replies of the honest model, at the same time and on the same connection. */
    public interface Hostility {

        /** A connection was opened. */
        default void onOpened(Wire wire) {
            // Most kinds of hostility start later.
        }

        /**
         * A request has arrived, and the model has executed it.
         *
         * @param wire   where to answer
         * @param words  the request
         * @param honest what the model answers
         */
        void onRequest(Wire wire, List<String> words, ByteBuf honest);
    }

    /** The server side of one connection. */
    public interface Wire {

        /** Sends bytes, given as ISO 8859-1. */
        void send(String bytes);

        /** Sends bytes and takes ownership of them. */
        void send(ByteBuf bytes);

        /** Closes the connection. */
        void disconnect();
    }

    FakeNode(Timeline timeline, EventLoop loop, LocalAddress place, String name) {
        this(timeline, loop, LocalServerChannel.class, place, name);
    }

    FakeNode(Timeline timeline, EventLoop loop, Class<? extends ServerChannel> channelClass,
            SocketAddress place, String name) {
        this.timeline = timeline;
        this.loop = loop;
        this.channelClass = channelClass;
        this.place = place;
        this.redis = new FakeRedis(timeline, name);
    }

    public FakeRedis redis() {
        return redis;
    }

    /** @return the port of a node behind a real socket; the node keeps it when it listens again */
    int port() {
        place = listening.localAddress();
        return ((InetSocketAddress) place).getPort();
    }

    public LocalAddress place() {
        return (LocalAddress) place;
    }

    /** Makes the node hostile; null makes it honest again. */
    public void hostility(Hostility newHostility) {
        hostility = newHostility;
    }

    // ---- life -------------------------------------------------------------------------------------------------------

    /** Listens. The node accepts connections after the next run of its loop. */
    public void start() {
        ServerBootstrap bootstrap = new ServerBootstrap().group(loop)
                .channel(channelClass)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        Link link = new Link(channel);
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

    /** Whether it accepts connections: its address was free when it started, and its loop has run since. */
    public boolean isListening() {
        return isUp() && listening.isActive();
    }

    public boolean isPaused() {
        return isPaused;
    }

    /** Kills the process: its connections end, and it no longer listens. */
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

    /** Starts a new process at the same address. */
    public void restart(boolean isDataKept) {
        if (sendListener != null) {
            sendListener.onRestart(isDataKept);
        }
        if (!isDataKept) {
            redis.loseData();
        }
        redis.newProcess();
        start();
    }

    /** The process starts again without its keys behind a proxy, which keeps the connections and what it holds back. */
    void replaceProcess() {
        if (sendListener != null) {
            sendListener.onRestart(false);
        }
        redis.loseData();
        redis.newProcess();
    }

    /** Stops the process; the kernel still accepts connections and keeps arriving bytes. */
    public void pause() {
        isPaused = true;
    }

    /** Resumes the process, which executes the requests that have arrived in the meantime. */
    public void resume() {
        isPaused = false;
        List<Runnable> arrived = new ArrayList<>(backlog);
        backlog.clear();
        arrived.forEach(Runnable::run);
    }

    // ---- faults of the network --------------------------------------------------------------------------------------

    /** Sets the delay of each chunk in each direction. */
    public void delay(LongSupplier newDelayNs) {
        delayNs = newDelayNs;
    }

    /** Delays each chunk of some clients, in each direction, by so much more than those of others. */
    public void delay(Predicate<String> client, LongSupplier moreNs) {
        isFar = client;
        farNs = moreNs;
    }

    /** Cuts off clients, on old and new connections, until the next call. */
    public void cutOff(Predicate<String> client) {
        isCutOff = client;
        links.forEach(Link::noteCut);
    }

    /** Loses all further requests of this client on its present connections. */
    public void loseRequests(Predicate<String> client) {
        links.stream().filter(link -> client.test(link.client)).forEach(link -> link.isDeafToClient = true);
    }

    /** Loses all further replies to this client on its present connections. */
    public void loseReplies(Predicate<String> client) {
        links.stream().filter(link -> client.test(link.client)).forEach(link -> link.isMute = true);
    }

    /** Loses, delays or repeats pushes; replies overtake a late push. Null delivers each push once and in order. */
    public void pushFault(PushFault newFault) {
        pushFault = newFault;
    }

    /** Pushes an invalidation without a reason to the present RESP3 connections of these clients; null for all keys. */
    public void pushInvalidation(Predicate<String> client, String key) {
        links.stream()
                .filter(link -> client.test(link.client) && link.session != null && link.session.isResp3())
                .forEach(link -> link.sendPush(FakeRedis.invalidation(key)));
    }

    /** Closes all connections; chunks in flight are lost. */
    public void breakConnections() {
        breakConnections(client -> true);
    }

    public void breakConnections(Predicate<String> client) {
        List<Link> broken = links.stream().filter(link -> client.test(link.client)).toList();
        broken.forEach(Link::end);
    }

    /** Sets whether the node executes requests in flight after their client has disconnected. */
    public void executeLate(boolean isWanted) {
        isLateExecuted = isWanted;
    }

    /**
     * A proxy or tunnel between this client and the node holds the requests on its present connections until
     * {@link #letThrough}. The node then executes them, in order, even if the client has disconnected.
     */
    public void holdBack(Predicate<String> client) {
        links.stream().filter(link -> client.test(link.client)).forEach(link -> {
            link.isHeldBack = true;
            heldBackLinks.add(link);
        });
    }

    /** The proxy closes its connections to the clients, and keeps the requests. */
    public void disconnectHeldBack() {
        heldBackLinks.forEach(link -> link.channel.close());
    }

    public void letThrough() {
        List<Link> open = List.copyOf(heldBackLinks);
        heldBackLinks.clear();
        open.forEach(Link::letThrough);
    }

    public void timeListener(TimeListener newListener) {
        timeListener = newListener;
    }

    void sendListener(SendListener newListener) {
        sendListener = newListener;
    }

    /** Runs when replies have reached a client that has not read them. */
    public void deliveryListener(Runnable newListener) {
        deliveryListener = newListener;
    }

    public int connectionCount() {
        return links.size();
    }

    public int openedCount() {
        return openedCount;
    }

    /** Sends unsolicited bytes to every client. */
    public void sendRaw(String bytes) {
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
        /** The replies to the requests that are being executed, which go to the client together; null otherwise. */
        private ByteBuf replies;
        private boolean isDeafToClient;
        private boolean isMute;
        private boolean isDisconnected;
        private boolean isEnded;
        private boolean isHeldBack;
        private boolean wasHeldBack;
        private final List<ByteBuf> heldBack = new ArrayList<>();
        /** Chunks in flight in each direction. */
        private final int[] toNode = new int[1];
        private final int[] toClient = new int[1];
        private long arrivesAtNodeNs = Long.MIN_VALUE;
        private long arrivesAtClientNs = Long.MIN_VALUE;
        /** What the listener wants to have again, for each request under way. */
        private final ArrayDeque<Object> sent = new ArrayDeque<>();
        private RespParser sentParser;
        private ByteBuf sentUnread = Unpooled.EMPTY_BUFFER;

        Link(Channel channel) {
            this.channel = channel;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            if (channel.remoteAddress() instanceof LocalAddress address) {
                String whole = String.valueOf(address.id());
                client = whole.substring(0, whole.indexOf('#'));
            }
            session = redis.connect(client, this::onPush);
            noteCut();
            if (hostility != null) {
                hostility.onOpened(this);
            }
        }

        /** A stall is final: the lost bytes would have to arrive first. */
        void noteCut() {
            if (session != null && isCutOff.test(client)) {
                isDeafToClient = true;
                isMute = true;
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            // A copy on the heap, because chunks in flight at the end of a run are dropped without a release.
            ByteBuf in = (ByteBuf) msg;
            ByteBuf bytes = Unpooled.copiedBuffer(in);
            in.release();
            if (sendListener != null) {
                listen(bytes.copy());
            }
            if (isDeafToClient) {
                return;
            }
            long now = timeline.nowNs();
            arrivesAtNodeNs = Math.max(arrivesAtNodeNs, now + ownDelayNs());
            travel(toNode, arrivesAtNodeNs - now, () -> arrive(bytes));
        }

        private long ownDelayNs() {
            return delayNs.getAsLong() + (isFar.test(client) ? farNs.getAsLong() : 0);
        }

        private void listen(ByteBuf bytes) {
            if (sentParser == null) {
                sentParser = RespParser.forRequests(RespLimits.defaults());
            }
            sentUnread = Unpooled.wrappedBuffer(sentUnread, bytes);
            sentParser.parse(sentUnread, new RespValueReader(request -> {
                List<String> words = new ArrayList<>();
                request.elements().forEach(each -> words.add(new String(each.asBytes(), StandardCharsets.ISO_8859_1)));
                sent.add(sendListener.onSent(client, words));
            }));
        }

        /** Delivers immediately, unless a chunk in this direction is due now and has not arrived. */
        private void travel(int[] underWay, long ns, Runnable arrival) {
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

        private void arrive(ByteBuf bytes) {
            if (isHeldBack && !isDeafToClient) {
                heldBack.add(bytes);
                return;
            }
            receive(bytes);
        }

        /** The bytes have passed the proxy. */
        private void receive(ByteBuf bytes) {
            // A proxy keeps its connection to the node when it closes that to the client.
            boolean isClosed = isDisconnected && !isLateExecuted && !wasHeldBack && !isHeldBack;
            if (isDeafToClient || isEnded || isClosed) {
                return;
            }
            if (isPaused) {
                backlog.add(() -> receive(bytes));
                return;
            }
            unread = Unpooled.wrappedBuffer(unread, bytes);
            parser.parse(unread, reader);
            replies = Unpooled.buffer();
            List<Runnable> deliveries = new ArrayList<>();
            for (RespValue request : requests) {
                if (hostility != null) {
                    sendHostileReply(request);
                    continue;
                }
                if (sendListener != null) {
                    sendListener.onExecute(sent.poll());
                }
                session.execute(request, replies);
                if (request.elements().get(0).asText().equals("TIME")) {
                    deliveries.add(timeListener.onTimeRead(client));
                }
            }
            requests.clear();
            ByteBuf together = replies;
            replies = null;
            sendToClient(together, deliveries);
        }

        /** A stopped process sends nothing. */
        private void onPush(RespValue push) {
            if (isPaused) {
                backlog.add(() -> onPush(push));
            } else if (pushFault == null) {
                sendPush(push);
            } else {
                pushFault.onPush(client, () -> sendPush(push));
            }
        }

        void sendPush(RespValue push) {
            if (replies != null) {
                push.writeTo(replies);
                return;
            }
            ByteBuf bytes = Unpooled.buffer();
            push.writeTo(bytes);
            sendToClient(bytes, List.of());
        }

        private void sendHostileReply(RespValue request) {
            ByteBuf honest = Unpooled.buffer();
            session.execute(request, honest);
            hostility.onRequest(this, request.elements().stream().map(RespValue::asText).toList(), honest);
        }

        @Override
        public void send(String bytes) {
            send(Unpooled.copiedBuffer(bytes, StandardCharsets.ISO_8859_1));
        }

        @Override
        public void send(ByteBuf bytes) {
            sendToClient(bytes, List.of());
        }

        @Override
        public void disconnect() {
            end();
        }

        void letThrough() {
            isHeldBack = false;
            wasHeldBack = true;
            heldBack.forEach(this::arrive);
            heldBack.clear();
        }

        void sendToClient(ByteBuf bytes, List<Runnable> deliveries) {
            if (!bytes.isReadable() || isDisconnected || isMute) {
                return;
            }
            long now = timeline.nowNs();
            arrivesAtClientNs = Math.max(arrivesAtClientNs, now + ownDelayNs());
            travel(toClient, arrivesAtClientNs - now, () -> {
                if (!isEnded && !isDisconnected && !isMute) {
                    channel.writeAndFlush(bytes);
                    deliveries.forEach(Runnable::run);
                    deliveryListener.run();
                }
            });
        }

        void end() {
            isEnded = true;
            forget();
            channel.close();
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            isDisconnected = true;
            forget();
        }

        private void forget() {
            links.remove(this);
            if (session != null) {
                session.close();
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
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
