package dev.redlock.crowd;

import dev.redlock.search.StateSearch;

/**
 * Visits every state that two clients of the {@link dev.redlock.crowd queue}, and one that knows no queue, can reach on
 * three nodes. Clients may differ in the coordinator that they see, and the coordinator may end. Events in any order
 * and at any time:
 * <ul>
 * <li>A client asks all nodes, or after a refusal the coordinator, and the others after its grant. It counts the votes,
 * or stops before they have come, and rolls back on all nodes. It waits, gives up, holds and releases.
 * <li>A node executes the next command of a connection. A push arrives.
 * <li>A lease ends, and later its keys expire one by one.
 * <li>The first node ends. A client learns that later, and enters at the next one.
 * </ul>
 *
 * <p>In each state, one client holds the lock at most. If no message is under way and the lock is free on each node,
 * nobody waits: so no timer is needed while nobody fails.
 *
 * <p>Reductions, and why they miss nothing:
 * <ul>
 * <li>A connection executes the commands of one attempt before the next one starts there. A node executes them in their
 * order, so the next attempt would find the same.
 * <li>The key of a client expires only after its attempt or its lease. A key that expires before makes an attempt
 * invalid, which stops at any time.
 * <li>With two clients in a queue, there is a head, and one that it wakes. {@link CrowdSearch} has more, and time.
 * </ul>
 */
final class CrowdVotesSearch extends StateSearch {

    /** How clients use their votes and the queue. */
    enum Rule {
        /** The protocol. */
        PRODUCT,
        /** Wrong: a push is taken for a grant. */
        PUSH_IS_GRANT,
        /** Wrong: the grant of the coordinator is enough. */
        COORDINATOR_IS_ENOUGH,
        /** Wrong: the head replaces the key, because the lock was free when it was woken. */
        HEAD_REPLACES_KEY,
        /** Wrong: a head without a quorum does not enter again. */
        NO_REENTRY_AFTER_ROLLBACK,
        /** Wrong: a waiter stays with the coordinator that has ended. */
        NO_REENTRY_AFTER_END,
        /** Wrong: a waiter that sees another coordinator stays in the queue of the one before, too. */
        OLD_QUEUE_NOT_LEFT,
        /** Wrong: a grant promotes nobody. */
        NO_PROMOTION,
        /** Wrong: the head registers and does not look at the lock. */
        WATCH_WITHOUT_READING
    }

    /** The coordinators that the clients see. */
    enum View {
        /** The first node. */
        SAME,
        /** One sees the first node, one the second. */
        DIFFERENT,
        /** One that sees the first node may see the second one from some time on. */
        CHANGING,
        /** The first node, until it ends. */
        ENDING
    }

    private static final int NODES = 3;
    private static final int QUORUM = 2;
    /** The clients of the queue, and the one that knows none. */
    private static final int CLIENTS = 2;
    private static final int FOREIGNER = 2;
    private static final int NOBODY = -1;

    // The head.
    private static final int PHASE = 0;
    private static final int VIEW = PHASE + CLIENTS + 1;
    private static final int HAS_ENDED = VIEW + CLIENTS;
    private static final int[] HEAD_BITS = {3, 3, 3, 1, 1, 1};

    private static final byte AWAY = 0;
    /** All nodes are asked. */
    private static final byte ROUND = 1;
    private static final byte ASKING = 2;
    /** The coordinator has granted, the others are asked. */
    private static final byte COMPLETING = 3;
    private static final byte WAITING = 4;
    private static final byte HOLDING = 5;
    /** It asks the coordinator as soon as its connection has executed what precedes. */
    private static final byte RETURNING = 6;

    // The part of a node: the owner of the key, or 0; then for each client:
    private static final int KEY = 0;
    private static final int COMMAND = 1;
    private static final int VOTE = 2;
    private static final int PLACE = 3;
    private static final int IS_REGISTERED = 4;
    private static final int IS_INVALIDATED = 5;
    private static final int IS_TOLD = 6;
    private static final int SIZE = 6;
    private static final int[] NODE_BITS = {2, 3, 2, 2, 1, 1, 1, 3, 2, 2, 1, 1, 1, 3, 2};

