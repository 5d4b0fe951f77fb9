package dev.redlock.node;

import dev.redlock.transport.NodeAddress;

/**
 * Follows the redirections of the servers of a cluster. A redirection changes the owner of its slot at once.
 *
 * @threading event-loop-confined
 */
final class ClusterRedirects implements CommandRetries.Cluster {

    private final ClusterVoter voter;

    ClusterRedirects(ClusterVoter voter) {
        this.voter = voter;
    }

    @Override
    public boolean redirect(CommandSender from, LockRequest request, int tag, SlotRedirect redirect) {
        CommandKind kind = RequestRing.kindOf(tag);
        Node target = targetOf(from, request, tag, redirect);
        boolean isFollowed = kind.isRelease() || kind == CommandKind.CHECK && !redirect.isAsk();
        return target != null && isFollowed && target.sender.retries
                .sendRedirected(request, kind, RequestRing.sequenceOf(tag), redirect.isAsk());
    }

    @Override
    public boolean redirect(CommandSender from, UndeliveredRelease release, int tag, SlotRedirect redirect) {
        Node target = targetOf(from, release, tag, redirect);
        if (target == null) {
            return false;
        }
        release.owner = target.redelivery;
        if (!target.sender.retries.sendRedirected(release, redirect.isAsk())) {
            target.redelivery.adopt(release);
        }
        return true;
    }

    private Node targetOf(CommandSender from, SlotKey key, int tag, SlotRedirect redirect) {
        if (voter.isClosing || redirect.slot() != key.slot()) {
            return null;
        }
        Node named = named(from, redirect);
        if (redirect.isAsk()) {
            onMigration(from, key);
        } else {
            onMoved(from, redirect.slot(), named);
        }
        boolean isFirst = !RequestRing.isSecondTry(tag);
        return isFirst && named != null && named.sender != from ? named : null;
    }

    private Node named(CommandSender from, SlotRedirect redirect) {
        try {
            NodeAddress named = from.view.address().peer(redirect.host(), redirect.port());
            for (ClusterMember member : voter.members) {
                if (member.isAt(named) || named.equals(member.mapAddress)) {
                    return member.node;
                }
            }
            return null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    @Override
    public void onMigration(CommandSender from, SlotKey key) {
        if (voter.slots.of(key.slot()) == from) {
            voter.slots.silence(key.slot(), voter.silenceNs());
        }
    }

    /** A former owner may redirect late: then the map is newer. */
    private void onMoved(CommandSender from, int slot, Node named) {
        if (voter.slots.of(slot) == from) {
            voter.setOwner(slot, named == null || named.sender == from ? null : named, true);
        }
        voter.onSignOfChange();
    }
}
