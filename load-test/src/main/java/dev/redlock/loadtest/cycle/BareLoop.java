package dev.redlock.loadtest.cycle;

import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.driver.LockHandle;
import dev.redlock.loadtest.driver.LockListener;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.LockSpec;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.function.Consumer;

/**
 * The minimum of work for a lock: one thread, a selector, a bare socket to each node. A lane draws a token, sends the
 * acquire command to all nodes, counts to a majority, and sends the release command to all nodes and counts again. The
 * commands of one selector turn leave in one write for each node; replies are matched in their order. No timeouts, no
 * reconnects. A cycle allocates nothing.
 *
 * @threading any thread; one runs the loop
 */
final class BareLoop implements LockSession {

    static final String THREAD_NAME = "yardstick";

    private static final String INCLUDE = "--include ";

    private static final long END_LIMIT_MS = 10_000;
    private static final int COMMAND_BYTES_MAX = 256;
    private static final int TURNS_OF_BATCH = 2;
    private static final int SENT_LENGTH_MIN = 1 << 16;

    private final IdlePolicy idlePolicy;
    private final boolean isSet;
    private final BareNode[] nodes;
    private final BareLane[] lanes;
    private final Map<String, BareLane> lanesByResource = new HashMap<>();
    private final int majority;
    private final Selector selector;
    private final ByteBuffer batch;
    /** The lane and its round for each command by number; all nodes get the same commands. */
    private final long[] sent;
    private final SplittableRandom random = new SplittableRandom();
    private final Consumer<SelectionKey> onReady = this::onReady;
    /** Calls of other threads. */
    private final ArrayBlockingQueue<BareLane> submitted;
    private final Thread thread = new Thread(this::run, THREAD_NAME);
    private String acquireSha = "";
    private String releaseSha = "";
    private long sentCount;
    private long lostBefore;
    private volatile String failure;
    private volatile boolean isClosing;

