package dev.redlock.engine;

/**
 * Retained locks in order of arrival.
 *
 * @threading event-loop-confined
 */
final class RetainedChain {

    RetainedLease oldest;
    private RetainedLease newest;
    int size;

    void add(RetainedLease entry) {
        size++;
        entry.older = newest;
        if (newest == null) {
            oldest = entry;
        } else {
            newest.newer = entry;
        }
        newest = entry;
    }

    void remove(RetainedLease entry) {
        size--;
        if (entry.older == null) {
            oldest = entry.newer;
        } else {
            entry.older.newer = entry.newer;
        }
        if (entry.newer == null) {
            newest = entry.older;
        } else {
            entry.newer.older = entry.older;
        }
        entry.older = null;
        entry.newer = null;
    }
}
