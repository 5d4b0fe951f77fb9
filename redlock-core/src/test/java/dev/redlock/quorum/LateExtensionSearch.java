package dev.redlock.quorum;

import dev.redlock.search.StateSearch;

/**
 * Visits every state that extensions of a lease on three nodes can reach, and checks in each whether another client can
 * hold the lock while the lease is valid. Events in any order and at any time:
 * <ul>
 * <li>An extension by any ttl starts, whether or not the previous one was decided.
 * <li>A node executes the next command of its connection and replies, or a command fails or is not sent.
 * <li>A connection is replaced; its commands are executed in any order, at any time or never.
 * <li>Time passes; keys expire; another client acquires any free node and releases it.
 * </ul>
 *
 * <p>Reductions, and why they miss nothing:
 * <ul>
 * <li>Times are relative to the present, in whole units, so an endless run has a finite number of states.
 * <li>Another client may acquire and release a free node at any moment. So a node without our key is one state: a
 * command that sets our key if the node is free either does or does not. Two holders are possible as soon as a quorum
 * of nodes is without our key while the lease is valid.
 * <li>A late command stays late after its execution: another one of the same kind may follow.
 * <li>A command whose reply is lost is one whose connection is replaced and that is executed at that moment.
 * <li>A connection has one or two unanswered extensions.
 * <li>Nodes with the same encoding are interchangeable: states that differ only in their order are one state.
 * </ul>
 */
final class LateExtensionSearch extends StateSearch {

    static final int NODES = 3;
    static final int ALL_NATIVE = (1 << NODES) - 1;
    private static final int QUORUM = 2;
    private static final int NONE = 0;

    /** The effect of an extension at a node, and the replies that count. */
    enum Rule {
        /** The rule of the client: scripts only lengthen, and {@link LateExtensions} decides about other replies. */
        PRODUCT,
        /** Wrong: scripts replace any expiry. */
        SCRIPTS_SHORTEN,
        /** Wrong: every reply to a conditional set counts. */
        EVERY_ANSWER_COUNTS,
        /** Wrong: every late extension counts as the last one. */
        LAST_TTL_ONLY
    }

    // The lease's part of the state.
    private static final int VALID = 0;
    private static final int ROUND_LEFT = 1;
    private static final int LAST_SENT = 2;
    private static final int SHORTEST_SENT = 3;
    private static final int SHORTEST_LATE = 4;
    private static final int IS_OPEN = 5;
    // A node's part: the rest of our key's ttl, the unanswered extensions, those that may be executed late.
    private static final int KEY = 0;
    private static final int FIRST = 1;
    private static final int SECOND = 2;
    private static final int LATE = 3;
    private static final int IS_MARKED = 4;
    private static final int IS_GRANTED = 5;

    /** An unanswered extension: its ttl, and whether it is the last one. */
    private static final int IS_LAST = 1 << 2;
    private static final int TTL_MASK = IS_LAST - 1;
    /** In the set of late commands: the acquire, by the longest ttl; bits 1 to 3 are extensions by those ttls. */
    private static final int LATE_ACQUIRE = 1;

    private static final int[] HEAD_BITS = {2, 2, 2, 2, 2, 1};
    private static final int[] NODE_BITS = {2, 3, 3, 4, 1, 1};

    private final Rule rule;
    private final int nativeMask;
    private final int ttlMax;
    private final int unansweredMax;
    private final LateExtensions late = new LateExtensions();

    /**
     * A search in which the nodes of a mask get conditional sets, and the others get scripts.
     *
     * @param ttlMax        ttls are 1 to this, at most 3
     * @param unansweredMax most extensions that a connection carries, 1 or 2
     */
    LateExtensionSearch(Rule rule, int nativeMask, int ttlMax, int unansweredMax) {
        super(nativeMask == 0 || nativeMask == ALL_NATIVE ? 0 : NODES, HEAD_BITS, NODES, NODE_BITS);
        this.rule = rule;
        this.nativeMask = nativeMask;
        this.ttlMax = ttlMax;
        this.unansweredMax = unansweredMax;
    }

