package dev.redlock.quorum;

import dev.redlock.search.StateSearch;

/**
 * Visits every state that two places for clients can reach while the list of nodes changes, and checks in each that at
 * most one client has a valid lease. Events in any order and at any time:
 * <ul>
 * <li>A client starts with one of the lists that the step allows, acquires, extends or releases. Its commands reach any
 * of its nodes; a release or a rollback may be lost.
 * <li>A client ends; its lease and its keys stay. Another one starts in its place when the lease has expired.
 * <li>The change goes on to its next step, or time passes.
 * </ul>
 *
 * <p>Times are relative to the present, in whole units, so an endless run has a finite number of states.
 */
final class JointListsSearch extends StateSearch {

    /** The lists, node i as bit i. */
    enum Change {
        REPLACE_ONE(0b0111, 0b1011), GROW(0b00111, 0b11111), SHRINK(0b11111, 0b00111), REPLACE_TWO(0b00111, 0b11001);

        private final long present;
        private final long next;

        Change(long present, long next) {
            this.present = present;
            this.next = next;
        }

        private int nodeCount() {
            return Long.bitCount(present | next);
        }
    }

    /** How the list is changed. */
    enum Rule {
        /** The three steps. */
        PRODUCT,
        /** Wrong: clients with the old list are replaced by clients with the next list. */
        WITHOUT_BOTH_LISTS,
        /** Wrong: clients with the next list start while clients with the old list run. */
        WITHOUT_THE_END_OF_THE_FIRST_STEP,
        /** Wrong: clients with the next list start when the last client with the old list has ended. */
        WITHOUT_THE_WAIT,
        /** Wrong: a majority of all nodes decides while there are two lists. */
        MAJORITY_OF_ALL_NODES,
        /** Wrong: an extension needs a majority of the old list only. */
        EXTENSION_BY_ONE_LIST
    }

    private static final int TTL = 2;
    private static final int CLIENTS = 2;

    // The list of a client.
    private static final int NO_CLIENT = 0;
    private static final int OLD = 1;
    private static final int BOTH = 2;
    private static final int NEXT = 3;
    private static final int LISTS = 4;

    // The steps of the change.
    private static final int BEFORE = 0;
    private static final int FIRST_STEP = 1;
    /** No client with the old list alone is left. */
    private static final int WAIT = 2;
    private static final int LAST_STEP = 3;
    private static final int AFTER = 4;

    private final Rule rule;
    private final int nodes;
    private final Majority ofBoth;
    private final long[] masks = new long[LISTS];
    // The parts of a state: a key for each node, then these.
    private final int leases;
    private final int lists;
    private final int step;
    private final int wait;
    private static final int BITS = 3;

    JointListsSearch(Change change, Rule rule) {
        super(bits(new int[0], change.nodeCount() + 2 * CLIENTS + 2, BITS), 0);
        this.rule = rule;
        this.masks[OLD] = change.present;
        this.masks[BOTH] = change.present | change.next;
        this.masks[NEXT] = change.next;
        this.nodes = change.nodeCount();
        this.ofBoth = rule == Rule.MAJORITY_OF_ALL_NODES
                ? Majority.of(nodes)
                : Majority.ofBoth(change.present, change.next);
        this.leases = nodes;
        this.lists = leases + CLIENTS;
        this.step = lists + CLIENTS;
        this.wait = step + 1;
    }

    @Override
    protected void expand(byte[] state) {
        tick(state.clone());
        nextStep(state);
        for (int c = 0; c < CLIENTS; c++) {
            if (state[lists + c] == NO_CLIENT) {
                start(state, c);
            } else {
                runClient(state, c);
            }
        }
    }

    @Override
    protected String violationOf(byte[] state) {
        return state[leases] > 0 && state[leases + 1] > 0 ? "two holders" : null;
    }

    // ---- the change -------------------------------------------------------------------------------------------------

    private boolean isListAllowed(int list, int stepNow) {
        return switch (list) {
            case OLD -> stepNow <= FIRST_STEP;
            case BOTH -> stepNow >= FIRST_STEP && stepNow <= LAST_STEP && rule != Rule.WITHOUT_BOTH_LISTS;
            default -> stepNow >= LAST_STEP || stepNow >= FIRST_STEP && (rule == Rule.WITHOUT_BOTH_LISTS
                    || rule == Rule.WITHOUT_THE_END_OF_THE_FIRST_STEP);
        };
    }

