package dev.redlock.quorum;

import dev.redlock.search.StateSearch;
import java.util.Arrays;

/**
 * Visits every state that a few overlapping grants on three nodes can reach, and checks each fencing token when it is
 * decided. Events in any order: a request executes, late or never; a key vanishes; a client decides on any set of
 * grants that is large enough, gives up, raises, or releases. A lost or late reply is a decision on a smaller set. The
 * requests of one grant to one node execute in the order in which they were sent.
 *
 * <p>Reductions that make three grants feasible, and why they miss nothing:
 * <ul>
 * <li>Nodes are interchangeable, and so are grants: states that differ only in their order are one state.
 * <li>A key may vanish at any moment, so an acquire of another client may always succeed. The model has only this: an
 * acquire replaces the holder. A vanished key has no other effect than a raise without effect, and a raise may be lost
 * anyway. For the same reason a release need not remove the key.
 * <li>A request that would change nothing at its node is not executed. Its execution would only remove it, and every
 * later state is also reachable with the request still under way, which it may be for ever.
 * <li>Values that are never read again are set to one value: a holder that will raise nothing, and values that can be
 * neither a token nor the highest value.
 * <li>Counters are only compared and incremented: starting counters without a 0 behave like those lower by one.
 * <li>Of the tokens from before a grant, only the greatest is kept.
 * </ul>
 *
 * <p>Node 0 may be faulty: its counter jumps ahead to any value, or it replies with any value. Then the nodes are not
 * interchangeable. A {@link Bound} says which grants a client leaves out. A search for progress checks two things in
 * every state: a single grant gets a token from the correct nodes, whatever node 0 replies, and those nodes were not
 * pushed beyond the clock.
 */
final class FenceSearch extends StateSearch {

    static final int NODES = 3;
    private static final int QUORUM = 2;

    /** How a token is decided. */
    enum Rule {
        /** The rule of the client. */
        EXACTLY,
        /** Wrong: the q-th largest value, without q nodes at exactly this value. */
        AT_LEAST,
        /** Wrong: the highest value of the quorum, without raising the others. */
        MAX_WITHOUT_RAISE
    }

    /** The behaviour of node 0, or of all nodes. */
    enum Fault {
        /** As the other nodes. */
        NONE,
        /** None is at fault. Each counts by one or two, as for a set of resources: above each of their counters. */
        STEPS,
        /** Before it counts a grant, its counter may have jumped ahead to any value. */
        AHEAD,
        /** It replies with any value, also one from before. */
        ANY
    }

    /** Which grants a client leaves out of a decision, and which values it does not pass on. */
    enum Bound {
        /** None. */
        NONE,
        /** The product's, each client with a clock of its own. */
        CLOCK_OR_MAJORITY,
        /** Each client leaves out any grants, so that a quorum remains. */
        ARBITRARY,
        /** Wrong: every value beyond the clock, whatever the other values are. */
        CLOCK_ALONE,
        /** Wrong: every value beyond the majority, whatever the clock is. */
        MAJORITY_ALONE
    }

    /** How far beyond a majority a value may be: more than the grants that drive nodes apart. */
    private static final int LEAD = 3;
    /** Clients' clocks differ by so much. */
    private static final int CLOCK_SKEW = 1;

    // A grant's part of the state.
    private static final int PHASE = 0;
    /** From the decision on its token, before that the greatest token that was there when it began. */
    private static final int TOKEN = 1;
    private static final int RAISE_TO = 2;
    private static final int HIGHEST = 3;
    private static final int GRANT_LENGTH = 4;
    // A node's part: its counter, its holder, then for each grant the values acquired, raised, released and seen.
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
    /** Acquire: 0 not executed, 1 refused, 2 + v granted with counter v. */
    private static final byte ACQUIRE_REFUSED = 1;
    private static final byte GRANTED_BASE = 2;
    private static final int VALUE_BITS = 4;
    /** The largest counter: with its base it has to fit its bits. */
    private static final int VALUE_MAX = (1 << VALUE_BITS) - 1 - GRANTED_BASE;

