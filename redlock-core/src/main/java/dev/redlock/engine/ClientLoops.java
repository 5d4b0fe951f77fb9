package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.TransportKind;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.engine.watch.FlightRecord;
import dev.redlock.node.NodeView;
import dev.redlock.node.Voter;
import dev.redlock.node.send.NodeCounter;
import dev.redlock.node.send.WaiterName;
import dev.redlock.quorum.SeedSource;
import dev.redlock.quorum.TokenStream;
import dev.redlock.telemetry.AcquireTimesReader;
import dev.redlock.telemetry.GroupRecorder;
import dev.redlock.telemetry.GroupTable;
import dev.redlock.telemetry.Log;
import dev.redlock.time.NanoClock;
import dev.redlock.transport.IoTransport;
import dev.redlock.transport.NettyTransport;
import dev.redlock.transport.NettyVersion;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.TlsContexts;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Ticker;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The event loops of a client, with a conductor each: it creates them, connects them, sums what they show, and closes
 * them.
 *
 * @threading any thread
 */
public final class ClientLoops {

    /** A message that names all nodes shows so much of the problem of each. */
    private static final int PROBLEM_LENGTH_MAX = 200;
    private static final long UNKNOWN_NS = Long.MAX_VALUE;

    final ClientConfig config;
    final Conductor[] conductors;
    private final List<EventLoopRunner> ownThreads;
    private final String transportDescription;
    /** Null on given loops, which their owner may run or stop at will. */
    private final StallWatch stallWatch;
    private final GroupTable groups;
    private final AtomicReference<CompletableFuture<CloseReport>> closing = new AtomicReference<>();

    ClientLoops(ClientConfig config, Conductor[] conductors, List<EventLoopRunner> ownThreads,
            String transportDescription) {
        this.config = config;
        this.conductors = conductors;
        this.ownThreads = ownThreads;
        this.transportDescription = transportDescription;
        this.groups = new GroupTable(conductors.length, AcquireOutcome.Kind.values().length, conductors[0].clock());
        for (int i = 0; i < conductors.length; i++) {
            conductors[i].quorumWatch.shareWith(conductors[0].quorumWatch);
            conductors[i].services.telemetry.rare.shareGroups(groups, i);
        }
        this.stallWatch = ownThreads.isEmpty() ? null : StallWatch.start(ownThreads);
    }

    /**
     * Creates the client's own loops, or takes the given ones. They do not connect yet.
     *
     * @throws IllegalArgumentException if the configured transport is not available
     * @throws IllegalStateException    if Netty is too old
     */
    public static ClientLoops create(ClientConfig config) {
        NettyVersion.check();
        warnIfAnyHostNameIsAccepted(config);
        return config.loops().given().isEmpty() ? onOwnLoops(config) : onGivenLoops(config);
    }

    private static void warnIfAnyHostNameIsAccepted(ClientConfig config) {
        TlsContexts tls = config.nodes().options().access().tls();
        if (tls != null && !tls.areHostNamesVerified()) {
            Log.log(System.Logger.Level.WARNING, "TLS does not verify the host names of nodes, as configured by"
                    + " TlsOptions.acceptAnyHostName: a holder of any trusted certificate can act as a node");
        }
    }

    private static ClientLoops onOwnLoops(ClientConfig config) {
        NettyTransport.Choice choice = chooseTransport(config.loops().own().transport(),
                unixSocketOf(config) != null);
        return onOwnLoops(config, Collections.nCopies(config.loops().own().count(), choice.transport()),
                choice.description());
    }

    /** The first address that is a Unix socket; null if there is none. */
    private static NodeAddress unixSocketOf(ClientConfig config) {
        return config.nodes()
                .addresses()
                .stream()
                .flatMap(voter -> voter.servers().stream())
                .filter(NodeAddress::isUnixSocket)
                .findFirst()
                .orElse(null);
    }

    /** Creates loops over given transports. If one cannot be created, those before it end. */
    public static ClientLoops onOwnLoops(ClientConfig config, List<? extends IoTransport> transports,
            String description) {
        Conductor[] conductors = new Conductor[transports.size()];
        List<EventLoopRunner> threads = new ArrayList<>();
        try {
            for (int i = 0; i < conductors.length; i++) {
                IoTransport transport = transports.get(i);
                EventLoopRunner thread = EventLoopRunner.start(transport.newIoHandlerFactory(),
                        config.loops().own().idlePolicy(), "redlock-" + i);
                threads.add(thread);
                conductors[i] = newConductor(config, thread.loop(), transport);
            }
            return new ClientLoops(config, conductors, threads, description);
        } catch (Throwable e) {
            // Their conductors have no connection and no buffer yet.
            threads.forEach(EventLoopRunner::shutDown);
            throw e;
        }
    }

