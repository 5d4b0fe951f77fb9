package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.guard.FreshGroup;
import dev.redlock.node.guard.VoteGuard;
import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.resp.RespValue;
import dev.redlock.time.DeadlineTimer;
import io.netty.buffer.ByteBuf;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Lets a young or a promoted node vote before its quarantine ends, if it has not lost a lock: it has the mark of a
 * client that knew, or it belongs to a {@link FreshGroup}. A mark is a key whose value names the <i>reign</i>: the
 * {@code run_id} of the process, and the history of its data if the server shows one.
 *
 * <pre>
 * READING -- the mark is that of the reign ----------------------> DONE
 *    |------ the process is old, not promoted ------> WRITING ---> DONE
 *    |------ else ---------> CANDIDATE -- the group is fresh -^
 *    |                          |------- its quarantine ends -^
 *    |                          '------- the mark appears ------> DONE
 *    '------ a command is refused --> GUARDED -- its quarantine ends --> WRITING
 * </pre>
 *
 * <p>A young process that replaced a known one is GUARDED from the start: a client that knew nothing of the restart may
 * have marked it.
 *
 * <p>The node votes in DONE, and so after its mark is acknowledged. If an old node refuses the mark, it votes without:
 * no client takes it for a fresh one. A refusal may be temporary, as without enough replicas: then the mark is written
 * later, because clients that start would wait for it in vain.
 *
 * @threading event-loop-confined
 */
final class FirstContact implements FreshGroup.Contact {

    private static final long READ_PERIOD_NS = 1_000 * NS_PER_MS;
    /** Another client may be marking the group now, so the first delays are short. They double up to the period. */
    private static final long READ_DELAY_NS_MIN = 10 * NS_PER_MS;
    private static final long MEMORY_RETRY_NS = 20 * NS_PER_MS;
    private static final String OLD = " has been up for maxTtl or longer";

    /**
     * How far the contact with a process is.
     *
     * @threading immutable
     */
    private enum State {
        /** Not connected, or the mode uses no marks. */
        IDLE, READING, CANDIDATE, GUARDED, WRITING, DONE
    }

    private final NodeContext context;
    private final CommandSender sender;
    private final VoteGuard guard;
    private final NodeView view;
    /** How long a promoted server gives no vote. */
    private final LongSupplier silenceNs;
    private final NodeSignals listener;
    /** Null if the client uses none. */
    private final NodeOptions.Mark mark;
    private final DeadlineTimer timer = new DeadlineTimer(this::onTimer);
    private State state = State.IDLE;
    private String runId;
    /** The time of the process as the master of one history. */
    private String reign;
    /** The server would show a promotion. */
    private boolean isHistoryShown;
    /** The process whose mark this client has seen. */
    private String markedRunId;
    /** Replies on an earlier connection do not count. */
    private int connectionNumber;
    private long readDelayNs;
    /** The restart guard had an objection when the handshake was complete. */
    private boolean isYoung;
    /** The reported delay in the present state: why the mark cannot be read or written, else empty; null for none. */
    private String reported;
    private boolean isQuarantineReported;
    private boolean isWarned;
    /** The node votes, but could not take its mark yet. */
    private boolean isMarkDue;

    FirstContact(NodeContext context, CommandSender sender, VoteGuard guard, NodeView view, LongSupplier silenceNs,
            NodeSignals listener) {
        this.context = context;
        this.silenceNs = silenceNs;
        this.sender = sender;
        this.guard = guard;
        this.view = view;
        this.listener = listener;
        this.mark = context.options().guards().mark();
        if (mark != null) {
            context.group().freshGroup().add(this);
        }
    }

    /** Whether the decision whether the node votes early is a matter of milliseconds. */
    boolean isPending() {
        return (isUndecided() || state == State.CANDIDATE) && reported == null;
    }

    /**
     * Whether the node must not vote although no guard objects: its mark may show a promotion, or is not acknowledged.
     */
    boolean isUndecided() {
        return state == State.READING || state == State.WRITING;
    }

    /** Whether this contact has kept the node in quarantine for longer than a moment. */
    boolean isQuarantineReported() {
        return isQuarantineReported;
    }

    /** Why the node is not admitted early, as reported; null if it may be, or the mode admits none. */
    String objection() {
        if (isUndecided()) {
            return reported;
        }
        String problem = state == State.CANDIDATE && !guard.isPromotionQuarantined()
                ? context.group().freshGroup().problem()
                : null;
        return problem == null ? null : "the nodes are no fresh group: " + problem;
    }

