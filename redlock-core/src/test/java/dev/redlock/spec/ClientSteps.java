package dev.redlock.spec;

import dev.redlock.spec.State.Client;
import dev.redlock.spec.State.Phase;
import dev.redlock.spec.State.Token;
import java.util.Set;

/** The section {@code Clients} of {@code redlock.als}: ask, win, extend, winExtension, finish. */
final class ClientSteps {
    private final State state;

    ClientSteps(State state) {
        this.state = state;
    }

    /** {@code client NAME RATE_PPM CONSTANT_NS UNSEEN_NS LIST...}: no step, but a client with its lists. */
    void client(Step step) {
        Client client = new Client();
        client.ratePpm = step.number(1);
        client.constantNs = step.number(2);
        client.unseenNs = step.number(3);
        for (int i = 4; i < step.words().size(); i++) {
            client.lists.add(State.mask(step.word(i)));
        }
        state.clients.put(step.word(0), client);
    }

    /**
     * {@code ask TOKEN CLIENT NODE|- RESOURCES reader|- TTL_NS [late]}: one line for each node. A late one was sent
     * while the attempt was open, and leaves after its decision in the same turn of the client. One without a node is
     * sent to a server that does not own the resource.
     */
    void ask(Step step) {
        Token token = state.token(step.word(0));
        if (token.phase == Phase.UNUSED) {
            token.owner = state.clients.get(step.word(1));
            token.needs = Set.of(step.word(3).split(","));
            token.isReader = step.last(4).equals("reader");
        }
        boolean isLate = step.last(6).equals("late");
        if (token.phase == Phase.HELD && !isLate) {
            throw new Rejected(step, Rule.Phases, "the token is held");
        }
        if (token.phase == Phase.OVER && !isLate && state.on(Rule.NewTokens)) {
            throw new Rejected(step, Rule.NewTokens, "the token is over");
        }
        if (!step.word(2).equals("-")) {
            askNode(step, token, isLate);
        }
        if (state.on(Rule.ListsOverlap)) {
            for (Token other : state.active) {
                if (other.owner.lists.stream().noneMatch(token.owner.lists::contains)) {
                    throw new Rejected(step, Rule.ListsOverlap, "no list in common with " + other);
                }
            }
        }
        if (!isLate) {
            token.phase = Phase.TRYING;
            state.active.add(token);
        }
    }

    private void askNode(Step step, Token token, boolean isLate) {
        int node = State.node(step.word(2));
        if ((token.owner.members() & 1L << node) == 0) {
            throw new Rejected(step, Rule.Sent, "no node of the client");
        }
        isNotSilent(step, node);
        Token forgotten = state.inQuarantine(node);
        if (forgotten != null) {
            throw new Rejected(step, Rule.GuardAttempts, "the node has forgotten " + forgotten);
        }
        if (state.isFresh && !isLate) {
            votes(step, token, node);
        }
        token.acquiring |= 1L << node;
    }

    /** {@code pred isSilent}, and the quarantine after {@code formerEnds}. */
    private void isNotSilent(Step step, int node) {
        long bit = 1L << node;
        if ((state.serving & bit) != 0 && state.on(Rule.SilenceServed)) {
            throw new Rejected(step, Rule.SilenceServed, "the former owner still serves");
        }
        if ((state.failedOver & bit) != 0 && state.on(Rule.Silence) && state.inQuarantine(node) != null) {
            throw new Rejected(step, Rule.Silence, "the former owner had " + state.inQuarantine(node));
        }
    }

    private void votes(Step step, Token token, int node) {
        token.voters = token.phase == Phase.TRYING ? token.voters : state.marked;
        hasMark(step, node);
        if (state.on(Rule.VotersAtStart) && (token.voters & 1L << node) == 0) {
            throw new Rejected(step, Rule.VotersAtStart, "the node has not voted since the start of " + token);
        }
    }

    private void hasMark(Step step, int node) {
        if ((state.marked & 1L << node) == 0) {
            throw new Rejected(step, Rule.MarkOfProcess, "the process has no mark");
        }
    }

