package dev.redlock.quorum;

import java.util.Arrays;

/**
 * The correct decision of a round, without a counting rule: it tries all values of the pending votes. A state is a
 * number to the base five, one digit per node: a vote's ordinal, or PENDING.
 */
final class RoundOracle {

    static final int PENDING = Vote.values().length;
    private static final int BASE = PENDING + 1;
    private static final byte NOT_KNOWN = 0;
    private static final byte CAN_WIN = 1;
    private static final byte CAN_LOSE = 2;

    private final int nodeCount;
    private final long first;
    private final long second;
    private final int[] weight;
    private final byte[] ends;

    /** An oracle for the majorities of two lists of nodes, which may be the same. */
    RoundOracle(int nodeCount, long first, long second) {
        this.nodeCount = nodeCount;
        this.first = first;
        this.second = second;
        this.weight = new int[nodeCount + 1];
        weight[0] = 1;
        for (int i = 0; i < nodeCount; i++) {
            weight[i + 1] = weight[i] * BASE;
        }
        this.ends = new byte[weight[nodeCount]];
        Arrays.fill(ends, NOT_KNOWN);
    }

    int stateCount() {
        return weight[nodeCount];
    }

    int allPending() {
        return stateCount() - 1;
    }

    int digit(int state, int nodeIndex) {
        return state / weight[nodeIndex] % BASE;
    }

    int with(int state, int nodeIndex, int digit) {
        return state + (digit - digit(state, nodeIndex)) * weight[nodeIndex];
    }

    /** The state after a vote of a node that is pending. */
    int afterVote(int state, int nodeIndex, Vote vote) {
        return state + (vote.ordinal() - PENDING) * weight[nodeIndex];
    }

    /** The only right decision in a state. */
    Decision decision(int state) {
        return switch (endsOf(state)) {
            case CAN_WIN -> Decision.WON;
            case CAN_LOSE -> isReachableWithoutRefusals(state) ? Decision.CONTENDED : Decision.NO_QUORUM;
            default -> Decision.OPEN;
        };
    }

    /** Refusals are the reason if a quorum would still be possible without them. */
    private boolean isReachableWithoutRefusals(int state) {
        int without = state;
        for (int i = 0; i < nodeCount; i++) {
            if (digit(state, i) == Vote.REFUSED.ordinal()) {
                without = with(without, i, PENDING);
            }
        }
        return (endsOf(without) & CAN_WIN) != 0;
    }

    private byte endsOf(int state) {
        if (ends[state] == NOT_KNOWN) {
            ends[state] = computeEnds(state);
        }
        return ends[state];
    }

    private byte computeEnds(int state) {
        for (int i = 0; i < nodeCount; i++) {
            if (digit(state, i) == PENDING) {
                byte found = NOT_KNOWN;
                for (Vote vote : Vote.values()) {
                    found |= endsOf(with(state, i, vote.ordinal()));
                }
                return found;
            }
        }
        return isWon(state) ? CAN_WIN : CAN_LOSE;
    }

    /** All votes are in: more than half of the nodes of each list granted. */
    private boolean isWon(int state) {
        return isWon(state, first) && isWon(state, second);
    }

    private boolean isWon(int state, long list) {
        int surplus = 0;
        for (int i = 0; i < nodeCount; i++) {
            int sign = digit(state, i) == Vote.GRANTED.ordinal() ? 1 : -1;
            surplus += (list & 1L << i) != 0 ? sign : 0;
        }
        return surplus > 0;
    }
}