    /**
     * Connects.
     *
     * @param inFlight the number of handles
     * @param isSet       acquire by plain {@code SET} instead of the script
     * @throws IOException if a node cannot be reached
     */
    BareLoop(String[] addresses, int inFlight, IdlePolicy idlePolicy, boolean isSet) throws IOException {
        this.idlePolicy = idlePolicy;
        this.isSet = isSet;
        this.nodes = new BareNode[addresses.length];
        this.majority = nodes.length / 2 + 1;
        this.lanes = new BareLane[inFlight];
        this.submitted = new ArrayBlockingQueue<>(inFlight);
        this.sent = new long[Math.max(SENT_LENGTH_MIN, Integer.highestOneBit(inFlight) * 16)];
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = BareNode.connect(addresses[i]);
            acquireSha = nodes[i].load(script("acquire"));
            releaseSha = nodes[i].load(script("release"));
        }
        this.batch = ByteBuffer.allocateDirect(inFlight * COMMAND_BYTES_MAX * TURNS_OF_BATCH);
        this.selector = Selector.open();
        for (BareNode node : nodes) {
            node.register(selector, batch);
        }
        thread.setDaemon(true);
        thread.start();
    }

    /** The scripts of the client, with the parts that they include: both sides send the nodes the same commands. */
    static byte[] script(String name) throws IOException {
        StringBuilder joined = new StringBuilder();
        for (String line : read(name).split("(?<=\n)")) {
            joined.append(line.startsWith(INCLUDE) ? read(line.substring(INCLUDE.length()).strip()) : line);
        }
        return joined.toString().getBytes(StandardCharsets.US_ASCII);
    }

    private static String read(String name) throws IOException {
        try (InputStream in = Redlock.class.getResourceAsStream("node/send/" + name + ".lua")) {
            if (in == null) {
                throw new IllegalStateException("script " + name + ".lua is missing from the redlock-core jar");
            }
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
        }
    }

    // ---- any thread -------------------------------------------------------------------------------------------------

    /** Returns the same handle for the same resource. */
    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        BareLane lane = lanesByResource.computeIfAbsent(spec.resource(),
                name -> newLane(name, Long.toString(spec.ttl().toMillis())));
        lane.listener = listener;
        return lane;
    }

    private BareLane newLane(String resource, String ttlMs) {
        int index = lanesByResource.size();
        lanes[index] = new BareLane(this, index,
                isSet
                        ? BareCommand.setIfAbsent(resource, ttlMs)
                        : BareCommand.script(acquireSha, resource, ttlMs),
                BareCommand.script(releaseSha, resource));
        if (Math.max(lanes[index].acquire.length(), lanes[index].release.length()) > COMMAND_BYTES_MAX) {
            throw new IllegalArgumentException(resource + " is too long: a command has at most " + COMMAND_BYTES_MAX
                    + " bytes");
        }
        return lanes[index];
    }

    void submit(BareLane lane) {
        if (Thread.currentThread() == thread) {
            send(lane);
        } else {
            submitted.add(lane);
            selector.wakeup();
        }
    }

    /** Votes that were lost since the last call, and the end of the loop. */
    List<String> problems() {
        List<String> problems = new ArrayList<>();
        long lost = 0;
        for (BareNode node : nodes) {
            lost += node.lostVoteCount;
        }
        if (lost > lostBefore) {
            problems.add(lost - lostBefore + " votes were lost");
        }
        lostBefore = lost;
        if (failure != null) {
            problems.add(failure);
        }
        return problems;
    }

    /** Waits for the late replies of nodes outside the majority, so that no command is lost. */
    @Override
    public void close() {
        isClosing = true;
        selector.wakeup();
        try {
            thread.join(END_LIMIT_MS);
            selector.close();
            for (BareNode node : nodes) {
                node.close();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // ---- the loop ---------------------------------------------------------------------------------------------------

    private void run() {
        try {
            while (!isClosing || !isAnswered()) {
                for (BareLane lane = submitted.poll(); lane != null; lane = submitted.poll()) {
                    send(lane);
                }
                flush();
                select();
            }
        } catch (IOException | RuntimeException e) {
            failure = e.toString();
        }
    }

    private boolean isAnswered() {
        for (BareNode node : nodes) {
            if (node.answered < sentCount) {
                return false;
            }
        }
        return true;
    }

    private void select() throws IOException {
        if (idlePolicy == IdlePolicy.BLOCK) {
            selector.select(onReady);
        } else if (selector.selectNow(onReady) == 0 && idlePolicy == IdlePolicy.YIELD) {
            Thread.yield();
        }
    }

    private void onReady(SelectionKey key) {
        BareNode node = (BareNode) key.attachment();
        try {
            if (key.isWritable()) {
                node.onWritable();
            }
            if (key.isReadable()) {
                node.onReadable(this);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(node.address.toString(), e);
        }
    }

    private void flush() throws IOException {
        if (batch.position() == 0) {
            return;
        }
        for (BareNode node : nodes) {
            if (sentCount - node.answered > sent.length) {
                throw new IOException(node.address + " is more than " + sent.length + " commands behind");
            }
            node.send(batch.position());
        }
        batch.clear();
    }

    private void send(BareLane lane) {
        if (lane.isReleasing) {
            send(lane, lane.release);
            return;
        }
        lane.high = random.nextLong();
        lane.middle = random.nextLong();
        lane.low = random.nextInt();
        send(lane, lane.acquire);
    }

    private void send(BareLane lane, BareCommand command) {
        lane.goodCount = 0;
        lane.badCount = 0;
        command.write(batch, lane.high, lane.middle, lane.low);
        sent[(int) sentCount++ & sent.length - 1] = (long) lane.epoch << 32 | lane.index;
    }

    void onError(BareNode node, String reply) {
        failure = node.address + " answers " + reply;
    }

    void onAnswer(BareNode node, boolean isVote) {
        if (!isVote) {
            node.lostVoteCount++;
        }
        long round = sent[(int) node.answered++ & sent.length - 1];
        BareLane lane = lanes[(int) round];
        if (lane.epoch != (int) (round >>> 32)) {
            return;
        }
        if (isVote) {
            lane.goodCount++;
        } else {
            lane.badCount++;
        }
        if (lane.goodCount == majority || lane.badCount > nodes.length - majority) {
            lane.epoch++;
            onDecided(lane, lane.goodCount == majority);
        }
    }

    private void onDecided(BareLane lane, boolean isGood) {
        if (lane.isRollback) {
            lane.isRollback = false;
            lane.listener.onAcquire(AcquireOutcome.Kind.CONTENDED, 0);
        } else if (lane.isReleasing) {
            lane.listener.onRelease(isGood ? ReleaseOutcome.RELEASED : ReleaseOutcome.UNKNOWN);
        } else if (isGood) {
            lane.listener.onAcquire(AcquireOutcome.Kind.ACQUIRED, 0);
        } else {
            lane.isRollback = true;
            send(lane, lane.release);
        }
    }
}
