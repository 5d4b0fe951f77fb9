package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.NodeState;
import dev.redlock.node.guard.Quarantine;
import dev.redlock.node.send.NodeCounter;
import dev.redlock.node.send.NodeHealth;
import dev.redlock.node.send.NodeStatistics;
import dev.redlock.resp.SafeText;
import dev.redlock.time.NanoClock;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.VoterAddress;
import java.lang.System.Logger.Level;
import java.util.Objects;

/**
 * The visible part of one node: state, problem, counters. The event loop writes it, any thread reads it. A change of
 * the state or of the problem is reported to the {@link NodeListener}.
 *
 * @threading any thread for public methods; the others are event-loop-confined
 */
public final class NodeView {

    private static final int PROBLEM_LENGTH_MAX = 1_000;

    final NodeStatistics statistics;
    final NodePlace place;
    private final NanoClock clock;
    private final NodeListener listener;
    private final NodeDistance distance;
    private final ProblemLog problemLog = new ProblemLog();
    /** Null unless the voter is a cluster. */
    private final LogLimit logLimit;
    private long problemSinceNs;
    private volatile NodeState state = NodeState.WAITING;
    private volatile String problem;
    private volatile String refreshProblem;
    private volatile String identityProblem;
    private volatile String failoverProblem;
    private volatile String evictionProblem;
    private volatile String mapProblem;
    /** Whether its cluster has sent no usable map yet, so that it gets no commands of locks. */
    private volatile boolean isWithoutMap;
    private volatile long roundTripNs;
    volatile String wakeUpProblem = "not connected";
    private volatile String tlsDescription;
    /** Why the node does not vote although it is connected; null unless it was reported. */
    private volatile Quarantine quarantine;

    NodeView(int index, VoterAddress address, NodeContext context, LogLimit logLimit) {
        this.statistics = new NodeStatistics(index);
        this.place = new NodePlace(address);
        this.clock = context.clock();
        this.listener = context.listener();
        this.distance = new NodeDistance(context.options().timeouts().nodeTimeoutNsMax());
        this.logLimit = logLimit;
    }

    // ---- any thread -------------------------------------------------------------------------------------------------

    /** @return the node's place in configured order */
    public int index() {
        return statistics.index();
    }

    /** @return the address of the server: of a node behind Sentinels, the one that they named last, or null */
    public NodeAddress address() {
        return place.server;
    }

    /** @return the configured address, without user and password */
    public String name() {
        return place.toString();
    }

    /** @return the node's state */
    public NodeState state() {
        return state;
    }

    /** @return the node's problem, one sentence; null if there is none */
    public String problem() {
        Quarantine current = quarantine;
        String shown = current == null ? problem : textOf(current);
        shown = shown == null ? statistics.health().problem() : shown;
        shown = shown == null ? distance.problem() : shown;
        shown = shown == null ? mapProblem : shown;
        shown = shown == null ? identityProblem : shown;
        shown = shown == null ? refreshProblem : shown;
        shown = shown == null ? place.problem : shown;
        shown = shown == null ? failoverProblem : shown;
        return shown == null ? evictionProblem : shown;
    }

    /** @return the first word of the errors that the node replies to lock commands; null while the commands work */
    public String failingCode() {
        NodeHealth.Failing failing = statistics.health().failing();
        return failing == null ? null : failing.errorCode();
    }

    /** @return nanoseconds since the first of those errors, 0 if there are none */
    public long failingNs() {
        NodeHealth.Failing failing = statistics.health().failing();
        return failing == null ? 0 : clock.nanoTime() - failing.sinceNs();
    }

    /** @return whether the node may vote, in time, and does not answer acquires or releases with errors */
    public boolean isVoting() {
        return state == NodeState.READY && !isWithoutMap && !statistics.health().isVoteFailing()
                && distance.problem() == null;
    }

    /** @return whether the node has one vote together with another one */
    public boolean hasSharedIdentity() {
        return identityProblem != null;
    }

    /** @return nanoseconds of the last clock sample's round trip, 0 before the first */
    public long roundTripNs() {
        return roundTripNs;
    }

    /** @return why the node does not wake waiters, a phrase; null if it does */
    public String wakeUpProblem() {
        return wakeUpProblem;
    }

    /** @return the TLS of the connection, one line; null without TLS or connection */
    public String tlsDescription() {
        return tlsDescription;
    }

    /** @return nanoseconds until the quarantine ends that keeps the node from voting; 0 if there is none */
    public long quarantineLeftNs() {
        Quarantine current = quarantine;
        return current == null ? 0 : current.leftNs(clock.nanoTime());
    }

    /** A recent count; allocates nothing. */
    public long count(NodeCounter counter) {
        return statistics.counters().read(counter.ordinal());
    }

    // ---- event loop -------------------------------------------------------------------------------------------------

