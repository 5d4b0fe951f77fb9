package dev.redlock.node;

/**
 * The releases of one kind that have come together in a duty cycle, and the batches that are free to hold them.
 *
 * @threading event-loop-confined
 */
final class ReleaseBatcher {

    private static final int POOLED_MIN = 64;

    private final CommandKind single;
    private final CommandKind many;
    private final FreeList<ReleaseBatch> free = new FreeList<>(POOLED_MIN);
    private ReleaseBatch pending;

    /** Nothing pending; one release is sent as the first verb, several are as the second. */
    ReleaseBatcher(final CommandKind single, final CommandKind many) {
        this.single = single;
        this.many = many;
    }

    CommandKind single() {
        return single;
    }

    boolean isPending() {
        return pending != null;
    }

    /** Adds one, and gives the batch that it stands in. */
    ReleaseBatch add(final LockRequest request) {
        if (pending == null) {
            final ReleaseBatch pooled = free.poll();
            pending = pooled == null ? new ReleaseBatch(many) : pooled;
        }
        pending.add(request);
        return pending;
    }

    /** What has come together, or null; from here on another batch is begun. */
    ReleaseBatch take() {
        final ReleaseBatch taken = pending;
        pending = null;
        return taken;
    }

    void recycle(final ReleaseBatch releases) {
        releases.reset();
        free.push(releases);
    }

    void trim() {
        free.trim();
    }
}
