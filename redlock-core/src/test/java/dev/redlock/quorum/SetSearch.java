package dev.redlock.quorum;

/**
 * Visits every state that two clients with overlapping sets of resources can reach, and checks in each that at most one
 * of them holds its set. Each set has one resource of its own and one that both have. Events in any order and at any
 * time:
 * <ul>
 * <li>A client starts an attempt, and decides on any quorum of grants. It starts an extension, whether or not the
 * previous one was decided. A lease or an attempt ends, also by a crash of its client.
 * <li>A node executes a command, at any time or never; its reply arrives or is lost.
 * <li>A node restarts and loses its keys, any number of times. It is in quarantine until the leases and rounds from
 * before the restart are over.
 * <li>A key that the last extension did not renew expires: each of a set by itself.
 * </ul>
 *
 * <p>The reductions are those of {@link ThriftySearch}: a node takes a set as it takes one key, all or none.
 */
final class SetSearch extends TwoClientsSearch {

    /** What a node does with a set, and which replies count. */
    enum Rule {
        /** The rule of the scripts: every key or none. */
        PRODUCT,
        /** Wrong: a node takes the free keys of a set, and any key counts as a grant. */
        PART_IS_TAKEN,
        /** Wrong: an extension renews the keys of a set that are left, and any counts as renewed. */
        PART_IS_EXTENDED
    }

    // A client's part of a node's part.
    /** The key that only this client's set has. */
    private static final int OWN = OF_SEARCH;
    /** The key that both sets have, if it has this client's token. */
    private static final int SHARED = OWN + 1;
    /** The acquire can still be executed. */
    private static final int IS_ACQUIRE_OPEN = SHARED + 1;

    private final Rule rule;

    SetSearch(Rule rule) {
        super(2, 2, 1);
        this.rule = rule;
    }

    // ---- events of a client -----------------------------------------------------------------------------------------

    @Override
    void runClient(byte[] state, int c) {
        if (state[phase(c)] == IDLE) {
            start(state.clone(), c);
            return;
        }
        end(state.clone(), c);
        if (state[phase(c)] != ACQUIRING) {
            startExtension(state.clone(), c);
        }
        if (state[phase(c)] != HELD && grantedCount(state, c) >= QUORUM) {
            win(state.clone(), c);
        }
    }

    private void start(byte[] next, int c) {
        next[phase(c)] = ACQUIRING;
        for (int i = 0; i < NODES; i++) {
            next[cell(i, c) + IS_ACQUIRE_OPEN] = (byte) (1 - next[node(i) + IS_QUARANTINED]);
        }
        visit(next);
    }

    private void startExtension(byte[] next, int c) {
        next[phase(c)] = EXTENDING;
        for (int i = 0; i < NODES; i++) {
            int cell = cell(i, c);
            next[cell + OWN] = (byte) Math.min(next[cell + OWN], FIRM);
            next[cell + SHARED] = (byte) Math.min(next[cell + SHARED], FIRM);
            endRound(next, cell);
            next[cell + IS_EXTENSION_OPEN] = (byte) (1 - next[node(i) + IS_QUARANTINED]);
        }
        visit(next);
    }

    @Override
    void onExtended(byte[] next, int cell) {
        next[cell + OWN] = older(next[cell + OWN]);
        next[cell + SHARED] = older(next[cell + SHARED]);
    }

    private static byte older(byte key) {
        return key > STALE ? (byte) (key - 1) : key;
    }

    // ---- events of a node -------------------------------------------------------------------------------------------

    @Override
    void restart(byte[] next, int i) {
        next[node(i) + IS_QUARANTINED] = 1;
        for (int c = 0; c < CLIENTS; c++) {
            clearCell(next, cell(i, c));
            recordRestart(next, i, c);
        }
        visit(next);
    }

    @Override
    void runNode(byte[] state, int i, int c) {
        int cell = cell(i, c);
        expire(state, cell + OWN);
        expire(state, cell + SHARED);
        boolean isOthers = state[cell(i, 1 - c) + SHARED] != NONE;
        if (state[cell + IS_ACQUIRE_OPEN] == 1 && (!isOthers || rule == Rule.PART_IS_TAKEN)) {
            byte[] next = state.clone();
            next[cell + IS_ACQUIRE_OPEN] = 0;
            write(next, cell, written(state, c), isOthers);
            visitWithReply(next, cell, state[phase(c)] == ACQUIRING);
        }
        boolean isAnyLeft = state[cell + OWN] != NONE || state[cell + SHARED] != NONE;
        boolean isPart = rule == Rule.PART_IS_EXTENDED && isAnyLeft;
        if (isOthers && !isPart) {
            return;
        }
        boolean isWhole = state[cell + OWN] != NONE && state[cell + SHARED] != NONE;
        if (state[cell + IS_EXTENSION_OPEN] == 1) {
            byte[] next = state.clone();
            next[cell + IS_EXTENSION_OPEN] = 0;
            write(next, cell, written(state, c), isOthers);
            visitWithReply(next, cell, isWhole || isPart);
        }
        if (state[cell + IS_EXTENSION_LATE] == 1) {
            byte[] next = state.clone();
            write(next, cell, written(state, c), isOthers);
            visit(next);
        }
    }

    private static void write(byte[] next, int cell, byte key, boolean isOthers) {
        next[cell + OWN] = key;
        next[cell + SHARED] = isOthers ? NONE : key;
    }
}
