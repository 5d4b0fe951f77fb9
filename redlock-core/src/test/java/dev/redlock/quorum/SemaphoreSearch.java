package dev.redlock.quorum;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Visits every state that some clients of a semaphore can reach, and checks in each that they hold no more permits than
 * the semaphore has. Events in any order and at any time:
 * <ul>
 * <li>A client starts an attempt for any permit, and decides on any quorum of grants. An attempt or a lease ends, also
 * by a crash of its client.
 * <li>A node grants, and its reply arrives or is lost. A node refuses, also without a key of these clients: a late
 * command or a crashed client may have left one.
 * <li>An extension renews the keys of any quorum of nodes that have them. It may set a missing key again, which does
 * not count. A key that the last extension did not renew expires.
 * <li>A node restarts and loses its keys, any number of times. It does not vote until the attempts and leases that
 * count it are over. Attempts from before that do not ask it.
 * </ul>
 *
 * <p>Nodes are interchangeable, and so are clients with the same number of permits and the permits of equal semaphores:
 * states that differ in their order alone are one state.
 */
final class SemaphoreSearch {

    /** What a permit is. */
    enum Rule {
        /** The rule of the client: a permit is a permit, and a permit is a lock of its own. */
        PERMITS,
        /** Wrong: a node grants as many permits as there are, and a majority of nodes makes a permit. */
        MAJORITY_COUNT,
        /** Wrong: the names of permits contain the number of permits, so another number has other permits. */
        PERMITS_NAMED_BY_COUNT
    }

    // The phase of a client.
    private static final byte IDLE = 0;
    private static final byte TRYING = 1;
    private static final byte HELD = 2;

    // What a node has of a client.
    private static final byte NOTHING = 0;
    /** It has no key, and the attempt does not ask it any more. */
    private static final byte OVER = 1;
    /** Its grant counts. It has a key that outlives the lease, unless it has lost its keys. */
    private static final byte COUNTED = 2;
    /** It has a key that does not count and may expire. */
    private static final byte UNCOUNTED = 3;

    private static final int STATUS_BITS = 2;
    private static final int PHASE_BITS = 2;
    private static final int PERMIT_BITS = 2;

    private final Rule rule;
    private final int nodes;
    private final int quorum;
    /** The permits that each client counts with. */
    private final int[] permits;
    private final int clients;
    private final int permitsMax;
    private final boolean isRestarting;
    /** All clients count with the same number of permits. */
    private final boolean isOneKind;
    private final List<int[]> orders = new ArrayList<>();
    private final PackedStates visited = new PackedStates();
    private long[] open = new long[1 << 16];
    private int openLength;
    private String violation;

    /**
     * A state, unpacked: of each client its phase and permit, of each node whether it is silent and what it has of each
     * client.
     */
    private final class State {
        final byte[] phase = new byte[clients];
        final byte[] permit = new byte[clients];
        final boolean[] isSilent = new boolean[nodes];
        final byte[][] status = new byte[nodes][clients];

        State copy() {
            State copy = new State();
            System.arraycopy(phase, 0, copy.phase, 0, clients);
            System.arraycopy(permit, 0, copy.permit, 0, clients);
            System.arraycopy(isSilent, 0, copy.isSilent, 0, nodes);
            for (int i = 0; i < nodes; i++) {
                System.arraycopy(status[i], 0, copy.status[i], 0, clients);
            }
            return copy;
        }

        boolean hasKey(int i, int c) {
            return status[i][c] == UNCOUNTED || status[i][c] == COUNTED && !isSilent[i];
        }

        @Override
        public String toString() {
            return "phases " + Arrays.toString(phase) + ", permits " + Arrays.toString(permit) + ", nodes "
                    + Arrays.deepToString(status);
        }
    }

    /**
     * A search.
     *
     * @param permits of each client, the permits that it counts with
     */
    SemaphoreSearch(Rule rule, int nodes, boolean isRestarting, int... permits) {
        this.rule = rule;
        this.nodes = nodes;
        this.quorum = nodes / 2 + 1;
        this.permits = permits.clone();
        this.clients = permits.length;
        this.permitsMax = Arrays.stream(permits).max().getAsInt();
        this.isRestarting = isRestarting;
        this.isOneKind = Arrays.stream(permits).allMatch(count -> count == permitsMax);
        addOrders(new int[clients], 0);
        assert clients * (PHASE_BITS + PERMIT_BITS) + nodes * nodeBits() < Long.SIZE : "a state fits into a long";
    }

