package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.ClientTls;
import dev.redlock.cli.TlsFileOptions;
import dev.redlock.tls.TestCertificates;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import io.netty.pkitesting.X509Bundle;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands over TLS on real servers that require a client certificate, and the errors of wrong addresses and files. */
@Timeout(120)
class TlsCommandsTest {

    private static final String KEY = "orders/1";
    private static final String KEY_PASSWORD = "0p3n-s3same";

    @TempDir
    static Path folder;
    private static RedisNodes nodes;
    private static TestCertificates others;
    private static int runCount;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @BeforeAll
    static void start() {
        nodes = RequiredNodes.start(
                new RedisNodesContext().source(Source.PATH).count(3).tls(true).config("requirepass s3cr3t"));
        others = new TestCertificates(folder);
    }

    @AfterAll
    static void end() {
        if (nodes != null) {
            nodes.close();
        }
    }

    private int run(String... args) {
        return run(Arrays.asList(args));
    }

    private int run(List<String> args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        String[] words = args.toArray(String[]::new);
        int code = isOfTheOperator(args)
                ? dev.redlock.cli.Main.run(new PrintWriter(out, true), new PrintWriter(err, true), words)
                : Main.run(new PrintWriter(out, true), new PrintWriter(err, true), words);
        assertFalse((out.toString() + err).contains("s3cr3t"), "a password was printed");
        return code;
    }

    private static boolean isOfTheOperator(List<String> args) {
        return args.get(0).equals("locks");
    }

    private static String servers() {
        return String.join(",", nodes.tlsAddresses());
    }

    private static List<String> withFiles(ClientTls files, String... args) {
        List<String> all = new ArrayList<>(Arrays.asList(args));
        all.addAll(TlsFileOptions.arguments(files));
        return all;
    }

    private static List<String> overTls(String... args) {
        List<String> all = withFiles(nodes.tls(), args);
        all.addAll(List.of(isOfTheOperator(all) ? "--nodes" : "--addresses", servers()));
        return all;
    }

    private void assertRefused(int code, String message, List<String> args) {
        int actual = run(args);
        assertEquals(code, actual, () -> out + "\n" + err);
        assertTrue(err.toString().contains(message), err::toString);
        assertFalse(err.toString().contains("TlsOptions"), () -> "advice for programs: " + err);
    }

    // ---- locks ------------------------------------------------------------------------------------------------------

    @Test
    void locksAreListedShownAndBroken() {
        nodes.nodes().forEach(node -> node.call("SET", KEY, "12345678901234567890@api-1", "PX", "30000"));
        assertEquals(0, run(overTls("locks", "list", "orders/")), () -> out + "\n" + err);
        assertTrue(Pattern.compile("orders/1 +3 of 3 +held +api-1 ").matcher(out.toString()).find(), out::toString);
        assertEquals(0, run(overTls("locks", "show", KEY)), () -> out + "\n" + err);
        assertTrue(out.toString().contains("rediss://127.0.0.1:"), out::toString);
        String id = out.toString().replaceFirst("(?s).*\\b([0-9a-f]{8})\\b.*", "$1");
        assertEquals(0, run(overTls("locks", "break", KEY, id, "--yes")), () -> out + "\n" + err);
        assertTrue(nodes.nodes().stream().allMatch(node -> node.call("EXISTS", KEY).equals(0L)));
    }

    /** The password of an encrypted key comes from the environment, which only a process of its own can have. */
    @Test
    void theKeyOfTheClientMayBeEncrypted() throws Exception {
        ClientTls plain = nodes.tls();
        ClientTls encrypted = new ClientTls(plain.authorities(), plain.certificate(), encrypted(plain.key()));
        List<String> list = withFiles(encrypted, "locks", "list", "none/");
        list.addAll(List.of("--nodes", servers()));
        assertListing(0, "No keys with this prefix on 3 of 3 nodes.", Map.of(ClientTls.KEY_PASSWORD, KEY_PASSWORD),
                list);
        assertListing(2, "check " + ClientTls.KEY_PASSWORD, Map.of(ClientTls.KEY_PASSWORD, "another-" + KEY_PASSWORD),
                list);
        assertListing(2, "set " + ClientTls.KEY_PASSWORD, Map.of(), list);
    }

