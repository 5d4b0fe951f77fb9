package dev.redlock.quorum;

import dev.redlock.search.StateSearch;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Visits every state that clients with the mode {@code FRESH_GROUP} of the restart guard can reach on three nodes, and
 * checks in each that no two leases on one lock are held. Events in any order and at any time:
 * <ul>
 * <li>A client connects, asks whether a node is empty, admits the group, writes a mark, reads a mark.
 * <li>A client starts a round on the nodes that it lets vote, some of which it may ask later; a node executes the
 * command; the client decides on any set of grants that is large enough, extends, or gives up.
 * <li>A node loses everything in a restart. Its new process reports a true uptime, or one that is far too long.
 * <li>A client notices that a connection has ended. A client process ends and another one starts.
 * <li>Time passes: locks that a restart has lost expire, and processes become old.
 * </ul>
 *
 * <p>Reductions, and why they miss nothing:
 * <ul>
 * <li>A key that no valid lease and no open round uses only refuses acquires and makes its node not empty, so it need
 * not exist. The same holds for keys that survive a restart, and for refused commands.
 * <li>The end of a connection to a process that lives takes away checks only, so it need not happen. A request and its
 * reply are one event, because what follows the reply may follow at any time.
 * <li>An extension is one event at its start: a key that it finds was there before, or it has put it back and did not
 * count it, or it counts the key that it sets on a node that has not granted.
 * <li>A node forgets a loss when no key that it lost belongs to a lease or a round. It may then become old. In truth
 * both need at least the time of the longest ttl.
 * <li>Some events happen as soon as they can, because they only allow more: an old node votes for each client that has
 * met it, with or without a mark, and a client reads the mark of a node unless it would be deceived.
 * <li>Nodes, clients and grants are interchangeable: states that differ only in their order are one state.
 * </ul>
 *
 * <p>A client is deceived if it trusts a process, at its first contact, that has lost keys of valid leases within the
 * last ttl: because of a wrong uptime, or beyond the assumed losses. It cannot notice, and no rule without memory
 * could. So a deceived client acquires nothing in this model, but it marks nodes, and others read its marks.
 */
final class FreshGroupSearch extends StateSearch {

    static final int NODES = 3;
    private static final int QUORUM = 2;
    private static final int GRANTS = 2;

    /** How a client decides that a young node votes. */
    enum Rule {
        /** The rule of the client. */
        PRODUCT,
        /** Wrong: a node without a mark is fresh. */
        NO_MARK_IS_FRESH,
        /** Wrong: a client asks whether a node is empty before it is connected to all others. */
        EARLY_CHECK,
        /** Wrong: a node votes before its mark is acknowledged. */
        VOTE_BEFORE_ACKNOWLEDGED,
        /** Wrong: a mark admits a process that the client saw start. */
        MARK_FOR_SUCCESSOR,
        /** Wrong: a quorum of empty nodes is a group. */
        MAJORITY,
        /** Wrong: the process after the end of a connection takes the place of the one before in the check. */
        CHECK_OUTLIVES_CONNECTION,
        /** Wrong: an attempt that asks more nodes later also asks those that did not vote when it started. */
        ASK_NEW_VOTERS
    }

    /** The losses that occur. */
    enum Losses {
        /** The assumption of the algorithm: within a ttl, fewer than a quorum of nodes lose their keys. */
        FEWER_THAN_A_QUORUM,
        /** Any number at any time. A client that was connected before waits, and only others are deceived. */
        ANY
    }

    // A node's part of the state, before those of clients and grants. The head has the phases of each
    // client's grants, and who is deceived.
    private static final int AGE = 0;
    private static final int MARK = 1;
    /** A mark is on its way, and its client is gone. */
    private static final int ORPHAN = 2;
    private static final int NODE_HEAD = 3;
    private static final int[] NODE_HEAD_BITS = {2, 1, 1};

    private static final byte YOUNG = 0;
    private static final byte OLD = 1;
    /** Young, and keys of valid leases may be lost. */
    private static final byte LOSS = 2;
    /** As {@link #LOSS}, with the uptime of an old process. */
    private static final byte LIAR = 3;

