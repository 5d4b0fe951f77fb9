package dev.redlock.quorum;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Visits every state that two clients with thrifty quorums can reach on three nodes, and checks in each that at most
 * one of them holds the lock. Events in any order and at any time:
 * <ul>
 * <li>A client starts an attempt, asks any node, asks another one later, and decides on any quorum of grants.
 * <li>A client starts an extension, which goes to each node that votes, whether or not the previous one was decided.
 * <li>A node executes a command, at any time or never; its reply arrives or is lost.
 * <li>A node restarts and loses its keys, any number of times. It is in quarantine until the leases and rounds from
 * before the restart are over.
 * <li>A key that the last extension did not renew expires. A lease or an attempt ends.
 * </ul>
 *
 * <p>Reductions, and why they miss nothing:
 * <ul>
 * <li>A key that no valid lease and no open round uses only refuses acquires, so it need not exist. So releases and
 * late commands of ended attempts need not happen.
 * <li>A refused command has no effect, so it need not be executed.
 * <li>The end of a quarantine only allows more, so it happens as soon as it can.
 * <li>A key that was written after the start of the round on which a lease rests outlives the lease. Other keys may
 * expire at any time, so the model needs no clock. All ttls are equal; {@link LateExtensionSearch} has others.
 * <li>A late extension stays late after its execution: another one may follow.
 * <li>A lease may end at any moment, so a lease that is lost need not end.
 * <li>Nodes and clients are interchangeable: states that differ only in their order are one state.
 * </ul>
 */
final class ThriftySearch extends LockSearch {

    private static final int CLIENTS = 2;

    /** Which nodes are asked, and which replies count. */
    enum Rule {
        /** The rule of the client. */
        PRODUCT,
        /** Wrong: an extension goes to nodes in quarantine too, and a key that it has set there counts in the next. */
        QUARANTINED_NODES_EXTEND,
        /** Wrong: on doubt, an attempt asks nodes in quarantine too. */
        QUARANTINED_NODES_GRANT,
        /** Wrong: the nodes that were asked are the whole group. */
        QUORUM_OF_ASKED
    }

    // The phase of a client.
    private static final byte IDLE = 0;
    private static final byte ACQUIRING = 1;
    private static final byte HELD = 2;
    private static final byte EXTENDING = 3;

    // A node's part of the state: its quarantine, then a part for each client.
    private static final int IS_QUARANTINED = 0;
    private static final int NODE_HEAD = 1;
    private static final int KEY = 0;
    private static final int ASKED = 1;
    /** The reply of the open round is a grant. */
    private static final int IS_GRANTED = 2;
    /** The extension of the open round can still be executed. */
    private static final int IS_EXTENSION_OPEN = 3;
    private static final int IS_EXTENSION_LATE = 4;
    /** The lease rests on a round from before the node's last restart. */
    private static final int IS_LEASE_OLDER = 5;
    private static final int IS_EXTENSION_OLDER = 6;
    private static final int CELL_LENGTH = 7;
    private static final int[] CELL_BITS = {2, 2, 1, 1, 1, 1, 1};
    /** The phases of the clients. */
    private static final int[] HEAD_BITS = {2, 2};
    private static final int[] NODE_BITS = IntStream
            .concat(IntStream.of(1), IntStream.concat(Arrays.stream(CELL_BITS), Arrays.stream(CELL_BITS)))
            .toArray();

    private static final byte NONE = 0;
    /** May expire while the lease is valid. */
    private static final byte STALE = 1;
    /** Outlives the lease. */
    private static final byte FIRM = 2;
    /** Outlives the lease also if the open extension wins. */
    private static final byte RENEWED = 3;

    private static final byte NEVER = 0;
    /** The acquire can still be executed. */
    private static final byte SENT = 1;
    private static final byte FIRST_BY_EXTENSION = 2;
    private static final byte BEFORE = 3;

    private final Rule rule;