    @Override
    protected void start() {
        for (int ttl = 1; ttl <= ttlMax; ttl++) {
            for (int valid = 1; valid <= ttl; valid++) {
                for (int missing = 0; missing < NODES; missing++) {
                    visitAcquired(ttl, valid, missing, ttl);
                    visitAcquired(ttl, valid, missing, 0);
                }
            }
        }
    }

    /** A lease that has just been acquired on all nodes, or on all but one, which may execute the acquire late. */
    private void visitAcquired(int ttl, int valid, int missing, int missingKey) {
        byte[] state = new byte[length()];
        state[VALID] = (byte) valid;
        for (int i = 0; i < NODES; i++) {
            state[node(i) + KEY] = (byte) (i == missing ? missingKey : ttl);
        }
        visit(state);
        state[node(missing) + LATE] = LATE_ACQUIRE;
        visit(state);
    }

    private boolean isNative(int i) {
        return (nativeMask & 1 << i) != 0;
    }

    // ---- events -----------------------------------------------------------------------------------------------------

    @Override
    protected void expand(byte[] state) {
        tick(state.clone());
        for (int ttl = 1; ttl <= ttlMax; ttl++) {
            start(state.clone(), ttl);
        }
        for (int i = 0; i < NODES; i++) {
            if (state[node(i) + FIRST] != NONE) {
                execute(state, i);
                fail(state, i);
                replaceConnection(state.clone(), i);
            }
            executeLate(state, i);
        }
    }

    /** A state without a valid lease is safe. */
    private void tick(byte[] next) {
        next[VALID]--;
        decrement(next, ROUND_LEFT);
        for (int i = 0; i < NODES; i++) {
            decrement(next, node(i) + KEY);
        }
        if (next[VALID] > 0) {
            visit(next);
        }
    }

    /** A shorter ttl shortens the validity before anything is sent. */
    private void start(byte[] next, int ttl) {
        for (int i = 0; i < NODES; i++) {
            if (next[node(i) + (unansweredMax == 1 ? FIRST : SECOND)] != NONE) {
                return;
            }
        }
        next[VALID] = (byte) Math.min(next[VALID], ttl);
        next[ROUND_LEFT] = (byte) ttl;
        next[IS_OPEN] = 1;
        next[LAST_SENT] = (byte) ttl;
        next[SHORTEST_SENT] = (byte) (next[SHORTEST_SENT] == NONE ? ttl : Math.min(next[SHORTEST_SENT], ttl));
        for (int i = 0; i < NODES; i++) {
            next[node(i) + IS_GRANTED] = 0;
            next[node(i) + FIRST] &= TTL_MASK;
            next[node(i) + (next[node(i) + FIRST] == NONE ? FIRST : SECOND)] = (byte) (ttl | IS_LAST);
        }
        visit(next);
    }

    private void execute(byte[] state, int i) {
        int command = state[node(i) + FIRST];
        int ttl = command & TTL_MASK;
        if (state[node(i) + KEY] > 0) {
            byte[] next = withoutFirst(state, i);
            next[node(i) + KEY] = (byte) keyAfter(state, i, ttl);
            if ((command & IS_LAST) != 0 && next[IS_OPEN] == 1) {
                count(next, i, ttl);
            }
            visit(next);
        } else {
            // Refused; or the node is free, and the key is put back and not counted.
            visit(withoutFirst(state, i));
            byte[] repaired = withoutFirst(state, i);
            repaired[node(i) + KEY] = (byte) ttl;
            visit(repaired);
        }
    }

    /** The ttl of our key after an extension. */
    private int keyAfter(byte[] state, int i, int ttl) {
        return isNative(i) || rule == Rule.SCRIPTS_SHORTEN ? ttl : Math.max(state[node(i) + KEY], ttl);
    }

