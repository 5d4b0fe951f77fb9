package dev.redlock.node.send;

import java.util.Arrays;

/**
 * The acquires of a turn whose resource is released or extended in the same turn by a command that waits in a batch.
 * They follow the batches: if each was sent at once, it would end the batches, and callers who lock one name again and
 * again would get none. All commands of a turn leave in one write, so they are not later by that.
 *
 * <p>Any other command for such a resource ends the batches, which sends these acquires first.
 *
 * @threading event-loop-confined
 */
final class FollowingAcquires {

    private static final int LENGTH_MIN = 64;

    private final ResourceFilter filter = new ResourceFilter();
    private LockRequest[] requests = new LockRequest[LENGTH_MIN];
    private long[] masks = new long[LENGTH_MIN];
    private int first;
    private int end;

    /** Adds the acquire of a plain lock for the nodes of a mask. */
    void add(LockRequest request, long mask) {
        if (end == requests.length) {
            requests = Arrays.copyOf(requests, 2 * end);
            masks = Arrays.copyOf(masks, 2 * end);
        }
        requests[end] = request;
        masks[end++] = mask;
        filter.add(request);
    }

    boolean mightContain(LockRequest command) {
        return first != end && filter.mightContain(command);
    }

    int length() {
        return end - first;
    }

    /** The one that is sent next; null if there is none. */
    LockRequest next() {
        return first == end ? null : requests[first];
    }

    /** Takes the next one; returns its nodes, as a mask. */
    long take() {
        long mask = masks[first];
        requests[first++] = null;
        if (first == end) {
            first = 0;
            end = 0;
            filter.clear();
        }
        return mask;
    }
}
