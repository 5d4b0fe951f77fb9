package dev.redlock.jmh.lock;

import dev.redlock.IdlePolicy;
import dev.redlock.Redlock;
import dev.redlock.loadtest.rig.SendSchedule;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The minimum of work for a lock: one thread, a selector, a bare socket to each node. A slot draws a token, sends the
 * acquire command to all nodes, counts to a majority, sends the release command to all nodes, counts, and starts again.
 * The commands of one selector turn leave in one write for each node; replies are matched in their order. No timeouts,
 * no reconnects, no API. A cycle allocates nothing.
 *
 * @threading any thread; one runs the loop
 */
final class BareLoop implements CycleLoad, AutoCloseable {

    static final String THREAD_NAME = "yardstick";

    private static final String TTL_MS = "30000";
    private static final long END_LIMIT_MS = 10_000;
    private static final int TURNS_OF_BATCH = 2;
    private static final int SENT_LENGTH_MIN = 1 << 16;

    private final CycleMeter meter;
    private final IdlePolicy idlePolicy;
    private final BareNode[] nodes;
    private final BareSlot[] slots;
    private final int majority;
    private final Selector selector;
    private final ByteBuffer batch;
    /** The slot and its round for each command by number; all nodes get the same commands. */
    private final long[] sent;
    private final SplittableRandom random = new SplittableRandom();
    private final Consumer<SelectionKey> onReady = this::onReady;
    private final BareSlot[] idle;
    private Thread thread;
    private SendSchedule schedule;
    private PhaseTimes times;
    private long sentCount;
    private long lostVoteCount;
    private long refusedCount;
    // Written by the loop alone; read by other threads for the progress.
    private volatile int idleCount;
    private volatile long begun;
    private volatile boolean isDropping;
    private volatile boolean isEnding;

    /**
     * Connects.
     *
     * @param isSet acquire by plain {@code SET} instead of the script
     * @throws IOException if a node cannot be reached
     */
    BareLoop(CycleOptions options, CycleMeter meter, boolean isSet) throws IOException {
        this.meter = meter;
        this.idlePolicy = options.idlePolicy();
        String[] addresses = options.addresses();
        this.nodes = new BareNode[addresses.length];
        this.majority = nodes.length / 2 + 1;
        this.slots = new BareSlot[options.outstanding()];
        this.idle = new BareSlot[slots.length];
        this.sent = new long[Math.max(SENT_LENGTH_MIN, Integer.highestOneBit(slots.length) * 16)];
        String acquireSha = "";
        String releaseSha = "";
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = BareNode.connect(addresses[i]);
            acquireSha = nodes[i].load(script("acquire"));
            releaseSha = nodes[i].load(script("release"));
        }
        int lengthMax = 0;
        for (int i = 0; i < slots.length; i++) {
            String resource = options.resource(i);
            slots[i] = new BareSlot(i,
                    isSet
                            ? BareCommand.setIfAbsent(resource, TTL_MS)
                            : BareCommand.script(acquireSha, resource, TTL_MS),
                    BareCommand.script(releaseSha, resource));
            lengthMax = Math.max(lengthMax, Math.max(slots[i].acquire.length(), slots[i].release.length()));
        }
        this.batch = ByteBuffer.allocateDirect(slots.length * lengthMax * TURNS_OF_BATCH);
        this.selector = Selector.open();
        for (BareNode node : nodes) {
            node.register(selector, batch);
        }
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

    @Override
    public void begin(SendSchedule sendSchedule) {
        schedule = sendSchedule;
        idleCount = 0;
        begun = 0;
        isDropping = false;
        isEnding = false;
        thread = new Thread(this::run, THREAD_NAME);
        thread.setDaemon(true);
        thread.start();
    }

    /** Wakes up the loop, which starts the due cycles itself. */
    @Override
    public boolean onDue(long nowNs) {
        selector.wakeup();
        return false;
    }

    @Override
    public long unfinished(long nowNs) {
        return schedule.due(nowNs) - begun + slots.length - idleCount;
    }

    @Override
    public void end(boolean isDroppingDue) throws InterruptedException {
        isDropping = isDroppingDue;
        isEnding = true;
        selector.wakeup();
        thread.join(END_LIMIT_MS);
        if (thread.isAlive()) {
            meter.fail("cycles have not ended in " + TimeUnit.MILLISECONDS.toSeconds(END_LIMIT_MS) + " s");
            return;
        }
        if (refusedCount > 0) {
            meter.fail(refusedCount + " acquires were refused");
        }
        if (lostVoteCount > 0) {
            meter.fail(lostVoteCount + " votes were lost");
        }
    }

    @Override
    public void close() throws IOException {
        selector.close();
        for (BareNode node : nodes) {
            node.close();
        }
    }

    // ---- the loop ---------------------------------------------------------------------------------------------------

    private void run() {
        try {
            if (times == null) {
                times = meter.times();
            }
            long startNs = System.nanoTime();
            for (BareSlot slot : slots) {
                if (schedule == null) {
                    acquire(slot, startNs);
                } else {
                    idle[idleCount++] = slot;
                }
            }
            while (!isOver()) {
                if (schedule != null) {
                    acquireDue();
                }
                flush();
                select();
            }
        } catch (IOException | RuntimeException e) {
            meter.fail(e.toString());
        }
    }

    /** Over when nothing is in flight: no cycle, and no late reply of a node outside the majority. */
    private boolean isOver() {
        if (!isEnding || idleCount < slots.length
                || schedule != null && !isDropping && begun < schedule.total()) {
            return false;
        }
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

    private void acquireDue() {
        long nowNs = System.nanoTime();
        long due = schedule.due(nowNs);
        while (idleCount > 0 && begun < due && !isDropping) {
            long intendedNs = schedule.intendedNs(begun);
            CycleTimes.record(times.of(meter.phaseOf(intendedNs)).lates(), nowNs - intendedNs);
            begun++;
            acquire(idle[--idleCount], intendedNs);
        }
    }

    private void acquire(BareSlot slot, long startNs) {
        slot.startNs = startNs;
        slot.isReleasing = false;
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
        meter.fail(node.address + " answers " + reply);
    }

    void onAnswer(BareNode node, boolean isVote) {
        if (!isVote) {
            lostVoteCount++;
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
            onDecided(slot, slot.goodCount == majority, System.nanoTime());
        }
    }

    private void onDecided(BareSlot slot, boolean isGood, long nowNs) {
        CycleTimes phaseTimes = times.of(meter.phaseOf(slot.startNs));
        if (!slot.isReleasing) {
            if (isGood) {
                CycleTimes.record(phaseTimes.acquires(), nowNs - slot.startNs);
            }
            refusedCount += isGood ? 0 : 1;
            slot.isReleasing = true;
            send(slot, slot.release);
            return;
        }
        if (isGood) {
            CycleTimes.record(phaseTimes.cycles(), nowNs - slot.startNs);
        }
        if (schedule == null && !isEnding) {
            acquire(slot, nowNs);
        } else {
            idle[idleCount++] = slot;
        }
    }
}