    private int nodeBits() {
        return 1 + clients * STATUS_BITS;
    }

    /** Adds every order of the clients in which each stands at the place of one with the same number of permits. */
    private void addOrders(int[] order, int length) {
        if (length == clients) {
            orders.add(order.clone());
            return;
        }
        for (int c = 0; c < clients; c++) {
            int candidate = c;
            boolean isUsed = Arrays.stream(order, 0, length).anyMatch(other -> other == candidate);
            if (!isUsed && permits[c] == permits[length]) {
                order[length] = c;
                addOrders(order, length + 1);
            }
        }
    }

    /** Runs until every state is visited or a violation is found; returns the violation or null. */
    String run() {
        visit(new State());
        while (violation == null && openLength > 0) {
            expand(unpacked(open[--openLength]));
        }
        return violation;
    }

    long stateCount() {
        return visited.size();
    }

    private void visit(State state) {
        int held = 0;
        for (int c = 0; c < clients; c++) {
            held += state.phase[c] == HELD ? 1 : 0;
        }
        if (held > permitsMax) {
            violation = held + " permits are held of " + permitsMax + ": " + state;
        }
        long packed = leastOf(state);
        if (visited.add(packed | Long.MIN_VALUE, 0)) {
            if (openLength == open.length) {
                open = Arrays.copyOf(open, 2 * openLength);
            }
            open[openLength++] = packed;
        }
    }

    // ---- events of a client -----------------------------------------------------------------------------------------

    private void expand(State state) {
        for (int c = 0; c < clients; c++) {
            if (state.phase[c] == IDLE) {
                for (int permit = 0; permit < (rule == Rule.MAJORITY_COUNT ? 1 : permits[c]); permit++) {
                    start(state.copy(), c, permit);
                }
                continue;
            }
            end(state.copy(), c);
            if (state.phase[c] == TRYING) {
                win(state.copy(), c);
            } else {
                extend(state, c);
            }
            for (int i = 0; i < nodes; i++) {
                ask(state, i, c);
            }
        }
        for (int i = 0; isRestarting && i < nodes; i++) {
            restart(state.copy(), i);
            endSilence(state.copy(), i);
        }
    }

    private void start(State next, int c, int permit) {
        next.phase[c] = TRYING;
        next.permit[c] = (byte) permit;
        for (int i = 0; i < nodes; i++) {
            next.status[i][c] = next.isSilent[i] ? OVER : NOTHING;
        }
        visit(next);
    }

    /** The keys that it leaves can only refuse others, as any node may. */
    private void end(State next, int c) {
        next.phase[c] = IDLE;
        next.permit[c] = 0;
        for (int i = 0; i < nodes; i++) {
            next.status[i][c] = NOTHING;
        }
        visit(next);
    }

    private void win(State next, int c) {
        int counted = 0;
        for (int i = 0; i < nodes; i++) {
            counted += next.status[i][c] == COUNTED ? 1 : 0;
        }
        if (counted >= quorum) {
            next.phase[c] = HELD;
            visit(next);
        }
    }

    /** The lease counts any quorum of nodes that renew its key. The keys of the others may expire from now on. */
    private void extend(State state, int c) {
        int keyMask = 0;
        for (int i = 0; i < nodes; i++) {
            keyMask |= state.hasKey(i, c) && !state.isSilent[i] ? 1 << i : 0;
        }
        for (int renewed = keyMask; renewed != 0; renewed = renewed - 1 & keyMask) {
            if (Integer.bitCount(renewed) < quorum) {
                continue;
            }
            State next = state.copy();
            for (int i = 0; i < nodes; i++) {
                boolean isRenewed = (renewed & 1 << i) != 0;
                next.status[i][c] = isRenewed ? COUNTED : next.hasKey(i, c) ? UNCOUNTED : OVER;
            }
            visit(next);
        }
    }

