package dev.redlock.node.guard;

import dev.redlock.time.NanoClock;
import java.util.ArrayList;
import java.util.List;

/**
 * Decides whether the clock of this machine stood still, as in a suspend or a migration: then all nodes of an event
 * loop seem to have jumped ahead by the same time. Their keys have not expired early for other clients, so they need no
 * quarantine of a whole ttl.
 *
 * <pre>
 * CLOSED -- a node jumps ahead --> COMPARING -- all have, by the same time --> CONFIRMING -- all are steady --> CLOSED
 *    ^                                 | one is steady, goes back,                 |  one jumps          decision
 *    |                                 v or differs                                v
 *    '-- each node was sampled after the last jump --------------------------- SETTLING
 * </pre>
 *
 * <p>{@code OwnClockSearch} visits all states of this rule. All nodes have to agree: a majority may have a common
 * source of time that has made a step. They are sampled again, because the own clock may have stood still between two
 * of the samples that are compared. A comparison starts only when nothing is unseen of an earlier one. After the
 * decision the nodes do not vote for the time in which every other client samples their clocks: if all nodes have made
 * the same step, the holders of locks have seen it by then.
 *
 * <p>A client with one node has nothing to compare. There the system is the witness: it counts for how long the machine
 * was suspended ({@link NanoClock#sleptNs}), and a jump by that time, with a sample after it that shows no move, is no
 * jump of the node ({@code OwnSleepSearch}). Its wall clock is no witness: a time service may set it together with that
 * of a node, for example on the same machine.
 *
 * <p>If all nodes go back, the own clock has run ahead, and so have the timers of this client; then their quarantine is
 * needed.
 *
 * @threading event-loop-confined
 */
public final class OwnClockWatch {

    /**
     * A node whose clock is watched.
     *
     * @threading event-loop-confined
     */
    public interface Peer {

        /** Its place, or that of its cluster, in configured order. */
        int voterIndex();

        /** Samples the clock now, if the node is connected. */
        void sampleSoon();

        /** The quarantine of the jump in the present comparison ends at a monotonic time. */
        void onStoodStill(long endNs, long stoodStillNs);

        /** Reports the decision, once for all nodes. */
        void reportStoodStill(long stoodStillNs);
    }

    private enum State {
        CLOSED, COMPARING, CONFIRMING, SETTLING
    }

    private static final class Entry {
        private final Peer peer;
        /** Its clock was known before the first jump. */
        private boolean isWitness;
        private boolean isSeen;
        private boolean isSampleNeeded;
        private long lowNs;
        private long highNs;
        /** With one voter: for how long the machine was suspended, at the last sample; and since the one before. */
        private long sleptNs = NanoClock.UNKNOWN;
        private long sleptSinceNs = NanoClock.UNKNOWN;

        Entry(Peer peer) {
            this.peer = peer;
        }
    }

    private final int voterCount;
    private final long toleranceNs;
    private final long waitNs;
    private final NanoClock clock;
    private final List<Entry> entries = new ArrayList<>();
    private State state = State.CLOSED;
    private int number;
    /** When the first and the last jump of the comparison were read. */
    private long firstNs;
    private long lastNs;

    /**
     * A watch without nodes.
     *
     * @param toleranceNs by how much the jumps of nodes may differ, besides their round trips
     * @param waitNs      in this time every client samples each clock
     * @param clock       knows how long the machine was suspended
     */
    public OwnClockWatch(int voterCount, long toleranceNs, long waitNs, NanoClock clock) {
        this.voterCount = voterCount;
        this.toleranceNs = toleranceNs;
        this.waitNs = waitNs;
        this.clock = clock;
    }

    /** The first sample of a node. */
    public void add(Peer peer) {
        Entry added = new Entry(peer);
        readSleep(added);
        entries.add(added);
    }

    /** A node is closed. */
    public void remove(Peer peer) {
        entries.removeIf(entry -> entry.peer == peer);
    }

    /** The number of the present comparison, or of the last one. */
    public int number() {
        return number;
    }

    /**
     * The clock of a node has jumped.
     *
     * @param lowNs  by how much at least; negative if it has gone back
     * @param highNs by how much at most
     */
    public void onJump(Peer peer, long receivedNs, long lowNs, long highNs) {
        Entry jumped = entryOf(peer);
        readSleep(jumped);
        lastNs = receivedNs;
        if (state == State.CLOSED) {
            open(jumped, receivedNs);
        }
        if (state != State.COMPARING || jumped.isSeen || !jumped.isWitness || lowNs <= 0) {
            settle(jumped);
            return;
        }
        jumped.isSeen = true;
        jumped.lowNs = lowNs;
        jumped.highNs = highNs;
        if (entries.stream().allMatch(entry -> entry.isSeen || !entry.isWitness)) {
            if (isAlike() && isEachVoterSeen()) {
                state = State.CONFIRMING;
                // What one node shows is compared with this machine, so its own next sample counts.
                needSamples(voterCount > 1 ? jumped : null);
            } else {
                settle(jumped);
            }
        }
    }

