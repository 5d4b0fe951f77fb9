package dev.redlock.node.send;

import io.netty.buffer.ByteBuf;

/**
 * Two or more releases and extensions of plain locks in one turn. They leave as one script call for each node,
 * except where the node has a command of its own. The fan-out keeps the first one until a second follows.
 *
 * @threading event-loop-confined
 */
final class CommandBatches {

    /** Bytes of keys that are enough for one script call. */
    private static final int KEY_BYTES_MAX = 16 * 1024;
    /** An extension takes a node longer than a release: this many block it for less time than 64 releases. */
    private static final int EXTENSIONS_MAX = 32;
    private static final long ALL = -1L;

    private final FanOut fanOut;
    private final CommandBatcher plain;
    private final CommandBatcher fenced;
    private final CommandBatcher extensions;
    private final FollowingAcquires following = new FollowingAcquires();
    final AcquireBatches acquires;
    private final CommandBatcher acquireBatcher;
    /** Whether an acquire follows them. */
    boolean isFollowed;
    /** The resources of the commands in the batches. */
    final ResourceFilter filter = new ResourceFilter();
    /** Whether a batch may have more than one command. */
    final boolean areUsed;
    /** Whether a command waits for the end of the turn: a deferred one, or one in a batch. */
    boolean isCollecting;

    /** Batches of up to so many releases; and of as many extensions, up to 32. */
    CommandBatches(FanOut fanOut, int batchMax) {
        this.fanOut = fanOut;
        this.areUsed = batchMax > 1;
        this.plain = new CommandBatcher(CommandKind.RELEASE_MANY, batchMax);
        this.fenced = new CommandBatcher(CommandKind.RELEASE_MANY_FENCED, batchMax);
        this.extensions = new CommandBatcher(CommandKind.EXTEND_MANY, Math.min(batchMax, EXTENSIONS_MAX));
        this.acquires = new AcquireBatches(batchMax);
        this.acquireBatcher = new CommandBatcher(CommandKind.ACQUIRE_MANY, batchMax);
    }

    void add(LockRequest request, CommandKind kind, int detail, long mask) {
        CommandBatcher batcher = batcherOf(kind);
        CommandBatch pending = batcher.add(request, detail, mask);
        filter.add(request);
        if (pending.length >= batcher.lengthMax || pending.keyBytes > KEY_BYTES_MAX) {
            seal();
            sendFollowing();
        }
    }

    CommandBatcher batcherOf(CommandKind kind) {
        return switch (kind.single()) {
            case RELEASE -> plain;
            case RELEASE_FENCED -> fenced;
            case ACQUIRE -> acquireBatcher;
            default -> extensions;
        };
    }

    private boolean isPending() {
        return plain.pending != null || fenced.pending != null || extensions.pending != null;
    }

    // ---- sending ----------------------------------------------------------------------------------------------------

    /**
     * Writes the batches. An extension precedes the release of its lock. Its room is provided before it is taken: that
     * may take a flush, whose events send other commands, and they must find the batch.
     */
    void seal() {
        for (int reserved = 0; extensions.pending != null && extensions.pending.length != reserved;) {
            reserved = extensions.pending.length;
            fanOut.batch.withRoom(extensions.pending.roomForEach());
        }
        seal(extensions);
        seal(plain);
        seal(fenced);
    }

    /** A send from here may call {@link #seal()} again, so the filter is kept until all kinds are taken. */
    private void seal(CommandBatcher origin) {
        CommandBatch commands = origin.take();
        if (commands == null) {
            return;
        }
        if (!isPending()) {
            isCollecting = false;
            filter.clear();
        }
        SlotRoutes routes = fanOut.routes;
        if (commands.length == 1) {
            LockRequest single = commands.request(0);
            int detail = commands.detail(0);
            long nodes = commands.nodesOf(0);
            origin.recycle(commands);
            fanOut.sendNow(single, commands.single, detail, nodes);
        } else if (routes == null) {
            send(commands, ALL);
        } else {
            routes.sendBySlot(commands, this);
            send(commands, ~routes.mask());
        }
    }

    /** Sends a batch to the nodes of a mask. */
    void send(CommandBatch commands, long mask) {
        long natives = fanOut.natives(commands.single) & fanOut.connected & mask;
        for (int i = 0; natives != 0 && i < commands.length; i++) {
            sendAlone(commands, i, natives);
        }
        long others = commands.nodes() & mask & ~natives;
        if (others == 0) {
            batcherOf(commands.kind).recycle(commands);
        } else {
            sendTogether(commands, others);
        }
    }

    /** Sends one command of a batch to the nodes of a mask. */
    void sendAlone(CommandBatch commands, int index, long mask) {
        fanOut.sendNow(commands.request(index), commands.single, commands.detail(index),
                mask & commands.nodesOf(index));
    }

