package dev.redlock.spec;

import dev.redlock.spec.State.Phase;
import dev.redlock.spec.State.Times;
import dev.redlock.spec.State.Token;

/** {@code timed.als}: start, execute, win. Times are those of the run. */
final class TimedSteps {
    private final State state;

    TimedSteps(State state) {
        this.state = state;
    }

    /** The first command of a round is sent: the client has taken t1 before. */
    void start(Step step, Token token, long round, long ttlNs) {
        Times times = token.times;
        if (times.isStarted && times.round == round) {
            return;
        }
        times.round = round;
        times.isStarted = true;
        times.startNs = step.atNs();
        times.ttlNs = ttlNs;
        times.voted = 0;
        // Nodes may shorten their keys as soon as they have the command.
        if (token.phase == Phase.HELD && times.validUntilNs - latestEndNs(token) > 0) {
            throw new Rejected(step, Rule.LowerFirst, "still valid for " + (times.validUntilNs - step.atNs()) + " ns");
        }
    }

    private static long latestEndNs(Token token) {
        Times times = token.times;
        return times.startNs + Math.max(0, times.ttlNs - token.owner.allowanceNs(times.ttlNs));
    }

    /** A node has executed a command of a round. */
    void execute(Token token, int node, long round) {
        token.times.voted |= token.times.round == round ? 1L << node : 0;
    }

    void win(Step step, Token token, Rule rule) {
        Times times = token.times;
        times.validUntilNs = step.number(2);
        if (times.validUntilNs - latestEndNs(token) > 0) {
            throw new Rejected(step, rule, "valid until " + (times.validUntilNs - latestEndNs(token))
                    + " ns after the first byte, the ttl and the allowance");
        }
        if (!step.word(1).equals("*") && (State.mask(step.word(1)) & ~times.voted) != 0) {
            throw new Rejected(step, Rule.OldVotesEnd, "counts a node that has executed no command of the round: "
                    + Long.toBinaryString(times.voted));
        }
    }

    /** {@code valid TOKEN VALID_UNTIL}: no step of a node; the client has lowered the end of the validity. */
    void valid(Step step) {
        Token token = state.token(step.word(0));
        if (step.number(1) - token.times.validUntilNs > 0) {
            throw new Rejected(step, Rule.OwnT1, "no extension was won");
        }
        token.times.validUntilNs = step.number(1);
    }
}