    /** A step ends when the last client with its oldest list has ended. */
    private void nextStep(byte[] state) {
        int now = state[step];
        boolean isLeft = false;
        for (int c = 0; c < CLIENTS; c++) {
            isLeft |= state[lists + c] == (now == FIRST_STEP ? OLD : BOTH) && (now == FIRST_STEP || now == LAST_STEP);
        }
        if (now == AFTER || isLeft || state[wait] > 0) {
            return;
        }
        byte[] next = state.clone();
        next[step]++;
        next[wait] = (byte) (next[step] == WAIT && rule != Rule.WITHOUT_THE_WAIT ? TTL : 0);
        visit(next);
    }

    private void tick(byte[] next) {
        for (int i = 0; i < nodes; i++) {
            next[i] = (byte) (leftOf(next[i]) > 1 ? next[i] - 1 : 0);
        }
        for (int c = 0; c < CLIENTS; c++) {
            decrement(next, leases + c);
        }
        decrement(next, wait);
        visit(next);
    }

    // ---- a client ---------------------------------------------------------------------------------------------------

    private void start(byte[] state, int c) {
        for (int list = OLD; list <= NEXT; list++) {
            if (state[leases + c] == 0 && isListAllowed(list, state[step])) {
                byte[] next = state.clone();
                next[lists + c] = (byte) list;
                visit(next);
            }
        }
    }

    private void runClient(byte[] state, int c) {
        byte[] ended = state.clone();
        ended[lists + c] = NO_CLIENT;
        visit(ended);
        boolean isHeld = state[leases + c] > 0;
        for (long mask = 1; mask < 1L << nodes; mask++) {
            if ((mask & ~masks[state[lists + c]]) == 0) {
                if (isHeld) {
                    extend(state, c, mask);
                } else {
                    acquire(state, c, mask);
                }
            }
        }
        if (isHeld) {
            release(state, c);
        }
    }

    private void acquire(byte[] state, int c, long mask) {
        byte[] next = state.clone();
        long granted = 0;
        for (int i = 0; i < nodes; i++) {
            if ((mask & 1L << i) != 0 && state[i] == 0) {
                next[i] = keyOf(c);
                granted |= 1L << i;
            }
        }
        if (granted == mask) {
            next[leases + c] = (byte) (isEnough(state[lists + c], granted) ? TTL : 0);
            visit(next);
        }
    }

    /** A key that is missing is set again, and does not count. */
    private void extend(byte[] state, int c, long mask) {
        byte[] next = state.clone();
        long held = 0;
        for (int i = 0; i < nodes; i++) {
            if ((mask & 1L << i) != 0 && (state[i] == 0 || isKeyOf(state[i], c))) {
                held |= isKeyOf(state[i], c) ? 1L << i : 0;
                next[i] = keyOf(c);
            }
        }
        int list = state[lists + c];
        boolean isOneList = rule == Rule.EXTENSION_BY_ONE_LIST && list == BOTH;
        if (isEnough(isOneList ? OLD : list, held)) {
            next[leases + c] = TTL;
        }
        visit(next);
    }

    private boolean isEnough(int list, long granted) {
        return list == BOTH
                ? ofBoth.isReachedBy(granted)
                : 2 * Long.bitCount(granted & masks[list]) > Long.bitCount(masks[list]);
    }

    private void release(byte[] state, int c) {
        byte[] next = state.clone();
        next[leases + c] = 0;
        visit(next.clone());
        for (int i = 0; i < nodes; i++) {
            next[i] = isKeyOf(next[i], c) ? 0 : next[i];
        }
        visit(next);
    }

    private static byte keyOf(int c) {
        return (byte) (1 + c * TTL + TTL - 1);
    }

    private static int leftOf(int key) {
        return key == 0 ? 0 : (key - 1) % TTL + 1;
    }

    private static boolean isKeyOf(int key, int c) {
        return key > 0 && (key - 1) / TTL == c;
    }
}
