package dev.redlock.engine;

import dev.redlock.node.CommandKind;

/**
 * Registers a local queue for the pushes of further nodes: the coordinator, which has refused an attempt, may stop. The
 * command reads the key of the lock and changes nothing, so nothing has to be rolled back.
 *
 * @threading event-loop-confined
 */
final class WatchOperation {

    private final LoopServices services;
    private final ClaimPool claims;
    private final Registrations registrations;

    WatchOperation(LoopServices services, ClaimPool claims, Registrations registrations) {
        this.services = services;
        this.claims = claims;
        this.registrations = registrations;
    }

    /** Registers the queue on every node on which it is not registered. */
    void start(WaitQueue queue) {
        long mask = services.all & ~queue.registeredMask & services.wakeUpMask();
        if (mask == 0) {
            return;
        }
        Claim claim = claims.take();
        claim.phase = Claim.Phase.ABANDONED;
        claim.key = queue.key.searchKey();
        claim.isWakeUpWanted = true;
        claim.retain();
        claim.addPendingReplies(Long.bitCount(mask));
        long sent = services.fanOut.send(claim, CommandKind.REMAINING_TTL, 0, mask);
        registrations.add(queue, sent);
        claim.removePendingReply();
    }
}
