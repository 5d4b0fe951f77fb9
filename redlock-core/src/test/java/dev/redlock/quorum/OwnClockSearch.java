package dev.redlock.quorum;

import dev.redlock.search.StateSearch;

/**
 * Visits every state of the rule for a client whose own clock stood still: all nodes seem to have jumped ahead. There
 * are two parts. They use one model of the nodes, whose clocks step ahead at any time, so that their keys expire early.
 *
 * <ul>
 * <li>{@link Part#HOLDER}: a client acquires a lock, its clock stands still at any time, and it samples the clocks of
 * the nodes at any time. Checked: the key of each node on which its lease rests exists for as long as the lease is
 * valid, less what the client has not seen of that node.
 * <li>{@link Part#NEWCOMER}: another client decides which nodes vote. A step of a node starts the rest of a lease that
 * the holder has from before. Checked: no node votes although the newcomer has seen its step, and the holder has not
 * and may still rely on it. And if no node has stepped, a clock that stood still once takes no vote for longer than the
 * other clients need to sample.
 * </ul>
 *
 * <p>Together: if two leases overlap, they share a node on which the first one rests and whose key is gone. By the
 * first check the holder has not seen that node's step, or that its own clock stood still. By the second one, the
 * newcomer has not seen the step either. So an overlap ends as soon as one of them could know, as without this rule.
 *
 * <p>Reductions: clocks do not drift, and a sample takes no time, because {@link Validity} covers both. A reply is read
 * when it arrives, because the holder may decide at any later time. Nodes are interchangeable.
 */
final class OwnClockSearch extends StateSearch {

    private static final int TTL = 4;
    private static final int ROUND = 1;
    /** Ticks of a quarantine after a jump: a lease from before has ended. */
    private static final int QUARANTINE = TTL;
    /** After so many ticks, each client that samples in time has seen a step. */
    private static final int WAIT = 2;

    /** What a client does when it sees that the clock of a node has jumped. */
    enum Rule {
        /** The rule of the client. */
        PRODUCT(WAIT),
        /** Safe, but takes all nodes away after each suspend: every jump is one of the node. */
        EVERY_NODE_JUMPED(WAIT),
        /** Wrong: all nodes vote at once. */
        NO_WAIT(0),
        /** Wrong: another client may not have taken its next sample. */
        SHORT_WAIT(1),
        /** Wrong: a quorum of nodes that agree is enough. */
        MAJORITY(WAIT),
        /** Wrong: the samples of the others need not have arrived. */
        FIRST_SAMPLE(WAIT),
        /** Wrong: a node counts as if it had been sampled after the first jump. */
        UNSAMPLED_NODE_AGREES(WAIT),
        /** Wrong: a node whose clock did not move does not count. */
        STEADY_NODE_IGNORED(WAIT),
        /** Wrong: jumps of different lengths are one. */
        ANY_AMOUNT(WAIT),
        /** Wrong: the own clock may have stood still between the samples that are compared. */
        NOT_CONFIRMED(WAIT),
        /** Wrong: after a comparison has failed, a node shows what another one has shown before. */
        NOT_SETTLED(WAIT),
        /** Wrong: a quarantine from before ends too. */
        EARLIER_QUARANTINE_FORGOTTEN(WAIT),
        /** Wrong: leases stay as they are. */
        LEASES_KEPT(WAIT),
        /** Wrong: a lease is shortened once, by what the first node shows. */
        SHORTENED_ONCE(WAIT),
        /** Wrong: grants from before count in a round that is not decided. */
        IN_FLIGHT_KEPT(WAIT);

        private final int waitTicks;

        Rule(int waitTicks) {
            this.waitTicks = waitTicks;
        }
    }

    /** Which client the search is about. */
    enum Part {
        /** The first lease. Any clocks step. */
        HOLDER,
        /** Any clocks step. The holder samples every clock between two ticks of its own. */
        NEWCOMER,
        /** The holder samples no clock. The clock of one node never steps. */
        NEWCOMER_AND_HOLDER_CUT_OFF
    }

    // The phases of the holder.
    private static final int IN_ROUND = 0;
    private static final int HELD = 1;
    private static final int ENDED = 2;

    // The holder's command on a node.
    private static final int SENT = 0;
    private static final int GRANTED = 1;
    private static final int REVOKED = 2;

    // How far the comparison of the newcomer is.
    private static final int CLOSED = 0;
    private static final int COMPARING = 1;
    /** All nodes have moved alike; their next samples must show no move. */
    private static final int CONFIRMING = 2;
    /** It has failed. The next one starts when each node was sampled after the last jump. */
    private static final int SETTLING = 3;

