package dev.redlock.quorum;

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
final class ThriftySearch extends TwoClientsSearch {

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

    // A client's part of a node's part.
    private static final int KEY = OF_SEARCH;
    private static final int ASKED = KEY + 1;

    private static final byte NEVER = 0;
    /** The acquire can still be executed. */
    private static final byte SENT = 1;
    private static final byte FIRST_BY_EXTENSION = 2;
    private static final byte BEFORE = 3;

    private final Rule rule;

    ThriftySearch(Rule rule) {
        super(2, 2);
        this.rule = rule;
    }

    private boolean isFree(byte[] state, int i) {
        return state[cell(i, 0) + KEY] == NONE && state[cell(i, 1) + KEY] == NONE;
    }

    // ---- events of a client -----------------------------------------------------------------------------------------

    @Override
    void runClient(byte[] state, int c) {
        if (state[phase(c)] == IDLE) {
            byte[] next = state.clone();
            next[phase(c)] = ACQUIRING;
            visit(next);
            return;
        }
        end(state.clone(), c);
        if (state[phase(c)] == ACQUIRING) {
            ask(state, c);
        } else {
            startExtension(state.clone(), c);
        }
        if (state[phase(c)] != HELD && isWon(state, c)) {
            win(state.clone(), c);
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
        int askedCount = 0;
        for (int i = 0; i < NODES; i++) {
            askedCount += state[cell(i, c) + ASKED] != NEVER ? 1 : 0;
        }
        return grantedCount(state, c) >= (rule == Rule.QUORUM_OF_ASKED ? askedCount / 2 + 1 : QUORUM);
    }

    @Override
    void onExtended(byte[] next, int cell) {
        next[cell + KEY] = (byte) Math.max(NONE, next[cell + KEY] - 1);
    }

    @Override
    void endRound(byte[] next, int cell) {
        super.endRound(next, cell);
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

    @Override
    void restart(byte[] next, int i) {
        next[node(i) + IS_QUARANTINED] = 1;
        for (int c = 0; c < CLIENTS; c++) {
            int cell = cell(i, c);
            next[cell + KEY] = NONE;
            next[cell + IS_EXTENSION_OPEN] = 0;
            next[cell + IS_EXTENSION_LATE] = 0;
            next[cell + ASKED] = next[cell + ASKED] == SENT ? BEFORE : next[cell + ASKED];
            recordRestart(next, i, c);
        }
        visit(next);
    }

    @Override
    void runNode(byte[] state, int i, int c) {
        int cell = cell(i, c);
        byte key = state[cell + KEY];
        expire(state, cell + KEY);
        if (state[cell + ASKED] == SENT && isFree(state, i)) {
            byte[] next = state.clone();
            next[cell + ASKED] = BEFORE;
            next[cell + KEY] = written(state, c);
            visitWithReply(next, cell, state[phase(c)] == ACQUIRING);
        }
        if (key == NONE && !isFree(state, i)) {
            return;
        }
        if (state[cell + IS_EXTENSION_OPEN] == 1) {
            byte[] next = state.clone();
            next[cell + IS_EXTENSION_OPEN] = 0;
            next[cell + KEY] = written(state, c);
            visitWithReply(next, cell, key != NONE || state[cell + ASKED] == FIRST_BY_EXTENSION);
        }
        if (state[cell + IS_EXTENSION_LATE] == 1) {
            byte[] next = state.clone();
            next[cell + KEY] = written(state, c);
            visit(next);
        }
    }
}
