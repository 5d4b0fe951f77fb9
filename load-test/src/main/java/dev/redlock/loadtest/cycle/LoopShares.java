package dev.redlock.loadtest.cycle;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;

/**
 * Distributes resources over the event loops of a client.
 *
 * @threading any thread
 */
final class LoopShares {
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();

    private LoopShares() {
    }

    /**
     * Finds the same number of resources for each event loop. The resources of one loop lie among those of the others,
     * as in a program.
     *
     * @param names names of resources by their number
     * @return the resources of each loop
     */
    static List<List<String>> of(Redlock redlock, int loops, int resourcesPerLoop, IntFunction<String> names) {
        Map<Thread, List<String>> shares = new LinkedHashMap<>();
        for (int i = 0, left = loops * resourcesPerLoop; left > 0; i++) {
            String name = names.apply(i);
            List<String> share = shares.computeIfAbsent(loopOf(redlock, name), loop -> new ArrayList<>());
            if (share.size() < resourcesPerLoop) {
                share.add(name);
                left--;
            }
        }
        return List.copyOf(shares.values());
    }

    /** Finds the loop of a resource: the one that calls back. */
    private static Thread loopOf(Redlock redlock, String name) {
        CompletableFuture<Thread> loop = new CompletableFuture<>();
        redlock.acquire(redlock.key(name), OPTIONS, redlock.newLease(), outcome -> {
            if (outcome.isAcquired()) {
                outcome.lease().release((lease, released) -> loop.complete(Thread.currentThread()));
            } else {
                loop.completeExceptionally(new IllegalStateException(outcome.toString()));
            }
        });
        return loop.join();
    }
}
