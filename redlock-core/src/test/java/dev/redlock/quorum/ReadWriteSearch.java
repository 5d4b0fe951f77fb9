package dev.redlock.quorum;

import dev.redlock.search.StateSearch;
import java.util.Arrays;

/**
 * Visits every state that some readers and writers of one resource can reach, and checks in each that
 * <ul>
 * <li>no writer holds the lock beside a reader or another writer,
 * <li>no entry of a reader outlives the last command of this reader by more than the ttl,
 * <li>no reader that starts while a majority of nodes has the reservation of a writer gets the lock before it ends.
 * </ul>
 *
 * <p>Events in any order and at any time: a client starts an attempt or an extension, decides on any quorum of grants,
 * gives up or releases; a reader crashes; a node executes a command, or does not, and its reply arrives or is lost; a
 * node restarts without its keys and is in quarantine for a ttl; time passes.
 *
 * <p>Reductions, and why they miss nothing: times are relative to the present, in whole units. A key of a lease or
 * attempt that has ended only refuses commands, so only a crashed client leaves keys, and a client crashes for good. A
 * late extension stays late after its execution. To keep the number of states low, some clients do not extend, and only
 * some crash.
 */
final class ReadWriteSearch extends StateSearch {

    /** A client of the search. */
    enum Client {
        READER, WRITER, READER_WITHOUT_EXTENSION, WRITER_WITHOUT_EXTENSION, READER_THAT_CRASHES;

        private boolean isWriter() {
            return this == WRITER || this == WRITER_WITHOUT_EXTENSION;
        }

        private boolean mayExtend() {
            return this == READER || this == WRITER;
        }
    }

    private static final int NODES = 3;
    private static final int QUORUM = 2;
    private static final byte TTL = 2;

    /** What a node does with commands, and which replies count. */
    enum Rule {
        /** The rule of the scripts. */
        PRODUCT,
        /** Wrong: the entries of all readers have one expiry, which each of them renews. */
        SHARED_EXPIRY,
        /** Wrong: new readers do not wait for the reservation of a writer. */
        RESERVATION_IGNORED,
        /** Wrong: one grant is enough for a reader. */
        ONE_NODE_READS,
        /** Wrong: a writer takes a node beside readers if the node has its reservation. */
        RESERVATION_TAKES
    }

    // A client's part of the head.
    private static final int PHASE = 0;
    private static final int VALID = 1;
    /** The validity of the open round, if it wins now. */
    private static final int ROUND = 2;
    private static final int CLIENT_LENGTH = 3;

    private static final byte IDLE = 0;
    private static final byte ACQUIRING = 1;
    private static final byte HELD = 2;
    private static final byte DEAD = 3;

    // A node's part of the state: its quarantine, then a part for each client.
    private static final int QUARANTINE = 0;
    private static final int NODE_HEAD = 1;
    /** The rest of the ttl of the reader's entry, or of the writer's key. */
    private static final int ENTRY = 0;
    /** The rest of the ttl since the last command of the client itself; for a writer, of its reservation. */
    private static final int OWN = 1;
    private static final int IS_OPEN = 2;
    private static final int IS_GRANTED = 3;
    private static final int IS_LATE = 4;
    /** The node has had the reservation of a writer since the round of this reader started. */
    private static final int IS_BEHIND = 5;
    private static final int CELL_LENGTH = 6;

    private static final int[] CLIENT_BITS = {2, 2, 2};
    private static final int[] CELL_BITS = {2, 2, 1, 1, 1, 1};

    private final Rule rule;
    private final boolean isRestarting;
    private final Client[] clients;

    /** A search with restarts of nodes, or without. */
    ReadWriteSearch(Rule rule, boolean isRestarting, Client... clients) {
        super(bits(new int[0], clients.length, CLIENT_BITS), NODES, bits(new int[]{2}, clients.length, CELL_BITS));
        this.rule = rule;
        this.isRestarting = isRestarting;
        this.clients = clients;
    }

    private int cell(int i, int c) {
        return node(i) + NODE_HEAD + c * CELL_LENGTH;
    }

    private static int client(int c) {
        return c * CLIENT_LENGTH;
    }

    private boolean isWriter(int c) {
        return clients[c].isWriter();
    }

    @Override
    protected void expand(byte[] state) {
        tick(state.clone());
        for (int c = 0; c < clients.length; c++) {
            if (state[client(c) + PHASE] != DEAD) {
                runClient(state, c);
            }
        }
        for (int i = 0; i < NODES; i++) {
            if (isRestarting) {
                restart(state.clone(), i);
            }
            for (int c = 0; c < clients.length; c++) {
                runNode(state, i, c);
            }
        }
    }

