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

    /** A slot gives no vote for a time, or for longer if it is silent already. */
    public void silence(int slot, long durationNs) {
        long nowNs = clock.nanoTime();
        long endNs = nowNs + durationNs;
        if (silentUntilNs == null) {
            silentUntilNs = new long[KeySlot.COUNT];
            Arrays.fill(silentUntilNs, nowNs);
            silenceEndNs = endNs;
        }
        silentUntilNs[slot] = endNs - silentUntilNs[slot] > 0 ? endNs : silentUntilNs[slot];
        silenceEndNs = endNs - silenceEndNs > 0 ? endNs : silenceEndNs;
    }

    /** Frees memory that no slot needs any more. */
    public void trim() {
        if (silentUntilNs != null && silenceEndNs - clock.nanoTime() <= 0) {
            silentUntilNs = null;
        }
    }
}
