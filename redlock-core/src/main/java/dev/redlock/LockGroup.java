package dev.redlock;

import dev.redlock.telemetry.GroupRecorder;

/**
 * The acquisitions of one {@linkplain AcquireOptions#group group} of a client, over all its event loops, live.
 *
 * <p>This object refers to no client: it keeps its values after the client was closed, and does not keep the client in
 * memory.
 *
 * @threading any thread
 */
public final class LockGroup {

    private final GroupRecorder recorder;
    private final AcquireTimes acquireTimes;

    LockGroup(GroupRecorder recorder) {
        this.recorder = recorder;
        this.acquireTimes = new AcquireTimes(recorder.times());
    }

    /** @return the name in the options, or {@code other} for the groups that are not counted apart */
    public String name() {
        return recorder.name();
    }

    /** @return the number of its acquisitions by outcome, and their durations; the same object for each call */
    public AcquireTimes acquireTimes() {
        return acquireTimes;
    }

    /**
     * Its acquisitions that got a {@linkplain AcquireOptions#retain retained} lock at once, without the nodes. The
     * {@linkplain #acquireTimes acquire times} do not contain them.
     */
    public long localGrantCount() {
        return recorder.localGrantCount();
    }

    @Override
    public String toString() {
        return "LockGroup{" + name() + ", " + acquireTimes + ", localGrants=" + localGrantCount() + "}";
    }
}
