package dev.redlock.quorum;

import dev.redlock.search.StateSearch;
import java.util.Arrays;

/**
 * Visits every state that two clients with thrifty quorums can reach over two masters and one cluster whose slot
 * changes its owner again and again, and checks in each that at most one of them has a valid lease. It joins the rules
 * of {@link ThriftySearch} and {@link SlotSilenceSearch}. Events in any order and at any time:
 * <ul>
 * <li>A client starts, begins an attempt, asks any voter, asks another one later, and decides on any quorum of grants.
 * <li>A client starts an extension, which goes to each voter that votes.
 * <li>A server executes a command; its reply arrives or is lost. A command to the cluster is in flight for any time,
 * also while the slot changes its owner and while the client learns of that.
 * <li>The slot changes its owner, with its key or without. The former owner serves clients that have not noticed for
 * the time that {@link SlotSilenceSearch} derives. When it has ended, the slot may change its owner again.
 * <li>A client learns of the change, or time passes.
 * </ul>
 *
 * <p>Times are relative to the present, in whole units, so an endless run has a finite number of states. The reductions
 * are those of {@link ThriftySearch}: a key that no lease and no round uses need not exist, a refused command need not
 * be executed, clients and plain masters are interchangeable.
 */
final class ThriftyClusterSearch extends StateSearch {

    /** When the cluster votes, and which replies count. */
    enum Rule {
        /** The rule of the client. */
        PRODUCT,
        /** Wrong: a new owner votes at once. */
        NO_SILENCE,
        /** Wrong: silent for the ttl alone. */
        WITHOUT_SERVICE,
        /** Wrong: a client that starts after the change does not wait. */
        NOT_AT_FIRST_CONTACT,
        /** Wrong: an owner that was replaced and has returned since votes for clients that have not noticed. */
        UNNOTICED_RETURN,
        /** Wrong: a vote in flight to the former owner follows the slot. */
        VOTES_FOLLOW_THE_SLOT,
        /** Wrong: the voters that were asked are the whole group. */
        QUORUM_OF_ASKED
    }

    private static final int TTL = 2;
    private static final int SERVED_MAX = 2;
    private static final int CLIENTS = 2;
    private static final int QUORUM = 2;
    private static final int VOTERS = 3;
    private static final int CLUSTER = 2;
    /** Servers: two masters of their own, the owner of the slot, the former owner. */
    private static final int SERVERS = 4;
    private static final int OWNER = 2;
    private static final int FORMER = 3;
    /** The slot has never changed its owner. */
    private static final int NEVER_CHANGED = SERVED_MAX + 1;

    // The phase of a client.
    private static final byte IDLE = 0;
    private static final byte ACQUIRING = 1;
    private static final byte HELD = 2;
    private static final byte EXTENDING = 3;

    // The owner that a client sees.
    private static final byte NOT_STARTED = 0;
    private static final byte SEES_OWNER = 1;
    private static final byte SEES_FORMER = 2;
    private static final byte SEES_EARLIER = 3;

    // A voter in the view of a client. To the former owner: the client has learned of the change since the send.
    private static final byte NEVER = 0;
    private static final byte ASKED = 1;
    private static final byte FIRST_IN_FLIGHT = 2;
    private static final byte IN_FLIGHT = 3;
    private static final byte GRANTED = 4;
    private static final byte DONE = 5;
    private static final byte FIRST_TO_FORMER = 6;
    private static final byte TO_FORMER = 7;
    /** In an attempt: the cluster was silent at its start. */
    private static final byte BARRED = FIRST_IN_FLIGHT;

    // The parts of a state: keys, the rest of the former owner's service, then a part for each client.
    private static final int KEYS = 0;
    private static final int FORMER_SERVES = KEYS + SERVERS;
    /** The former owner was a replica before: a client that starts with it is silent. */
    private static final int FORMER_WAS_PROMOTED = FORMER_SERVES + 1;
    private static final int HEAD = FORMER_WAS_PROMOTED + 1;
    private static final int VOTES = 0;
    private static final int PHASE = VOTES + VOTERS;
    private static final int VIEW = PHASE + 1;
    private static final int SILENCE = VIEW + 1;
    private static final int LEASE = SILENCE + 1;
    /** The rest of the validity that the open round would give. */
    private static final int ROUND = LEASE + 1;
    private static final int CLIENT_LENGTH = ROUND + 1;
    private static final int[] CLIENT_BITS = {3, 3, 3, 2, 2, 3, 2, 2};
    private static final int[] HEAD_BITS = {3, 3, 3, 3, 2, 1};

