package dev.redlock.loadtest.codec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.RespRule;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespVisitor;
import dev.redlock.resp.RespWriter;
import dev.redlock.resp.netty.RespClient;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The codec and its client against a real server: what it truly sends, in both protocols. */
@Timeout(120)
class RealServerCodecTest {
    private static EventLoopGroup group;
    private static RedisNodes nodes;

    private final BlockingQueue<RespValue> pushes = new LinkedBlockingQueue<>();
    private final List<RespClient> clients = new ArrayList<>();

    @BeforeAll
    static void start() {
        nodes = RequiredNodes.start(
                new RedisNodesContext().source(Source.PATH).count(1).config("enable-debug-command yes"));
        group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    }

    @AfterAll
    static void stop() {
        if (nodes != null) {
            nodes.close();
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @AfterEach
    void close() {
        clients.forEach(client -> client.channel().close().syncUninterruptibly());
    }

    private RespClient client(int protocol, RespLimits limits, int inFlightMax) {
        NodeAddress address = nodes.node(0).address();
        RespClient client = RespClient.connect(new Bootstrap().group(group).channel(NioSocketChannel.class),
                new InetSocketAddress(address.host(), address.port()), limits, inFlightMax, pushes::add)
                .toCompletableFuture()
                .join();
        clients.add(client);
        RespValue hello = client.send("HELLO", Integer.toString(protocol)).join();
        assertEquals(protocol, hello.find("proto").asLong());
        assertEquals(protocol == 3 ? RespType.MAP : RespType.ARRAY, hello.type());
        return client;
    }

    private RespClient client(int protocol) {
        return client(protocol, RespLimits.defaults(), RespClient.IN_FLIGHT_MAX_DEFAULT);
    }

    private static RespValue debug(RespClient client, String type) {
        return client.send("DEBUG", "PROTOCOL", type).join();
    }

    @Test
    void everyTypeInResp3() {
        RespClient client = client(3);
        assertEquals("Hello World", debug(client, "string").asText());
        assertEquals(12345, debug(client, "integer").asLong());
        assertEquals(3.141, debug(client, "double").asDouble());
        assertEquals(RespValue.nullOf(RespType.NULL), debug(client, "null"));
        assertEquals(RespValue.array(RespValue.integer(0), RespValue.integer(1), RespValue.integer(2)),
                debug(client, "array"));
        assertEquals(RespType.SET, debug(client, "set").type());
        assertEquals(3, debug(client, "set").elements().size());
        assertEquals(RespType.MAP, debug(client, "map").type());
        assertEquals(6, debug(client, "map").elements().size());
        assertEquals(RespValue.bool(true), debug(client, "true"));
        assertEquals(RespValue.bool(false), debug(client, "false"));
        assertEquals("1234567999999999999999999999999999999", debug(client, "bignum").asText());
        assertEquals(RespType.BIG_NUMBER, debug(client, "bignum").type());
        assertEquals(RespType.VERBATIM_STRING, debug(client, "verbatim").type());
        assertEquals("txt", debug(client, "verbatim").format());
        assertEquals("This is a verbatim\nstring", debug(client, "verbatim").asText());
        RespValue attrib = debug(client, "attrib");
        assertEquals(RespType.BULK_STRING, attrib.type());
        assertEquals("key-popularity", attrib.attribute().elements().get(0).asText());
    }

    @Test
    void everyTypeInResp2() {
        RespClient client = client(2);
        assertEquals("Hello World", debug(client, "string").asText());
        assertEquals(12345, debug(client, "integer").asLong());
        assertEquals(RespValue.bulk("3.141"), debug(client, "double"));
        assertEquals(RespValue.nullOf(RespType.BULK_STRING), debug(client, "null"));
        assertEquals(3, debug(client, "array").elements().size());
        assertEquals(3, debug(client, "set").elements().size());
        assertEquals(6, debug(client, "map").elements().size());
        assertEquals(RespValue.integer(1), debug(client, "true"));
        assertEquals(RespValue.integer(0), debug(client, "false"));
        assertEquals(RespType.BULK_STRING, debug(client, "bignum").type());
        assertEquals(RespType.BULK_STRING, debug(client, "verbatim").type());
        assertEquals(RespValue.nullOf(RespType.ARRAY), client.send("BLPOP", "nothing", "0.01").join());
    }

    @Test
    void pushesArriveBesideReplies() throws InterruptedException {
        RespClient client = client(3);
        client.send("DEBUG", "PROTOCOL", "push");
        RespValue push = pushes.poll(60, TimeUnit.SECONDS);
        assertEquals(RespType.PUSH, push.type());
        assertEquals("server-cpu-usage", push.elements().get(0).asText());
    }

    @Test
    void invalidationsAreNoReplies() throws InterruptedException {
        RespClient tracking = client(3);
        assertEquals("OK", tracking.send("CLIENT", "TRACKING", "ON").join().asText());
        tracking.send("SET", "watched", "1").join();
        tracking.send("GET", "watched").join();
        client(3).send("SET", "watched", "2").join();
        RespValue push = pushes.poll(60, TimeUnit.SECONDS);
        assertEquals("invalidate", push.elements().get(0).asText());
        assertEquals("watched", push.elements().get(1).elements().get(0).asText());
        assertEquals("2", tracking.send("GET", "watched").join().asText());
    }

    @Test
    void aTransactionWithAFailingCommandInside() {
        RespClient client = client(3);
        List<CompletableFuture<RespValue>> replies = client.sendTogether(List.of(List.of("DEL", "t"), List.of("MULTI"),
                List.of("SET", "t", "text"), List.of("INCR", "t"), List.of("GET", "t"), List.of("EXEC")));
        assertEquals("QUEUED", replies.get(3).join().asText());
        List<RespValue> exec = replies.get(5).join().elements();
        assertEquals("OK", exec.get(0).asText());
        assertTrue(exec.get(1).isError());
        assertEquals("text", exec.get(2).asText());
    }

    @Test
    void aTransactionThatIsRefused() {
        List<CompletableFuture<RespValue>> replies = client(3)
                .sendTogether(List.of(List.of("MULTI"), List.of("NO-SUCH-COMMAND"), List.of("EXEC")));
        assertTrue(replies.get(1).join().asText().startsWith("ERR unknown command"));
        assertTrue(replies.get(2).join().asText().startsWith("EXECABORT"));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void aWatchThatAborts(int protocol) {
        RespClient client = client(protocol);
        client.send("WATCH", "w").join();
        client(protocol).send("SET", "w", "changed").join();
        List<CompletableFuture<RespValue>> replies = client
                .sendTogether(List.of(List.of("MULTI"), List.of("GET", "w"), List.of("EXEC")));
        assertEquals(RespValue.nullOf(protocol == 3 ? RespType.NULL : RespType.ARRAY), replies.get(2).join());
    }

    @Test
    void scriptsReturnNestedTablesAndErrors() {
        String script = "return {1, {2, {3, {'four', false, redis.error_reply('E five')}}}}";
        assertEquals(
                RespValue.array(RespValue.integer(1),
                        RespValue.array(RespValue.integer(2),
                                RespValue.array(RespValue.integer(3),
                                        RespValue.array(RespValue.bulk("four"), RespValue.nullOf(RespType.NULL),
                                                RespValue.text(RespType.SIMPLE_ERROR, "E five"))))),
                client(3).send("EVAL", script, "0").join());
    }

    @Test
    void scriptsReturnResp3Types() {
        RespClient client = client(3);
        String head = "redis.setresp(3) return ";
        assertEquals(RespValue.number(-0.5), client.send("EVAL", head + "{double=-0.5}", "0").join());
        assertEquals(RespValue.number(Double.NEGATIVE_INFINITY),
                client.send("EVAL", head + "{double=-1/0}", "0").join());
        assertEquals(RespValue.bool(true), client.send("EVAL", head + "true", "0").join());
        assertEquals(RespType.MAP, client.send("EVAL", head + "{map={a=1}}", "0").join().type());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 100, 16_384, 16_385, 1 << 20, 64 << 20})
    void repliesOfManySizes(int length) {
        RespClient client = client(3);
        byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) '\r');
        bytes[length - 1] = '\n';
        ByteBuf set = ByteBufAllocator.DEFAULT.buffer();
        RespWriter.arrayHeader(set, 3);
        RespWriter.bulkString(set, "SET");
        RespWriter.bulkString(set, "big");
        RespWriter.bulkString(set, bytes);
        assertEquals("OK", client.send(set).join().asText());
        assertArrayEquals(bytes, client.send("GET", "big").join().asBytes());
        assertEquals(1, client.send("DEL", "big").join().asLong());
    }

