package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;

/**
 * Sends commands that no attempt and no lease owns: questions of waiters, marks, and the end of an entry in a queue.
 * They take no lock, so nothing has to be released. The claim returns to its pool after the last reply.
 *
 * @threading event-loop-confined
 */
final class UnownedCommands {

    private final LoopServices services;
    private final ClaimPool claims;

    UnownedCommands(LoopServices services, ClaimPool claims) {
        this.services = services;
        this.claims = claims;
    }

    /** Returns a claim for commands about a key, to be sent at once. They have no ttl. */
    Claim take(LockKey key) {
        return take(key, 0);
    }

    /** Returns a claim for commands about a key with a ttl, milliseconds, to be sent at once. */
    Claim take(LockKey key, long ttlMs) {
        Claim claim = claims.take();
        claim.beginAbandoned(key, ttlMs);
        return claim;
    }

    /**
     * Sends a command, which may fail before this returns.
     *
     * @return the nodes that it was sent to
     */
    long send(Claim claim, CommandKind kind, long mask) {
        claim.addPendingReply();
        claim.addPendingReplies(Long.bitCount(mask));
        long sent = services.fanOut.send(claim, kind, CommandDetail.NONE, mask);
        claim.removePendingReply();
        return sent;
    }
}
