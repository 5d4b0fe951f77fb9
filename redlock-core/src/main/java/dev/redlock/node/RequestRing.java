package dev.redlock.node;

/**
 * The requests that a connection has sent and that are not answered, oldest first. Redis answers in order, so the head
 * is always what the next reply belongs to. Grows by doubling up to a limit, and by {@link #trim} shrinks again to what
 * is needed; allocates nothing in between.
 *
 * @threading event-loop-confined
 */
final class RequestRing {

    private static final int CAPACITY_INITIAL = 256;
    /** A ring of this many requests is never made smaller: some 48 KiB. */
    private static final int CAPACITY_KEPT = 4096;
    private static final int KIND_BITS = 4;
    private static final int ENCODING_BITS = 3;
    private static final int SECOND_TRY_BIT = 1 << KIND_BITS + ENCODING_BITS;
    private static final int SEQUENCE_SHIFT = KIND_BITS + ENCODING_BITS + 1;
    /** Sequences are counted modulo this plus one. */
    static final int SEQUENCE_MAX = (1 << Integer.SIZE - SEQUENCE_SHIFT) - 1;
    static final int RELEASE_TAG = tag(CommandKind.RELEASE, CommandEncoding.SCRIPT, 0, false);

    private final int limit;
    private Object[] requests;
    private int[] tags;
    /** The length that calls {@link #onMark}: a power of two, not below any length since the last trim. */
    private int mark;
    private long headCursor;
    private long tailCursor;

    /** A ring that holds up to {@code limit} lock requests. */
    RequestRing(final int limit) {
        this.limit = limit;
        final int capacity = Math.min(CAPACITY_INITIAL, powerOfTwoAtLeast(limit));
        requests = new Object[capacity];
        tags = new int[capacity];
        mark = capacity;
    }

    private static int powerOfTwoAtLeast(final int value) {
        return value <= 1 ? 1 : Integer.highestOneBit(value - 1) << 1;
    }

    static int tag(final CommandKind kind, final CommandEncoding encoding, final int sequence,
            final boolean isSecondTry) {
        return sequence << SEQUENCE_SHIFT | (isSecondTry ? SECOND_TRY_BIT : 0) | encoding.ordinal() << KIND_BITS
                | kind.ordinal();
    }

    static CommandKind kindOf(final int tag) {
        return CommandKind.of(tag & (1 << KIND_BITS) - 1);
    }

    static CommandEncoding encodingOf(final int tag) {
        return CommandEncoding.of(tag >>> KIND_BITS & (1 << ENCODING_BITS) - 1);
    }

    static int sequenceOf(final int tag) {
        return tag >>> SEQUENCE_SHIFT;
    }

    static boolean isSecondTry(final int tag) {
        return (tag & SECOND_TRY_BIT) != 0;
    }

    /** Whether the limit is reached. Requests of the node itself are few and are let in beyond it. */
    boolean isFull() {
        return tailCursor - headCursor >= limit;
    }

    boolean isEmpty() {
        return tailCursor == headCursor;
    }

    int length() {
        return (int) (tailCursor - headCursor);
    }

    /** How many requests were ever added. */
    long addedCount() {
        return tailCursor;
    }

    /** How many requests were ever answered. */
    long removedCount() {
        return headCursor;
    }

    void add(final Object request, final int tag) {
        if (length() >= mark) {
            onMark();
        }
        final int slot = (int) tailCursor & requests.length - 1;
        assert requests[slot] == null : "slot is free when it is taken";
        requests[slot] = request;
        tags[slot] = tag;
        tailCursor++;
    }

    /** The oldest unanswered request, or null. */
    Object head() {
        return isEmpty() ? null : requests[(int) headCursor & requests.length - 1];
    }

    /** The tag of the oldest unanswered request. */
    int headTag() {
        return tags[(int) headCursor & requests.length - 1];
    }

    void removeHead() {
        requests[(int) headCursor & requests.length - 1] = null;
        headCursor++;
    }

    /** More requests than before wait: there may be room for them from earlier times. */
    private void onMark() {
        if (length() == requests.length) {
            resize(requests.length * 2);
        }
        mark = Math.min(mark * 2, requests.length);
    }

    /** Halves the room if not even a quarter was used since the last call; to be called at regular times. */
    void trim() {
        if (requests.length > CAPACITY_KEPT && mark <= requests.length / 4) {
            resize(requests.length / 2);
        }
        mark = Math.min(requests.length, Math.max(CAPACITY_INITIAL, powerOfTwoAtLeast(length())));
    }

    int capacity() {
        return requests.length;
    }

    private void resize(final int newCapacity) {
        final int capacity = requests.length;
        final Object[] newRequests = new Object[newCapacity];
        final int[] newTags = new int[newCapacity];
        for (long cursor = headCursor; cursor < tailCursor; cursor++) {
            newRequests[(int) cursor & newCapacity - 1] = requests[(int) cursor & capacity - 1];
            newTags[(int) cursor & newCapacity - 1] = tags[(int) cursor & capacity - 1];
        }
        requests = newRequests;
        tags = newTags;
    }
}
