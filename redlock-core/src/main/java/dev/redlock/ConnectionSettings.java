package dev.redlock;

import dev.redlock.api.CommandMode;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.quorum.Token;
import dev.redlock.resp.SafeText;
import dev.redlock.time.Durations;
import dev.redlock.transport.ServerRules;
import java.time.Duration;
import java.util.Objects;

/**
 * The options of a {@link RedlockContext} for the connections to the nodes.
 *
 * @threading caller-confined
 */
abstract class ConnectionSettings {

    static final String DEFAULT_NAME = "redlock";

    String clientName = DEFAULT_NAME;
    CredentialsProvider credentials;
    CredentialsProvider sentinelCredentials;
    long clusterNodeTimeoutMs = 15_000;
    long replicasMaxLagMs = 10_000;
    ServerRules clusterServers = ServerRules.DEFAULT;
    int connectTimeoutMs = 1_000;
    int handshakeTimeoutMs = 2_000;
    int unansweredTimeoutMs = 2_000;
    int reconnectDelayMsMin = 20;
    int reconnectDelayMsMax = 1_000;
    int clockSampleMs = 1_000;
    int nodeInFlightMax = 65_536;
    int nodeUnsentBytesMax = 1 << 20;
    int undeliveredReleasesMax = 65_536;
    RestartGuardMode restartGuard = RestartGuardMode.FRESH_GROUP;
    CommandMode commandMode = CommandMode.AUTO;
    int releaseBatchMax = 64;
    TlsOptions tls;

    abstract RedlockContext self();

    /** Rejects changes after the conclusion. */
    abstract void checkOpen();

    /** Changes an option. */
    final RedlockContext with(Runnable change) {
        checkOpen();
        change.run();
        return self();
    }

    /**
     * Sets the options of TLS, which the nodes with a {@code rediss://} address use.
     *
     * @param options default {@link TlsOptions#defaults}
     */
    public RedlockContext tls(TlsOptions options) {
        return with(() -> tls = Objects.requireNonNull(options, "TLS options are null"));
    }

    /**
     * Sets the name of the client's connections: {@code name=} in CLIENT LIST on a node. A name that identifies the
     * process helps operators to find the owner of a connection.
     *
     * @param name default {@code redlock}; at most 64 characters of printable ASCII without blanks, or empty for none
     * @throws IllegalArgumentException if it has other characters, or is longer
     */
    public RedlockContext clientName(String name) {
        checkOpen();
        Objects.requireNonNull(name, "client name is null: give \"\" for none");
        if (!name.chars().allMatch(c -> c > ' ' && c < 127)) {
            throw new IllegalArgumentException("client name \"" + SafeText.of(name) + "\" has a blank or a special"
                    + " character, which Redis refuses: use printable ASCII without blanks");
        }
        if (name.length() > Token.NAME_LENGTH_MAX) {
            throw new IllegalArgumentException("client name \"" + SafeText.of(name) + "\" has " + name.length()
                    + " characters and at most " + Token.NAME_LENGTH_MAX
                    + " are allowed, because nodes keep and list it for each connection: use a shorter name");
        }
        clientName = name;
        return self();
    }

    /**
     * Sets the provider of user and password, which the client asks for each connection. For fixed credentials, write
     * them into the addresses instead.
     */
    public RedlockContext credentials(CredentialsProvider provider) {
        return with(() -> credentials = Objects.requireNonNull(provider, "credentials provider is null"));
    }

    /**
     * Sets the provider of user and password for Sentinels, which the client asks for each connection to one. User and
     * password in the address, and {@link #credentials}, are those of the servers.
     */
    public RedlockContext sentinelCredentials(CredentialsProvider provider) {
        return with(() -> sentinelCredentials = Objects.requireNonNull(provider, "provider of credentials is null"));
    }

    /**
     * Sets the {@code cluster-node-timeout} of clusters that do not let the client read it with {@code CONFIG GET}.
     * When a slot has another owner, its cluster does not vote for it for {@link RedlockContext#maxTtl maxTtl}, the
     * allowed drift, 1.5 times this time and some seconds.
     *
     * @param timeout default 15 s, the servers' default; from 100 ms to 24 h
     */
    public RedlockContext clusterNodeTimeout(Duration timeout) {
        return with(() -> clusterNodeTimeoutMs = inRange("clusterNodeTimeout",
                Durations.millisOf("clusterNodeTimeout", timeout), 100, 86_400_000, "ms"));
    }

    /**
     * Sets the {@code min-replicas-max-lag} of nodes with {@code min-replicas-to-write} that do not let the client read
     * it with {@code CONFIG GET}. It bounds how long a primary serves after its replica was promoted. When a node was
     * promoted, it does not vote for {@link RedlockContext#maxTtl maxTtl}, this time, the allowed drift and some
     * seconds.
     *
     * @param lag default 10 s, the servers' default; from 1 s to 24 h
     */
    public RedlockContext replicasMaxLag(Duration lag) {
        return with(() -> replicasMaxLagMs = inRange("replicasMaxLag", Durations.millisOf("replicasMaxLag", lag),
                1_000, 86_400_000, "ms"));
    }

    /**
     * Sets the servers to which the map of a cluster, or a Sentinel, may lead, and which then get user and password.
     * The hosts of the configured seeds and Sentinels are always allowed. By default, others are allowed in private
     * networks, at an IP address of one of these, on loopback if one is there, and in the domain of one; a port below
     * 1024 has to be that of one.
     *
     * @param rules 1 to 64, which replace the default: a network such as {@code 203.0.113.0/24} or {@code fd00::/8}, an
     *              IP address, a host name, a domain such as {@code *.example.com}, or {@code *} for any server
     * @throws IllegalArgumentException if a rule is malformed, or there are none or too many
     */
    public RedlockContext clusterServers(String... rules) {
        return with(() -> clusterServers = ServerRules.parse(rules));
    }

