package dev.redlock.node.send;

import io.netty.buffer.ByteBuf;

/**
 * Routes the commands for the voters that are clusters. A fan-out to single masters has none.
 *
 * @threading event-loop-confined
 */
final class SlotRoutes {

    private final FanOut fanOut;
    /** Those of the fan-out: a cluster's is the one that the last command was routed to. */
    private final CommandSender[] senders;
    private final NodeConnection[] connections;
    /** The owners of slots by voter; null for other voters. */
    private final SlotOwners[] clusters;
    /** The servers of each cluster, by voter. */
    private final CommandSender[][] members;
    private long clusterMask;

    /** No routes yet; the arrays are borrowed. */
    SlotRoutes(FanOut fanOut, CommandSender[] senders, NodeConnection[] connections) {
        this.fanOut = fanOut;
        this.senders = senders;
        this.connections = connections;
        this.clusters = new SlotOwners[senders.length];
        this.members = new CommandSender[senders.length][];
    }

    void add(SlotOwners cluster, int voterIndex) {
        clusters[voterIndex] = cluster;
        members[voterIndex] = new CommandSender[0];
        clusterMask |= 1L << voterIndex;
    }

    /** Sets the servers of a cluster. */
    void setMembers(int voterIndex, CommandSender[] newMembers) {
        members[voterIndex] = newMembers;
    }

    /** The voters that are clusters, as a mask. */
    long mask() {
        return clusterMask;
    }

    /**
     * Chooses the server of each cluster that gets a command.
     *
     * @return the clusters that do not vote on it because its slot has a new owner, as a mask
     */
    long route(SlotKey key, boolean isVote) {
        long silentMask = 0;
        for (long left = clusterMask; left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            senders[i] = clusters[i].of(key.slot());
            fanOut.update(senders[i]);
            silentMask |= isVote && clusters[i].isSilent(key.slot()) ? 1L << i : 0;
        }
        return silentMask;
    }

    /** Copies a range of the shared batch for the clusters that get it. */
    void copy(long sent, ByteBuf out, int start, int end) {
        for (long left = clusterMask & sent; left != 0; left &= left - 1) {
            connections[Long.numberOfTrailingZeros(left)].copy(out, start, end);
        }
    }

    /** Sends the commands of each slot together to the clusters: the keys of one command share a slot. */
    void sendBySlot(CommandBatch commands, CommandBatches batches) {
        long left = 0;
        for (int i = 0; i < commands.length; i++) {
            left |= (commands.nodesOf(i) & clusterMask) != 0 ? 1L << i : 0;
        }
        while (left != 0) {
            int first = Long.numberOfTrailingZeros(left);
            long sameSlot = withSlot(commands, commands.request(first).slot(), left);
            left &= ~sameSlot;
            boolean isSilent = commands.single.isVote && route(commands.request(first), true) != 0;
            if (Long.bitCount(sameSlot) == 1 || isSilent) {
                for (long rest = sameSlot; rest != 0; rest &= rest - 1) {
                    batches.sendAlone(commands, Long.numberOfTrailingZeros(rest), clusterMask);
                }
                continue;
            }
            CommandBatch together = batches.batcherOf(commands.kind).newBatch();
            for (long rest = sameSlot; rest != 0; rest &= rest - 1) {
                int i = Long.numberOfTrailingZeros(rest);
                together.add(commands.request(i), commands.detail(i), clusterMask & commands.nodesOf(i));
            }
            route(commands.request(first), false);
            batches.send(together, clusterMask);
        }
    }

    private static long withSlot(CommandBatch commands, int slot, long mask) {
        long sameSlot = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            sameSlot |= commands.request(i).slot() == slot ? 1L << i : 0;
        }
        return sameSlot;
    }

    /** Writes the commands of all servers to their connections. */
    void write() {
        for (CommandSender[] cluster : members) {
            for (int i = 0; cluster != null && i < cluster.length; i++) {
                if (cluster[i].isConnected()) {
                    cluster[i].connection().writeShared(null);
                }
            }
        }
    }

    /** Flushes the servers of a voter; false if it is not a cluster. */
    boolean flush(int voterIndex) {
        if (members[voterIndex] == null) {
            return false;
        }
        for (CommandSender member : members[voterIndex]) {
            if (member.connection() != null) {
                member.connection().flush();
            }
        }
        return true;
    }
}
