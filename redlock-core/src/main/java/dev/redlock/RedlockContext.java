package dev.redlock;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.RetryPolicy;
import dev.redlock.api.TransportKind;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.ClientConfig;
import dev.redlock.engine.KeyNames;
import dev.redlock.engine.LeaseTerms;
import dev.redlock.engine.Limits;
import dev.redlock.engine.LoopOptions;
import dev.redlock.engine.TelemetryOptions;
import dev.redlock.node.LoginSource;
import dev.redlock.node.NodeOptions;
import dev.redlock.quorum.Drift;
import dev.redlock.quorum.Validity;
import dev.redlock.quorum.Majority;
import dev.redlock.quorum.Quorum;
import dev.redlock.quorum.Token;
import dev.redlock.resp.SafeText;
import dev.redlock.time.Durations;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.ServerRules;
import dev.redlock.transport.TlsContexts;
import dev.redlock.transport.VoterAddress;
import io.netty.channel.EventLoop;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The configuration of a client. Set the options that differ from their defaults and pass it to
 * {@link Redlock#connect(RedlockContext)}, which concludes it. A concluded context cannot be changed or used again.
 *
 * <pre>{@code
 * Redlock redlock = Redlock.connect(new RedlockContext().nodes("10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379")
 *         .defaultWait(Duration.ofSeconds(2)));
 * }</pre>
 *
 * @threading caller-confined until it is concluded, immutable from then on
 */
public final class RedlockContext {

    /** The name behind the prefix of the key on which conditional commands are probed. */
    private static final String PROBE_NAME = "redlock:probe";
    /** The same for MSETEX. It has the mark of permits, without the rest of their names: no lock has this key. */
    private static final String SET_PROBE_NAME = PROBE_NAME + KeyNames.PERMIT_MARK;
    /** The name behind the prefix of the key that marks nodes. No resource can have it, like those of counters. */
    private static final String MARK_NAME = "node" + KeyNames.COUNTER_MARK + ":run_id";

    private static final String DEFAULT_NAME = "redlock";

    private final List<VoterAddress> nodes = new ArrayList<>();
    /** Empty without a change of the list. */
    private final List<VoterAddress> nextNodes = new ArrayList<>();
    private List<EventLoop> eventLoops = List.of();
    private String keyPrefix = "";
    private String clientName = DEFAULT_NAME;
    private boolean isNameInValues;
    private CredentialsProvider credentials;
    private long maxTtlMs = 60_000;
    private long clusterNodeTimeoutMs = 15_000;
    private ServerRules clusterServers = ServerRules.DEFAULT;
    private long fenceCounterTtlMs = 86_400_000;
    private long defaultWaitNs = 10_000 * NS_PER_MS;
    private long nodeTimeoutNs = AcquireSpec.UNSET;
    private long minValidityNs = AcquireSpec.UNSET;
    private long closeTimeoutNs = 1_000 * NS_PER_MS;
    private long spinNs;
    private int connectTimeoutMs = 1_000;
    private int handshakeTimeoutMs = 2_000;
    private int unansweredTimeoutMs = 2_000;
    private int reconnectDelayMsMin = 20;
    private int reconnectDelayMsMax = 1_000;
    private int clockSampleMs = 1_000;
    private int resourceLengthMax = 512;
    private int inFlightMax = 16_384;
    private int waitersMax = 65_536;
    private int autoExtendedLeasesMax = 65_536;
    private int wakeUpKeysMax = 1 << 16;
    private int localHandoffsMax = 4;
    private int nodeInFlightMax = 65_536;
    private int nodeUnsentBytesMax = 1 << 20;
    private int undeliveredReleasesMax = 65_536;
    private int eventLoopCount = 1;
    private Drift drift = Drift.DEFAULT;
    private RestartGuardMode restartGuard = RestartGuardMode.FRESH_GROUP;
    private boolean isThrifty;
    private CommandMode commandMode = CommandMode.AUTO;
    private int releaseBatchMax = 64;
    private RetryPolicy retryPolicy = RetryPolicy.jittered(Duration.ofMillis(5), Duration.ofMillis(50));
    private IdlePolicy idlePolicy = IdlePolicy.BLOCK;
    private TransportKind transport = TransportKind.AUTO;
    private TlsOptions tls;
    private int flightRecorderEvents = 4096;
    private long slowAcquireNs = Long.MAX_VALUE;
    private Consumer<String> flightRecordListener;
    private boolean isConcluded;

    /** A context with every option at its default and no nodes. */
    public RedlockContext() {
        // defaults stand beside the fields
    }

    /**
     * Adds the independent masters: 1 to 63. An odd number is best, since an even one tolerates no more failures than
     * the odd one below it.
     *
     * @param addresses one node each: {@code host:port}, {@code redis://[user:password@]host[:port]},
     *                  {@code rediss://[user:password@]host[:port]} for TLS, or {@code unix:///path}. A whole cluster
     *                  is one node: {@code redis-cluster://[user:password@]host:port[,host:port...]} with some of its
     *                  servers, or {@code rediss-cluster://} for TLS; for each resource, the master that owns its slot
     *                  votes. Special characters of user and password are percent-encoded: {@code %40} for an at sign,
     *                  {@code %2F} for a slash, {@code %23} for a hash.
     * @return this
     * @throws IllegalArgumentException if an address is malformed or given twice, or there are too many
     */
    public RedlockContext nodes(String... addresses) {
        checkOpen();
        addAll(addresses, nodes);
        return this;
    }

    /**
     * Adds the nodes of the list that replaces the present one, all of them, also those that stay. With both lists, a
     * lock needs a majority of each, so clients that know only one of the lists exclude it. To change the list while
     * clients run:
     * <ol>
     * <li>Start all clients again with {@code nodes} and {@code nextNodes}, in any order and over any time.
     * <li>When no client with the old list alone is left, wait {@link #maxTtl} and the allowed drift.
     * <li>Start all clients again with the next list as {@code nodes}.
     * </ol>
     *
     * <p>A new node votes when it has been up for {@code maxTtl}, so start it before.
     *
     * @param addresses as for {@link #nodes}; a node that stays has the address that it has there
     * @return this
     * @throws IllegalArgumentException if an address is malformed or given twice, or there are too many
     */
    public RedlockContext nextNodes(String... addresses) {
        checkOpen();
        addAll(addresses, nextNodes);
        return this;
    }

    private static void addAll(String[] addresses, List<VoterAddress> list) {
        Objects.requireNonNull(addresses, "node addresses are null");
        for (int i = 0; i < addresses.length; i++) {
            VoterAddress address = parse(addresses, i);
            checkNotGiven(address, list);
            list.add(address);
        }
        checkCount(list.size());
    }

    private static void checkCount(int count) {
        if (count > Quorum.NODES_MAX) {
            throw new IllegalArgumentException(count + " nodes are too many: at most " + Quorum.NODES_MAX);
        }
    }

    private static void checkNotGiven(VoterAddress address, List<VoterAddress> list) {
        for (VoterAddress given : list) {
            for (NodeAddress server : address.servers()) {
                if (given.servers().contains(server)) {
                    throw new IllegalArgumentException("node address " + server
                            + " is given twice: one server has one vote, so each node must be a server of its own");
                }
            }
        }
    }

    /** The nodes of both lists, each once, those of the present list first. */
    private List<VoterAddress> allNodes() {
        List<VoterAddress> all = new ArrayList<>(nodes);
        for (VoterAddress next : nextNodes) {
            if (indexOf(next, nodes) < 0) {
                all.add(next);
            }
        }
        return all;
    }

    private Majority majority() {
        if (nextNodes.isEmpty()) {
            return Majority.of(nodes.size());
        }
        List<VoterAddress> all = allNodes();
        checkCount(all.size());
        long nextMask = 0;
        for (VoterAddress next : nextNodes) {
            nextMask |= 1L << indexOf(next, all);
        }
        return Majority.ofBoth(Quorum.allOf(nodes.size()), nextMask);
    }

    /** The place of a node that has a server of an address; -1 if there is none. */
    private static int indexOf(VoterAddress address, List<VoterAddress> list) {
        for (int i = 0; i < list.size(); i++) {
            if (!Collections.disjoint(list.get(i).servers(), address.servers())) {
                if (list.get(i).isCluster() != address.isCluster()) {
                    throw new IllegalArgumentException("node " + address + " is a cluster in one of nodes and nextNodes"
                            + " only: write it in the same way in both");
                }
                return i;
            }
        }
        return -1;
    }

    /** An error shows little of an address, because it may contain a password; so it has the address's number. */
    private static VoterAddress parse(String[] addresses, int index) {
        try {
            return VoterAddress.parse(addresses[index]);
        } catch (IllegalArgumentException e) {
            if (addresses.length == 1) {
                throw e;
            }
            throw new IllegalArgumentException(
                    "address " + (index + 1) + " of " + addresses.length + ": " + e.getMessage(), e);
        }
    }

    /**
     * Sets the options of TLS, which the nodes with a {@code rediss://} address use.
     *
     * @param options default {@link TlsOptions#defaults}
     * @return this
     */
    public RedlockContext tls(TlsOptions options) {
        checkOpen();
        tls = Objects.requireNonNull(options, "TLS options are null");
        return this;
    }

    /** The TLS of the nodes that use it; null if none does. */
    private TlsContexts tlsContexts() {
        if (allNodes().stream().noneMatch(VoterAddress::isTls)) {
            return null;
        }
        return new TlsContexts((tls == null ? TlsOptions.defaults() : tls).spec());
    }

    private void checkTls() {
        if (tls != null && allNodes().stream().noneMatch(VoterAddress::isTls)) {
            throw new IllegalArgumentException("TLS options are set and no node address asks for TLS: write rediss://"
                    + nodes.get(0).servers().get(0).toString().replaceFirst("^unix:.*", "host:port")
                    + ", or remove tls(...)");
        }
    }

    /**
     * Sets the prefix of every key on the nodes. None by default, so that clients that lock a majority of the same
     * nodes with the published pattern interoperate.
     *
     * @param prefix the prefix, may be empty; in UTF-8 it has to be shorter than {@link #resourceLengthMax}
     * @return this
     * @throws IllegalArgumentException if it starts or ends inside a character, or contains {@code :redlock:fence},
     *                                  which names fencing counters, {@code :redlock:permit}, which names permits, or
     *                                  {@code :redlock:intention}, which names the intentions of waiting sets
     */
    public RedlockContext keyPrefix(String prefix) {
        checkOpen();
        Objects.requireNonNull(prefix, "key prefix is null: give \"\" for none");
        KeyNames.checkEncodable("key prefix", prefix);
        checkPrefixMark(prefix, KeyNames.COUNTER_MARK, "fencing counters");
        checkPrefixMark(prefix, KeyNames.PERMIT_MARK, "permits");
        checkPrefixMark(prefix, KeyNames.INTENTION_MARK, "intentions");
        keyPrefix = prefix;
        return this;
    }

    private static void checkPrefixMark(String prefix, String mark, String owners) {
        if (prefix.contains(mark)) {
            throw new IllegalArgumentException("key prefix \"" + SafeText.of(prefix) + "\" contains \"" + mark
                    + "\", which only names of " + owners + " may: choose another prefix");
        }
    }

    /**
     * Sets the name of the client's connections: {@code name=} in CLIENT LIST on a node. A name that identifies the
     * process helps operators to find the owner of a connection.
     *
     * @param name default {@code redlock}; at most 64 characters of printable ASCII without blanks, or empty for none
     * @return this
     * @throws IllegalArgumentException if it has other characters, or is longer
     */
    public RedlockContext clientName(String name) {
        checkOpen();
        Objects.requireNonNull(name, "client name is null: give \"\" for none");
        if (!name.chars().allMatch(c -> c > ' ' && c < 127)) {
            throw new IllegalArgumentException(
                    "client name \"" + SafeText.of(name) + "\" has a blank or a special character,"
                            + " which Redis refuses: use printable ASCII without blanks");
        }
        if (name.length() > Token.NAME_LENGTH_MAX) {
            throw new IllegalArgumentException("client name \"" + SafeText.of(name) + "\" has " + name.length()
                    + " characters and at most " + Token.NAME_LENGTH_MAX
                    + " are allowed, because nodes keep and list it for each connection: use a shorter name");
        }
        clientName = name;
        return this;
    }

    /**
     * Sets the provider of user and password, which the client asks for each connection. For fixed credentials, write
     * them into the addresses instead.
     *
     * @param provider default none
     * @return this
     */
    public RedlockContext credentials(CredentialsProvider provider) {
        checkOpen();
        credentials = Objects.requireNonNull(provider, "credentials provider is null");
        return this;
    }

    /**
     * Appends the client name to the value of each lock, so that {@code GET} and {@code load-test locks} show who holds
     * it. The value is the token, an at sign and the name. It is as unguessable and unique as without the name, and
     * clients with and without names exclude each other. It costs up to 65 bytes for each key and command.
     *
     * @param isWanted default false; true needs a {@link #clientName} of 1 to 64 characters that is not the default
     * @return this
     */
    public RedlockContext nameInValues(boolean isWanted) {
        checkOpen();
        isNameInValues = isWanted;
        return this;
    }

    /**
     * Sets the longest ttl that an acquire or extend may ask for; longer ones are rejected. A node also stays in
     * quarantine for so long after a restart or a jump of its clock, so keep it near the ttls in use. All clients of
     * the same nodes need the same value for the restart guard to cover their locks.
     *
     * @param ttl default 60 s, from 100 ms to 24 h
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext maxTtl(Duration ttl) {
        checkOpen();
        maxTtlMs = inRange("maxTtl", Durations.millisOf("maxTtl", ttl), 100, 86_400_000, "ms");
        return this;
    }

    /**
     * Sets the {@code cluster-node-timeout} of clusters that do not let the client read it with {@code CONFIG GET}.
     * When a slot has another owner, its cluster does not vote for it for {@link #maxTtl}, the allowed drift, 1.5 times
     * this time and some seconds.
     *
     * @param timeout default 15 s, the servers' default; from 100 ms to 24 h
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext clusterNodeTimeout(Duration timeout) {
        checkOpen();
        clusterNodeTimeoutMs = inRange("clusterNodeTimeout", Durations.millisOf("clusterNodeTimeout", timeout), 100,
                86_400_000, "ms");
        return this;
    }

    /**
     * Sets the servers to which the map of a cluster may lead, and which then get user and password. The hosts of the
     * configured seeds are always allowed. By default, others are allowed in private networks, at an IP address of a
     * seed, on loopback if a seed is there, and in the domain of a seed; a port below 1024 has to be that of a seed.
     *
     * @param rules 1 to 64, which replace the default: a network such as {@code 203.0.113.0/24} or {@code fd00::/8}, an
     *              IP address, a host name, a domain such as {@code *.example.com}, or {@code *} for any server
     * @return this
     * @throws IllegalArgumentException if a rule is malformed, or there are none or too many
     */
    public RedlockContext clusterServers(String... rules) {
        checkOpen();
        clusterServers = ServerRules.parse(rules);
        return this;
    }

    /**
     * Sets the time that the counter of a resource's fencing tokens stays on a node after the last fenced grant, raise
     * or release. A longer time keeps memory for resources that are no longer used. A counter that expired starts again
     * from the node's clock (seconds * 2^20). That is above every earlier value, unless the clock was set back or the
     * resource was granted more than 2^20 times per second over its life. The counter has to outlive every lease by
     * far, or the nodes of one lease could disagree.
     *
     * @param ttl default 24 h, from ten times {@link #maxTtl} to 10 years
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext fenceCounterTtl(Duration ttl) {
        checkOpen();
        fenceCounterTtlMs = inRange("fenceCounterTtl", Durations.millisOf("fenceCounterTtl", ttl), 1000,
                315_360_000_000L, "ms");
        return this;
    }

    /**
     * Sets the wait budget of {@link Redlock#acquire} and {@link Redlock#acquireAsync} where the options have none.
     *
     * @param wait default 10 s, zero or more
     * @return this
     * @throws IllegalArgumentException if it is negative
     */
    public RedlockContext defaultWait(Duration wait) {
        checkOpen();
        defaultWaitNs = Durations.nanosOf("default wait", wait);
        return this;
    }

    /**
     * Sets the time that a node may take for one answer before its vote counts as unknown. A shorter time gives up on
     * slow nodes sooner, a longer one survives their hiccups. A healthy quorum never waits for it.
     *
     * @param timeout default: the shorter of 50 ms and ttl/20; from 1 ms to 60 s
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext nodeTimeout(Duration timeout) {
        checkOpen();
        nodeTimeoutNs = NS_PER_MS * inRange("nodeTimeout", Durations.millisOf("nodeTimeout", timeout), 1, 60_000, "ms");
        return this;
    }

    /**
     * Requires some validity to be left when a lock is acquired; an acquisition with less is rolled back.
     *
     * @param minValidity default: a tenth of each acquisition's ttl
     * @return this
     * @throws IllegalArgumentException if it is negative
     */
    public RedlockContext minValidity(Duration minValidity) {
        checkOpen();
        minValidityNs = Durations.nanosOf("minimum validity", minValidity);
        return this;
    }

    /**
     * Sets how far clocks may run apart. The validity of a lease is its ttl less the duration of the acquisition and
     * less the clock allowance: rate * (ttl + 2 * ({@link #clockSampleInterval} + 100 ms)) + constant, or rate * ttl +
     * constant with the clock watch off. The quarantine of a restarted node is maxTtl * rate + constant longer. A node
     * whose clock moves by more than rate * time + constant / 2 between two samples is put into quarantine.
     *
     * <p>Change it only for clocks that are known to be better or worse than the default: with too small a drift, a
     * node with a fast clock grants a held lock to another client. Where round trips take longer than 1 ms, steps of
     * clocks can hide in them: raise the constant by four times the excess.
     *
     * @param ratePpm  parts per million, default 10 000 (one percent), 0 to 500 000
     * @param constant for the precision of expiry, default 2 ms, 0 to 60 s
     * @return this
     * @throws IllegalArgumentException if one is out of range
     */
    public RedlockContext drift(int ratePpm, Duration constant) {
        checkOpen();
        long constantNs = Durations.nanosOf("drift constant", constant);
        drift = new Drift(ratePpm, inRange("drift constant", constantNs, 0, 60_000 * NS_PER_MS, "ns"));
        return this;
    }

    /**
     * Sets the time that {@link Redlock#close} may take to release the held leases.
     *
     * @param timeout default 1 s, zero or more
     * @return this
     * @throws IllegalArgumentException if it is negative
     */
    public RedlockContext closeTimeout(Duration timeout) {
        checkOpen();
        closeTimeoutNs = Durations.nanosOf("close timeout", timeout);
        return this;
    }

    /**
     * Sets the time that a blocking call spins for its answer before it parks its thread. Spinning saves the wake-up of
     * about 10 us and costs CPU: use it only if a core is free.
     *
     * @param spin default zero; at most 10 ms
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext blockingSpin(Duration spin) {
        checkOpen();
        spinNs = inRange("blocking spin", Durations.nanosOf("blocking spin", spin), 0, 10 * NS_PER_MS, "ns");
        return this;
    }

    /**
     * Sets the time that opening a connection may take.
     *
     * @param timeout default one second, 1 ms to a minute
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext connectTimeout(Duration timeout) {
        checkOpen();
        connectTimeoutMs = msInRange("connectTimeout", timeout, 1, 60_000);
        return this;
    }

    /**
     * Sets the time that a node's oldest request may stay unanswered before the client closes the connection as dead
     * and reconnects. A shorter time finds dead peers sooner, a longer one lets paused peers return without a
     * reconnect. A lock never waits for it.
     *
     * @param timeout default two seconds, 100 ms to ten minutes
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext unansweredTimeout(Duration timeout) {
        checkOpen();
        unansweredTimeoutMs = msInRange("unansweredTimeout", timeout, 100, 600_000);
        return this;
    }

    /**
     * Sets the delay before the client opens a lost connection again. It doubles from the shorter to the longer, with
     * jitter, and the client never gives up.
     *
     * @param min default 20 ms, at least a millisecond
     * @param max default one second, at least min, at most ten minutes
     * @return this
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
        return this;
    }

    /**
     * Sets the time between two comparisons of each node's clock with the local one. The clock allowance (see
     * {@link #drift}) covers the steps that stay unseen between two samples: 22 ms by default. Short ttls need a
     * shorter time.
     *
     * @param interval default one second, up to a minute; zero switches the clock watch off
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext clockSampleInterval(Duration interval) {
        checkOpen();
        boolean isOff = Durations.nanosOf("clockSampleInterval", interval) == 0;
        clockSampleMs = isOff ? 0 : msInRange("clockSampleInterval", interval, 1, 60_000);
        return this;
    }

    /**
     * Sets when nodes vote that may have lost their keys in a restart.
     *
     * @param mode default {@link RestartGuardMode#FRESH_GROUP}
     * @return this
     */
    public RedlockContext restartGuard(RestartGuardMode mode) {
        checkOpen();
        restartGuard = Objects.requireNonNull(mode, "restart guard mode is null");
        return this;
    }

    /**
     * Sets the delays between the attempts of an acquisition.
     *
     * @param policy default: 5 to 50 ms, evenly distributed
     * @return this
     */
    public RedlockContext retryPolicy(RetryPolicy policy) {
        checkOpen();
        retryPolicy = Objects.requireNonNull(policy, "retry policy is null");
        return this;
    }

    /**
     * Sets the length of the longest resource name.
     *
     * @param bytes default 512 bytes of UTF-8 with the prefix, 1 to 16 384
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext resourceLengthMax(int bytes) {
        checkOpen();
        resourceLengthMax = (int) inRange("resourceLengthMax", bytes, 1, 16_384, "bytes");
        return this;
    }

    /**
     * Limits the acquisitions that talk to the nodes at the same time, per event loop. At the limit an acquisition
     * without a wait budget ends as {@link AcquireOutcome.Kind#OVERLOADED}. One with a budget waits for a slot, first
     * come, first served, and counts as a waiter ({@link #waitersMax}) meanwhile.
     *
     * @param count default 16 384, at least 1
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext inFlightMax(int count) {
        checkOpen();
        inFlightMax = (int) inRange("inFlightMax", count, 1, 1 << 22, "acquisitions");
        return this;
    }

    /**
     * Limits the acquisitions that wait behind another one of this client or for a slot of {@link #inFlightMax}, per
     * event loop. A new one beyond the limit ends as {@link AcquireOutcome.Kind#OVERLOADED}.
     *
     * @param count default 65 536, at least 0
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext waitersMax(int count) {
        checkOpen();
        waitersMax = (int) inRange("waitersMax", count, 0, 1 << 22, "waiters");
        return this;
    }

    /**
     * Limits the handoffs of a lock among the waiters of this client before other clients get a chance. After so many
     * handoffs, the next attempt yields to a client that waits; if no node wakes waiters, the next waiter pauses for
     * one delay of its retry policy. A smaller limit is fairer where a lock is held for long.
     *
     * @param count default 4; 0 sets no limit, so that local waiters always come first
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext localHandoffsMax(int count) {
        checkOpen();
        localHandoffsMax = (int) inRange("localHandoffsMax", count, 0, 1 << 22,
                "handoffs (0 for no bound)");
        return this;
    }

    /**
     * Limits the resources whose waiters the nodes wake, per event loop. A node sends a push to a client when a lock
     * that it refused to the client is released. Waiters of further resources retry after the delays of their retry
     * policy alone.
     *
     * @param count default 65 536; 0 turns wake-ups off
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext wakeUpKeysMax(int count) {
        checkOpen();
        wakeUpKeysMax = (int) inRange("wakeUpKeysMax", count, 0, 1 << 22, "resources (0 for no wake-ups)");
        return this;
    }

    /** A refused plain {@code SET} does not register for a push. */
    private int wakeUpKeysMax() {
        return commandMode == CommandMode.NATIVE ? 0 : wakeUpKeysMax;
    }

    /**
     * Limits the leases with automatic extension or {@link AcquireOptions#holdAtLeast}, held, kept or being acquired,
     * per event loop. More end as
     * {@link AcquireOutcome.Kind#OVERLOADED}.
     *
     * @param count default 65 536, at least 0
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext autoExtendedLeasesMax(int count) {
        checkOpen();
        autoExtendedLeasesMax = (int) inRange("autoExtendedLeasesMax", count, 0, 1 << 22, "leases");
        return this;
    }

    /**
     * Limits the requests and bytes that wait for one node. Beyond either limit its votes fail at once, so that a slow
     * node costs bounded memory and no time of the others.
     *
     * @param unansweredMax default 65 536 requests, at least 16
     * @param unsentBytes   default 1 MiB of unsent bytes, at least 4096
     * @return this
     * @throws IllegalArgumentException if one is out of range
     */
    public RedlockContext nodeBackPressure(int unansweredMax, int unsentBytes) {
        checkOpen();
        nodeInFlightMax = (int) inRange("unanswered requests per node", unansweredMax, 16, 1 << 24, "requests");
        nodeUnsentBytesMax = (int) inRange("unsent bytes per node", unsentBytes, 4096, 1 << 30, "bytes");
        return this;
    }

    /**
     * Limits the releases that are retained for a node that is unreachable. Beyond it the oldest is discarded, and its
     * key expires.
     *
     * @param count default 65 536, at least 0
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext undeliveredReleasesMax(int count) {
        checkOpen();
        undeliveredReleasesMax = (int) inRange("undeliveredReleasesMax", count, 0, 1 << 22, "releases");
        return this;
    }

    /**
     * Sets the number of event loops that the client runs. A resource always maps to the same one, and each has a
     * connection to every node. More loops give more throughput while cores are free.
     *
     * @param count default 1, up to 64
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext eventLoops(int count) {
        checkOpen();
        eventLoopCount = (int) inRange("event loop count", count, 1, 64, "loops");
        eventLoops = List.of();
        return this;
    }

    /**
     * Runs the client on the user's event loops instead of its own. They must be Netty 4.2 loops of a known transport.
     * The client never shuts them down.
     *
     * @param loops at least one
     * @return this
     * @throws IllegalArgumentException if there is none
     */
    public RedlockContext eventLoops(EventLoop... loops) {
        checkOpen();
        Objects.requireNonNull(loops, "event loops are null: give at least one, or the number of loops to run");
        for (EventLoop loop : loops) {
            Objects.requireNonNull(loop, "an event loop is null: each must be a running Netty 4.2 loop");
        }
        if (loops.length == 0) {
            throw new IllegalArgumentException("no event loop is given: give one, or the number of loops to run");
        }
        eventLoops = List.of(loops);
        eventLoopCount = loops.length;
        return this;
    }

    /**
     * Sets the behaviour of the client's own event loops without work.
     *
     * @param policy default {@link IdlePolicy#BLOCK}
     * @return this
     */
    public RedlockContext idlePolicy(IdlePolicy policy) {
        checkOpen();
        idlePolicy = Objects.requireNonNull(policy, "idle policy is null");
        return this;
    }

    /**
     * Sets the transport of the client's own event loops.
     *
     * @param kind default {@link TransportKind#AUTO}
     * @return this
     */
    public RedlockContext transport(TransportKind kind) {
        checkOpen();
        transport = Objects.requireNonNull(kind, "transport is null");
        return this;
    }

    /**
     * Makes an attempt ask a quorum of nodes first, and the others only if one of these fails, is late, or disagrees.
     * With five nodes a lock takes six commands instead of ten, so the servers need less CPU. The latency is that of
     * the slowest node of the quorum instead of the fastest quorum. All nodes are used in turn. Clients with and
     * without it exclude each other.
     *
     * @param isWanted default false; true needs three nodes or more
     * @return this
     */
    public RedlockContext thriftyQuorums(boolean isWanted) {
        checkOpen();
        isThrifty = isWanted;
        return this;
    }

    /**
     * Sets the commands that locks use: scripts, or cheaper commands if a node has them.
     *
     * @param mode default {@link CommandMode#AUTO}
     * @return this
     */
    public RedlockContext commands(CommandMode mode) {
        checkOpen();
        commandMode = Objects.requireNonNull(mode, "command mode is null");
        return this;
    }

    /**
     * Limits the releases of one turn of the event loop that go to a node as one script call, which costs the node less
     * than a call for each. A node with a conditional delete gets one command for each release instead, which costs it
     * still less. A release that raises a fencing counter is a script on every node.
     *
     * <p>Extensions of plain locks form batches of their own, up to 32, because they take a node longer.
     *
     * @param count default 64, 1 to 64; 1 sends each release and extension alone
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext releaseBatchMax(int count) {
        checkOpen();
        releaseBatchMax = (int) inRange("releaseBatchMax", count, 1, 64, "releases");
        return this;
    }

    /**
     * Sets how many events the flight recorder keeps, per event loop. An event takes 28 bytes, and a lock has at least
     * four events and one for each node.
     *
     * @param count default 4096, up to 2^20, rounded up to a power of two; 0 switches the flight recorder off
     * @return this
     * @throws IllegalArgumentException if it is out of range
     */
    public RedlockContext flightRecorderEvents(int count) {
        checkOpen();
        flightRecorderEvents = (int) inRange("flightRecorderEvents", count, 0, 1 << 20, "events (0 for none)");
        return this;
    }

    /**
     * Sets from which duration an acquisition is reported with the events of its lock. The duration includes all
     * waiting, so use the wait budget and the hold times as a guide.
     *
     * @param threshold default: none, so that no acquisition is reported
     * @return this
     * @throws IllegalArgumentException if it is negative
     */
    public RedlockContext slowAcquireThreshold(Duration threshold) {
        checkOpen();
        slowAcquireNs = Durations.nanosOf("slow acquire threshold", threshold);
        return this;
    }

    /**
     * Sets the receiver of the reports about lost leases and slow acquisitions. A report is a text with up to 40 events
     * of the lock and of the nodes. Each event loop makes at most one report per second; a report has the number of
     * those left out.
     *
     * @param listener called on the event loop, so it must not block; default: the log, at level WARNING
     * @return this
     */
    public RedlockContext flightRecordListener(Consumer<String> listener) {
        checkOpen();
        flightRecordListener = Objects.requireNonNull(listener, "flight record listener is null");
        return this;
    }

    /** Checks the rules that concern several options, and closes the context to changes. */
    ClientConfig conclude() {
        checkOpen();
        if (nodes.isEmpty()) {
            throw new IllegalArgumentException("no nodes are configured: give at least one address");
        }
        checkCredentials();
        checkTls();
        if (nodeTimeoutNs > maxTtlMs * NS_PER_MS) {
            throw new IllegalArgumentException("nodeTimeout " + nodeTimeoutNs / NS_PER_MS
                    + " ms is longer than maxTtl " + maxTtlMs + " ms: no lock could outlive one slow answer");
        }
        LeaseTerms terms = new LeaseTerms(maxTtlMs, nodeTimeoutNs, minValidityNs, fenceCounterTtlMs,
                new Validity(drift, clockSampleMs));
        checkMinValidity(terms);
        if (fenceCounterTtlMs < 10 * maxTtlMs) {
            throw new IllegalArgumentException(
                    "fenceCounterTtl " + fenceCounterTtlMs + " ms is less than ten times maxTtl "
                            + maxTtlMs + " ms: counters must outlive the leases that they number");
        }
        checkPrefix();
        checkNameInValues();
        checkThrifty();
        isConcluded = true;
        return new ClientConfig(allNodes(), majority(), nodeOptions(), terms,
                new Limits(inFlightMax, waitersMax, localHandoffsMax, autoExtendedLeasesMax, wakeUpKeysMax()),
                new LoopOptions(eventLoops, eventLoopCount, idlePolicy, transport), isThrifty, commandMode, retryPolicy,
                keyPrefix, resourceLengthMax, defaultWaitNs, closeTimeoutNs, spinNs, isNameInValues ? clientName : null,
                new TelemetryOptions(flightRecorderEvents, slowAcquireNs, flightRecordListener));
    }

    private void checkCredentials() {
        for (VoterAddress node : allNodes()) {
            if (credentials != null && node.hasPassword()) {
                throw new IllegalArgumentException("node address " + node + " contains a password, and credentials() is"
                        + " set: a node has one source of credentials; remove the password from the address, or do not"
                        + " set credentials()");
            }
        }
    }

    private void checkMinValidity(LeaseTerms terms) {
        long allowanceNs = terms.validity().allowanceNs(maxTtlMs * NS_PER_MS);
        long neededNs = terms.minValidityNs(maxTtlMs, AcquireSpec.UNSET);
        if (neededNs >= maxTtlMs * NS_PER_MS - allowanceNs) {
            throw new IllegalArgumentException("minValidity " + neededNs / 1000 + " us is not below maxTtl "
                    + maxTtlMs + " ms less its clock allowance of " + allowanceNs / 1000
                    + " us: no lock could ever be acquired; lower minValidity, clockSampleInterval or drift, or raise"
                    + " maxTtl");
        }
    }

    private void checkPrefix() {
        int lengthBytes = keyPrefix.getBytes(StandardCharsets.UTF_8).length;
        if (lengthBytes >= resourceLengthMax) {
            throw new IllegalArgumentException(
                    "keyPrefix is " + lengthBytes + " bytes long and resourceLengthMax, which"
                            + " counts it, is " + resourceLengthMax
                            + ": no resource could have a name; shorten keyPrefix or raise"
                            + " resourceLengthMax");
        }
    }

    private void checkNameInValues() {
        if (isNameInValues && (clientName.isEmpty() || clientName.equals(DEFAULT_NAME))) {
            throw new IllegalArgumentException("nameInValues is on and clientName is \"" + clientName
                    + "\": each client needs a name of its own; set clientName, for example to host and process id");
        }
    }

    private void checkThrifty() {
        if (isThrifty && Quorum.sizeOf(nodes.size()) == nodes.size()) {
            throw new IllegalArgumentException("thriftyQuorums is on with " + nodes.size() + " nodes, of which a quorum"
                    + " is all: configure three nodes or more, or turn it off");
        }
    }

    private void checkOpen() {
        if (isConcluded) {
            throw new IllegalStateException("this RedlockContext is concluded, a client uses it: make a new one");
        }
    }

    private static int msInRange(String what, Duration duration, int min, int max) {
        return (int) inRange(what, Durations.millisOf(what, duration), min, max, "ms");
    }

    private static long inRange(String what, long value, long min, long max,
            String unit) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    what + " " + value + " is out of range: " + min + " to " + max + " " + unit + " are allowed");
        }
        return value;
    }

    /**
     * An empty restart of a single node is no different from its first start. A mark is a key, which a cluster moves
     * between its masters.
     */
    private boolean isMarkUsed() {
        return restartGuard == RestartGuardMode.FRESH_GROUP && allNodes().size() > 1
                && allNodes().stream().noneMatch(VoterAddress::isCluster);
    }

    private LoginSource loginSource() {
        CredentialsProvider provider = credentials;
        return provider == null ? null : address -> {
            Credentials given = provider.credentials(address);
            return given == null ? null : given.login();
        };
    }

    private NodeOptions nodeOptions() {
        boolean areProbed = commandMode != CommandMode.SCRIPTS;
        return new NodeOptions(
                new NodeOptions.Timeouts(connectTimeoutMs, handshakeTimeoutMs, unansweredTimeoutMs,
                        reconnectDelayMsMin, reconnectDelayMsMax),
                new NodeOptions.Guards(maxTtlMs, restartGuard, isMarkUsed() ? keyPrefix + MARK_NAME : null, drift,
                        clockSampleMs),
                new NodeOptions.Limits(nodeInFlightMax, nodeUnsentBytesMax, releaseBatchMax, undeliveredReleasesMax),
                new NodeOptions.Commands(areProbed ? keyPrefix + PROBE_NAME : null,
                        areProbed ? keyPrefix + SET_PROBE_NAME : null, keyPrefix + PROBE_NAME, wakeUpKeysMax() > 0,
                        commandMode == CommandMode.NATIVE),
                new NodeOptions.Access(clientName.isEmpty() ? null : clientName, loginSource(), tlsContexts()),
                new NodeOptions.Clusters(clusterNodeTimeoutMs, clusterServers));
    }

    @Override
    public String toString() {
        return "RedlockContext{nodes=" + nodes + (nextNodes.isEmpty() ? "" : ", nextNodes=" + nextNodes) + ", maxTtlMs="
                + maxTtlMs + ", restartGuard=" + restartGuard + "}";
    }
}
