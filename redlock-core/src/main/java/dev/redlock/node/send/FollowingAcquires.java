package dev.redlock.node.send;

import java.util.Arrays;

/**
 * The acquires of a turn whose resource is released or extended in the same turn by a command that waits in a batch.
 * They follow the batches: if each was sent at once, it would end the batches, and callers who lock one name again and
 * again would get none. All commands of a turn leave in one write, so they are not later by that.
 *
 * <p>Where a node gets several acquires as one command ({@link AcquireBatches}), all first attempts wait here.
 *
 * <p>Any other command for such a resource ends the batches, which sends these acquires first.
 *
 * @threading event-loop-confined
 */
final class FollowingAcquires {

    private static final int LENGTH_MIN = 64;
    /** A {@code SET} without its key and its token. */
    private static final int SET_BYTES = 96;

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

    /** The one that is sent after so many others. */
    LockRequest get(int index) {
        return requests[first + index];
    }

    /** Capacity for the next ones, each in a command of its own, and for several together too. */
    int roomFor(int count) {
        int room = PlainCommands.roomFor(next());
        if (count > 1) {
            int bytes = 0;
            for (int i = 0; i < count; i++) {
                LockRequest each = get(i);
                bytes += each.resourceBulk().length + each.token.bulk.length + SET_BYTES;
            }
            // The margin that each send asks for beside its bytes.
            room = 2 * (room + bytes);
        }
        return room;
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
