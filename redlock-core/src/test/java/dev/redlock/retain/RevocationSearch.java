package dev.redlock.retain;

import dev.redlock.search.EndlessSearch;
import java.util.Arrays;

/**
 * Visits every state that client A, which retains its lease, and client B, which wants it, can reach on three nodes.
 * Then it looks for a run in which B waits for ever: each message arrives, each local holder ends, and A does not
 * release. In the model no lease ends by its cap. Events in any order and at any time:
 * <ul>
 * <li>A sends an acquire to all nodes; each executes it, replies, or loses it. A decides on any quorum. With it A
 * counts the tickets of the node and registers for the key of the traces: the next change by another client is pushed,
 * once.
 * <li>B asks any node, because clients may differ in the nodes that are ready. A refusal changes the key of the traces.
 * It may leave a ticket too.
 * <li>B has a ticket from before A's acquire. If A's grant had a later ticket, it has passed, and the count of the
 * tickets does not include it.
 * <li>A connection of A breaks, with the pushes and replies on it. A node restarts without its keys. One loses the key
 * of the lease.
 * <li>Another caller of A sends an attempt, which ends the registration of its connection without a push.
 * </ul>
 *
 * <p>Reductions, and why they miss nothing:
 * <ul>
 * <li>The end of the lease ends the run: a waiter of a free lock is woken as for a plain lock.
 * <li>If B takes a node before A, A does not have all votes, and does not retain the lease.
 * <li>Nodes are interchangeable, except the coordinator of A: states that differ only in their order are one state.
 * </ul>
 */
final class RevocationSearch extends EndlessSearch {

    /** What leads to the end of a retained lease. */
    enum Rule {
        /** The rules of the client. */
        PRODUCT,
        /** Wrong: a lease with a bare quorum of votes is retained. */
        RETAINED_ON_QUORUM,
        /** Wrong: only the registration counts, not the tickets that are there. */
        VALUE_IGNORED,
        /** Wrong: only the coordinator of A is asked for tickets. */
        COORDINATOR_ONLY,
        /** Wrong: the tickets are read first, and A registers in a later write. */
        REGISTERED_LATER,
        /** Wrong: A registers, and reads the tickets, when its first holder has ended. */
        REGISTERED_AT_RELEASE,
        /** Wrong: A registers before its acquire, which changes the key of the tickets. */
        REGISTERED_BEFORE,
        /** Wrong: a push before the quorum has answered is for nobody. */
        EARLY_PUSH_IGNORED,
        /** Wrong: the end of a connection changes nothing. */
        CONNECTION_IGNORED,
        /** Wrong: A registers again on the next connection. */
        REGISTERED_AGAIN,
        /** Wrong: A registers again on the next connection, and reads the tickets. */
        READ_AGAIN,
        /** Wrong: a ticket does not change the traces. */
        TICKET_UNTRACED,
        /** Wrong: a first attempt leaves no ticket. */
        NO_TRACE,
        /** Wrong: a later attempt does not change the tickets. */
        NO_TRACE_OF_BACKSTOP,
        /** Wrong: an attempt that its coordinator grants, and others refuse, leaves no ticket. */
        TRACE_AT_COORDINATOR_ONLY,
        /** Wrong: local waiters are granted the lease after the push. */
        GRANTED_AFTER_PUSH,
        /** Wrong: an attempt of the own client changes nothing. */
        OWN_ATTEMPT_IGNORED
    }

    /** How B waits. */
    enum Waiter {
        /** It has a ticket, which the count includes. */
        COUNTED,
        /** It may have a ticket that has passed. */
        PASSED,
        /** It has no ticket, as readers, writers and single attempts: its refusals change the key, not the count. */
        UNCOUNTED
    }

    private static final int NODES = 3;
    private static final int QUORUM = 2;

    // The head.
    private static final int PHASE = 0;
    /** A has learnt that somebody waits, or may wait. */
    private static final int IS_NOTICED = 1;
    private static final int WAITER = 2;
    /** A has asked for the tickets after its first holder. */
    private static final int IS_PREPARED = 3;
    private static final int[] HEAD_BITS = {3, 1, 3, 1};

    private static final byte IDLE = 0;
    private static final byte ACQUIRING = 1;
    private static final byte HELD = 2;
    private static final byte FREE = 3;
    private static final byte OVER = 4;
    private static final byte PREPARING = 5;

