package dev.redlock.quorum;

import dev.redlock.search.StateSearch;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

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
final class SemaphoreSearch extends StateSearch {

    /** What a permit is. */
    enum Rule {
        /** The rule of the client: a permit is a permit, and a permit is a lock of its own. */
        PERMITS,
        /** Wrong: a node grants as many permits as there are, and a majority of nodes makes a permit. */
        MAJORITY_COUNT,
        /** Wrong: the names of permits contain the number of permits, so another number has other permits. */
        PERMITS_NAMED_BY_COUNT
    }

    // The head: the phase and the permit of each client.
    private static final byte IDLE = 0;
    private static final byte TRYING = 1;
    private static final byte HELD = 2;

    // A node's part of the state: whether it is silent, then what it has of each client.
    private static final int IS_SILENT = 0;
    private static final int NODE_HEAD = 1;
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
    /** Where numbers come from in each other order of the clients that keeps their numbers of permits. */
    private final List<int[]> exchanges;

    /**
     * A search.
     *
     * @param permits of each client, the permits that it counts with
     */
    SemaphoreSearch(Rule rule, int nodes, boolean isRestarting, int... permits) {
        super(bits(new int[0], permits.length, PHASE_BITS, PERMIT_BITS), nodes,
                bits(new int[]{1}, permits.length, STATUS_BITS));
        this.rule = rule;
        this.nodes = nodes;
        this.quorum = nodes / 2 + 1;
        this.permits = permits.clone();
        this.clients = permits.length;
        this.permitsMax = Arrays.stream(permits).max().getAsInt();
        this.isRestarting = isRestarting;
        this.isOneKind = Arrays.stream(permits).allMatch(count -> count == permitsMax);
        this.exchanges = orders(clients).stream()
                .skip(1)
                .filter(order -> Arrays.equals(permits, Arrays.stream(order).map(c -> permits[c]).toArray()))
                .map(this::places)
                .collect(Collectors.toList());
    }

    private int[] places(int[] order) {
        int[] places = IntStream.range(0, length()).toArray();
        for (int c = 0; c < clients; c++) {
            places[phase(c)] = phase(order[c]);
            places[permit(c)] = permit(order[c]);
            for (int i = 0; i < nodes; i++) {
                places[status(i, c)] = status(i, order[c]);
            }
        }
        return places;
    }

    private static int phase(int c) {
        return 2 * c;
    }

    private static int permit(int c) {
        return phase(c) + 1;
    }

    private int status(int i, int c) {
        return node(i) + NODE_HEAD + c;
    }

    private boolean isSilent(byte[] state, int i) {
        return state[node(i) + IS_SILENT] == 1;
    }

    private boolean hasKey(byte[] state, int i, int c) {
        return state[status(i, c)] == UNCOUNTED || state[status(i, c)] == COUNTED && !isSilent(state, i);
    }

    @Override
    protected String violationOf(byte[] state) {
        int held = 0;
        for (int c = 0; c < clients; c++) {
            held += state[phase(c)] == HELD ? 1 : 0;
        }
        return held > permitsMax ? held + " permits are held of " + permitsMax : null;
    }

    // ---- events of a client -----------------------------------------------------------------------------------------

    @Override
    protected void expand(byte[] state) {
        for (int c = 0; c < clients; c++) {
            if (state[phase(c)] == IDLE) {
                for (int permit = 0; permit < (rule == Rule.MAJORITY_COUNT ? 1 : permits[c]); permit++) {
                    start(state.clone(), c, permit);
                }
                continue;
            }
            end(state.clone(), c);
            if (state[phase(c)] == TRYING) {
                win(state.clone(), c);
            } else {
                extend(state, c);
            }
            for (int i = 0; i < nodes; i++) {
                ask(state, i, c);
            }
        }
        for (int i = 0; isRestarting && i < nodes; i++) {
            restart(state.clone(), i);
            endSilence(state.clone(), i);
        }
    }

    private void start(byte[] next, int c, int permit) {
        next[phase(c)] = TRYING;
        next[permit(c)] = (byte) permit;
        for (int i = 0; i < nodes; i++) {
            next[status(i, c)] = isSilent(next, i) ? OVER : NOTHING;
        }
        visit(next);
    }

