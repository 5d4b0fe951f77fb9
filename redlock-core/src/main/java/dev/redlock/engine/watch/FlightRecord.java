package dev.redlock.engine.watch;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RetentionEnd;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.resp.SafeText;
import dev.redlock.telemetry.FlightCopy;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;

/**
 * Writes the events of a flight recorder as text for people: one line for each event, oldest first. A line has the time
 * before the record was taken, the lock or the node, and what happened. It has no token.
 *
 * @threading caller-confined
 */
public final class FlightRecord {

    private static final int PROBLEM_LENGTH_MAX = 200;
    /** A report is one log message for people; the whole record may have thousands of lines. */
    private static final int REPORT_LINES_MAX = 40;
    private static final int OWN_LINES_MAX = 24;
    private static final int NODE_LINES_MAX = 8;

    private final FlightCopy events;
    private final String[] addresses;
    private final long nowNs;
    /** The names of attempts whose events are in the copy, and when they started. */
    private final Map<Integer, LockKey> keys = new HashMap<>();
    private final Map<Integer, Long> startsNs = new HashMap<>();
    private final Map<Integer, Long> releasesNs = new HashMap<>();

    FlightRecord(FlightCopy events, String[] addresses, long nowNs) {
        this.events = events;
        this.addresses = addresses;
        this.nowNs = nowNs;
        for (int i = 0; i < events.length(); i++) {
            if (events.number(i) != 0 && events.subject(i) instanceof LockKey key) {
                keys.put(events.number(i), key);
            }
        }
    }

    /** Appends all events of an event loop. */
    public void appendTo(StringBuilder out, int loop) {
        out.append("event loop " + loop + ": " + events.length() + " events, " + events.overwrittenCount()
                + " earlier ones overwritten; times are before now\n");
        for (int i = 0; i < events.length(); i++) {
            addStart(i);
            append(out, i);
        }
    }

    /**
     * Appends the lines of a report, at most {@value #REPORT_LINES_MAX}: newest events of one lock and of the nodes.
     *
     * @param number the attempt that the report is about, whose events come before those of others; 0 for none
     */
    void appendReport(StringBuilder out, LockKey key, int number) {
        BitSet related = related(key);
        BitSet chosen = related;
        int relatedCount = related.cardinality();
        if (relatedCount > REPORT_LINES_MAX) {
            chosen = new BitSet();
            choose(chosen, related, OWN_LINES_MAX, index -> number != 0 && events.number(index) == number);
            choose(chosen, related, chosen.cardinality() + NODE_LINES_MAX, this::isOfNode);
            choose(chosen, related, REPORT_LINES_MAX, index -> true);
            out.append(REPORT_LINES_MAX + " of the " + relatedCount + " events of this lock and of the nodes among the"
                    + " last " + events.length() + "; Redlock.flightRecord() returns all\n");
        }
        for (int i = 0; i < events.length(); i++) {
            addStart(i);
            if (chosen.get(i)) {
                append(out, i);
            }
        }
    }

    private BitSet related(LockKey key) {
        Set<Integer> attempts = new HashSet<>();
        keys.forEach((number, owner) -> {
            if (key.includes(owner)) {
                attempts.add(number);
            }
        });
        BitSet related = new BitSet();
        for (int i = 0; i < events.length(); i++) {
            boolean isOfLock = events.subject(i) instanceof LockKey owner && key.includes(owner);
            related.set(i, isOfNode(i) || isOfLock || attempts.contains(events.number(i)));
        }
        return related;
    }

    private boolean isOfNode(int index) {
        return FlightEvent.of(events.kind(index)) == FlightEvent.NODE_STATE;
    }

    /** Adds the newest events of a kind until there are enough. */
    private static void choose(BitSet chosen, BitSet from, int count, IntPredicate isOfKind) {
        int missing = count - chosen.cardinality();
        for (int i = from.length() - 1; i >= 0 && missing > 0; i = from.previousSetBit(i - 1)) {
            if (!chosen.get(i) && isOfKind.test(i)) {
                chosen.set(i);
                missing--;
            }
        }
    }

    /** Later lines show the time since the start, also if the start itself is left out. */
    private void addStart(int index) {
        FlightEvent kind = FlightEvent.of(events.kind(index));
        if (kind == FlightEvent.ATTEMPT) {
            startsNs.put(events.number(index), events.timeNs(index));
        } else if (kind == FlightEvent.RELEASE) {
            releasesNs.put(events.number(index), events.timeNs(index));
        }
    }