    private static void assertListing(int code, String message, Map<String, String> environment, List<String> args)
            throws Exception {
        try (ChildProgram program = ChildProgram.start(dev.redlock.cli.Main.class, environment, args)) {
            int actual = program.awaitExit();
            String printed = program.out() + program.err();
            assertEquals(code, actual, printed);
            assertTrue(printed.contains(message), printed);
            assertFalse(printed.contains(KEY_PASSWORD), "a password was printed");
        }
    }

    private static Path encrypted(Path key) throws Exception {
        String base64 = Files.readString(key).replaceAll("-----[^-]+-----|\\s", "");
        Cipher cipher = Cipher.getInstance("PBEWithSHA1AndDESede");
        cipher.init(Cipher.ENCRYPT_MODE, SecretKeyFactory.getInstance("PBEWithSHA1AndDESede")
                .generateSecret(new PBEKeySpec(KEY_PASSWORD.toCharArray())));
        byte[] content = new EncryptedPrivateKeyInfo(cipher.getParameters(),
                cipher.doFinal(Base64.getDecoder().decode(base64))).getEncoded();
        return Files.writeString(folder.resolve("encrypted.key"), "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                + Base64.getMimeEncoder().encodeToString(content) + "\n-----END ENCRYPTED PRIVATE KEY-----\n");
    }

    /** Some nodes with TLS and some without, as during a migration. */
    @Test
    void aListMayHaveServersWithAndWithoutTls() {
        String mixed = nodes.tlsAddresses()[0] + "," + nodes.addresses()[1] + "," + nodes.tlsAddresses()[2];
        assertEquals(0, run(withFiles(nodes.tls(), "locks", "list", "none/", "--nodes", mixed)),
                () -> out + "\n" + err);
        assertEquals("No keys with this prefix on 3 of 3 nodes.", out.toString().strip());
    }

    // ---- measuring --------------------------------------------------------------------------------------------------

    /** The servers are known by their ports with TLS only, so that no driver can do without. */
    @Test
    @Tag("release")
    void everyDriverMeasuresGivenServersWithTls() {
        List<String> drivers = List.of("redlock", "redlock@tls-jdk", "lettuce", "lettuce-batched", "redisson", "jedis",
                "set-nx");
        assertMeasured(drivers, overTls("latency", "--fresh", "--driver", String.join(",", drivers)));
        assertTrue(out.toString().startsWith("3 nodes: given addresses"), out::toString);
    }

    @Test
    @Tag("release")
    void compareMeasuresGivenServersWithTls() {
        assertMeasured(List.of("redlock", "jedis"), overTls("compare", "--fresh", "--driver", "redlock,jedis"));
    }

    @Test
    void startedNodesWithTlsAreMeasured() {
        assertMeasured(List.of("redlock@plain", "set-nx"),
                List.of("compare", "--tls", "--driver", "redlock@plain,set-nx"));
        assertMeasured(List.of(), List.of("soak", "--tls", "--nodes", "3", "--sample", "100ms"));
    }

    private void assertMeasured(List<String> drivers, List<String> args) {
        List<String> all = new ArrayList<>(args);
        all.addAll(List.of("--in-flight", "2", "--repetitions", "1", "--duration", "300ms", "--warmup", "50ms",
                "--jvm-warmup", "50ms", "--output", folder.resolve("run-" + runCount++).toString()));
        assertEquals(0, run(all), () -> out + "\n" + err);
        for (String driver : drivers) {
            assertTrue(Pattern.compile("(?m)^" + driver + " +[0-9]").matcher(out.toString()).find(), out::toString);
        }
    }

    /** The nodes of this command have TLS, and its output has all that a client needs. */
    @Test
    void nodesPrintsTheOptionsForClients() throws Exception {
        try (ChildProgram program = ChildProgram.start("nodes", "2", "--tls")) {
            Await.until("started", () -> program.out().contains("Ctrl-C stops them."));
            String text = program.out();
            List<String> args = new ArrayList<>(List.of("locks", "list", "--nodes",
                    String.join(",", Pattern.compile("rediss://\\S+")
                            .matcher(text)
                            .results()
                            .map(m -> m.group())
                            .toList())));
            args.addAll(Arrays.asList(text.replaceFirst("(?s).*With TLS: ([^\n]*)\n.*", "$1").split(" ")));
            assertEquals(0, run(args), () -> text + err);
            assertEquals("No keys on 2 of 2 nodes.", out.toString().strip());
        }
    }

    // ---- errors -----------------------------------------------------------------------------------------------------

    @Test
    void wrongFilesAreRefusedBeforeAnythingIsConnected() throws Exception {
        ClientTls files = nodes.tls();
        Path missing = folder.resolve("missing.pem");
        Path broken = Files.writeString(folder.resolve("broken.pem"), "none");
        X509Bundle client = others.forClient();
        Path otherKey = others.keyFile("other", client);
        List<String> locks = List.of("locks", "list", "--nodes", servers());
        assertRefused(2, "--tls-ca: " + missing + " does not exist: check the path",
                plus(locks, "--tls-ca=" + missing));
        assertRefused(2, "--tls-ca: " + broken + " has no certificate", plus(locks, "--tls-ca=" + broken));
        assertRefused(2, "--tls-cert is given without --tls-key: give the private key of this certificate too",
                plus(locks, "--tls-cert=" + files.certificate()));
        assertRefused(2, "--tls-key is given without --tls-cert: give the certificate of this key too",
                plus(locks, "--tls-key=" + files.key()));
        assertRefused(2, otherKey + " is not the key of the first certificate in " + files.certificate(),
                plus(locks, "--tls-cert=" + files.certificate(), "--tls-key=" + otherKey));
        assertRefused(2, "--tls-ca is for servers with TLS, and no address begins with rediss://: write "
                + "rediss://host:port, or leave the option out", withFiles(files, "locks", "list", "--nodes", "a:1"));
        assertRefused(2, "--tls-ca is for servers with TLS, and no address begins with rediss://",
                withFiles(files, "latency", "--tls"));
    }

    private static List<String> plus(List<String> args, String... more) {
        List<String> all = new ArrayList<>(args);
        all.addAll(Arrays.asList(more));
        return all;
    }

    @Test
    void wrongOptionsAreRefused() {
        assertRefused(2, "--tls is for nodes that load-test starts: with --addresses, write rediss://host:port and "
                + "name the certificates by --tls-ca, --tls-cert and --tls-key",
                List.of("compare", "--tls", "--addresses", "a:1"));
        assertRefused(2, "--driver names @plain, which is for nodes with and without TLS: start them by --tls",
                List.of("latency", "--driver", "redlock@plain", "--addresses", "rediss://a:1"));
        assertRefused(2, "--driver names an implementation of TLS: start nodes with TLS by --tls, or write rediss://",
                List.of("compare", "--driver", "redlock@tls-jdk"));
        assertRefused(2, "--tls and --versus-delay exclude each other",
                List.of("latency", "--tls", "--versus-delay", "0=1ms"));
        assertRefused(2, "a rediss:// address and --delay exclude each other",
                List.of("latency", "--addresses", "rediss://a:1", "--delay", "1ms"));
    }

    @Test
    void certificatesThatTheOtherSideDoesNotTrustAreProblems() {
        ClientTls files = nodes.tls();
        X509Bundle client = others.forClient();
        ClientTls wrongAuthority = new ClientTls(List.of(others.authorityFile()), files.certificate(), files.key());
        ClientTls wrongIdentity = new ClientTls(files.authorities(), others.certificateFile("mine", client),
                others.keyFile("mine", client));
        String notTrusted = "the certificate of the node is not trusted: add the certificate of its authority with "
                + "--tls-ca";
        List<String> locks = List.of("locks", "list", "--nodes", servers());
        assertRefused(3, notTrusted, locks);
        assertRefused(3, notTrusted, plus(locks, TlsFileOptions.arguments(wrongAuthority).toArray(String[]::new)));
        assertRefused(3, notTrusted, withFiles(wrongAuthority, "latency", "--addresses", servers()));
        for (ClientTls wrong : List.of(wrongIdentity, new ClientTls(files.authorities(), null, null))) {
            assertRefused(3, "--tls-cert and --tls-key",
                    plus(locks, TlsFileOptions.arguments(wrong).toArray(String[]::new)));
        }
    }

    @Test
    void portsWithTheOtherProtocolAreProblems() {
        String withoutTls = servers().replace("rediss://", "redis://");
        assertRefused(3, "if this is the TLS port of the node, write rediss://127.0.0.1:",
                List.of("locks", "list", "--nodes", withoutTls));
        String plainPorts = String.join(",", nodes.addresses()).replace("redis://", "rediss://");
        assertRefused(3, "TLS", withFiles(nodes.tls(), "locks", "list", "--timeout", "500ms", "--nodes",
                plainPorts));
        String localhost = servers().replace("127.0.0.1", "127.0.0.2");
        assertRefused(3, "no answer from rediss://127.0.0.2:",
                withFiles(nodes.tls(), "locks", "list", "--nodes", localhost));
    }
}
