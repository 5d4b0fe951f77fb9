package dev.redlock.node;

import dev.redlock.RestartGuardMode;
import dev.redlock.quorum.Drift;

/**
 * What a node needs to know of the configuration. Durations are checked where they are configured.
 *
 * @param connectTimeoutMs    a connection that is not open after this is given up
 * @param handshakeTimeoutMs  a handshake that is not complete after this is given up
 * @param unansweredTimeoutMs a connection whose oldest request is unanswered for this long is taken for dead
 * @param reconnectDelayMsMin first delay before connecting again
 * @param reconnectDelayMsMax longest delay before connecting again
 * @param maxTtlMs            longest ttl that any lock may have: what a restarted node has to sit out
 * @param guardMode           how restarts are guarded against
 * @param drift               how far clocks may run apart without being distrusted
 * @param clockSampleMs       how often the node's clock is read; 0 for never
 * @param inFlightMax         unanswered requests after which further votes fail at once
 * @param unsentBytesMax      bytes waiting for the socket after which further votes fail at once
 * @param probeKey            the key that a node's own conditional commands are tried on; null where scripts alone are
 *                            used
 * @param releaseBatchMax     most releases that go out as one script call; 1 for each by itself
 * @param undeliveredReleasesMax             releases kept for a node that cannot be reached
 * @param clientName          name of the connection on the node, or null
 * @threading immutable
 */
public record NodeOptions(int connectTimeoutMs, int handshakeTimeoutMs, int unansweredTimeoutMs,
        int reconnectDelayMsMin, int reconnectDelayMsMax, long maxTtlMs, RestartGuardMode guardMode, Drift drift,
        int clockSampleMs, int inFlightMax, int unsentBytesMax, String probeKey, int releaseBatchMax,
        int undeliveredReleasesMax, String clientName) {
}