    // A node's part of the state. The first ones are of one part only.
    /** The rest of the key; or of a lease from before a step that the holder has not seen. */
    private static final int REST = 0;
    private static final int COMMAND = 1;
    private static final int EARLIER = 1;
    private static final int QUARANTINED = 2;
    /** The newcomer has not seen a step. */
    private static final int IS_STEP_UNSEEN = 3;
    /** The holder has sampled this clock since the last tick. */
    private static final int IS_SAMPLED = 4;
    /** How far the clock has moved against the client's since its last sample. */
    private static final int UNSEEN = 5;
    /** Comparing: what the node has shown, 0 if nothing. Later: 1 if a sample is needed. */
    private static final int SEEN = 6;
    private static final int STEPPED = 7;
    private static final int[] NODE_BITS = {3, 3, 3, 1, 1, 3, 3, 2};

    // The head.
    private static final int PHASE = 0;
    /** Of a round its age, of a lease the rest of its validity. */
    private static final int TIME = 1;
    /** By how much the lease was shortened since the first node showed a jump. */
    private static final int SHORTENED = 2;
    private static final int STALLED = 3;
    private static final int COMPARISON = 4;
    private static final int IS_STALLED = 5;
    private static final int IS_STALLED_TWICE = 6;
    private static final int[] HEAD_BITS = {2, 3, 3, 2, 2, 1, 1};

    private final Rule rule;
    private final Part part;
    private final int nodes;
    private final int quorum;
    /** Ticks for which the client's clock stands still at most, and by which each clock of a node steps. */
    private final int amountMax;

    OwnClockSearch(Rule rule, Part part, int nodes, int amountMax) {
        super(HEAD_BITS, nodes, NODE_BITS);
        assert nodes <= 5 && amountMax <= 2 : "more do not fit the bits of a state";
        this.rule = rule;
        this.part = part;
        this.nodes = nodes;
        this.quorum = nodes / 2 + 1;
        this.amountMax = amountMax;
    }

    private int count(byte[] state, int place, int value) {
        int count = 0;
        for (int i = 0; i < nodes; i++) {
            count += state[node(i) + place] == value ? 1 : 0;
        }
        return count;
    }

    // ---- events -----------------------------------------------------------------------------------------------------

    @Override
    protected void expand(byte[] state) {
        tick(state, false);
        if (state[STALLED] < amountMax) {
            tick(state, true);
        }
        if (part == Part.HOLDER) {
            decideRound(state);
        }
        for (int i = 0; i < nodes; i++) {
            for (int ahead = 1; ahead <= amountMax - state[node(i) + STEPPED]; ahead++) {
                step(state, i, ahead);
            }
            byte[] next = state.clone();
            if (part == Part.HOLDER) {
                execute(state, i);
                sampleByHolder(next, i);
                visitUnlessEnded(next);
            } else {
                sampleByNewcomer(next, i);
                visit(next);
            }
            if (part == Part.NEWCOMER) {
                byte[] known = state.clone();
                known[node(i) + REST] = 0;
                known[node(i) + IS_SAMPLED] = 1;
                visit(known);
            }
        }
    }

    /** Time passes. The client's clock advances, or stands still. */
    private void tick(byte[] state, boolean isStalled) {
        if (part == Part.NEWCOMER && count(state, IS_SAMPLED, 1) < nodes) {
            return;
        }
        byte[] next = state.clone();
        for (int i = 0; i < nodes; i++) {
            next[node(i) + IS_SAMPLED] = 0;
            next[node(i) + REST] = (byte) Math.max(0, state[node(i) + REST] - 1);
            if (isStalled) {
                next[node(i) + UNSEEN]++;
            } else if (part != Part.HOLDER) {
                next[node(i) + QUARANTINED] = (byte) Math.max(0, state[node(i) + QUARANTINED] - 1);
                next[node(i) + EARLIER] = (byte) Math.max(0, state[node(i) + EARLIER] - 1);
            }
        }
        if (isStalled) {
            boolean isTwice = state[STALLED] > 0 && state[IS_STALLED] == 0;
            next[IS_STALLED_TWICE] |= (byte) (isTwice ? 1 : 0);
            next[STALLED]++;
        } else if (part == Part.HOLDER) {
            passTime(next);
        }
        next[IS_STALLED] = (byte) (isStalled ? 1 : 0);
        visitUnlessEnded(next);
    }

