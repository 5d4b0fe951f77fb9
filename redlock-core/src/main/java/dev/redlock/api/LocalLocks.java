package dev.redlock.api;

import java.util.List;

/**
 * The locks that a client holds and those that it waits for, for people who look for a stuck holder. It is out of date
 * when it is read. It contains no token from which anybody could release a lock.
 *
 * @param held         held locks, the oldest first. A lock that stays after its release, by {@code holdAtLeast} or
 *                     because the client retains it, is one of them
 * @param waiting      locks with waiters, those with the longest wait first
 * @param heldCount    all held locks, also those that the limit left out
 * @param waitingCount all locks with waiters
 * @param isComplete   whether each event loop has answered within a second
 * @threading immutable
 */
public record LocalLocks(List<Held> held, List<Waiting> waiting, int heldCount, int waitingCount, boolean isComplete) {

    /**
     * The kind of a lock.
     *
     * @threading immutable
     */
    public enum Kind {
        /** A plain lock. */
        PLAIN,
        /** A set of resources. */
        SET,
        /** A reader. */
        READ,
        /** A writer. */
        WRITE,
        /** A permit of a semaphore. */
        PERMIT
    }

    /**
     * A lock that the client holds.
     *
     * @param resource      its name, without the prefix; those of a set in brackets
     * @param kind          its kind
     * @param ageNs         nanoseconds since it was acquired; for a retained lock, since the client acquired it
     * @param remainingNs   nanoseconds of validity that remain, unless it is extended
     * @param fencingToken  its fencing token; 0 if it is not fenced
     * @param thread        the name of the thread that holds it through a {@code Lock} view; null for another lease,
     *                      which may pass from thread to thread
     * @threading immutable
     */
    public record Held(String resource, Kind kind, long ageNs, long remainingNs, long fencingToken, String thread) {
    }

    /**
     * A lock for which acquisitions of the client wait. The first attempt of an acquisition is no wait yet.
     *
     * @param resource  its name, without the prefix; those of a set in brackets
     * @param kind      its kind
     * @param count     the acquisitions that wait
     * @param longestNs nanoseconds since the first of them was called
     * @threading immutable
     */
    public record Waiting(String resource, Kind kind, int count, long longestNs) {
    }
}
