package dev.redlock.telemetry;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The last events of one event loop, in a ring of fixed size. One thread adds events and allocates nothing; any thread
 * takes a copy, without a lock and without stopping the other.
 *
 * <p>A copy contains complete events only. The writer publishes the number of its events after each one, so a reader
 * that reads the number again after the copy knows which places may have changed in between, and leaves them out.
 *
 * @threading one thread adds; any thread copies
 */
public final class FlightRing {

    /** Time, description and value of an event. */
    static final int WORDS = 3;
    static final int NUMBER_SHIFT = 32;
    static final int DETAIL_SHIFT = 16;
    static final int NODE_SHIFT = 8;
    static final int BYTE_MASK = 0xFF;

    private static final VarHandle ADDED_COUNT;

    static {
        try {
            ADDED_COUNT = MethodHandles.lookup().findVarHandle(FlightRing.class, "addedCount", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final long[] words;
    private final Object[] subjects;
    private final int indexMask;
    private long addedCount;

    /** An empty ring that keeps so many events, rounded up to a power of two. */
    public FlightRing(int capacity) {
        int length = Integer.highestOneBit(Math.max(1, capacity - 1)) << 1;
        words = new long[length * WORDS];
        subjects = new Object[length];
        indexMask = length - 1;
    }

    /**
     * Adds an event; the oldest one is overwritten if the ring is full.
     *
     * @param timeNs    monotonic time
     * @param kind      what happened, 0 to 255
     * @param number    of the attempt that it belongs to; 0 for none
     * @param nodeIndex the node, 0 to 255
     * @param detail    depends on the kind, 0 to 255
     * @param subject   whose event it is; immutable; may be null
     */
    public void add(long timeNs, int kind, int number, int nodeIndex, int detail, long value, Object subject) {
        long count = addedCount;
        int place = (int) count & indexMask;
        int word = place * WORDS;
        // The number of the last event precedes the changes of the place, which a reader then leaves out.
        VarHandle.storeStoreFence();
        words[word] = timeNs;
        words[word + 1] = (long) number << NUMBER_SHIFT | (long) detail << DETAIL_SHIFT | nodeIndex << NODE_SHIFT
                | kind;
        words[word + 2] = value;
        subjects[place] = subject;
        ADDED_COUNT.setRelease(this, count + 1);
    }

    /** @return events that the ring keeps at most */
    public int capacity() {
        return subjects.length;
    }

    /** @return the events that the ring holds now, oldest first; on any thread */
    public FlightCopy copy() {
        return copy(subjects.length);
    }

    /** @return the newest events, so many at most, oldest first; on any thread */
    public FlightCopy copy(int maxCount) {
        long end = (long) ADDED_COUNT.getAcquire(this);
        int length = (int) Math.min(end, Math.min(maxCount, subjects.length));
        long[] copiedWords = new long[length * WORDS];
        Object[] copiedSubjects = new Object[length];
        long start = end - length;
        for (int i = 0; i < length; i++) {
            int place = (int) (start + i) & indexMask;
            System.arraycopy(words, place * WORDS, copiedWords, i * WORDS, WORDS);
            copiedSubjects[i] = subjects[place];
        }
        // The reads above precede the read of the number, which counts every event whose place they may have seen.
        VarHandle.loadLoadFence();
        long endAfter = (long) ADDED_COUNT.getAcquire(this);
        // The event after the last counted one may be incomplete.
        long firstKept = endAfter + 1 - subjects.length;
        int skippedCount = (int) Math.min(length, Math.max(0, firstKept - start));
        return new FlightCopy(copiedWords, copiedSubjects, skippedCount, start);
    }
}
