package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A holder has a bare majority. Waiters of several kinds have several coordinators. Each attempt is granted by its own
 * coordinator, if that is not of the majority, and refuses the others there until its rollback wakes them.
 */
class SplitHolderTest extends VirtualTest {

    private static final int NODES = 7;
    private static final int CLIENTS = 3;
    /** Most attempts are those of the first 100 ms. Without the growing pause, there are 3,000 to 30,000. */
    private static final int REFUSED_MAX = 120;

    private CompletableFuture<AcquireOutcome> waiting(VirtualWorld.Client client, String kind) {
        AcquireOptions options = options().waitUpTo(Duration.ofSeconds(60));
        return switch (kind) {
            case "plain" -> client.redlock().acquireAsync("a", options).toCompletableFuture();
            case "reader" -> client.redlock().acquireAsync("a", options.forReading()).toCompletableFuture();
            default -> client.redlock().acquireAllAsync(List.of("a", kind), options).toCompletableFuture();
        };
    }

    @ParameterizedTest
    @CsvSource({"2, true, reader b c", "4, true, reader b c", "4, true, plain reader b c",
        "4, false, plain reader b c"})
    void waitersDoNotWakeEachOtherAgainAndAgain(int lost, boolean isThrifty, String kinds) {
        world = new VirtualWorld(NODES);
        VirtualWorld.Client holder = client();
        List<VirtualWorld.Client> clients = IntStream.range(0, CLIENTS)
                .mapToObj(i -> client(context().thriftyQuorums(isThrifty)))
                .toList();
        eachNode(node -> node.delay(() -> LINK_NS));
        world.runMs(1_100);
        Lease lease = acquired(get(holder.redlock().acquireAsync("a", options())));
        for (int i = 0; i < NODES / 2; i++) {
            node((lost + i) % NODES).redis().delete("a");
        }
        List<CompletableFuture<AcquireOutcome>> waiters = new ArrayList<>();
        for (VirtualWorld.Client client : clients) {
            for (String kind : kinds.split(" ")) {
                waiters.add(waiting(client, kind));
            }
        }
        world.runMs(2_000);
        long refused = clients.stream().mapToLong(each -> each.redlock().counters().contendedAttemptCount()).sum();
        assertTrue(refused <= REFUSED_MAX * waiters.size(), () -> refused + " refused attempts");
        lease.releaseAsync();
        world.runMs(300);
        assertEquals(1, waiters.stream()
                .filter(CompletableFuture::isDone)
                .map(each -> acquired(each.join()))
                .limit(1)
                .count(), "a waiter has the lock");
    }
}