    private void sendTogether(CommandBatch commands, long mask) {
        commands.expectOutcomes(Long.bitCount(mask));
        long sent = 0;
        for (long left = mask; left != 0;) {
            // One pass, unless the commands are for different nodes.
            long requests = commands.requestsOf(Long.numberOfTrailingZeros(left));
            long group = withRequests(commands, requests, left);
            sent |= sendEncoded(commands, requests, group);
            left &= ~group;
        }
        fanOut.scheduleFlush();
        if (sent != mask) {
            fanOut.variants.reject(commands, mask & ~sent);
        }
    }

    /** The nodes of a mask that get the same requests. */
    private static long withRequests(CommandBatch commands, long requests, long mask) {
        long group = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            if (commands.requestsOf(Long.numberOfTrailingZeros(left)) == requests) {
                group |= Long.lowestOneBit(left);
            }
        }
        return group;
    }

    private long sendEncoded(CommandBatch commands, long requests, long mask) {
        ByteBuf out = fanOut.batch.withRoom(commands.room(false));
        if (out == null) {
            return 0;
        }
        if (fanOut.routes != null) {
            // Room may have taken a flush, whose events send other commands.
            fanOut.routes.route(firstOf(commands, requests), false);
        }
        int start = out.writerIndex();
        try {
            commands.writeTo(out, requests, false);
        } catch (RuntimeException | Error e) {
            out.writerIndex(start);
            throw e;
        }
        int tag = RequestRing.tag(commands.kind, commands.kind.encoding, 0, false);
        return fanOut.enqueue(commands, commands.kind, tag, mask, out, start);
    }

    /** A request that still waits for an outcome; others may be in their pool already. */
    static LockRequest firstOf(CommandBatch commands, long requests) {
        return commands.request(Long.numberOfTrailingZeros(requests));
    }

    // ---- acquires that follow ---------------------------------------------------------------------------------------

    /** The acquire of a plain lock for the nodes of a mask leaves after the batches, at the end of the turn. */
    void follow(LockRequest request, long mask) {
        isFollowed = true;
        isCollecting = true;
        following.add(request, mask);
        fanOut.scheduleFlush();
    }

    boolean mightFollow(LockRequest command) {
        return following.mightContain(command);
    }

    /**
     * Sends the acquires that follow, in order. The room for each is provided before it is taken: that may take a
     * flush, whose events send other commands, and those must find it. Those that are added meanwhile wait for the next
     * turn: a caller whose acquires fail at once, and who tries again at once, must not keep this one from its end.
     *
     * <p>Failures are reported at the end of the turn. A report here would roll its acquisition back, and the release
     * would send the acquires that are left, each inside the report of the one before.
     */
    void sendFollowing() {
        for (int left = following.length(); left > 0 && following.length() > 0;) {
            LockRequest next = following.next();
            int length = together() == 0 ? 1 : acquires.nextLength(following, Math.min(left, following.length()));
            left -= length;
            fanOut.batch.withRoom(following.roomFor(length));
            if (following.next() != next) {
                continue;
            }
            if (length == 1) {
                long nodes = following.take();
                rejectLater(next, nodes & ~fanOut.write(next, CommandKind.ACQUIRE, 0, nodes));
            } else {
                sendAcquires(length);
            }
        }
        isFollowed = following.length() > 0;
        isCollecting = fanOut.isLoneWaiting() || isPending() || isFollowed;
    }

    /** The nodes that get several acquires as one command now, as a mask. */
    private long together() {
        return fanOut.nativeSets & fanOut.accepting(CommandKind.ACQUIRE);
    }

    private void rejectLater(LockRequest acquire, long nodes) {
        if (nodes != 0) {
            fanOut.variants.rejectLater(acquire, CommandKind.ACQUIRE, 0, nodes);
        }
    }

    private void sendAcquires(int length) {
        CommandBatch commands = acquireBatcher.newBatch();
        for (int i = 0; i < length; i++) {
            LockRequest request = following.next();
            commands.add(request, 0, following.take());
        }
        long together = together() & commands.nodes();
        // The batch is in use until its commands are written.
        commands.expectOutcomes(1);
        if (together != 0) {
            sendTogether(commands, together);
        }
        for (int i = 0; i < length; i++) {
            LockRequest request = commands.request(i);
            long alone = commands.nodesOf(i) & ~together;
            commands.removeNodes(i, alone);
            rejectLater(request, alone & ~fanOut.write(request, CommandKind.ACQUIRE, 0, alone));
        }
        onOutcome(commands);
    }

    // ---- outcomes ---------------------------------------------------------------------------------------------------

    /** A node has an outcome; after the last one the batch returns to its pool. */
    void onOutcome(CommandBatch commands) {
        if (commands.isLastOutcome()) {
            batcherOf(commands.kind).recycle(commands);
        }
    }

    void trim() {
        plain.trim();
        fenced.trim();
        extensions.trim();
        acquireBatcher.trim();
    }
}
