package dev.redlock.engine;

import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.telemetry.Log;
import dev.redlock.node.NodeView;

/**
 * The nodes of an event loop that vote now, and the text about those that do not.
 *
 * @threading any thread for the sets, event-loop-confined for the log
 */
final class VotingNodes {

    private static final int NODES_MAX = 9;

    final LoopServices services;

    VotingNodes(LoopServices services) {
        this.services = services;
    }

    /** The nodes that vote now, as a mask. */
    long mask() {
        long mask = 0;
        for (int i = 0; i < services.voters.length; i++) {
            mask |= services.voters[i].isVoting() ? 1L << i : 0;
        }
        return mask;
    }

    /** The nodes that do not vote now, as a mask. */
    long missing() {
        return services.all & ~mask();
    }

    /** Whether the nodes that vote now are a quorum. */
    boolean areQuorum() {
        return services.majority.isReachedBy(mask());
    }

    /** Whether a quorum votes if the nodes that answer their first commands do. Each ends that or has a problem. */
    boolean mayBeQuorumSoon() {
        long mask = mask();
        for (int i = 0; i < services.voters.length; i++) {
            for (NodeView view : services.voters[i].views()) {
                // A ready server without a problem that does not vote is one whose cluster has not sent its map yet.
                boolean isInContact = view.state() == NodeState.HANDSHAKING
                        || view.state() == NodeState.QUARANTINED && view.quarantineLeftNs() == 0
                        || view.state() == NodeState.READY && !view.isVoting();
                mask |= isInContact && view.problem() == null ? 1L << i : 0;
            }
        }
        return services.majority.isReachedBy(mask);
    }

    /** The further failures after which a quorum still votes; negative if none votes now. */
    int spare() {
        return services.majority.spareOf(mask());
    }

    /** Those of a set of nodes that do not vote, or have one vote together, with their problems. */
    String describe(long nodes) {
        StringBuilder text = new StringBuilder();
        int count = 0;
        boolean isQuarantined = false;
        for (long left = nodes; left != 0; left &= left - 1) {
            for (NodeView view : services.voters[Long.numberOfTrailingZeros(left)].views()) {
                isQuarantined |= view.state() == NodeState.QUARANTINED && view.quarantineLeftNs() > 0;
                if ((!view.isVoting() || view.hasSharedIdentity()) && count++ < NODES_MAX) {
                    text.append("; ").append(view);
                }
            }
        }
        text.append(count > NODES_MAX ? "; and " + (count - NODES_MAX) + " more" : "");
        if (!isQuarantined) {
            return text.toString();
        }
        RestartGuardMode mode = services.config.nodes().options().guards().mode();
        return text + "; a node in quarantine may have lost locks: wait"
                + (mode == RestartGuardMode.OFF ? "" : ", or see RedlockContext.restartGuard, which is " + mode);
    }

    /** The nodes are changing their states, and a log handler may re-enter the client. */
    void log(System.Logger.Level level, String line) {
        Log.later(services::executeUnlessEnding, level, "{0}", line);
    }
}
