package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.HotSpotDiagnosticMXBean;
import dev.redlock.AcquireOptions;
import dev.redlock.Credentials;
import dev.redlock.CredentialsProvider;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Users, passwords and names of connections on a real server. */
@Timeout(60)
class CredentialsOnNodesTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();
    private static final int SECRET_LENGTH = 32;

    private static RedisNodes nodes;

    private final AtomicReference<String> password = new AtomicReference<>("first");
    private final AtomicInteger asked = new AtomicInteger();

    @BeforeAll
    static void startNode() {
        nodes = RequiredNodes.start(new RedisNodesContext().count(1));
    }

    @AfterAll
    static void endNode() {
        if (nodes != null) {
            nodes.close();
        }
    }

    @BeforeEach
    void resetUser() {
        call("ACL", "DELUSER", "app");
        call("ACL", "SETUSER", "app", "on", ">first", "~*", "+@all");
        call("CONFIG", "RESETSTAT");
    }

    private static Object call(String... words) {
        return nodes.node(0).call(words);
    }

    private static String place() {
        RedisNode node = nodes.node(0);
        return node.address().host() + ":" + node.address().port();
    }

    private static RedlockContext context(String address) {
        return new RedlockContext().nodes(address)
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(5));
    }

    private RedlockContext context(CredentialsProvider provider) {
        return context(place()).credentials(node -> {
            asked.incrementAndGet();
            return provider.credentials(node);
        });
    }

    private Credentials credentials() {
        return Credentials.of("app", password.get().toCharArray());
    }

    /** The field of CLIENT LIST for each connection of the client under test. */
    private static List<String> listed(String name, String field) {
        return call("CLIENT", "LIST").toString()
                .lines()
                .filter(line -> line.contains(" name=" + name + " "))
                .map(line -> line.replaceAll(".*\\b" + field + "=(\\S*).*", "$1"))
                .toList();
    }

    private static void assertLocks(Redlock redlock) throws InterruptedException {
        redlock.acquire(redlock.key("orders"), OPTIONS).lease().release();
    }

    private static void awaitReady(NodeStatus node) throws Exception {
        Await.until("ready", () -> node.state() == NodeState.READY);
    }

    // ---- names ------------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(strings = {"", "redis://app:first@"})
    void clientNameIsListed(String login) throws Exception {
        String address = login.isEmpty() ? place() : login + place();
        try (Redlock named = Redlock.connect(context(address).clientName("orders-1"));
                Redlock usual = Redlock.connect(context(address))) {
            assertEquals(1, listed("orders-1", "name").size());
            assertEquals(1, listed("redlock", "name").size());
            assertEquals(List.of(login.isEmpty() ? "default" : "app"), listed("orders-1", "user"));
            assertLocks(named);
            assertLocks(usual);
        }
    }

    // ---- rotation ---------------------------------------------------------------------------------------------------

    @Test
    void nextConnectionUsesTheNewPassword() throws Exception {
        try (Redlock redlock = Redlock.connect(context(node -> credentials()))) {
            assertLocks(redlock);
            call("ACL", "SETUSER", "app", "resetpass", ">second");
            password.set("second");
            assertLocks(redlock);
            assertEquals(1, asked.get(), "a change does not disturb a connection");
            call("CLIENT", "KILL", "USER", "app");
            Await.until("asked again", () -> asked.get() == 2);
            awaitReady(redlock.nodes().get(0));
            assertLocks(redlock);
        }
    }

    @Test
    void wrongPasswordIsReportedWithoutIt() throws Exception {
        password.set("wr0ng");
        String code = "authentication failed: WRONGPASS; check the user and the password ";
        try (Redlock provided = Redlock.connect(context(node -> credentials()));
                Redlock addressed = Redlock.connect(context("redis://app:wr0ng@" + place()))) {
            assertEquals(code + "that the credentials provider returns", provided.nodes().get(0).problem());
            assertEquals(code + "in the node's address", addressed.nodes().get(0).problem());
            assertFalse((provided + "" + provided.nodes() + addressed + addressed.nodes()).contains("wr0ng"));
        }
    }

    // ---- a live connection ------------------------------------------------------------------------------------------

    @Test
    void liveConnectionAuthenticatesAgainWithoutDisturbingLocks() throws Exception {
        call("ACL", "SETUSER", "app2", "on", ">other", "~*", "+@all");
        CredentialsProvider provider = node -> (asked.get() == 1
                ? credentials()
                : Credentials.of("app2", "other".toCharArray())).refreshAfter(Duration.ofSeconds(1));
        try (Redlock redlock = Redlock.connect(context(provider).clientName("tokens"))) {
            List<String> id = listed("tokens", "id");
            assertEquals(List.of("app"), listed("tokens", "user"));
            int count = 0;
            while (!listed("tokens", "user").equals(List.of("app2"))) {
                for (int i = 0; i < 50; i++) {
                    assertLocks(redlock);
                    count++;
                }
            }
            assertTrue(count > 50, "locks meanwhile: " + count);
            assertEquals(id, listed("tokens", "id"), "the same connection");
            assertEquals(0, redlock.nodes().get(0).disconnectCount());
            assertNull(redlock.nodes().get(0).problem());
        }
    }

    @Test
    void refusedReauthenticationKeepsTheConnection() throws Exception {
        try (Redlock redlock = Redlock.connect(context(node -> credentials().refreshAfter(Duration.ofSeconds(1))))) {
            NodeStatus node = redlock.nodes().get(0);
            password.set("wr0ng");
            Await.until("reported", () -> node.problem() != null);
            assertEquals("re-authentication failed, the connection keeps its last login: WRONGPASS; check the user and"
                    + " the password that the credentials provider returns", node.problem());
            assertEquals(NodeState.READY, node.state());
            assertLocks(redlock);
            assertEquals(0, node.disconnectCount());
        }
    }

    // ---- hostile providers ------------------------------------------------------------------------------------------

    @Test
    void providerMayBlockAndUseTheClient() throws Exception {
        CountDownLatch blocked = new CountDownLatch(1);
        AtomicReference<Redlock> client = new AtomicReference<>();
        AtomicReference<Object> outcome = new AtomicReference<>();
        CredentialsProvider provider = node -> {
            if (client.get() != null) {
                // Its only node is not connected, so this fails. It must not stop the client.
                outcome.set(client.get().tryAcquire("orders", Duration.ofSeconds(10)));
                blocked.await();
            }
            return credentials();
        };
        try (Redlock redlock = Redlock.connect(context(provider))) {
            client.set(redlock);
            NodeStatus node = redlock.nodes().get(0);
            call("CLIENT", "KILL", "USER", "app");
            Await.until("called back", () -> outcome.get() != null);
            assertEquals(NodeState.HANDSHAKING, node.state());
            assertFalse(redlock.tryAcquire("orders", Duration.ofSeconds(10)).isAcquired(), "the loop is not blocked");
            blocked.countDown();
            awaitReady(node);
            assertLocks(redlock);
        }
    }

    @Test
    void closeDoesNotWaitForAProviderThatBlocks() throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        CredentialsProvider provider = node -> {
            entered.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                interrupted.countDown();
                throw e;
            }
            return null;
        };
        try (Redlock redlock = Redlock.connect(context(provider).connectTimeout(Duration.ofMillis(100)))) {
            assertTrue(entered.await(60, TimeUnit.SECONDS));
            assertFalse(redlock.tryAcquire("orders", Duration.ofSeconds(10)).isAcquired());
        }
        assertTrue(interrupted.await(60, TimeUnit.SECONDS));
    }

    // ---- secrets ----------------------------------------------------------------------------------------------------

    /**
     * The whole heap, objects without references included, has no copy of a provider's password after the handshake. A
     * second password that the test keeps proves that the search finds one.
     */
    @Test
    void heapHoldsNoPasswordOfAProvider(@TempDir Path folder) throws Exception {
        byte[] mask = new byte[SECRET_LENGTH];
        new SecureRandom().nextBytes(mask);
        byte[] masked = masked(mask);
        byte[] keptMask = new byte[SECRET_LENGTH];
        new SecureRandom().nextBytes(keptMask);
        byte[] keptMasked = masked(keptMask);
        char[] kept = secret(keptMask, keptMasked);
        char[] hashed = secret(mask, masked);
        call("ACL", "SETUSER", "app", "resetpass", "#" + sha256(hashed));
        CredentialsProvider provider = node -> {
            Credentials credentials = Credentials.of("app", secret(mask, masked));
            return asked.get() == 1 ? credentials.refreshAfter(Duration.ofSeconds(1)) : credentials;
        };
        try (Redlock redlock = Redlock.connect(context(provider))) {
            assertLocks(redlock);
            Await.until("authenticated again",
                    () -> call("INFO", "commandstats").toString().contains("cmdstat_auth"));
            Path dump = folder.resolve("heap.hprof");
            ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(dump.toString(), false);
            assertTrue(isIn(dump, kept), "the password that is kept");
            assertFalse(isIn(dump, secret(mask, masked)), "the password of the provider");
            assertLocks(redlock);
        }
    }

    /** Random letters, in two parts. */
    private static byte[] masked(byte[] mask) {
        byte[] masked = new byte[mask.length];
        SecureRandom random = new SecureRandom();
        for (int i = 0; i < mask.length; i++) {
            masked[i] = (byte) (mask[i] ^ 'a' + random.nextInt(26));
        }
        return masked;
    }

    private static char[] secret(byte[] mask, byte[] masked) {
        char[] secret = new char[mask.length];
        for (int i = 0; i < mask.length; i++) {
            secret[i] = (char) (mask[i] ^ masked[i]);
        }
        return secret;
    }

    private static byte[] latin(char[] text) {
        byte[] bytes = new byte[text.length];
        for (int i = 0; i < text.length; i++) {
            bytes[i] = (byte) text[i];
        }
        return bytes;
    }

    private static String sha256(char[] secret) throws Exception {
        byte[] bytes = latin(secret);
        Arrays.fill(secret, '\0');
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        String hash = HexFormat.of().formatHex(digest.digest(bytes));
        Arrays.fill(bytes, (byte) 0);
        // It keeps the last block until its next use.
        digest.reset();
        return hash;
    }

    /** Whether a file has the text: one byte for each character, or two in either order, as heap dumps have them. */
    private static boolean isIn(Path file, char[] text) throws IOException {
        String narrow = new String(text);
        String bigEndian = new String(narrow.getBytes(StandardCharsets.UTF_16BE), StandardCharsets.ISO_8859_1);
        String littleEndian = new String(narrow.getBytes(StandardCharsets.UTF_16LE), StandardCharsets.ISO_8859_1);
        int overlap = bigEndian.length();
        byte[] chunk = new byte[1 << 22];
        String end = "";
        try (InputStream in = Files.newInputStream(file)) {
            for (int length = in.read(chunk); length > 0; length = in.read(chunk)) {
                String part = end + new String(chunk, 0, length, StandardCharsets.ISO_8859_1);
                if (part.contains(narrow) || part.contains(bigEndian) || part.contains(littleEndian)) {
                    return true;
                }
                end = part.substring(Math.max(0, part.length() - overlap));
            }
        }
        return false;
    }
}