    private static final byte NONE = 0;
    private static final byte SET = 1;
    private static final byte ENTER = 2;
    private static final byte WATCH = 3;
    private static final byte RELEASE = 4;
    private static final byte SET_AND_RELEASE = 5;
    private static final byte ENTER_AND_RELEASE = 6;
    private static final byte LEAVE = 7;
    private static final String[] COMMANDS = {"", "an attempt", "an enter", "a watch", "a release",
        "an attempt that is over", "an enter that is over", "a leave"};

    private static final byte GRANTED = 1;
    private static final byte REFUSED = 2;

    private static final byte FIRST = 1;
    private static final byte SECOND = 2;

    /**
     * The size of a search.
     *
     * @param hasForeigner whether a client without a queue takes part
     * @param hasTimeouts  whether attempts stop before all votes have come, and leases end
     */
    record Scope(View view, boolean hasForeigner, boolean hasTimeouts) {
    }

    private final Rule rule;
    private final Scope scope;
    private final View view;
    private final int clientCount;

    CrowdVotesSearch(Rule rule, Scope scope) {
        super(scope.view == View.SAME ? 1 : 2, HEAD_BITS, NODES, NODE_BITS);
        this.rule = rule;
        this.scope = scope;
        this.view = scope.view;
        this.clientCount = scope.hasForeigner ? CLIENTS + 1 : CLIENTS;
    }

    @Override
    protected void start() {
        byte[] state = new byte[length()];
        state[VIEW + 1] = (byte) (view == View.DIFFERENT ? 1 : 0);
        visit(state, "", "starts", NO_NODE);
    }

    @Override
    protected String violationOf(byte[] state) {
        int holderCount = 0;
        boolean isWaiting = false;
        for (int c = 0; c < clientCount; c++) {
            holderCount += state[PHASE + c] == HOLDING ? 1 : 0;
            isWaiting |= state[PHASE + c] == WAITING;
        }
        if (holderCount > 1) {
            return "two holders";
        }
        return holderCount == 0 && isWaiting && isQuiet(state) ? "a client waits beside a free lock" : null;
    }

    /** Nothing happens by itself any more. */
    private boolean isQuiet(byte[] state) {
        for (int c = 0; c < clientCount; c++) {
            boolean isUnaware = c < CLIENTS && state[HAS_ENDED] == 1 && state[VIEW + c] == 0
                    && rule != Rule.NO_REENTRY_AFTER_END;
            if (isUnaware || state[PHASE + c] != AWAY && state[PHASE + c] != WAITING) {
                return false;
            }
            for (int i = 0; i < NODES; i++) {
                int at = at(i, c);
                if (state[at + COMMAND] != NONE || c < CLIENTS && isPushed(state, at)) {
                    return false;
                }
            }
        }
        for (int i = 0; i < NODES; i++) {
            if (state[node(i) + KEY] != NONE && !hasEnded(state, i)) {
                return false;
            }
        }
        return true;
    }

    private static boolean isPushed(byte[] state, int at) {
        return state[at + IS_INVALIDATED] + state[at + IS_TOLD] > 0;
    }

    private int at(int i, int c) {
        return node(i) + c * SIZE;
    }

    private static boolean hasEnded(byte[] state, int i) {
        return i == 0 && state[HAS_ENDED] == 1;
    }

    private static String nameOf(int c) {
        return String.valueOf((char) ('A' + c));
    }

    @Override
    protected void expand(byte[] state) {
        for (int c = 0; c < clientCount; c++) {
            runClient(state, c);
            for (int i = 0; i < NODES; i++) {
                // The reply comes after the pushes.
                if (state[at(i, c) + COMMAND] != NONE && (c == FOREIGNER || !isPushed(state, at(i, c)))) {
                    execute(state.clone(), i, c);
                }
                if (c < CLIENTS) {
                    receive(state, i, c);
                }
            }
        }
        for (int i = 0; i < NODES; i++) {
            expire(state, i);
        }
        if (view == View.ENDING && state[HAS_ENDED] == 0) {
            end(state.clone());
        }
    }

    // ---- a client ---------------------------------------------------------------------------------------------------