    private void visitUnlessEnded(byte[] next) {
        if (part != Part.HOLDER || next[PHASE] != ENDED) {
            visit(next);
        }
    }

    private void passTime(byte[] next) {
        boolean isRound = next[PHASE] == IN_ROUND;
        next[TIME] += (byte) (isRound ? 1 : -1);
        if (isRound ? next[TIME] > ROUND : next[TIME] == 0) {
            next[PHASE] = ENDED;
        }
    }

    /** The clock of a node steps ahead. */
    private void step(byte[] state, int i, int ahead) {
        boolean isFirst = state[node(i) + STEPPED] == 0;
        if (part == Part.NEWCOMER_AND_HOLDER_CUT_OFF && isFirst && count(state, STEPPED, 0) == 1) {
            return;
        }
        byte[] next = state.clone();
        next[node(i) + STEPPED] += (byte) ahead;
        next[node(i) + UNSEEN] += (byte) ahead;
        if (part == Part.HOLDER) {
            next[node(i) + REST] = (byte) Math.max(0, state[node(i) + REST] - ahead);
        } else {
            next[node(i) + REST] = TTL;
            next[node(i) + IS_STEP_UNSEEN] = 1;
        }
        visit(next);
    }

    // ---- the holder -------------------------------------------------------------------------------------------------

    private void execute(byte[] state, int i) {
        if (state[node(i) + COMMAND] == SENT) {
            byte[] next = state.clone();
            next[node(i) + REST] = TTL;
            next[node(i) + COMMAND] = GRANTED;
            visit(next);
        }
    }

    private void decideRound(byte[] state) {
        if (state[PHASE] == IN_ROUND && count(state, COMMAND, GRANTED) >= quorum) {
            byte[] next = state.clone();
            next[PHASE] = HELD;
            next[TIME] = (byte) (TTL - state[TIME]);
            for (int i = 0; i < nodes; i++) {
                next[node(i) + SEEN] = 0;
            }
            visit(next);
        }
    }

    private void sampleByHolder(byte[] next, int i) {
        int ahead = next[node(i) + UNSEEN];
        next[node(i) + UNSEEN] = 0;
        if (ahead == 0) {
            return;
        }
        if (next[node(i) + SEEN] != 0) {
            for (int other = 0; other < nodes; other++) {
                next[node(other) + SEEN] = 0;
            }
            next[SHORTENED] = 0;
        }
        next[node(i) + SEEN] = (byte) (next[PHASE] == HELD ? 1 : 0);
        if (next[node(i) + COMMAND] != GRANTED) {
            return;
        }
        if (next[PHASE] == IN_ROUND) {
            next[node(i) + COMMAND] = (byte) (rule == Rule.IN_FLIGHT_KEPT ? GRANTED : REVOKED);
        } else if (rule != Rule.LEASES_KEPT) {
            dropOrShorten(next, i, ahead);
        }
    }

    private void dropOrShorten(byte[] next, int i, int ahead) {
        if (count(next, COMMAND, GRANTED) > quorum) {
            next[node(i) + COMMAND] = REVOKED;
            return;
        }
        int before = next[SHORTENED];
        int shortened = rule == Rule.SHORTENED_ONCE && before > 0 ? before : Math.max(before, ahead);
        shortened = rule == Rule.EVERY_NODE_JUMPED ? TTL : shortened;
        next[TIME] = (byte) Math.max(0, next[TIME] - (shortened - before));
        next[SHORTENED] = (byte) shortened;
        if (next[TIME] == 0) {
            next[PHASE] = ENDED;
        }
    }

    // ---- the newcomer -----------------------------------------------------------------------------------------------

    private void sampleByNewcomer(byte[] next, int i) {
        int ahead = next[node(i) + UNSEEN];
        next[node(i) + UNSEEN] = 0;
        next[node(i) + IS_STEP_UNSEEN] = 0;
        int comparison = next[COMPARISON];
        if (ahead == 0) {
            onSteady(next, i, comparison);
            return;
        }
        if (comparison == CLOSED) {
            next[COMPARISON] = COMPARING;
            for (int other = 0; other < nodes; other++) {
                next[node(other) + EARLIER] = next[node(other) + QUARANTINED];
            }
        }
        next[node(i) + QUARANTINED] = QUARANTINE;
        boolean isAgain = comparison == COMPARING && next[node(i) + SEEN] > 0;
        if (rule == Rule.NOT_SETTLED && (isAgain || comparison == CONFIRMING)) {
            restart(next, i, ahead);
        } else if (comparison == CONFIRMING || comparison == SETTLING || isAgain) {
            settle(next, i);
        } else {
            next[node(i) + SEEN] = (byte) ahead;
            compare(next, i, ahead);
        }
    }