    /**
     * Sets the time that opening a connection may take.
     *
     * @param timeout default one second, 1 ms to a minute
     */
    public RedlockContext connectTimeout(Duration timeout) {
        return with(() -> connectTimeoutMs = msInRange("connectTimeout", timeout, 1, 60_000));
    }

    /**
     * Sets the time that a node's oldest request may stay unanswered before the client closes the connection as dead
     * and reconnects. A shorter time finds dead peers sooner, a longer one lets paused peers return without a
     * reconnect. A lock never waits for it.
     *
     * <p>All clients of clusters, and of nodes that fail over, need the same value: after a failover, no client gets a
     * lock while a request of another one may wait at the former primary, and each takes its own value for that.
     *
     * @param timeout default two seconds, 100 ms to ten minutes
     */
    public RedlockContext unansweredTimeout(Duration timeout) {
        return with(() -> unansweredTimeoutMs = msInRange("unansweredTimeout", timeout, 100, 600_000));
    }

    /**
     * Sets the delay before the client opens a lost connection again. It doubles from the shorter to the longer, with
     * jitter, and the client never gives up.
     *
     * @param min default 20 ms, at least a millisecond
     * @param max default one second, at least min, at most ten minutes
     * @throws IllegalArgumentException if the range is empty or out of range
     */
    public RedlockContext reconnectDelay(Duration min, Duration max) {
        checkOpen();
        long msMin = Durations.millisOf("shortest reconnectDelay", min);
        long msMax = Durations.millisOf("longest reconnectDelay", max);
        if (msMax < msMin || msMax > 600_000) {
            throw new IllegalArgumentException("reconnectDelay range " + msMin + " to " + msMax
                    + " ms is out of range: 1 <= min <= max <= 600000 is needed");
        }
        reconnectDelayMsMin = (int) msMin;
        reconnectDelayMsMax = (int) msMax;
        return self();
    }

    /**
     * Sets the time between two comparisons of each node's clock with the local one. The clock allowance (see
     * {@link RedlockContext#drift drift}) covers the steps that stay unseen between two samples: 22 ms by default.
     * Short ttls need a shorter time. All clients of clusters, and of nodes that fail over, need the same value, as for
     * {@link #unansweredTimeout unansweredTimeout}.
     *
     * @param interval default one second, up to a minute; zero switches the clock watch off
     */
    public RedlockContext clockSampleInterval(Duration interval) {
        checkOpen();
        boolean isOff = Durations.nanosOf("clockSampleInterval", interval) == 0;
        clockSampleMs = isOff ? 0 : msInRange("clockSampleInterval", interval, 1, 60_000);
        return self();
    }

    /**
     * Sets when nodes vote that may have lost their keys in a restart.
     *
     * @param mode default {@link RestartGuardMode#FRESH_GROUP}
     */
    public RedlockContext restartGuard(RestartGuardMode mode) {
        return with(() -> restartGuard = Objects.requireNonNull(mode, "restart guard mode is null"));
    }

    /**
     * Limits the requests and bytes that wait for one node. Beyond either limit its votes fail at once, so that a slow
     * node costs bounded memory and no time of the others.
     *
     * @param unansweredMax default 65 536 requests, at least 16
     * @param unsentBytes   default 1 MiB of unsent bytes, at least 4096
     */
    public RedlockContext nodeBackPressure(int unansweredMax, int unsentBytes) {
        checkOpen();
        nodeInFlightMax = (int) inRange("unanswered requests per node", unansweredMax, 16, 1 << 24, "requests");
        nodeUnsentBytesMax = (int) inRange("unsent bytes per node", unsentBytes, 4096, 1 << 30, "bytes");
        return self();
    }

    /**
     * Limits the releases that are retained for a node that is unreachable or cannot write. Beyond it the oldest is
     * discarded, and its key expires.
     *
     * @param count default 65 536, at least 0
     */
    public RedlockContext undeliveredReleasesMax(int count) {
        return with(
                () -> undeliveredReleasesMax = (int) inRange("undeliveredReleasesMax", count, 0, 1 << 22, "releases"));
    }

    /**
     * Sets the commands that locks use: scripts, or cheaper commands if a node has them.
     *
     * @param mode default {@link CommandMode#AUTO}
     */
    public RedlockContext commands(CommandMode mode) {
        return with(() -> commandMode = Objects.requireNonNull(mode, "command mode is null"));
    }

    /**
     * Limits the releases of one turn of the event loop that go to a node as one script call, which costs the node less
     * than a call for each. A node with a conditional delete gets one command for each release instead, which costs it
     * still less. A release that raises a fencing counter is a script on every node.
     *
     * <p>Extensions of plain locks form batches of their own, up to 32, because they take a node longer.
     *
     * @param count default 64, 1 to 64; 1 sends each release and extension alone
     */
    public RedlockContext releaseBatchMax(int count) {
        return with(() -> releaseBatchMax = (int) inRange("releaseBatchMax", count, 1, 64, "releases"));
    }

    static int msInRange(String what, Duration duration, int min, int max) {
        return (int) inRange(what, Durations.millisOf(what, duration), min, max, "ms");
    }

    static long inRange(String what, long value, long min, long max, String unit) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    what + " " + value + " is out of range: " + min + " to " + max + " " + unit + " are allowed");
        }
        return value;
    }
}
