package dev.redlock.node;

/**
 * Collects the releases of one kind in a duty cycle, and pools the batches for them.
 *
 * @threading event-loop-confined
 */
final class ReleaseBatcher {

    private static final int POOLED_MIN = 64;

    private final CommandKind single;
    private final CommandKind many;
    private final FreeList<ReleaseBatch> free = new FreeList<>(POOLED_MIN);
    private ReleaseBatch pending;

    /** A single release is sent as the first kind, several as the second. */
    ReleaseBatcher(CommandKind single, CommandKind many) {
        this.single = single;
        this.many = many;
    }

    CommandKind single() {
        return single;
    }

    boolean isPending() {
        return pending != null;
    }

    /** Adds a release for the nodes of a mask; returns the batch with it. */
    ReleaseBatch add(LockRequest request, long nodes) {
        if (pending == null) {
            pending = newBatch();
        }
        pending.add(request, nodes);
        return pending;
    }

    /** An empty batch of the pool. */
    ReleaseBatch newBatch() {
        ReleaseBatch pooled = free.poll();
        return pooled == null ? new ReleaseBatch(many) : pooled;
    }

    /** Takes the collected releases; null if there are none. */
    ReleaseBatch take() {
        ReleaseBatch taken = pending;
        pending = null;
        return taken;
    }

    void recycle(ReleaseBatch releases) {
        releases.reset();
        free.push(releases);
    }

    void trim() {
        free.trim();
    }
}
