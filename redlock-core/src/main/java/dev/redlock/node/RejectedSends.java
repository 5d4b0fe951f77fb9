package dev.redlock.node;

import java.util.ArrayDeque;

/**
 * Commands that could not be sent to some nodes. Most are reported at the end of the turn, because a report may
 * cause another command. That one must not overtake a command that is being written, and must not change the state
 * under the caller of the fan-out.
 *
 * @threading event-loop-confined
 */
final class RejectedSends {

    private static final int POOLED_MIN = 1024;

    /**
     * Learns which commands were not sent.
     *
     * @threading event-loop-confined
     */
    interface Listener {

        void onRejected(LockRequest request, CommandKind kind, int sequence, long nodes);

        void onRejected(CommandBatch batch, long nodes);
    }

    private final Listener listener;
    private final FreeList<Entry> free = new FreeList<>(POOLED_MIN);
    private ArrayDeque<Entry> entries = new ArrayDeque<>();
    private int lengthMax;
    boolean isEmpty = true;

    /**
     * One command, and the nodes that it could not be sent to, as a mask.
     *
     * @threading event-loop-confined
     */
    private static final class Entry {
        private LockRequest request;
        private CommandBatch batch;
        private CommandKind kind;
        private int sequence;
        private long nodes;
    }

    RejectedSends(Listener listener) {
        this.listener = listener;
    }

    /** The caller of a send learns at once of an acquire or a query that was not sent. */
    void add(LockRequest request, CommandKind kind, int sequence, long nodes) {
        if (kind.isAcquire || kind == CommandKind.REMAINING_TTL) {
            listener.onRejected(request, kind, sequence, nodes);
            return;
        }
        Entry entry = take(kind, nodes);
        entry.request = request;
        entry.sequence = sequence;
    }

    void add(CommandBatch batch, long nodes) {
        take(batch.kind(), nodes).batch = batch;
    }

    private Entry take(CommandKind kind, long nodes) {
        Entry pooled = free.poll();
        Entry entry = pooled == null ? new Entry() : pooled;
        entry.kind = kind;
        entry.nodes = nodes;
        entries.add(entry);
        isEmpty = false;
        lengthMax = Math.max(lengthMax, entries.size());
        return entry;
    }

    /** Frees unused memory. An array deque never shrinks, so it is replaced. */
    void trim() {
        free.trim();
        if (entries.isEmpty() && lengthMax > POOLED_MIN) {
            entries = new ArrayDeque<>();
            lengthMax = 0;
        }
    }

    /** Reports the entries so far. New ones wait for the next call, so this terminates. */
    void report() {
        for (int left = entries.size(); left > 0; left--) {
            Entry entry = entries.remove();
            isEmpty = entries.isEmpty();
            LockRequest request = entry.request;
            CommandBatch batch = entry.batch;
            CommandKind kind = entry.kind;
            int sequence = entry.sequence;
            long nodes = entry.nodes;
            entry.request = null;
            entry.batch = null;
            free.push(entry);
            if (batch == null) {
                listener.onRejected(request, kind, sequence, nodes);
            } else {
                listener.onRejected(batch, nodes);
            }
        }
    }
}