    private static final int VALUE_MASK = (1 << VALUE_BITS) - 1;
    private static final int CELL_BITS = VALUE_BITS + 3;
    private static final int[] NODE_HEAD_BITS = {VALUE_BITS, 2};
    /** The requests of a grant at a node are one number, with the bits of the first of them. */
    private static final int[] PER_GRANT_BITS = {VALUE_BITS, CELL_BITS - VALUE_BITS, 0, 0};
    private static final int[] GRANT_BITS = {3, VALUE_BITS, VALUE_BITS, VALUE_BITS};

    private final int grantCount;
    private final int counterMax;
    private final Rule rule;
    private final Fault fault;
    private final Bound bound;
    /** The values that clients' clocks allow, one at a time. */
    private final long[] clocks;
    /** The value that clocks allow long after the grants of this search; -1 without a check of progress. */
    private final long laterClock;
    private final FenceRule fence;

    /**
     * A search without a fault.
     *
     * @param counterMax counters start at any value up to this
     */
    FenceSearch(Rule rule, int grantCount, int counterMax) {
        this(rule, grantCount, counterMax, Fault.NONE, Bound.NONE, -1);
    }

    /** A clock of -1 turns the check of progress off; with 0, no value can come from the clock. */
    FenceSearch(int grantCount, int counterMax, Fault fault, Bound bound, int clock) {
        this(Rule.EXACTLY, grantCount, counterMax, fault, bound, clock);
    }

    private FenceSearch(Rule rule, int grantCount, int counterMax, Fault fault, Bound bound, int clock) {
        super(isNode0Alike(fault) ? 0 : 1, bits(new int[0], grantCount, GRANT_BITS), NODES,
                bits(NODE_HEAD_BITS, grantCount, PER_GRANT_BITS));
        assert grantCount <= 3 : "more do not fit the bits of a state";
        assert counterMax + grantCount * NODES <= VALUE_MAX : "each grant counts once at each node";
        this.grantCount = grantCount;
        this.counterMax = counterMax;
        this.rule = rule;
        this.fault = fault;
        this.bound = bound;
        this.clocks = switch (bound) {
            case NONE, ARBITRARY -> new long[]{Long.MAX_VALUE};
            case MAJORITY_ALONE -> new long[]{0};
            case CLOCK_OR_MAJORITY, CLOCK_ALONE ->
                clock <= 0 ? new long[]{0} : new long[]{clock, clock + CLOCK_SKEW};
        };
        // Each grant counts once and leads once, and the one that is looked at counts once more.
        this.laterClock = clock <= 0 ? clock : clock + CLOCK_SKEW + (LEAD + 1) * grantCount + 1;
        assert laterClock < VALUE_MAX : "there are values beyond each clock";
        this.fence = new FenceRule(Majority.of(NODES), bound == Bound.CLOCK_ALONE ? -VALUE_MASK : LEAD);
    }

    @Override
    protected void start() {
        for (byte b = 0; b <= counterMax; b++) {
            for (byte c = b; c <= counterMax; c++) {
                byte[] state = new byte[length()];
                state[node(1) + COUNTER] = b;
                state[node(2) + COUNTER] = c;
                visit(state);
            }
        }
    }

    private int cell(int i, int g, int field) {
        return node(i) + NODE_HEAD + PER_GRANT * g + field;
    }

    private int grant(int g, int field) {
        return GRANT_LENGTH * g + field;
    }

    private static boolean isNode0Alike(Fault fault) {
        return fault == Fault.NONE || fault == Fault.STEPS;
    }

    @Override
    protected void reduce(byte[] state) {
        forget(state);
        sortGrants(state);
    }

    /** Clears a holder that will raise nothing. */
    private void forget(byte[] state) {
        for (int i = 0; i < NODES; i++) {
            int g = state[node(i) + HOLDER] - 1;
            if (g >= 0 && state[grant(g, PHASE)] != ACQUIRING && state[cell(i, g, RAISED)] != PENDING) {
                state[node(i) + HOLDER] = 0;
            }
        }
    }

