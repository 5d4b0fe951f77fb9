package dev.redlock.node.send;

/**
 * Collects the commands of one kind in a turn, and pools the batches for them.
 *
 * @threading event-loop-confined
 */
final class CommandBatcher {

    private static final int POOLED_MIN = 64;

    private final CommandKind many;
    /** The most commands in one batch; 1 if they are not batched. */
    final int lengthMax;
    private final FreeList<CommandBatch> free = new FreeList<>(POOLED_MIN);
    /** The collected commands; null if there are none. */
    CommandBatch pending;

    /** Batches up to a length of a command for many keys. A single command is sent as {@link CommandKind#single}. */
    CommandBatcher(CommandKind many, int lengthMax) {
        this.many = many;
        this.lengthMax = lengthMax;
    }

    /** Adds a command for the nodes of a mask; returns the batch with it. */
    CommandBatch add(LockRequest request, int detail, long nodes) {
        if (pending == null) {
            pending = newBatch();
        }
        pending.add(request, detail, nodes);
        return pending;
    }

    /** An empty batch of the pool. */
    CommandBatch newBatch() {
        CommandBatch pooled = free.poll();
        return pooled == null ? new CommandBatch(many) : pooled;
    }

    /** Takes the collected commands; null if there are none. */
    CommandBatch take() {
        CommandBatch taken = pending;
        pending = null;
        return taken;
    }

    void recycle(CommandBatch done) {
        done.reset();
        free.push(done);
    }

    void trim() {
        free.trim();
    }
}