    private static ClientLoops onGivenLoops(ClientConfig config) {
        List<EventLoop> loops = config.loops().given();
        checkUnixSockets(unixSocketOf(config), loops);
        String description = NettyTransport.of(loops.get(0)).description() + " of the given event loops";
        Conductor[] conductors = new Conductor[loops.size()];
        for (int i = 0; i < conductors.length; i++) {
            conductors[i] = newConductor(config, loops.get(i), NettyTransport.of(loops.get(i)));
        }
        return new ClientLoops(config, conductors, List.of(), description);
    }

    private static void checkUnixSockets(NodeAddress needing, List<EventLoop> loops) {
        for (int i = 0; needing != null && i < loops.size(); i++) {
            NettyTransport transport = NettyTransport.of(loops.get(i));
            if (transport.refusal(true) != null) {
                throw new IllegalArgumentException("event loop " + (i + 1) + " of " + loops.size() + " runs "
                        + transport + ", which has no Unix sockets, and " + needing
                        + " needs them: give loops of epoll or kqueue");
            }
        }
    }

    private static NettyTransport.Choice chooseTransport(TransportKind kind, boolean needsUnixSockets) {
        if (kind == TransportKind.AUTO) {
            NettyTransport.Choice best = NettyTransport.best(needsUnixSockets);
            if (best.warning() != null) {
                Log.log(System.Logger.Level.WARNING, "{0}", best.warning());
            }
            return best;
        }
        NettyTransport transport = NettyTransport.valueOf(kind.name());
        String refusal = transport.refusal(needsUnixSockets);
        if (refusal != null) {
            throw new IllegalArgumentException("transport " + kind + " cannot be used here: " + refusal
                    + "; use AUTO or another transport");
        }
        return new NettyTransport.Choice(transport, transport + " as configured", null);
    }

