package dev.redlock.quorum;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Visits every state that a few overlapping grants on three nodes can reach, and checks each fencing token when it is
 * decided. What can happen, in any order: a request executes (late, or never), a key vanishes, a client decides on any
 * set of grants that is large enough, gives up, raises, releases. A reply that is lost or late is a decision on a
 * smaller
 * set. Requests of one grant to one node execute in the order in which they were sent.
 */
final class FenceSearch {

    static final int NODES = 3;
    private static final int QUORUM = 2;

    /** How a token is decided. */
    enum Rule {
        /** The product's. */
        EXACTLY,
        /** Wrong: the q-th largest value, although not q nodes stand at exactly it. */
        AT_LEAST,
        /** Wrong: the highest value of the quorum, without raising the others. */
        MAX_WITHOUT_RAISE
    }

    // A grant's part of the state.
    private static final int PHASE = 0;
    private static final int TOKEN = 1;
    private static final int RAISE_TO = 2;
    private static final int HIGHEST = 3;
    private static final int AFTER = 4;
    private static final int GRANT_LENGTH = 5;
    // A node's part: its counter, its holder, then for each grant what was acquired, raised, released, and seen.
    private static final int COUNTER = 0;
    private static final int HOLDER = 1;
    private static final int NODE_HEAD = 2;
    private static final int ACQUIRED = 0;
    private static final int RAISED = 1;
    private static final int RELEASED = 2;
    private static final int SEEN = 3;
    private static final int PER_GRANT = 4;

    private static final byte IDLE = 0;
    private static final byte ACQUIRING = 1;
    private static final byte RAISING = 2;
    private static final byte HELD = 3;
    private static final byte OVER = 4;

    private static final byte PENDING = 1;
    private static final byte DONE = 2;
    private static final byte REFUSED = 3;
    /** Acquire: 0 not executed, 1 refused, 2 + v granted with counter v. */
    private static final byte ACQUIRE_REFUSED = 1;
    private static final byte GRANTED_BASE = 2;

    private final int grantCount;
    private final Rule rule;
    private final int columnLength;
    private final int length;
    private final FenceRule fence = new FenceRule(NODES);
    private final Set<ByteBuffer> visited = new HashSet<>();
    private final ArrayDeque<byte[]> open = new ArrayDeque<>();
    private String violation;

    FenceSearch(final int grantCount, final Rule rule) {
        this.grantCount = grantCount;
        this.rule = rule;
        this.columnLength = NODE_HEAD + PER_GRANT * grantCount;
        this.length = GRANT_LENGTH * grantCount + NODES * columnLength;
    }

    /** Runs until every state is visited or a violation is found; returns the violation or null. */
    String run(final int counterMax) {
        for (byte a = 0; a <= counterMax; a++) {
            for (byte b = a; b <= counterMax; b++) {
                for (byte c = b; c <= counterMax; c++) {
                    final byte[] state = new byte[length];
                    state[node(0) + COUNTER] = a;
                    state[node(1) + COUNTER] = b;
                    state[node(2) + COUNTER] = c;
                    visit(state);
                }
            }
        }
        while (violation == null && !open.isEmpty()) {
            expand(open.pollLast());
        }
        return violation;
    }

    int stateCount() {
        return visited.size();
    }

    private int node(final int i) {
        return GRANT_LENGTH * grantCount + i * columnLength;
    }

    private int cell(final int i, final int g, final int field) {
        return node(i) + NODE_HEAD + PER_GRANT * g + field;
    }

    private int grant(final int g, final int field) {
        return GRANT_LENGTH * g + field;
    }

    /** Nodes are alike, so states that differ in their order only are one state. */
    private void visit(final byte[] state) {
        final byte[][] columns = new byte[NODES][];
        for (int i = 0; i < NODES; i++) {
            columns[i] = Arrays.copyOfRange(state, node(i), node(i) + columnLength);
        }
        Arrays.sort(columns, Arrays::compare);
        for (int i = 0; i < NODES; i++) {
            System.arraycopy(columns[i], 0, state, node(i), columnLength);
        }
        if (visited.add(ByteBuffer.wrap(state))) {
            open.addLast(state);
        }
    }

