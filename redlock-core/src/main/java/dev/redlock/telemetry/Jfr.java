package dev.redlock.telemetry;

/**
 * Whether this JVM has JDK Flight Recorder. The module {@code jdk.jfr} is optional: an image of {@code jlink} may lack
 * it. The JVM loads the event classes of this package at their first use, so a check of {@link #IS_PRESENT} must
 * precede it.
 *
 * <p>The events here are never committed. JFR rewrites {@code isEnabled} of these types to read a field, so an event
 * that is off costs one branch.
 *
 * @threading immutable
 */
public final class Jfr {

    /** Whether the event classes of this package can be used. */
    public static final boolean IS_PRESENT = isPresent();

    public static final AcquireEvent ACQUIRE = IS_PRESENT ? new AcquireEvent() : null;
    public static final ReleaseEvent RELEASE = IS_PRESENT ? new ReleaseEvent() : null;
    public static final LeaseLostEvent LEASE_LOST = IS_PRESENT ? new LeaseLostEvent() : null;
    public static final NodeStateEvent NODE_STATE = IS_PRESENT ? new NodeStateEvent() : null;
    public static final RetentionEndedEvent RETENTION_ENDED = IS_PRESENT ? new RetentionEndedEvent() : null;
    public static final WakeupEvent WAKEUP = IS_PRESENT ? new WakeupEvent() : null;

    private Jfr() {
    }

    private static boolean isPresent() {
        try {
            return new AcquireEvent() != null;
        } catch (LinkageError e) {
            // The module is neither in the image nor among the modules of the application.
            return false;
        }
    }
}
