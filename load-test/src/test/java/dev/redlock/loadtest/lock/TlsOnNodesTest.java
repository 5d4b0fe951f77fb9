package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TlsOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TlsProvider;
import dev.redlock.loadtest.Await;
import dev.redlock.tls.TestCertificates;
import dev.redlock.trial.nodes.Data;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** TLS with real servers, which require a client certificate. */
@Timeout(120)
class TlsOnNodesTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();
    private static final AcquireOptions WAITING = OPTIONS.waitUpTo(Duration.ofSeconds(60));
    private static final int WOKEN_MIN = 15;
    /** On a busy machine, a waiter that retries is often before the one that is woken. */
    private static final int HANDOFFS_MAX = 300;

    @TempDir
    static Path folder;
    private static RedisNodes nodes;

    @BeforeAll
    static void start() {
        nodes = RequiredNodes.start(new RedisNodesContext().source(Source.PATH).count(3).tls(true));
    }

    @AfterAll
    static void end() {
        if (nodes != null) {
            nodes.close();
        }
    }

    private static TlsOptions trusting() {
        return TlsOptions.defaults().trustCertificates(nodes.tls().authorities().get(0));
    }

    private static TlsOptions options(TlsProvider provider) {
        return nodes.tls().options().provider(provider);
    }

    private static Redlock connect(RedlockContext context) {
        return Redlock.connect(context.restartGuard(RestartGuardMode.OFF).nodeTimeout(Duration.ofSeconds(5)));
    }

    private static Redlock connect(TlsOptions options) {
        return connect(new RedlockContext().nodes(nodes.tlsAddresses())
                .tls(options)
                .connectTimeout(Duration.ofSeconds(20)));
    }

    private static void awaitReady(Redlock redlock) throws Exception {
        Await.until("ready", () -> redlock.nodes().stream().allMatch(node -> node.state() == NodeState.READY));
    }

    /** On a busy machine, the first connections may end by their timeout, which is a problem too. */
    private static void assertProblem(Redlock redlock, String part) throws Exception {
        NodeStatus status = redlock.nodes().get(0);
        AtomicReference<String> problem = new AtomicReference<>();
        Await.until(() -> "a problem with '" + part + "', but: " + problem, () -> {
            problem.set(String.valueOf(status.problem()));
            return problem.get().contains(part);
        });
        assertFalse(problem.get().contains("javax."), problem.get());
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void releasesWakeTheWaiterOfAnotherClientOverTls(TlsProvider provider) throws Exception {
        try (Redlock one = connect(options(provider)); Redlock other = connect(options(provider))) {
            awaitReady(one);
            awaitReady(other);
            Lease held = one.acquire("tls", OPTIONS).lease();
            assertEquals(ExtendOutcome.EXTENDED, held.extend(Duration.ofSeconds(30)));
            for (int i = 0; i < HANDOFFS_MAX && wokenCount(one, other) < WOKEN_MIN; i++) {
                Redlock waiter = i % 2 == 0 ? other : one;
                long refused = refusedCount(waiter);
                CompletableFuture<AcquireOutcome> waiting = waiter.acquireAsync("tls", WAITING).toCompletableFuture();
                Await.until("refused", () -> refusedCount(waiter) > refused);
                assertEquals(ReleaseOutcome.RELEASED, held.release());
                held = waiting.get().lease();
            }
            held.release();
            long woken = wokenCount(one, other);
            assertTrue(woken >= WOKEN_MIN, () -> "woken " + woken + " of " + HANDOFFS_MAX);
        }
    }

    private static long wokenCount(Redlock one, Redlock other) {
        return one.counters().wokenCount() + other.counters().wokenCount();
    }

    private static long refusedCount(Redlock redlock) {
        return redlock.nodes().stream().mapToLong(NodeStatus::refusedCount).sum();
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aMissingClientCertificateIsAProblem(TlsProvider provider) throws Exception {
        try (Redlock redlock = connect(trusting().provider(provider))) {
            assertProblem(redlock, "client certificate");
            assertProblem(redlock, "TlsOptions.clientCertificate");
        }
        try (Redlock redlock = connect(trusting().provider(provider).protocols("TLSv1.2"))) {
            assertProblem(redlock, "client certificate");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aClientCertificateOfAnotherAuthorityIsAProblem(TlsProvider provider) throws Exception {
        TestCertificates others = new TestCertificates(folder);
        X509Bundle client = others.forClient();
        try (Redlock redlock = connect(trusting().provider(provider)
                .clientCertificate(others.certificateFile("other", client), others.keyFile("other", client)))) {
            assertProblem(redlock, "client certificate");
        }
    }

    @Test
    void aClientWithoutTlsAtTheTlsPortIsAProblem() throws Exception {
        String[] withoutTls = Arrays.stream(nodes.tlsAddresses())
                .map(address -> address.replace("rediss://", "redis://"))
                .toArray(String[]::new);
        try (Redlock redlock = connect(new RedlockContext().nodes(withoutTls))) {
            assertProblem(redlock, "if this is its TLS port, write rediss://127.0.0.1:");
        }
    }

    /** A server without TLS waits for the end of a line, or rejects the handshake as a command. */
    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aClientWithTlsAtThePortWithoutTlsIsAProblem(TlsProvider provider) throws Exception {
        String[] withTls = nodes.nodes().stream().map(node -> "rediss://" + node.address()).toArray(String[]::new);
        try (Redlock redlock = connect(
                new RedlockContext().nodes(withTls).tls(options(provider)).connectTimeout(Duration.ofMillis(300)))) {
            assertProblem(redlock, "TLS");
            assertProblem(redlock, "port");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aRestartedNodeIsConnectedAgainWithReplacedFiles(TlsProvider provider) throws Exception {
        Path certificate = copy(nodes.tls().certificate(), "rotated.pem");
        Path key = copy(nodes.tls().key(), "rotated.key");
        try (Redlock redlock = connect(trusting().provider(provider).clientCertificate(certificate, key))) {
            awaitReady(redlock);
            Files.writeString(key, "broken");
            RedisNode node = nodes.node(0);
            node.restart(Data.LOST);
            NodeStatus status = redlock.nodes().get(0);
            Await.until("connected with the previous files", () -> status.state() == NodeState.READY
                    && String.valueOf(status.tlsDescription()).contains("rotated.key has no private key"));
            copy(nodes.tls().key(), "rotated.key");
            node.restart(Data.LOST);
            Await.until("connected with the new files", () -> status.state() == NodeState.READY
                    && !String.valueOf(status.tlsDescription()).contains("rotated.key"));
            assertEquals(ReleaseOutcome.RELEASED, redlock.acquire("rotated", OPTIONS).lease().release());
        }
    }

    private static Path copy(Path file, String name) throws IOException {
        return Files.copy(file, folder.resolve(name), StandardCopyOption.REPLACE_EXISTING);
    }
}
