package dev.redlock.jmh.lock;

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
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.function.Consumer;

/**
 * The minimum of work for a lock: one thread, a selector, a bare socket to each node. A slot draws a token, sends the
 * acquire command to all nodes, counts to a majority, and sends the release command to all nodes and counts again. The
 * commands of one selector turn leave in one write for each node; replies are matched in their order. No timeouts, no
 * reconnects. A cycle allocates nothing.
 *
 * @threading any thread; one runs the loop
 */
final class BareLoop implements LockSession {

    static final String THREAD_NAME = "yardstick";

    private static final long END_LIMIT_MS = 10_000;
    private static final int COMMAND_BYTES_MAX = 256;
    private static final int TURNS_OF_BATCH = 2;
    private static final int SENT_LENGTH_MIN = 1 << 16;

    private final IdlePolicy idlePolicy;
    private final boolean isSet;
    private final BareNode[] nodes;
    private final BareSlot[] slots;
    private final Map<String, BareSlot> slotsByResource = new HashMap<>();
    private final int majority;
    private final Selector selector;
    private final ByteBuffer batch;
    /** The slot and its round for each command by number; all nodes get the same commands. */
    private final long[] sent;
    private final SplittableRandom random = new SplittableRandom();
    private final Consumer<SelectionKey> onReady = this::onReady;
    /** Calls of other threads. */
    private final ArrayBlockingQueue<BareSlot> submitted;
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
     * @param outstanding the number of handles
     * @param isSet       acquire by plain {@code SET} instead of the script
     * @throws IOException if a node cannot be reached
     */
    BareLoop(String[] addresses, int outstanding, IdlePolicy idlePolicy, boolean isSet) throws IOException {
        this.idlePolicy = idlePolicy;
        this.isSet = isSet;
        this.nodes = new BareNode[addresses.length];
        this.majority = nodes.length / 2 + 1;
        this.slots = new BareSlot[outstanding];
        this.submitted = new ArrayBlockingQueue<>(outstanding);
        this.sent = new long[Math.max(SENT_LENGTH_MIN, Integer.highestOneBit(outstanding) * 16)];
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = BareNode.connect(addresses[i]);
            acquireSha = nodes[i].load(script("acquire"));
            releaseSha = nodes[i].load(script("release"));
        }
        this.batch = ByteBuffer.allocateDirect(outstanding * COMMAND_BYTES_MAX * TURNS_OF_BATCH);
        this.selector = Selector.open();
        for (BareNode node : nodes) {
            node.register(selector, batch);
        }
        thread.setDaemon(true);
        thread.start();
    }

    /** The scripts of the client: both sides send the nodes the same commands. */
    static byte[] script(String name) throws IOException {
        try (InputStream in = Redlock.class.getResourceAsStream("node/" + name + ".lua")) {
            if (in == null) {
                throw new IllegalStateException("script " + name + ".lua is missing from the redlock-core jar");
            }
            return in.readAllBytes();
        }
    }

    // ---- any thread -------------------------------------------------------------------------------------------------

    /** Returns the same handle for the same resource. */
    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        BareSlot slot = slotsByResource.computeIfAbsent(spec.resource(),
                name -> newSlot(name, Long.toString(spec.ttl().toMillis())));
        slot.listener = listener;
        return slot;
    }

    private BareSlot newSlot(String resource, String ttlMs) {
        int index = slotsByResource.size();
        slots[index] = new BareSlot(this, index,
                isSet
                        ? BareCommand.setIfAbsent(resource, ttlMs)
                        : BareCommand.script(acquireSha, resource, ttlMs),
                BareCommand.script(releaseSha, resource));
        if (Math.max(slots[index].acquire.length(), slots[index].release.length()) > COMMAND_BYTES_MAX) {
            throw new IllegalArgumentException(resource + " is too long: a command has at most " + COMMAND_BYTES_MAX
                    + " bytes");
        }
        return slots[index];
    }

    void submit(BareSlot slot) {
        if (Thread.currentThread() == thread) {
            send(slot);
        } else {
            submitted.add(slot);
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
                for (BareSlot slot = submitted.poll(); slot != null; slot = submitted.poll()) {
                    send(slot);
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

    private void send(BareSlot slot) {
        if (slot.isReleasing) {
            send(slot, slot.release);
            return;
        }
        slot.high = random.nextLong();
        slot.middle = random.nextLong();
        slot.low = random.nextInt();
        send(slot, slot.acquire);
    }

    private void send(BareSlot slot, BareCommand command) {
        slot.goodCount = 0;
        slot.badCount = 0;
        command.write(batch, slot.high, slot.middle, slot.low);
        sent[(int) sentCount++ & sent.length - 1] = (long) slot.epoch << 32 | slot.index;
    }

    void onError(BareNode node, String reply) {
        failure = node.address + " answers " + reply;
    }

    void onAnswer(BareNode node, boolean isVote) {
        if (!isVote) {
            node.lostVoteCount++;
        }
        long round = sent[(int) node.answered++ & sent.length - 1];
        BareSlot slot = slots[(int) round];
        if (slot.epoch != (int) (round >>> 32)) {
            return;
        }
        if (isVote) {
            slot.goodCount++;
        } else {
            slot.badCount++;
        }
        if (slot.goodCount == majority || slot.badCount > nodes.length - majority) {
            slot.epoch++;
            onDecided(slot, slot.goodCount == majority);
        }
    }

    private void onDecided(BareSlot slot, boolean isGood) {
        if (slot.isRollback) {
            slot.isRollback = false;
            slot.listener.onAcquire(AcquireOutcome.Kind.CONTENDED, 0);
        } else if (slot.isReleasing) {
            slot.listener.onRelease(isGood ? ReleaseOutcome.RELEASED : ReleaseOutcome.UNKNOWN);
        } else if (isGood) {
            slot.listener.onAcquire(AcquireOutcome.Kind.ACQUIRED, 0);
        } else {
            slot.isRollback = true;
            send(slot, slot.release);
        }
    }
}