    /** Sorts by properties that do not depend on the order of nodes; grants with equal properties keep their order. */
    private void sortGrants(byte[] state) {
        for (int g = 1; g < grantCount; g++) {
            for (int h = g; h > 0 && rankOf(state, h - 1) > rankOf(state, h); h--) {
                swapGrants(state, h - 1, h);
            }
        }
    }

    private long rankOf(byte[] state, int g) {
        long[] cells = {packCell(state, 0, g), packCell(state, 1, g), packCell(state, 2, g)};
        sort(cells, isNode0Alike(fault) ? 0 : 1);
        return (packGrant(state, g) << CELL_BITS | cells[0]) << 2 * CELL_BITS | cells[1] << CELL_BITS | cells[2];
    }

    private void swapGrants(byte[] state, int g, int h) {
        swap(state, grant(g, 0), grant(h, 0), GRANT_LENGTH);
        for (int i = 0; i < NODES; i++) {
            swap(state, cell(i, g, 0), cell(i, h, 0), PER_GRANT);
            int holder = state[node(i) + HOLDER] - 1;
            if (holder == g || holder == h) {
                state[node(i) + HOLDER] = (byte) (holder == g ? h + 1 : g + 1);
            }
        }
    }

    private long packCell(byte[] state, int i, int g) {
        return state[cell(i, g, ACQUIRED)] << 3 | requestsOf(state, i, g);
    }

    /** A release is the last request. Before it the value of a node is seen, or raised, or neither. */
    private int requestsOf(byte[] state, int i, int g) {
        byte raised = state[cell(i, g, RAISED)];
        byte seen = state[cell(i, g, SEEN)];
        return switch (state[cell(i, g, RELEASED)]) {
            case DONE -> {
                assert raised == 0 && seen == 0;
                yield 6;
            }
            case PENDING -> {
                assert raised != DONE && seen == 0;
                yield 4 + raised;
            }
            default -> {
                assert seen == 0 || raised == 0;
                yield seen == 1 ? 3 : raised;
            }
        };
    }

    private void setRequests(byte[] state, int i, int g, int requests) {
        state[cell(i, g, RELEASED)] = requests == 6 ? DONE : requests >= 4 ? PENDING : 0;
        state[cell(i, g, SEEN)] = (byte) (requests == 3 ? 1 : 0);
        state[cell(i, g, RAISED)] = (byte) (requests == 6 || requests == 3 ? 0 : requests & 3);
    }

    private long packGrant(byte[] state, int g) {
        return state[grant(g, PHASE)] << 3 * VALUE_BITS | state[grant(g, TOKEN)] << 2 * VALUE_BITS
                | state[grant(g, RAISE_TO)] << VALUE_BITS | state[grant(g, HIGHEST)];
    }

    @Override
    protected long packedNode(byte[] state, int i) {
        long bits = state[node(i) + COUNTER] << 2 | state[node(i) + HOLDER];
        for (int g = 0; g < grantCount; g++) {
            bits = bits << CELL_BITS | packCell(state, i, g);
        }
        return bits;
    }

    @Override
    protected void unpackNode(long packed, byte[] state, int i) {
        long bits = packed;
        for (int g = grantCount - 1; g >= 0; g--) {
            state[cell(i, g, ACQUIRED)] = (byte) (bits >>> 3 & VALUE_MASK);
            setRequests(state, i, g, (int) (bits & 7));
            bits >>>= CELL_BITS;
        }
        state[node(i) + COUNTER] = (byte) (bits >>> 2);
        state[node(i) + HOLDER] = (byte) (bits & 3);
    }

    @Override
    protected void expand(byte[] state) {
        if (laterClock >= 0) {
            checkProgress(state);
        }
        if (laterClock < 0 && !canDecide(state)) {
            return;
        }
        boolean isStarted = false;
        for (int g = 0; g < grantCount; g++) {
            if (state[grant(g, PHASE)] == IDLE) {
                if (!isStarted) {
                    start(state, g);
                }
                isStarted = true;
            } else {
                for (int i = 0; i < NODES; i++) {
                    execute(state, g, i);
                }
                step(state, g);
            }
        }
    }

    /** Whether a token can still be decided; from other states on nothing can go wrong any more. */
    private boolean canDecide(byte[] state) {
        for (int g = 0; g < grantCount; g++) {
            if (state[grant(g, PHASE)] < HELD) {
                return true;
            }
        }
        return false;
    }