    private void append(StringBuilder out, int index) {
        FlightEvent kind = FlightEvent.of(events.kind(index));
        long timeNs = events.timeNs(index);
        out.append(String.format(Locale.ROOT, "%12.3f ms  ", (timeNs - nowNs) / 1e6));
        if (kind == FlightEvent.NODE_STATE) {
            appendNodeState(out, index, events.subject(index) instanceof RareEvents.ServerState server
                    ? server
                    : new RareEvents.ServerState(node(index), (String) events.subject(index)));
        } else {
            appendLock(out, index);
            appendEvent(out, kind, index);
        }
        out.append('\n');
    }

    private void appendLock(StringBuilder out, int index) {
        int number = events.number(index);
        Object key = events.subject(index) == null ? keys.get(number) : events.subject(index);
        if (key != null) {
            out.append(key);
        } else {
            out.append(number == 0 ? "a lock without waiters" : "a lock whose name is overwritten");
        }
        if (number != 0) {
            out.append(" #").append(number);
        }
        out.append("  ");
    }

    private void appendEvent(StringBuilder out, FlightEvent kind, int index) {
        switch (kind) {
            case ATTEMPT -> out.append("attempt, asks ").append(nodes(events.value(index)));
            case ASKED_OTHERS -> out.append("also asks ").append(nodes(events.value(index)));
            case GRANTED -> appendVote(out, index, " granted");
            case REFUSED -> appendVote(out, index, " refused");
            case FAILED -> appendVote(out, index, " failed");
            case UNKNOWN -> appendVote(out, index, " has an unknown vote");
            case SILENT -> out.append("no answer within the node timeout from ").append(nodes(events.value(index)));
            case ACQUIRED -> out.append("acquired" + since(startsNs, index) + ", valid for "
                    + millis(events.value(index)));
            case ATTEMPT_FAILED -> out.append("attempt failed" + since(startsNs, index) + ": "
                    + AcquireOutcome.Kind.values()[events.detail(index)]);
            case NOT_ACQUIRED -> out.append("not acquired after " + millis(events.value(index)) + ": "
                    + AcquireOutcome.Kind.values()[events.detail(index)]);
            case WOKEN -> out.append("a push of ").append(node(index)).append(" wakes the first waiter");
            case SPURIOUS_PUSH -> out.append("a push of ").append(node(index)).append(" wakes nobody");
            case BACKSTOP -> out.append("no push came: the first waiter tries again");
            default -> appendLeaseEvent(out, kind, index);
        }
    }

    private void appendLeaseEvent(StringBuilder out, FlightEvent kind, int index) {
        switch (kind) {
            case RELEASE -> out.append("release starts");
            case NOT_DELETED -> out.append(node(index)).append(" did not hold the key");
            case RELEASE_UNANSWERED -> out.append(node(index)).append(" has not confirmed the release");
            case RELEASED -> out.append("release ended" + since(releasesNs, index) + ": "
                    + ReleaseOutcome.values()[events.detail(index)]);
            case EXTENSION -> out.append("extension by " + events.value(index) + " ms starts");
            case EXTENSION_ENDED -> out.append("extension ended: " + ExtendOutcome.values()[events.detail(index)]);
            case HOLDER_DROPPED -> out.append(node(index) + " is no holder any more: "
                    + LossCause.values()[events.detail(index)].text());
            case RETENTION_ENDED -> out.append("retained no longer, after " + events.value(index)
                    + " local grants: " + RetentionEnd.values()[events.detail(index)]);
            default -> out.append("the lease is " + LeaseState.values()[events.detail(index)] + " after "
                    + millis(events.value(index)));
        }
    }

    private void appendVote(StringBuilder out, int index, String vote) {
        out.append(node(index)).append(vote).append(since(startsNs, index));
        if (events.detail(index) != 0) {
            out.append(": ").append(VoteFailure.of(events.detail(index)).text());
        }
    }

    private void appendNodeState(StringBuilder out, int index, RareEvents.ServerState server) {
        NodeState before = NodeState.values()[(int) events.value(index)];
        out.append(server.name() + "  " + before + " -> " + NodeState.values()[events.detail(index)]);
        if (server.problem() != null) {
            out.append(": ").append(SafeText.of(server.problem(), PROBLEM_LENGTH_MAX));
        }
    }

    private String node(int index) {
        return addresses[events.nodeIndex(index)];
    }

    private String nodes(long mask) {
        StringBuilder text = new StringBuilder();
        for (long left = mask; left != 0; left &= left - 1) {
            text.append(text.length() == 0 ? "" : ", ").append(addresses[Long.numberOfTrailingZeros(left)]);
        }
        return text.toString();
    }

    /** The time since an earlier event of the same attempt, if the copy has that event. */
    private String since(Map<Integer, Long> starts, int index) {
        Long startNs = starts.get(events.number(index));
        return startNs == null ? "" : " after " + millis(events.timeNs(index) - startNs);
    }

    private static String millis(long ns) {
        return String.format(Locale.ROOT, "%.3f ms", ns / 1e6);
    }
}
