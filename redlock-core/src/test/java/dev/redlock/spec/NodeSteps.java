package dev.redlock.spec;

import dev.redlock.spec.State.Phase;
import dev.redlock.spec.State.Token;

/** The section {@code Nodes} of {@code redlock.als}: executeAcquire, executeExtension, executeRelease. */
final class NodeSteps {
    private final State state;

    NodeSteps(State state) {
        this.state = state;
    }

    /** {@code executeAcquire TOKEN NODE granted|refused}. A refusal changes nothing. */
    void executeAcquire(Step step) {
        Token token = state.token(step.word(0));
        int node = State.node(step.word(1));
        long bit = 1L << node;
        if ((token.acquiring & bit) == 0) {
            throw new Rejected(step, Rule.Sent, "no acquire is on the way");
        }
        if (step.word(2).equals("refused")) {
            return;
        }
        if (state.hasAny(node, token) || state.on(Rule.SetIfFree) && !state.isFree(node, token)) {
            throw new Rejected(step, Rule.SetIfFree, "the node has keys " + state.keys(node));
        }
        state.add(node, token);
        if (token.isActive()) {
            token.granted |= bit;
        }
        token.lost &= ~bit;
        token.dropped &= ~bit;
        token.older &= ~bit;
    }

    /** {@code executeExtension TOKEN NODE held|set|refused ROUND [first]}: first if no round before asked it. */
    void executeExtension(Step step) {
        Token token = state.token(step.word(0));
        int node = State.node(step.word(1));
        long bit = 1L << node;
        if ((token.extending & bit) == 0) {
            throw new Rejected(step, Rule.Sent, "no extension is on the way");
        }
        String reply = step.word(2);
        if (reply.equals("refused")) {
            return;
        }
        boolean has = state.has(node, token);
        if (reply.equals("held") && !has) {
            throw new Rejected(step, Rule.RepairNoVote, "the node has keys " + state.keys(node));
        }
        if (!state.isFree(node, token)) {
            throw new Rejected(step, Rule.ExtendIfOwn, "the node has keys " + state.keys(node));
        }
        // A key that is set on a node that was never asked is no repair: the node has lost nothing.
        boolean isReclaim = token.isReclaimable() && (token.lost & bit) != 0;
        boolean isVote = has || isReclaim || !state.on(Rule.RepairNoVote) || step.last(4).equals("first");
        if (isVote) {
            token.renewed |= token.phase == Phase.HELD ? bit : 0;
            token.lost &= ~bit;
            token.dropped &= ~bit;
            token.older &= ~bit;
        }
        state.add(node, token);
    }

    /** {@code executeRelease TOKEN NODE}. */
    void executeRelease(Step step) {
        Token token = state.token(step.word(0));
        int node = State.node(step.word(1));
        if ((token.releasing & 1L << node) == 0) {
            throw new Rejected(step, Rule.Sent, "no release is on the way");
        }
        token.needs.forEach(name -> state.remove(node, name, token));
    }

    /** {@code keys NODE KEY=TOKEN,...}: no step, but what the node has now, which the steps must explain. */
    void keys(Step step) {
        int node = State.node(step.word(0));
        String actual = step.words().size() > 1 ? step.word(1) : "";
        String explained = text(node);
        if (!actual.equals(explained)) {
            Rule rule = actual.length() < explained.length() ? Rule.DeleteIfOwn : Rule.SetIfFree;
            throw new Rejected(step, rule, "by its steps the node has " + explained);
        }
    }

    private String text(int node) {
        StringBuilder text = new StringBuilder();
        state.keys(node)
                .entrySet()
                .stream()
                .flatMap(each -> each.getValue().stream().map(token -> each.getKey() + "=" + token.name))
                .sorted()
                .forEach(each -> text.append(text.length() == 0 ? "" : ",").append(each));
        return text.toString();
    }
}
