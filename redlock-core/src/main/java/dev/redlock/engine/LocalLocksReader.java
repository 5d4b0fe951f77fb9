package dev.redlock.engine;

import dev.redlock.api.LocalLocks;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.LockKind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Reads the held and awaited locks of each event loop in a task of that loop, from the lists that it has anyway.
 *
 * @threading any thread but the event loops
 */
public final class LocalLocksReader {

    private static final int TIMEOUT_S = 1;
    private static final Comparator<LocalLocks.Held> OLDEST_FIRST = Comparator.comparingLong(lock -> -lock.ageNs());
    private static final Comparator<LocalLocks.Waiting> LONGEST_FIRST = Comparator
            .comparingLong(lock -> -lock.longestNs());

    private LocalLocksReader() {
    }

    /** Reads the oldest held locks and the longest waits, so many of each at most. */
    public static LocalLocks read(LockEngine engine, int countMax) throws InterruptedException {
        engine.refuseOnLoop("localLocks", "another thread");
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before reading the locks of this client");
        }
        Conductor[] conductors = engine.loops.conductors;
        // Of one moment, so that the ages of all loops can be compared.
        long[] nowNs = Stream.of(conductors).mapToLong(conductor -> conductor.clock().nanoTime()).toArray();
        List<CompletableFuture<LocalLocks>> parts = IntStream.range(0, conductors.length)
                .mapToObj(i -> start(engine, conductors[i], countMax, nowNs[i]))
                .toList();
        try {
            CompletableFuture.allOf(parts.toArray(CompletableFuture[]::new)).get(TIMEOUT_S, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            // A part is missing, and the result shows it.
        }
        return merged(parts, countMax);
    }

    private static CompletableFuture<LocalLocks> start(LockEngine engine, Conductor conductor, int countMax,
            long nowNs) {
        CompletableFuture<LocalLocks> part = new CompletableFuture<>();
        try {
            conductor.execute(() -> {
                try {
                    part.complete(read(engine, conductor, countMax, nowNs));
                } catch (RuntimeException | Error e) {
                    part.completeExceptionally(e);
                }
            });
        } catch (RejectedExecutionException e) {
            // A loop that has ended holds nothing.
            part.complete(new LocalLocks(List.of(), List.of(), 0, 0, true));
        }
        return part;
    }

    private static LocalLocks merged(List<CompletableFuture<LocalLocks>> parts, int countMax) {
        List<LocalLocks> present = parts.stream()
                .filter(part -> part.isDone() && !part.isCompletedExceptionally())
                .map(CompletableFuture::join)
                .toList();
        return new LocalLocks(
                present.stream().flatMap(part -> part.held().stream()).sorted(OLDEST_FIRST).limit(countMax).toList(),
                present.stream()
                        .flatMap(part -> part.waiting().stream())
                        .sorted(LONGEST_FIRST)
                        .limit(countMax)
                        .toList(),
                present.stream().mapToInt(LocalLocks::heldCount).sum(),
                present.stream().mapToInt(LocalLocks::waitingCount).sum(), present.size() == parts.size());
    }

    // ---- on the event loop ------------------------------------------------------------------------------------------

    private static LocalLocks read(LockEngine engine, Conductor conductor, int countMax, long nowNs) {
        WaitQueues queues = conductor.scheduler.queues;
        return new LocalLocks(held(engine, conductor.keeper.firstHeld, countMax, nowNs),
                waiting(queues, countMax, nowNs), conductor.keeper.heldCount(), queues.count, true);
    }

    /** The list starts with the youngest. */
    private static List<LocalLocks.Held> held(LockEngine engine, LeaseHandle youngest, int countMax, long nowNs) {
        LeaseHandle lease = youngest;
        while (lease != null && lease.nextHeld != null) {
            lease = lease.nextHeld;
        }
        List<LocalLocks.Held> held = new ArrayList<>();
        for (; lease != null && held.size() < countMax; lease = lease.previousHeld) {
            held.add(new LocalLocks.Held(lease.key.resource(), kindOf(lease.key.kind),
                    Math.max(0, nowNs - lease.acquiredNs),
                    Math.max(0, lease.validUntilNs - nowNs), lease.spec.isFenced ? lease.fencingToken : 0,
                    threadOf(engine, lease)));
        }
        return held;
    }

    private static String threadOf(LockEngine engine, LeaseHandle lease) {
        return switch (lease.key.kind) {
            case PLAIN, SET -> engine.exclusiveHolds.threadOf(lease.key, lease);
            case READ, WRITE -> engine.sharedHolds.threadOf(lease.key.resourceKey(0), lease);
            case PERMIT -> null;
        };
    }

    private static List<LocalLocks.Waiting> waiting(WaitQueues queues, int countMax, long nowNs) {
        // The shortest wait is the first to go.
        PriorityQueue<LocalLocks.Waiting> longest = new PriorityQueue<>(LONGEST_FIRST.reversed());
        queues.forEach(queue -> {
            long waitNs = Math.max(0, nowNs - queue.head().startNs);
            boolean isFull = longest.size() >= countMax;
            if (!isFull || !longest.isEmpty() && waitNs > longest.peek().longestNs()) {
                LockKey key = queue.key;
                longest.add(new LocalLocks.Waiting(key.resource(), kindOf(key.kind), queue.size(), waitNs));
                if (isFull) {
                    longest.poll();
                }
            }
        });
        return List.copyOf(longest);
    }

    private static LocalLocks.Kind kindOf(LockKind kind) {
        return switch (kind) {
            case PLAIN -> LocalLocks.Kind.EXCLUSIVE;
            case SET -> LocalLocks.Kind.SET;
            case READ -> LocalLocks.Kind.READ;
            case WRITE -> LocalLocks.Kind.WRITE;
            case PERMIT -> LocalLocks.Kind.PERMIT;
        };
    }
}
