package dev.redlock.loadtest.driver;

/**
 * What the peers that are written by hand here ask of a node, by the published pattern: what they cost the servers is
 * what any client of that pattern costs them, so that what differs is the client.
 *
 * @threading immutable
 */
enum PeerVerb {
    /** {@code SET resource token NX PX ttl}, or {@link PeerScript#ACQUIRE}, which does that and tells of a refusal. */
    ACQUIRE,
    /** Compare and delete, {@link PeerScript#RELEASE}. */
    RELEASE
}
