package dev.redlock.quorum;

import java.util.Arrays;
import java.util.stream.IntStream;

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
final class SetSearch extends LockSearch {

    private static final int CLIENTS = 2;

    /** What a node does with a set, and which replies count. */
    enum Rule {
        /** The rule of the scripts: every key or none. */
        PRODUCT,
        /** Wrong: a node takes the free keys of a set, and any key counts as a grant. */
        PART_IS_TAKEN,
        /** Wrong: an extension renews the keys of a set that are left, and any counts as renewed. */
        PART_IS_EXTENDED
    }

    // The phase of a client.
    private static final byte IDLE = 0;
    private static final byte ACQUIRING = 1;
    private static final byte HELD = 2;
    private static final byte EXTENDING = 3;

    // A node's part of the state: its quarantine, then a part for each client.
    private static final int IS_QUARANTINED = 0;
    private static final int NODE_HEAD = 1;
    /** The key that only this client's set has. */
    private static final int OWN = 0;
    /** The key that both sets have, if it has this client's token. */
    private static final int SHARED = 1;
    /** The acquire can still be executed. */
    private static final int IS_ACQUIRE_OPEN = 2;
    private static final int IS_GRANTED = 3;
    private static final int IS_EXTENSION_OPEN = 4;
    private static final int IS_EXTENSION_LATE = 5;
    /** The lease rests on a round from before the node's last restart. */
    private static final int IS_LEASE_OLDER = 6;
    private static final int IS_EXTENSION_OLDER = 7;
    private static final int CELL_LENGTH = 8;
    private static final int[] CELL_BITS = {2, 2, 1, 1, 1, 1, 1, 1};
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

    private final Rule rule;

    SetSearch(Rule rule) {
        super(HEAD_BITS, NODE_BITS);
        this.rule = rule;
    }

    private int cell(int i, int c) {
        return node(i) + NODE_HEAD + c * CELL_LENGTH;
    }

    private static int phase(int c) {
        return c;
    }

    @Override
    void expand(byte[] state) {
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

    @Override
    String violationOf(byte[] state) {
        return state[phase(0)] >= HELD && state[phase(1)] >= HELD ? "two holders" : null;
    }

    // ---- events of a client -----------------------------------------------------------------------------------------

    private void runClient(byte[] state, int c) {
        if (state[phase(c)] == IDLE) {
            start(state.clone(), c);
            return;
        }
        end(state.clone(), c);
        if (state[phase(c)] != ACQUIRING) {
            startExtension(state.clone(), c);
        }
        int grantedCount = 0;
        for (int i = 0; i < NODES; i++) {
            grantedCount += state[cell(i, c) + IS_GRANTED];
        }
        if (state[phase(c)] != HELD && grantedCount >= QUORUM) {
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

    private void end(byte[] next, int c) {
        next[phase(c)] = IDLE;
        for (int i = 0; i < NODES; i++) {
            Arrays.fill(next, cell(i, c), cell(i, c) + CELL_LENGTH, (byte) 0);
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

    private void win(byte[] next, int c) {
        boolean isExtended = next[phase(c)] == EXTENDING;
        next[phase(c)] = HELD;
        for (int i = 0; i < NODES; i++) {
            int cell = cell(i, c);
            if (isExtended) {
                next[cell + OWN] = older(next[cell + OWN]);
                next[cell + SHARED] = older(next[cell + SHARED]);
                next[cell + IS_LEASE_OLDER] = next[cell + IS_EXTENSION_OLDER];
            }
            endRound(next, cell);
        }
        visit(next);
    }

    private static byte older(byte key) {
        return key > STALE ? (byte) (key - 1) : key;
    }

    private static void endRound(byte[] next, int cell) {
        next[cell + IS_EXTENSION_LATE] |= next[cell + IS_EXTENSION_OPEN];
        next[cell + IS_EXTENSION_OPEN] = 0;
        next[cell + IS_EXTENSION_OLDER] = 0;
        next[cell + IS_GRANTED] = 0;
    }

    // ---- events of a node -------------------------------------------------------------------------------------------

    private void restart(byte[] next, int i) {
        next[node(i) + IS_QUARANTINED] = 1;
        for (int c = 0; c < CLIENTS; c++) {
            Arrays.fill(next, cell(i, c), cell(i, c) + CELL_LENGTH, (byte) 0);
            next[cell(i, c) + IS_LEASE_OLDER] = (byte) (next[phase(c)] == IDLE ? 0 : 1);
            next[cell(i, c) + IS_EXTENSION_OLDER] = (byte) (next[phase(c)] == EXTENDING ? 1 : 0);
        }
        visit(next);
    }

    private void runNode(byte[] state, int i, int c) {
        int cell = cell(i, c);
        expire(state, cell + OWN);
        expire(state, cell + SHARED);
        boolean isOthers = state[cell(i, 1 - c) + SHARED] != NONE;
        if (state[cell + IS_ACQUIRE_OPEN] == 1 && (!isOthers || rule == Rule.PART_IS_TAKEN)) {
            byte[] next = state.clone();
            next[cell + IS_ACQUIRE_OPEN] = 0;
            write(next, cell, state[phase(c)], isOthers);
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
            write(next, cell, state[phase(c)], isOthers);
            visitWithReply(next, cell, isWhole || isPart);
        }
        if (state[cell + IS_EXTENSION_LATE] == 1) {
            byte[] next = state.clone();
            write(next, cell, state[phase(c)], isOthers);
            visit(next);
        }
    }

    private void expire(byte[] state, int key) {
        if (state[key] == STALE) {
            byte[] next = state.clone();
            next[key] = NONE;
            visit(next);
        }
    }

    private static void write(byte[] next, int cell, byte phase, boolean isOthers) {
        byte written = phase == EXTENDING ? RENEWED : FIRM;
        next[cell + OWN] = written;
        next[cell + SHARED] = isOthers ? NONE : written;
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
