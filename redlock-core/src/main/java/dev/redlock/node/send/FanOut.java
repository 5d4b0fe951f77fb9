package dev.redlock.node.send;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Writes a command once and sends the same bytes to every node.
 *
 * <p>Commands collect in one {@link SharedBatch} for the rest of the turn. The event loop runs its task queue
 * until it is empty before it polls its sockets, and the flush is the last task. So all commands of one turn leave in
 * one write per node.
 *
 * <p>A mask has node i as bit i. The detail of a command is passed back with each outcome.
 *
 * @threading event-loop-confined
 */
public final class FanOut {

    private final EventLoop loop;
    /** The senders by voter. */
    final CommandSender[] senders;
    /** The connections by voter; null without one. */
    final NodeConnection[] connections;
    /** Null without a cluster. */
    SlotRoutes routes;
    /** The nodes that get releases and queries, as a mask; also the ones in {@link #open}. */
    long connected;
    /** The nodes that get every command, as a mask. */
    long open;
    /** The nodes with a command of their own for the release of a plain lock, as a mask. */
    private long nativeReleases;
    /** The nodes with a command of their own for the extension of a plain lock, as a mask. */
    private long nativeExtensions;
    /** The nodes with a command of their own for the acquire of a set, as a mask. */
    long nativeSets;
    /** The nodes that push changes of keys, as a mask. */
    long pushing;
    private final Runnable flushTask = this::flush;
    final CommandVariants variants = new CommandVariants(this);
    private final CommandBatches batches;
    final SharedBatch batch;
    /** The only release or extension of the turn so far; null if there is none, or if the batches have it. */
    private LockRequest lone;
    private CommandKind loneKind;
    private int loneDetail;
    private long loneMask;
    private boolean isFlushScheduled;
    private boolean isNextTurnScheduled;

    /**
     * A fan-out without nodes; each sender is added. A script call has at most {@code batchMax} releases, 1 to
     * 64, or as many extensions, up to 32.
     */
    public FanOut(EventLoop loop, DirectBuffers buffers, int nodeCount, int batchMax) {
        this.batches = new CommandBatches(this, batchMax);
        this.loop = loop;
        this.senders = new CommandSender[nodeCount];
        this.connections = new NodeConnection[nodeCount];
        this.batch = new SharedBatch(buffers, connections);
    }

    public void add(CommandSender sender) {
        senders[sender.nodeIndex] = sender;
        update(sender);
    }

    /** Whether there is no second node. */
    public boolean hasOneVoter() {
        return senders.length == 1;
    }

    /** A sender has another connection, accepts other commands than before, or has other encodings of them. */
    void update(CommandSender sender) {
        int i = sender.nodeIndex;
        if (senders[i] == sender) {
            long bit = 1L << i;
            connections[i] = sender.connection();
            ServerCapabilities capabilities = sender.capabilities();
            connected = with(bit, sender.isConnected(), connected);
            open = with(bit, sender.isOpen(), open);
            pushing = with(bit, sender.isPushing, pushing);
            nativeReleases = with(bit, capabilities.releaseEncoding() != CommandEncoding.SCRIPT, nativeReleases);
            nativeExtensions = with(bit, capabilities.extendEncoding() != CommandEncoding.SCRIPT, nativeExtensions);
            nativeSets = with(bit, capabilities.setEncoding() != CommandEncoding.SCRIPT, nativeSets);
        }
    }

    private static long with(long bit, boolean isIn, long mask) {
        return isIn ? mask | bit : mask & ~bit;
    }

    /** Adds a voter that is a cluster; the sender is that of a key without a known owner. */
    public void add(SlotOwners owners, CommandSender unrouted) {
        add(unrouted);
        if (routes == null) {
            routes = new SlotRoutes(this, senders, connections);
            batch.setRoutes(routes);
        }
        routes.add(owners, unrouted.nodeIndex);
    }

    /** Sets the servers of a cluster. */
    public void setMembers(int voterIndex, CommandSender[] members) {
        routes.setMembers(voterIndex, members);
    }