    // The status of a node for a client.
    private static final byte NEW = 0;
    /** The first process that the client has met there. */
    private static final byte CONNECTED = 1;
    /** May vote when its mark is acknowledged. */
    private static final byte ADMITTED = 2;
    private static final byte VOTING = 3;
    /** The process has ended, and the client has not noticed. */
    private static final byte STALE = 4;
    /** Another process than the one that the client met first. */
    private static final byte SUCCESSOR = 5;
    private static final int STATUS_BITS = 3;
    /** The node has replied that it is young and empty. */
    private static final int IS_CHECKED = 1 << STATUS_BITS;
    private static final int STATUS_MASK = IS_CHECKED - 1;

    // The command of a grant at a node.
    private static final byte NONE = 0;
    private static final byte SENT = 1;
    private static final byte GRANTED = 2;
    /** Granted by a process that has lost the key. */
    private static final byte LOST = 3;

    // The phase of a grant.
    private static final byte IDLE = 0;
    private static final byte RUNNING = 1;
    private static final byte HELD = 2;

    private final Rule rule;
    private final Losses losses;
    private final int clientCount;
    /** Where numbers come from in each other order of clients and grants. */
    private final List<int[]> exchanges = new ArrayList<>();

    FreshGroupSearch(Rule rule, Losses losses, int clientCount) {
        super(bits(bits(new int[0], clientCount * GRANTS, 2), clientCount, 1), NODES,
                bits(bits(NODE_HEAD_BITS, clientCount, STATUS_BITS + 1), GRANTS, 2));
        assert clientCount <= 3 : "more do not fit the bits of a state";
        this.rule = rule;
        this.losses = losses;
        this.clientCount = clientCount;
        for (int[] clients : orders(clientCount)) {
            for (int swap = exchanges.isEmpty() ? 1 : 0; swap < GRANTS; swap++) {
                exchanges.add(places(clients, swap));
            }
        }
    }

    @Override
    protected void start() {
        for (int oldCount = 0; oldCount <= NODES; oldCount++) {
            byte[] state = new byte[length()];
            for (int i = 0; i < oldCount; i++) {
                state[node(i) + AGE] = OLD;
            }
            visit(state);
        }
    }

    // ---- the places of values ---------------------------------------------------------------------------------------

    private int view(int i, int c) {
        return node(i) + NODE_HEAD + c;
    }

    private int command(int i, int g) {
        return node(i) + NODE_HEAD + clientCount + g;
    }

    /** Of a grant of a client; {@link #IDLE} if it is another client's grant. */
    private int phase(int g, int c) {
        return g * clientCount + c;
    }

    private int deceived(int c) {
        return GRANTS * clientCount + c;
    }

    private int phase(byte[] state, int g) {
        return state[phase(g, owner(state, g))];
    }

    /** The client of a grant; the last one if the grant is idle. */
    private int owner(byte[] state, int g) {
        int c = 0;
        while (c < clientCount - 1 && state[phase(g, c)] == IDLE) {
            c++;
        }
        return c;
    }

    private int status(byte[] state, int i, int c) {
        return state[view(i, c)] & STATUS_MASK;
    }

    private boolean isChecked(byte[] state, int i, int c) {
        return (state[view(i, c)] & IS_CHECKED) != 0;
    }

    private void setStatus(byte[] state, int i, int c, int status) {
        state[view(i, c)] = (byte) (state[view(i, c)] & IS_CHECKED | status);
    }

    private int age(byte[] state, int i) {
        return state[node(i) + AGE];
    }

    private boolean isLossRecent(byte[] state, int i) {
        return age(state, i) == LOSS || age(state, i) == LIAR;
    }

    private boolean hasKey(byte[] state, int i) {
        for (int g = 0; g < GRANTS; g++) {
            if (state[command(i, g)] == GRANTED) {
                return true;
            }
        }
        return false;
    }

    // ---- events -----------------------------------------------------------------------------------------------------

    @Override
    protected void expand(byte[] state) {
        for (int i = 0; i < NODES; i++) {
            lose(state, i);
            passTime(state, i);
            for (int c = 0; c < clientCount; c++) {
                meet(state, i, c);
                check(state, i, c);
                writeMark(state, i, c);
            }
        }
        for (int c = 0; c < clientCount; c++) {
            admit(state, c);
            replaceClient(state, c);
            for (int g = 0; g < GRANTS; g++) {
                start(state, g, c);
            }
        }
        for (int g = 0; g < GRANTS; g++) {
            run(state, g);
        }
    }

