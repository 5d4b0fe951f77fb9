package dev.redlock.spec;

import dev.redlock.spec.State.Token;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** {@code fencing.als}: grant, startRaise, executeRaise, decide. */
final class FencingSteps {
    private final State state;

    FencingSteps(State state) {
        this.state = state;
    }

    /** An acquire was granted with a number: the counter of each resource has grown to it. */
    void grant(Step step, Token token, int node, long number) {
        Map<String, Long> counts = state.counts.computeIfAbsent(node, any -> new HashMap<>());
        for (String resource : token.needs) {
            long before = counts.getOrDefault(resource, 0L);
            if (number <= before && state.on(Rule.CountersKept)) {
                throw new Rejected(step, Rule.CountersKept, "the counter was at " + before);
            }
            counts.put(resource, number);
        }
        token.numbers.reached.computeIfAbsent(node, any -> new HashSet<>()).add(number);
    }

    /** {@code startRaise TOKEN NODE NUMBER}. */
    void startRaise(Step step) {
        Token token = state.token(step.word(0));
        long number = step.number(2);
        if (token.numbers.isRaising && token.numbers.raise != number) {
            throw new Rejected(step, Rule.ExactlyEqual, "a second raise");
        }
        if (token.numbers.reached.values().stream().noneMatch(each -> each.contains(number))) {
            throw new Rejected(step, Rule.ExactlyEqual, "no node has reached it: " + token.numbers.reached);
        }
        token.numbers.isRaising = true;
        token.numbers.raise = number;
    }

    /** {@code executeRaise TOKEN NODE raised|refused}. */
    void executeRaise(Step step) {
        Token token = state.token(step.word(0));
        int node = State.node(step.word(1));
        if (!token.numbers.isRaising) {
            throw new Rejected(step, Rule.Sent, "no raise is on the way");
        }
        if (step.word(2).equals("refused")) {
            return;
        }
        if (state.on(Rule.RaiseIfOwn) && !state.has(node, token)) {
            throw new Rejected(step, Rule.RaiseIfOwn, "the node has keys " + state.keys(node));
        }
        Map<String, Long> counts = state.counts.computeIfAbsent(node, any -> new HashMap<>());
        for (String resource : token.needs) {
            if (counts.getOrDefault(resource, 0L) > token.numbers.raise && state.on(Rule.CountersKept)) {
                throw new Rejected(step, Rule.CountersKept, "the counter was at " + counts);
            }
            counts.put(resource, token.numbers.raise);
        }
        token.numbers.reached.computeIfAbsent(node, any -> new HashSet<>()).add(token.numbers.raise);
    }

    /** The lease has a fencing token. */
    void decide(Step step, Token token, long number) {
        long equal = 0;
        for (Map.Entry<Integer, Set<Long>> each : token.numbers.reached.entrySet()) {
            equal |= each.getValue().contains(number) ? 1L << each.getKey() : 0;
        }
        for (long members : token.owner.lists) {
            if (!state.majority(equal, members)) {
                throw new Rejected(step, Rule.ExactlyEqual, "no majority has reached it: " + token.numbers.reached);
            }
        }
    }
}