    private void runClient(byte[] state, int c) {
        switch (state[PHASE + c]) {
            case AWAY -> {
                if (isIdle(state, c)) {
                    byte[] next = state.clone();
                    for (int i = 0; i < NODES; i++) {
                        send(next, i, c, SET);
                    }
                    next[PHASE + c] = ROUND;
                    visit(next, nameOf(c), "asks all nodes", NO_NODE);
                }
            }
            case ROUND, COMPLETING -> decide(state, c);
            case ASKING -> onCoordinator(state, c);
            case RETURNING -> {
                int coordinator = state[VIEW + c];
                if (state[at(coordinator, c) + COMMAND] == NONE) {
                    byte[] next = state.clone();
                    next[PHASE + c] = ASKING;
                    send(next, coordinator, c, ENTER);
                    visit(next, nameOf(c), "enters", coordinator);
                }
            }
            case WAITING -> {
                int coordinator = state[VIEW + c];
                if (state[at(coordinator, c) + COMMAND] == NONE) {
                    byte[] next = state.clone();
                    next[PHASE + c] = AWAY;
                    send(next, coordinator, c, LEAVE);
                    visit(next, nameOf(c), "gives up", NO_NODE);
                }
            }
            default -> {
                byte[] next = state.clone();
                rollBack(next, c);
                next[PHASE + c] = AWAY;
                visit(next, nameOf(c), "releases", NO_NODE);
                if (scope.hasTimeouts) {
                    byte[] lapsed = state.clone();
                    lapsed[PHASE + c] = AWAY;
                    visit(lapsed, nameOf(c), "its lease ends", NO_NODE);
                }
            }
        }
        changeView(state, c);
    }

    private boolean isIdle(byte[] state, int c) {
        boolean isIdle = true;
        for (int i = 0; i < NODES; i++) {
            isIdle &= state[at(i, c) + COMMAND] == NONE;
        }
        return isIdle;
    }

    private void send(byte[] next, int i, int c, byte command) {
        next[at(i, c) + VOTE] = hasEnded(next, i) ? REFUSED : NONE;
        next[at(i, c) + COMMAND] = hasEnded(next, i) ? NONE : command;
    }

    private int count(byte[] state, int c, byte vote) {
        int count = 0;
        for (int i = 0; i < NODES; i++) {
            count += state[at(i, c) + VOTE] == vote ? 1 : 0;
        }
        return count;
    }

    private void decide(byte[] state, int c) {
        byte[] next = state.clone();
        if (count(state, c, GRANTED) >= QUORUM) {
            next[PHASE + c] = HOLDING;
            visit(next, nameOf(c), "has a quorum", NO_NODE);
            return;
        }
        if (!scope.hasTimeouts && count(state, c, NONE) > 0 && count(state, c, REFUSED) < QUORUM) {
            return;
        }
        boolean isOver = c == FOREIGNER
                || rule == Rule.NO_REENTRY_AFTER_ROLLBACK && state[PHASE + c] == COMPLETING;
        rollBack(next, c);
        next[PHASE + c] = isOver ? (c == FOREIGNER ? AWAY : WAITING) : RETURNING;
        visit(next, nameOf(c), "has no quorum", NO_NODE);
    }

    /** The release follows the attempt on each connection. */
    private void rollBack(byte[] next, int c) {
        for (int i = 0; i < NODES; i++) {
            int at = at(i, c);
            boolean isOwner = next[node(i) + KEY] == c + 1;
            byte command = next[at + COMMAND];
            next[at + VOTE] = NONE;
            next[at + COMMAND] = switch (command) {
                case SET -> SET_AND_RELEASE;
                case ENTER -> ENTER_AND_RELEASE;
                // Elsewhere it would change nothing.
                case NONE -> isOwner ? RELEASE : NONE;
                default -> command;
            };
        }
    }

    private void onCoordinator(byte[] state, int c) {
        int coordinator = state[VIEW + c];
        byte vote = state[at(coordinator, c) + VOTE];
        byte[] next = state.clone();
        if (vote == GRANTED && rule == Rule.COORDINATOR_IS_ENOUGH) {
            next[PHASE + c] = HOLDING;
            visit(next, nameOf(c), "is granted", coordinator);
        } else if (vote == GRANTED) {
            for (int i = 0; i < NODES; i++) {
                if (i != coordinator && next[at(i, c) + COMMAND] != NONE) {
                    // A release is under way there.
                    return;
                }
            }
            for (int i = 0; i < NODES; i++) {
                if (i != coordinator) {
                    send(next, i, c, SET);
                }
            }
            next[PHASE + c] = COMPLETING;
            visit(next, nameOf(c), "asks the other nodes", NO_NODE);
        }
    }