    private void onSteady(byte[] next, int i, int comparison) {
        boolean isSeen = next[node(i) + SEEN] > 0;
        if (comparison == COMPARING && !isSeen && rule != Rule.STEADY_NODE_IGNORED) {
            for (int other = 0; other < nodes; other++) {
                next[node(other) + SEEN] = (byte) (other == i || next[node(other) + SEEN] > 0 ? 0 : 1);
            }
            settle(next);
        } else if (comparison == CONFIRMING || comparison == SETTLING) {
            next[node(i) + SEEN] = 0;
            if (count(next, SEEN, 0) == nodes) {
                if (comparison == CONFIRMING) {
                    endQuarantines(next);
                }
                close(next);
            }
        }
    }

    private void restart(byte[] next, int i, int ahead) {
        for (int other = 0; other < nodes; other++) {
            next[node(other) + SEEN] = 0;
            next[node(other) + EARLIER] = next[node(other) + QUARANTINED];
        }
        next[COMPARISON] = COMPARING;
        next[node(i) + SEEN] = (byte) ahead;
    }

    private void settle(byte[] next, int jumped) {
        needSamplesOfOthers(next, jumped);
        settle(next);
    }

    private void settle(byte[] next) {
        next[COMPARISON] = SETTLING;
        for (int i = 0; i < nodes; i++) {
            next[node(i) + EARLIER] = 0;
        }
        if (rule == Rule.NOT_SETTLED || count(next, SEEN, 0) == nodes) {
            close(next);
        }
    }

    private void needSamplesOfOthers(byte[] next, int jumped) {
        for (int other = 0; other < nodes; other++) {
            next[node(other) + SEEN] = (byte) (other == jumped ? 0 : 1);
        }
    }

    /** Whether all nodes have moved alike. */
    private void compare(byte[] next, int i, int ahead) {
        int seen = nodes - count(next, SEEN, 0);
        int alike = rule == Rule.ANY_AMOUNT ? seen : count(next, SEEN, ahead);
        boolean isOwn = switch (rule) {
            case EVERY_NODE_JUMPED -> false;
            case MAJORITY, STEADY_NODE_IGNORED -> alike >= quorum;
            case UNSAMPLED_NODE_AGREES -> alike == seen && seen >= quorum;
            case FIRST_SAMPLE -> true;
            default -> alike == nodes && nodes > 1;
        };
        if (isOwn && alike == nodes && rule != Rule.NOT_CONFIRMED) {
            next[COMPARISON] = CONFIRMING;
            needSamplesOfOthers(next, i);
        } else if (isOwn) {
            endQuarantines(next);
            close(next);
        } else if (seen == nodes) {
            settle(next, i);
        }
    }

    /** The own clock stood still. */
    private void endQuarantines(byte[] next) {
        boolean isEach = next[COMPARISON] == CONFIRMING;
        for (int i = 0; i < nodes; i++) {
            if (isEach || next[node(i) + SEEN] > 0) {
                int earlier = rule == Rule.EARLIER_QUARANTINE_FORGOTTEN ? 0 : next[node(i) + EARLIER];
                next[node(i) + QUARANTINED] = (byte) Math.max(earlier, rule.waitTicks);
            }
        }
    }

    private void close(byte[] next) {
        next[COMPARISON] = CLOSED;
        for (int i = 0; i < nodes; i++) {
            next[node(i) + SEEN] = 0;
            next[node(i) + EARLIER] = 0;
        }
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    @Override
    protected String violationOf(byte[] state) {
        boolean isNeeded = count(state, STEPPED, 0) < nodes || state[IS_STALLED_TWICE] == 1
                || state[IS_STALLED] == 1 || state[COMPARISON] != CLOSED;
        for (int i = 0; i < nodes; i++) {
            if (part == Part.HOLDER) {
                if (state[PHASE] == HELD && state[node(i) + COMMAND] == GRANTED
                        && state[TIME] > state[node(i) + REST] + state[node(i) + UNSEEN]) {
                    return "the key of a node ends before the lease";
                }
            } else if (state[node(i) + QUARANTINED] == 0 && state[node(i) + REST] > 0
                    && state[node(i) + IS_STEP_UNSEEN] == 0) {
                return "a node votes although a lease rests on it";
            } else if (!isNeeded && state[node(i) + QUARANTINED] > WAIT) {
                return "a node does not vote without need";
            }
        }
        return null;
    }
}
