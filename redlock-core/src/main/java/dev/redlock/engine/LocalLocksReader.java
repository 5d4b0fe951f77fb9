package dev.redlock.engine;

import dev.redlock.api.LocalLocks;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.LockKind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;

/**
 * Reads the held and awaited locks of one event loop, from the lists that it has anyway.
 *
 * @threading event-loop-confined, except {@link #start}
 */
final class LocalLocksReader {

    private static final Comparator<LocalLocks.Waiting> SHORTEST_FIRST = Comparator
            .comparingLong(LocalLocks.Waiting::longestNs);

    private final LockEngine engine;
    private final int countMax;
    private final long nowNs;

    LocalLocksReader(LockEngine engine, int countMax, long nowNs) {
        this.engine = engine;
        this.countMax = countMax;
        this.nowNs = nowNs;
    }

    /** Reads in a task of the event loop. On any thread. */
    CompletableFuture<LocalLocks> start(Conductor conductor) {
        CompletableFuture<LocalLocks> part = new CompletableFuture<>();
        AcquireScheduler scheduler = conductor.scheduler;
        try {
            conductor.execute(() -> {
                try {
                    part.complete(read(conductor.keeper, scheduler.queues));
                } catch (RuntimeException | Error e) {
                    part.completeExceptionally(e);
                }
            });
            if (conductor.isClosed()) {
                // A loop of the client itself accepts tasks silently after its end.
                completeEmpty(part);
            }
        } catch (RejectedExecutionException e) {
            completeEmpty(part);
        }
        return part;
    }

    /** A loop that has ended holds nothing. */
    private static void completeEmpty(CompletableFuture<LocalLocks> part) {
        part.complete(new LocalLocks(List.of(), List.of(), 0, 0, true));
    }

    private LocalLocks read(LeaseKeeper keeper, WaitQueues queues) {
        return new LocalLocks(held(keeper), waiting(queues), keeper.heldCount(), queues.count, true);
    }

    /** The list starts with the youngest. */
    private List<LocalLocks.Held> held(LeaseKeeper keeper) {
        LeaseHandle lease = keeper.firstHeld;
        while (lease != null && lease.nextHeld != null) {
            lease = lease.nextHeld;
        }
        List<LocalLocks.Held> held = new ArrayList<>();
        for (; lease != null && held.size() < countMax; lease = lease.previousHeld) {
            held.add(held(lease, keeper.retention.holderOf(lease.claim)));
        }
        return held;
    }

    /**
     * Shows a lease.
     *
     * @param local has its lock, which the client retains; null if no other lease has
     */
    private LocalLocks.Held held(LeaseHandle lease, LeaseHandle local) {
        LockKey key = lease.key;
        LockKind kind = key.kind;
        LocalHolds holds = kind.hasReaders ? engine.sharedHolds : engine.exclusiveHolds;
        String thread = holds.threadOf(kind.hasReaders ? key.resourceKey(0) : key,
                local == null ? lease : local);
        return new LocalLocks.Held(key.resource(), kindOf(kind), Math.max(0, nowNs - lease.acquiredNs),
                Math.max(0, lease.validUntilNs - nowNs), lease.spec.isFenced ? lease.fencingToken : 0, thread);
    }

    private List<LocalLocks.Waiting> waiting(WaitQueues queues) {
        PriorityQueue<LocalLocks.Waiting> longest = new PriorityQueue<>(SHORTEST_FIRST);
        queues.forEach(queue -> add(queue, queue.key, queue.head(), longest));
        return List.copyOf(longest);
    }

    private void add(WaitQueue queue, LockKey key, PendingAcquire head, PriorityQueue<LocalLocks.Waiting> longest) {
        long waitNs = Math.max(0, nowNs - head.startNs);
        LocalLocks.Waiting shortest = longest.size() < countMax ? null : longest.peek();
        if (countMax > 0 && (shortest == null || waitNs > shortest.longestNs())) {
            longest.add(new LocalLocks.Waiting(key.resource(), kindOf(key.kind), queue.size(), waitNs));
            if (shortest != null) {
                longest.poll();
            }
        }
    }

    /** The kinds have the same names. */
    private static LocalLocks.Kind kindOf(LockKind kind) {
        return LocalLocks.Kind.valueOf(kind.name());
    }
}
