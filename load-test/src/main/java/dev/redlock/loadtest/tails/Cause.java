package dev.redlock.loadtest.tails;

import java.util.Map;

/**
 * What has delayed a slow cycle.
 *
 * @threading immutable
 */
enum Cause {
    /** The garbage collector stopped the JVM of the client. */
    COLLECTOR("collector"),
    /** Another operation of the JVM stopped its threads. */
    SAFEPOINT("safepoint"),
    /** The thread of the rig that starts the cycles was late. */
    RIG_LATE("rig late"),
    /** The event loop of the client was ready to run and waited for a core. */
    CLIENT_CORE("client waits for a core"),
    /** So many servers were ready to run and waited for a core that no majority was left. */
    SERVER_CORE("servers wait for a core"),
    /** The event loop of the client ran all the time: work of its own, or of cycles before. */
    CLIENT_BUSY("client busy"),
    /** So many servers ran all the time that no majority was left. */
    SERVER_BUSY("servers busy"),
    /** The kernel's thread for the network of a core ran, or waited for the core, all the time. */
    KERNEL("kernel's network"),
    /** No thread of this machine ran for a time, though it was due: the hypervisor had the core. */
    MACHINE("machine stands still"),
    /** None of these explains half of it, but the times in which one or another of them was at work do. */
    SEVERAL("several in turn"),
    /** These do not explain half of it. */
    UNKNOWN("unknown");

    /** A cause explains a cycle if it takes this share of the time by which the cycle is slower than usual. */
    private static final double SHARE_MIN = 0.5;

    private final String words;

    Cause(String words) {
        this.words = words;
    }

    /** Its name in a table. */
    String words() {
        return words;
    }

    /**
     * The cause that explains a delay: the first one, in the order of the constants, with half of it. A pause of the
     * JVM makes the rig late too, and a thread that waits for a core explains more than one that is busy.
     *
     * @param ns      the time that each cause has taken within the cycle
     * @param delayNs by how much the cycle took longer than the median of its rate; what is not positive has no cause
     */
    static Cause of(Map<Cause, Long> ns, long delayNs) {
        for (Cause cause : values()) {
            if (delayNs > 0 && ns.getOrDefault(cause, 0L) >= delayNs * SHARE_MIN) {
                return cause;
            }
        }
        return UNKNOWN;
    }
}