    /** A client sees another coordinator from now on. It leaves the queue of the one before. */
    private void changeView(byte[] state, int c) {
        boolean isChanging = view == View.CHANGING && c == 0
                || view == View.ENDING && state[HAS_ENDED] == 1 && c < CLIENTS && rule != Rule.NO_REENTRY_AFTER_END;
        if (!isChanging || state[VIEW + c] == 1) {
            return;
        }
        byte phase = state[PHASE + c];
        byte[] next = state.clone();
        next[VIEW + c] = 1;
        if (phase == WAITING || phase == ASKING) {
            leaveOld(next, at(0, c));
            next[PHASE + c] = RETURNING;
        }
        visit(next, nameOf(c), "sees another coordinator", NO_NODE);
    }

    /** An attempt that is under way is rolled back. */
    private void leaveOld(byte[] next, int at) {
        byte command = next[at + COMMAND];
        boolean isGranted = next[at + VOTE] == GRANTED;
        next[at + VOTE] = NONE;
        if (command == ENTER) {
            next[at + COMMAND] = ENTER_AND_RELEASE;
        } else if (isGranted) {
            next[at + COMMAND] = RELEASE;
        } else if (rule != Rule.OLD_QUEUE_NOT_LEFT && next[at + PLACE] != NONE) {
            next[at + COMMAND] = LEAVE;
        }
    }

    /** The pushes of the coordinator, or of another node that was one. A command under way is executed later. */
    private void receive(byte[] state, int i, int c) {
        int at = at(i, c);
        boolean isIdle = state[at + COMMAND] == NONE;
        boolean isWaitingHere = state[PHASE + c] == WAITING && state[VIEW + c] == i && isIdle;
        if (state[at + IS_INVALIDATED] == 1) {
            byte[] next = state.clone();
            next[at + IS_INVALIDATED] = 0;
            if (isWaitingHere && rule == Rule.PUSH_IS_GRANT) {
                next[PHASE + c] = HOLDING;
            } else if (isWaitingHere) {
                next[PHASE + c] = ASKING;
                send(next, i, c, ENTER);
            }
            visit(next, nameOf(c), "the lock has changed", i);
        }
        if (state[at + IS_TOLD] == 1) {
            byte[] next = state.clone();
            next[at + IS_TOLD] = 0;
            next[at + COMMAND] = isWaitingHere ? WATCH : isIdle ? LEAVE : state[at + COMMAND];
            visit(next, nameOf(c), "is the head", i);
        }
    }

    // ---- a node -----------------------------------------------------------------------------------------------------

    private void execute(byte[] next, int i, int c) {
        int at = at(i, c);
        byte command = next[at + COMMAND];
        next[at + COMMAND] = NONE;
        switch (command) {
            case SET, SET_AND_RELEASE -> {
                boolean isGranted = next[node(i) + KEY] == NONE;
                if (isGranted) {
                    setKey(next, i, c, c + 1);
                }
                answer(next, at, command == SET, isGranted);
            }
            case ENTER, ENTER_AND_RELEASE -> enter(next, i, c, command == ENTER);
            case WATCH -> {
                boolean isFree = next[node(i) + KEY] == NONE && rule != Rule.WATCH_WITHOUT_READING;
                next[at + IS_REGISTERED] = 1;
                if (isFree) {
                    next[PHASE + c] = ASKING;
                    next[at + COMMAND] = ENTER;
                }
            }
            case RELEASE -> {
                if (next[node(i) + KEY] == c + 1) {
                    setKey(next, i, c, NONE);
                }
            }
            default -> leave(next, i, c);
        }
        visit(next, nameOf(c), COMMANDS[command] + " is executed", i);
    }

    /** The vote, or the release that follows the attempt. */
    private static void answer(byte[] next, int at, boolean isVote, boolean isGranted) {
        if (isVote) {
            next[at + VOTE] = isGranted ? GRANTED : REFUSED;
        } else {
            next[at + COMMAND] = RELEASE;
        }
    }