    private void open(Entry jumped, long receivedNs) {
        state = State.COMPARING;
        number++;
        firstNs = receivedNs;
        for (Entry entry : entries) {
            entry.isWitness = true;
            entry.isSeen = false;
        }
        for (Entry entry : entries) {
            if (entry != jumped) {
                entry.peer.sampleSoon();
            }
        }
    }

    /** A sample has shown no jump. It counts if it was sent after the jump that it is compared with. */
    public void onSteady(Peer peer, long sentNs, long nowNs) {
        if (state == State.CLOSED && voterCount > 1) {
            return;
        }
        Entry steady = entryOf(peer);
        readSleep(steady);
        if (state == State.CLOSED) {
            return;
        }
        if (state == State.COMPARING) {
            if (steady.isWitness && !steady.isSeen && sentNs - firstNs >= 0) {
                settle(sentNs - lastNs >= 0 ? steady : null);
            }
        } else if (sentNs - lastNs >= 0) {
            steady.isSampleNeeded = false;
            if (entries.stream().noneMatch(entry -> entry.isSampleNeeded)) {
                boolean isOwn = state == State.CONFIRMING;
                state = State.CLOSED;
                if (isOwn) {
                    decide(nowNs);
                }
            }
        }
    }

    /** No decision: the next comparison waits until nothing is unseen. */
    private void settle(Entry sampled) {
        state = State.SETTLING;
        needSamples(sampled);
    }

    private void needSamples(Entry sampled) {
        for (Entry entry : entries) {
            entry.isSampleNeeded = entry != sampled;
        }
        for (Entry entry : entries) {
            if (entry.isSampleNeeded) {
                entry.peer.sampleSoon();
            }
        }
        if (entries.size() == 1 && sampled != null) {
            state = State.CLOSED;
        }
    }

    private boolean isAlike() {
        return highestLowNs() - lowestHighNs() <= toleranceNs;
    }

    private long highestLowNs() {
        return entries.stream().filter(entry -> entry.isSeen).mapToLong(entry -> entry.lowNs).max().orElse(0);
    }

    private long lowestHighNs() {
        return entries.stream().filter(entry -> entry.isSeen).mapToLong(entry -> entry.highNs).min().orElse(0);
    }

    private boolean isEachVoterSeen() {
        long seen = entries.stream()
                .filter(entry -> entry.isSeen)
                .mapToInt(entry -> entry.peer.voterIndex())
                .distinct()
                .count();
        return seen == voterCount && (voterCount > 1 || entries.stream().allMatch(this::isSleepSeen));
    }

    /** Called after each sample of the clock, so that the sleep between two samples shows in both. */
    private void readSleep(Entry entry) {
        if (voterCount == 1) {
            long nowNs = clock.sleptNs();
            boolean isKnown = nowNs != NanoClock.UNKNOWN && entry.sleptNs != NanoClock.UNKNOWN;
            entry.sleptSinceNs = isKnown ? nowNs - entry.sleptNs : NanoClock.UNKNOWN;
            entry.sleptNs = nowNs;
        }
    }

    /** Whether the machine was suspended for the time by which the clock of a node has jumped. */
    private boolean isSleepSeen(Entry entry) {
        long errorNs = NanoClock.SLEPT_ERROR_NS + toleranceNs;
        return !entry.isSeen || entry.sleptSinceNs > 2 * NanoClock.SLEPT_ERROR_NS
                && entry.lowNs - errorNs <= entry.sleptSinceNs && entry.sleptSinceNs <= entry.highNs + errorNs;
    }

    private void decide(long nowNs) {
        long stoodStillNs = highestLowNs() / 2 + lowestHighNs() / 2;
        List<Entry> all = List.copyOf(entries);
        for (Entry entry : all) {
            if (entry.isSeen) {
                entry.peer.onStoodStill(nowNs + waitNs, stoodStillNs);
            }
        }
        all.get(0).peer.reportStoodStill(stoodStillNs);
    }

    private Entry entryOf(Peer peer) {
        for (Entry entry : entries) {
            if (entry.peer == peer) {
                return entry;
            }
        }
        throw new AssertionError("the clock of voter " + peer.voterIndex() + " was not sampled before");
    }
}