    /**
     * Sends one command to the nodes of a mask. A node that cannot get it is reported by {@link LockRequest#onFailed}:
     * <ul>
     * <li>for an acquire and a ttl query before this method returns, after the command is queued for all other nodes;
     * but for one that follows the release of its resource in this turn, or that leaves with others
     * in one command, at the end of the turn;
     * <li>for any other command at the end of this turn.
     * </ul>
     *
     * <p>So a command that the report causes cannot overtake this one.
     *
     * @return the nodes that the command is sent to, as a mask
     */
    public long send(LockRequest request, CommandKind kind, int detail, long mask) {
        boolean isOrdered = isCollectedOrFollowing(request);
        if (isOrdered || nativeSets != 0) {
            // A later command for the same resource must not overtake its release or extension.
            if (kind == CommandKind.ACQUIRE && (isOrdered || batches.areUsed) && connected != 0 && routes == null
                    && PlainCommands.isPlain(request, kind)) {
                batches.follow(request, mask);
                return mask;
            }
            if (isOrdered) {
                sealBatches();
            }
        }
        return sendNow(request, kind, detail, mask);
    }

    /** As {@link #send}, but an acquire leaves as a command of its own. */
    public long sendAlone(LockRequest request, CommandKind kind, int detail, long mask) {
        if (isCollectedOrFollowing(request)) {
            sealBatches();
        }
        return sendNow(request, kind, detail, mask);
    }

    private boolean isCollectedOrFollowing(LockRequest request) {
        return batches.isCollecting && isCollected(request) || batches.isFollowed && batches.mightFollow(request);
    }

    long sendNow(LockRequest request, CommandKind kind, int detail, long mask) {
        long sent = write(request, kind, detail, mask);
        if (sent != mask) {
            variants.reject(request, kind, detail, mask & ~sent);
        }
        return sent;
    }

    /** Writes a command for the nodes of a mask; returns those that accept it. The others are not reported. */
    long write(LockRequest request, CommandKind kind, int detail, long mask) {
        boolean isPlain = PlainCommands.isPlain(request, kind) && natives(kind) == 0 && routes == null;
        long sent = isPlain
                ? sendPlain(request, kind, detail, mask)
                : variants.send(request, kind, detail, mask);
        scheduleFlush();
        return sent;
    }

    private long sendPlain(LockRequest request, CommandKind kind, int detail, long mask) {
        ByteBuf out = mask == 0 ? null : batch.withRoom(PlainCommands.roomFor(request));
        if (out == null) {
            return 0;
        }
        int start = out.writerIndex();
        CommandEncoding encoding;
        try {
            encoding = variants.plain.write(out, request, kind);
        } catch (RuntimeException | Error e) {
            out.writerIndex(start);
            throw e;
        }
        return enqueue(request, kind, RequestRing.tag(kind, encoding, detail, false), mask, out, start);
    }

    /** Adds a request, whose bytes end the shared batch, for the nodes of a mask. Returns those that accept it. */
    long enqueue(InFlightRequest request, CommandKind kind, int tag, long mask, ByteBuf out, int start) {
        int end = out.writerIndex();
        long sent = 0;
        for (long left = mask & accepting(kind); left != 0; left &= left - 1) {
            boolean isSent = connections[Long.numberOfTrailingZeros(left)].offer(request, tag, end - start);
            sent |= isSent ? Long.lowestOneBit(left) : 0;
        }
        if (routes != null) {
            routes.copy(sent, out, start, end);
        }
        if (sent != connected) {
            skip(sent, out, start, end);
        }
        return sent;
    }

    /** The nodes that get a command now, as a mask. */
    long accepting(CommandKind kind) {
        if (kind.isVote) {
            return kind == CommandKind.EXTEND ? extending() : open;
        }
        return connected;
    }

    /** The nodes that get the extension of one lease, as a mask: also a lone one that gives no other vote. */
    private long extending() {
        return open == 0 && senders.length == 1 && senders[0].isExtending() ? 1 : open;
    }

    /** Leaves a range of the shared batch out for the nodes that do not get it. */
    void skip(long sent, ByteBuf out, int start, int end) {
        for (long left = connected & ~sent; left != 0; left &= left - 1) {
            connections[Long.numberOfTrailingZeros(left)].skip(out, start, end);
        }
    }

    // ---- batches ----------------------------------------------------------------------------------------------------