    private void lose(byte[] state, int i) {
        for (int other = 0; other < NODES; other++) {
            if (losses == Losses.FEWER_THAN_A_QUORUM && other != i && isLossRecent(state, other)) {
                return;
            }
        }
        byte[] next = state.clone();
        next[node(i) + MARK] = 0;
        next[node(i) + ORPHAN] = 0;
        for (int g = 0; g < GRANTS; g++) {
            byte before = next[command(i, g)];
            next[command(i, g)] = before == GRANTED ? LOST : before == SENT ? NONE : before;
        }
        for (int c = 0; c < clientCount; c++) {
            int before = status(next, i, c);
            setStatus(next, i, c, before == NEW || before == SUCCESSOR ? before : STALE);
        }
        visitWith(next, node(i) + AGE, LOSS);
        visitWith(next, node(i) + AGE, LIAR);
    }

    private void passTime(byte[] state, int i) {
        boolean isSomeKeyLost = false;
        for (int g = 0; g < GRANTS; g++) {
            isSomeKeyLost |= state[command(i, g)] == LOST;
        }
        switch (age(state, i)) {
            case YOUNG -> visitWith(state, node(i) + AGE, OLD);
            case LOSS -> {
                if (!isSomeKeyLost) {
                    visitWith(state, node(i) + AGE, YOUNG);
                }
            }
            case LIAR -> {
                if (!isSomeKeyLost) {
                    visitWith(state, node(i) + AGE, OLD);
                }
            }
            default -> {
                // It remains old.
            }
        }
        if (state[node(i) + ORPHAN] == 1) {
            byte[] next = state.clone();
            next[node(i) + ORPHAN] = 0;
            visitWith(next, node(i) + MARK, (byte) 1);
        }
    }

    /** A client connects, trusts a process that deceives it, or notices the end of a connection. */
    private void meet(byte[] state, int i, int c) {
        boolean isMarked = state[node(i) + MARK] == 1;
        int age = age(state, i);
        switch (status(state, i, c)) {
            case NEW -> visitWithStatus(state, i, c, CONNECTED);
            case CONNECTED -> {
                if (isMarked) {
                    visitDeceived(state, i, c, VOTING, true);
                }
                if (age == LIAR) {
                    visitDeceived(state, i, c, ADMITTED, true);
                }
                if (rule == Rule.NO_MARK_IS_FRESH && !isMarked) {
                    visitWithStatus(state, i, c, ADMITTED);
                }
            }
            case STALE -> visitWithStatus(state, i, c,
                    rule == Rule.CHECK_OUTLIVES_CONNECTION ? CONNECTED : SUCCESSOR);
            case SUCCESSOR -> {
                if (rule == Rule.MARK_FOR_SUCCESSOR && isMarked) {
                    visitWithStatus(state, i, c, VOTING);
                }
            }
            default -> {
                // Admitted or voting: the mark is next, or nothing.
            }
        }
    }

    private void visitDeceived(byte[] state, int i, int c, int status, boolean isDeceived) {
        byte[] next = state.clone();
        next[deceived(c)] |= (byte) (isDeceived ? 1 : 0);
        setStatus(next, i, c, status);
        visit(next);
    }

    private void visitWithStatus(byte[] state, int i, int c, int status) {
        visitDeceived(state, i, c, status, false);
    }

    /** A live process replies that it is young and empty. */
    private void check(byte[] state, int i, int c) {
        int status = status(state, i, c);
        boolean isPossible = status != NEW && status != STALE && status != SUCCESSOR && !isChecked(state, i, c)
                && (rule == Rule.EARLY_CHECK || rule == Rule.MAJORITY || isConnectedToAll(state, c));
        boolean isYoung = age(state, i) == YOUNG || age(state, i) == LOSS;
        if (isPossible && isYoung && state[node(i) + MARK] == 0 && !hasKey(state, i)) {
            visitWith(state, view(i, c), (byte) (status | IS_CHECKED));
        }
    }

