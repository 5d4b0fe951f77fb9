package dev.redlock.loadtest.rig;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Sees every holder of every resource come and go, and finds two that overlap. It trusts no client: it knows only who
 * said "I hold it" and when, on this machine's monotonic clock.
 *
 * <p>A holding lasts from {@link Resource#enter} to {@link Resource#leave} or to the end of its validity, whichever is
 * first. Two holdings of one resource that share an instant are an overlap.
 *
 * @threading any thread
 */
public final class MutualExclusionAuditor {
    private static final int EXAMPLES_MAX = 5;

    private final AtomicLong overlapCount = new AtomicLong();
    private final AtomicLong holdingCount = new AtomicLong();
    private final List<String> examples = new ArrayList<>();

    /** Has seen nothing yet. */
    public MutualExclusionAuditor() {
        // Fields say it all.
    }

    /**
     * A resource to watch. Every holder must enter through the same object.
     *
     * @param name the resource's name, for the report
     * @return a resource that nobody holds
     */
    public Resource resource(String name) {
        return new Resource(name);
    }

    /**
     * How often two holders overlapped.
     *
     * @return 0 if exclusion held
     */
    public long overlapCount() {
        return overlapCount.get();
    }

    /**
     * How many holdings were watched: a check that saw nothing proves nothing.
     *
     * @return the number of calls of enter
     */
    public long holdingCount() {
        return holdingCount.get();
    }

    /**
     * The first few overlaps, in words.
     *
     * @return at most 5 sentences
     */
    public List<String> examples() {
        synchronized (examples) {
            return List.copyOf(examples);
        }
    }

    private void report(String example) {
        overlapCount.incrementAndGet();
        synchronized (examples) {
            if (examples.size() < EXAMPLES_MAX) {
                examples.add(example);
            }
        }
    }

    /**
     * One resource under watch.
     *
     * @threading any thread
     */
    public final class Resource {
        private final String name;
        private boolean isHeld;
        private long holder;
        private long validUntilNs;

        private Resource(String name) {
            this.name = name;
        }

        String name() {
            return name;
        }

        /**
         * A holder was granted the lock.
         *
         * @param newHolder  who, unique among holders of this resource
         * @param nowNs      when it learnt of it
         * @param newUntilNs when its validity ends
         */
        public synchronized void enter(long newHolder, long nowNs, long newUntilNs) {
            holdingCount.incrementAndGet();
            if (isHeld && validUntilNs - nowNs > 0) {
                report(name + ": holder " + newHolder + " entered while holder " + holder + " was valid for another "
                        + (validUntilNs - nowNs) + " ns");
            }
            isHeld = true;
            holder = newHolder;
            validUntilNs = newUntilNs;
        }

        /**
         * A holder is about to give the lock back; to be told before the release is sent.
         *
         * @param oldHolder who
         */
        public synchronized void leave(long oldHolder) {
            if (isHeld && holder == oldHolder) {
                isHeld = false;
            }
        }
    }
}