    private void expand(final byte[] state) {
        if (!canDecide(state)) {
            return;
        }
        for (int i = 0; i < NODES; i++) {
            if (state[node(i) + HOLDER] != 0) {
                final byte[] next = state.clone();
                next[node(i) + HOLDER] = 0;
                visit(next);
            }
        }
        for (int g = 0; g < grantCount; g++) {
            if (state[grant(g, PHASE)] == IDLE) {
                start(state, g);
            } else {
                for (int i = 0; i < NODES; i++) {
                    execute(state, g, i);
                }
                step(state, g);
            }
        }
    }

    /** Whether a token can still be decided; from other states on nothing can go wrong any more. */
    private boolean canDecide(final byte[] state) {
        for (int g = 0; g < grantCount; g++) {
            if (state[grant(g, PHASE)] < HELD) {
                return true;
            }
        }
        return false;
    }

    private void start(final byte[] state, final int g) {
        if (g > 0 && state[grant(g - 1, PHASE)] == IDLE) {
            return;
        }
        final byte[] next = state.clone();
        next[grant(g, PHASE)] = ACQUIRING;
        for (int other = 0; other < grantCount; other++) {
            if (next[grant(other, TOKEN)] != 0) {
                next[grant(g, AFTER)] |= (byte) (1 << other);
            }
        }
        visit(next);
    }

    private void execute(final byte[] state, final int g, final int i) {
        if (state[cell(i, g, RELEASED)] == DONE) {
            return;
        }
        if (state[cell(i, g, ACQUIRED)] == 0) {
            final byte[] next = state.clone();
            if (next[node(i) + HOLDER] == 0) {
                next[node(i) + HOLDER] = (byte) (g + 1);
                final byte value = ++next[node(i) + COUNTER];
                final boolean isRead = next[grant(g, PHASE)] != OVER;
                next[cell(i, g, ACQUIRED)] = isRead ? (byte) (GRANTED_BASE + value) : ACQUIRE_REFUSED;
            } else {
                next[cell(i, g, ACQUIRED)] = ACQUIRE_REFUSED;
            }
            visit(next);
        }
        if (state[cell(i, g, RAISED)] == PENDING) {
            final byte[] next = state.clone();
            final byte value = next[grant(g, RAISE_TO)];
            final boolean isOurs = next[node(i) + HOLDER] == g + 1 && next[node(i) + COUNTER] <= value;
            next[cell(i, g, RAISED)] = next[grant(g, PHASE)] != RAISING ? 0 : isOurs ? DONE : REFUSED;
            if (isOurs) {
                next[node(i) + COUNTER] = value;
            }
            visit(next);
        }
        if (state[cell(i, g, RELEASED)] == PENDING) {
            final byte[] next = state.clone();
            next[cell(i, g, RELEASED)] = DONE;
            next[cell(i, g, ACQUIRED)] = ACQUIRE_REFUSED;
            next[cell(i, g, RAISED)] = 0;
            next[node(i) + COUNTER] = (byte) Math.max(next[node(i) + COUNTER], next[grant(g, HIGHEST)]);
            if (next[node(i) + HOLDER] == g + 1) {
                next[node(i) + HOLDER] = 0;
            }
            visit(next);
        }
    }

    private int valueOf(final byte[] state, final int i, final int g) {
        return state[cell(i, g, ACQUIRED)] - GRANTED_BASE;
    }

    private void step(final byte[] state, final int g) {
        switch (state[grant(g, PHASE)]) {
            case ACQUIRING -> {
                decideOnEachSet(state, g);
                releaseWithEachHighest(state, g, 0);
            }
            case RAISING -> {
                claimRaised(state, g);
                releaseWithEachHighest(state, g, 0);
            }
            case HELD -> releaseWithEachHighest(state, g, highestSeen(state, g));
            default -> {
                // over: only its requests are still on their way
            }
        }
    }

    private void decideOnEachSet(final byte[] state, final int g) {
        for (int set = 0; set < 1 << NODES; set++) {
            if (Integer.bitCount(set) >= QUORUM && isGranted(state, g, set)) {
                decide(state, g, set);
            }
        }
    }