    /**
     * Sends a release at the end of this turn.
     * <ul>
     * <li>A node without a conditional delete gets one script call for all its releases, which costs it less than one
     * call each.
     * <li>A node with a conditional delete gets one for each release, which costs it less than its share of the script.
     * <li>Locks of other kinds than {@link LockKind#PLAIN} are released at once, each by a script of its own.
     * </ul>
     *
     * <p>No command for the same resource overtakes the release. A node that cannot get it is reported by {@link
     * LockRequest#onFailed} at the end of the turn.
     *
     * @param kind {@link CommandKind#RELEASE} or {@link CommandKind#RELEASE_FENCED}
     */
    public void release(LockRequest request, CommandKind kind, long mask) {
        if (isBatched(request, kind)) {
            if (batches.isFollowed && batches.mightFollow(request)) {
                // A rollback in the turn of its acquire.
                sealBatches();
            }
            collect(request, kind, 0, mask);
        } else {
            send(request, kind, 0, mask);
        }
    }

    /**
     * Sends the commands of this turn to a node last: its push of a release wakes the waiters. One node for all
     * releases, because most turns with a contended one have no other.
     *
     * @param nodeIndex the coordinator of a contended resource; -1 for none
     */
    public void sendLastTo(int nodeIndex) {
        if (batch.lastNode == SharedBatch.ANY_NODE) {
            batch.lastNode = nodeIndex;
        }
    }

    /**
     * Sends an extension at the end of this turn, batched as {@link #release} does. Its order with the releases
     * and the other commands for the resource is kept.
     *
     * @return false if it is not batched and not sent: {@link #send} it
     */
    public boolean extend(LockRequest request, int detail, long mask) {
        if (!isBatched(request, CommandKind.EXTEND) || extending() != open) {
            return false;
        }
        if (isCollectedOrFollowing(request)) {
            sealBatches();
        }
        collect(request, CommandKind.EXTEND, detail, mask);
        return true;
    }

    /** The first command of a turn waits alone; a second one moves both into the batches. */
    private void collect(LockRequest request, CommandKind kind, int detail, long mask) {
        while (lone != null) {
            LockRequest first = lone;
            lone = null;
            batches.add(first, loneKind, loneDetail, loneMask);
        }
        if (batches.isCollecting) {
            batches.add(request, kind, detail, mask);
        } else {
            batches.isCollecting = true;
            lone = request;
            loneKind = kind;
            loneDetail = detail;
            loneMask = mask;
        }
        scheduleFlush();
    }

    boolean isLoneWaiting() {
        return lone != null;
    }

    /** Whether a collected command may be for a resource of this one. */
    private boolean isCollected(LockRequest request) {
        if (lone == null) {
            return batches.filter.mightContain(request);
        }
        int hash = lone.resourceHash(0);
        for (int i = request.keyCount() - 1; i >= 0; i--) {
            if (request.resourceHash(i) == hash) {
                return true;
            }
        }
        return false;
    }

    /** Whether a node needs the script for a plain lock. True also without any connected node. */
    private boolean isBatched(LockRequest request, CommandKind kind) {
        boolean areAllNative = connected != 0 && (connected & ~natives(kind)) == 0;
        return batches.areUsed && request.lockKind() == LockKind.PLAIN && !areAllNative;
    }

    /** The nodes with a command of their own for a plain lock, as a mask. */
    long natives(CommandKind kind) {
        return kind == CommandKind.RELEASE ? nativeReleases : kind == CommandKind.EXTEND ? nativeExtensions : 0;
    }

    /** Writes the collected commands and the acquires that follow them, so that later ones follow both. */
    void sealBatches() {
        LockRequest reserved = null;
        while (lone != null && lone != reserved && loneKind == CommandKind.EXTEND) {
            // Room may take a flush, and a release that the flush causes must find the extension that it follows.
            reserved = lone;
            batch.withRoom(PlainCommands.roomFor(reserved));
        }
        if (lone == null) {
            batches.seal();
        } else {
            LockRequest request = lone;
            lone = null;
            batches.isCollecting = false;
            sendNow(request, loneKind, loneDetail, loneMask);
        }
        if (batches.isFollowed) {
            batches.sendFollowing();
        }
    }