    // ---- events of a node -------------------------------------------------------------------------------------------

    /** A node executes an acquire or an extension of a client, or the key of the client expires there. */
    private void ask(State state, int i, int c) {
        boolean isExtending = state.phase[c] == HELD;
        byte status = state.status[i][c];
        if (status == UNCOUNTED || status == NOTHING) {
            visit(withStatus(state, i, c, OVER));
        }
        boolean isAsked = status == NOTHING || status == OVER && isExtending;
        if (isAsked && !state.isSilent[i] && isFree(state, i, c)) {
            visit(withStatus(state, i, c, UNCOUNTED));
            if (status == NOTHING && !isExtending) {
                visit(withStatus(state, i, c, COUNTED));
            }
        }
    }

    private State withStatus(State state, int i, int c, byte status) {
        State next = state.copy();
        next.status[i][c] = status;
        return next;
    }

    private boolean isFree(State state, int i, int c) {
        int keyCount = 0;
        for (int other = 0; other < clients; other++) {
            boolean isCompeting = rule == Rule.MAJORITY_COUNT || state.permit[other] == state.permit[c]
                    && (rule != Rule.PERMITS_NAMED_BY_COUNT || permits[other] == permits[c]);
            keyCount += other != c && isCompeting && state.hasKey(i, other) ? 1 : 0;
        }
        return keyCount < (rule == Rule.MAJORITY_COUNT ? permits[c] : 1);
    }

    private void restart(State next, int i) {
        for (int c = 0; c < clients; c++) {
            boolean isOver = next.status[i][c] == UNCOUNTED || next.phase[c] != IDLE && next.status[i][c] == NOTHING;
            next.status[i][c] = isOver ? OVER : next.status[i][c];
        }
        next.isSilent[i] = true;
        visit(next);
    }

    private void endSilence(State next, int i) {
        if (!next.isSilent[i]) {
            return;
        }
        for (int c = 0; c < clients; c++) {
            if (next.status[i][c] == COUNTED) {
                return;
            }
        }
        next.isSilent[i] = false;
        visit(next);
    }

    // ---- states as numbers ------------------------------------------------------------------------------------------

    private long leastOf(State state) {
        long least = Long.MAX_VALUE;
        for (int[] order : orders) {
            least = Math.min(least, packed(state, order));
        }
        return least;
    }

    private long packed(State state, int[] order) {
        long packed = 0;
        int[] names = new int[1 << PERMIT_BITS];
        int nameCount = 0;
        for (int c : order) {
            int permit = state.permit[c];
            if (isOneKind && state.phase[c] != IDLE) {
                // The permits are named in the order of the clients that use them.
                if (names[permit] == 0) {
                    names[permit] = ++nameCount;
                }
                permit = names[permit] - 1;
            }
            packed = (packed << PHASE_BITS | state.phase[c]) << PERMIT_BITS | permit;
        }
        long[] parts = new long[nodes];
        for (int i = 0; i < nodes; i++) {
            parts[i] = state.isSilent[i] ? 1 : 0;
            for (int c : order) {
                parts[i] = parts[i] << STATUS_BITS | state.status[i][c];
            }
        }
        Arrays.sort(parts);
        for (long part : parts) {
            packed = packed << nodeBits() | part;
        }
        return packed;
    }

    private State unpacked(long packed) {
        State state = new State();
        long left = packed;
        for (int i = nodes - 1; i >= 0; i--) {
            for (int c = clients - 1; c >= 0; c--) {
                state.status[i][c] = (byte) (left & (1 << STATUS_BITS) - 1);
                left >>>= STATUS_BITS;
            }
            state.isSilent[i] = (left & 1) == 1;
            left >>>= 1;
        }
        for (int c = clients - 1; c >= 0; c--) {
            state.permit[c] = (byte) (left & (1 << PERMIT_BITS) - 1);
            left >>>= PERMIT_BITS;
            state.phase[c] = (byte) (left & (1 << PHASE_BITS) - 1);
            left >>>= PHASE_BITS;
        }
        return state;
    }
}
