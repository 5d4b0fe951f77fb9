package dev.redlock.node;

import dev.redlock.api.RestartGuardMode;
import dev.redlock.quorum.Drift;
import dev.redlock.transport.ServerRules;
import dev.redlock.transport.TlsContexts;

/**
 * The part of the configuration that concerns one node. The values are validated by the public context.
 *
 * @param timeouts how long the client waits for a node
 * @param guards   when a node votes
 * @param limits   bounds for each node
 * @param commands which commands a node gets
 * @param access   how a client introduces itself
 * @param clusters rules for voters that are clusters
 * @threading immutable
 */
public record NodeOptions(Timeouts timeouts, Guards guards, Limits limits, Commands commands, Access access,
        Clusters clusters) {

    /**
     * How long the client waits for a node.
     *
     * @param nodeTimeoutNsMax    longest time that a vote counts, whatever the ttl
     * @param connectTimeoutMs    time limit for opening a connection
     * @param handshakeTimeoutMs  time limit for a handshake
     * @param unansweredTimeoutMs time limit for the reply to the oldest request; then the connection is replaced
     * @param reconnectDelayMsMin first delay before a reconnect
     * @param reconnectDelayMsMax longest delay before a reconnect
     * @threading immutable
     */
    public record Timeouts(long nodeTimeoutNsMax, int connectTimeoutMs, int handshakeTimeoutMs, int unansweredTimeoutMs,
            int reconnectDelayMsMin, int reconnectDelayMsMax) {
    }

    /**
     * When a node votes that may have lost its keys, or whose clock may have jumped.
     *
     * @param maxTtlMs      longest ttl of any lock, and the quarantine of a restarted node
     * @param mode          mode of the restart guard
     * @param mark          the marks of the restart guard; null if it uses none
     * @param drift         allowed drift of a clock
     * @param clockSampleMs period of the clock samples; 0 turns the clock watch off
     * @param replicasMaxLagMs {@code min-replicas-max-lag} of a primary that does not report it
     * @threading immutable
     */
    public record Guards(long maxTtlMs, RestartGuardMode mode, Mark mark, Drift drift, int clockSampleMs,
            long replicasMaxLagMs) {
    }

    /**
     * How a client uses the marks of the restart guard.
     *
     * @param key       the key for the marks
     * @param isWritten whether the client may write marks; one that only diagnoses reads them
     * @threading immutable
     */
    public record Mark(String key, boolean isWritten) {
    }

    /**
     * Bounds for each node.
     *
     * @param inFlightMax            requests in flight at which further commands fail
     * @param unsentBytesMax         unsent bytes at which further commands fail
     * @param releaseBatchMax        most releases in one script call, and most extensions up to 32
     * @param undeliveredReleasesMax releases kept for a node that is not connected
     * @threading immutable
     */
    public record Limits(int inFlightMax, int unsentBytesMax, int releaseBatchMax, int undeliveredReleasesMax) {
    }

    /**
     * Which commands a node gets.
     *
     * @param probeKey           key for the probe of conditional commands; null to use scripts only
     * @param ownKey             key that no lock has, for the probes of rights and of {@code MSETEX}
     * @param areWakeUpsWanted   register refused acquires for pushes
     * @param areScriptsOptional load no scripts on a node whose conditional commands suffice for plain locks
     * @threading immutable
     */
    public record Commands(String probeKey, String ownKey, boolean areWakeUpsWanted, boolean areScriptsOptional) {
    }

    /**
     * How a client introduces itself.
     *
     * @param clientName  name of the connections, for {@code CLIENT LIST}; may be null
     * @param loginSource the user's credentials provider; null if the addresses contain the credentials
     * @param sentinelLogins the same for Sentinels; null if they need no login
     * @param tls         TLS of the nodes that use it; null if none does
     * @threading immutable
     */
    public record Access(String clientName, LoginSource loginSource, LoginSource sentinelLogins, TlsContexts tls) {
    }

    /**
     * Rules for voters that are clusters.
     *
     * @param nodeTimeoutMs how long a deposed master may serve clients of a cluster that does not report it
     * @param servers       the servers that the map of a cluster, or a Sentinel, may name
     * @threading immutable
     */
    public record Clusters(long nodeTimeoutMs, ServerRules servers) {
    }
}