    /** A handshake is complete, and the node is in quarantine until this contact or the guard says otherwise. */
    void start(String newRunId, ReplicationInfo replication) {
        boolean isFirst = runId == null;
        runId = newRunId;
        reign = replication.reignOf(newRunId);
        isHistoryShown = replication.isHistoryShown();
        if (mark == null) {
            if (!isFirst) {
                send(sender.command("INFO", "keyspace"), this::onKeyspace);
            }
            return;
        }
        isYoung = guard.isRestartQuarantined();
        reported = null;
        isQuarantineReported = false;
        isMarkDue = false;
        readDelayNs = READ_DELAY_NS_MIN;
        if (isYoung && guard.restartGuard().isSuccessor()) {
            state = State.GUARDED;
        } else {
            state = State.READING;
            read();
        }
        if (isRulingOutGroup()) {
            context.group().freshGroup().onRuledOut();
        }
    }

    /**
     * The history of the server's data has another name, although it was not promoted: it has got its first replica, or
     * has lost the last one for long.
     */
    void onRenamed(ReplicationInfo replication) {
        if (mark != null) {
            reign = replication.reignOf(runId);
            if (state == State.DONE) {
                startWriting();
            }
        }
    }

    /** The quarantine has ended while the process was connected. */
    void onQuarantineServed() {
        if ((state == State.CANDIDATE || state == State.GUARDED) && !guard.mayLackLocks()) {
            startWriting();
        }
    }

    /** The connection has ended, or is not needed for votes any more. */
    void stop() {
        connectionNumber++;
        state = State.IDLE;
        isMarkDue = false;
        context.timers().stop(timer);
        context.group().freshGroup().onDisconnected();
    }

    // ---- the group --------------------------------------------------------------------------------------------------

    @Override
    public boolean isCandidate() {
        return state == State.CANDIDATE && !guard.isPromotionQuarantined();
    }

    @Override
    public boolean isRulingOutGroup() {
        return state == State.GUARDED || state != State.IDLE && (!isYoung || guard.isPromotionQuarantined());
    }

    @Override
    public String groupProblem() {
        String node = "node " + view.index();
        return switch (state) {
            case CANDIDATE -> guard.isPromotionQuarantined() ? node + " was promoted" : null;
            case IDLE -> node + " is not connected";
            case GUARDED -> node + " is not new to this client";
            default -> node + (guard.isPromotionQuarantined() ? " was promoted" : isYoung ? " is being checked" : OLD);
        };
    }

    @Override
    public void onGroupRuledOut() {
        if (state == State.CANDIDATE && reported == null) {
            reportQuarantine();
        }
    }

    @Override
    public void onGroupAdmitted() {
        if (state == State.CANDIDATE) {
            startWriting();
        }
    }

    @Override
    public void check(int number) {
        AtomicBoolean isYoungNow = new AtomicBoolean();
        boolean isSent = send(sender.command("INFO", "server"), reply -> isYoungNow.setPlain(isYoung(reply)))
                && send(sender.command("INFO", "keyspace"),
                        reply -> onChecked(number, isYoungNow.getPlain(), isEmpty(reply)));
        if (!isSent) {
            context.group().freshGroup().onChecked(number, "there is no memory for the check");
        }
    }

    private void onChecked(int number, boolean isYoungNow, boolean isEmpty) {
        String problem = isYoungNow
                ? isEmpty ? null : "node " + view.index() + " has keys"
                : "node " + view.index() + OLD;
        context.group().freshGroup().onChecked(number, problem);
    }

    private boolean isYoung(RespValue reply) {
        String uptime = reply.isError() ? null : ServerReply.field(reply.asText(), "uptime_in_seconds");
        return uptime != null && uptime.matches("[0-9]{1,18}")
                && guard.restartGuard().isYoung(Long.parseLong(uptime));
    }

    /** A line {@code db0:keys=1,expires=0,...} for each database that has keys follows the title. */
    private static boolean isEmpty(RespValue reply) {
        return !reply.isError() && reply.asText().strip().equalsIgnoreCase("# Keyspace");
    }

    /** Without a mark, a node that is empty after a reconnect has lost the keys of this client. */
    private void onKeyspace(RespValue reply) {
        if (isEmpty(reply)) {
            listener.onKeysLost();
        }
    }

    // ---- the mark ---------------------------------------------------------------------------------------------------

    private void onTimer(long nowNs) {
        boolean isWriteDue = state == State.WRITING || isMarkDue;
        if (isWriteDue || state == State.READING || state == State.CANDIDATE) {
            // Started first: a command that throws is tried again.
            context.timers().start(timer, nowNs + READ_PERIOD_NS);
            if (isWriteDue) {
                write();
            } else {
                read();
            }
        }
    }

    private void read() {
        if (!send(sender.command("GET", mark.key()), this::onRead)) {
            startTimer(MEMORY_RETRY_NS);
        }
    }

    private void onRead(RespValue reply) {
        if (state != State.READING && state != State.CANDIDATE) {
            return;
        }
        if (ServerReply.failureOf(reply).isTemporary()) {
            readLater(reply);
        } else if (reply.isError()) {
            onRefused("read", "GET", reply);
        } else if (!reply.isNull() && reign.equals(reply.asText())) {
            onMarked();
        } else {
            onUnmarked(reply);
        }
    }

