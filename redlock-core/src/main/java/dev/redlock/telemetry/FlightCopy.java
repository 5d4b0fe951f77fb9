package dev.redlock.telemetry;

/**
 * A copy of the events of a {@link FlightRing}, oldest first: each method gives a part of the event with an index, 0 to
 * length - 1.
 *
 * @threading immutable
 */
public final class FlightCopy {

    private final long[] words;
    private final Object[] subjects;
    private final int offset;
    private final long start;

    FlightCopy(long[] words, Object[] subjects, int offset, long start) {
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

    /** @return monotonic time */
    public long timeNs(int index) {
        return words[(offset + index) * FlightRing.WORDS];
    }

    private long description(int index) {
        return words[(offset + index) * FlightRing.WORDS + 1];
    }

    /** @return what happened */
    public int kind(int index) {
        return (int) description(index) & FlightRing.BYTE_MASK;
    }

    /** @return the node */
    public int nodeIndex(int index) {
        return (int) (description(index) >>> FlightRing.NODE_SHIFT) & FlightRing.BYTE_MASK;
    }

    /** @return the detail */
    public int detail(int index) {
        return (int) (description(index) >>> FlightRing.DETAIL_SHIFT) & FlightRing.BYTE_MASK;
    }

    /** @return number of the attempt; 0 for none */
    public int number(int index) {
        return (int) (description(index) >>> FlightRing.NUMBER_SHIFT);
    }

    /** @return the value */
    public long value(int index) {
        return words[(offset + index) * FlightRing.WORDS + 2];
    }

    /** @return the subject; may be null */
    public Object subject(int index) {
        return subjects[offset + index];
    }
}