    @Override
    protected String violationOf(byte[] state) {
        for (int c = 0; c < clients.length; c++) {
            for (int other = 0; other < c; other++) {
                if (isWriter(c) && state[client(c) + VALID] > 0 && state[client(other) + VALID] > 0) {
                    return "a writer beside " + (isWriter(other) ? "a writer" : "a reader");
                }
            }
            for (int i = 0; i < NODES && !isWriter(c); i++) {
                if (state[cell(i, c) + ENTRY] > 0 && state[cell(i, c) + OWN] == 0) {
                    return "the entry of a reader lives on";
                }
            }
        }
        return null;
    }

    // ---- events of a client -----------------------------------------------------------------------------------------

    private void runClient(byte[] state, int c) {
        int client = client(c);
        if (state[client + PHASE] == IDLE) {
            start(state.clone(), c);
            return;
        }
        end(state.clone(), c, false);
        if (isWriter(c)) {
            // Its next attempt follows.
            end(state.clone(), c, true);
        }
        if (clients[c].mayExtend() && state[client + PHASE] == HELD && state[client + VALID] > 0) {
            startExtension(state.clone(), c);
        }
        int grantedCount = 0;
        for (int i = 0; i < NODES; i++) {
            grantedCount += state[cell(i, c) + IS_GRANTED];
        }
        boolean isOneEnough = rule == Rule.ONE_NODE_READS && !isWriter(c);
        boolean isInTime = state[client + PHASE] == ACQUIRING || state[client + VALID] > 0;
        if (state[client + ROUND] > 0 && isInTime && grantedCount >= (isOneEnough ? 1 : QUORUM)) {
            win(state.clone(), c);
        }
    }

    private void start(byte[] next, int c) {
        int client = client(c);
        // A reader that crashes does so at once. What matters are the entries that its commands leave, at any time.
        boolean isDead = clients[c] == Client.READER_THAT_CRASHES;
        next[client + PHASE] = isDead ? DEAD : ACQUIRING;
        next[client + ROUND] = isDead ? 0 : TTL;
        for (int i = 0; i < NODES && !isWriter(c); i++) {
            next[cell(i, c) + IS_BEHIND] = (byte) (isReserved(next, i) ? 1 : 0);
        }
        send(next, c);
        visit(next);
    }

    private boolean isReserved(byte[] state, int i) {
        for (int c = 0; c < clients.length; c++) {
            if (isWriter(c) && state[cell(i, c) + OWN] > 0) {
                return true;
            }
        }
        return false;
    }

    private void send(byte[] next, int c) {
        for (int i = 0; i < NODES; i++) {
            next[cell(i, c) + IS_OPEN] = (byte) (next[node(i) + QUARANTINE] == 0 ? 1 : 0);
        }
    }

    private void startExtension(byte[] next, int c) {
        next[client(c) + ROUND] = TTL;
        endRound(next, c);
        send(next, c);
        visit(next);
    }

    private void endRound(byte[] next, int c) {
        for (int i = 0; i < NODES; i++) {
            int cell = cell(i, c);
            next[cell + IS_LATE] |= next[client(c) + PHASE] == HELD ? next[cell + IS_OPEN] : 0;
            next[cell + IS_OPEN] = 0;
            next[cell + IS_GRANTED] = 0;
        }
    }

    private void win(byte[] next, int c) {
        int client = client(c);
        int behindCount = 0;
        for (int i = 0; i < NODES; i++) {
            behindCount += next[cell(i, c) + IS_BEHIND];
            next[cell(i, c) + IS_BEHIND] = 0;
        }
        if (behindCount >= QUORUM) {
            violate("a reader overtakes a writer");
        }
        endRound(next, c);
        next[client + PHASE] = HELD;
        next[client + VALID] = next[client + ROUND];
        next[client + ROUND] = 0;
        visit(next);
    }

    /** A release or a rollback. The reservation of a writer may stay. */
    private void end(byte[] next, int c, boolean isReservationLeft) {
        Arrays.fill(next, client(c), client(c) + CLIENT_LENGTH, (byte) 0);
        for (int i = 0; i < NODES; i++) {
            int cell = cell(i, c);
            byte own = next[cell + OWN];
            Arrays.fill(next, cell, cell + CELL_LENGTH, (byte) 0);
            next[cell + OWN] = isReservationLeft ? own : 0;
        }
        clearBehind(next);
        visit(next);
    }

    /** A reader may get a node once the reservation of the writers there has ended. */
    private void clearBehind(byte[] next) {
        for (int i = 0; i < NODES; i++) {
            for (int c = 0; c < clients.length && !isReserved(next, i); c++) {
                next[cell(i, c) + IS_BEHIND] = 0;
            }
        }
    }

    // ---- events of a node -------------------------------------------------------------------------------------------

