package dev.redlock;

import dev.redlock.api.LocalLocks;
import dev.redlock.engine.LockEngine;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Asks all event loops for the locks of a client, and merges their answers.
 *
 * @threading any thread but the event loops
 */
final class LocalLocksQuery {

    private static final int TIMEOUT_S = 1;
    private static final Comparator<LocalLocks.Held> OLDEST_FIRST = Comparator.comparingLong(lock -> -lock.ageNs());
    private static final Comparator<LocalLocks.Waiting> LONGEST_FIRST = Comparator
            .comparingLong(lock -> -lock.longestNs());

    private LocalLocksQuery() {
    }

    static LocalLocks run(LockEngine engine, int countMax) throws InterruptedException {
        engine.refuseOnLoop("localLocks", "another thread");
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before reading the locks of this client");
        }
        List<CompletableFuture<LocalLocks>> parts = engine.localLocks(countMax);
        try {
            CompletableFuture.allOf(parts.toArray(CompletableFuture[]::new)).get(TIMEOUT_S, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            // A part is missing, and the result shows it.
        }
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
}