    private static final byte ABSENT = 0;
    private static final byte ASKING = 1;
    private static final byte REFUSED = 2;
    private static final byte ASKING_AGAIN = 3;
    /** Refused by another holder before A, whose release wakes it. */
    private static final byte WOKEN = 4;

    // A node's part of the state.
    /** The key of A's lease. */
    private static final int IS_KEY = 0;
    private static final int TICKET = 1;
    private static final int IS_REGISTERED = 2;
    private static final int IS_PUSHED = 3;
    /** A does not know yet that its connection has ended. */
    private static final int IS_BROKEN = 4;
    private static final int COMMAND = 5;
    private static final int IS_ASKED = 6;
    /** A registers again. */
    private static final int IS_AGAIN = 7;
    private static final int IS_COORDINATOR = 8;
    private static final int[] NODE_BITS = {1, 2, 1, 1, 1, 3, 1, 1, 1};

    private static final byte NONE = 0;
    private static final byte COUNTED = 1;
    private static final byte PASSED = 2;

    // A's acquire at a node.
    private static final byte SENT = 1;
    private static final byte ANSWERED = 2;
    /** The tickets are read, the registration follows. */
    private static final byte READ = 3;
    private static final byte REPLIED = 5;
    /** Added to the two above: there was a ticket. */
    private static final byte WITH_TICKET = 1;

    private static final String ASK_AGAIN = "asks again";
    private static final String ASK_WOKEN = "is woken and asks again";
    private static final String HOLDER_ENDS = "the local holder ends";

    private final Rule rule;
    private final Waiter kind;
    private final boolean hasBackstop;

    /**
     * A search with one waiter.
     *
     * @param hasBackstop whether it asks again at last
     */
    RevocationSearch(Rule rule, Waiter kind, boolean hasBackstop) {
        super(HEAD_BITS, NODES, NODE_BITS);
        this.rule = rule;
        this.kind = kind;
        this.hasBackstop = hasBackstop;
    }

    @Override
    protected boolean isUnfinished(byte[] state) {
        return state[WAITER] != ABSENT
                && (state[PHASE] == HELD || state[PHASE] == FREE || state[PHASE] == PREPARING);
    }

    /** All but what may never happen: local grants, attempts, faults. */
    @Override
    protected boolean isDue(String event) {
        return switch (event) {
            case "the reply arrives", "the push arrives", "registers", "registers again",
                    "learns of the lost connection",
                    "releases", HOLDER_ENDS, "the attempt is executed", "is asked for tickets", ASK_WOKEN ->
                true;
            case ASK_AGAIN -> hasBackstop;
            default -> false;
        };
    }

    @Override
    protected void expand(byte[] state) {
        if (state[PHASE] == OVER) {
            return;
        }
        runOwner(state);
        for (int i = 0; i < NODES; i++) {
            runWaiter(state, i);
            if (state[PHASE] != IDLE) {
                runNode(state, i);
                breakConnection(state, i);
            }
        }
    }

    /** Visits a copy of a state with one number changed. */
    private void visitWith(byte[] state, int place, int value, String client, String event, int i) {
        byte[] next = state.clone();
        next[place] = (byte) value;
        visit(next, client, event, i);
    }

    private void visitEnd(String client, String event) {
        byte[] end = new byte[length()];
        end[PHASE] = OVER;
        visit(end, client, event, NO_NODE);
    }

    private int count(byte[] state, int field, int value) {
        int count = 0;
        for (int i = 0; i < NODES; i++) {
            count += state[node(i) + field] == value ? 1 : 0;
        }
        return count;
    }

    // ---- the client that retains its lease --------------------------------------------------------------------------

    private void runOwner(byte[] state) {
        int answeredCount = count(state, COMMAND, ANSWERED);
        switch (state[PHASE]) {
            case IDLE -> start(state.clone());
            case ACQUIRING -> {
                if (answeredCount >= QUORUM) {
                    visitWith(state, PHASE, HELD, "A", "has acquired", NO_NODE);
                }
            }
            case PREPARING -> {
                if (answeredCount == NODES && state[IS_NOTICED] == 0) {
                    visitWith(state, PHASE, FREE, "A", "retains the lease", NO_NODE);
                } else if (state[IS_NOTICED] == 1) {
                    visitEnd("A", "releases");
                }
            }
            case HELD -> {
                boolean isFull = answeredCount >= (rule == Rule.RETAINED_ON_QUORUM ? QUORUM : NODES);
                if (rule == Rule.GRANTED_AFTER_PUSH && isFull) {
                    // A local waiter is next.
                    visit(state.clone(), "A", HOLDER_ENDS, NO_NODE);
                } else if (isFull && rule == Rule.REGISTERED_AT_RELEASE && state[IS_PREPARED] == 0) {
                    prepare(state.clone());
                } else if (isFull && state[IS_NOTICED] == 0) {
                    visitWith(state, PHASE, FREE, "A", HOLDER_ENDS, NO_NODE);
                } else {
                    visitEnd("A", HOLDER_ENDS);
                }
            }
            default -> {
                if (state[IS_NOTICED] == 1) {
                    visitEnd("A", "releases");
                } else {
                    visitWith(state, PHASE, HELD, "A", "a local grant", NO_NODE);
                }
            }
        }
    }

