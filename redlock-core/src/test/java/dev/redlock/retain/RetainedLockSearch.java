package dev.redlock.retain;

import dev.redlock.search.StateSearch;
import java.util.Arrays;

/**
 * Visits every state that a client which retains its lease and one or two others can reach on three nodes, and checks
 * in each that at most one of them has a holder. Events in any order and at any time:
 * <ul>
 * <li>A client starts an attempt, and decides on any quorum of grants. The others hold the lock until they release it
 * or its validity ends.
 * <li>The local holder of the retained lease ends. A thread reads the deadline of the lease, and later becomes the
 * holder. The lease is revoked, which is also what a crash of its client does. The client extends it by any ttl.
 * <li>A node executes a command, at any time or never; its reply arrives or is lost. A command of an earlier round may
 * be executed late, and again.
 * <li>A node restarts and loses its keys, any number of times. It has no vote until the longest ttl has passed.
 * <li>One node loses the key of the retained lease without a restart, because its clock is fast.
 * <li>Time passes.
 * </ul>
 *
 * <p>Reductions, and why they miss nothing:
 * <ul>
 * <li>Times are relative to the present, in whole units, so an endless run has a finite number of states.
 * <li>A key without a lease or an attempt only refuses acquires, so it need not exist: each acquire has a new token. So
 * releases and late commands of ended leases need not happen.
 * <li>A holder may end at any time, so it asks for the longest validity that it can get.
 * <li>A refused command has no effect, so it need not be executed.
 * <li>A lease without all votes is a plain one: the loss by a fast clock is only for a lease that is retained.
 * <li>Nodes are interchangeable, and so are clients of one kind: states that differ only in their order are one state.
 * </ul>
 */
final class RetainedLockSearch extends StateSearch {

    /** What the client does with a lease that it retains. */
    enum Rule {
        /** The rules of the client. */
        PRODUCT,
        /** The validity of a local holder, too, is extended by all votes only. */
        ALL_VOTES_EXTEND,
        /** Wrong: a revocation releases on the nodes under a local holder. */
        RELEASED_UNDER_A_HOLDER,
        /** Wrong: a revocation reads that there is no holder, and releases later. */
        READ_THEN_RELEASED,
        /** Wrong: a local grant is valid for the ttl that it asks for. */
        GRANT_FOR_ITS_TTL,
        /** Wrong: a local grant adds the remaining time to a second reading of the clock. */
        GRANT_BY_DURATION,
        /** Wrong: an extension by a shorter ttl, which comes before the local grant, does not shorten it. */
        GRANT_BY_OLD_DEADLINE,
        /** Wrong: the validity of an extension counts from the reply. */
        EXTENDED_FROM_REPLY,
        /** Wrong: an extension is valid when it is sent. */
        EXTENDED_WHEN_SENT,
        /** Wrong: the votes of an extension are those of several rounds. */
        VOTES_OF_SEVERAL_ROUNDS,
        /** Wrong: an extension by a shorter ttl leaves the validity as it was. */
        SHORTER_TTL_IGNORED,
        /** Wrong: an extension replaces any expiry. */
        NODES_SHORTEN,
        /** Wrong: an extension that sets a missing key is a vote. */
        REPAIR_COUNTS,
        /** Wrong: a node in quarantine has a vote in an extension, if the key was set again. */
        QUARANTINED_NODES_EXTEND,
        /** Wrong: all leases of a client have the same token. */
        TOKEN_REUSED,
        /** Wrong: a lease with a bare quorum of votes is retained. */
        RETAINED_ON_QUORUM,
        /** Wrong: a lease with all votes remains retained after an extension with a bare quorum. */
        EXTENDED_ON_QUORUM,
        /** Wrong: the votes of the nodes that are not in quarantine are all votes. */
        RETAINED_ON_ALL_VOTERS
    }

    // The phase of a client.
    private static final byte IDLE = 0;
    private static final byte ACQUIRING = 1;
    private static final byte LEASED = 2;
    /** Wrong: the release was sent, and the holder goes on. */
    private static final byte RELEASED = 3;

    // Who has the retained lease in its client.
    /** Who acquired it from the nodes. */
    private static final byte FIRST = 0;
    private static final byte FREE = 1;
    private static final byte REGRANTED = 2;