    private void enter(byte[] next, int i, int c, boolean isVote) {
        int at = at(i, c);
        boolean isFree = next[node(i) + KEY] == NONE
                || rule == Rule.HEAD_REPLACES_KEY && next[at + PLACE] == FIRST;
        int other = at(i, 1 - c);
        if (isFree && (next[other + PLACE] == NONE || next[at + PLACE] == FIRST)) {
            leaveQueue(next, i, c);
            setKey(next, i, c, c + 1);
            if (next[other + PLACE] != NONE && rule != Rule.NO_PROMOTION) {
                next[other + IS_TOLD] = 1;
            }
            answer(next, at, isVote, true);
            return;
        }
        if (!isVote) {
            // The client leaves with the release.
            leave(next, i, c);
            return;
        }
        if (next[at + PLACE] == NONE) {
            next[at + PLACE] = next[other + PLACE] == NONE ? FIRST : SECOND;
        }
        next[PHASE + c] = WAITING;
        next[at + COMMAND] = next[at + PLACE] == FIRST ? WATCH : NONE;
    }

    private void leaveQueue(byte[] next, int i, int c) {
        int other = at(i, 1 - c);
        next[at(i, c) + PLACE] = NONE;
        next[other + PLACE] = next[other + PLACE] == NONE ? NONE : FIRST;
    }

    private void leave(byte[] next, int i, int c) {
        boolean isFirst = next[at(i, c) + PLACE] == FIRST;
        leaveQueue(next, i, c);
        if (isFirst && next[at(i, 1 - c) + PLACE] != NONE) {
            next[at(i, 1 - c) + IS_TOLD] = 1;
        }
    }

    /** The node pushes the change to the others that have registered. */
    private void setKey(byte[] next, int i, int by, int owner) {
        next[node(i) + KEY] = (byte) owner;
        for (int c = 0; c < CLIENTS; c++) {
            int at = at(i, c);
            if (next[at + IS_REGISTERED] == 1) {
                next[at + IS_REGISTERED] = 0;
                next[at + IS_INVALIDATED] |= (byte) (c == by ? 0 : 1);
            }
        }
    }

    private void expire(byte[] state, int i) {
        int owner = state[node(i) + KEY] - 1;
        if (owner == NOBODY) {
            return;
        }
        byte phase = state[PHASE + owner];
        if (phase == AWAY || phase == WAITING || phase == RETURNING) {
            byte[] next = state.clone();
            setKey(next, i, NOBODY, NONE);
            visit(next, "", "a key expires", i);
        }
    }

    private void end(byte[] next) {
        next[HAS_ENDED] = 1;
        for (int c = 0; c < clientCount; c++) {
            int at = at(0, c);
            boolean isUnanswered = next[at + COMMAND] != NONE || next[at + VOTE] == GRANTED;
            next[at + COMMAND] = NONE;
            next[at + VOTE] = isUnanswered && next[PHASE + c] != HOLDING ? REFUSED : next[at + VOTE];
            if (c < CLIENTS) {
                next[at + PLACE] = NONE;
                next[at + IS_REGISTERED] = 0;
                next[at + IS_INVALIDATED] = 0;
                next[at + IS_TOLD] = 0;
            }
        }
        visit(next, "", "the node ends", 0);
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    /** Votes and pushes that nobody reads any more. */
    @Override
    protected void reduce(byte[] state) {
        for (int c = 0; c < clientCount; c++) {
            byte phase = state[PHASE + c];
            boolean isVoting = phase == ROUND || phase == ASKING || phase == COMPLETING;
            for (int i = 0; i < NODES; i++) {
                int at = at(i, c);
                state[at + VOTE] = isVoting ? state[at + VOTE] : NONE;
                boolean isRead = phase == WAITING && state[at + COMMAND] == NONE;
                if (c < CLIENTS && !isRead) {
                    state[at + IS_INVALIDATED] = 0;
                }
            }
        }
        for (int i = 0; i < NODES; i++) {
            state[node(i) + KEY] = hasEnded(state, i) ? NONE : state[node(i) + KEY];
        }
    }

    /** The two clients of the queue, if they see the same. */
    @Override
    protected void exchange(byte[] state) {
        if (view == View.SAME) {
            swap(state, PHASE, PHASE + 1, 1);
            for (int i = 0; i < NODES; i++) {
                swap(state, at(i, 0) + COMMAND, at(i, 1) + COMMAND, SIZE);
                byte owner = state[node(i) + KEY];
                state[node(i) + KEY] = owner == 1 ? 2 : owner == 2 ? 1 : owner;
            }
            alike(state);
        }
    }
}