    private boolean isConnectedToAll(byte[] state, int c) {
        for (int i = 0; i < NODES; i++) {
            if (status(state, i, c) == NEW || status(state, i, c) == SUCCESSOR) {
                return false;
            }
        }
        return true;
    }

    private void admit(byte[] state, int c) {
        int checkedCount = 0;
        for (int i = 0; i < NODES; i++) {
            checkedCount += isChecked(state, i, c) ? 1 : 0;
        }
        if (checkedCount < (rule == Rule.MAJORITY ? QUORUM : NODES)) {
            return;
        }
        byte[] next = state.clone();
        for (int i = 0; i < NODES; i++) {
            if (isChecked(state, i, c) && status(state, i, c) == CONNECTED) {
                next[deceived(c)] |= (byte) (losses == Losses.ANY && isLossRecent(state, i) ? 1 : 0);
                setStatus(next, i, c, ADMITTED);
            }
            next[view(i, c)] &= STATUS_MASK;
        }
        visit(next);
    }

    private void writeMark(byte[] state, int i, int c) {
        if (status(state, i, c) == ADMITTED) {
            visitWith(state, node(i) + MARK, (byte) 1);
        }
    }

    private void replaceClient(byte[] state, int c) {
        byte[] next = state.clone();
        for (int i = 0; i < NODES; i++) {
            next[node(i) + ORPHAN] |= (byte) (status(state, i, c) == ADMITTED ? 1 : 0);
            next[view(i, c)] = NEW;
        }
        next[deceived(c)] = 0;
        for (int g = 0; g < GRANTS; g++) {
            if (phase(state, g) != IDLE && owner(state, g) == c) {
                end(next, g);
            }
        }
        visit(next);
    }

    // ---- grants -----------------------------------------------------------------------------------------------------

    private void start(byte[] state, int g, int c) {
        if (phase(state, g) != IDLE || state[deceived(c)] == 1) {
            return;
        }
        byte[] next = state.clone();
        int sentCount = 0;
        for (int i = 0; i < NODES; i++) {
            if (isAsked(state, i, c)) {
                next[command(i, g)] = SENT;
                sentCount++;
            }
        }
        if (sentCount >= QUORUM) {
            next[phase(g, c)] = RUNNING;
            visit(next);
        }
    }

    private boolean isAsked(byte[] state, int i, int c) {
        int status = status(state, i, c);
        return status == VOTING || rule == Rule.VOTE_BEFORE_ACKNOWLEDGED && status == ADMITTED;
    }

    private void run(byte[] state, int g) {
        if (phase(state, g) == IDLE) {
            return;
        }
        byte[] next = state.clone();
        end(next, g);
        visit(next);
        if (phase(state, g) == HELD) {
            extend(state, g);
            return;
        }
        if (rule == Rule.ASK_NEW_VOTERS) {
            askNewVoters(state, g);
        }
        int grantedCount = 0;
        for (int i = 0; i < NODES; i++) {
            if (state[command(i, g)] == SENT && !hasKey(state, i)) {
                visitWith(state, command(i, g), GRANTED);
            }
            grantedCount += state[command(i, g)] >= GRANTED ? 1 : 0;
        }
        if (grantedCount >= QUORUM) {
            byte[] held = state.clone();
            held[phase(g, owner(state, g))] = HELD;
            for (int i = 0; i < NODES; i++) {
                held[command(i, g)] = held[command(i, g)] == SENT ? NONE : held[command(i, g)];
            }
            visit(held);
        }
    }

    /** A node that votes since the start of an attempt, whose first grants are older than the check of the group. */
    private void askNewVoters(byte[] state, int g) {
        int c = owner(state, g);
        for (int i = 0; i < NODES && state[deceived(c)] == 0; i++) {
            if (state[command(i, g)] == NONE && isAsked(state, i, c)) {
                visitWith(state, command(i, g), SENT);
            }
        }
    }

    private void end(byte[] next, int g) {
        next[phase(g, owner(next, g))] = IDLE;
        for (int i = 0; i < NODES; i++) {
            next[command(i, g)] = NONE;
        }
    }

