package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import io.micronaut.context.ApplicationContext;
import io.micronaut.runtime.server.EmbeddedServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two instances of the application of docs/start/micronaut.md on real nodes. */
@Timeout(60)
class MicronautTest {

    private static final long LIMIT_SECONDS = 30;

    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static RedisNodes nodes;

    /** One instance of the application, with a server on a free port. */
    private record Instance(EmbeddedServer server) implements AutoCloseable {
        static Instance start(RedisNodes nodes, String every) {
            return new Instance(ApplicationContext.run(EmbeddedServer.class,
                    Map.of("redlock.nodes", String.join(",", nodes.addresses()), "micronaut.server.port", -1,
                            "jobs.report.every", every, "jobs.report.hold-at-least", "0s")));
        }

        Work work() {
            return server.getApplicationContext().getBean(Work.class);
        }

        Redlock redlock() {
            return server.getApplicationContext().getBean(Redlock.class);
        }

        CompletableFuture<Integer> ship(String id) {
            return HTTP.sendAsync(request("/orders/" + id + "/shipment").POST(HttpRequest.BodyPublishers.noBody())
                    .build(), HttpResponse.BodyHandlers.ofString()).thenApply(HttpResponse::statusCode);
        }

        HttpResponse<String> health() throws IOException, InterruptedException {
            return HTTP.send(request("/health").build(), HttpResponse.BodyHandlers.ofString());
        }

        private HttpRequest.Builder request(String path) {
            return HttpRequest.newBuilder(URI.create(server.getURL() + path));
        }

        @Override
        public void close() {
            server.close();
        }
    }

    private interface Condition {
        boolean isMet() throws IOException, InterruptedException;
    }

    @BeforeAll
    static void start() {
        nodes = RequiredNodes.start(Source.PATH, 3);
    }

    @AfterAll
    static void end() {
        if (nodes != null) {
            nodes.close();
        }
    }

    private static void await(String what, Condition condition) throws IOException, InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (!condition.isMet()) {
            assertTrue(System.nanoTime() - deadlineNs < 0, what);
            new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
        }
    }

    /** The client sends its releases before it closes its connections; the nodes may execute them a little later. */
    private static void assertNothingIsLeft() throws IOException, InterruptedException {
        for (RedisNode node : nodes.nodes()) {
            await("keys on " + node, () -> node.call("DBSIZE").equals(0L));
            await("connections to " + node, () -> !node.call("CLIENT", "LIST").toString().contains("name=redlock"));
        }
    }

    private static String started(Instance instance) throws InterruptedException {
        return instance.work().started.poll(LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void aRequestExcludesThoseOfAnotherInstance() throws Exception {
        try (Instance one = Instance.start(nodes, "1h"); Instance two = Instance.start(nodes, "1h")) {
            CompletableFuture<Integer> first = one.ship("42");
            await("the first request has the lock", () -> one.work().started.contains("42"));
            assertEquals(409, two.ship("42").get(LIMIT_SECONDS, TimeUnit.SECONDS));
            one.work().end.countDown();
            two.work().end.countDown();
            assertEquals(204, first.get(LIMIT_SECONDS, TimeUnit.SECONDS));
            assertEquals(204, two.ship("42").get(LIMIT_SECONDS, TimeUnit.SECONDS));
        }
        assertNothingIsLeft();
    }

    @Test
    void aJobRunsOnOneInstanceAndOnTheOtherWhenThatOneIsClosed() throws Exception {
        try (Instance one = Instance.start(nodes, "100ms")) {
            assertEquals("report", started(one));
            Redlock first = one.redlock();
            try (Instance two = Instance.start(nodes, "100ms")) {
                await("the other instance tries", () -> two.redlock().counters().contendedAttemptCount() >= 3);
                assertNull(two.work().started.poll());
                one.close();
                assertEquals("report", started(two));
                assertEquals(0, first.counters().heldCount());
                two.work().end.countDown();
            }
        }
        assertNothingIsLeft();
    }

    /** Nothing listens on these ports. */
    @Test
    void aClusterWithSeveralServersIsOneNode() {
        String cluster = "redis-cluster://127.0.0.1:1,127.0.0.1:2";
        try (ApplicationContext application = ApplicationContext.run(Map.of("redlock.nodes[0]", cluster,
                "redlock.nodes[1]", "127.0.0.1:3", "jobs.report.every", "1h", "jobs.report.hold-at-least", "0s"))) {
            String options = application.getBean(RedlockContext.class).toString();
            assertTrue(options.contains("nodes=[" + cluster + ", 127.0.0.1:3]"), options);
        }
    }

    @Test
    void healthIsDownWithoutAQuorum() throws Exception {
        try (RedisNodes own = RequiredNodes.start(Source.PATH, 3); Instance instance = Instance.start(own, "1h")) {
            await("a quorum votes", () -> instance.health().statusCode() == 200);
            own.node(0).kill();
            own.node(1).kill();
            await("no quorum votes", () -> instance.health().statusCode() == 503);
            assertTrue(instance.health().body().contains("\"DOWN\""));
        }
    }
}
