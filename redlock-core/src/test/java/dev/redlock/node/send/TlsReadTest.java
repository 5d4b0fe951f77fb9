package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.TlsProvider;
import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import dev.redlock.resp.netty.RespInboundHandler;
import dev.redlock.tls.TestCertificates;
import dev.redlock.transport.TlsContext;
import dev.redlock.transport.TlsContexts;
import dev.redlock.transport.TlsSpec;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslHandler;
import io.netty.pkitesting.X509Bundle;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Replies that arrive as TLS records, in reads of the reused buffer: whatever the records and the reads contain, the
 * parser gets the same values as without TLS, and no buffer is left.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class TlsReadTest {

    /** Replies to lock commands and to a handshake, with pushes between them. */
    private static final byte[] REPLIES = (":1\r\n$-1\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$6\r\nlock/1\r\n:0\r\n"
            + "-NOSCRIPT No matching script\r\n*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n+OK\r\n>2\r\n$10\r\n"
            + "invalidate\r\n_\r\n%1\r\n$5\r\nproto\r\n:3\r\n:9223372036854775807\r\n")
            .getBytes(StandardCharsets.US_ASCII);
    private static final int RANDOM_TRIALS = 300;
    private static final int LONG_LENGTH = 300_000;

    @TempDir
    static Path folder;
    private static TestCertificates certificates;
    private static X509Bundle identity;

    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    private final List<RespValue> values = new ArrayList<>();
    private ReadBuffer readBuffer;
    private EmbeddedChannel channel;
    private SSLEngine server;

    @BeforeAll
    static void issue() {
        certificates = new TestCertificates(folder);
        identity = certificates.forNode();
    }

    @AfterEach
    void nothingIsLeft() {
        if (channel != null) {
            channel.finishAndReleaseAll();
            readBuffer.close();
            assertEquals("0 direct, 0 heap", allocator.metric().usedDirectMemory() + " direct, "
                    + allocator.metric().usedHeapMemory() + " heap", "bytes of buffers that were not released");
        }
    }

    // ---- two ends of a connection -----------------------------------------------------------------------------------

    private void connect(TlsProvider provider, String protocol) throws Exception {
        Assumptions.assumeTrue(provider != TlsProvider.OPENSSL || OpenSsl.isAvailable());
        TlsContexts contexts = new TlsContexts(
                new TlsSpec(new TlsSpec.PemTrust(List.of(certificates.authorityFile())), null, List.of(protocol),
                        true, provider));
        CompletableFuture<TlsContext> context = new CompletableFuture<>();
        contexts.forConnection(0, Runnable::run, (read, problem) -> context.complete(read));
        server = serverEngine(protocol);
        readBuffer = new ReadBuffer(new DirectBuffers(Runnable::run, allocator, System::nanoTime));
        channel = new EmbeddedChannel();
        channel.config().setAllocator(allocator);
        SslHandler handler = context.get().context().newHandler(allocator, "localhost", 6380);
        channel.pipeline().addLast(handler, parser());
        while (!handler.handshakeFuture().isSuccess() || channel.outboundMessages().size() > 0) {
            receive(toServer());
            assertNull(handler.handshakeFuture().cause());
        }
    }

    private RespInboundHandler parser() {
        return new RespInboundHandler(new RespValueReader(new RespValueReader.Sink() {
            @Override
            public void onReply(RespValue reply) {
                values.add(reply);
            }

            @Override
            public void onPush(RespValue push) {
                values.add(push);
            }
        }), RespLimits.defaults(), new RespInboundHandler.Owner() {
            @Override
            public void onProtocolError(RespProtocolException e) {
                throw new AssertionError(e);
            }
        });
    }

    private static SSLEngine serverEngine(String protocol) throws Exception {
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(identity.toKeyStore(new char[0]), new char[0]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        SSLEngine engine = context.createSSLEngine();
        engine.setUseClientMode(false);
        engine.setEnabledProtocols(new String[]{protocol});
        return engine;
    }

    /** Passes what the client has sent to the server; returns the server's part of the handshake. */
    private byte[] toServer() throws Exception {
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
            sent.writeBytes(ByteBufUtil.getBytes(out));
            out.release();
        }
        ByteBuffer in = ByteBuffer.wrap(sent.toByteArray());
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        ByteBuffer plain = ByteBuffer.allocate(server.getSession().getApplicationBufferSize());
        SSLEngineResult.HandshakeStatus status = SSLEngineResult.HandshakeStatus.NEED_UNWRAP;
        while (in.hasRemaining() || status != SSLEngineResult.HandshakeStatus.NEED_UNWRAP
                && status != SSLEngineResult.HandshakeStatus.NOT_HANDSHAKING) {
            if (status == SSLEngineResult.HandshakeStatus.NEED_WRAP) {
                answer.writeBytes(record(ByteBuffer.allocate(0)));
            } else if (status == SSLEngineResult.HandshakeStatus.NEED_TASK) {
                server.getDelegatedTask().run();
            } else {
                server.unwrap(in, plain);
            }
            status = server.getHandshakeStatus();
        }
        return answer.toByteArray();
    }

    /** One TLS record with as much of these bytes as fits. */
    private byte[] record(ByteBuffer plain) throws Exception {
        ByteBuffer out = ByteBuffer.allocate(server.getSession().getPacketBufferSize());
        SSLEngineResult result = server.wrap(plain, out);
        assertEquals(SSLEngineResult.Status.OK, result.getStatus());
        return Arrays.copyOf(out.array(), out.position());
    }

    /** Records that end at these positions of the plain bytes, one after the other. */
    private byte[] records(byte[] plain, int... ends) throws Exception {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        ByteBuffer left = ByteBuffer.wrap(plain);
        for (int end : ends) {
            left.limit(end);
            while (left.hasRemaining()) {
                all.writeBytes(record(left));
            }
        }
        return all.toByteArray();
    }

    /** Reads as a channel does: into the reused buffer, at most as much as it can contain. */
    private void receive(byte[] bytes, int... ends) {
        int from = 0;
        for (int i = 0; i <= ends.length; i++) {
            int end = i < ends.length ? ends[i] : bytes.length;
            while (from < end) {
                ByteBuf in = readBuffer.newHandle().allocate(allocator);
                int length = Math.min(end - from, in.writableBytes());
                in.writeBytes(bytes, from, length);
                from += length;
                channel.writeInbound(in);
            }
        }
        assertTrue(allocator.metric().usedDirectMemory() + allocator.metric().usedHeapMemory() < 1 << 20, "bounded");
    }

    // ---- what arrives -----------------------------------------------------------------------------------------------

    private static List<RespValue> expected(byte[] plain) {
        TlsReadTest withoutTls = new TlsReadTest();
        EmbeddedChannel direct = new EmbeddedChannel(withoutTls.parser());
        direct.writeInbound(direct.alloc().buffer().writeBytes(plain));
        direct.finishAndReleaseAll();
        assertFalse(withoutTls.values.isEmpty());
        return withoutTls.values;
    }

    private void assertReceived(List<RespValue> expected, String trial) {
        assertEquals(expected, values, trial);
        values.clear();
    }

    @ParameterizedTest
    @CsvSource({"JDK, TLSv1.3", "JDK, TLSv1.2", "OPENSSL, TLSv1.3", "OPENSSL, TLSv1.2"})
    void aRecordMayEndAtAnyByteOfAReplyAndAReadAtAnyByteOfARecord(TlsProvider provider, String protocol)
            throws Exception {
        connect(provider, protocol);
        List<RespValue> expected = expected(REPLIES);
        int whole = REPLIES.length;
        int cipherLength = 0;
        for (int cut = 1; cut < whole; cut++) {
            byte[] two = records(REPLIES, cut, whole);
            cipherLength = two.length;
            receive(two);
            assertReceived(expected, "two records in one read, the first one ends at " + cut);
        }
        for (int cut = 1; cut < cipherLength; cut++) {
            receive(records(REPLIES, whole / 2, whole), cut);
            assertReceived(expected, "the first read ends at " + cut);
        }
    }

    @ParameterizedTest
    @CsvSource({"JDK, TLSv1.3", "JDK, TLSv1.2", "OPENSSL, TLSv1.3", "OPENSSL, TLSv1.2"})
    void aRecordForEachByteInReadsOfAnyLength(TlsProvider provider, String protocol) throws Exception {
        connect(provider, protocol);
        List<RespValue> expected = expected(REPLIES);
        int[] everyByte = new int[REPLIES.length];
        Arrays.setAll(everyByte, i -> i + 1);
        for (int length = 1; length < 100; length++) {
            byte[] cipher = records(REPLIES, everyByte);
            int step = length;
            int[] ends = new int[cipher.length / length];
            Arrays.setAll(ends, i -> (i + 1) * step);
            receive(cipher, ends);
            assertReceived(expected, "reads of " + length);
            receive(records(REPLIES, everyByte));
            assertReceived(expected, "all records in one read");
        }
    }

    /** Longer than the read buffer, so that a record is always under way at the end of a read. */
    @ParameterizedTest
    @CsvSource({"JDK, TLSv1.3", "JDK, TLSv1.2", "OPENSSL, TLSv1.3", "OPENSSL, TLSv1.2"})
    void fullRecordsWithThousandsOfReplies(TlsProvider provider, String protocol) throws Exception {
        connect(provider, protocol);
        StringBuilder text = new StringBuilder();
        for (int i = 0; text.length() < LONG_LENGTH; i++) {
            text.append(':').append(i).append("\r\n").append(i % 100 == 0 ? ">1\r\n$4\r\npush\r\n" : "");
        }
        byte[] plain = text.toString().getBytes(StandardCharsets.US_ASCII);
        receive(records(plain, plain.length));
        assertReceived(expected(plain), "full records");
    }

    @ParameterizedTest
    @CsvSource({"JDK, TLSv1.3", "JDK, TLSv1.2", "OPENSSL, TLSv1.3", "OPENSSL, TLSv1.2"})
    void anyRecordsInAnyReads(TlsProvider provider, String protocol) throws Exception {
        connect(provider, protocol);
        long seed = System.nanoTime();
        Random random = new Random(seed);
        List<RespValue> expected = expected(REPLIES);
        for (int trial = 0; trial < RANDOM_TRIALS; trial++) {
            byte[] cipher = records(REPLIES, cuts(random, REPLIES.length));
            receive(cipher, cuts(random, cipher.length));
            assertReceived(expected, "seed " + seed + ", trial " + trial);
        }
    }

    /** Ascending positions, the last one at the end. */
    private static int[] cuts(Random random, int length) {
        int longest = 1 + random.nextInt(length);
        List<Integer> cuts = new ArrayList<>();
        for (int at = 0; at < length;) {
            at = Math.min(length, at + 1 + random.nextInt(longest));
            cuts.add(at);
        }
        return cuts.stream().mapToInt(Integer::intValue).toArray();
    }
}