    /**
     * A renewed lease rests on the keys that are there. An extension also puts a missing key back, and counts a key
     * that it sets on a node without a grant.
     */
    private void extend(byte[] state, int g) {
        int c = owner(state, g);
        byte[] renewed = state.clone();
        int[] fresh = new int[NODES];
        int freshCount = 0;
        int grantedCount = 0;
        for (int i = 0; i < NODES; i++) {
            boolean isAsked = isAsked(state, i, c) && state[deceived(c)] == 0;
            grantedCount += isAsked && state[command(i, g)] == GRANTED ? 1 : 0;
            renewed[command(i, g)] = state[command(i, g)] == LOST ? NONE : state[command(i, g)];
            if (isAsked && state[command(i, g)] == NONE && !hasKey(state, i)) {
                visitWith(state, command(i, g), GRANTED);
                fresh[freshCount++] = i;
            }
        }
        for (int set = 0; set < 1 << freshCount; set++) {
            if (grantedCount + Integer.bitCount(set) >= QUORUM) {
                byte[] next = renewed.clone();
                for (int k = 0; k < freshCount; k++) {
                    next[command(fresh[k], g)] = (set & 1 << k) != 0 ? GRANTED : NONE;
                }
                visit(next);
            }
        }
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    private void visitWith(byte[] state, int place, byte value) {
        byte[] next = state.clone();
        next[place] = value;
        visit(next);
    }

    @Override
    protected String violationOf(byte[] state) {
        return phase(state, 0) == HELD && phase(state, 1) == HELD ? "two holders" : null;
    }

    @Override
    protected void exchange(byte[] state) {
        for (int[] places : exchanges) {
            alike(state, places);
        }
    }

    private int[] places(int[] clients, int swap) {
        int[] places = IntStream.range(0, length()).toArray();
        for (int c = 0; c < clientCount; c++) {
            places[deceived(c)] = deceived(clients[c]);
            for (int i = 0; i < NODES; i++) {
                places[view(i, c)] = view(i, clients[c]);
            }
            for (int g = 0; g < GRANTS; g++) {
                places[phase(g, c)] = phase(g ^ swap, clients[c]);
            }
        }
        for (int g = 0; g < GRANTS; g++) {
            for (int i = 0; i < NODES; i++) {
                places[command(i, g)] = command(i, g ^ swap);
            }
        }
        return places;
    }

    /** Brings values with the same future to one value. */
    @Override
    protected void reduce(byte[] state) {
        for (int i = 0; i < NODES; i++) {
            if (age(state, i) == OLD) {
                state[node(i) + MARK] = 0;
                state[node(i) + ORPHAN] = 0;
            } else if (state[node(i) + MARK] == 1) {
                state[node(i) + ORPHAN] = 0;
            }
            for (int c = 0; c < clientCount; c++) {
                setStatus(state, i, c, advanced(state, i, c));
            }
        }
        for (int c = 0; c < clientCount; c++) {
            if (!isGroupPossible(state, c)) {
                for (int i = 0; i < NODES; i++) {
                    state[view(i, c)] = (byte) (status(state, i, c) == STALE ? SUCCESSOR : status(state, i, c));
                    setStatus(state, i, c, advanced(state, i, c));
                }
            }
        }
    }

    /** The status that allows more than the present one, and deceives nobody. */
    private int advanced(byte[] state, int i, int c) {
        int status = status(state, i, c);
        boolean isMarked = state[node(i) + MARK] == 1;
        boolean isLoss = age(state, i) == LIAR || age(state, i) == LOSS && losses == Losses.ANY;
        return switch (status) {
            case CONNECTED -> age(state, i) == OLD || isMarked && !isLoss ? VOTING : status;
            case ADMITTED -> age(state, i) == OLD || isMarked ? VOTING : status;
            case SUCCESSOR -> age(state, i) == OLD ? VOTING : status;
            case STALE -> isChecked(state, i, c) || rule == Rule.CHECK_OUTLIVES_CONNECTION ? status : SUCCESSOR;
            default -> status;
        };
    }

    /** A client that has met a successor admits no group, and one that has admitted every node needs none. */
    private boolean isGroupPossible(byte[] state, int c) {
        boolean isNeeded = false;
        for (int i = 0; i < NODES; i++) {
            int status = status(state, i, c);
            isNeeded |= status == NEW || status == CONNECTED;
            if (status == SUCCESSOR && rule != Rule.MAJORITY) {
                return false;
            }
        }
        return isNeeded;
    }
}