    /** A node has refused several acquires, because it has one of the keys. */
    void onAcquiresRefused() {
        batches.acquires.onRefused();
    }

    void onBatchOutcome(CommandBatch commands) {
        batches.onOutcome(commands);
    }

    // ---- the end of a turn ------------------------------------------------------------------------------------------

    /** Flushes at the end of this turn. */
    void scheduleFlush() {
        if (!isFlushScheduled) {
            try {
                // The flag is set afterwards: if this throws, the next call must schedule the flush.
                loop.execute(flushTask);
            } catch (RejectedExecutionException e) {
                // The loop terminates; close() completes the open requests.
            }
            isFlushScheduled = true;
        }
    }

    /** A scheduled task runs in the next turn; an executed one would run in this turn. */
    private void flushInNextTurn() {
        if (!isNextTurnScheduled) {
            loop.schedule(() -> {
                isNextTurnScheduled = false;
                flush();
            }, 0, TimeUnit.NANOSECONDS);
            isNextTurnScheduled = true;
        }
    }

    /** Whether a node votes now, on every key: it is one master, and not in quarantine. False for a cluster. */
    public boolean isVoting(int nodeIndex) {
        return routes == null && (open & 1L << nodeIndex) != 0;
    }

    /**
     * Whether a node renews leases now: it votes, or is the only voter and gives no other vote after a failover or a
     * restart. False for a cluster.
     */
    public boolean isExtending(int nodeIndex) {
        return routes == null && (extending() & 1L << nodeIndex) != 0;
    }

    /** The nodes that renew leases now, as a mask; of a cluster, as {@link #votingMask}. */
    public long extendingMask(SlotKey key) {
        return routes == null ? extending() : votingMask(key);
    }

    /** The nodes that vote on a key now, as a mask. */
    public long votingMask(SlotKey key) {
        long silent = routes == null ? 0 : routes.route(key, true);
        return open & ~silent;
    }

    /**
     * A hash of a server's identity, the same for all its clients while its process runs; 0 before the first handshake.
     * The server of a cluster is the one for the key of the last {@link #votingMask}.
     */
    public int identityHash(int nodeIndex) {
        return senders[nodeIndex].identityHash;
    }

    /** Whether a node pushes changes of keys; of a cluster, the server as for {@link #identityHash}. */
    public boolean isPushing(int nodeIndex) {
        return (pushing & 1L << nodeIndex) != 0;
    }

    /** Whether a node sends messages to waiting clients, and pushes changes of keys; false for a cluster. */
    public boolean isSubscribed(int nodeIndex) {
        return senders[nodeIndex].hasWakeChannel();
    }

    /** The connected nodes that cannot get a command for a key, because too much is unanswered or unsent; as a mask. */
    public long congestedMask(SlotKey key) {
        if (routes != null) {
            routes.route(key, false);
        }
        long mask = 0;
        for (long left = connected; left != 0; left &= left - 1) {
            boolean isCongested = connections[Long.numberOfTrailingZeros(left)].isCongested();
            mask |= isCongested ? Long.lowestOneBit(left) : 0;
        }
        return mask;
    }

    private void flush() {
        // Also in the flush of the next turn: commands from here on leave with it, or one turn later.
        isFlushScheduled = true;
        try {
            if (batches.isCollecting) {
                sealBatches();
            }
            if (variants.hasRejected) {
                variants.reportRejected();
            }
            if (batches.isCollecting) {
                // Again, for releases and extensions that the reports have caused.
                sealBatches();
            }
        } finally {
            isFlushScheduled = false;
            batch.flush();
            if (batches.isCollecting && !isFlushScheduled || variants.hasRejected) {
                // In the next turn: a caller that retries at once must not block the sockets.
                flushInNextTurn();
            }
        }
    }

    /** Frees memory that was not needed since the last call. To be called at regular intervals. */
    public void trim() {
        batches.trim();
        variants.trim();
    }

    /** Reports all rejected sends and releases the buffers. */
    public void close() {
        while (batches.isCollecting || variants.hasRejected) {
            sealBatches();
            variants.reportRejected();
        }
        free();
    }

    /** Releases the buffers and does nothing else. Any thread, once the event loop has terminated. */
    public void free() {
        batch.free();
    }
}