    private void start(byte[] next) {
        next[PHASE] = ACQUIRING;
        for (int i = 0; i < NODES; i++) {
            next[node(i) + COMMAND] = SENT;
        }
        next[node(0) + IS_COORDINATOR] = 1;
        visit(next, "A", "sends an acquire", NO_NODE);
    }

    private void prepare(byte[] next) {
        next[PHASE] = PREPARING;
        next[IS_PREPARED] = 1;
        for (int i = 0; i < NODES; i++) {
            next[node(i) + COMMAND] = SENT;
        }
        visit(next, "A", HOLDER_ENDS, NO_NODE);
    }

    private void runNode(byte[] state, int i) {
        int node = node(i);
        switch (state[node + COMMAND]) {
            case SENT -> acquire(state.clone(), i);
            case READ, READ + WITH_TICKET -> {
                byte[] next = state.clone();
                next[node + COMMAND] += REPLIED - READ;
                next[node + IS_REGISTERED] = 1;
                visit(next, "A", "registers", i);
            }
            case REPLIED, REPLIED + WITH_TICKET -> {
                byte[] next = state.clone();
                next[IS_NOTICED] |= (byte) (next[node + COMMAND] - REPLIED);
                next[node + COMMAND] = ANSWERED;
                visit(next, "A", "the reply arrives", i);
            }
            default -> {
                // It was lost, or is answered.
            }
        }
        if (state[node + IS_PUSHED] == 1) {
            byte[] next = state.clone();
            next[node + IS_PUSHED] = 0;
            if (rule != Rule.EARLY_PUSH_IGNORED || next[PHASE] != ACQUIRING) {
                next[IS_NOTICED] = 1;
            }
            visit(next, "A", "the push arrives", i);
        }
        if (state[node + IS_BROKEN] == 1) {
            learnOfLostConnection(state.clone(), i);
        }
        if (state[node + IS_AGAIN] == 1) {
            byte[] next = state.clone();
            next[node + IS_AGAIN] = 0;
            next[node + IS_REGISTERED] = 1;
            if (rule == Rule.READ_AGAIN && next[node + TICKET] == COUNTED) {
                next[IS_NOTICED] = 1;
            }
            visit(next, "A", "registers again", i);
        }
        if (state[PHASE] != ACQUIRING) {
            byte[] next = state.clone();
            next[node + IS_REGISTERED] = 0;
            if (rule != Rule.OWN_ATTEMPT_IGNORED) {
                next[IS_NOTICED] = 1;
            }
            visit(next, "A", "another caller asks", i);
        }
    }

    private void acquire(byte[] next, int i) {
        int node = node(i);
        boolean isPreparing = next[PHASE] == PREPARING;
        boolean isAsked = (rule != Rule.COORDINATOR_ONLY || next[node + IS_COORDINATOR] == 1)
                && (rule != Rule.REGISTERED_AT_RELEASE || isPreparing);
        boolean isTicketRead = isAsked && rule != Rule.VALUE_IGNORED && next[node + TICKET] == COUNTED;
        byte read = rule == Rule.REGISTERED_LATER ? READ : REPLIED;
        next[node + IS_KEY] |= (byte) (isPreparing ? 0 : 1);
        next[node + IS_REGISTERED] = (byte) (isAsked && read == REPLIED && rule != Rule.REGISTERED_BEFORE ? 1 : 0);
        next[node + COMMAND] = (byte) (read + (isTicketRead ? WITH_TICKET : 0));
        visit(next, "A", isPreparing ? "is asked for tickets" : "the acquire is executed", i);
    }

