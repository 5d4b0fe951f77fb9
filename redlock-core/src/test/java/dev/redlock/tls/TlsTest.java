package dev.redlock.tls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.TlsOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TlsProvider;
import dev.redlock.sim.SocketNodes;
import dev.redlock.testing.Await;
import dev.redlock.testing.LogLines;
import dev.redlock.transport.IoTransport;
import dev.redlock.transport.NettyTransport;
import dev.redlock.transport.NodeAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.handler.ssl.OpenSsl;
import io.netty.pkitesting.CertificateBuilder.Algorithm;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.logging.Level;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** TLS over real sockets, by both implementations: success, and the text of each problem. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class TlsTest {

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final char[] PASSWORD = "store-secret".toCharArray();

    @TempDir
    static Path folder;
    private static SocketNodes nodes;
    private static TestCertificates certificates;
    private static X509Bundle nodeIdentity;

    private final List<Redlock> clients = new ArrayList<>();
    private TlsServer server;

    @BeforeAll
    static void start() {
        nodes = new SocketNodes(1);
        certificates = new TestCertificates(folder);
        nodeIdentity = certificates.forNode();
    }

    @AfterAll
    static void end() {
        nodes.close();
    }

    @AfterEach
    void closeAll() throws Exception {
        clients.forEach(client -> client.closeWithin(Duration.ZERO));
        if (server != null) {
            server.close();
        }
    }

    private static int nodePort() {
        return Integer.parseInt(nodes.addresses()[0].replaceFirst(".*:", ""));
    }

    private TlsServer server() throws Exception {
        server = new TlsServer(nodePort(), nodeIdentity);
        return server;
    }

    private static TlsOptions options(TlsProvider provider) {
        Assumptions.assumeTrue(provider != TlsProvider.OPENSSL || OpenSsl.isAvailable());
        return TlsOptions.defaults().trustCertificates(certificates.authorityFile()).provider(provider);
    }

    private NodeStatus connect(RedlockContext context) {
        Redlock client = Redlock.connect(context.restartGuard(RestartGuardMode.OFF).nodeTimeout(Duration.ofSeconds(5)));
        clients.add(client);
        return client.nodes().get(0);
    }

    private NodeStatus connect(TlsOptions options) {
        // A handshake takes a busy machine more than the second that is the default.
        return connect(new RedlockContext().nodes("rediss://localhost:" + server.port())
                .tls(options)
                .connectTimeout(Duration.ofSeconds(20)));
    }

    private static void assertReady(NodeStatus status) {
        Await.until(status::toString, () -> status.state() == NodeState.READY);
    }

    private static void assertProblem(NodeStatus status, String... parts) {
        Await.until(status::toString, () -> status.state() == NodeState.WAITING && status.problem() != null);
        for (String part : parts) {
            assertTrue(status.problem().contains(part), status.problem());
        }
        assertFalse(status.problem().contains("Exception"), status.problem());
        assertFalse(status.problem().contains("\n"), status.problem());
        assertNull(status.tlsDescription());
    }

    private void assertLocks() throws InterruptedException {
        Redlock client = clients.get(clients.size() - 1);
        for (int i = 0; i < 20; i++) {
            Lease lease = client.tryAcquire("tls/" + i, TTL).lease();
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
        }
    }

    // ---- good connections -------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aTrustedNodeIsReadyAndTheStatusNamesTheTls(TlsProvider provider) throws Exception {
        server();
        NodeStatus status = connect(options(provider));
        assertReady(status);
        assertLocks();
        assertEquals("rediss://localhost:" + server.port(), status.address());
        assertTrue(status.tlsDescription()
                .matches("TLSv1.3, TLS_AES_[A-Z0-9_]+, "
                        + (provider == TlsProvider.JDK ? "JDK" : "BoringSSL")),
                status.tlsDescription());
        assertEquals("localhost", server.serverName(), "server name of a host without a dot");
        assertNull(status.problem());
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void theOlderProtocolIsUsedIfTheNodeHasNoOther(TlsProvider provider) throws Exception {
        server().protocols("TLSv1.2");
        NodeStatus status = connect(options(provider));
        assertReady(status);
        assertLocks();
        assertTrue(status.tlsDescription().startsWith("TLSv1.2, TLS_ECDHE"), status.tlsDescription());
    }

    @Test
    void withoutAProviderTheNativeLibraryIsPreferred() throws Exception {
        server();
        NodeStatus status = connect(options(TlsProvider.AUTO));
        assertReady(status);
        String expected = OpenSsl.isAvailable() ? OpenSsl.versionString() : "JDK";
        assertTrue(status.tlsDescription().endsWith(", " + expected), status.tlsDescription());
    }

    @Test
    void aWriteOfManyCommandsAndAReadOfManyRepliesPass() throws Exception {
        server();
        assertReady(connect(options(TlsProvider.JDK)));
        Redlock client = clients.get(0);
        List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            outcomes.add(client.acquireAsync("many/" + i, AcquireOptions.ofTtl(TTL).tryOnce()).toCompletableFuture());
        }
        for (var outcome : outcomes) {
            assertTrue(outcome.join().isAcquired(), () -> outcome.join().toString());
        }
    }

    @Test
    void aServerWithoutTrustSettingsIsCheckedAgainstTheCertificatesOfTheJdk() throws Exception {
        server();
        NodeStatus status = connect(new RedlockContext().nodes("rediss://localhost:" + server.port()));
        assertProblem(status, "the certificate of the node is not trusted", "TlsOptions.trustCertificates");
    }

    // ---- client certificates ----------------------------------------------------------------------------------------

    static Stream<TlsOptions> identities() {
        X509Bundle client = certificates.forClient();
        X509Bundle rsa = certificates.forClient(Algorithm.rsa2048);
        Path file = certificates.certificateFile("identity", client);
        Path p12 = certificates.storeFile("identity.p12", "PKCS12", PASSWORD, certificates.authority(), client);
        Path jks = certificates.storeFile("identity.jks", "JKS", PASSWORD, certificates.authority(), client);
        return Stream.of(TlsProvider.JDK, TlsProvider.OPENSSL)
                .filter(provider -> provider == TlsProvider.JDK || OpenSsl.isAvailable())
                .map(TlsTest::options)
                .flatMap(tls -> Stream.of(tls.clientCertificate(file, certificates.keyFile("identity", client)),
                        tls.clientCertificate(certificates.certificateFile("rsa", rsa),
                                certificates.keyFile("rsa", rsa)),
                        tls.clientKeyStore(p12, PASSWORD::clone).trustStore(p12, PASSWORD::clone),
                        tls.clientKeyStore(jks, PASSWORD::clone).trustStore(jks, PASSWORD::clone)));
    }

    @ParameterizedTest
    @MethodSource("identities")
    void aNodeThatAsksForAClientCertificateGetsIt(TlsOptions options) throws Exception {
        server().trust(certificates.authority());
        assertReady(connect(options));
        assertLocks();
        assertEquals("CN=client", server.clientName());
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aMissingClientCertificateIsAProblem(TlsProvider provider) throws Exception {
        server().trust(certificates.authority());
        try (LogLines log = new LogLines()) {
            assertProblem(connect(options(provider)), "client certificate", "TlsOptions.clientCertificate");
            Await.until("logged", () -> !log.with(Level.WARNING, "client certificate").isEmpty());
        }
        assertProblem(connect(options(provider).protocols("TLSv1.2")), "client certificate",
                "TlsOptions.clientCertificate");
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aClientCertificateOfAnUnknownAuthorityIsAProblem(TlsProvider provider) throws Exception {
        X509Bundle other = TestCertificates.authority("CN=other authority");
        X509Bundle client = certificates.forClient();
        server().trust(other);
        assertProblem(connect(options(provider).clientCertificate(certificates.certificateFile("untrusted", client),
                certificates.keyFile("untrusted", client))), "client certificate");
    }

    // ---- certificates of nodes --------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void anUnknownAuthorityIsAProblem(TlsProvider provider) throws Exception {
        server();
        Path other = certificates.write("other-ca.pem",
                TestCertificates.authority("CN=other authority").getCertificatePEM());
        try (LogLines log = new LogLines()) {
            assertProblem(connect(options(provider).trustCertificates(other)),
                    "the certificate of the node is not trusted: add the certificate of its authority");
            Await.until("logged",
                    () -> log.with(Level.WARNING, "): the certificate of the node is not trusted").size() == 1);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aCertificateOfAnotherHostIsAProblem(TlsProvider provider) throws Exception {
        server().identity(certificates.forHost("node.example"));
        assertProblem(connect(options(provider)), "the certificate of the node is not for host localhost",
                "issue a certificate with this name");
        NodeStatus byAddress = connect(
                new RedlockContext().nodes("rediss://127.0.0.1:" + server.port()).tls(options(provider)));
        assertProblem(byAddress, "the certificate of the node is not for host 127.0.0.1");
        assertNull(server.serverName(), "an IP address is no server name");
    }

    /** The names of nodes lead to these places. */
    private record Places(List<SocketAddress> places) implements IoTransport {

        @Override
        public String description() {
            return NettyTransport.NIO.description();
        }

        @Override
        public IoHandlerFactory newIoHandlerFactory() {
            return NettyTransport.NIO.newIoHandlerFactory();
        }

        @Override
        public Class<? extends Channel> channelClass(NodeAddress address) {
            return NettyTransport.NIO.channelClass(address);
        }

        @Override
        public void tune(Bootstrap bootstrap, NodeAddress address, int userTimeoutMs) {
            NettyTransport.NIO.tune(bootstrap, address, userTimeoutMs);
        }

        @Override
        public void resolve(NodeAddress address, Executor threads, EventLoop loop,
                BiConsumer<List<SocketAddress>, Throwable> answer) {
            answer.accept(places, null);
        }
    }

    /** The certificate is compared with the name, whatever the address. */
    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aServerThatTlsRejectsIsFollowedByTheNextAddressOfTheName(TlsProvider provider) throws Exception {
        server();
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NettyTransport.NIO.newIoHandlerFactory());
        try (TlsServer wrong = new TlsServer(nodePort(), certificates.forHost("node.example"));
                LogLines log = new LogLines()) {
            IoTransport transport = new Places(Stream.of(wrong, server)
                    .<SocketAddress>map(one -> new InetSocketAddress(InetAddress.getLoopbackAddress(), one.port()))
                    .toList());
            TestClient client = new TestClient(new RedlockContext().nodes("rediss://localhost:1")
                    .tls(options(provider)), group.next(), transport, System::nanoTime, 1);
            clients.add(client.redlock());
            client.open().join();
            assertReady(client.redlock().nodes().get(0));
            assertEquals("localhost", server.serverName());
            Await.until("logged", () -> log.with("the certificate of the node is not for host localhost").size() == 1
                    && log.with("one of the 2 addresses of localhost").size() == 1);
            server.identity(certificates.forHost("node.example"));
            server.disconnectAll();
            NodeStatus status = client.redlock().nodes().get(0);
            Await.until(status::toString, () -> String.valueOf(status.problem())
                    .startsWith("none of the 2 addresses of localhost can be used: 127.0.0.1: the certificate"));
            client.redlock().closeWithin(Duration.ZERO);
        } finally {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aCommonNameIsNoHostName(TlsProvider provider) throws Exception {
        server().identity(certificates.forClient("CN=localhost"));
        assertProblem(connect(options(provider)), "localhost as its common name only", "subject alternative name");
        assertReady(connect(options(provider).acceptAnyHostName()));
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void acceptingAnyHostNameIsLoggedAsAWarningOnce(TlsProvider provider) throws Exception {
        server().identity(certificates.forHost("node.example"));
        try (LogLines log = new LogLines()) {
            assertReady(connect(options(provider).acceptAnyHostName()));
            assertEquals(1, log.with(Level.WARNING, "TLS does not verify the host names").size());
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void acceptingAnyHostNameDoesNotAcceptAnyAuthority(TlsProvider provider) throws Exception {
        server().identity(TestCertificates.authority("CN=localhost"));
        try (LogLines log = new LogLines()) {
            assertProblem(connect(options(provider).acceptAnyHostName()), "is not trusted");
            assertEquals(1, log.with("TLS does not verify").size());
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void anExpiredCertificateIsAProblem(TlsProvider provider) throws Exception {
        server().identity(certificates.validFor(Duration.ofDays(-2), Duration.ofDays(-1)));
        assertProblem(connect(options(provider)), "a certificate of the node has expired", "renew the certificate");
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aCertificateOfTheFutureIsAProblem(TlsProvider provider) throws Exception {
        server().identity(certificates.validFor(Duration.ofHours(1), Duration.ofHours(2)));
        assertProblem(connect(options(provider)), "a certificate of the node is not valid yet", "check the clocks");
    }

    // ---- broken peers -----------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aReplyWithoutTlsIsAProblem(TlsProvider provider) throws Exception {
        server().way(TlsServer.sending("-ERR Protocol error: secret-of-the-node\r\n"));
        NodeStatus status = connect(options(provider));
        assertProblem(status, "the node replies without TLS", "write redis://");
        assertFalse(status.problem().contains("secret-of-the-node"), status.problem());
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aNodeThatIsSilentInTheHandshakeIsAProblem(TlsProvider provider) throws Exception {
        server().way(TlsServer::stall);
        long startNs = System.nanoTime();
        NodeStatus status = connect(new RedlockContext().nodes("rediss://localhost:" + server.port())
                .tls(options(provider))
                .connectTimeout(Duration.ofMillis(200)));
        assertProblem(status, "the TLS handshake was not complete 200 ms after the connect started",
                "check that the port is the TLS port");
        assertTrue(System.nanoTime() - startNs < 10_000_000_000L, "the limits of Netty are longer");
        Await.until("next try", () -> server.acceptedCount() > 1);
    }

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aNodeThatDisconnectsInTheHandshakeIsAProblem(TlsProvider provider) throws Exception {
        server().way(TlsServer::disconnect);
        assertProblem(connect(options(provider)), "the node closed the connection in the TLS handshake",
                "check that the port is its TLS port");
        Await.until("next try", () -> server.acceptedCount() > 2);
    }

    /** A record header with each type, then random bytes. */
    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void garbageInTheHandshakeIsAProblemAndTheClientRecovers(TlsProvider provider) throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        server();
        for (int type = 20; type < 25; type++) {
            byte[] garbage = new byte[300];
            random.nextBytes(garbage);
            garbage[0] = (byte) type;
            garbage[1] = 3;
            garbage[2] = 3;
            garbage[3] = 0;
            garbage[4] = (byte) 200;
            server.way(TlsServer.sending(garbage));
            NodeStatus status = connect(options(provider).protocols("TLSv1.2", "TLSv1.3"));
            Await.until(() -> "seed " + seed + ", type " + garbage[0] + ": " + status,
                    () -> status.problem() != null && status.state() == NodeState.WAITING);
            assertFalse(status.problem().contains("Exception"), status.problem());
            server.way(TlsServer::relay);
            assertReady(status);
        }
    }

    static Stream<Arguments> endsOfStreams() {
        return Stream.of(TlsProvider.JDK, TlsProvider.OPENSSL)
                .flatMap(provider -> Stream.of(TlsServer.End.values())
                        .flatMap(end -> IntStream.of(0, 7, 5_003)
                                .mapToObj(bytes -> Arguments.of(provider, end, bytes))));
    }

    /** No reply that was cut counts, whether the end of the stream is authentic or not. */
    @ParameterizedTest
    @MethodSource("endsOfStreams")
    void aStreamThatEndsWithinAReplyEndsTheConnectionAndTheClientRecovers(TlsProvider provider, TlsServer.End end,
            int bytes) throws Exception {
        server().way(TlsServer.endedAfter(bytes, end));
        // Longer than the test: a client that waits for replies after the end of the stream fails it.
        NodeStatus status = connect(new RedlockContext().nodes("rediss://localhost:" + server.port())
                .tls(options(provider))
                .unansweredTimeout(Duration.ofSeconds(100)));
        while (server.acceptedCount() < 2) {
            clients.get(0).tryAcquire("truncated", TTL);
            Thread.yield();
        }
        Await.until(status::toString,
                () -> String.valueOf(status.problem()).contains("the server closed the connection"));
        server.way(TlsServer::relay);
        assertReady(status);
        assertLocks();
    }

    /** The JDK completes the second handshake, BoringSSL refuses it. Neither hangs. */
    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void aRenegotiationNeitherHangsNorBreaksLocks(TlsProvider provider) throws Exception {
        server().protocols("TLSv1.2").way(TlsServer::renegotiate);
        NodeStatus status = connect(options(provider));
        Await.until(status::toString, () -> status.state() == NodeState.READY || status.problem() != null);
        if (provider == TlsProvider.JDK) {
            assertReady(status);
            assertLocks();
        } else {
            assertProblem(status, "TLS");
        }
    }

    @Test
    void aClientWithoutTlsIsToldThatTheNodeSpeaksTls() throws Exception {
        server();
        NodeStatus status = connect(new RedlockContext().nodes("localhost:" + server.port()));
        assertProblem(status, "rediss://");
    }

    // ---- changed files ----------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource(names = {"JDK", "OPENSSL"})
    void replacedFilesAreUsedByTheNextConnection(TlsProvider provider) throws Exception {
        server().trust(certificates.authority());
        X509Bundle first = certificates.forClient("CN=first");
        X509Bundle second = certificates.forClient("CN=second");
        NodeStatus status = connect(options(provider).clientCertificate(certificates.certificateFile("rotated", first),
                certificates.keyFile("rotated", first)));
        assertReady(status);
        assertEquals("CN=first", server.clientName());
        certificates.certificateFile("rotated", second);
        certificates.keyFile("rotated", second);
        server.disconnectAll();
        Await.until(() -> server.clientName() + " " + status, () -> "CN=second".equals(server.clientName()));
        assertReady(status);
        assertLocks();
    }

    @Test
    void brokenReplacementsLeaveThePreviousFilesInUseAndAreReported() throws Exception {
        server().trust(certificates.authority());
        X509Bundle first = certificates.forClient("CN=first");
        X509Bundle second = certificates.forClient("CN=second");
        Path file = certificates.certificateFile("broken", first);
        NodeStatus status = connect(
                options(TlsProvider.JDK).clientCertificate(file, certificates.keyFile("broken", first)));
        assertReady(status);
        try (LogLines log = new LogLines()) {
            certificates.certificateFile("broken", second);
            server.disconnectAll();
            Await.until(status::toString, () -> status.state() == NodeState.READY
                    && String.valueOf(status.tlsDescription()).contains("the previous ones are in use"));
            assertEquals("CN=first", server.clientName());
            assertTrue(status.tlsDescription()
                    .contains("broken.key is not the key of the first certificate in "
                            + file),
                    status.tlsDescription());
            Await.until("logged", () -> log.with(Level.WARNING, "the previous ones are in use").size() == 1);
        }
        assertLocks();
        certificates.keyFile("broken", second);
        server.disconnectAll();
        Await.until(status::toString, () -> "CN=second".equals(server.clientName())
                && status.state() == NodeState.READY);
        assertFalse(status.tlsDescription().contains("previous"), status.tlsDescription());
    }

    @Test
    void aNodeIsConnectedWhenItsFilesAppear() throws Exception {
        server();
        Path file = folder.resolve("later.pem");
        NodeStatus status = connect(
                new RedlockContext().nodes("rediss://localhost:" + server.port())
                        .tls(options(TlsProvider.JDK).trustCertificates(file)));
        assertProblem(status, "TLS cannot be used: " + file + " does not exist: check the path in TlsOptions");
        certificates.write("later.pem", certificates.authority().getCertificatePEM());
        assertReady(status);
    }

    /** It throws a checked exception, which it does not declare. */
    @SuppressWarnings("unchecked")
    private static <X extends Throwable> char[] passwordAfter(AtomicInteger failureCount) throws X {
        if (failureCount.getAndDecrement() > 0) {
            throw (X) new IOException("store-secret");
        }
        return PASSWORD.clone();
    }

    @Test
    void aPasswordSupplierThatThrowsOnceFailsOneConnection() throws Exception {
        server();
        Path store = certificates.storeFile("once.p12", "PKCS12", PASSWORD, certificates.authority(), null);
        AtomicInteger failureCount = new AtomicInteger(1);
        try (LogLines log = new LogLines()) {
            assertReady(connect(TlsOptions.defaults()
                    .trustStore(store, () -> TlsTest.<RuntimeException>passwordAfter(failureCount))));
            assertTrue(failureCount.get() < 0, "the supplier has thrown and is called again");
            Await.until("logged", () -> log.with(Level.WARNING, "): TLS cannot be used: the password supplier of "
                    + store + " threw java.io.IOException").size() == 1);
            assertEquals(0, log.with("store-secret").size());
        }
    }

    /** A password supplier that hangs occupies its own thread. */
    @Test
    void aPasswordSupplierThatBlocksDelaysNoOtherNode() throws Exception {
        server();
        Path store = certificates.storeFile("blocked.p12", "PKCS12", PASSWORD, certificates.authority(), null);
        CountDownLatch isReleased = new CountDownLatch(1);
        NodeStatus status = connect(new RedlockContext().nodes("rediss://localhost:" + server.port(),
                nodes.addresses()[0])
                .connectTimeout(Duration.ofMillis(50))
                .tls(TlsOptions.defaults().trustStore(store, () -> {
                    try {
                        isReleased.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    return PASSWORD;
                })));
        NodeStatus other = clients.get(0).nodes().get(1);
        assertReady(other);
        assertEquals(NodeState.CONNECTING, status.state());
        isReleased.countDown();
        Await.until(status::toString, () -> status.problem() != null || status.state() == NodeState.READY);
    }
}
