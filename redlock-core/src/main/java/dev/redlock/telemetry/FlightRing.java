package dev.redlock.telemetry;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The last events of one event loop, in a ring of fixed size. One thread adds events and allocates nothing; any thread
 * takes a copy, without a lock and without stopping the other.
 *
 * <p>A copy contains complete events only. The writer publishes the number of its events after each one, so a reader
 * that reads the number again after the copy knows which slots may have changed in between, and leaves them out.
 *
 * @threading one thread adds; any thread copies
 */
public final class FlightRing {

    /** Time, description and value of an event. */
    private static final int WORDS = 3;
    private static final int NUMBER_SHIFT = 32;
    private static final int DETAIL_SHIFT = 16;
    private static final int NODE_SHIFT = 8;
    private static final int BYTE_MASK = 0xFF;

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

    /**
     * An empty ring.
     *
     * @param capacity events that it keeps, rounded up to a power of two
     */
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
     * @param value     depends on the kind
     * @param subject   whose event it is; immutable; may be null
     */
    public void add(long timeNs, int kind, int number, int nodeIndex, int detail, long value, Object subject) {
        long count = addedCount;
        int slot = (int) count & indexMask;
        int word = slot * WORDS;
        // The number of the last event precedes the changes of the slot, which a reader then leaves out.
        VarHandle.storeStoreFence();
        words[word] = timeNs;
        words[word + 1] = (long) number << NUMBER_SHIFT | (long) detail << DETAIL_SHIFT | nodeIndex << NODE_SHIFT
                | kind;
        words[word + 2] = value;
        subjects[slot] = subject;
        ADDED_COUNT.setRelease(this, count + 1);
    }

    /** @return events that the ring keeps at most */
    public int capacity() {
        return subjects.length;
    }

    /** @return the events that the ring holds now, oldest first; on any thread */
    public Copy copy() {
        long end = (long) ADDED_COUNT.getAcquire(this);
        int length = (int) Math.min(end, subjects.length);
        long[] copiedWords = new long[length * WORDS];
        Object[] copiedSubjects = new Object[length];
        long start = end - length;
        for (int i = 0; i < length; i++) {
            int slot = (int) (start + i) & indexMask;
            System.arraycopy(words, slot * WORDS, copiedWords, i * WORDS, WORDS);
            copiedSubjects[i] = subjects[slot];
        }
        // The reads above precede the read of the number, which counts every event whose slot they may have seen.
        VarHandle.loadLoadFence();
        long endAfter = (long) ADDED_COUNT.getAcquire(this);
        // The event after the last counted one may be incomplete.
        long firstKept = endAfter + 1 - subjects.length;
        int skippedCount = (int) Math.min(length, Math.max(0, firstKept - start));
        return new Copy(copiedWords, copiedSubjects, skippedCount, start);
    }

    /**
     * A copy of the events, oldest first.
     *
     * @threading immutable
     */
    public static final class Copy {

        private final long[] words;
        private final Object[] subjects;
        private final int offset;
        private final long start;

        private Copy(long[] words, Object[] subjects, int offset, long start) {
            this.words = words;
            this.subjects = subjects;
            this.offset = offset;
            this.start = start;
        }

        /** @return number of events */
        public int length() {
            return subjects.length - offset;
        }

        /** @return events that were overwritten before the first one of this copy */
        public long overwrittenCount() {
            return start + offset;
        }

        /**
         * @param index 0 to length - 1
         * @return monotonic time
         */
        public long timeNs(int index) {
            return words[(offset + index) * WORDS];
        }

        private long description(int index) {
            return words[(offset + index) * WORDS + 1];
        }

        /**
         * @param index 0 to length - 1
         * @return what happened
         */
        public int kind(int index) {
            return (int) description(index) & BYTE_MASK;
        }

        /**
         * @param index 0 to length - 1
         * @return the node
         */
        public int nodeIndex(int index) {
            return (int) (description(index) >>> NODE_SHIFT) & BYTE_MASK;
        }

        /**
         * @param index 0 to length - 1
         * @return the detail
         */
        public int detail(int index) {
            return (int) (description(index) >>> DETAIL_SHIFT) & BYTE_MASK;
        }

        /**
         * @param index 0 to length - 1
         * @return number of the attempt; 0 for none
         */
        public int number(int index) {
            return (int) (description(index) >>> NUMBER_SHIFT);
        }

        /**
         * @param index 0 to length - 1
         * @return the value
         */
        public long value(int index) {
            return words[(offset + index) * WORDS + 2];
        }

        /**
         * @param index 0 to length - 1
         * @return the subject; may be null
         */
        public Object subject(int index) {
            return subjects[offset + index];
        }
    }
}
