package dev.redlock.spec;

import dev.redlock.spec.State.Token;
import java.util.Set;

/**
 * Accepts or rejects each step of a run by the step relation of the specification ({@code docs/internals/spec}). It
 * shares no code with the client.
 */
public final class StepChecker {
    private static final long FIRST_ROUND = 0;

    private final State state;
    private final ClientSteps clients;
    private final NodeSteps nodes;
    private final WorldSteps world;
    private final ClusterSteps clusters;
    private final TimedSteps timed;
    private final FencingSteps fencing;
    private long stepCount;

    /** @param off the rules that do not hold, as {@code Off} of the specification */
    public StepChecker(Set<Rule> off) {
        state = new State(off);
        clients = new ClientSteps(state);
        nodes = new NodeSteps(state);
        world = new WorldSteps(state);
        clusters = new ClusterSteps(state);
        timed = new TimedSteps(state);
        fencing = new FencingSteps(state);
    }

    public long stepCount() {
        return stepCount;
    }

    /**
     * Takes a step.
     *
     * @throws Rejected if it is none
     */
    public void accept(Step step) {
        stepCount++;
        switch (step.name()) {
            case "client" -> clients.client(step);
            case "ask" -> {
                clients.ask(step);
                timed.start(step, state.token(step.word(0)), FIRST_ROUND, step.number(5));
            }
            case "win" -> win(step);
            case "extend" -> extend(step);
            case "winExtension" -> {
                clients.winExtension(step);
                timed.win(step, state.token(step.word(0)), Rule.OwnT1);
            }
            case "valid" -> timed.valid(step);
            case "finish" -> clients.finish(step);
            case "release" -> clients.release(step);
            case "executeAcquire" -> executeAcquire(step);
            case "executeExtension" -> executeExtension(step);
            case "executeRelease" -> nodes.executeRelease(step);
            case "keys" -> nodes.keys(step);
            case "startRaise" -> fencing.startRaise(step);
            case "executeRaise" -> fencing.executeRaise(step);
            case "expire" -> world.expire(step);
            case "drop" -> world.drop(step);
            case "restart" -> world.restart(step);
            case "failOver" -> clusters.failOver(step);
            case "formerGrants" -> {
                clusters.formerGrants(step);
                formerVotes(step);
            }
            case "formerRenews" -> {
                clusters.formerRenews(step);
                formerVotes(step);
            }
            case "formerLoses" -> clusters.formerLoses(step);
            case "formerEnds" -> clusters.formerEnds(step);
            case "fresh" -> state.isFresh = true;
            case "mark" -> world.mark(step);
            case "unseen" -> world.unseen(step);
            default -> throw new IllegalArgumentException("no step: " + step);
        }
    }

    private void win(Step step) {
        clients.win(step);
        Token token = state.token(step.word(0));
        timed.win(step, token, Rule.FirstByte);
        if (token.times.validUntilNs - step.number(3) <= 0) {
            throw new Rejected(step, Rule.FirstByte, "the validity is over at the deciding vote");
        }
        if (!step.last(4).isEmpty()) {
            fencing.decide(step, token, step.number(4));
        }
    }

    private void extend(Step step) {
        clients.extend(step);
        if (step.words().size() > 2) {
            timed.start(step, state.token(step.word(0)), step.number(1), step.number(3));
        }
    }

    /** {@code formerGrants NODE TOKEN ROUND}, and {@code formerRenews}. */
    private void formerVotes(Step step) {
        timed.execute(state.token(step.word(1)), State.node(step.word(0)), step.number(2));
    }

    private void executeAcquire(Step step) {
        nodes.executeAcquire(step);
        Token token = state.token(step.word(0));
        int node = State.node(step.word(1));
        if (!step.word(2).equals("refused")) {
            timed.execute(token, node, FIRST_ROUND);
            if (!step.last(3).isEmpty()) {
                fencing.grant(step, token, node, step.number(3));
            }
        }
    }

    private void executeExtension(Step step) {
        nodes.executeExtension(step);
        boolean isVote = step.word(2).equals("held") || step.last(4).equals("first");
        if (isVote) {
            timed.execute(state.token(step.word(0)), State.node(step.word(1)), step.number(3));
        }
    }
}
