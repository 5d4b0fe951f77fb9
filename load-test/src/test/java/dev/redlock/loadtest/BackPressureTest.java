package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TlsProvider;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.ssl.OpenSsl;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A node that stops reading while the client continues: the kernel's buffers fill, then the channel's, and there it
 * ends. Long names fill them soon.
 */
class BackPressureTest {

    private static final Duration TTL = Duration.ofSeconds(60);
    private static final Duration NODE_TIMEOUT = Duration.ofSeconds(2);
    private static final int UNSENT_BYTES_MAX = 64 << 10;
    private static final int NAME_LENGTH = 8 << 10;
    /** Acquire or release: the name and less than a page around it. */
    private static final int COMMAND_BYTES_MAX = NAME_LENGTH + 4096;
    /** Sockets of the kernel may keep some MiB; a thousand names are eight. Far beyond it, something is wrong. */
    private static final int FILLING_CYCLES_MAX = 20_000;
    private static final int CONGESTED_CYCLES = 500;

    private RedisNodes nodes;
    private WatchedLoop loop;
    private Redlock redlock;
    private long unsentBytesSeen;

    /** Each transport without TLS, and each implementation of TLS. */
    static Stream<Arguments> connections() {
        String best = Epoll.isAvailable() ? "EPOLL" : "NIO";
        return Stream.of(Arguments.of("NIO", null), Arguments.of(best, null), Arguments.of("NIO", TlsProvider.JDK),
                Arguments.of(best, TlsProvider.OPENSSL));
    }

    @ParameterizedTest
    @MethodSource("connections")
    @Timeout(120)
    void nodeThatDoesNotReadUsesBoundedMemoryAndDoesNotSlowOthers(String transport, TlsProvider tls)
            throws Exception {
        Assumptions.assumeTrue(tls != TlsProvider.OPENSSL || OpenSsl.isAvailable());
        loop = new WatchedLoop(transport.equals("NIO") ? NioIoHandler.newFactory() : EpollIoHandler.newFactory());
        try (RedisNodes three = RequiredNodes.start(
                new RedisNodesContext().source(Source.PATH).count(3).tls(tls != null))) {
            nodes = three;
            RedlockContext context = new RedlockContext();
            if (tls != null) {
                context.tls(nodes.tls().options().provider(tls));
            }
            redlock = Redlock.connect(context.nodes(tls == null ? nodes.addresses() : nodes.tlsAddresses())
                    .restartGuard(RestartGuardMode.OFF)
                    .eventLoops(loop)
                    .nodeTimeout(NODE_TIMEOUT)
                    .resourceLengthMax(NAME_LENGTH)
                    // The connection shall last: a node that is taken for dead would get a new one, with empty buffers.
                    .unansweredTimeout(Duration.ofSeconds(100))
                    .clockSampleInterval(Duration.ZERO)
                    .nodeBackPressure(65_536, UNSENT_BYTES_MAX));
            try {
                // On a busy machine, the handshakes of TLS may take longer than connect() waits.
                Await.until("each node is ready",
                        () -> redlock.nodes().stream().allMatch(node -> node.state() == NodeState.READY));
                cycle(0);
                Await.until("it grants", () -> redlock.nodes().get(0).grantedCount() > 0);
                nodes.node(0).pause();
                fill();
                stayFull();
                recover();
            } finally {
                redlock.close();
            }
        } finally {
            loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        }
    }

    private void fill() throws Exception {
        int cycles = 0;
        while (!isRefusedAtOnce(cycle(cycles))) {
            cycles++;
            assertTrue(cycles < FILLING_CYCLES_MAX, "still no limit after " + cycles + " cycles, " + unsentBytesSeen
                    + " unsent bytes");
        }
    }