    // The head: whether a key was lost by a fast clock, then a part for each client.
    private static final int IS_LOSS_OVER = 0;
    private static final int HEAD_START = 1;
    private static final int PHASE = 0;
    /** What is left of the validity that the open round gives; of a plain lease, its validity. */
    private static final int LEFT = 1;
    private static final int PLAIN_LENGTH = 2;
    /** What is left of the validity of the lease. */
    private static final int VALID = 2;
    /** What is left of the validity of the local holder. */
    private static final int HOLDER = 3;
    /** What is left until the deadline that a thread has read; 0 if there is no such thread. */
    private static final int GRANTING = 4;
    /** The ttl of the open extension; 0 if the open round is the acquire. */
    private static final int TTL = 5;
    private static final int LOCAL = 6;
    private static final int IS_FULL = 7;
    private static final int IS_READ_FREE = 8;
    private static final int[] RETAIN_BITS = {2, 2, 2, 2, 2, 2, 2, 1, 1};

    // A node's part of the state: its quarantine, then a part for each client.
    private static final int QUARANTINE = 0;
    private static final int NODE_START = 1;
    /** What is left until the key expires. */
    private static final int KEY = 0;
    /** The acquire can still be executed. */
    private static final int IS_ACQUIRE_OPEN = 1;
    /** The reply of the open round is a vote. */
    private static final int IS_GRANTED = 2;
    private static final int PLAIN_CELL_LENGTH = 3;
    private static final int IS_EXTENSION_OPEN = 3;
    /** A set of ttls: earlier extensions by them can still be executed. */
    private static final int LATE = 4;
    private static final int IS_RELEASE_LATE = 5;
    /** A fast clock lost the key after the vote in the open extension. */
    private static final int IS_VOTE_LOST = 6;
    private static final int[] RETAIN_CELL_BITS = {2, 1, 1, 1, 3, 1, 1};

    private static final int NODES = 3;
    private static final int QUORUM = 2;
    private static final int TTL_MAX_OF_LAYOUT = 3;
    private static final String[] NAMES = {"A", "B", "C"};

    private final Rule rule;
    private final int ttlMax;
    private final int retainingCount;
    private final int clientCount;
    private final boolean areOverlapping;
    private final boolean arePaused;

    /**
     * A search in which the first clients retain their leases.
     *
     * @param ttlMax         the longest ttl, at most 3
     * @param areOverlapping whether commands of earlier extensions may be executed after the next has started
     * @param arePaused      whether a thread may pause between its reading of the deadline and its local grant
     */
    RetainedLockSearch(Rule rule, int ttlMax, int retainingCount, int plainCount, boolean areOverlapping,
            boolean arePaused) {
        super(bits(1, RETAIN_BITS, retainingCount, PLAIN_LENGTH, plainCount), NODES,
                bits(2, RETAIN_CELL_BITS, retainingCount, PLAIN_CELL_LENGTH, plainCount));
        assert ttlMax <= TTL_MAX_OF_LAYOUT : "a time has two bits";
        this.rule = rule;
        this.ttlMax = ttlMax;
        this.retainingCount = retainingCount;
        this.clientCount = retainingCount + plainCount;
        this.areOverlapping = areOverlapping;
        this.arePaused = arePaused;
    }

    /** The bits of the start, of each client that retains, and of each plain one, which has the first numbers only. */
    private static int[] bits(int start, int[] retaining, int retainingCount, int plainLength, int plainCount) {
        return bits(bits(new int[]{start}, retainingCount, retaining), plainCount,
                Arrays.copyOf(retaining, plainLength));
    }

    // ---- the places of values ---------------------------------------------------------------------------------------

    private boolean isRetaining(int c) {
        return c < retainingCount;
    }

    private int place(int start, int c, int retainingLength, int plainLength) {
        return start + Math.min(c, retainingCount) * retainingLength + Math.max(0, c - retainingCount) * plainLength;
    }

    private int head(int c) {
        return place(HEAD_START, c, RETAIN_BITS.length, PLAIN_LENGTH);
    }

    private int cell(int i, int c) {
        return place(node(i) + NODE_START, c, RETAIN_CELL_BITS.length, PLAIN_CELL_LENGTH);
    }

