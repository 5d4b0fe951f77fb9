package dev.redlock.node;

import dev.redlock.api.RestartGuardMode;
import dev.redlock.quorum.Drift;
import dev.redlock.transport.ServerRules;
import dev.redlock.transport.TlsContexts;

/**
 * The part of the configuration that concerns one node. The values are validated by the public context.
 *
 * @param connectTimeoutMs    time limit for opening a connection
 * @param handshakeTimeoutMs  time limit for a handshake
 * @param unansweredTimeoutMs time limit for the reply to the oldest request; then the connection is replaced
 * @param reconnectDelayMsMin first delay before a reconnect
 * @param reconnectDelayMsMax longest delay before a reconnect
 * @param maxTtlMs            longest ttl of any lock, and the quarantine of a restarted node
 * @param guardMode           mode of the restart guard
 * @param drift               allowed drift of a clock
 * @param clockSampleMs       period of the clock samples; 0 turns the clock watch off
 * @param inFlightMax         requests in flight at which further commands fail
 * @param unsentBytesMax      unsent bytes at which further commands fail
 * @param probeKey            key for the probe of conditional commands; null to use scripts only
 * @param setProbeKey         key that no lock has, for the probe of {@code MSETEX}; null to use scripts only
 * @param scriptProbeKey      key for the probe of scripts
 * @param markKey             key for the marks of the restart guard; null if it uses none
 * @param releaseBatchMax     most releases in one script call, and most extensions up to 32
 * @param undeliveredReleasesMax releases kept for a node that is not connected
 * @param clientName          name of the connections, for {@code CLIENT LIST}; may be null
 * @param areWakeUpsWanted    register refused acquires for pushes
 * @param areScriptsOptional  load no scripts on a node whose conditional commands suffice for plain locks
 * @param loginSource         the user's credentials provider; null if the addresses contain the credentials
 * @param tls                 TLS of the nodes that use it; null if none does
 * @param clusterNodeTimeoutMs how long a deposed master may serve clients of a cluster that does not report it
 * @param clusterServers       the servers that the map of a cluster may name
 * @threading immutable
 */
public record NodeOptions(int connectTimeoutMs, int handshakeTimeoutMs, int unansweredTimeoutMs,
        int reconnectDelayMsMin, int reconnectDelayMsMax, long maxTtlMs, RestartGuardMode guardMode, Drift drift,
        int clockSampleMs, int inFlightMax, int unsentBytesMax, String probeKey, String setProbeKey,
        String scriptProbeKey, String markKey, int releaseBatchMax, int undeliveredReleasesMax, String clientName,
        boolean areWakeUpsWanted, boolean areScriptsOptional, LoginSource loginSource, TlsContexts tls,
        long clusterNodeTimeoutMs, ServerRules clusterServers) {
}
