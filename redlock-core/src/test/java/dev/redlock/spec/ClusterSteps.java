package dev.redlock.spec;

import dev.redlock.spec.State.Phase;
import dev.redlock.spec.State.Token;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** {@code clusters.als}: failOver, formerGrants, formerRenews, formerLoses, formerEnds; for one resource. */
final class ClusterSteps {
    private final State state;
    /** {@code former}. */
    private final Map<Integer, Set<Token>> former = new HashMap<>();

    ClusterSteps(State state) {
        this.state = state;
    }

    private Set<Token> former(int node) {
        return former.computeIfAbsent(node, any -> new HashSet<>());
    }

    /** {@code failOver NODE [TOKEN,...]}: the new owner has these keys. */
    void failOver(Step step) {
        int node = State.node(step.word(0));
        long bit = 1L << node;
        if ((state.serving & bit) != 0) {
            throw new Rejected(step, Rule.SilenceServed, "a former owner serves already");
        }
        Set<String> kept = Set.of(step.last(1).split(","));
        state.serving |= bit;
        state.failedOver |= bit;
        Set<Token> all = former(node);
        all.clear();
        state.keys(node).values().forEach(all::addAll);
        if (!kept.equals(Set.of("")) && !all.stream().map(token -> token.name).toList().containsAll(kept)) {
            throw new Rejected(step, Rule.SetIfFree, "the former owner has " + all);
        }
        state.keys(node).values().forEach(tokens -> tokens.removeIf(token -> !kept.contains(token.name)));
        state.keys(node).values().removeIf(Set::isEmpty);
        for (Token token : state.tokens.values()) {
            token.acquiring &= ~bit;
            token.extending &= ~bit;
        }
    }

    /** {@code formerGrants NODE TOKEN}. */
    void formerGrants(Step step) {
        int node = serving(step);
        Token token = state.token(step.word(1));
        if (former(node).contains(token) || former(node).stream().anyMatch(other -> State.excludes(token, other))) {
            throw new Rejected(step, Rule.SetIfFree, "the former owner has " + former(node));
        }
        former(node).add(token);
        token.granted |= token.phase == Phase.TRYING ? 1L << node : 0;
    }

    /** {@code formerRenews NODE TOKEN}. */
    void formerRenews(Step step) {
        int node = serving(step);
        Token token = state.token(step.word(1));
        if (!former(node).contains(token)) {
            throw new Rejected(step, Rule.RepairNoVote, "the former owner has " + former(node));
        }
        token.renewed |= token.phase == Phase.HELD ? 1L << node : 0;
    }

    /** {@code formerLoses NODE TOKEN}: by expiry or a release. */
    void formerLoses(Step step) {
        int node = State.node(step.word(0));
        Token token = state.token(step.word(1));
        if (State.counts(node, token) && state.on(Rule.KeysOutlive)) {
            throw new Rejected(step, Rule.KeysOutlive, "the key is counted: " + token);
        }
        former(node).remove(token);
    }

    /** {@code formerEnds NODE}. */
    void formerEnds(Step step) {
        int node = State.node(step.word(0));
        state.serving &= ~(1L << node);
        former(node).clear();
        for (Token token : state.active) {
            token.lost |= State.counts(node, token) && state.on(Rule.Silence) ? 1L << node : 0;
        }
    }

    private int serving(Step step) {
        int node = State.node(step.word(0));
        if ((state.serving & 1L << node) == 0) {
            throw new Rejected(step, Rule.Sent, "no former owner serves");
        }
        if (state.inQuarantine(node) != null) {
            throw new Rejected(step, Rule.Silence, "the owner before had " + state.inQuarantine(node));
        }
        return node;
    }
}
