package dev.redlock.quorum;

import dev.redlock.search.StateSearch;

/**
 * Visits every state of the rule for a client with one node, whose system counts for how long the machine was
 * suspended. The clock of the node steps ahead at any time, and the machine of the client is suspended at any time,
 * also between the moment at which the node reads its clock and the one at which the client has the reply and reads
 * its system's count. Checked:
 *
 * <ul>
 * <li>The node does not vote while a lease of another client may rest on it from before a step that this client has
 * seen. That other client samples no clock.
 * <li>If no clock has stepped, and no suspend falls between the two reads of one sample or before the sample that
 * confirms, the node votes again soon.
 * </ul>
 *
 * <p>Reductions: clocks do not drift, and the count of suspends is exact; tolerances cover both.
 */
final class OwnSleepSearch extends StateSearch {

    private static final int TTL = 4;
    private static final int QUARANTINE = TTL;
    private static final int WAIT = 2;
    /** Ticks of suspends, and of steps. */
    private static final int AMOUNT_MAX = 3;

    /** What the client does when it sees that the clock of its node has jumped. */
    enum Rule {
        /** The rule of the client: the same time was counted since the last sample, and the next one shows no move. */
        PRODUCT,
        /** Safe, but takes the node away after each suspend. */
        EVERY_JUMP_IS_THE_NODES,
        /** Wrong: some suspend is enough. */
        ANY_AMOUNT,
        /** Wrong: the suspend may have come after the read of the node's clock. */
        NOT_CONFIRMED,
        /** Wrong: the next sample shows a move by the time of a suspend. */
        CONFIRMED_BY_ANOTHER_SUSPEND,
        /** Wrong: a suspend that an earlier sample has shown counts again. */
        COUNTED_SINCE_THE_START,
        /** Wrong: a quarantine from before ends too. */
        EARLIER_QUARANTINE_FORGOTTEN
    }

    private static final int NONE = 7;

    /** A step that the client has not sampled, or whose sample is on its way. */
    private static final int UNSAMPLED = 1;
    private static final int ON_ITS_WAY = 2;

    // The parts of a state.
    /** The rest of a lease from before the last step; its holder does not know of the step. */
    private static final int REST = 0;
    private static final int STEP = 1;
    private static final int QUARANTINED = 2;
    private static final int EARLIER = 3;
    /** How far the node's clock has moved against the client's since its last read. */
    private static final int MOVED = 4;
    /** What a reply on its way shows; {@link #NONE} without one. */
    private static final int REPLY = 5;
    /** Ticks of suspends since the client has last read its system's count. */
    private static final int SLEPT = 6;
    private static final int IS_CONFIRMING = 7;
    private static final int SLEPT_IN_ALL = 8;
    private static final int STEPPED_IN_ALL = 9;
    /** A suspend fell between the two reads of a sample, or before the sample that confirms. */
    private static final int IS_SPLIT = 10;
    private static final int LENGTH = 11;
    private static final int BITS = 3;

    private final Rule rule;

    OwnSleepSearch(Rule rule) {
        super(bits(new int[0], LENGTH, BITS), 0);
        this.rule = rule;
    }

    @Override
    protected void start() {
        byte[] start = new byte[LENGTH];
        start[REPLY] = NONE;
        visit(start);
    }

    @Override
    protected void expand(byte[] state) {
        tick(state, false);
        if (state[SLEPT_IN_ALL] < AMOUNT_MAX) {
            tick(state, true);
        }
        for (int ahead = 1; ahead <= AMOUNT_MAX - state[STEPPED_IN_ALL]; ahead++) {
            byte[] next = state.clone();
            next[STEPPED_IN_ALL] += (byte) ahead;
            next[MOVED] += (byte) ahead;
            next[REST] = TTL;
            next[STEP] = UNSAMPLED;
            visit(next);
        }
        if (state[REPLY] == NONE) {
            byte[] next = state.clone();
            next[REPLY] = state[MOVED];
            next[MOVED] = 0;
            next[STEP] = state[STEP] == UNSAMPLED ? ON_ITS_WAY : state[STEP];
            visit(next);
        } else {
            onReply(state.clone());
        }
    }

    /** Time passes. The client's clock advances, or its machine is suspended. */
    private void tick(byte[] state, boolean isSuspended) {
        byte[] next = state.clone();
        next[REST] = (byte) Math.max(0, state[REST] - 1);
        if (isSuspended) {
            next[SLEPT_IN_ALL]++;
            next[SLEPT]++;
            next[MOVED]++;
            next[IS_SPLIT] |= (byte) (state[REPLY] == NONE && state[IS_CONFIRMING] == 0 ? 0 : 1);
        } else {
            next[QUARANTINED] = (byte) Math.max(0, state[QUARANTINED] - 1);
            next[EARLIER] = (byte) Math.max(0, state[EARLIER] - 1);
        }
        visit(next);
    }

    private void onReply(byte[] next) {
        int ahead = next[REPLY];
        int slept = rule == Rule.COUNTED_SINCE_THE_START ? next[SLEPT_IN_ALL] : next[SLEPT];
        next[REPLY] = NONE;
        next[SLEPT] = 0;
        next[STEP] = next[STEP] == ON_ITS_WAY ? 0 : next[STEP];
        boolean isSleep = slept > 0 && (ahead == slept || rule == Rule.ANY_AMOUNT);
        boolean isConfirmed = ahead == 0 || rule == Rule.CONFIRMED_BY_ANOTHER_SUSPEND && isSleep;
        if (next[IS_CONFIRMING] == 1 && isConfirmed) {
            decide(next);
        } else if (ahead > 0) {
            next[EARLIER] = next[QUARANTINED];
            next[QUARANTINED] = QUARANTINE;
            boolean isNew = next[IS_CONFIRMING] == 0;
            next[IS_CONFIRMING] = 0;
            if (isNew && isSleep && rule == Rule.NOT_CONFIRMED) {
                decide(next);
            } else if (isNew && isSleep && rule != Rule.EVERY_JUMP_IS_THE_NODES) {
                next[IS_CONFIRMING] = 1;
            }
        }
        visit(next);
    }

    private void decide(byte[] next) {
        int earlier = rule == Rule.EARLIER_QUARANTINE_FORGOTTEN ? 0 : next[EARLIER];
        next[IS_CONFIRMING] = 0;
        next[QUARANTINED] = (byte) Math.max(earlier, WAIT);
    }

    @Override
    protected String violationOf(byte[] state) {
        boolean isNeedChecked = rule == Rule.PRODUCT || rule == Rule.EVERY_JUMP_IS_THE_NODES;
        boolean isQuiet = isNeedChecked && state[STEPPED_IN_ALL] == 0 && state[IS_SPLIT] == 0
                && state[IS_CONFIRMING] == 0;
        if (state[QUARANTINED] == 0 && state[REST] > 0 && state[STEP] == 0) {
            return "the node votes although a lease rests on it";
        }
        if (isQuiet && state[QUARANTINED] > WAIT && state[MOVED] == 0 && state[REPLY] == NONE) {
            return "the node does not vote without need";
        }
        return null;
    }
}
