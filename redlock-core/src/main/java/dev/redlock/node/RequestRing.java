package dev.redlock.node;

import java.util.Arrays;

/**
 * The requests that a connection has sent and that are not answered, oldest first. Redis answers in order, so the head
 * is always what the next reply belongs to. Grows by doubling up to a limit; allocates nothing once it has grown.
 *
 * @threading event-loop-confined
 */
final class RequestRing {

    private static final int CAPACITY_INITIAL = 256;
    private static final int VERB_BITS = 4;
    private static final int FORM_BITS = 3;
    private static final int SECOND_TRY_BIT = 1 << VERB_BITS + FORM_BITS;
    private static final int SEQUENCE_SHIFT = VERB_BITS + FORM_BITS + 1;
    /** Sequences are counted modulo this plus one. */
    static final int SEQUENCE_MAX = (1 << Integer.SIZE - SEQUENCE_SHIFT) - 1;
    static final int RELEASE_TAG = tag(Verb.RELEASE, CommandForm.SCRIPT, 0, false);

    private final int limit;
    private Object[] requests;
    private int[] tags;
    private long headCursor;
    private long tailCursor;

    /** A ring that holds up to {@code limit} lock requests. */
    RequestRing(final int limit) {
        this.limit = limit;
        final int capacity = Math.min(CAPACITY_INITIAL, powerOfTwoAtLeast(limit));
        requests = new Object[capacity];
        tags = new int[capacity];
    }

    private static int powerOfTwoAtLeast(final int value) {
        return value <= 1 ? 1 : Integer.highestOneBit(value - 1) << 1;
    }

    static int tag(final Verb verb, final CommandForm form, final int sequence, final boolean isSecondTry) {
        return sequence << SEQUENCE_SHIFT | (isSecondTry ? SECOND_TRY_BIT : 0) | form.ordinal() << VERB_BITS
                | verb.ordinal();
    }

    static Verb verbOf(final int tag) {
        return Verb.of(tag & (1 << VERB_BITS) - 1);
    }

    static CommandForm formOf(final int tag) {
        return CommandForm.of(tag >>> VERB_BITS & (1 << FORM_BITS) - 1);
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
        if (length() == requests.length) {
            grow();
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

    private void grow() {
        final int capacity = requests.length;
        final Object[] grownRequests = new Object[capacity * 2];
        final int[] grownTags = new int[capacity * 2];
        for (long cursor = headCursor; cursor < tailCursor; cursor++) {
            grownRequests[(int) cursor & capacity * 2 - 1] = requests[(int) cursor & capacity - 1];
            grownTags[(int) cursor & capacity * 2 - 1] = tags[(int) cursor & capacity - 1];
        }
        Arrays.fill(requests, null);
        requests = grownRequests;
        tags = grownTags;
    }
}
