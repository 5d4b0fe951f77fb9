package dev.redlock.engine;

import dev.redlock.api.CloseReport;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.quorum.Decision;
import dev.redlock.quorum.Vote;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts the releases while a client closes. Thousands of them take longer than the node timeout of one, after which
 * its caller gets an outcome. The replies that arrive later count here, as long as the close waits for them.
 *
 * @threading event-loop-confined
 */
final class ReleaseTally {

    /** The resources whose release no quorum has confirmed, by claim; of a loop that ends, by lease. */
    private final Map<Object, String> unconfirmed = new LinkedHashMap<>();
    private int releasedCount;
    /** The unconfirmed releases whose names are unknown, for want of memory. */
    private int unnamedCount;
    /** The releases that have no outcome, at most. */
    private int unfinishedMax;

    /** Throws nothing, because the release has to end all the same. */
    void record(Object owner, String resource, ReleaseOutcome outcome) {
        if (outcome != ReleaseOutcome.UNKNOWN) {
            releasedCount++;
            return;
        }
        try {
            unconfirmed.put(owner, resource);
        } catch (Throwable e) {
            unnamedCount++;
        }
    }

    /**
     * The client does not wait for claims that have no outcome. Some of them may be no releases. Throws nothing.
     *
     * @param outCount claims in use, also those whose release is named already and may still get a reply
     */
    void recordUnfinished(int outCount) {
        int namedCount = 0;
        try {
            for (Object owner : unconfirmed.keySet()) {
                namedCount += owner instanceof Claim claim && claim.phase != Claim.Phase.FREE ? 1 : 0;
            }
        } catch (Throwable e) {
            // Without memory for the loop, they count twice.
            namedCount = 0;
        }
        unfinishedMax = outCount - namedCount;
    }

    /** A node has replied after the release has ended for its caller. */
    void onLateVote(Claim claim, int nodeIndex, Vote vote) {
        if (!unconfirmed.containsKey(claim)) {
            return;
        }
        claim.round.onLateVote(nodeIndex, vote);
        if (claim.round.decision() == Decision.WON || claim.round.isRefusedForCertain()) {
            unconfirmed.remove(claim);
            releasedCount++;
        }
    }

    CloseReport report() {
        List<String> unreleased = new ArrayList<>(unconfirmed.values());
        if (unnamedCount > 0) {
            unreleased.add("unknown: there was no memory for the names of more resources: " + unnamedCount);
        }
        if (unfinishedMax > 0) {
            unreleased.add("unknown: there was no memory to wait for more releases, at most: " + unfinishedMax);
        }
        return new CloseReport(releasedCount, unreleased);
    }
}
