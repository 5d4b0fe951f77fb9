package dev.redlock.loadtest.driver;

/**
 * The commands of the hand-written peers, by the published pattern. Their cost for the servers equals that of any
 * client of the pattern, so differences come from the client.
 *
 * @threading immutable
 */
enum PeerVerb {
    /**
     * {@code SET resource token NX PX ttl}, or {@link PeerScript#ACQUIRE}, which does the same and reports rejections.
     */
    ACQUIRE,
    /** Compare and delete, {@link PeerScript#RELEASE}. */
    RELEASE
}