    private boolean isFree(byte[] state, int i) {
        for (int c = 0; c < clientCount; c++) {
            if (state[cell(i, c) + KEY] > 0) {
                return false;
            }
        }
        return true;
    }

    private int grantedCount(byte[] state, int c) {
        int count = 0;
        for (int i = 0; i < NODES; i++) {
            count += state[cell(i, c) + IS_GRANTED];
        }
        return count;
    }

    /** Whether the open round has all votes. */
    private boolean isFull(byte[] state, int c) {
        int count = grantedCount(state, c);
        for (int i = 0; i < NODES && rule == Rule.RETAINED_ON_ALL_VOTERS; i++) {
            count += state[cell(i, c) + IS_GRANTED] == 0 && state[node(i) + QUARANTINE] > 0 ? 1 : 0;
        }
        return count >= (rule == Rule.RETAINED_ON_QUORUM ? QUORUM : NODES);
    }

    private boolean isHolding(byte[] state, int c) {
        int head = head(c);
        if (!isRetaining(c)) {
            return state[head + PHASE] == LEASED;
        }
        return state[head + PHASE] >= LEASED && state[head + LOCAL] != FREE && state[head + HOLDER] > 0;
    }

    @Override
    protected String violationOf(byte[] state) {
        int count = 0;
        for (int c = 0; c < clientCount; c++) {
            count += isHolding(state, c) ? 1 : 0;
        }
        return count > 1 ? "two holders" : null;
    }

    @Override
    protected void expand(byte[] state) {
        for (int c = 0; c < clientCount; c++) {
            runClient(state, c);
        }
        for (int i = 0; i < NODES; i++) {
            for (int c = 0; c < clientCount; c++) {
                runNode(state, i, c);
            }
            restart(state.clone(), i);
        }
        tick(state.clone());
    }

    private void visit(byte[] next, int c, String event) {
        visit(next, NAMES[c], event, NO_NODE);
    }

    private void visit(byte[] next, int c, String event, int i) {
        visit(next, NAMES[c], event, i);
    }

    // ---- time -------------------------------------------------------------------------------------------------------

    private void tick(byte[] next) {
        for (int i = 0; i < NODES; i++) {
            decrement(next, node(i) + QUARANTINE);
            for (int c = 0; c < clientCount; c++) {
                decrement(next, cell(i, c) + KEY);
            }
        }
        for (int c = 0; c < clientCount; c++) {
            int head = head(c);
            byte phase = next[head + PHASE];
            decrement(next, head + LEFT);
            if (isRetaining(c) && phase >= LEASED) {
                decrement(next, head + VALID);
                decrement(next, head + HOLDER);
                if (rule != Rule.GRANT_BY_DURATION) {
                    decrement(next, head + GRANTING);
                }
                expire(next, c);
            } else if (phase != IDLE && next[head + LEFT] == 0) {
                end(next, c);
            }
        }
        visit(next, "", "a unit of time passes", NO_NODE);
    }

    private void expire(byte[] next, int c) {
        int head = head(c);
        boolean isOver = next[head + PHASE] == RELEASED || next[head + VALID] == 0;
        if (isOver && !isHolding(next, c)) {
            end(next, c);
        } else if (isOver) {
            next[head + PHASE] = RELEASED;
        }
    }

    // ---- events of a client -----------------------------------------------------------------------------------------

    private void runClient(byte[] state, int c) {
        int head = head(c);
        if (state[head + PHASE] == IDLE) {
            start(state.clone(), c);
            return;
        }
        byte[] ended = state.clone();
        end(ended, c);
        visit(ended, c, state[head + PHASE] == ACQUIRING ? "gives up" : "releases, or crashes");
        if (state[head + PHASE] == ACQUIRING && grantedCount(state, c) >= QUORUM) {
            win(state.clone(), c);
        }
        if (isRetaining(c) && state[head + PHASE] == LEASED) {
            runRetained(state, c);
        }
    }

    private void start(byte[] next, int c) {
        next[head(c) + PHASE] = ACQUIRING;
        next[head(c) + LEFT] = (byte) ttlMax;
        for (int i = 0; i < NODES; i++) {
            next[cell(i, c) + IS_ACQUIRE_OPEN] = 1;
        }
        visit(next, c, "sends an acquire");
    }

