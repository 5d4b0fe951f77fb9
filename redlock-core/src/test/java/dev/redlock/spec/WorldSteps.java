package dev.redlock.spec;

import dev.redlock.spec.State.Token;

/** The section {@code The world} of {@code redlock.als}: expire, drop, restart. */
final class WorldSteps {
    private final State state;

    WorldSteps(State state) {
        this.state = state;
    }

    /** {@code expire NODE TOKEN RESOURCE}. */
    void expire(Step step) {
        int node = State.node(step.word(0));
        Token token = state.token(step.word(1));
        if (state.on(Rule.KeysOutlive) && State.counts(node, token) && !isOfNewOwner(node, token)) {
            throw new Rejected(step, Rule.KeysOutlive, "the key is counted: " + token);
        }
        state.remove(node, step.word(2), token);
    }

    /** {@code newOwnerLoses} of {@code clusters.als}: nobody counts the key. */
    private boolean isOfNewOwner(int node, Token token) {
        long bit = 1L << node;
        return (state.failedOver & bit) != 0 && ((state.serving | token.lost) & bit) != 0;
    }

    /**
     * {@code drop NODE TOKEN RESOURCE world|older}: the world deletes a key, such as by a clock that jumps; or a key
     * expires that an older round has set, so that the present one does not rest on it.
     */
    void drop(Step step) {
        int node = State.node(step.word(0));
        Token token = state.token(step.word(1));
        state.remove(node, step.word(2), token);
        token.dropped |= 1L << node;
        if (step.last(3).equals("older")) {
            token.older |= 1L << node;
        }
        keysKept(step, token);
    }

    /** The world may take a majority of its nodes from a lease, but the client's own older rounds may not. */
    private void keysKept(Step step, Token token) {
        if (!state.keysKept(token)) {
            boolean isByClient = !state.enoughToExtend(token, token.granted & ~token.older);
            if (isByClient || state.on(Rule.KeysKept)) {
                throw new Rejected(step, Rule.KeysKept, "the lease has lost a majority of its nodes: " + token);
            }
            token.isUnkept = true;
        }
    }

    /** {@code restart NODE [kept]}: it forgets all its keys, or none, and the commands on the way. */
    void restart(Step step) {
        int node = State.node(step.word(0));
        long bit = 1L << node;
        state.marked &= state.on(Rule.MarkOfProcess) ? ~bit : -1;
        state.active.forEach(token -> token.voters &= ~bit);
        if (!step.last(1).equals("kept")) {
            forget(step, node);
        }
        if (state.on(Rule.OneProcess)) {
            for (Token token : state.tokens.values()) {
                token.acquiring &= ~bit;
                token.extending &= ~bit;
            }
        }
    }

    private void forget(Step step, int node) {
        state.keys(node).clear();
        state.counts.remove(node);
        for (Token token : state.active) {
            token.lost |= State.counts(node, token) ? 1L << node : 0;
            if (state.isFresh && token.owner.lists.stream().anyMatch(of -> state.majority(token.lost, of))) {
                fewLost(step, token);
            }
        }
    }

    /** {@code pred fewLost}. */
    private void fewLost(Step step, Token token) {
        if (state.on(Rule.FewLost)) {
            throw new Rejected(step, Rule.FewLost, "restarts have taken a majority of the nodes of " + token);
        }
        token.isOfMany = true;
        token.isUnkept = true;
    }

    /** {@code mark NODE}, also of a whole group: no token that can win rests on what the node has forgotten. */
    void mark(Step step) {
        int node = State.node(step.word(0));
        Token forgotten = state.inQuarantine(node);
        if (forgotten != null && state.on(Rule.WholeGroup)) {
            throw new Rejected(step, Rule.WholeGroup, "the node has forgotten " + forgotten);
        }
        state.marked |= 1L << node;
    }

    /** {@code unseen NODE}: for a client that cannot see it, the keys that a restart has lost are dropped ones. */
    void unseen(Step step) {
        if (state.on(Rule.KeysKept)) {
            throw new Rejected(step, Rule.RestartsSeen, "a restart that a client cannot see");
        }
        long bit = 1L << State.node(step.word(0));
        for (Token token : state.active) {
            if ((token.lost & bit) != 0) {
                token.lost &= ~bit;
                token.dropped |= bit;
                keysKept(step, token);
            }
        }
    }
}