    void setState(NodeState newState) {
        if (state != newState) {
            if (newState != NodeState.QUARANTINED) {
                quarantine = null;
            }
            NodeState before = state;
            state = newState;
            listener.onStateChange(this, before, newState);
        }
    }

    /** The node has replied to a clock sample. */
    void setRoundTrip(long ns) {
        roundTripNs = ns;
        if (distance.onSample(ns, clock.nanoTime())) {
            String text = distance.problem();
            log(text == null ? Level.INFO : Level.WARNING, text == null ? "the node replies in time again" : text);
            listener.onHealthChange(this);
        }
    }

    /** Shows and logs that a live connection could not authenticate again; null if the connection has ended. */
    void setRefreshProblem(String text) {
        refreshProblem = text == null ? null : SafeText.of(text, PROBLEM_LENGTH_MAX);
        if (text != null) {
            log(Level.WARNING, refreshProblem);
        }
    }

    /** Shows and logs that another node has the same identity; null if none has. */
    void setIdentityProblem(String text) {
        String before = identityProblem;
        identityProblem = text == null ? null : SafeText.of(text, PROBLEM_LENGTH_MAX);
        if (!Objects.equals(before, identityProblem)) {
            log(text == null ? Level.INFO : Level.WARNING,
                    text == null ? "no other node has its identity any more" : identityProblem);
        }
    }

    /** Shows and logs that nothing bounds a failover of the node; null if something does. */
    void setFailoverProblem(String text) {
        String before = failoverProblem;
        failoverProblem = text;
        if (text != null && !text.equals(before)) {
            log(Level.WARNING, text);
        }
    }

    /**
     * The server is one of a cluster.
     *
     * @param isKnown    whether the cluster has sent a usable map
     * @param newProblem why the last map cannot be used, or what it lacks; null if nothing
     */
    public void setMap(boolean isKnown, String newProblem) {
        isWithoutMap = !isKnown;
        mapProblem = newProblem == null ? null : SafeText.of(newProblem, PROBLEM_LENGTH_MAX);
    }

    /** Shows and logs that no Sentinel names the server; null if one does. */
    void setDirectoryProblem(String text) {
        String before = place.problem;
        place.problem = text == null ? null : SafeText.of(text, PROBLEM_LENGTH_MAX);
        if (before == null && text != null) {
            log(Level.WARNING, place.problem);
        } else if (before != null && text == null) {
            log(Level.INFO, "a Sentinel names the primary again");
        }
    }

    /** Shows and logs that the server may evict locks; null if it does not. */
    void setEvictionProblem(String text) {
        evictionProblem = text == null ? null : SafeText.of(text, PROBLEM_LENGTH_MAX);
        if (text != null) {
            log(Level.WARNING, evictionProblem);
        }
    }

    /** A live connection has authenticated again. */
    void clearRefreshProblem() {
        if (refreshProblem != null) {
            refreshProblem = null;
            log(Level.INFO, "re-authentication works again");
        }
    }

    void setTlsDescription(String newDescription) {
        tlsDescription = newDescription == null ? null : SafeText.of(newDescription, PROBLEM_LENGTH_MAX);
    }

    /** Shows a problem whose report follows. */
    void showProblem(String text) {
        if (problem == null) {
            problemSinceNs = clock.nanoTime();
        }
        problem = SafeText.of(text, PROBLEM_LENGTH_MAX);
        quarantine = null;
    }

    /** Shows and logs a problem, also if it is the same as before. */
    void reportProblem(Level level, String text) {
        showProblem(text);
        log(level, problem);
    }

    /** Reports the problem of a node that is connected and does not vote until a time or an event. */
    void reportQuarantine(Quarantine reason) {
        reportProblem(Level.INFO, reason.text(clock.nanoTime()));
        quarantine = reason;
    }

    private String textOf(Quarantine reason) {
        return SafeText.of(reason.text(clock.nanoTime()), PROBLEM_LENGTH_MAX);
    }

    /** The node votes: the problem is over. */
    void clearProblem() {
        if (problem != null) {
            problem = null;
            log(Level.INFO, "the node votes again, "
                    + (clock.nanoTime() - problemSinceNs) / NS_PER_MS + " ms after the problem started");
        }
    }

    /** Logs a line, unless the same one was logged in the last minute. */
    public void log(Level level, String text) {
        long nowNs = clock.nanoTime();
        String line = problemLog.lineFor(text, nowNs);
        if (line != null && logLimit != null) {
            line = logLimit.lineFor(line, nowNs);
        }
        if (line != null) {
            listener.onLogLine(this, level, line);
        }
    }

    @Override
    public String toString() {
        String shown = problem();
        return "node " + index() + " (" + place + ") " + state + (shown == null ? "" : ": " + shown);
    }
}
