package dev.redlock.node.send;

import java.util.ArrayDeque;

/**
 * The queue of releases that a node could not be sent, oldest first.
 *
 * <p>No lease holds the token of such a release: a late release of a held token would remove a vote that counts.
 *
 * <p>It waits for the next connection, also when its key would have expired: a process that was stopped executes the
 * acquire of the old connection when it resumes, and the key lasts for its ttl from then. The length is bounded: a new
 * release replaces the oldest one, which is counted as dropped.
 *
 * @threading event-loop-confined
 */
final class UndeliveredReleases {

    /** An array deque never shrinks, so an empty one that was longer than this is replaced. */
    private static final int KEPT_LENGTH_MAX = 1024;

    private final int limit;
    private ArrayDeque<UndeliveredRelease> queue = new ArrayDeque<>();
    private int lengthMax;
    private long droppedCount;

    UndeliveredReleases(int limit) {
        this.limit = limit;
    }

    int length() {
        return queue.size();
    }

    long droppedCount() {
        return droppedCount;
    }

    void add(UndeliveredRelease release) {
        if (limit == 0) {
            droppedCount++;
            return;
        }
        if (queue.size() == limit) {
            queue.removeFirst();
            droppedCount++;
        }
        queue.addLast(release);
        lengthMax = Math.max(lengthMax, queue.size());
    }

    /** Removes the oldest release; null if there is none. */
    UndeliveredRelease poll() {
        UndeliveredRelease release = queue.pollFirst();
        if (lengthMax > KEPT_LENGTH_MAX && queue.isEmpty()) {
            queue = new ArrayDeque<>();
            lengthMax = 0;
        }
        return release;
    }

    /** Puts a release that the node did not execute back to the end, so that the next one is tried first. */
    void putLast(UndeliveredRelease release) {
        if (queue.size() < limit) {
            queue.addLast(release);
        } else {
            droppedCount++;
        }
    }

    /** Puts a release without a reply back to the front. */
    void putBack(UndeliveredRelease release) {
        if (queue.size() < limit) {
            queue.addFirst(release);
        } else {
            droppedCount++;
        }
    }
}
