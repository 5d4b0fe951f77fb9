package dev.redlock.retain;

import dev.redlock.search.StateSearch;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Visits every state that a few overlapping requests for blocks of fencing tokens can reach on three nodes, and checks
 * each block when it is decided: all numbers of a lease are above those of each lease that was decided before it began,
 * and the numbers of two leases do not interleave. Events in any order:
 * <ul>
 * <li>A lease is requested with a step of 1 or 2, executed late or never; its reply arrives or is lost. A client
 * decides on any quorum of grants, or raises the lower counters.
 * <li>A key may vanish, so an acquire may always succeed. It replaces the holder, which a raise and a refill need.
 * <li>A release raises a counter. A node loses its counter, and seeds it from a clock that is past all numbers.
 * </ul>
 *
 * <p>A lease owns (t - step, t], where t is decided as for a step of 1.
 */
final class BlockSearch extends StateSearch {

    /** How a block is decided. */
    enum Rule {
        /** The rule of the client: in a refill, a node has a vote if its value decided the lease. */
        PRODUCT,
        /** Wrong: a node counts by one. */
        COUNTED_BY_ONE,
        /** Wrong: a lease owns [t, t + step). */
        UPWARD,
        /** Wrong: q values are t or more. */
        AT_LEAST,
        /** Wrong: the highest value, without raising the others. */
        MAX_WITHOUT_RAISE,
        /** Wrong: a seed is the first number past all others, without the step. */
        SEED_WITHOUT_STEP,
        /** Wrong: a node grants a refill to a client that does not own the key. */
        REFILL_WITHOUT_KEY,
        /** Wrong: a node has a vote in a refill if the client owns its key, whatever values decided the lease. */
        REFILL_BY_ANY_GRANT,
        /** Wrong: a lease uses the numbers that an earlier one of its client has left. */
        LEFTOVERS
    }

    private static final int NODES = 3;
    private static final int QUORUM = 2;
    private static final int REQUESTS = 3;
    /** The request that may be a refill of the lease of the first. */
    private static final int LAST = REQUESTS - 1;
    private static final int COUNTER_MAX = 15;
    private static final int STEP_MAX = 2;
    private static final int START_MAX = 2;

    // A request's part of the head.
    private static final int PHASE = 0;
    /** Less one. */
    private static final int STEP = 1;
    /** The value that the counters are raised to, or the last number of the block. */
    private static final int VALUE = 2;
    /** The greatest number of the leases that were decided before this one began. */
    private static final int FLOOR = 3;
    private static final int[] REQUEST_BITS = {2, 1, 4, 4};

    private static final byte IDLE = 0;
    private static final byte OPEN = 1;
    private static final byte RAISING = 2;
    private static final byte DECIDED = 3;

    // A node's part of the state, then one for each request.
    private static final int COUNTER = 0;
    /** The lease that has the key, from 1. */
    private static final int HOLDER = 1;
    private static final int IS_COUNTER_LOST = 2;
    /** The first lease was decided by the value of the node. */
    private static final int IS_VOTER = 3;
    private static final int NODE_HEAD = 4;
    private static final int IS_SENT = 0;
    /** The value of the reply; 0 without one. */
    private static final int SEEN = 1;
    private static final int RAISE = 2;
    private static final int[] CELL_BITS = {1, 4, 2};
    private static final int[] NODE_HEAD_BITS = {4, 2, 1, 1};

    private static final byte SENT = 1;
    private static final byte STANDING = 2;

    private static final String[] NAMES = {"first", "second", "third"};

    private final Rule rule;
    private final int requestCount;
    private final boolean isRefill;
    private final boolean areLosses;

    /**
     * A search with two requests or three.
     *
     * @param isRefill  whether the third is for more numbers of the first lease
     * @param areLosses whether nodes lose their counters
     */
    BlockSearch(Rule rule, int requestCount, boolean isRefill, boolean areLosses) {
        super(bits(new int[0], REQUESTS, REQUEST_BITS), NODES, bits(NODE_HEAD_BITS, REQUESTS, CELL_BITS));
        this.rule = rule;
        this.requestCount = requestCount;
        this.isRefill = isRefill;
        this.areLosses = areLosses;
    }

    private static int request(int r) {
        return r * REQUEST_BITS.length;
    }

    private int cell(int i, int r) {
        return node(i) + NODE_HEAD + r * CELL_BITS.length;
    }

    private boolean isRefill(int r) {
        return isRefill && r == LAST;
    }

    private int lease(int r) {
        return isRefill(r) ? 0 : r;
    }

    private int first(byte[] state, int r) {
        return state[request(r) + VALUE] - state[request(r) + STEP];
    }