    private boolean isGranted(final byte[] state, final int g, final int set) {
        for (int i = 0; i < NODES; i++) {
            if ((set & 1 << i) != 0 && state[cell(i, g, ACQUIRED)] < GRANTED_BASE) {
                return false;
            }
        }
        return true;
    }

    private void decide(final byte[] state, final int g, final int set) {
        final byte[] next = state.clone();
        fence.reset();
        final int[] values = new int[NODES];
        for (int i = 0; i < NODES; i++) {
            if ((set & 1 << i) != 0) {
                next[cell(i, g, SEEN)] = 1;
                values[i] = valueOf(state, i, g);
                fence.onGrant(i, values[i]);
            }
        }
        Arrays.sort(values);
        final long token = switch (rule) {
            case EXACTLY -> fence.agreed();
            case AT_LEAST -> values[NODES - QUORUM];
            case MAX_WITHOUT_RAISE -> values[NODES - 1];
        };
        if (token != FenceRule.NONE) {
            hold(next, g, (byte) token);
            return;
        }
        next[grant(g, PHASE)] = RAISING;
        next[grant(g, RAISE_TO)] = (byte) fence.highest();
        for (int i = 0; i < NODES; i++) {
            if ((fence.lagging() & 1L << i) != 0) {
                next[cell(i, g, RAISED)] = PENDING;
            }
        }
        visit(next);
    }

    private void claimRaised(final byte[] state, final int g) {
        int standing = 0;
        for (int i = 0; i < NODES; i++) {
            final boolean stood = state[cell(i, g, SEEN)] == 1 && valueOf(state, i, g) == state[grant(g, RAISE_TO)];
            standing += stood || state[cell(i, g, RAISED)] == DONE ? 1 : 0;
        }
        if (standing >= QUORUM) {
            hold(state.clone(), g, state[grant(g, RAISE_TO)]);
        }
    }

    private void hold(final byte[] next, final int g, final byte token) {
        next[grant(g, PHASE)] = HELD;
        next[grant(g, TOKEN)] = token;
        for (int other = 0; other < grantCount; other++) {
            final byte otherToken = next[grant(other, TOKEN)];
            if (other == g || otherToken == 0) {
                continue;
            }
            if (otherToken == token) {
                violation = "grants " + other + " and " + g + " both got " + token;
            } else if ((next[grant(g, AFTER)] & 1 << other) != 0 && otherToken > token) {
                violation = "grant " + g + " began after " + other + " had " + otherToken + " and got " + token;
            }
        }
        visit(next);
    }

    private int highestSeen(final byte[] state, final int g) {
        int highest = 0;
        for (int i = 0; i < NODES; i++) {
            if (state[cell(i, g, SEEN)] == 1) {
                highest = Math.max(highest, valueOf(state, i, g));
            }
        }
        return highest;
    }

    /** A late answer may have been seen or not: the highest value is any granted one, at least what was decided on. */
    private void releaseWithEachHighest(final byte[] state, final int g, final int atLeast) {
        release(state, g, atLeast);
        for (int i = 0; i < NODES; i++) {
            final int value = valueOf(state, i, g);
            if (value > atLeast) {
                release(state, g, value);
            }
        }
    }

    private void release(final byte[] state, final int g, final int highest) {
        final byte[] next = state.clone();
        next[grant(g, PHASE)] = OVER;
        next[grant(g, HIGHEST)] = (byte) highest;
        boolean isRaising = false;
        for (int i = 0; i < NODES; i++) {
            next[cell(i, g, RELEASED)] = PENDING;
            // What cannot matter any more is forgotten, so that states that differ in nothing else are one.
            next[cell(i, g, SEEN)] = 0;
            next[cell(i, g, ACQUIRED)] = (byte) Math.min(next[cell(i, g, ACQUIRED)], ACQUIRE_REFUSED);
            isRaising |= next[cell(i, g, RAISED)] == PENDING;
            next[cell(i, g, RAISED)] = next[cell(i, g, RAISED)] == PENDING ? PENDING : 0;
        }
        next[grant(g, RAISE_TO)] = isRaising ? next[grant(g, RAISE_TO)] : 0;
        visit(next);
    }
}