    private final Rule rule;

    ThriftyClusterSearch(Rule rule) {
        super(bits(HEAD_BITS, CLIENTS, CLIENT_BITS), 0);
        this.rule = rule;
    }

    @Override
    protected void start() {
        byte[] state = new byte[length()];
        state[FORMER_SERVES] = NEVER_CHANGED;
        visit(state);
    }

    @Override
    protected String violationOf(byte[] state) {
        return state[client(0) + LEASE] > 0 && state[client(1) + LEASE] > 0 ? "two holders" : null;
    }

    @Override
    protected void expand(byte[] state) {
        tick(state.clone());
        changeOwner(state);
        for (int c = 0; c < CLIENTS; c++) {
            if (state[client(c) + VIEW] == NOT_STARTED) {
                startClient(state, c);
            } else {
                runClient(state, c);
            }
        }
    }

    private int silence() {
        return switch (rule) {
            case NO_SILENCE -> 0;
            case WITHOUT_SERVICE -> TTL;
            default -> TTL + SERVED_MAX;
        };
    }

    private static int client(int c) {
        return HEAD + c * CLIENT_LENGTH;
    }

    // ---- the cluster and the time -----------------------------------------------------------------------------------

    private void tick(byte[] next) {
        for (int i = 0; i < SERVERS; i++) {
            next[KEYS + i] = (byte) (leftOf(next[KEYS + i]) > 1 ? next[KEYS + i] - 1 : 0);
        }
        if (next[FORMER_SERVES] != NEVER_CHANGED) {
            decrement(next, FORMER_SERVES);
        }
        for (int c = 0; c < CLIENTS; c++) {
            for (int part : new int[]{SILENCE, LEASE, ROUND}) {
                decrement(next, client(c) + part);
            }
            byte phase = next[client(c) + PHASE];
            if (phase != IDLE && next[client(c) + (phase == ACQUIRING ? ROUND : LEASE)] == 0) {
                end(next, c);
            }
        }
        visit(next);
    }

    private void changeOwner(byte[] state) {
        if (state[FORMER_SERVES] != 0 && state[FORMER_SERVES] != NEVER_CHANGED) {
            return;
        }
        for (boolean isKeyKept : new boolean[]{true, false}) {
            byte[] next = state.clone();
            next[FORMER_SERVES] = SERVED_MAX;
            next[FORMER_WAS_PROMOTED] = (byte) (state[FORMER_SERVES] == NEVER_CHANGED ? 0 : 1);
            next[KEYS + FORMER] = state[KEYS + OWNER];
            next[KEYS + OWNER] = isKeyKept ? state[KEYS + OWNER] : 0;
            for (int c = 0; c < CLIENTS; c++) {
                byte view = state[client(c) + VIEW];
                next[client(c) + VIEW] = view == SEES_OWNER ? SEES_FORMER : view == SEES_FORMER ? SEES_EARLIER : view;
            }
            visit(next);
        }
    }

    // ---- a client ---------------------------------------------------------------------------------------------------

    private void startClient(byte[] state, int c) {
        startWith(state, c, SEES_OWNER, state[FORMER_SERVES] != NEVER_CHANGED);
        if (isFormerServing(state)) {
            startWith(state, c, SEES_FORMER, state[FORMER_WAS_PROMOTED] == 1);
        }
    }

    private void startWith(byte[] state, int c, byte view, boolean wasPromoted) {
        byte[] next = state.clone();
        next[client(c) + VIEW] = view;
        next[client(c) + SILENCE] = (byte) (wasPromoted && rule != Rule.NOT_AT_FIRST_CONTACT ? silence() : 0);
        visit(next);
    }