    private void start(byte[] state, int g) {
        byte[] next = state.clone();
        next[grant(g, PHASE)] = ACQUIRING;
        for (int other = 0; other < grantCount; other++) {
            if (next[grant(other, PHASE)] >= HELD) {
                next[grant(g, TOKEN)] = (byte) Math.max(next[grant(g, TOKEN)], next[grant(other, TOKEN)]);
            }
        }
        visit(next);
    }

    private void execute(byte[] state, int g, int i) {
        if (state[cell(i, g, RELEASED)] == DONE) {
            return;
        }
        if (state[cell(i, g, ACQUIRED)] == 0) {
            acquire(state, g, i);
        }
        byte raiseTo = state[grant(g, RAISE_TO)];
        if (state[cell(i, g, RAISED)] == PENDING && state[node(i) + HOLDER] == g + 1
                && state[node(i) + COUNTER] <= raiseTo) {
            byte[] next = state.clone();
            next[cell(i, g, RAISED)] = next[grant(g, PHASE)] == RAISING ? DONE : 0;
            next[node(i) + COUNTER] = raiseTo;
            visit(next);
        }
        byte highest = state[grant(g, HIGHEST)];
        if (state[cell(i, g, RELEASED)] == PENDING && state[node(i) + COUNTER] < highest) {
            byte[] next = state.clone();
            next[cell(i, g, RELEASED)] = DONE;
            next[cell(i, g, ACQUIRED)] = ACQUIRE_REFUSED;
            next[cell(i, g, RAISED)] = 0;
            next[node(i) + COUNTER] = highest;
            visit(next);
        }
    }

    /** A counter that has reached its end grants nothing. */
    private void acquire(byte[] state, int g, int i) {
        int next = state[node(i) + COUNTER] + 1;
        boolean isAtFault = i == 0 && fault != Fault.NONE && fault != Fault.STEPS;
        int greatest = fault == Fault.STEPS ? next + 1 : next;
        int first = isAtFault && fault == Fault.ANY ? 1 : next;
        int last = isAtFault ? VALUE_MAX : Math.min(greatest, VALUE_MAX);
        for (int value = first; value <= last; value++) {
            visitAcquired(state.clone(), g, i, (byte) value);
        }
    }

    private void visitAcquired(byte[] next, int g, int i, byte value) {
        next[node(i) + HOLDER] = (byte) (g + 1);
        next[node(i) + COUNTER] = value;
        byte phase = next[grant(g, PHASE)];
        boolean isRead = phase == ACQUIRING || phase == RAISING && value > next[grant(g, RAISE_TO)]
                || phase == HELD && value > next[grant(g, HIGHEST)];
        next[cell(i, g, ACQUIRED)] = isRead ? (byte) (GRANTED_BASE + value) : ACQUIRE_REFUSED;
        visit(next);
    }

    private int valueOf(byte[] state, int i, int g) {
        return state[cell(i, g, ACQUIRED)] - GRANTED_BASE;
    }

    private void step(byte[] state, int g) {
        switch (state[grant(g, PHASE)]) {
            case ACQUIRING -> {
                decideOnEachSet(state, g);
                releaseUndecided(state, g);
            }
            case RAISING -> {
                claimRaised(state, g);
                releaseWithEachHighest(state, g, state[grant(g, RAISE_TO)]);
            }
            case HELD -> releaseWithEachHighest(state, g, state[grant(g, HIGHEST)]);
            default -> {
                // over: only its requests are still on their way
            }
        }
    }

    private void decideOnEachSet(byte[] state, int g) {
        for (int set = 0; set < 1 << NODES; set++) {
            if (Integer.bitCount(set) >= QUORUM && isGranted(state, g, set)) {
                decide(state, g, set);
            }
        }
    }

    private boolean isGranted(byte[] state, int g, int set) {
        for (int i = 0; i < NODES; i++) {
            if ((set & 1 << i) != 0 && state[cell(i, g, ACQUIRED)] < GRANTED_BASE) {
                return false;
            }
        }
        return true;
    }

