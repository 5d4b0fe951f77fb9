package dev.redlock;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.CommandMode;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TransportKind;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.callback.CallbackExecutor;
import dev.redlock.engine.ClientConfig;
import dev.redlock.engine.watch.TelemetryOptions;
import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.LeaseTerms;
import dev.redlock.node.LoginSource;
import dev.redlock.node.NodeOptions;
import dev.redlock.quorum.Validity;
import dev.redlock.quorum.Quorum;
import dev.redlock.time.Durations;
import dev.redlock.transport.TlsContexts;
import dev.redlock.transport.VoterAddress;
import io.netty.channel.EventLoop;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * The configuration of a client. Set the options that differ from their defaults and pass it to
 * {@link Redlock#connect(RedlockContext)}, which concludes it. A concluded context cannot be changed or used again. A
 * connect that throws leaves it open.
 *
 * <p>Each method that sets an option returns this context. It throws {@link IllegalArgumentException} for a value
 * outside the range that it names, or for a negative duration.
 *
 * <pre>{@code
 * Redlock redlock = Redlock.connect(new RedlockContext().nodes("10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379")
 *         .defaultWait(Duration.ofSeconds(2)));
 * }</pre>
 *
 * @threading caller-confined until it is concluded, immutable from then on
 */
public final class RedlockContext extends LockSettings {

    /** The name behind the prefix of the key on which conditional commands are probed. */
    private static final String PROBE_NAME = "redlock:probe";
    /** The same for other probes. It has the mark of permits, without the rest of their names: no lock has this key. */
    private static final String OWN_NAME = PROBE_NAME + KeyText.PERMIT_MARK;
    /** The name behind the prefix of the key that marks nodes. No resource can have it, like those of counters. */
    private static final String MARK_NAME = "node" + KeyText.COUNTER_MARK + ":run_id";

    private final NodeList nodes = new NodeList();
    private List<EventLoop> eventLoops = List.of();
    private long closeTimeoutNs = 1_000 * NS_PER_MS;
    private long spinNs;
    private int eventLoopCount = 1;
    private IdlePolicy idlePolicy = IdlePolicy.BLOCK;
    private TransportKind transport = TransportKind.AUTO;
    private int flightRecorderEvents = 4096;
    private long slowAcquireNs = Long.MAX_VALUE;
    private Consumer<String> flightRecordListener;
    private Executor callbackExecutor;
    private boolean isMarkWritten = true;
    private final AtomicBoolean isConcluded = new AtomicBoolean();

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
     *                  votes. A primary that Sentinels watch is one node: {@code
     *                  redis-sentinel://[user:password@]host[:port][,host...]/name}, or {@code rediss-sentinel://} for
     *                  TLS to Sentinels and servers; user and password are those of the servers. If a list of the
     *                  configuration was split at its commas, its parts become one address again. Special characters
     *                  of user and password are percent-encoded: {@code %40} for an at sign, {@code %2F} for a slash,
     *                  {@code %23} for a hash.
     * @throws IllegalArgumentException if an address is malformed or given twice, or there are too many
     */
    public RedlockContext nodes(String... addresses) {
        return with(() -> NodeList.addAll(addresses, nodes.present));
    }

    /**
     * Adds the nodes of the list that replaces the present one, all of them, also those that stay. With both lists, a
     * lock needs a majority of each, so clients that know only one of the lists exclude it. To change the list while
     * clients run:
     * <ol>
     * <li>Start all clients again with {@code nodes} and {@code nextNodes}, in any order and over any time.
     * <li>When no client with the old list alone is left, wait {@link #maxTtl maxTtl} and the allowed drift.
     * <li>Start all clients again with the next list as {@code nodes}.
     * </ol>
     *
     * <p>A new node votes when it has been up for {@code maxTtl}, so start it before.
     *
     * @param addresses as for {@link #nodes}; a node that stays has the address that it has there, with the same TLS,
     *                  user and password
     * @throws IllegalArgumentException if an address is malformed or given twice, or there are too many
     */
    public RedlockContext nextNodes(String... addresses) {
        return with(() -> NodeList.addAll(addresses, nodes.next));
    }

    /** @return whether the context has nodes, for code that adds its own to a context without */
    public boolean hasNodes() {
        return !nodes.present.isEmpty();
    }

    /** @return whether a provider of credentials is set, for code that sets its own in a context without */
    public boolean hasCredentials() {
        return credentials != null;
    }

    /** @return whether {@link #closeWaits} is set, also to false, for code that sets its own in a context without */
    public boolean hasCloseWaits() {
        return closeWaits != null;
    }

    /** The TLS of the nodes that use it; null if none does. */
    private TlsContexts tlsContexts() {
        if (nodes.all().stream().noneMatch(VoterAddress::isTls)) {
            return null;
        }
        return new TlsContexts((tls == null ? TlsOptions.defaults() : tls).spec());
    }

    private void checkTls() {
        if (tls != null && nodes.all().stream().noneMatch(VoterAddress::isTls)) {
            throw new IllegalArgumentException("TLS options are set and no node address asks for TLS: write "
                    + nodes.present.get(0)
                            .toString()
                            .replaceFirst("^unix:.*", "host:port")
                            .replaceFirst("^redis-|^", "rediss://")
                            .replaceFirst("^rediss://(cluster|sentinel)://", "rediss-$1://")
                    + ", or remove tls(...)");
        }
    }

    /**
     * Sets the time that {@link Redlock#close Redlock.close} may take to release the held leases.
     *
     * @param timeout default 1 s, zero or more
     */
    public RedlockContext closeTimeout(Duration timeout) {
        return with(() -> closeTimeoutNs = Durations.nanosOf("close timeout", timeout));
    }

    /**
     * Sets the time that a blocking call spins for its answer before it parks its thread. Spinning saves the wake-up of
     * about 10 us and costs CPU: use it only if a core is free.
     *
     * @param spin default zero; at most 10 ms
     */
    public RedlockContext blockingSpin(Duration spin) {
        return with(() -> spinNs = inRange("blocking spin", Durations.nanosOf("blocking spin", spin), 0, 10 * NS_PER_MS,
                "ns"));
    }

    /**
     * Sets the number of event loops that the client runs. A resource always maps to the same one, and each has a
     * connection to every node. More loops give more throughput while cores are free.
     *
     * @param count default 1, up to 64
     */
    public RedlockContext eventLoops(int count) {
        checkOpen();
        eventLoopCount = (int) inRange("event loop count", count, 1, 64, "loops");
        eventLoops = List.of();
        return this;
    }

    /**
     * Runs the client on the user's event loops instead of its own. They must be Netty 4.2 loops of a known transport,
     * and accept any number of tasks, as they do by default: a loop that rejects one counts as ended.
     * The client reads their clock, {@link EventLoop#ticker()}, and never shuts them down.
     *
     * @param loops at least one
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
        return this;
    }

    /**
     * Sets the behaviour of the client's own event loops without work.
     *
     * @param policy default {@link IdlePolicy#BLOCK}
     */
    public RedlockContext idlePolicy(IdlePolicy policy) {
        return with(() -> idlePolicy = Objects.requireNonNull(policy, "idle policy is null"));
    }

    /**
     * Sets the transport of the client's own event loops.
     *
     * @param kind default {@link TransportKind#AUTO}
     */
    public RedlockContext transport(TransportKind kind) {
        return with(() -> transport = Objects.requireNonNull(kind, "transport is null"));
    }

    /**
     * Sets the executor of the functions that may take time: those that depend on completion stages, the tasks of
     * {@link Redlock#runAsync Redlock.runAsync}, listeners, and the functions of an {@link Election}. The listener of
     * one lease hears of its events in order, one at a time. {@link dev.redlock.api.AcquireCallback}, its siblings for
     * release and extension, and retry policies stay on the event loop.
     *
     * <p>The executor has to accept a function without waiting, and to run each one. If it rejects one, or was shut
     * down with functions in its queue, threads of the client run them. A loss that waits for a second or two runs on
     * another thread, also without an executor: threads that are all blocked do not hide it. At most 16 such threads
     * start each second. So does a function of an election that waits in the executor: its candidate would hold the
     * lock without leading. Size the executor with one thread for each election that leads inside its function.
     *
     * @param executor default: daemon threads of the client, up to 16 for stages and as many for listeners, that start
     *                 when they are needed, and one for each function of an election that blocks; with
     *                 {@link #eventLoops(EventLoop...)}, the event loop. {@code Runnable::run} means the event loop
     *                 too, which saves the change of the thread: then no function may block
     */
    public RedlockContext callbackExecutor(Executor executor) {
        return with(() -> callbackExecutor = Objects.requireNonNull(executor, "callback executor is null"));
    }

    /**
     * Sets how many events the flight recorder keeps, per event loop. An event takes 28 bytes, and a lock has at least
     * four events and one for each node. A report reads the last 4096 only.
     *
     * @param count default 4096, up to 2^20, rounded up to a power of two; 0 switches the flight recorder off
     */
    public RedlockContext flightRecorderEvents(int count) {
        return with(() -> flightRecorderEvents = (int) inRange("flightRecorderEvents", count, 0, 1 << 20,
                "events (0 for none)"));
    }

    /**
     * Sets from which duration an acquisition is reported with the events of its lock. The duration includes all
     * waiting, so use the wait budget and the hold times as a guide.
     *
     * @param threshold default: none, so that no acquisition is reported
     */
    public RedlockContext slowAcquireThreshold(Duration threshold) {
        return with(() -> slowAcquireNs = Durations.nanosOf("slow acquire threshold", threshold));
    }

    /**
     * Sets the receiver of the reports about lost leases and slow acquisitions. A report is a text with up to 40 events
     * of the lock and of the nodes. Each event loop makes at most one report per second; a report has the number of
     * those left out.
     *
     * @param listener run by the {@link #callbackExecutor}; default: the log, at level WARNING
     */
    public RedlockContext flightRecordListener(Consumer<String> listener) {
        return with(() -> flightRecordListener = Objects.requireNonNull(listener, "flight record listener is null"));
    }

    /**
     * Makes a client for diagnosis, which reads the marks of the restart guard and writes none. Other clients trust a
     * mark, and a program for operators may not have their {@link #maxTtl maxTtl}. The locks of such a client must
     * protect nothing: it votes as if its marks were written.
     */
    RedlockContext withoutMarks() {
        checkOpen();
        isMarkWritten = false;
        return this;
    }

    /** Checks the rules that concern several options, and closes the context to changes. */
    ClientConfig conclude() {
        checkOpen();
        if (nodes.present.isEmpty()) {
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
            throw new IllegalArgumentException("fenceCounterTtl " + fenceCounterTtlMs + " ms is less than ten times"
                    + " maxTtl " + maxTtlMs + " ms: counters must outlive the leases that they number");
        }
        checkPrefix();
        checkNameInValues();
        checkThrifty();
        CallbackExecutor callbacks = new CallbackExecutor(callbackExecutor, !eventLoops.isEmpty());
        ClientConfig config = new ClientConfig(
                new ClientConfig.Nodes(nodes.all(), nodes.majority(), nodeOptions(terms)),
                new ClientConfig.Names(keyPrefix, resourceLengthMax, isNameInValues ? clientName : null), terms,
                new ClientConfig.Attempts(isThrifty, commandMode, retryPolicy, defaultWaitNs, spinNs,
                        Boolean.TRUE.equals(closeWaits)),
                new ClientConfig.Limits(inFlightMax, waitersMax, localHandoffsMax, autoExtendedLeasesMax,
                        wakeUpKeysMax(), retainedLeasesMax),
                new ClientConfig.Loops(eventLoops, new ClientConfig.OwnLoops(eventLoopCount, idlePolicy, transport),
                        closeTimeoutNs, callbacks,
                        new TelemetryOptions(flightRecorderEvents, slowAcquireNs, flightRecordListener)));
        if (isConcluded.getAndSet(true)) {
            throw concluded();
        }
        return config;
    }

    /** The caller of {@link #conclude} could not create its client. */
    void reopen() {
        isConcluded.set(false);
    }

    private static IllegalStateException concluded() {
        return new IllegalStateException("this RedlockContext is concluded, a client uses it: make a new one");
    }

    private void checkCredentials() {
        for (VoterAddress node : nodes.all()) {
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
            throw new IllegalArgumentException("minValidity " + neededNs / 1000 + " us is not below maxTtl " + maxTtlMs
                    + " ms less its clock allowance of " + allowanceNs / 1000 + " us: no lock could ever be acquired;"
                    + " lower minValidity, clockSampleInterval or drift, or raise maxTtl");
        }
    }

    private void checkPrefix() {
        int lengthBytes = keyPrefix.getBytes(StandardCharsets.UTF_8).length;
        if (lengthBytes >= resourceLengthMax) {
            throw new IllegalArgumentException("keyPrefix is " + lengthBytes + " bytes long and resourceLengthMax,"
                    + " which counts it, is " + resourceLengthMax + ": no resource could have a name; shorten keyPrefix"
                    + " or raise resourceLengthMax");
        }
    }

    private void checkNameInValues() {
        if (isNameInValues && (clientName.isEmpty() || clientName.equals(DEFAULT_NAME))) {
            throw new IllegalArgumentException("nameInValues is on and clientName is \"" + clientName
                    + "\": each client needs a name of its own; set clientName, for example to host and process id");
        }
    }

    private void checkThrifty() {
        if (isThrifty && Quorum.sizeOf(nodes.present.size()) == nodes.present.size()) {
            throw new IllegalArgumentException("thriftyQuorums is on with " + nodes.present.size() + " nodes, of which"
                    + " a quorum is all: configure three nodes or more, or turn it off");
        }
    }

    @Override
    RedlockContext self() {
        return this;
    }

    @Override
    void checkOpen() {
        if (isConcluded.get()) {
            throw concluded();
        }
    }

    /** A mark is a key, which a cluster moves between its masters. */
    private boolean isMarkUsed() {
        return restartGuard == RestartGuardMode.FRESH_GROUP && nodes.all().stream().noneMatch(VoterAddress::isCluster);
    }

    private static LoginSource loginSource(CredentialsProvider provider) {
        return provider == null ? null : address -> {
            Credentials given = provider.credentials(address);
            return given == null ? null : given.login;
        };
    }

    private NodeOptions nodeOptions(LeaseTerms terms) {
        boolean areProbed = commandMode != CommandMode.SCRIPTS;
        return new NodeOptions(
                new NodeOptions.Timeouts(terms.nodeTimeoutNs(maxTtlMs), connectTimeoutMs, handshakeTimeoutMs,
                        unansweredTimeoutMs,
                        reconnectDelayMsMin, reconnectDelayMsMax),
                new NodeOptions.Guards(maxTtlMs, restartGuard,
                        isMarkUsed() ? new NodeOptions.Mark(keyPrefix + MARK_NAME, isMarkWritten) : null, drift,
                        clockSampleMs, replicasMaxLagMs),
                new NodeOptions.Limits(nodeInFlightMax, nodeUnsentBytesMax, releaseBatchMax, undeliveredReleasesMax),
                new NodeOptions.Commands(areProbed ? keyPrefix + PROBE_NAME : null, keyPrefix + OWN_NAME,
                        wakeUpKeysMax() > 0, commandMode == CommandMode.NATIVE),
                new NodeOptions.Access(clientName.isEmpty() ? null : clientName, loginSource(credentials),
                        loginSource(sentinelCredentials), tlsContexts()),
                new NodeOptions.Clusters(clusterNodeTimeoutMs, clusterServers));
    }

    @Override
    public String toString() {
        return "RedlockContext{nodes=" + nodes.present + (nodes.next.isEmpty() ? "" : ", nextNodes=" + nodes.next)
                + ", maxTtlMs=" + maxTtlMs
                + ", restartGuard=" + restartGuard + "}";
    }
}
