package dev.redlock.node.guard;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Decides whether all nodes of one event loop are fresh, so that they may vote although they are young. Every node is
 * met for the first time, and is asked whether it is young and empty after the last of them has completed its
 * handshake.
 *
 * <p>Why this is safe: a client sends an acquire only to nodes that are marked, or old. If fewer than a quorum of nodes
 * lose their keys within a ttl, each valid lease and each round in progress has a node that still has its key or its
 * mark, or is old. The check finds it, because all processes are alive when it starts. {@code FreshGroupSearch} visits
 * all states of this rule.
 *
 * @threading event-loop-confined
 */
public final class FreshGroup {

    /**
     * The first contact with one node.
     *
     * @threading event-loop-confined
     */
    public interface Contact {

        boolean isCandidate();

        boolean isRulingOutGroup();

        /** Why the node cannot be part of a fresh group now, a main clause; null if it can. */
        String groupProblem();

        void onGroupRuledOut();

        void onGroupAdmitted();

        /** Asks the node whether it is young and empty; both replies come from the process of the handshake. */
        void check(int number);
    }

    private final boolean isImpossible;
    private final List<Contact> contacts = new ArrayList<>();
    /** The replies of an earlier check do not count. */
    private int checkNumber;
    private int freshCount;
    private String problem;

    /**
     * A group without nodes.
     *
     * @param hasListOfOne whether a list of nodes has one node, which alone decides for the clients of that list: an
     *                     empty restart of it is no different from its first start, whatever the other nodes are
     */
    public FreshGroup(boolean hasListOfOne) {
        this.isImpossible = hasListOfOne;
    }

    /** Each node of the event loop adds itself. */
    public void add(Contact contact) {
        contacts.add(contact);
    }

    /** A node has completed its handshake, and only a fresh group lets it vote early. */
    public void onCandidate() {
        if (isRuledOut() || !contacts.stream().allMatch(Contact::isCandidate)) {
            return;
        }
        int number = ++checkNumber;
        freshCount = 0;
        problem = null;
        contacts.forEach(contact -> contact.check(number));
    }

    /** A node has replied to a check. It is young and empty if it has no problem. */
    public void onChecked(int number, String nodeProblem) {
        if (number != checkNumber) {
            return;
        }
        if (nodeProblem != null) {
            checkNumber++;
            problem = nodeProblem;
        } else if (++freshCount == contacts.size()) {
            checkNumber++;
            contacts.forEach(Contact::onGroupAdmitted);
        }
    }

    /** The connection to a node has ended, so its next process may be another one. */
    public void onDisconnected() {
        checkNumber++;
    }

    /** A connected node is old, or replaced a known process: the group cannot become fresh. */
    public void onRuledOut() {
        contacts.forEach(Contact::onGroupRuledOut);
    }

    /** Why the nodes are no fresh group, a main clause; null if a list has one node. */
    public String problem() {
        if (isImpossible) {
            return null;
        }
        return problem != null
                ? problem
                : contacts.stream()
                        .map(Contact::groupProblem)
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElse("they are being checked");
    }

    /** Whether no node votes early as part of a fresh group. */
    public boolean isRuledOut() {
        return isImpossible || contacts.stream().anyMatch(Contact::isRulingOutGroup);
    }
}
