package dev.redlock.node;

import dev.redlock.quorum.Token;
import java.util.ArrayDeque;

/**
 * Releases that a node is owed: tokens that may stand on it although nobody wants them, because the connection broke or
 * would not take the release. They are sent first when the node can be reached again, and dropped once the key has
 * expired by itself. Bounded: the oldest is dropped for a new one, and counted.
 *
 * @threading event-loop-confined
 */
final class UndeliveredReleases {

    /** What an outage leaves is given up when it is paid: an array deque never gets smaller by itself. */
    private static final int KEPT_LENGTH_MAX = 1024;

    private ArrayDeque<Entry> entries = new ArrayDeque<>();
    private int lengthMax;
    private final int limit;
    private long droppedCount;

    UndeliveredReleases(final int limit) {
        this.limit = limit;
    }

    int length() {
        return entries.size();
    }

    long droppedCount() {
        return droppedCount;
    }

    /**
     * Notes a token. Allocates: this is what happens when nodes fail, not when locks are taken.
     *
     * @param resourceBulk the resource, copied by reference; it is never changed
     * @param token        copied
     * @param untilNs      monotonic time after which the key has expired by itself
     */
    void add(final byte[] resourceBulk, final Token token, final long untilNs) {
        if (limit == 0) {
            droppedCount++;
            return;
        }
        if (entries.size() == limit) {
            entries.removeFirst();
            droppedCount++;
        }
        entries.addLast(new Entry(resourceBulk, new Token().copyOf(token), untilNs));
        lengthMax = Math.max(lengthMax, entries.size());
    }

    /** Takes the oldest entry that is still worth sending, or null. */
    Entry poll(final long nowNs) {
        Entry entry = entries.pollFirst();
        while (entry != null && entry.untilNs - nowNs <= 0) {
            entry = entries.pollFirst();
        }
        if (lengthMax > KEPT_LENGTH_MAX && entries.isEmpty()) {
            entries = new ArrayDeque<>();
            lengthMax = 0;
        }
        return entry;
    }

    /** Puts an entry back whose release was not answered. */
    void putBack(final Entry entry) {
        if (entries.size() < limit) {
            entries.addFirst(entry);
        } else {
            droppedCount++;
        }
    }

    /**
     * One token that a node may still hold.
     *
     * @threading event-loop-confined
     */
    static final class Entry {
        final byte[] resourceBulk;
        final Token token;
        final long untilNs;

        Entry(final byte[] resourceBulk, final Token token, final long untilNs) {
            this.resourceBulk = resourceBulk;
            this.token = token;
            this.untilNs = untilNs;
        }
    }
}