    private void onUnmarked(RespValue read) {
        boolean isOfProcess = !read.isNull() && read.asText().startsWith(runId);
        if (!isOfProcess && runId.equals(markedRunId)) {
            // The node was flushed while it was not connected.
            markedRunId = null;
            listener.onKeysLost();
        }
        if (state != State.READING && state != State.CANDIDATE) {
            // A listener of a lost lease has closed the client.
            return;
        }
        if (state == State.READING && !isHistoryShown && !read.isNull() && !isOfProcess) {
            // The data of the server are those of another one, which may have granted locks since.
            guard.onPromotion(silenceNs.getAsLong());
        }
        if (!guard.mayLackLocks()) {
            startWriting();
        } else if (state == State.READING) {
            state = State.CANDIDATE;
            reported = null;
            startTimer(readDelayNs);
            if (context.group().freshGroup().isRuledOut()) {
                reportQuarantine();
            } else {
                context.group().freshGroup().onCandidate();
            }
        } else {
            readLater(read);
        }
    }

    private void readLater(RespValue reply) {
        readDelayNs = Math.min(2 * readDelayNs, READ_PERIOD_NS);
        startTimer(readDelayNs);
        if (readDelayNs > READ_PERIOD_NS / 2) {
            if (state == State.READING) {
                reportRefusal("read", reply);
            } else if (reported == null) {
                reportQuarantine();
            }
        }
    }

    private void startWriting() {
        // First: a write that throws is tried again.
        startTimer(READ_PERIOD_NS);
        state = State.WRITING;
        reported = null;
        isMarkDue = false;
        write();
    }

    /** Others would trust the mark of a client that only diagnoses, so it asks only whether the node accepts writes. */
    private void write() {
        ByteBuf command = mark.isWritten()
                ? sender.command("SET", mark.key(), reign)
                : WriteWatch.probe(sender, context.options().commands().ownKey());
        if (!send(command, this::onWritten)) {
            startTimer(MEMORY_RETRY_NS);
        }
    }

    private void onWritten(RespValue reply) {
        if (state != State.WRITING && !isMarkDue) {
            return;
        }
        if (ServerReply.failureOf(reply).isTemporary()) {
            writeLater(reply);
        } else if (reply.isError()) {
            onRefused("written", "SET", reply);
        } else if (mark.isWritten()) {
            onMarked();
        } else {
            guard.admit(runId);
            finish();
        }
    }

    /** A node that has served its quarantine votes meanwhile. */
    private void writeLater(RespValue error) {
        if (state == State.WRITING && !guard.mayLackLocks()) {
            finish();
            if (state != State.DONE) {
                // A listener has closed the client.
                return;
            }
            isMarkDue = true;
        }
        startTimer(READ_PERIOD_NS);
        if (state == State.WRITING) {
            reportRefusal("written", error);
        }
    }

    private void reportRefusal(String what, RespValue error) {
        String code = ErrorAdvice.codeOf(error.asText());
        String text = "its mark cannot be " + what + ": " + code + "; " + ErrorAdvice.of(code);
        if (!text.equals(reported)) {
            reported = text;
            reportQuarantine();
        }
    }

    private void onMarked() {
        markedRunId = runId;
        guard.admit(runId);
        finish();
    }

    /** The node does not let the client use marks: only its uptime counts. */
    private void onRefused(String what, String command, RespValue reply) {
        if (!isWarned) {
            isWarned = true;
            view.log(Level.WARNING, "the mark of the restart guard cannot be " + what + ": "
                    + ErrorAdvice.codeOf(reply.asText()) + "; until the node accepts " + command + " of "
                    + mark.key()
                    + ", clients guard it by its uptime alone, as with RestartGuardMode.UPTIME");
        }
        if (guard.mayLackLocks()) {
            state = State.GUARDED;
            context.group().freshGroup().onRuledOut();
            reportQuarantine();
        } else {
            finish();
        }
    }

    private void finish() {
        state = State.DONE;
        isMarkDue = false;
        context.timers().stop(timer);
        listener.onFirstContactDecided();
    }

    private void reportQuarantine() {
        reported = reported == null ? "" : reported;
        isQuarantineReported = true;
        listener.onFirstContactDecided();
    }

    // ---- commands ---------------------------------------------------------------------------------------------------

    private void startTimer(long delayNs) {
        context.timers().start(timer, context.clock().nanoTime() + delayNs);
    }

    /** The handler gets a reply of this connection, not its end. */
    private boolean send(ByteBuf command, Consumer<RespValue> handler) {
        int number = connectionNumber;
        return sender.sendValue(command, reply -> {
            if (reply != null && number == connectionNumber) {
                handler.accept(reply);
            }
        });
    }
}