    private void decide(byte[] state, int g, int set) {
        for (long clock : clocks) {
            int[] values = answers(state, g, set, VALUE_MAX);
            Arrays.sort(values);
            long token = switch (rule) {
                case EXACTLY -> fence.agreed();
                case AT_LEAST -> values[NODES - QUORUM];
                case MAX_WITHOUT_RAISE -> values[NODES - 1];
            };
            if (bound == Bound.ARBITRARY) {
                decideOnSome(state, g, set, token);
                return;
            }
            fence.dropOutOfRange(clock);
            if (token != FenceRule.NONE) {
                hold(state.clone(), g, (byte) token, (int) fence.highest());
            } else {
                raise(state.clone(), g);
            }
        }
    }

    /** Leaves out the grants above each of the values. */
    private void decideOnSome(byte[] state, int g, int set, long token) {
        if (token != FenceRule.NONE) {
            hold(state.clone(), g, (byte) token, (int) token);
            return;
        }
        for (int i = 0; i < NODES; i++) {
            if ((set & 1 << i) != 0) {
                answers(state, g, set, valueOf(state, i, g));
                raise(state.clone(), g);
            }
        }
    }

    /** Passes the replies of a set of nodes to the rule, unless they are above a limit. */
    private int[] answers(byte[] state, int g, int set, int limit) {
        fence.reset();
        int[] values = new int[NODES];
        for (int i = 0; i < NODES; i++) {
            int value = valueOf(state, i, g);
            if ((set & 1 << i) != 0 && value <= limit) {
                values[i] = value;
                fence.onGrant(i, value);
            }
        }
        return values;
    }

    private int countedGrants() {
        return Long.bitCount(fence.lagging() | fence.nodesAt(fence.highest()));
    }

    private void raise(byte[] next, int g) {
        if (countedGrants() < QUORUM) {
            return;
        }
        next[grant(g, PHASE)] = RAISING;
        next[grant(g, RAISE_TO)] = (byte) fence.highest();
        for (int i = 0; i < NODES; i++) {
            if ((fence.lagging() & 1L << i) != 0) {
                next[cell(i, g, RAISED)] = PENDING;
            }
        }
        for (int i = 0; i < NODES; i++) {
            // From here on: whether the node had that value when it was counted, and the values of a late reply.
            next[cell(i, g, SEEN)] = (byte) (fence.nodesAt(fence.highest()) >>> i & 1);
            if (valueOf(next, i, g) <= fence.highest()) {
                next[cell(i, g, ACQUIRED)] = (byte) Math.min(next[cell(i, g, ACQUIRED)], ACQUIRE_REFUSED);
            }
        }
        visit(next);
    }

    private void claimRaised(byte[] state, int g) {
        int standing = 0;
        for (int i = 0; i < NODES; i++) {
            standing += state[cell(i, g, SEEN)] == 1 || state[cell(i, g, RAISED)] == DONE ? 1 : 0;
        }
        if (standing >= QUORUM) {
            hold(state.clone(), g, state[grant(g, RAISE_TO)], state[grant(g, RAISE_TO)]);
        }
    }

    private void hold(byte[] next, int g, byte token, int highest) {
        byte before = next[grant(g, TOKEN)];
        boolean isRaising = false;
        for (int i = 0; i < NODES; i++) {
            next[cell(i, g, SEEN)] = 0;
            if (valueOf(next, i, g) <= highest) {
                next[cell(i, g, ACQUIRED)] = (byte) Math.min(next[cell(i, g, ACQUIRED)], ACQUIRE_REFUSED);
            }
            isRaising |= next[cell(i, g, RAISED)] == PENDING;
            next[cell(i, g, RAISED)] = next[cell(i, g, RAISED)] == PENDING ? PENDING : 0;
        }
        next[grant(g, RAISE_TO)] = isRaising ? next[grant(g, RAISE_TO)] : 0;
        next[grant(g, HIGHEST)] = (byte) highest;
        next[grant(g, PHASE)] = HELD;
        next[grant(g, TOKEN)] = token;
        if (token <= before) {
            violate("a grant that began after " + before + " was given got " + token);
        }
        for (int other = 0; other < grantCount; other++) {
            if (other != g && next[grant(other, PHASE)] >= HELD && next[grant(other, TOKEN)] == token) {
                violate("two grants got " + token);
            }
        }
        visit(next);
    }

