package dev.redlock.telemetry;

/**
 * Whether this JVM has JDK Flight Recorder. The module {@code jdk.jfr} is optional: an image of {@code jlink} may lack
 * it. The JVM loads the event classes of this package at their first use, so a check of this constant must precede it.
 *
 * @threading immutable
 */
public final class Jfr {

    /** Whether the event classes of this package can be used. */
    public static final boolean IS_PRESENT = isPresent();

    private Jfr() {
    }

    private static boolean isPresent() {
        try {
            return Probes.areLoaded();
        } catch (LinkageError e) {
            // The module is neither in the image nor among the modules of the application.
            return false;
        }
    }

    /** @return whether an acquisition should be timed; only if {@link #IS_PRESENT} */
    public static boolean isAcquireEnabled() {
        return Probes.ACQUIRE.isEnabled();
    }

    /** @return whether a release should be timed; only if {@link #IS_PRESENT} */
    public static boolean isReleaseEnabled() {
        return Probes.RELEASE.isEnabled();
    }

    /** @return whether a lost lease should be reported; only if {@link #IS_PRESENT} */
    public static boolean isLeaseLostEnabled() {
        return Probes.LEASE_LOST.isEnabled();
    }

    /** @return whether a node's change of state should be reported; only if {@link #IS_PRESENT} */
    public static boolean isNodeStateEnabled() {
        return Probes.NODE_STATE.isEnabled();
    }

    /** @return whether a wake-up should be reported; only if {@link #IS_PRESENT} */
    public static boolean isWakeupEnabled() {
        return Probes.WAKEUP.isEnabled();
    }

    /**
     * One event of each type that is never committed. JFR rewrites {@code isEnabled} of these types to read a field, so
     * an event that is off costs one branch.
     *
     * @threading immutable
     */
    private static final class Probes {

        private static final AcquireEvent ACQUIRE = new AcquireEvent();
        private static final ReleaseEvent RELEASE = new ReleaseEvent();
        private static final LeaseLostEvent LEASE_LOST = new LeaseLostEvent();
        private static final NodeStateEvent NODE_STATE = new NodeStateEvent();
        private static final WakeupEvent WAKEUP = new WakeupEvent();

        private static boolean areLoaded() {
            return ACQUIRE != null;
        }
    }
}
