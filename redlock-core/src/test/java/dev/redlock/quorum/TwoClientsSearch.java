package dev.redlock.quorum;

import dev.redlock.search.StateSearch;
import java.util.Arrays;

/**
 * The model of two clients and three nodes without a clock, for {@link ThriftySearch} and {@link SetSearch}: a key is
 * no more than what it outlives, and a node that has restarted is in quarantine until the leases and rounds from before
 * are over. Nodes and clients are interchangeable.
 */
abstract class TwoClientsSearch extends StateSearch {

    static final int NODES = 3;
    static final int QUORUM = 2;
    static final int CLIENTS = 2;

    // The head: the phase of each client.
    static final byte IDLE = 0;
    static final byte ACQUIRING = 1;
    static final byte HELD = 2;
    static final byte EXTENDING = 3;
    private static final int PHASE_BITS = 2;

    // A node's part of the state: its quarantine, then a part for each client.
    static final int IS_QUARANTINED = 0;
    private static final int NODE_HEAD = 1;
    /** The reply of the open round is a grant. */
    static final int IS_GRANTED = 0;
    /** The extension of the open round can still be executed. */
    static final int IS_EXTENSION_OPEN = 1;
    static final int IS_EXTENSION_LATE = 2;
    /** The lease rests on a round from before the node's last restart. */
    static final int IS_LEASE_OLDER = 3;
    static final int IS_EXTENSION_OLDER = 4;
    /** The first number of a client that a search has for itself. */
    static final int OF_SEARCH = 5;

    // A key.
    static final byte NONE = 0;
    /** May expire while the lease is valid. */
    static final byte STALE = 1;
    /** Outlives the lease. */
    static final byte FIRM = 2;
    /** Outlives the lease also if the open extension wins. */
    static final byte RENEWED = 3;

    private final int cellLength;

    /**
     * A search over states of one form.
     *
     * @param cellBits bits of each number of a client at a node that the search has for itself
     */
    TwoClientsSearch(int... cellBits) {
        super(new int[]{PHASE_BITS, PHASE_BITS}, NODES,
                bits(new int[]{1}, CLIENTS, bits(new int[]{1, 1, 1, 1, 1}, 1, cellBits)));
        this.cellLength = OF_SEARCH + cellBits.length;
    }

    final int cell(int i, int c) {
        return node(i) + NODE_HEAD + c * cellLength;
    }

    static int phase(int c) {
        return c;
    }

    @Override
    protected final void expand(byte[] state) {
        for (int c = 0; c < CLIENTS; c++) {
            runClient(state, c);
        }
        for (int i = 0; i < NODES; i++) {
            restart(state.clone(), i);
            for (int c = 0; c < CLIENTS; c++) {
                runNode(state, i, c);
            }
        }
    }

    /** Visits what a client does. */
    abstract void runClient(byte[] state, int c);

    /** Visits what a node does with the commands and keys of a client. */
    abstract void runNode(byte[] state, int i, int c);

    /** Ends connections and the commands on them with their process. */
    abstract void restart(byte[] next, int i);

    /** Changes the keys of a client whose extension has won. */
    abstract void onExtended(byte[] next, int cell);

    /** A command of a round that is executed after the round is as any late one. */
    void endRound(byte[] next, int cell) {
        next[cell + IS_EXTENSION_LATE] |= next[cell + IS_EXTENSION_OPEN];
        next[cell + IS_EXTENSION_OPEN] = 0;
        next[cell + IS_EXTENSION_OLDER] = 0;
        next[cell + IS_GRANTED] = 0;
    }

    final void end(byte[] next, int c) {
        next[phase(c)] = IDLE;
        for (int i = 0; i < NODES; i++) {
            clearCell(next, cell(i, c));
        }
        visit(next);
    }

    final void clearCell(byte[] next, int cell) {
        Arrays.fill(next, cell, cell + cellLength, (byte) 0);
    }

    final int grantedCount(byte[] state, int c) {
        int count = 0;
        for (int i = 0; i < NODES; i++) {
            count += state[cell(i, c) + IS_GRANTED];
        }
        return count;
    }

    final void win(byte[] next, int c) {
        boolean isExtended = next[phase(c)] == EXTENDING;
        next[phase(c)] = HELD;
        for (int i = 0; i < NODES; i++) {
            int cell = cell(i, c);
            if (isExtended) {
                onExtended(next, cell);
                next[cell + IS_LEASE_OLDER] = next[cell + IS_EXTENSION_OLDER];
            }
            endRound(next, cell);
        }
        visit(next);
    }

    /** A key that the last extension did not renew. */
    final void expire(byte[] state, int key) {
        if (state[key] == STALE) {
            byte[] next = state.clone();
            next[key] = NONE;
            visit(next);
        }
    }

    static byte written(byte[] state, int c) {
        return state[phase(c)] == EXTENDING ? RENEWED : FIRM;
    }

    /** The reply is lost, or arrives. */
    final void visitWithReply(byte[] next, int cell, boolean isGrant) {
        visit(next.clone());
        if (isGrant) {
            next[cell + IS_GRANTED] = 1;
            visit(next);
        }
    }

    /** Records that the lease and the open round of a client are older than a restart of a node. */
    final void recordRestart(byte[] next, int i, int c) {
        next[cell(i, c) + IS_LEASE_OLDER] = (byte) (next[phase(c)] == IDLE ? 0 : 1);
        next[cell(i, c) + IS_EXTENSION_OLDER] = (byte) (next[phase(c)] == EXTENDING ? 1 : 0);
    }

    @Override
    protected final String violationOf(byte[] state) {
        return state[phase(0)] >= HELD && state[phase(1)] >= HELD ? "two holders" : null;
    }

    /** Ends the quarantines that are over. */
    @Override
    protected final void reduce(byte[] state) {
        for (int i = 0; i < NODES; i++) {
            boolean isOlder = false;
            for (int c = 0; c < CLIENTS; c++) {
                isOlder |= state[cell(i, c) + IS_LEASE_OLDER] == 1 || state[cell(i, c) + IS_EXTENSION_OLDER] == 1;
            }
            state[node(i) + IS_QUARANTINED] &= (byte) (isOlder ? 1 : 0);
        }
    }

    @Override
    protected final void exchange(byte[] state) {
        byte[] other = state.clone();
        swap(other, phase(0), phase(1), 1);
        for (int i = 0; i < NODES; i++) {
            swap(other, cell(i, 0), cell(i, 1), cellLength);
        }
        alike(other);
    }
}