    /** With one token for all leases, what is left of this one matters to the next. */
    private void end(byte[] next, int c) {
        int head = head(c);
        Arrays.fill(next, head, head + (isRetaining(c) ? RETAIN_BITS.length : PLAIN_LENGTH), (byte) 0);
        boolean isTokenKept = isRetaining(c) && rule == Rule.TOKEN_REUSED;
        for (int i = 0; i < NODES; i++) {
            int cell = cell(i, c);
            byte key = next[cell + KEY];
            Arrays.fill(next, cell, cell + (isRetaining(c) ? RETAIN_CELL_BITS.length : PLAIN_CELL_LENGTH), (byte) 0);
            if (isTokenKept) {
                next[cell + KEY] = key;
                next[cell + IS_RELEASE_LATE] = 1;
            }
        }
    }

    private void win(byte[] next, int c) {
        int head = head(c);
        next[head + PHASE] = LEASED;
        if (isRetaining(c)) {
            next[head + VALID] = next[head + LEFT];
            next[head + HOLDER] = next[head + LEFT];
            next[head + IS_FULL] = (byte) (isFull(next, c) ? 1 : 0);
        } else {
            for (int i = 0; i < NODES; i++) {
                next[cell(i, c) + IS_ACQUIRE_OPEN] = 0;
                next[cell(i, c) + IS_GRANTED] = 0;
            }
        }
        visit(next, c, "has acquired");
    }

    private void runRetained(byte[] state, int c) {
        int head = head(c);
        if (state[head + LOCAL] == FREE) {
            grant(state, c);
            if (rule == Rule.READ_THEN_RELEASED && state[head + IS_READ_FREE] == 0) {
                byte[] next = state.clone();
                next[head + IS_READ_FREE] = 1;
                visit(next, c, "reads that the lease has no holder");
            }
        } else {
            if (state[head + IS_FULL] == 1) {
                byte[] next = state.clone();
                next[head + LOCAL] = FREE;
                next[head + HOLDER] = 0;
                visit(next, c, "the local holder ends, the lease is retained");
            }
            boolean isRegranted = state[head + LOCAL] == REGRANTED;
            if (rule == Rule.RELEASED_UNDER_A_HOLDER && isRegranted || state[head + IS_READ_FREE] == 1) {
                byte[] next = state.clone();
                next[head + PHASE] = RELEASED;
                visit(next, c, "sends the release");
            }
        }
        for (int ttl = 1; ttl <= ttlMax; ttl++) {
            startExtension(state.clone(), c, ttl);
        }
        if (state[head + TTL] > 0 && state[head + LEFT] > 0 && isExtended(state, c)) {
            winExtension(state.clone(), c);
        }
    }

    /** An extension with a bare quorum is that of a plain lease: it may not lose a vote by a fast clock. */
    private boolean isExtended(byte[] state, int c) {
        int lost = 0;
        for (int i = 0; i < NODES; i++) {
            lost += state[cell(i, c) + IS_VOTE_LOST];
        }
        boolean isFull = isFull(state, c);
        return rule == Rule.ALL_VOTES_EXTEND ? isFull : grantedCount(state, c) - (isFull ? 0 : lost) >= QUORUM;
    }

    private void grant(byte[] state, int c) {
        int head = head(c);
        if (state[head + IS_FULL] == 0) {
            return;
        }
        byte[] next = state.clone();
        if (arePaused && state[head + GRANTING] == 0) {
            next[head + GRANTING] = next[head + VALID];
            visit(next, c, "a thread reads the deadline");
        } else {
            byte deadline = arePaused ? next[head + GRANTING] : next[head + VALID];
            next[head + LOCAL] = REGRANTED;
            next[head + HOLDER] = rule == Rule.GRANT_FOR_ITS_TTL ? (byte) ttlMax : deadline;
            next[head + GRANTING] = 0;
            visit(next, c, "a thread is the local holder");
        }
    }

