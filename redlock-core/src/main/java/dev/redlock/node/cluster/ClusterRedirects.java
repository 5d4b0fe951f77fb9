package dev.redlock.node.cluster;

import dev.redlock.node.Node;
import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.SlotKey;
import dev.redlock.node.send.SlotRedirect;
import dev.redlock.transport.NodeAddress;

/**
 * Follows the redirections of one server of a cluster. A redirection changes the owner of its slot at once.
 *
 * @threading event-loop-confined
 */
final class ClusterRedirects implements CommandSender.Cluster {

    private final ClusterVoter voter;
    private final ClusterMember member;

    ClusterRedirects(ClusterVoter voter, ClusterMember member) {
        this.voter = voter;
        this.member = member;
    }

    @Override
    public CommandSender onRedirect(SlotKey key, SlotRedirect redirect) {
        if (voter.isClosing || redirect.slot() != key.slot()) {
            return null;
        }
        Node named = named(redirect);
        if (redirect.isAsk()) {
            onMigration(key);
        } else {
            onMoved(redirect.slot(), named);
        }
        return named == null ? null : named.sender();
    }

    private Node named(SlotRedirect redirect) {
        try {
            NodeAddress named = member.node.view().address().peer(redirect.host(), redirect.port());
            for (ClusterMember other : voter.members) {
                if (other.isAt(named) || named.equals(other.mapAddress)) {
                    return other.node;
                }
            }
            return null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    @Override
    public void onMigration(SlotKey key) {
        if (voter.slots.of(key.slot()) == member.node.sender()) {
            voter.onMigration(key.slot());
        }
    }

    /** A former owner may redirect late: then the map is newer. */
    private void onMoved(int slot, Node named) {
        if (voter.slots.of(slot) == member.node.sender()) {
            voter.setOwner(slot, named == member.node ? null : named, true);
        }
        voter.onSignOfChange();
    }
}
