package dev.redlock.test;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.NodeState;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.SocketNodes;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Nodes on sockets of this process, for the tests of an application: they run the commands of redlock as Redis 7 does,
 * and no others. They have been up for a day, so all of them vote at once.
 *
 * <pre>{@code
 * try (RedlockNodes nodes = RedlockNodes.start(3)) {
 *     Redlock redlock = nodes.connect();
 *     ...
 * }
 * }</pre>
 *
 * <p>{@link #advance} moves the time of the nodes and of all clients from {@link #connect()} and {@link #context}.
 * Otherwise their time is that of the machine.
 *
 * @threading any thread; {@link #advance} by one thread at a time, and none of the methods on an event loop
 */
public final class RedlockNodes implements AutoCloseable {

    /** Below the default node timeout of 50 ms, so that a request during a step is not late. */
    private static final long STEP_NS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final long READY_NS_MAX = TimeUnit.SECONDS.toNanos(10);
    /** A busy machine may not run a thread for longer than the default of 50 ms. */
    static final Duration NODE_TIMEOUT = Duration.ofMillis(500);
    /** In the names of the keys of permits, counters and reservations, behind that of their resource. */
    private static final String MARK = ":redlock:";
    private static final String PERMIT_MARK = MARK + "permit";
    private static final int NAMES_SHOWN_MAX = 10;

    private final MovableClock clock = new MovableClock();
    private final EventLoop nodeLoop;
    private final MovableLoops clientLoops = new MovableLoops("redlock-test-client", clock);
    private final EventLoop clientLoop = clientLoops.next();
    private final List<Redlock> clients = new ArrayList<>();
    /** Those of the clients from here, for their key prefixes. */
    private final List<RedlockContext> contexts = new CopyOnWriteArrayList<>();
    /** The nodes that have failed, paused or restarted once. */
    private final Set<Integer> disturbed = ConcurrentHashMap.newKeySet();
    private final AtomicLong deliveryCount = new AtomicLong();
    private final int count;
    private final SocketNodes nodes;
    private final String[] addresses;
    private volatile boolean isClosed;

    private RedlockNodes(int count) {
        this.count = count;
        MovableLoops loops = new MovableLoops("redlock-test-nodes", clock);
        nodeLoop = loops.next();
        nodes = new SocketNodes(count, loops);
        for (int i = 0; i < count; i++) {
            nodes.node(i).deliveryListener(deliveryCount::incrementAndGet);
        }
        addresses = nodes.addresses();
    }

    /**
     * Starts nodes on free ports of the loopback address.
     *
     * @param count 1 to 63
     * @return the nodes; close them
     * @throws IllegalArgumentException if the number is out of range
     */
    public static RedlockNodes start(int count) {
        if (count < 1 || count > 63) {
            throw new IllegalArgumentException("count is " + count + ": start 1 to 63 nodes");
        }
        return new RedlockNodes(count);
    }

    // ---- clients ----------------------------------------------------------------------------------------------------

    /** @return the number of nodes */
    public int count() {
        return count;
    }

    /**
     * The addresses for an application that configures its own client. Such a client does not follow {@link #advance}:
     * to it, the clocks of all nodes jump. Use {@link #context} where a test advances the time.
     *
     * @return one {@code host:port} for each node; a restart does not change it
     */
    public String[] addresses() {
        return addresses.clone();
    }

    /**
     * The configuration of a client that follows {@link #advance}: these nodes, an event loop with their clock, and a
     * node timeout of 500 ms, so that a busy machine fails no vote. The close of a lease waits for its release, by
     * {@link RedlockContext#closeWaits}, so that a test finds the lock free. Add the options of the application.
     *
     * @return a new context, for {@link #connect(RedlockContext)}
     */
    public RedlockContext context() {
        checkOpen();
        return configure(new RedlockContext().nodes(addresses()).nodeTimeout(NODE_TIMEOUT));
    }

    /**
     * Makes the client of a context follow {@link #advance}, and {@link #expire} know its key prefix. A closed lease is
     * released when its close returns, so that a test finds the lock free, from any client, unless the context has its
     * own choice.
     */
    RedlockContext configure(RedlockContext context) {
        contexts.add(context);
        context.eventLoops(clientLoop);
        return context.hasCloseWaits() ? context : context.closeWaits(true);
    }

    /** @return a client with default options; see {@link #connect(RedlockContext)} */
    public Redlock connect() {
        return connect(context());
    }

    /**
     * Connects a client, and waits until all nodes vote that have not failed, paused or restarted.
     *
     * @param context of {@link #context}, or any other without nodes: it gets the nodes and the event loop from here,
     *                and {@code closeWaits(true)} unless it has that option
     * @return the client, which {@link #close} closes too
     * @throws IllegalArgumentException if the context has other nodes
     */
    public Redlock connect(RedlockContext context) {
        checkOpen();
        if (!context.hasNodes()) {
            configure(context.nodes(addresses()));
        } else if (contexts.stream().noneMatch(own -> own == context)) {
            throw new IllegalArgumentException("the context has nodes of its own: leave nodes(...) out, and"
                    + " RedlockNodes adds its nodes " + Arrays.toString(addresses));
        }
        Redlock client = Redlock.connect(context);
        synchronized (clients) {
            clients.add(client);
        }
        long startNs = System.nanoTime();
        while (!isReady(client) && System.nanoTime() - startNs < READY_NS_MAX) {
            settle();
        }
        return client;
    }

    private boolean isReady(Redlock client) {
        return client.nodes()
                .stream()
                .allMatch(node -> disturbed.contains(node.index())
                        || node.state() == NodeState.READY);
    }

    // ---- faults -----------------------------------------------------------------------------------------------------

    /**
     * Kills a node: its connections end and it refuses new ones.
     *
     * @param index from 0
     */
    public void fail(int index) {
        disturb(index, FakeNode::crash);
        settle();
    }

    /**
     * Stops a node without closing its connections, as SIGSTOP does: it accepts requests and does not answer.
     *
     * @param index from 0
     */
    public void pause(int index) {
        disturb(index, FakeNode::pause);
    }

    /**
     * Lets a paused node execute the requests that have arrived, and continue.
     *
     * @param index from 0
     */
    public void resume(int index) {
        onNode(index, FakeNode::resume);
        settle();
    }

    /**
     * Starts a node again, without its keys and at its address. Clients do not let it vote for
     * {@link RedlockContext#maxTtl}, because it may have granted a lock that is still held.
     *
     * @param index from 0; the node may run or not
     */
    public void restart(int index) {
        fail(index);
        onNode(index, node -> node.restart(false));
        long startNs = System.nanoTime();
        while (!isListening(index)) {
            // Another connection of this machine may have the port for a moment.
            if (System.nanoTime() - startNs > READY_NS_MAX) {
                throw new IllegalStateException("node " + index + " cannot listen again at " + addresses[index]);
            }
            onNode(index, FakeNode::start);
        }
        settle();
    }

    private boolean isListening(int index) {
        settle();
        boolean[] isListening = new boolean[1];
        onNode(index, node -> isListening[0] = node.isListening());
        return isListening[0];
    }

    /**
     * Lets the keys of a lock expire on all nodes. A holder with {@link dev.redlock.AcquireOptions#watchLoss} gets a
     * notice.
     *
     * @param name of the resource, as the client names it; of a semaphore, all permits expire. A client that does not
     *             come from {@link #connect()} or {@link #context} may have a key prefix: write it before the name
     * @return true
     * @throws IllegalArgumentException if no node has a key of the lock; the message names the locks that are held
     */
    public boolean expire(String name) {
        checkOpen();
        Objects.requireNonNull(name, "name is null: give the name of a resource");
        Set<String> keyNames = new TreeSet<>(List.of(name));
        contexts.forEach(context -> keyNames.add(context.keyPrefix() + name));
        Set<String> held = new TreeSet<>();
        boolean[] wasThere = new boolean[1];
        for (int i = 0; i < count; i++) {
            onNode(i, node -> {
                FakeRedis redis = node.redis();
                for (String key : redis.keys()) {
                    String lock = lockOf(key);
                    held.add(lock);
                    wasThere[0] |= keyNames.contains(lock) && redis.delete(key);
                }
            });
        }
        if (!wasThere[0]) {
            throw new IllegalArgumentException(notHeld(name, held));
        }
        settle();
        return true;
    }

    /** The name of a lock that has a key, with the prefix of its client. */
    private static String lockOf(String key) {
        int mark = key.indexOf(PERMIT_MARK);
        return mark < 0 ? key : key.substring(0, mark);
    }

    private String notHeld(String name, Set<String> held) {
        List<String> names = held.stream().filter(key -> !key.contains(MARK)).toList();
        String shown = names.isEmpty()
                ? "no lock is held"
                : "held are " + names.subList(0, Math.min(NAMES_SHOWN_MAX, names.size()))
                        + (names.size() > NAMES_SHOWN_MAX ? " and " + (names.size() - NAMES_SHOWN_MAX) + " more" : "")
                        + ", with the key prefixes of their clients";
        return "no node has a key of \"" + name + "\": give the name of a lock that is held; " + shown;
    }

    // ---- time -------------------------------------------------------------------------------------------------------

    /**
     * Moves the time of the nodes and of their clients, in steps of 20 ms: after each step, timers that are due run and
     * what they send is answered. So leases with {@link dev.redlock.AcquireOptions#autoExtend} stay held, and others
     * expire.
     *
     * @param duration zero or more
     * @throws IllegalArgumentException if it is negative
     */
    public synchronized void advance(Duration duration) {
        checkOpen();
        long leftNs = duration.toNanos();
        if (leftNs < 0) {
            throw new IllegalArgumentException("duration is " + duration + ": time moves forward only");
        }
        while (leftNs > 0) {
            long stepNs = Math.min(leftNs, STEP_NS);
            clock.move(stepNs);
            leftNs -= stepNs;
            settle();
        }
    }

    /** Runs the timers that are due, and waits until no reply follows another. */
    private void settle() {
        long before;
        do {
            before = deliveryCount.get();
            for (EventLoop loop : List.of(clientLoop, nodeLoop)) {
                // A task runs before the timers that are due at the same time, the second one runs after them.
                runOn(loop, () -> {
                });
                runOn(loop, () -> {
                });
            }
        } while (deliveryCount.get() != before);
    }

    private void disturb(int index, NodeTask task) {
        onNode(index, task);
        disturbed.add(index);
    }

    private void onNode(int index, NodeTask task) {
        checkOpen();
        Objects.checkIndex(index, count);
        runOn(nodeLoop, () -> task.run(nodes.node(index)));
    }

    /** Without the lock of {@link #close}, which may wait for a function that calls the nodes. */
    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("the nodes " + Arrays.toString(addresses)
                    + " are closed: start others with RedlockNodes.start");
        }
    }

    private static void runOn(EventLoop loop, Runnable task) {
        if (loop.inEventLoop()) {
            throw new IllegalStateException("nodes cannot be changed on an event loop: use a thread of the test");
        }
        loop.submit(task).syncUninterruptibly();
    }

    /**
     * What a node does.
     *
     * @threading event-loop-confined
     */
    @FunctionalInterface
    private interface NodeTask {
        void run(FakeNode node);
    }

    /**
     * Closes the clients from {@code connect}, and ends the nodes. Closing twice is no error. Afterwards, each method
     * for a client, a fault or the time throws an {@link IllegalStateException}.
     */
    @Override
    public void close() {
        synchronized (clients) {
            if (isClosed) {
                return;
            }
            isClosed = true;
            clients.forEach(Redlock::close);
        }
        nodes.close();
        clientLoops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
    }

    boolean isClosed() {
        return isClosed;
    }

    @Override
    public String toString() {
        return "RedlockNodes" + List.of(addresses());
    }
}
