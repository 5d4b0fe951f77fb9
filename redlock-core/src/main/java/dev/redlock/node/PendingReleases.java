package dev.redlock.node;

import java.util.ArrayDeque;

/**
 * The releases of one kind that have come together in a duty cycle, and the batches that are free to hold them.
 *
 * @threading event-loop-confined
 */
final class PendingReleases {

    private final Verb single;
    private final Verb many;
    private final ArrayDeque<ReleaseBatch> free = new ArrayDeque<>();
    private ReleaseBatch pending;

    /** Nothing pending; one release is sent as the first verb, several are as the second. */
    PendingReleases(final Verb single, final Verb many) {
        this.single = single;
        this.many = many;
    }

    Verb single() {
        return single;
    }

    boolean isPending() {
        return pending != null;
    }

    /** Adds one, and gives the batch that it stands in. */
    ReleaseBatch add(final LockRequest request) {
        if (pending == null) {
            pending = free.isEmpty() ? new ReleaseBatch(many) : free.pop();
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
}
