package dev.redlock.telemetry;

import java.util.function.Supplier;
import jdk.jfr.Event;

/**
 * Starts and ends the events of one JFR type for operations that overlap on one event loop. Reading the time stamp of
 * JFR four times for each lock would cost a fifth of the loop's CPU time, so most operations read none:
 *
 * <ul>
 * <li>Operations that start within 20 us share one started event object.
 * <li>An operation that took no longer than one below the threshold is below it too. This knowledge is discarded each
 * second, because the threshold may change.
 * </ul>
 *
 * <p>The objects are pooled. Use it only if {@link Jfr#IS_PRESENT}.
 *
 * @param <E> the type of event
 * @threading event-loop-confined
 */
public final class SharedStarts<E extends Event> {

    private static final long SHARED_NS = 20_000;
    private static final long KNOWLEDGE_NS = 1_000_000_000;

    private final Supplier<E> newEvent;
    private Start<E> current;
    private Start<E> free;
    private boolean isThresholdKnown;
    private long belowThresholdNs;
    private long knownSinceNs;

    /** No starts yet. */
    public SharedStarts(Supplier<E> newEvent) {
        this.newEvent = newEvent;
    }

    /**
     * The start of some operations.
     *
     * @threading event-loop-confined
     */
    public static final class Start<E extends Event> {

        private final E event;
        private long startNs;
        private int userCount;
        private Start<E> next;

        private Start(E event) {
            this.event = event;
        }

        /** @return the event, to be filled and committed if {@link SharedStarts#isDue} says so */
        public E event() {
            return event;
        }
    }

    /** An operation starts; null if there is no memory for an event. {@link #release} must follow. */
    public Start<E> start(long nowNs) {
        if ((current == null || nowNs - current.startNs >= SHARED_NS) && !hasBegun(nowNs)) {
            return null;
        }
        current.userCount++;
        return current;
    }

    /** A call site may be in the middle of a change of state, so nothing is thrown. */
    private boolean hasBegun(long nowNs) {
        try {
            begin(nowNs);
            return true;
        } catch (RuntimeException | Error e) {
            return false;
        }
    }

    private void begin(long nowNs) {
        if (current == null || current.userCount != 0) {
            Start<E> pooled = free;
            if (pooled == null) {
                pooled = new Start<>(newEvent.get());
            } else {
                free = pooled.next;
                pooled.next = null;
            }
            current = pooled;
        }
        current.startNs = nowNs;
        current.event.begin();
    }

    /** An operation ends; true if it was long enough to be recorded. */
    public boolean isDue(Start<E> start, long nowNs) {
        long durationNs = nowNs - start.startNs;
        isThresholdKnown &= nowNs - knownSinceNs < KNOWLEDGE_NS;
        if (isThresholdKnown && durationNs <= belowThresholdNs) {
            return false;
        }
        start.event.end();
        if (start.event.shouldCommit()) {
            return true;
        }
        if (!isThresholdKnown) {
            isThresholdKnown = true;
            knownSinceNs = nowNs;
        }
        belowThresholdNs = durationNs;
        return false;
    }

    /** An operation no longer uses its start. */
    public void release(Start<E> start) {
        start.userCount--;
        if (start.userCount == 0 && start != current) {
            start.next = free;
            free = start;
        }
    }
}