    /** The server's own edge: 512 MB in one string, made there and taken in pieces here. */
    @Test
    @Tag("release")
    void theLargestReplyInPieces() {
        RespClient client = client(3);
        int length = RespLimits.BULK_LENGTH_MAX_DEFAULT;
        client.send("SETRANGE", "edge", Integer.toString(length - 1), "x").join();
        Counter counter = new Counter();
        client.send(get("edge"), counter).join();
        assertEquals(length, counter.bytes);
        RespClient strict = client(3, RespLimits.defaults().bulkLengthMax(length - 1), 4);
        Throwable refused = Assertions.assertThrows(CompletionException.class, strict.send("GET", "edge")::join);
        RespProtocolException cause = (RespProtocolException) refused.getCause().getCause();
        assertEquals(RespRule.BULK_LENGTH_MAX, cause.rule());
        client.send("DEL", "edge").join();
    }

    private static ByteBuf get(String key) {
        ByteBuf out = ByteBufAllocator.DEFAULT.buffer();
        RespWriter.arrayHeader(out, 2);
        RespWriter.bulkString(out, "GET");
        RespWriter.bulkString(out, key);
        return out;
    }

    @Test
    void aHundredThousandPipelinedCommands() {
        RespClient client = client(3, RespLimits.defaults(), 100_001);
        client.send("SET", "n", "0").join();
        List<CompletableFuture<RespValue>> replies = new ArrayList<>();
        for (int i = 0; i < 100_000; i++) {
            replies.add(client.send("INCR", "n"));
        }
        for (int i = 0; i < replies.size(); i++) {
            assertEquals(i + 1, replies.get(i).join().asLong());
        }
    }

    @Test
    void infoIsReadable() {
        RespValue info = client(3).send("INFO", "server").join();
        assertEquals(RespType.VERBATIM_STRING, info.type());
        assertTrue(new String(info.asBytes(), StandardCharsets.US_ASCII).contains("redis_version:"));
    }

    /** Counts the bytes of a body that comes in pieces. */
    private static final class Counter implements RespVisitor {
        private long bytes;

        @Override
        public boolean isWantedInPieces(RespType type, int length) {
            return true;
        }

        @Override
        public void onPiece(ByteBuf buf, int index, int length) {
            bytes += length;
        }

        @Override
        public void onInteger(long value) {
            throw new AssertionError(value);
        }

        @Override
        public void onSimpleError(ByteBuf buf, int index, int length) {
            throw new AssertionError(buf.toString(index, length, StandardCharsets.US_ASCII));
        }

        @Override
        public void onReplyEnd() {
        }
    }
}