    ThriftySearch(Rule rule) {
        super(HEAD_BITS, NODE_BITS);
        this.rule = rule;
    }

    @Override
    void expand(byte[] state) {
        for (int c = 0; c < CLIENTS; c++) {
            runClient(state, c);
        }
        for (int i = 0; i < NODES; i++) {
            restart(state, i);
            for (int c = 0; c < CLIENTS; c++) {
                runNode(state, i, c);
            }
        }
    }

    // ---- the places of values ---------------------------------------------------------------------------------------

    private int cell(int i, int c) {
        return node(i) + NODE_HEAD + c * CELL_LENGTH;
    }

    private static int phase(int c) {
        return c;
    }

    private boolean isFree(byte[] state, int i) {
        return state[cell(i, 0) + KEY] == NONE && state[cell(i, 1) + KEY] == NONE;
    }

    // ---- events of a client -----------------------------------------------------------------------------------------

    private void runClient(byte[] state, int c) {
        if (state[phase(c)] == IDLE) {
            byte[] next = state.clone();
            next[phase(c)] = ACQUIRING;
            visit(next);
            return;
        }
        byte[] ended = state.clone();
        end(ended, c);
        visit(ended);
        if (state[phase(c)] == ACQUIRING) {
            ask(state, c);
        } else {
            startExtension(state.clone(), c);
        }
        if (state[phase(c)] != HELD && isWon(state, c)) {
            win(state.clone(), c);
        }
    }

    private void end(byte[] next, int c) {
        next[phase(c)] = IDLE;
        for (int i = 0; i < NODES; i++) {
            Arrays.fill(next, cell(i, c), cell(i, c) + CELL_LENGTH, (byte) 0);
        }
    }

    private void ask(byte[] state, int c) {
        for (int i = 0; i < NODES; i++) {
            boolean mayVote = state[node(i) + IS_QUARANTINED] == 0 || rule == Rule.QUARANTINED_NODES_GRANT;
            if (state[cell(i, c) + ASKED] == NEVER && mayVote) {
                byte[] next = state.clone();
                next[cell(i, c) + ASKED] = SENT;
                visit(next);
            }
        }
    }

    private boolean isWon(byte[] state, int c) {
        int grantedCount = 0;
        int askedCount = 0;
        for (int i = 0; i < NODES; i++) {
            grantedCount += state[cell(i, c) + IS_GRANTED];
            askedCount += state[cell(i, c) + ASKED] != NEVER ? 1 : 0;
        }
        return grantedCount >= (rule == Rule.QUORUM_OF_ASKED ? askedCount / 2 + 1 : QUORUM);
    }

    private void win(byte[] next, int c) {
        boolean isExtended = next[phase(c)] == EXTENDING;
        next[phase(c)] = HELD;
        for (int i = 0; i < NODES; i++) {
            int cell = cell(i, c);
            if (isExtended) {
                next[cell + KEY] = (byte) Math.max(NONE, next[cell + KEY] - 1);
                next[cell + IS_LEASE_OLDER] = next[cell + IS_EXTENSION_OLDER];
            }
            endRound(next, cell);
        }
        visit(next);
    }

    /** What a command of a round does after the round is what a late one does. */
    private static void endRound(byte[] next, int cell) {
        next[cell + IS_EXTENSION_LATE] |= next[cell + IS_EXTENSION_OPEN];
        next[cell + IS_EXTENSION_OPEN] = 0;
        next[cell + IS_EXTENSION_OLDER] = 0;
        next[cell + IS_GRANTED] = 0;
        next[cell + ASKED] = next[cell + ASKED] == FIRST_BY_EXTENSION ? BEFORE : next[cell + ASKED];
    }