    private void runClient(byte[] state, int c) {
        learn(state, c);
        if (state[client(c) + PHASE] == IDLE) {
            byte[] next = state.clone();
            next[client(c) + PHASE] = ACQUIRING;
            next[client(c) + ROUND] = TTL;
            next[client(c) + VOTES + CLUSTER] = state[client(c) + SILENCE] > 0 ? BARRED : NEVER;
            visit(next);
            return;
        }
        byte[] ended = state.clone();
        end(ended, c);
        visit(ended);
        if (state[client(c) + PHASE] == ACQUIRING) {
            ask(state, c);
        } else {
            startExtension(state.clone(), c);
        }
        for (int voter = 0; voter < VOTERS; voter++) {
            execute(state, c, voter);
        }
        if (state[client(c) + PHASE] != HELD && isWon(state, c)) {
            win(state.clone(), c);
        }
    }

    private static void end(byte[] next, int c) {
        int at = client(c);
        Arrays.fill(next, at + VOTES, at + VOTES + VOTERS, NEVER);
        next[at + PHASE] = IDLE;
        next[at + LEASE] = 0;
        next[at + ROUND] = 0;
        for (int i = 0; i < SERVERS; i++) {
            next[KEYS + i] = isKeyOf(next[KEYS + i], c) ? 0 : next[KEYS + i];
        }
    }

    private void learn(byte[] state, int c) {
        int at = client(c);
        if (state[at + VIEW] == SEES_OWNER) {
            return;
        }
        byte[] next = state.clone();
        next[at + VIEW] = SEES_OWNER;
        next[at + SILENCE] = (byte) silence();
        byte vote = state[at + VOTES + CLUSTER];
        if (state[at + VIEW] == SEES_EARLIER) {
            // What was in flight has been lost with its server.
            next[at + VOTES + CLUSTER] = isInFlight(state, at) ? DONE : vote;
        } else if (isInFlight(state, at)) {
            next[at + VOTES + CLUSTER] = vote == IN_FLIGHT ? TO_FORMER : FIRST_TO_FORMER;
        }
        visit(next);
    }

    private static boolean isInFlight(byte[] state, int at) {
        byte vote = state[at + VOTES + CLUSTER];
        return vote == IN_FLIGHT || vote == FIRST_IN_FLIGHT && state[at + PHASE] == EXTENDING;
    }

    private boolean mayAskCluster(byte[] state, int c) {
        byte view = state[client(c) + VIEW];
        return state[client(c) + SILENCE] == 0 && (view != SEES_EARLIER || rule == Rule.UNNOTICED_RETURN);
    }

    private void ask(byte[] state, int c) {
        for (int voter = 0; voter < VOTERS; voter++) {
            if (state[client(c) + VOTES + voter] == NEVER && (voter != CLUSTER || mayAskCluster(state, c))) {
                byte[] next = state.clone();
                next[client(c) + VOTES + voter] = IN_FLIGHT;
                if (voter == CLUSTER) {
                    visit(next);
                } else {
                    executeOn(voter, next, c, voter, false);
                }
            }
        }
    }

    private void startExtension(byte[] next, int c) {
        int at = client(c);
        closeRound(next, c);
        next[at + PHASE] = EXTENDING;
        next[at + ROUND] = TTL;
        for (int voter = 0; voter < VOTERS; voter++) {
            if (voter != CLUSTER || mayAskCluster(next, c)) {
                next[at + VOTES + voter] = next[at + VOTES + voter] == NEVER ? FIRST_IN_FLIGHT : IN_FLIGHT;
            }
        }
        visit(next);
    }

    private static void closeRound(byte[] next, int c) {
        int at = client(c);
        for (int voter = 0; voter < VOTERS; voter++) {
            byte vote = next[at + VOTES + voter];
            boolean isBarred = vote == BARRED && next[at + PHASE] == ACQUIRING;
            next[at + VOTES + voter] = vote == NEVER || isBarred ? NEVER : ASKED;
        }
    }

    private boolean isWon(byte[] state, int c) {
        int grantedCount = 0;
        int askedCount = 0;
        for (int voter = 0; voter < VOTERS; voter++) {
            byte vote = state[client(c) + VOTES + voter];
            grantedCount += vote == GRANTED ? 1 : 0;
            askedCount += vote == NEVER ? 0 : 1;
        }
        return grantedCount >= (rule == Rule.QUORUM_OF_ASKED ? askedCount / 2 + 1 : QUORUM);
    }

