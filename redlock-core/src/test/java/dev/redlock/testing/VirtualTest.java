package dev.redlock.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;

/** The base of tests in virtual time: a world, clients over all its nodes, and short methods for both. */
@Tag("virtual")
public abstract class VirtualTest {

    protected static final Duration TTL = Duration.ofSeconds(10);
    /** The node timeout of a ttl of ten seconds. */
    protected static final long NODE_TIMEOUT_MS = 50;
    /** The delay of each request, and of each reply, of slow links. */
    protected static final long LINK_NS = 100_000;
    /** One percent of two clock sample periods (2 s) and 100 ms. */
    protected static final long CLOCK_UNSEEN_MS = 22;

    /** A field, because a logger without references loses its level. Its lines are noise in tests. */
    private static final Logger LOG = Logger.getLogger("dev.redlock");

    /**
     * The exceptions in the log, each a bug that the engine has survived. Tests that throw on purpose disable the log.
     */
    private static final List<String> THROWN = new ArrayList<>();

    static {
        LOG.setLevel(Level.SEVERE);
        LOG.addHandler(new Handler() {
            @Override
            public void publish(LogRecord record) {
                if (record.getThrown() != null) {
                    THROWN.add(record.getMessage() + " " + record.getThrown());
                }
            }

            @Override
            public void flush() {
                // Nothing is buffered.
            }

            @Override
            public void close() {
                // There is nothing to close.
            }
        });
    }

    protected VirtualWorld world;
    private final List<VirtualWorld.Client> clients = new ArrayList<>();
    private int clientCount;
    private long pinnedBefore;

    /** Every claim is back in its pool, no exception was logged and every buffer is released. */
    @AfterEach
    protected void nothingIsLeft() {
        if (world == null) {
            return;
        }
        clients.forEach(client -> {
            client.resume();
            client.engine().close(Duration.ofMillis(100));
        });
        world.runMs(1_000);
        clients.forEach(
                client -> assertEquals(0, client.engine().claimsOut(), "claims outside their pool after close"));
        clients.forEach(
                client -> assertTrue(client.isKilled() || client.engine().isIdle(), "nothing waits after close"));
        assertEquals(List.of(), THROWN, "exceptions in the log");
        world.end();
        // Real event loops of an earlier class may release a buffer late.
        long pinned = PooledByteBufAllocator.DEFAULT.pinnedDirectMemory();
        assertTrue(pinned <= pinnedBefore, () -> pinned + " bytes of buffers are pinned, " + pinnedBefore + " before");
    }

    @BeforeEach
    protected void clearRecordedExceptions() {
        THROWN.clear();
    }

    @BeforeEach
    void recordMemory() {
        pinnedBefore = PooledByteBufAllocator.DEFAULT.pinnedDirectMemory();
    }

    /** Runs a task that throws on purpose. */
    protected static void quietly(Runnable test) {
        LOG.setLevel(Level.OFF);
        try {
            test.run();
        } finally {
            LOG.setLevel(Level.SEVERE);
        }
    }

    /** Runs a task that throws on purpose, and returns the exceptions in the log, each with its message. */
    protected static List<String> exceptionsLoggedBy(Runnable test) {
        LOG.setUseParentHandlers(false);
        try {
            test.run();
        } finally {
            LOG.setUseParentHandlers(true);
        }
        List<String> logged = List.copyOf(THROWN);
        THROWN.clear();
        return logged;
    }

    protected VirtualWorld.Client world(int nodeCount) {
        world = new VirtualWorld(nodeCount);
        return client();
    }

    /** Creates a world with slow links, whose client has measured them. */
    protected VirtualWorld.Client slowWorld(int nodeCount) {
        VirtualWorld.Client client = world(nodeCount);
        eachNode(node -> node.delay(() -> LINK_NS));
        world.runMs(1_100);
        return client;
    }

    /** Releases, and returns the time until the waiter has the lock. */
    protected long handoffUs(Lease holder, CompletableFuture<AcquireOutcome> waiting) {
        long releasedNs = world.nowNs();
        holder.releaseAsync();
        world.await("handoff", 10_000, waiting::isDone);
        acquired(waiting.join());
        return (world.nowNs() - releasedNs) / 1_000;
    }

    /** Creates a world whose client uses scripts only. */
    protected VirtualWorld.Client scriptedWorld(int nodeCount) {
        world = new VirtualWorld(nodeCount);
        return client(context().commands(CommandMode.SCRIPTS));
    }

    /** Creates a world whose client polls: no node wakes its waiters. */
    protected VirtualWorld.Client pollingWorld(int nodeCount) {
        world = new VirtualWorld(nodeCount);
        return client(context().wakeUpKeysMax(0));
    }

    protected RedlockContext context() {
        return new RedlockContext().nodes(world.addresses());
    }

    protected VirtualWorld.Client client() {
        return client(context());
    }

    protected VirtualWorld.Client client(RedlockContext context) {
        return client(context, PooledByteBufAllocator.DEFAULT);
    }

    protected VirtualWorld.Client client(RedlockContext context, ByteBufAllocator allocator) {
        VirtualWorld.Client client = world.newClient("client-" + clientCount, context, clientCount++, allocator);
        clients.add(client);
        world.runMs(10);
        return client;
    }

    /** Returns the validity of a ttl after an acquire without delay, with the default drift and clock watch. */
    protected static long validityMs(long ttlMs) {
        return ttlMs - ttlMs / 100 - CLOCK_UNSEEN_MS - 2;
    }

    protected static AcquireOptions options() {
        return AcquireOptions.ofTtl(TTL).tryOnce();
    }

    protected CompletableFuture<AcquireOutcome> acquireAsync(VirtualWorld.Client client,
            AcquireOptions options) {
        return client.redlock().acquireAsync("orders", options).toCompletableFuture();
    }

    protected AcquireOutcome acquire(VirtualWorld.Client client, AcquireOptions options) {
        return get(acquireAsync(client, options));
    }

    protected Lease lease(VirtualWorld.Client client) {
        return acquired(acquire(client, options()));
    }

    protected static Lease acquired(AcquireOutcome outcome) {
        assertEquals(AcquireOutcome.Kind.ACQUIRED, outcome.kind(), outcome::toString);
        return outcome.lease();
    }

    protected ReleaseOutcome release(Lease lease) {
        return get(lease.releaseAsync());
    }

    protected ExtendOutcome extend(Lease lease, Duration ttl) {
        return get(lease.extendAsync(ttl));
    }

    /** Runs until a stage is complete. */
    protected <T> T get(CompletionStage<T> stage) {
        CompletableFuture<T> future = stage.toCompletableFuture();
        world.await("completion", 60_000, future::isDone);
        T value = future.getNow(null);
        assertNotNull(value, "completed with a value");
        return value;
    }

    protected FakeNode node(int index) {
        return world.node(index);
    }

    protected void eachNode(java.util.function.Consumer<FakeNode> change) {
        world.nodes().forEach(change);
    }

    protected String key(int nodeIndex) {
        return node(nodeIndex).redis().get("orders");
    }

    protected int keyCount() {
        int count = 0;
        for (int i = 0; i < world.nodes().size(); i++) {
            count += key(i) == null ? 0 : 1;
        }
        return count;
    }

    protected static NodeStatus status(VirtualWorld.Client client, int index) {
        return client.redlock().nodes().get(index);
    }

    protected void runUs(long us) {
        world.runUntilNs(world.nowNs() + us * 1_000);
    }

    protected long nowMs() {
        return world.nowNs() / 1_000_000;
    }
}
