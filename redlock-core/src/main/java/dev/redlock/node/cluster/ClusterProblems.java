package dev.redlock.node.cluster;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.NodeView;
import dev.redlock.node.send.KeySlot;
import java.lang.System.Logger.Level;
import java.util.BitSet;

/**
 * The problems of a whole cluster, which each of its servers shows: those of its map, and slots that give no vote.
 *
 * @threading event-loop-confined
 */
final class ClusterProblems {

    private final ClusterVoter voter;
    /** Why the last map cannot be used, or what it lacks; null if nothing. */
    private String ofMap;
    /** Slots whose silence has started since the last log line about it. */
    private final BitSet newlySilent = new BitSet(KeySlot.COUNT);

    ClusterProblems(ClusterVoter voter) {
        this.voter = voter;
    }

    /** Shows the present problem, and whether the cluster has sent a usable map. */
    void show(boolean isMapKnown) {
        String shown = ofMap == null && voter.slots.silenceLeftNs() > 0
                ? silenceText(voter.slots.silentCount())
                : ofMap;
        voter.members.forEach(member -> member.node.view().setMap(isMapKnown, shown));
    }

    /** A server has sent a map, or none: shows and logs its problem, null for none. */
    void onMap(NodeView source, boolean isMapKnown, String problem) {
        ofMap = problem;
        show(isMapKnown);
        if (problem != null) {
            source.log(Level.WARNING, problem);
        }
        logSilence();
    }

    /** A slot gives no vote from now on. The map that follows shows all slots that one change concerns. */
    void onSilence(int slot) {
        newlySilent.set(slot);
    }

    private void logSilence() {
        if (!newlySilent.isEmpty()) {
            String text = silenceText(newlySilent.cardinality());
            newlySilent.clear();
            voter.unrouted.view().log(Level.INFO, text);
        }
    }

    private String silenceText(int slotCount) {
        return slotCount + " slots have a new owner or are being moved: the cluster does not vote for them in the next "
                + voter.slots.silenceLeftNs() / NS_PER_MS + " ms";
    }
}
