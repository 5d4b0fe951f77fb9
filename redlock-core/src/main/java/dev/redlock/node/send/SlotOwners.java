package dev.redlock.node.send;

import dev.redlock.time.NanoClock;
import java.util.Arrays;

/**
 * The master that gets the commands of each slot of a cluster, and the slots that give no vote.
 *
 * @threading event-loop-confined
 */
public final class SlotOwners {

    private final NanoClock clock;
    private final CommandSender[] owners = new CommandSender[KeySlot.COUNT];
    /** Null until a change; then the end of the silence of each slot. */
    private long[] silentUntilNs;
    private long silenceEndNs;
    /** The longest time since {@link #silentUntilNs} exists: that of each silence. */
    private long silenceNs;

    /** Every slot has no owner: its commands go to a sender that never connects, so they fail. */
    public SlotOwners(NanoClock clock, CommandSender unrouted) {
        this.clock = clock;
        Arrays.fill(owners, unrouted);
    }

    public CommandSender of(int slot) {
        return owners[slot];
    }

    public void set(int slot, CommandSender owner) {
        owners[slot] = owner;
    }

    public boolean isSilent(int slot) {
        return silentUntilNs != null && silentUntilNs[slot] - clock.nanoTime() > 0;
    }

    /** A slot gives no vote for a time from now on, or for longer if another slot does. */
    public void silence(int slot, long durationNs) {
        if (silentUntilNs == null) {
            silentUntilNs = new long[KeySlot.COUNT];
            Arrays.fill(silentUntilNs, clock.nanoTime());
            silenceNs = durationNs;
        }
        prolong(durationNs);
        silenceEndNs = clock.nanoTime() + silenceNs;
        silentUntilNs[slot] = silenceEndNs;
    }

    /** Slots that give no vote now give none for this time at least, from the start of their silence on. */
    public void prolong(long durationNs) {
        long addedNs = durationNs - silenceNs;
        if (silentUntilNs == null || addedNs <= 0) {
            return;
        }
        silenceNs = durationNs;
        for (int slot = 0; slot < KeySlot.COUNT; slot++) {
            silentUntilNs[slot] += isSilent(slot) ? addedNs : 0;
        }
        silenceEndNs += silenceLeftNs() > 0 ? addedNs : 0;
    }

    /** How many slots give no vote now. */
    public int silentCount() {
        int count = 0;
        for (int slot = 0; silentUntilNs != null && slot < KeySlot.COUNT; slot++) {
            count += isSilent(slot) ? 1 : 0;
        }
        return count;
    }

    /** Nanoseconds until the last of the slots that give no vote now gives votes again. */
    public long silenceLeftNs() {
        return silentUntilNs == null ? 0 : Math.max(0, silenceEndNs - clock.nanoTime());
    }

    /** Frees memory that no slot needs any more. */
    public void trim() {
        if (silentUntilNs != null && silenceEndNs - clock.nanoTime() <= 0) {
            silentUntilNs = null;
        }
    }
}
