package dev.redlock.loadtest.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The claims of docs/guides/comparison.md about the releases of Redisson, on real nodes. */
class RedissonUnlockTest {

    private static final int TIMEOUT_MS = 500;
    private static final long NO_WAIT = -1;
    private static final long LEASE_MS = 300;
    private static final String RESOURCE = "orders/42";

    private final List<RedissonClient> clients = new ArrayList<>();
    private final List<RLock> locks = new ArrayList<>();
    private RedisNodes nodes;
    private RLock redLock;

    @BeforeEach
    @SuppressWarnings("deprecation")
    void connect() throws Exception {
        nodes = RequiredNodes.start(new RedisNodesContext().count(3));
        for (RedisNode node : nodes.nodes()) {
            Config config = new Config();
            config.useSingleServer()
                    .setAddress("redis://" + node.address())
                    .setTimeout(TIMEOUT_MS)
                    .setRetryAttempts(0);
            RedissonClient client = Redisson.create(config);
            clients.add(client);
            locks.add(client.getLock(RESOURCE));
        }
        redLock = new org.redisson.RedissonRedLock(locks.toArray(RLock[]::new));
    }

    @AfterEach
    void close() {
        clients.forEach(client -> client.shutdown(0, 1, TimeUnit.SECONDS));
        nodes.close();
    }

    private void awaitExpiry() throws Exception {
        for (RedisNode node : nodes.nodes()) {
            Await.until("the lock has expired", () -> node.call("EXISTS", RESOURCE).equals(0L));
        }
    }

    @Test
    void unlockOfARedLockIgnoresTheExpiry() throws Exception {
        assertTrue(redLock.tryLock(NO_WAIT, LEASE_MS, TimeUnit.MILLISECONDS));
        awaitExpiry();
        redLock.unlock();
    }

    @Test
    void unlockAsyncOfARedLockAndUnlockOfALockReportTheExpiry() throws Exception {
        assertTrue(redLock.tryLock(NO_WAIT, LEASE_MS, TimeUnit.MILLISECONDS));
        awaitExpiry();
        CompletionException failure = assertThrows(CompletionException.class,
                () -> redLock.unlockAsync().toCompletableFuture().join());
        assertInstanceOf(IllegalMonitorStateException.class, failure.getCause());
        assertThrows(IllegalMonitorStateException.class, locks.get(0)::unlock);
    }

    /** A majority does not answer, so nothing shows whether the lock is released. */
    @Test
    void unlockOfARedLockIgnoresNodesThatTimeOutAndWaitsForEach() throws Exception {
        assertTrue(redLock.tryLock(NO_WAIT, 60_000, TimeUnit.MILLISECONDS));
        nodes.node(0).pause();
        nodes.node(1).pause();
        long startNs = System.nanoTime();
        redLock.unlock();
        long elapsedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
        assertTrue(elapsedMs >= 2 * TIMEOUT_MS, () -> "one node after another: " + elapsedMs + " ms");
        assertEquals(0L, nodes.node(2).call("EXISTS", RESOURCE));
    }

    @Test
    void failedAttemptIsReleasedWhereItWasGrantedOrTimedOut() throws Exception {
        nodes.node(1).call("HSET", RESOURCE, "another client", "1");
        nodes.node(2).call("CONFIG", "RESETSTAT");
        nodes.node(2).pause();
        assertFalse(redLock.tryLock(NO_WAIT, 60_000, TimeUnit.MILLISECONDS));
        assertEquals(0L, nodes.node(0).call("EXISTS", RESOURCE));
        nodes.node(2).resume();
        Await.until("lock and unlock on the node that timed out", () -> scriptCalls(nodes.node(2)) == 2);
    }

    private static long scriptCalls(RedisNode node) throws IOException {
        return Pattern.compile("cmdstat_eval(sha)?:calls=(\\d+)")
                .matcher(String.valueOf(node.call("INFO", "commandstats")))
                .results()
                .mapToLong(call -> Long.parseLong(call.group(2)))
                .sum();
    }
}