    private void tick(byte[] next) {
        for (int c = 0; c < clients.length; c++) {
            decrement(next, client(c) + VALID);
            decrement(next, client(c) + ROUND);
            for (int i = 0; i < NODES; i++) {
                decrement(next, cell(i, c) + ENTRY);
                decrement(next, cell(i, c) + OWN);
            }
        }
        for (int i = 0; i < NODES; i++) {
            decrement(next, node(i) + QUARANTINE);
        }
        clearBehind(next);
        visit(next);
    }

    private void restart(byte[] next, int i) {
        Arrays.fill(next, node(i), node(i) + NODE_HEAD + clients.length * CELL_LENGTH, (byte) 0);
        next[node(i) + QUARANTINE] = TTL;
        clearBehind(next);
        visit(next);
    }

    private void runNode(byte[] state, int i, int c) {
        int cell = cell(i, c);
        byte phase = state[client(c) + PHASE];
        boolean isAcquiring = phase == ACQUIRING || phase == DEAD;
        if (state[cell + IS_OPEN] == 1) {
            byte[] next = state.clone();
            next[cell + IS_OPEN] = 0;
            boolean isGrant = isAcquiring ? acquire(next, i, c) : extend(next, i, c);
            visit(next.clone());
            if (isGrant && phase != DEAD) {
                next[cell + IS_GRANTED] = 1;
                visit(next);
            }
        }
        if (state[cell + IS_LATE] == 1) {
            byte[] next = state.clone();
            extend(next, i, c);
            visit(next);
        }
    }

    /** Whether another writer has its key on a node. */
    private boolean isWritten(byte[] state, int i, int c) {
        for (int other = 0; other < clients.length; other++) {
            if (other != c && isWriter(other) && state[cell(i, other) + ENTRY] > 0) {
                return true;
            }
        }
        return false;
    }

    private boolean isRead(byte[] state, int i) {
        for (int c = 0; c < clients.length; c++) {
            if (!isWriter(c) && state[cell(i, c) + ENTRY] > 0) {
                return true;
            }
        }
        return false;
    }

    private boolean acquire(byte[] next, int i, int c) {
        if (isWritten(next, i, c)) {
            return false;
        }
        if (!isWriter(c)) {
            if (isReserved(next, i) && rule != Rule.RESERVATION_IGNORED) {
                return false;
            }
            writeEntry(next, i, c);
            return true;
        }
        if (isRead(next, i) && (rule != Rule.RESERVATION_TAKES || next[cell(i, c) + OWN] == 0)) {
            next[cell(i, c) + OWN] = TTL;
            return false;
        }
        // The key replaces the reservations of all writers.
        for (int other = 0; other < clients.length; other++) {
            next[cell(i, other) + OWN] = isWriter(other) ? 0 : next[cell(i, other) + OWN];
        }
        next[cell(i, c) + ENTRY] = TTL;
        clearBehind(next);
        return true;
    }

    private void writeEntry(byte[] next, int i, int c) {
        next[cell(i, c) + ENTRY] = TTL;
        next[cell(i, c) + OWN] = TTL;
        for (int other = 0; other < clients.length && rule == Rule.SHARED_EXPIRY; other++) {
            boolean isEntry = !isWriter(other) && next[cell(i, other) + ENTRY] > 0;
            next[cell(i, other) + ENTRY] = isEntry ? TTL : next[cell(i, other) + ENTRY];
        }
    }

    private boolean extend(byte[] next, int i, int c) {
        boolean isOurs = next[cell(i, c) + ENTRY] > 0;
        if (isWritten(next, i, c) || !isOurs && (isWriter(c) && isRead(next, i) || isReserved(next, i))) {
            return false;
        }
        if (isWriter(c)) {
            next[cell(i, c) + ENTRY] = TTL;
        } else {
            writeEntry(next, i, c);
        }
        return isOurs;
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    /** A lease whose validity has ended is over. */
    @Override
    protected void reduce(byte[] state) {
        for (int c = 0; c < clients.length; c++) {
            boolean isOver = state[client(c) + PHASE] == HELD && state[client(c) + VALID] == 0
                    || state[client(c) + PHASE] == ACQUIRING && state[client(c) + ROUND] == 0;
            if (isOver) {
                Arrays.fill(state, client(c), client(c) + CLIENT_LENGTH, (byte) 0);
                for (int i = 0; i < NODES; i++) {
                    state[cell(i, c) + ENTRY] = 0;
                    state[cell(i, c) + IS_OPEN] = 0;
                    state[cell(i, c) + IS_GRANTED] = 0;
                    state[cell(i, c) + IS_LATE] = 0;
                    state[cell(i, c) + IS_BEHIND] = 0;
                    state[cell(i, c) + OWN] = isWriter(c) ? state[cell(i, c) + OWN] : 0;
                }
            }
        }
    }
}