    private void startExtension(byte[] next, int c) {
        next[phase(c)] = EXTENDING;
        for (int i = 0; i < NODES; i++) {
            int cell = cell(i, c);
            next[cell + KEY] = (byte) Math.min(next[cell + KEY], FIRM);
            endRound(next, cell);
            if (next[node(i) + IS_QUARANTINED] == 0 || rule == Rule.QUARANTINED_NODES_EXTEND) {
                next[cell + IS_EXTENSION_OPEN] = 1;
                next[cell + ASKED] = next[cell + ASKED] == NEVER ? FIRST_BY_EXTENSION : next[cell + ASKED];
            }
        }
        visit(next);
    }

    // ---- events of a node -------------------------------------------------------------------------------------------

    /** Connections end with their process, and so do the commands on them. */
    private void restart(byte[] state, int i) {
        byte[] next = state.clone();
        next[node(i) + IS_QUARANTINED] = 1;
        for (int c = 0; c < CLIENTS; c++) {
            int cell = cell(i, c);
            next[cell + KEY] = NONE;
            next[cell + IS_EXTENSION_OPEN] = 0;
            next[cell + IS_EXTENSION_LATE] = 0;
            next[cell + ASKED] = next[cell + ASKED] == SENT ? BEFORE : next[cell + ASKED];
            next[cell + IS_LEASE_OLDER] = (byte) (next[phase(c)] == IDLE ? 0 : 1);
            next[cell + IS_EXTENSION_OLDER] = (byte) (next[phase(c)] == EXTENDING ? 1 : 0);
        }
        visit(next);
    }

    private void runNode(byte[] state, int i, int c) {
        int cell = cell(i, c);
        byte key = state[cell + KEY];
        byte written = state[phase(c)] == EXTENDING ? RENEWED : FIRM;
        if (key == STALE) {
            byte[] next = state.clone();
            next[cell + KEY] = NONE;
            visit(next);
        }
        if (state[cell + ASKED] == SENT && isFree(state, i)) {
            byte[] next = state.clone();
            next[cell + ASKED] = BEFORE;
            next[cell + KEY] = written;
            visitWithReply(next, cell, state[phase(c)] == ACQUIRING);
        }
        if (key == NONE && !isFree(state, i)) {
            return;
        }
        if (state[cell + IS_EXTENSION_OPEN] == 1) {
            byte[] next = state.clone();
            next[cell + IS_EXTENSION_OPEN] = 0;
            next[cell + KEY] = written;
            visitWithReply(next, cell, key != NONE || state[cell + ASKED] == FIRST_BY_EXTENSION);
        }
        if (state[cell + IS_EXTENSION_LATE] == 1) {
            byte[] next = state.clone();
            next[cell + KEY] = written;
            visit(next);
        }
    }

    /** The reply is lost, or arrives. */
    private void visitWithReply(byte[] next, int cell, boolean isGrant) {
        visit(next.clone());
        if (isGrant) {
            next[cell + IS_GRANTED] = 1;
            visit(next);
        }
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    @Override
    String violationOf(byte[] state) {
        return state[phase(0)] >= HELD && state[phase(1)] >= HELD ? "two holders" : null;
    }

    /** Ends the quarantines that are over. */
    @Override
    void reduce(byte[] state) {
        for (int i = 0; i < NODES; i++) {
            boolean isOlder = false;
            for (int c = 0; c < CLIENTS; c++) {
                isOlder |= state[cell(i, c) + IS_LEASE_OLDER] == 1 || state[cell(i, c) + IS_EXTENSION_OLDER] == 1;
            }
            state[node(i) + IS_QUARANTINED] &= (byte) (isOlder ? 1 : 0);
        }
    }

    @Override
    byte[] exchanged(byte[] state) {
        byte[] other = state.clone();
        other[phase(0)] = state[phase(1)];
        other[phase(1)] = state[phase(0)];
        for (int i = 0; i < NODES; i++) {
            System.arraycopy(state, cell(i, 0), other, cell(i, 1), CELL_LENGTH);
            System.arraycopy(state, cell(i, 1), other, cell(i, 0), CELL_LENGTH);
        }
        return other;
    }
}