    @Override
    protected void expand(byte[] state) {
        if (state[node(0) + COUNTER] == 0) {
            startCounters();
            return;
        }
        for (int r = 0; r < requestCount; r++) {
            switch (state[request(r) + PHASE]) {
                case IDLE -> start(state, r);
                case OPEN -> decideOnEachSet(state, r);
                case RAISING -> {
                    if (standingCount(state, r) >= QUORUM) {
                        decide(state.clone(), r, state[request(r) + VALUE]);
                    }
                }
                default -> {
                    // Only its requests are still on their way.
                }
            }
        }
        for (int i = 0; i < NODES; i++) {
            runNode(state, i);
        }
    }

    private void startCounters() {
        for (byte b = 1; b <= START_MAX; b++) {
            for (byte c = b; c <= START_MAX; c++) {
                byte[] next = new byte[length()];
                next[node(0) + COUNTER] = 1;
                next[node(1) + COUNTER] = b;
                next[node(2) + COUNTER] = c;
                visit(next, "", "counters are 1, " + b + ", " + c, NO_NODE);
            }
        }
    }

    // ---- a client ---------------------------------------------------------------------------------------------------

    private void start(byte[] state, int r) {
        if (isRefill(r) && state[request(0) + PHASE] != DECIDED) {
            return;
        }
        for (byte step = 1; step <= STEP_MAX; step++) {
            byte[] next = state.clone();
            next[request(r) + PHASE] = OPEN;
            next[request(r) + STEP] = (byte) (step - 1);
            for (int other = 0; other < requestCount; other++) {
                if (lease(other) != lease(r) && state[request(other) + PHASE] == DECIDED) {
                    next[request(r) + FLOOR] = (byte) Math.max(next[request(r) + FLOOR],
                            state[request(other) + VALUE]);
                }
            }
            if (isRefill(r)) {
                next[request(r) + FLOOR] = 0;
            }
            for (int i = 0; i < NODES; i++) {
                next[cell(i, r) + IS_SENT] = 1;
            }
            visit(next, NAMES[r], (isRefill(r) ? "asks for more, " : "acquires, ") + step, NO_NODE);
        }
    }

    private void decideOnEachSet(byte[] state, int r) {
        for (int set = 0; set < 1 << NODES; set++) {
            int[] values = new int[NODES];
            int count = 0;
            for (int i = 0; i < NODES; i++) {
                if ((set & 1 << i) != 0 && state[cell(i, r) + SEEN] > 0) {
                    values[i] = state[cell(i, r) + SEEN];
                    count++;
                }
            }
            if (count >= QUORUM && count == Integer.bitCount(set)) {
                decideOn(state.clone(), r, values);
            }
        }
    }

    private void decideOn(byte[] next, int r, int[] values) {
        int[] sorted = values.clone();
        Arrays.sort(sorted);
        int highest = sorted[NODES - 1];
        int agreed = sorted[NODES - QUORUM];
        if (rule == Rule.LEFTOVERS && r == LAST && next[request(0) + PHASE] == DECIDED) {
            next[request(r) + STEP] = next[request(0) + STEP];
            decide(next, r, next[request(0) + VALUE]);
        } else if (rule == Rule.AT_LEAST) {
            decide(next, r, agreed);
        } else if (rule == Rule.MAX_WITHOUT_RAISE) {
            decide(next, r, highest);
        } else if (agreed == highest || agreed == sorted[0]) {
            decide(next, r, agreed);
        } else {
            next[request(r) + PHASE] = RAISING;
            next[request(r) + VALUE] = (byte) highest;
            for (int i = 0; i < NODES; i++) {
                next[cell(i, r) + SEEN] = 0;
                next[cell(i, r) + RAISE] = values[i] == 0 ? 0 : values[i] == highest ? STANDING : SENT;
            }
            visit(next, NAMES[r], "raises to " + highest, NO_NODE);
        }
    }

    private int standingCount(byte[] state, int r) {
        int count = 0;
        for (int i = 0; i < NODES; i++) {
            count += state[cell(i, r) + RAISE] == STANDING ? 1 : 0;
        }
        return count;
    }