    /** The keys that it leaves can only refuse others, as any node may. */
    private void end(byte[] next, int c) {
        next[phase(c)] = IDLE;
        next[permit(c)] = 0;
        for (int i = 0; i < nodes; i++) {
            next[status(i, c)] = NOTHING;
        }
        visit(next);
    }

    private void win(byte[] next, int c) {
        int counted = 0;
        for (int i = 0; i < nodes; i++) {
            counted += next[status(i, c)] == COUNTED ? 1 : 0;
        }
        if (counted >= quorum) {
            next[phase(c)] = HELD;
            visit(next);
        }
    }

    /** The lease counts any quorum of nodes that renew its key. The keys of the others may expire from now on. */
    private void extend(byte[] state, int c) {
        int keyMask = 0;
        for (int i = 0; i < nodes; i++) {
            keyMask |= hasKey(state, i, c) && !isSilent(state, i) ? 1 << i : 0;
        }
        for (int renewed = keyMask; renewed != 0; renewed = renewed - 1 & keyMask) {
            if (Integer.bitCount(renewed) < quorum) {
                continue;
            }
            byte[] next = state.clone();
            for (int i = 0; i < nodes; i++) {
                boolean isRenewed = (renewed & 1 << i) != 0;
                next[status(i, c)] = isRenewed ? COUNTED : hasKey(next, i, c) ? UNCOUNTED : OVER;
            }
            visit(next);
        }
    }

    // ---- events of a node -------------------------------------------------------------------------------------------

    /** A node executes an acquire or an extension of a client, or the key of the client expires there. */
    private void ask(byte[] state, int i, int c) {
        boolean isExtending = state[phase(c)] == HELD;
        byte status = state[status(i, c)];
        if (status == UNCOUNTED || status == NOTHING) {
            visit(withStatus(state, i, c, OVER));
        }
        boolean isAsked = status == NOTHING || status == OVER && isExtending;
        if (isAsked && !isSilent(state, i) && isFree(state, i, c)) {
            visit(withStatus(state, i, c, UNCOUNTED));
            if (status == NOTHING && !isExtending) {
                visit(withStatus(state, i, c, COUNTED));
            }
        }
    }

    private byte[] withStatus(byte[] state, int i, int c, byte status) {
        byte[] next = state.clone();
        next[status(i, c)] = status;
        return next;
    }

    private boolean isFree(byte[] state, int i, int c) {
        int keyCount = 0;
        for (int other = 0; other < clients; other++) {
            boolean isCompeting = rule == Rule.MAJORITY_COUNT || state[permit(other)] == state[permit(c)]
                    && (rule != Rule.PERMITS_NAMED_BY_COUNT || permits[other] == permits[c]);
            keyCount += other != c && isCompeting && hasKey(state, i, other) ? 1 : 0;
        }
        return keyCount < (rule == Rule.MAJORITY_COUNT ? permits[c] : 1);
    }

    private void restart(byte[] next, int i) {
        for (int c = 0; c < clients; c++) {
            boolean isOver = next[status(i, c)] == UNCOUNTED || next[phase(c)] != IDLE && next[status(i, c)] == NOTHING;
            next[status(i, c)] = isOver ? OVER : next[status(i, c)];
        }
        next[node(i) + IS_SILENT] = 1;
        visit(next);
    }

    private void endSilence(byte[] next, int i) {
        if (!isSilent(next, i)) {
            return;
        }
        for (int c = 0; c < clients; c++) {
            if (next[status(i, c)] == COUNTED) {
                return;
            }
        }
        next[node(i) + IS_SILENT] = 0;
        visit(next);
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    /** Names the permits in the order of the clients that use them. */
    @Override
    protected void reduce(byte[] state) {
        if (!isOneKind) {
            return;
        }
        byte[] names = new byte[1 << PERMIT_BITS];
        byte nameCount = 0;
        for (int c = 0; c < clients; c++) {
            int permit = state[permit(c)];
            if (state[phase(c)] != IDLE) {
                if (names[permit] == 0) {
                    names[permit] = ++nameCount;
                }
                state[permit(c)] = (byte) (names[permit] - 1);
            }
        }
    }

    @Override
    protected void exchange(byte[] state) {
        for (int[] places : exchanges) {
            byte[] other = new byte[places.length];
            for (int i = 0; i < places.length; i++) {
                other[i] = state[places[i]];
            }
            reduce(other);
            alike(other);
        }
    }
}