    private void win(byte[] next, int c) {
        closeRound(next, c);
        next[client(c) + PHASE] = HELD;
        next[client(c) + LEASE] = next[client(c) + ROUND];
        next[client(c) + ROUND] = 0;
        visit(next);
    }

    // ---- the servers ------------------------------------------------------------------------------------------------

    private void execute(byte[] state, int c, int voter) {
        byte vote = state[client(c) + VOTES + voter];
        boolean isBarred = vote == BARRED && state[client(c) + PHASE] == ACQUIRING;
        if (isBarred || vote == NEVER || vote == ASKED || vote == GRANTED || vote == DONE) {
            return;
        }
        boolean isToFormer = vote == TO_FORMER || vote == FIRST_TO_FORMER;
        boolean isFirst = vote == FIRST_IN_FLIGHT || vote == FIRST_TO_FORMER;
        if (voter != CLUSTER) {
            executeOn(voter, state, c, voter, isFirst);
            return;
        }
        byte view = state[client(c) + VIEW];
        if (isToFormer || view == SEES_FORMER) {
            if (isFormerServing(state)) {
                executeOn(FORMER, state, c, voter, isFirst);
            }
            if (rule == Rule.VOTES_FOLLOW_THE_SLOT) {
                executeOn(OWNER, state, c, voter, isFirst);
            }
        } else if (view == SEES_OWNER || rule == Rule.UNNOTICED_RETURN) {
            executeOn(OWNER, state, c, voter, isFirst);
        }
    }

    /** An extension sets a missing key; this counts only if the voter was never asked before. */
    private void executeOn(int server, byte[] state, int c, int voter, boolean isFirst) {
        byte key = state[KEYS + server];
        boolean isHeld = isKeyOf(key, c);
        boolean isAcquiring = state[client(c) + PHASE] == ACQUIRING;
        if (key != 0 && (isAcquiring || !isHeld)) {
            return;
        }
        byte[] next = state.clone();
        next[KEYS + server] = (byte) (1 + c * TTL + TTL - 1);
        next[client(c) + VOTES + voter] = DONE;
        visit(next.clone());
        if (isAcquiring || isHeld || isFirst) {
            next[client(c) + VOTES + voter] = GRANTED;
            visit(next);
        }
    }

    private static boolean isFormerServing(byte[] state) {
        return state[FORMER_SERVES] != NEVER_CHANGED && state[FORMER_SERVES] > 0;
    }

    private static int leftOf(int key) {
        return key == 0 ? 0 : (key - 1) % TTL + 1;
    }

    private static boolean isKeyOf(int key, int c) {
        return key > 0 && (key - 1) / TTL == c;
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    /** A former owner that serves nobody has no key that counts, and what is in flight to it is lost. */
    @Override
    protected void reduce(byte[] state) {
        if (isFormerServing(state)) {
            return;
        }
        state[KEYS + FORMER] = 0;
        for (int c = 0; c < CLIENTS; c++) {
            byte vote = state[client(c) + VOTES + CLUSTER];
            if (vote == TO_FORMER || vote == FIRST_TO_FORMER) {
                state[client(c) + VOTES + CLUSTER] = DONE;
            }
        }
    }

    @Override
    protected void exchange(byte[] state) {
        byte[] otherMasters = state.clone();
        exchangeMasters(otherMasters);
        alike(otherMasters);
        byte[] otherClients = state.clone();
        exchangeClients(otherClients);
        alike(otherClients);
        exchangeMasters(otherClients);
        alike(otherClients);
    }

    private static void exchangeMasters(byte[] state) {
        swap(state, KEYS, KEYS + 1, 1);
        for (int c = 0; c < CLIENTS; c++) {
            swap(state, client(c) + VOTES, client(c) + VOTES + 1, 1);
        }
    }

    private static void exchangeClients(byte[] state) {
        swap(state, client(0), client(1), CLIENT_LENGTH);
        for (int i = 0; i < SERVERS; i++) {
            int key = state[KEYS + i];
            state[KEYS + i] = (byte) (key == 0 ? 0 : (key - 1 + TTL) % (CLIENTS * TTL) + 1);
        }
    }
}