    /**
     * Creates a conductor on a thread that ends: classes of Netty leave objects in the locals of the thread that
     * initializes them. In those of the caller, they would keep the class loader of the client after its end.
     */
    private static Conductor newConductor(ClientConfig config, EventLoop loop, IoTransport transport) {
        FutureTask<Conductor> task = new FutureTask<>(() -> createConductor(config, loop, transport));
        transport.newThread("redlock-start", task).start();
        boolean wasInterrupted = false;
        try {
            while (true) {
                try {
                    return task.get();
                } catch (InterruptedException e) {
                    wasInterrupted = true;
                }
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) e.getCause();
        } finally {
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static Conductor createConductor(ClientConfig config, EventLoop loop, IoTransport transport) {
        // Loops of the user may have a clock of their own, by which their timers run.
        Ticker own = loop.ticker();
        NanoClock clock = own == Ticker.systemTicker() ? NanoClock.system() : own::nanoTime;
        SeedSource seeds = SeedSource.system();
        TokenStream tokens = new TokenStream(seeds, System::currentTimeMillis, clock.nanoTime());
        byte[] name = new byte[WaiterName.LENGTH];
        seeds.fill(name);
        return Conductor.create(config, new LoopSetup(loop, transport, clock, tokens, new WaiterName(name),
                new SplittableRandom(new SecureRandom().nextLong())));
    }

    /** Starts to connect; completes after the first reply or failure of each node. */
    CompletableFuture<Void> start() {
        CompletableFuture<?>[] settled = new CompletableFuture<?>[conductors.length];
        for (int i = 0; i < conductors.length; i++) {
            settled[i] = conductors[i].start();
        }
        return CompletableFuture.allOf(settled);
    }

    /** Waits for the end of {@link #start}, at most the connect timeout. */
    void awaitSettled(CompletableFuture<Void> settled) {
        try {
            settled.get(config.nodes().options().timeouts().connectTimeoutMs(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException e) {
            Log.log(System.Logger.Level.DEBUG, "some nodes have not replied within the connect timeout: {0}", nodes());
        }
    }

    // ---- what they show ---------------------------------------------------------------------------------------------

    /** @return the nodes in configured order, once for each event loop; the masters of a cluster as known now */
    public List<NodeView> nodes() {
        List<NodeView> nodes = new ArrayList<>();
        for (Conductor conductor : conductors) {
            for (Voter voter : conductor.services.voters) {
                Collections.addAll(nodes, voter.views());
            }
        }
        return nodes;
    }

    /**
     * The present problem of a node, of its first event loop that has one; null if there is none. Of the masters of a
     * cluster, one that does not vote comes first. Any thread.
     */
    String problemOf(int nodeIndex) {
        String found = null;
        for (Conductor conductor : conductors) {
            for (NodeView view : conductor.services.voters[nodeIndex].views()) {
                String problem = view.problem();
                if (problem != null && !view.isVoting()) {
                    return shortened(problem);
                }
                found = found == null ? problem : found;
            }
        }
        return found == null ? null : shortened(found);
    }

    private static String shortened(String problem) {
        return problem.length() <= PROBLEM_LENGTH_MAX ? problem : problem.substring(0, PROBLEM_LENGTH_MAX) + "...";
    }

    /** The time until each node votes, the longest of its event loops; 0 if it does, {@link #UNKNOWN_NS} if unknown. */
    private long[] untilVoteNs() {
        long[] leftNs = new long[config.nodes().addresses().size()];
        for (NodeView node : nodes()) {
            leftNs[node.index()] = Math.max(leftNs[node.index()], untilVoteNs(node));
        }
        return leftNs;
    }

    /** Nobody knows when a node votes that is down, or whose quarantine an event ends. */
    private static long untilVoteNs(NodeView node) {
        long leftNs = node.quarantineLeftNs();
        return leftNs == 0 && !node.isVoting() ? UNKNOWN_NS : leftNs;
    }

    /** Advice if a quorum was out of reach because of a number of nodes in quarantine; null if no time is known. */
    String quarantineAdvice(int count) {
        long[] leftNs = untilVoteNs();
        long quorumNs = quorumAfterNs(leftNs);
        if (quorumNs == UNKNOWN_NS) {
            return null;
        }
        return "too few nodes vote: " + count + " of " + leftNs.length + " were in quarantine, and "
                + (quorumNs == 0
                        ? "a quorum may vote now: try again"
                        : "a quorum may vote in "
                                + millisOf(quorumNs) + " ms: wait for longer, or see RedlockContext.restartGuard");
    }

    /** The shortest of these times after which a quorum votes. */
    private long quorumAfterNs(long[] leftNs) {
        return Arrays.stream(leftNs)
                .filter(ns -> ns < UNKNOWN_NS && config.nodes().majority().isReachedBy(maskOf(leftNs, ns)))
                .min()
                .orElse(UNKNOWN_NS);
    }

    /** The nodes that vote after a time. */
    private static long maskOf(long[] leftNs, long ns) {
        long mask = 0;
        for (int i = 0; i < leftNs.length; i++) {
            mask |= leftNs[i] <= ns ? 1L << i : 0;
        }
        return mask;
    }

    /** Rounded up: after so many milliseconds the time is over. */
    private static long millisOf(long ns) {
        return (ns + NS_PER_MS - 1) / NS_PER_MS;
    }

    /** @return whether a quorum of the nodes votes now, for each event loop; allocates nothing */
    public boolean isQuorumAvailable() {
        for (Conductor conductor : conductors) {
            if (!conductor.quorumWatch.nodes.areQuorum()) {
                return false;
            }
        }
        return true;
    }

    /** @return the least further failures of nodes after which a quorum votes; negative without one */
    public int toleratedFailureCount() {
        int least = Integer.MAX_VALUE;
        for (Conductor conductor : conductors) {
            least = Math.min(least, conductor.quorumWatch.nodes.spare());
        }
        return least;
    }

    /** @return whether a node does not vote now, for an event loop; allocates nothing */
    public boolean isDegraded() {
        for (Conductor conductor : conductors) {
            if (conductor.quorumWatch.nodes.missing() != 0) {
                return true;
            }
        }
        return false;
    }

    /**
     * Sums a counter over the event loops.
     *
     * @param counter its index in {@link ConductorCounters}
     */
    public long count(int counter) {
        long sum = 0;
        for (Conductor conductor : conductors) {
            sum += conductor.services.counters.read(counter);
        }
        return sum;
    }

    /** The sum of a count of one node over the event loops. */
    public long count(int nodeIndex, NodeCounter counter) {
        long sum = 0;
        for (Conductor conductor : conductors) {
            sum += conductor.services.voters[nodeIndex].count(counter);
        }
        return sum;
    }

    /** The highest count of an event loop. */
    public long highestCount(int counter) {
        long highest = 0;
        for (Conductor conductor : conductors) {
            highest = Math.max(highest, conductor.services.counters.read(counter));
        }
        return highest;
    }

    /**
     * Starts to record acquire times on every event loop, unless they are recorded already.
     *
     * @return reads them, without a reference to the client; its percentiles start now
     */
    public AcquireTimesReader startAcquireTimes() {
        return new AcquireTimesReader(Arrays.stream(conductors)
                .map(conductor -> conductor.services.telemetry.rare.startAcquireTimes())
                .toList(), AcquireOutcome.Kind.values().length, conductors[0].clock());
    }

    /** @return the groups of the client's acquisitions so far, by name */
    public List<GroupRecorder> groups() {
        return groups.all();
    }

    /** The acquisitions that got a retained lock. */
    public long localGrantCount() {
        return Arrays.stream(conductors).mapToLong(conductor -> conductor.keeper.retention.grantCount()).sum();
    }

    /** @return the transport in use, and why better ones were rejected; one line */
    public String transportDescription() {
        return transportDescription;
    }

    /** @return the events of the flight recorder as text: a part for each event loop */
    public String flightRecord() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < conductors.length; i++) {
            FlightRecord flightRecord = conductors[i].services.telemetry.rare.flightRecord();
            if (flightRecord != null) {
                flightRecord.appendTo(text, i);
            }
        }
        return text.toString();
    }

    // ---- closing ----------------------------------------------------------------------------------------------------

    /** @return true from the start of the close on */
    public boolean isClosing() {
        return closing.get() != null;
    }

    /**
     * Starts to close every conductor, once; the client's own loops end after the report.
     *
     * <p>If a given event loop throws, the others close, and a later call tries again.
     */
    public CompletableFuture<CloseReport> close(long timeoutNs) {
        CompletableFuture<CloseReport> report = new CompletableFuture<>();
        CompletableFuture<CloseReport> before = closing.compareAndExchange(null, report);
        if (before != null) {
            return before;
        }
        List<CompletableFuture<CloseReport>> parts = new ArrayList<>();
        try {
            startAll(timeoutNs, parts);
        } catch (Throwable e) {
            closing.set(null);
            report.completeExceptionally(e);
            throw e;
        }
        CompletableFuture.allOf(parts.toArray(new CompletableFuture<?>[0]))
                .thenRun(() -> report.complete(sumOf(parts)));
        report.thenRun(this::endThreads);
        return report;
    }

    private void startAll(long timeoutNs, List<CompletableFuture<CloseReport>> parts) {
        Throwable thrown = null;
        for (Conductor conductor : conductors) {
            CompletableFuture<CloseReport> part = new CompletableFuture<>();
            parts.add(part);
            try {
                conductor.shutdown.start(timeoutNs, part);
            } catch (Throwable e) {
                thrown = e;
            }
        }
        if (thrown instanceof Error error) {
            throw error;
        }
        if (thrown != null) {
            throw new IllegalStateException("a given event loop threw when the client started to close there: close the"
                    + " client again", thrown);
        }
    }

    private void endThreads() {
        config.loops().callbacks().close();
        if (stallWatch != null) {
            stallWatch.close();
        }
        ownThreads.forEach(thread -> thread.loop().shutdownGracefully(0, 1, TimeUnit.SECONDS));
    }

    /**
     * Blocks until the report, and until the client's own loops have ended.
     *
     * @param report from {@link #close}
     */
    public CloseReport awaitClosed(CompletableFuture<CloseReport> report) {
        CloseReport result = report.join();
        ownThreads.forEach(EventLoopRunner::shutDown);
        return result;
    }

    private static CloseReport sumOf(List<CompletableFuture<CloseReport>> parts) {
        try {
            List<CloseReport> reports = parts.stream().map(CompletableFuture::join).toList();
            return new CloseReport(reports.stream().mapToInt(CloseReport::releasedCount).sum(),
                    reports.stream().flatMap(one -> one.unreleased().stream()).toList());
        } catch (Throwable e) {
            Log.error("the report of a close threw; it shows no resources", e);
            return Shutdown.UNKNOWN;
        }
    }
}
