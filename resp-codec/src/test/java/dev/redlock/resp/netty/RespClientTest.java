package dev.redlock.resp.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.EventLog;
import dev.redlock.resp.RespCommand;
import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.Wire;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.local.LocalIoHandler;
import io.netty.channel.local.LocalServerChannel;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class RespClientTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final List<RespValue> pushes = new ArrayList<>();
    private final RespClient client = RespClient.attach(channel, RespLimits.defaults(), 4, pushes::add);

    @AfterEach
    void requireNoMessageLeft() {
        assertFalse(channel.finish());
    }

    private String sent() {
        channel.runPendingTasks();
        StringBuilder sent = new StringBuilder();
        for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
            sent.append(Wire.text(out));
            out.release();
        }
        return sent.toString();
    }

    private void receive(String wire) {
        channel.writeInbound(channel.alloc().buffer().writeBytes(Wire.bytes(wire)));
    }

    private static Throwable causeOf(CompletableFuture<?> future) {
        return assertThrows(CompletionException.class, future::join).getCause();
    }

    @Test
    void connectFailsIfTheChannelCannotBeCreated() {
        ChannelException tooMany = new ChannelException("too many open files, thrown by a test");
        Bootstrap bootstrap = new Bootstrap().group(channel.eventLoop()).channelFactory(() -> {
            throw tooMany;
        });
        assertSame(tooMany, causeOf(RespClient.connect(bootstrap, new LocalAddress("nowhere"), RespLimits.defaults(), 4,
                pushes::add).toCompletableFuture()));
    }

    @Test
    void connectChecksItsArgumentsBeforeItMakesAChannel() {
        AtomicInteger made = new AtomicInteger();
        Bootstrap bootstrap = new Bootstrap().group(channel.eventLoop()).channelFactory(() -> {
            made.incrementAndGet();
            return new EmbeddedChannel();
        });
        LocalAddress address = new LocalAddress("nowhere");
        RespLimits limits = RespLimits.defaults();
        assertEquals("address is null: give the one that the server listens on", assertThrows(
                NullPointerException.class, () -> RespClient.connect(bootstrap, null)).getMessage());
        assertEquals("limits is null: give RespLimits.defaults() or others", assertThrows(
                NullPointerException.class, () -> RespClient.connect(bootstrap, address, null, 4, pushes::add))
                .getMessage());
        assertEquals("inFlightMax is 0; it must be at least 1", assertThrows(IllegalArgumentException.class,
                () -> RespClient.connect(bootstrap, address, limits, 0, pushes::add)).getMessage());
        assertEquals("pushListener is null: give one, which may do nothing", assertThrows(
                NullPointerException.class, () -> RespClient.connect(bootstrap, address, limits, 4, null))
                .getMessage());
        assertEquals(0, made.get(), "channels");
    }

    @Test
    void connectsWithDefaultLimits() throws Exception {
        try (LocalServer server = new LocalServer(LocalChannel::new);
                RespClient connected = RespClient.connect(server.bootstrap, server.address)
                        .toCompletableFuture()
                        .join()) {
            assertEquals("PONG", connected.send("PING").get(10, TimeUnit.SECONDS).asText());
        }
    }

    @Test
    void connectClosesAConnectionThatTheCallerHasGivenUp() throws Exception {
        try (LocalServer server = new LocalServer(LocalChannel::new)) {
            CountDownLatch isGivenUp = new CountDownLatch(1);
            server.group.execute(() -> awaitOrFail(isGivenUp));
            CompletableFuture<RespClient> client = RespClient.connect(server.bootstrap, server.address)
                    .toCompletableFuture();
            client.cancel(true);
            isGivenUp.countDown();
            assertTrue(server.made.get(0).closeFuture().await(10, TimeUnit.SECONDS), "closed");
        }
    }

    @Test
    void connectClosesAChannelThatGetsNoClient() throws Exception {
        IllegalStateException thrown = new IllegalStateException("thrown by a test");
        CountDownLatch isClosed = new CountDownLatch(1);
        try (LocalServer server = new LocalServer(() -> new LocalChannel() {
            @Override
            public ChannelFuture closeFuture() {
                super.closeFuture().addListener(closed -> isClosed.countDown());
                throw thrown;
            }
        })) {
            assertSame(thrown, causeOf(RespClient.connect(server.bootstrap, server.address).toCompletableFuture()));
            assertTrue(isClosed.await(10, TimeUnit.SECONDS), "closed");
        }
    }

    @Test
    void connectClosesAChannelThatThrows() throws Exception {
        IllegalStateException thrown = new IllegalStateException("thrown by a test");
        try (LocalServer server = new LocalServer(() -> new LocalChannel() {
            @Override
            public ChannelFuture connect(SocketAddress remote) {
                throw thrown;
            }
        })) {
            CompletableFuture<RespClient> client = RespClient.connect(server.bootstrap, server.address)
                    .toCompletableFuture();
            assertSame(thrown, causeOf(client.orTimeout(10, TimeUnit.SECONDS)));
            assertTrue(server.made.get(0).closeFuture().await(10, TimeUnit.SECONDS), "closed");
        }
    }

    private static void awaitOrFail(CountDownLatch latch) {
        try {
            assertTrue(latch.await(10, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Answers each read of one connection with PONG. Its event loop has the channels of clients too. */
    private static final class LocalServer implements AutoCloseable {
        private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
        private final LocalAddress address = new LocalAddress(RespClientTest.class);
        private final List<Channel> made = new ArrayList<>();
        private final Bootstrap bootstrap;

        private LocalServer(ChannelFactory<LocalChannel> channels) {
            bootstrap = new Bootstrap().group(group).channelFactory(() -> {
                LocalChannel channel = channels.newChannel();
                made.add(channel);
                return channel;
            });
            ChannelHandler answersPong = new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object request) {
                    ReferenceCountUtil.release(request);
                    ctx.writeAndFlush(ctx.alloc().buffer().writeBytes(Wire.bytes("+PONG\r\n")));
                }
            };
            new ServerBootstrap().group(group)
                    .channel(LocalServerChannel.class)
                    .childHandler(answersPong)
                    .bind(address)
                    .syncUninterruptibly();
        }

        @Override
        public void close() {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void completesRequestsInOrder() {
        CompletableFuture<RespValue> ping = client.send(RespCommand.of("PING"));
        CompletableFuture<RespValue> get = client.send("GET", "k");
        assertEquals("*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", sent());
        receive("+PONG\r\n$1");
        assertEquals("PONG", ping.join().asText());
        assertFalse(get.isDone());
        receive("\r\nv\r\n");
        assertEquals(RespValue.bulk("v"), get.join());
    }

    @Test
    void completesWithErrorsAsValues() {
        CompletableFuture<RespValue> nested = client.send("EVAL", "return {1, {2, redis.error_reply('x')}}", "0");
        sent();
        receive("*2\r\n:1\r\n*2\r\n:2\r\n-x\r\n");
        RespValue error = nested.join().elements().get(1).elements().get(1);
        assertTrue(error.isError());
        assertEquals("x", error.asText());
    }

    @Test
    void passesPushesToTheListener() {
        CompletableFuture<RespValue> get = client.send("GET", "k");
        sent();
        receive(">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n:7\r\n>1\r\n+later\r\n");
        assertEquals(7, get.join().asLong());
        assertEquals(2, pushes.size());
        assertEquals("later", pushes.get(1).elements().get(0).asText());
    }

    @Test
    void deliversAttributesWithTheirValues() {
        CompletableFuture<RespValue> first = client.send("A");
        EventLog log = new EventLog();
        CompletableFuture<RespValue> second = client.send(channel.alloc().buffer(), log);
        sent();
        receive("|1\r\n+ttl\r\n:1\r\n>1\r\n+p\r\n|1\r\n+ttl\r\n:2\r\n$1\r\na\r\n|1\r\n+ttl\r\n:3\r\n*1\r\n:9\r\n");
        assertEquals(1, pushes.get(0).attribute().find("ttl").asLong());
        assertEquals(2, first.join().attribute().find("ttl").asLong());
        assertTrue(second.isDone());
        assertEquals(List.of("start ATTRIBUTE 2", "simple string ttl", "integer 3", "end ATTRIBUTE", "start ARRAY 1",
                "integer 9", "end ARRAY", "reply end"), log.events());
    }

    @Test
    void sendsCommandsTogetherInOneBuffer() {
        List<CompletableFuture<RespValue>> replies = client
                .sendTogether(List.of(List.of("MULTI"), List.of("GET", "k"), List.of("EXEC")));
        assertEquals("*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nEXEC\r\n", sent());
        receive("+OK\r\n+QUEUED\r\n*1\r\n_\r\n");
        assertEquals(RespValue.array(RespValue.nullOf(RespType.NULL)), replies.get(2).join());
    }

    /** A server does not answer *0, so the next reply would complete this request. */
    @Test
    void rejectsCommandsWithoutWords() {
        for (Executable send : List.<Executable>of(client::send, () -> client.sendTogether(List.of(List.of())),
                () -> client.sendTogether(List.of(List.of("MULTI"), List.of())), () -> RespCommand.of(),
                () -> RespCommand.template().end())) {
            assertEquals("a command has no word: give at least its name",
                    assertThrows(IllegalArgumentException.class, send).getMessage());
        }
        for (Executable send : List.<Executable>of(() -> client.send("GET", null),
                () -> client.sendTogether(List.of(List.of("MULTI"), Arrays.asList("GET", null))))) {
            assertEquals("a word of a command is null", assertThrows(NullPointerException.class, send).getMessage());
        }
        assertEquals("", sent());
        CompletableFuture<RespValue> ping = client.send("PING");
        assertEquals("*1\r\n$4\r\nPING\r\n", sent());
        receive("+PONG\r\n");
        assertEquals("PONG", ping.join().asText());
    }

    @Test
    void rejectsACommandThatIsNull() {
        ByteBuf none = null;
        for (Executable send : List.<Executable>of(() -> client.send(none),
                () -> client.send(none, new EventLog()))) {
            assertEquals("command is null: give one encoded command",
                    assertThrows(NullPointerException.class, send).getMessage());
        }
        CompletableFuture<RespValue> ping = client.send("PING");
        assertEquals("*1\r\n$4\r\nPING\r\n", sent());
        receive("+PONG\r\n");
        assertEquals("PONG", ping.join().asText());
    }

    /** The bytes may be queued or not, so no later reply has a known request. */
    @Test
    void closesIfACommandCannotBeWritten() {
        IllegalStateException thrown = new IllegalStateException("thrown by a test");
        EmbeddedChannel failing = new EmbeddedChannel() {
            @Override
            public ChannelFuture write(Object message) {
                ReferenceCountUtil.release(message);
                throw thrown;
            }
        };
        RespClient failed = RespClient.attach(failing, RespLimits.defaults(), 4, pushes::add);
        CompletableFuture<RespValue> ping = failed.send("PING");
        assertEquals(IOException.class, causeOf(ping).getClass());
        assertSame(thrown, causeOf(ping).getCause());
        assertFalse(failing.isOpen());
        assertEquals(IOException.class, causeOf(failed.send("PING")).getClass());
    }

    @Test
    void limitsRequestsInFlight() {
        for (int i = 0; i < 4; i++) {
            client.send("PING");
        }
        assertEquals("4 requests await a reply and no more than inFlightMax 4 may",
                causeOf(client.send("PING")).getMessage());
        sent();
        receive("+PONG\r\n");
        CompletableFuture<RespValue> fits = client.send("PING");
        sent();
        receive("+PONG\r\n".repeat(4));
        assertEquals("PONG", fits.join().asText());
        assertEquals("inFlightMax is 0; it must be at least 1", assertThrows(IllegalArgumentException.class,
                () -> RespClient.attach(channel, RespLimits.defaults(), 0, pushes::add)).getMessage());
    }

    @Test
    void protocolErrorFailsPendingRequests() {
        CompletableFuture<RespValue> first = client.send("GET", "a");
        CompletableFuture<RespValue> second = client.send("GET", "b");
        sent();
        receive(":1\r\n:x\r\n:3\r\n");
        assertEquals(1, first.join().asLong());
        assertEquals(IOException.class, causeOf(second).getClass());
        assertEquals(RespProtocolException.class, causeOf(second).getCause().getClass());
        assertFalse(channel.isOpen());
        assertEquals(IOException.class, causeOf(client.send("GET", "c")).getClass());
    }

    @Test
    void unexpectedReplyClosesTheConnection() {
        receive(":1\r\n");
        assertFalse(channel.isOpen());
        assertEquals("a reply came that no request awaits", causeOf(client.send("PING")).getCause().getMessage());
    }

    @Test
    void closeFailsPendingRequests() {
        CompletableFuture<RespValue> ping = client.send("PING");
        sent();
        client.close();
        assertEquals(IOException.class, causeOf(ping).getClass());
    }
}