    private void startExtension(byte[] next, int c, int ttl) {
        int head = head(c);
        for (int i = 0; i < NODES; i++) {
            int cell = cell(i, c);
            if (!areOverlapping) {
                next[cell + LATE] = 0;
            } else if (next[cell + IS_EXTENSION_OPEN] == 1) {
                next[cell + LATE] |= lateBit(next[head + TTL]);
            }
            next[cell + IS_EXTENSION_OPEN] = 1;
            if (rule != Rule.VOTES_OF_SEVERAL_ROUNDS || next[head + TTL] == 0) {
                next[cell + IS_GRANTED] = 0;
                next[cell + IS_VOTE_LOST] = 0;
            }
        }
        next[head + TTL] = (byte) ttl;
        next[head + LEFT] = (byte) ttl;
        if (rule != Rule.SHORTER_TTL_IGNORED) {
            next[head + VALID] = min(next[head + VALID], ttl);
            next[head + HOLDER] = min(next[head + HOLDER], ttl);
            if (rule != Rule.GRANT_BY_OLD_DEADLINE) {
                next[head + GRANTING] = min(next[head + GRANTING], ttl);
            }
        }
        if (rule == Rule.EXTENDED_WHEN_SENT) {
            lengthen(next, c, ttl);
        }
        visit(next, c, "sends an extension by " + ttl);
    }

    private static int lateBit(int ttl) {
        return 1 << ttl - 1;
    }

    private void winExtension(byte[] next, int c) {
        int head = head(c);
        lengthen(next, c, rule == Rule.EXTENDED_FROM_REPLY ? next[head + TTL] : next[head + LEFT]);
        if (rule != Rule.EXTENDED_ON_QUORUM) {
            next[head + IS_FULL] = (byte) (isFull(next, c) ? 1 : 0);
        }
        visit(next, c, "has extended");
    }

    private static byte min(int one, int other) {
        return (byte) Math.min(one, other);
    }

    private static byte max(int one, int other) {
        return (byte) Math.max(one, other);
    }

    /** A holder that asked for the extension has its deadline. */
    private void lengthen(byte[] next, int c, int valid) {
        int head = head(c);
        next[head + VALID] = max(next[head + VALID], valid);
        if (next[head + LOCAL] != FREE) {
            next[head + HOLDER] = max(next[head + HOLDER], next[head + VALID]);
        }
    }

    // ---- events of a node -------------------------------------------------------------------------------------------

    /** Connections end with their process, and so do the commands on them. */
    private void restart(byte[] next, int i) {
        next[node(i) + QUARANTINE] = (byte) ttlMax;
        for (int c = 0; c < clientCount; c++) {
            int cell = cell(i, c);
            byte granted = next[cell + IS_GRANTED];
            byte lost = isRetaining(c) ? next[cell + IS_VOTE_LOST] : 0;
            Arrays.fill(next, cell, cell + (isRetaining(c) ? RETAIN_CELL_BITS.length : PLAIN_CELL_LENGTH), (byte) 0);
            next[cell + IS_GRANTED] = granted;
            if (isRetaining(c)) {
                next[cell + IS_VOTE_LOST] = lost;
            }
        }
        visit(next, "", "a restart loses the keys", i);
    }

    private void runNode(byte[] state, int i, int c) {
        int cell = cell(i, c);
        if (state[cell + IS_ACQUIRE_OPEN] == 1 && isFree(state, i)) {
            acquire(state, i, c);
        }
        if (!isRetaining(c)) {
            return;
        }
        boolean isOurs = state[cell + KEY] > 0;
        int head = head(c);
        if (isOurs) {
            loseKey(state.clone(), i, c);
        }
        if (!isOurs && !isFree(state, i)) {
            return;
        }
        if (state[cell + IS_EXTENSION_OPEN] == 1) {
            byte[] next = state.clone();
            next[cell + IS_EXTENSION_OPEN] = 0;
            extendKey(next, cell, next[head + TTL]);
            boolean isQuarantined = state[node(i) + QUARANTINE] > 0;
            boolean isVote = isOurs
                    ? !isQuarantined || rule == Rule.QUARANTINED_NODES_EXTEND
                    : rule == Rule.REPAIR_COUNTS;
            visitWithReply(next, i, c, isVote && state[head + LEFT] > 0,
                    isOurs ? "the key is extended" : "the key is set again");
        }
        for (int ttl = 1; ttl <= ttlMax; ttl++) {
            if ((state[cell + LATE] & lateBit(ttl)) != 0) {
                byte[] next = state.clone();
                extendKey(next, cell, ttl);
                visit(next, c, isOurs ? "an earlier extension is executed" : "an earlier extension sets the key", i);
            }
        }
    }