    /** Gives up. The highest value is that of any subset of the replies, without values out of range. */
    private void releaseUndecided(byte[] state, int g) {
        if (clocks[0] == Long.MAX_VALUE) {
            releaseWithEachHighest(state, g, 0);
            return;
        }
        for (int set = 0; set < 1 << NODES; set++) {
            if (isGranted(state, g, set)) {
                for (long clock : clocks) {
                    answers(state, g, set, VALUE_MAX);
                    fence.dropOutOfRange(clock);
                    release(state, g, (int) fence.highest());
                }
            }
        }
    }

    /** A late reply may have been read or not: the highest value is any granted one from the decided value on. */
    private void releaseWithEachHighest(byte[] state, int g, int atLeast) {
        release(state, g, atLeast);
        long clock = clocks[clocks.length - 1];
        for (int i = 0; i < NODES; i++) {
            int value = valueOf(state, i, g);
            if (value > atLeast && value <= clock) {
                release(state, g, value);
            }
        }
    }

    private void release(byte[] state, int g, int highest) {
        byte[] next = state.clone();
        next[grant(g, TOKEN)] = next[grant(g, PHASE)] == HELD ? next[grant(g, TOKEN)] : 0;
        next[grant(g, PHASE)] = OVER;
        next[grant(g, HIGHEST)] = (byte) highest;
        boolean isRaising = false;
        for (int i = 0; i < NODES; i++) {
            next[cell(i, g, RELEASED)] = PENDING;
            // Clears values that are never read again, so that states that differ only in them are one.
            next[cell(i, g, SEEN)] = 0;
            next[cell(i, g, ACQUIRED)] = (byte) Math.min(next[cell(i, g, ACQUIRED)], ACQUIRE_REFUSED);
            isRaising |= next[cell(i, g, RAISED)] == PENDING;
            next[cell(i, g, RAISED)] = next[cell(i, g, RAISED)] == PENDING ? PENDING : 0;
        }
        next[grant(g, RAISE_TO)] = isRaising ? next[grant(g, RAISE_TO)] : 0;
        visit(next);
    }

    // ---- progress ---------------------------------------------------------------------------------------------------

    /** A later, single grant: two correct nodes reply, and the third node may or may not. */
    private void checkProgress(byte[] state) {
        int[] next = new int[NODES];
        for (int i = 0; i < NODES; i++) {
            next[i] = state[node(i) + COUNTER] + 1;
        }
        if (isNode0Alike(fault)) {
            for (int i = 0; i < NODES; i++) {
                checkGrant(next[(i + 1) % NODES], next[(i + 2) % NODES], 0);
                checkGrant(next[(i + 1) % NODES], next[(i + 2) % NODES], next[i]);
            }
        } else {
            for (int other = 0; other <= VALUE_MAX; other++) {
                checkGrant(next[1], next[2], other);
            }
        }
    }

    /** Node 0 replies with a value, or not at all if it is 0. The check does not rely on raising node 0. */
    private void checkGrant(int one, int two, int other) {
        if (one > VALUE_MAX || two > VALUE_MAX) {
            violate("a node that is not at fault was pushed to the end of its numbers");
            return;
        }
        fence.reset();
        fence.onGrant(1, one);
        fence.onGrant(2, two);
        if (other > 0) {
            fence.onGrant(0, other);
        }
        if (fence.agreed() != FenceRule.NONE) {
            return;
        }
        boolean hasClock = bound == Bound.CLOCK_OR_MAJORITY || bound == Bound.CLOCK_ALONE;
        fence.dropOutOfRange(hasClock ? laterClock : clocks[0]);
        long standing = fence.nodesAt(fence.highest()) | fence.lagging() & 0b110;
        if (Long.bitCount(standing) < QUORUM) {
            violate("no token where two nodes count to " + one + " and " + two + " and the third to " + other);
        }
    }
}