    private void decide(byte[] next, int r, int token) {
        int request = request(r);
        int last = rule == Rule.UPWARD ? token + next[request + STEP] : token;
        if (last > COUNTER_MAX) {
            return;
        }
        next[request + PHASE] = DECIDED;
        next[request + VALUE] = (byte) last;
        int first = first(next, r);
        String event = "has " + first + " to " + last;
        if (first <= next[request + FLOOR]) {
            violate("a lease has numbers from " + first + " on, an earlier one had " + next[request + FLOOR]);
        }
        for (int other = 0; other < requestCount; other++) {
            if (lease(other) != lease(r) && next[request(other) + PHASE] == DECIDED) {
                compare(next, r, other);
            }
        }
        for (int i = 0; i < NODES; i++) {
            if (r == 0 && isRefill) {
                next[node(i)
                        + IS_VOTER] = (byte) (next[cell(i, r) + SEEN] == token || next[cell(i, r) + RAISE] == STANDING
                                ? 1
                                : 0);
            }
            next[cell(i, r) + SEEN] = 0;
            next[cell(i, r) + RAISE] = next[cell(i, r) + RAISE] == SENT ? SENT : 0;
        }
        visit(next, NAMES[r], event, NO_NODE);
    }

    private void compare(byte[] state, int r, int other) {
        boolean isAbove = first(state, r) > state[request(other) + VALUE];
        boolean isBelow = state[request(r) + VALUE] < first(state, other);
        if (!isAbove && !isBelow) {
            violate("two leases have the same number");
        }
        if (isAbove && (isAnyBelow(state, r, other) || isAnyAbove(state, other, r))
                || isBelow && (isAnyAbove(state, r, other) || isAnyBelow(state, other, r))) {
            violate("a lease has numbers on both sides of another");
        }
    }

    /** Whether the lease of a request has a block below the block of another. */
    private boolean isAnyBelow(byte[] state, int r, int other) {
        return IntStream.range(0, requestCount)
                .anyMatch(same -> isDecidedFor(state, same, r)
                        && state[request(same) + VALUE] < first(state, other));
    }

    private boolean isAnyAbove(byte[] state, int r, int other) {
        return IntStream.range(0, requestCount)
                .anyMatch(same -> isDecidedFor(state, same, r)
                        && first(state, same) > state[request(other) + VALUE]);
    }

    private boolean isDecidedFor(byte[] state, int request, int r) {
        return lease(request) == lease(r) && state[request(request) + PHASE] == DECIDED;
    }

    // ---- a node -----------------------------------------------------------------------------------------------------

    private void runNode(byte[] state, int i) {
        int node = node(i);
        for (int r = 0; r < requestCount; r++) {
            int cell = cell(i, r);
            boolean isOwner = state[node + HOLDER] == lease(r) + 1;
            if (state[cell + IS_SENT] == 1 && (!isRefill(r) || isOwner || rule == Rule.REFILL_WITHOUT_KEY)) {
                count(state, i, r);
            }
            int value = state[request(r) + VALUE];
            if (state[cell + RAISE] == SENT && isOwner) {
                byte[] next = state.clone();
                next[node + COUNTER] = (byte) Math.max(next[node + COUNTER], value);
                next[cell + RAISE] = state[request(r) + PHASE] == RAISING ? STANDING : 0;
                visit(next, NAMES[r], "the counter is raised", i);
            }
            if (state[request(r) + PHASE] == DECIDED && rule != Rule.UPWARD && state[node + COUNTER] < value) {
                byte[] next = state.clone();
                next[node + COUNTER] = (byte) value;
                next[node + HOLDER] = isOwner ? 0 : next[node + HOLDER];
                visit(next, NAMES[r], "the release raises the counter", i);
            }
        }
        if (areLosses && state[node + IS_COUNTER_LOST] == 0) {
            byte[] next = state.clone();
            next[node + IS_COUNTER_LOST] = 1;
            next[node + HOLDER] = 0;
            visit(next, "", "the counter is lost", i);
        }
    }

    private void count(byte[] state, int i, int r) {
        int node = node(i);
        byte step = (byte) (rule == Rule.COUNTED_BY_ONE ? 1 : state[request(r) + STEP] + 1);
        int value = state[node + COUNTER] + step;
        byte[] next = state.clone();
        if (state[node + IS_COUNTER_LOST] == 1) {
            int all = 0;
            for (int j = 0; j < NODES; j++) {
                all = Math.max(all, state[node(j) + COUNTER]);
            }
            value = all + (rule == Rule.SEED_WITHOUT_STEP ? 1 : step);
            next[node + IS_COUNTER_LOST] = 0;
        }
        if (value > COUNTER_MAX) {
            return;
        }
        next[node + COUNTER] = (byte) value;
        next[node + HOLDER] = (byte) (lease(r) + 1);
        next[cell(i, r) + IS_SENT] = 0;
        visit(next.clone(), NAMES[r], "the node counts, the reply is lost,", i);
        boolean isVote = !isRefill(r) || state[node + IS_VOTER] == 1 || rule != Rule.PRODUCT;
        if (state[request(r) + PHASE] == OPEN && isVote) {
            next[cell(i, r) + SEEN] = (byte) value;
            visit(next, NAMES[r], "the node counts to " + value, i);
        }
    }
}
