package dev.redlock.node;

/**
 * What a node has said of itself in its handshake.
 *
 * @param runId          the identity of its process
 * @param uptimeSeconds  how long that process has been up, by the node's wall clock
 * @param timeSentNs     monotonic time at which its wall clock was asked for
 * @param timeReceivedNs monotonic time at which the answer was read
 * @param timeUs         its wall clock, microseconds since the epoch; means nothing where the clock watch is off
 * @threading immutable
 */
record Introduction(String runId, long uptimeSeconds, long timeSentNs, long timeReceivedNs, long timeUs) {
}