    private void count(byte[] next, int i, int ttl) {
        if (rule != Rule.EVERY_ANSWER_COUNTS && lateOf(next).mayShorten(i, ttl)) {
            return;
        }
        next[node(i) + IS_GRANTED] = 1;
        int granted = 0;
        for (int j = 0; j < NODES; j++) {
            granted += next[node(j) + IS_GRANTED];
        }
        if (granted >= QUORUM && next[ROUND_LEFT] > 0) {
            next[VALID] = next[ROUND_LEFT];
            next[IS_OPEN] = 0;
        }
    }

    /** The reply is an error, or the command was not sent. */
    private void fail(byte[] state, int i) {
        visit(withoutFirst(state, i));
        if (state[node(i) + SECOND] != NONE) {
            byte[] next = state.clone();
            next[node(i) + SECOND] = NONE;
            visit(next);
        }
    }

    private byte[] withoutFirst(byte[] state, int i) {
        byte[] next = state.clone();
        next[node(i) + FIRST] = next[node(i) + SECOND];
        next[node(i) + SECOND] = NONE;
        return next;
    }

    private void replaceConnection(byte[] next, int i) {
        LateExtensions known = lateOf(next);
        for (int place : new int[]{FIRST, SECOND}) {
            int command = next[node(i) + place];
            if (command != NONE) {
                next[node(i) + LATE] |= (byte) (1 << (command & TTL_MASK));
                if (isNative(i)) {
                    known.onUnanswered(i, rule == Rule.LAST_TTL_ONLY || (command & IS_LAST) != 0);
                    next[node(i) + IS_MARKED] = 1;
                }
            }
            next[node(i) + place] = NONE;
        }
        next[SHORTEST_LATE] = (byte) shortestLate(next, known);
        visit(next);
    }

    private void executeLate(byte[] state, int i) {
        int set = state[node(i) + LATE];
        int key = state[node(i) + KEY];
        if ((set & LATE_ACQUIRE) != 0 && key == 0) {
            visitWithKey(state, i, ttlMax);
        }
        for (int ttl = 1; ttl <= ttlMax; ttl++) {
            // The client no longer sends the script after a failed conditional set.
            if ((set & 1 << ttl) != 0 && (key > 0 || !isNative(i))) {
                visitWithKey(state, i, key > 0 ? keyAfter(state, i, ttl) : ttl);
            }
        }
    }

    private void visitWithKey(byte[] state, int i, int key) {
        byte[] next = state.clone();
        next[node(i) + KEY] = (byte) key;
        visit(next);
    }

    // ---- the client's memory ----------------------------------------------------------------------------------------

    /** The client's memory in a state. The shortest late extension was sent, too. */
    private LateExtensions lateOf(byte[] state) {
        late.reset();
        for (int i = 0; i < NODES; i++) {
            if (state[node(i) + IS_MARKED] == 1) {
                late.onSent(state[SHORTEST_LATE]);
                late.onUnanswered(i, true);
            }
        }
        if (state[SHORTEST_SENT] != NONE) {
            late.onSent(state[SHORTEST_SENT]);
            late.onSent(state[LAST_SENT]);
        }
        return late;
    }

    private int shortestLate(byte[] state, LateExtensions known) {
        for (int i = 0; i < NODES; i++) {
            if (state[node(i) + IS_MARKED] == 1) {
                int ttl = ttlMax;
                while (ttl > 1 && known.mayShorten(i, ttl)) {
                    ttl--;
                }
                return ttl;
            }
        }
        return NONE;
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    @Override
    protected String violationOf(byte[] state) {
        int free = 0;
        for (int i = 0; i < NODES; i++) {
            free += state[node(i) + KEY] == 0 ? 1 : 0;
        }
        return free < QUORUM
                ? null
                : "a quorum is free for somebody else, the lease is valid for " + state[VALID] + " more";
    }

    /** Clears values that are never read again. */
    @Override
    protected void reduce(byte[] state) {
        if (state[IS_OPEN] == 0) {
            state[ROUND_LEFT] = 0;
            for (int i = 0; i < NODES; i++) {
                state[node(i) + IS_GRANTED] = 0;
            }
        }
    }
}