    private void stayFull() throws Exception {
        long pinnedBytes = PooledByteBufAllocator.DEFAULT.pinnedDirectMemory();
        long heapBytes = usedHeapBytes();
        long[] tookNs = new long[CONGESTED_CYCLES];
        int refusedAtOnce = 0;
        for (int i = 0; i < CONGESTED_CYCLES; i++) {
            long startNs = System.nanoTime();
            refusedAtOnce += isRefusedAtOnce(cycle(i)) ? 1 : 0;
            tookNs[i] = System.nanoTime() - startNs;
        }
        Arrays.sort(tookNs);
        assertTrue(refusedAtOnce > CONGESTED_CYCLES / 2, "votes that failed at once: " + refusedAtOnce);
        assertTrue(tookNs[CONGESTED_CYCLES * 99 / 100] < NODE_TIMEOUT.toNanos() / 2,
                "nobody waits for it: " + tookNs[CONGESTED_CYCLES * 99 / 100] + " ns");
        assertTrue(unsentBytesSeen <= UNSENT_BYTES_MAX + COMMAND_BYTES_MAX, "unsent: " + unsentBytesSeen);
        // What went out to this node in that time, had it been kept: 500 names of 8 KiB, twice.
        long pinnedMoreBytes = PooledByteBufAllocator.DEFAULT.pinnedDirectMemory() - pinnedBytes;
        assertTrue(pinnedMoreBytes < 2 * UNSENT_BYTES_MAX, "buffers kept: " + pinnedMoreBytes);
        long heapMoreBytes = usedHeapBytes() - heapBytes;
        assertTrue(heapMoreBytes < 4 << 20, "heap kept: " + heapMoreBytes);
    }

    private void recover() throws Exception {
        nodes.node(0).resume();
        Await.until("everything is sent", () -> unsentBytes() == 0);
        long grants = redlock.nodes().get(0).grantedCount();
        Await.until("it grants again", () -> {
            cycle(0);
            return redlock.nodes().get(0).grantedCount() > grants;
        });
        assertEquals(NodeState.READY, redlock.nodes().get(0).state());
        assertEquals(0, redlock.nodes().get(0).disconnectCount(), "it is the same connection");
        for (int i = 0; i < nodes.size(); i++) {
            int index = i;
            Await.until("nothing is left on node " + i, () -> nodes.node(index).call("DBSIZE").equals(0L));
        }
    }

    private AcquireOutcome cycle(int number) throws InterruptedException {
        String head = "orders/" + number + "/";
        AcquireOutcome outcome = redlock.tryAcquire(head + "x".repeat(NAME_LENGTH - head.length()), TTL);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, outcome.kind(), outcome::toString);
        assertEquals(ReleaseOutcome.RELEASED, outcome.lease().release());
        unsentBytesSeen = Math.max(unsentBytesSeen, unsentBytes());
        return outcome;
    }

    private static boolean isRefusedAtOnce(AcquireOutcome outcome) {
        return outcome.voteText(0).contains("too much unanswered or unsent");
    }

    /** What waits in the channel to the first node. */
    private long unsentBytes() {
        long bytes = 0;
        for (Channel channel : loop.channels) {
            ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
            InetSocketAddress peer = (InetSocketAddress) channel.remoteAddress();
            if (buffer != null && peer != null && peer.getPort() == firstPort()) {
                bytes += buffer.totalPendingWriteBytes();
            }
        }
        return bytes;
    }

    private int firstPort() {
        RedisNode first = nodes.node(0);
        return first.tlsAddress().orElse(first.address()).port();
    }

    private static long usedHeapBytes() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** An event loop that knows its channels. */
    private static final class WatchedLoop extends SingleThreadIoEventLoop {
        private final List<Channel> channels = new CopyOnWriteArrayList<>();

        WatchedLoop(IoHandlerFactory handlers) {
            super(null, new DefaultThreadFactory("watched-loop", true), handlers);
        }

        @Override
        public ChannelFuture register(ChannelPromise promise) {
            // The kernel would keep some MiB, which take long to encrypt.
            promise.channel().config().setOption(ChannelOption.SO_SNDBUF, UNSENT_BYTES_MAX);
            channels.add(promise.channel());
            return super.register(promise);
        }
    }
}
