package dev.redlock.node.send;

/**
 * The requests in flight on a connection, oldest first. Redis replies in order, so the next reply belongs to the head.
 *
 * <p>The ring doubles when it is full, up to a limit, and {@link #trim} shrinks it. In between it allocates nothing.
 *
 * @threading event-loop-confined
 */
final class RequestRing {

    private static final int CAPACITY_INITIAL = 256;
    /** A ring of this capacity does not shrink: about 48 KiB. */
    private static final int CAPACITY_KEPT = 4096;
    private static final int KIND_BITS = 5;
    private static final int ENCODING_BITS = 4;
    private static final int ENCODING_MASK = (1 << ENCODING_BITS) - 1;
    private static final int SECOND_TRY_BIT = 1 << KIND_BITS + ENCODING_BITS;
    private static final int DETAIL_SHIFT = KIND_BITS + ENCODING_BITS + 1;
    /** Sequences wrap to 0 after this one. */
    static final int DETAIL_MAX = (1 << Integer.SIZE - DETAIL_SHIFT) - 1;

    private final int limit;
    private InFlightRequest[] requests;
    private int[] tags;
    /** The length that calls {@link #onHighMark}: a power of two, not below any length since the last trim. */
    private int highMark;
    private long headCursor;
    private long tailCursor;

    /** A ring that holds up to {@code limit} lock requests. */
    RequestRing(int limit) {
        this.limit = limit;
        int capacity = Math.min(CAPACITY_INITIAL, powerOfTwoAtLeast(limit));
        requests = new InFlightRequest[capacity];
        tags = new int[capacity];
        highMark = capacity;
    }

    private static int powerOfTwoAtLeast(int value) {
        return value <= 1 ? 1 : Integer.highestOneBit(value - 1) << 1;
    }

    static int tag(CommandKind kind, CommandEncoding encoding, int detail,
            boolean isSecondTry) {
        return detail << DETAIL_SHIFT | (isSecondTry ? SECOND_TRY_BIT : 0) | encoding.ordinal() << KIND_BITS
                | kind.ordinal();
    }

    static CommandKind kindOf(int tag) {
        return CommandKind.VALUES[tag & (1 << KIND_BITS) - 1];
    }

    static CommandEncoding encodingOf(int tag) {
        return CommandEncoding.VALUES[tag >>> KIND_BITS & ENCODING_MASK];
    }

    static int detailOf(int tag) {
        return tag >>> DETAIL_SHIFT;
    }

    static boolean isSecondTry(int tag) {
        return (tag & SECOND_TRY_BIT) != 0;
    }

    /** Whether the limit is reached. It does not apply to the few requests of the client itself. */
    boolean isFull() {
        return tailCursor - headCursor >= limit;
    }

    boolean isEmpty() {
        return tailCursor == headCursor;
    }

    int length() {
        return (int) (tailCursor - headCursor);
    }

    /** Requests that were added so far. */
    long addedCount() {
        return tailCursor;
    }

    /** Requests that were removed so far. */
    long removedCount() {
        return headCursor;
    }

    /** As {@link #add} for a lock request; false if the limit is reached. */
    boolean offer(InFlightRequest request, int tag) {
        boolean isAccepted = tailCursor - headCursor < limit;
        if (isAccepted) {
            add(request, tag);
        }
        return isAccepted;
    }

    void add(InFlightRequest request, int tag) {
        if (tailCursor - headCursor >= highMark) {
            onHighMark();
        }
        int place = (int) tailCursor & requests.length - 1;
        assert requests[place] == null : "the place is free";
        requests[place] = request;
        tags[place] = tag;
        tailCursor++;
    }

    /** The oldest request; null if there is none. */
    InFlightRequest head() {
        // A place without a request is null.
        return requests[(int) headCursor & requests.length - 1];
    }

    /** The oldest request, if it is a lock command with this kind of reply; else null. */
    LockRequest head(CommandEncoding.Reply reply) {
        int place = (int) headCursor & requests.length - 1;
        CommandEncoding encoding = CommandEncoding.VALUES[tags[place] >>> KIND_BITS & ENCODING_MASK];
        return requests[place] instanceof LockRequest request && encoding.reply == reply ? request : null;
    }

    /** The encoding of the oldest request. */
    CommandEncoding headEncoding() {
        return CommandEncoding.VALUES[tags[(int) headCursor & requests.length - 1] >>> KIND_BITS & ENCODING_MASK];
    }

    /** Removes the oldest request; returns its tag. */
    int take() {
        int place = (int) headCursor++ & requests.length - 1;
        requests[place] = null;
        return tags[place];
    }

    /** The length reaches a new maximum since the last trim. The array may be long enough from before. */
    private void onHighMark() {
        if (length() == requests.length) {
            resize(requests.length * 2);
        }
        highMark = Math.min(highMark * 2, requests.length);
    }

    /** Halves the array if less than a quarter was used since the last call. To be called at regular intervals. */
    void trim() {
        if (requests.length > CAPACITY_KEPT && highMark <= requests.length / 4) {
            resize(requests.length / 2);
        }
        highMark = Math.min(requests.length, Math.max(CAPACITY_INITIAL, powerOfTwoAtLeast(length())));
    }

    int capacity() {
        return requests.length;
    }

    private void resize(int newCapacity) {
        int capacity = requests.length;
        InFlightRequest[] newRequests = new InFlightRequest[newCapacity];
        int[] newTags = new int[newCapacity];
        for (long cursor = headCursor; cursor < tailCursor; cursor++) {
            newRequests[(int) cursor & newCapacity - 1] = requests[(int) cursor & capacity - 1];
            newTags[(int) cursor & newCapacity - 1] = tags[(int) cursor & capacity - 1];
        }
        requests = newRequests;
        tags = newTags;
    }
}