    /** {@code win TOKEN VOTES VALID_UNTIL ACQUIRED [NUMBER]}: the client counts the votes of these nodes. */
    void win(Step step) {
        Token token = state.token(step.word(0));
        long votes = State.mask(step.word(1));
        if (token.phase != Phase.TRYING) {
            throw new Rejected(step, Rule.Phases, "the token is " + token.phase);
        }
        // Not in the specification, which lets the client count all grants: it counts nothing else.
        if ((votes & ~token.granted) != 0) {
            throw new Rejected(step, Rule.Sent, "counts a node that has not granted " + token);
        }
        if (!state.enough(token, votes)) {
            throw new Rejected(step, Rule.MoreThanHalf, "too few votes of lists " + token.owner.lists);
        }
        token.phase = Phase.HELD;
        if (!state.keysKept(token)) {
            if (state.on(Rule.KeysKept)) {
                throw new Rejected(step, Rule.KeysKept, "the lease has lost a majority of its nodes: " + token);
            }
            token.isUnkept = true;
        }
        exclusion(step, token);
    }

    /** {@code pred Exclusion}: what follows from all rules, if each of two leases keeps a majority of its nodes. */
    private void exclusion(Step step, Token token) {
        for (Token other : state.active) {
            if (other.phase == Phase.HELD && !other.isUnkept && !token.isUnkept && State.excludes(token, other)) {
                throw new Rejected(step, Rule.Exclusion, "held too: " + other);
            }
        }
    }

    /** {@code extend TOKEN ROUND} opens a round; {@code extend TOKEN ROUND NODE|- TTL_NS} asks a node in it. */
    void extend(Step step) {
        Token token = state.token(step.word(0));
        if (step.words().size() == 2) {
            if (token.phase != Phase.HELD) {
                throw new Rejected(step, Rule.Phases, "the token is " + token.phase);
            }
            token.renewed = 0;
            return;
        }
        if (step.word(2).equals("-")) {
            return;
        }
        int node = State.node(step.word(2));
        if ((token.owner.members() & 1L << node) == 0) {
            throw new Rejected(step, Rule.Sent, "no node of the client");
        }
        isNotSilent(step, node);
        Token forgotten = state.inQuarantine(node);
        if (forgotten != null && state.on(Rule.GuardExtensions) && !token.isReclaimable()) {
            throw new Rejected(step, Rule.GuardExtensions, "the node has forgotten " + forgotten);
        }
        if (state.isFresh && token.phase == Phase.HELD && !token.isReclaimable()) {
            hasMark(step, node);
        }
        token.extending |= 1L << node;
    }

    /** {@code winExtension TOKEN VOTES VALID_UNTIL}: the lease rests on this round. */
    void winExtension(Step step) {
        Token token = state.token(step.word(0));
        long votes = step.word(1).equals("*") ? token.renewed : State.mask(step.word(1));
        if (token.phase != Phase.HELD) {
            throw new Rejected(step, Rule.Phases, "the token is " + token.phase);
        }
        if ((votes & ~token.renewed) != 0) {
            throw new Rejected(step, Rule.RefusalNoVote, "counts a node that has not renewed " + token);
        }
        if (!state.enoughToExtend(token, votes)) {
            throw new Rejected(step, Rule.AllListsExtend, "too few votes of lists " + token.owner.lists);
        }
        token.granted = token.renewed;
        token.renewed = 0;
    }

    /** {@code finish TOKEN}: an attempt gives up, or a lease is released, ends or is lost. */
    void finish(Step step) {
        Token token = state.token(step.word(0));
        if (!token.isActive()) {
            throw new Rejected(step, Rule.Phases, "the token is " + token.phase);
        }
        token.phase = Phase.OVER;
        token.granted = 0;
        token.renewed = 0;
        state.active.remove(token);
    }

    /** {@code release TOKEN NODE}: a release is on the way. Only an ended lease is released. */
    void release(Step step) {
        Token token = state.token(step.word(0));
        if (token.isActive()) {
            throw new Rejected(step, Rule.Phases, "a release of a token that is " + token.phase);
        }
        token.releasing |= 1L << State.node(step.word(1));
    }
}