    private void breakConnection(byte[] state, int i) {
        int node = node(i);
        byte[] next = state.clone();
        next[node + IS_REGISTERED] = 0;
        next[node + IS_PUSHED] = 0;
        next[node + IS_AGAIN] = 0;
        next[node + IS_BROKEN] = 1;
        next[node + COMMAND] = next[node + COMMAND] == ANSWERED ? ANSWERED : NONE;
        visit(next.clone(), "A", "a connection breaks", i);
        next[node + IS_KEY] = 0;
        next[node + TICKET] = 0;
        visit(next, "", "a restart loses the keys", i);
        if (state[node + IS_KEY] == 1) {
            visitWith(state, node + IS_KEY, 0, "A", "the key is lost", i);
        }
    }

    private void learnOfLostConnection(byte[] next, int i) {
        next[node(i) + IS_BROKEN] = 0;
        switch (rule) {
            case CONNECTION_IGNORED -> {
                // Nothing follows.
            }
            case REGISTERED_AGAIN, READ_AGAIN -> next[node(i) + IS_AGAIN] = 1;
            default -> next[IS_NOTICED] = 1;
        }
        visit(next, "A", "learns of the lost connection", i);
    }

    // ---- the waiter -------------------------------------------------------------------------------------------------

    private void runWaiter(byte[] state, int i) {
        int node = node(i);
        byte waiter = state[WAITER];
        if (waiter == ABSENT && state[PHASE] == IDLE) {
            byte[] next = state.clone();
            next[WAITER] = kind == Waiter.UNCOUNTED ? WOKEN : REFUSED;
            next[node + TICKET] = kind == Waiter.UNCOUNTED ? NONE : COUNTED;
            visit(next.clone(), "B", "waits for another holder", i);
            if (kind == Waiter.PASSED) {
                next[node + TICKET] = PASSED;
                visit(next, "B", "waits for another holder, with a ticket that has passed,", i);
            }
        }
        if (waiter == ABSENT || waiter == REFUSED || waiter == WOKEN) {
            byte[] next = state.clone();
            next[WAITER] = waiter == ABSENT ? ASKING : ASKING_AGAIN;
            next[node + IS_ASKED] = 1;
            visit(next, "B", waiter == ABSENT ? "asks" : waiter == WOKEN ? ASK_WOKEN : ASK_AGAIN, i);
        }
        if (state[node + IS_ASKED] == 1) {
            executeAttempt(state.clone(), i);
        }
    }

    private void executeAttempt(byte[] next, int i) {
        int node = node(i);
        boolean leavesTrace = next[WAITER] == ASKING
                ? rule != Rule.NO_TRACE
                : rule != Rule.NO_TRACE_OF_BACKSTOP && rule != Rule.NO_TRACE;
        boolean isHeld = next[PHASE] > ACQUIRING;
        byte after = kind == Waiter.UNCOUNTED && !isHeld && next[node + IS_KEY] == 0 ? WOKEN : REFUSED;
        if (next[node + IS_KEY] == 1 || !isHeld) {
            // Without A's key, that of another holder.
            refuse(next, i, leavesTrace);
        } else if (count(next, IS_KEY, 1) < QUORUM) {
            visitEnd("B", "the attempt is executed");
            return;
        } else {
            for (int j = 0; j < NODES; j++) {
                if (next[node(j) + IS_KEY] == 1) {
                    refuse(next, j, leavesTrace && rule != Rule.TRACE_AT_COORDINATOR_ONLY);
                }
            }
        }
        next[WAITER] = after;
        next[node + IS_ASKED] = 0;
        visit(next, "B", "the attempt is executed", i);
    }

    private void refuse(byte[] next, int i, boolean leavesTrace) {
        int node = node(i);
        if (leavesTrace) {
            boolean isCounted = next[node + TICKET] == NONE && kind != Waiter.UNCOUNTED;
            next[node + TICKET] = isCounted ? COUNTED : next[node + TICKET];
            if (rule != Rule.TICKET_UNTRACED || kind == Waiter.UNCOUNTED) {
                next[node + IS_PUSHED] |= next[node + IS_REGISTERED];
                next[node + IS_REGISTERED] = 0;
            }
        }
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    /** After A has noticed, what leads to it is not read any more. */
    @Override
    protected void reduce(byte[] state) {
        if (state[IS_NOTICED] == 1 && (state[PHASE] == HELD || state[PHASE] == FREE)) {
            for (int i = 0; i < NODES; i++) {
                int node = node(i);
                Arrays.fill(state, node + TICKET, node + COMMAND, (byte) 0);
                state[node + IS_AGAIN] = 0;
            }
        }
    }
}
