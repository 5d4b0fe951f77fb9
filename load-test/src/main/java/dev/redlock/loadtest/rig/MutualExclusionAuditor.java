package dev.redlock.loadtest.rig;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Records every holder of every resource and detects overlaps. It trusts no client: its only input is the time of each
 * grant and release on this machine's monotonic clock.
 *
 * <p>A holding lasts from {@link Resource#enter} to {@link Resource#leave} or to the end of its validity if that is
 * earlier. Two holdings of one resource that share an instant are an overlap.
 *
 * @threading any thread
 */
public final class MutualExclusionAuditor {
    private static final int EXAMPLES_MAX = 5;

    private final AtomicLong overlapCount = new AtomicLong();
    private final AtomicLong holdingCount = new AtomicLong();
    private final List<String> examples = new ArrayList<>();

    /** Registers a resource. Every holder must enter through the same object. */
    public Resource resource(String name) {
        return new Resource(name);
    }

    public long overlapCount() {
        return overlapCount.get();
    }

    /** The number of holdings. A check without holdings proves nothing. */
    public long holdingCount() {
        return holdingCount.get();
    }

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

    /** @threading any thread */
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

        /** A holder is about to release the lock. Called before the release is sent. */
        public synchronized void leave(long oldHolder) {
            if (isHeld && holder == oldHolder) {
                isHeld = false;
            }
        }
    }
}
