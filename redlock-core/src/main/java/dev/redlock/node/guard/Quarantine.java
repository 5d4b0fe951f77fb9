package dev.redlock.node.guard;

/**
 * Why a connected node does not vote. A quarantine lasts for a known time, so its text depends on when it is read.
 *
 * @param reason    a main clause
 * @param endNs     monotonic time of the end; meaningless without {@code isTimed}
 * @param isTimed   false if an event ends it
 * @param startedNs monotonic time at which the server was started; valid with {@code isRestart}
 * @param isRestart whether the uptime of the server is the reason
 * @threading immutable
 */
public record Quarantine(String reason, long endNs, boolean isTimed, long startedNs, boolean isRestart) {

    private static final long NS_PER_S = 1_000_000_000;

    /** A reason that an event ends. */
    public static Quarantine untilEvent(String reason) {
        return new Quarantine(reason, 0, false, 0, false);
    }

    static Quarantine until(long endNs, String reason) {
        return new Quarantine(reason, endNs, true, 0, false);
    }

    static Quarantine ofRestart(long endNs, long startedNs) {
        return new Quarantine("it votes when all locks that a restart may have lost have expired", endNs, true,
                startedNs, true);
    }

    /** The same with another reason behind. */
    public Quarantine and(String alsoReason) {
        return new Quarantine(reason + "; " + alsoReason, endNs, isTimed, startedNs, isRestart);
    }

    /** @return nanoseconds until the end; 0 after it, and if an event ends it */
    public long leftNs(long nowNs) {
        return isTimed ? Math.max(0, endNs - nowNs) : 0;
    }

    /** @return the reason with the times as they are now */
    public String text(long nowNs) {
        if (!isTimed) {
            return reason;
        }
        String uptime = isRestart
                ? "restart guard: the server has been up for " + Math.max(0, nowNs - startedNs) / NS_PER_S + " s; "
                : "";
        return "in quarantine for another " + (leftNs(nowNs) / NS_PER_S + 1) + " s: " + uptime + reason;
    }
}