    private void acquire(byte[] state, int i, int c) {
        int head = head(c);
        boolean isQuarantined = state[node(i) + QUARANTINE] > 0;
        if (isQuarantined && !isRetaining(c)) {
            return;
        }
        byte[] next = state.clone();
        next[cell(i, c) + IS_ACQUIRE_OPEN] = 0;
        next[cell(i, c) + KEY] = (byte) ttlMax;
        boolean isRoundOpen = !isRetaining(c) || state[head + TTL] == 0;
        visitWithReply(next, i, c, isRoundOpen && !isQuarantined, "the key is set");
    }

    /** The reply is lost, or arrives. The last vote for an acquire may follow the others. */
    private void visitWithReply(byte[] next, int i, int c, boolean isVote, String event) {
        byte[] lost = next.clone();
        visit(lost, c, event + (isVote ? ", the reply is lost," : ", no vote,"), i);
        if (isVote) {
            next[cell(i, c) + IS_GRANTED] = 1;
            if (isRetaining(c) && next[head(c) + PHASE] == LEASED && next[head(c) + TTL] == 0 && isFull(next, c)) {
                next[head(c) + IS_FULL] = 1;
            }
            visit(next, c, event, i);
        }
    }

    private void extendKey(byte[] next, int cell, int ttl) {
        next[cell + KEY] = rule == Rule.NODES_SHORTEN ? (byte) ttl : max(next[cell + KEY], ttl);
    }

    private void loseKey(byte[] next, int i, int c) {
        int head = head(c);
        byte phase = next[head + PHASE];
        int cell = cell(i, c);
        next[cell + KEY] = 0;
        if (phase == RELEASED) {
            visit(next.clone(), c, "the release is executed", i);
        }
        if (next[cell + IS_RELEASE_LATE] == 1) {
            byte[] released = next.clone();
            released[cell + IS_RELEASE_LATE] = 0;
            visit(released, c, "the release of the lease before is executed", i);
        }
        boolean isRetained = phase == LEASED && next[head + IS_FULL] == 1 && next[head + LOCAL] != FIRST;
        if (isRetained && next[IS_LOSS_OVER] == 0) {
            next[IS_LOSS_OVER] = 1;
            next[cell + IS_VOTE_LOST] = next[head + TTL] > 0 ? next[cell + IS_GRANTED] : 0;
            visit(next, c, "a fast clock loses the key", i);
        }
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    /** Clears values that are never read again. */
    @Override
    protected void reduce(byte[] state) {
        for (int c = 0; c < retainingCount; c++) {
            int head = head(c);
            boolean isAcquireOver = state[head + PHASE] == LEASED && state[head + TTL] == 0
                    && (state[head + LEFT] == 0 || state[head + IS_FULL] == 1);
            boolean isExtensionOver = state[head + TTL] > 0 && state[head + LEFT] == 0;
            for (int i = 0; i < NODES; i++) {
                int cell = cell(i, c);
                if (isExtensionOver && state[cell + IS_EXTENSION_OPEN] == 1) {
                    state[cell + IS_EXTENSION_OPEN] = 0;
                    state[cell + LATE] |= lateBit(state[head + TTL]);
                }
                if (isAcquireOver || isExtensionOver && rule != Rule.VOTES_OF_SEVERAL_ROUNDS) {
                    state[cell + IS_GRANTED] = 0;
                    state[cell + IS_VOTE_LOST] = 0;
                }
            }
            if (isExtensionOver) {
                state[head + TTL] = 1;
            }
            if (isAcquireOver) {
                state[head + LEFT] = 0;
            }
        }
    }

    /** The last two clients, if they are of one kind. */
    @Override
    protected void exchange(byte[] state) {
        int one = clientCount - 2;
        int other = clientCount - 1;
        if (isRetaining(one) != isRetaining(other)) {
            return;
        }
        byte[] next = state.clone();
        swap(next, head(one), head(other), isRetaining(one) ? RETAIN_BITS.length : PLAIN_LENGTH);
        for (int i = 0; i < NODES; i++) {
            swap(next, cell(i, one), cell(i, other), isRetaining(one) ? RETAIN_CELL_BITS.length : PLAIN_CELL_LENGTH);
        }
        alike(next);
    }
}
